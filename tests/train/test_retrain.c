/* test_retrain.c - networks alone in their final form: the same bits after a stop, what each option does, what is kept.
 * PADA_TEST_BACKEND=NAME: on that backend instead of cpu. */
#include <stdlib.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/scratch.h"
#include "check.h"
#include "engine/engine_weights.h"
#include "strategy/strategy_single.h"
#include "train/checkpoint_hash.h"
#include "train/recipe_book.h"
#include "train/tiny_data.h"
#include "train/trainer.h"

enum { EPOCHS = 3, BATCH = 8, STEPS = 3 /* of an epoch, of two batches each */ };

typedef struct space_case {
    const char *name;
    const char *flags[8];
    const char *arch;
    double dropout, drop_path; /* where the network has something to drop */
} space_case;

static const space_case cases[] = {
    {"nb201",
     {"--channels=2", "--cells=1", NULL},
     "|nor_conv_3x3~0|+|nor_conv_3x3~0|skip_connect~1|+|skip_connect~0|nor_conv_1x1~1|none~2|",
     0,
     0},
    {"macro", {"--channels=2", "--features=4", NULL}, "01201201", 0, 0},
    {"proxyless",
     {"--widths=2,2,2,3,4,4,5,6,8", "--se=0.25", NULL},
     "0 6 2 5 3 6 4 1 0 1 6 2 3 4 5 6 0 1 2 3 5",
     0.2,
     0.5},
    {"darts",
     {"--final-channels=2", "--final-cells=3", NULL},
     "|sep_conv_3x3~0|skip_connect~1|+|none~0|dil_conv_3x3~2|+|max_pool_3x3~0|avg_pool_3x3~3|+"
     "|dil_conv_5x5~1|sep_conv_5x5~4|/|skip_connect~0|max_pool_3x3~1|+|avg_pool_3x3~0|"
     "skip_connect~2|+|sep_conv_5x5~1|dil_conv_3x3~3|+|none~0|dil_conv_5x5~1|",
     0,
     0.5},
};

enum { NB201, MACRO, PROXYLESS, DARTS, N_CASES };

static tiny_data data;
static volatile sig_atomic_t stop_now;

/* A network with its engine. */
typedef struct network {
    const space_case *of;
    pada_model_about about;
    pada_engine *engine;
} network;

typedef struct watch {
    int n_steps, stop_after;
    pada_epoch_metrics epochs[EPOCHS];
} watch;

static network open_network(int i)
{
    network n = {.of = &cases[i]};
    const char *only = getenv("PADA_TEST_BACKEND");
    const pada_backend *backend;
    const pada_space_ops *ops;
    pada_space space;

    CHECK_OK(pada_backend_find(&backend, only ? only : "cpu"));
    CHECK_OK(pada_space_find(&ops, n.of->name));
    CHECK_OK(pada_space_init(&space, ops,
                             &(pada_space_config){.classes = TINY_CLASSES,
                                                  .image_size = TINY_SIDE,
                                                  .flags = n.of->flags}));
    CHECK_OK(ops->parse(&space, n.of->arch, NULL, &n.about.path));
    pada_space_finalise(&n.about.space, &space, &n.about.path);
    CHECK_OK(pada_data_card_init(&n.about.card, &data.base));
    CHECK_OK(
        pada_engine_create(&n.engine, &(pada_engine_desc){.space = &n.about.space,
                                                          .backend = backend,
                                                          .n_threads = 2,
                                                          .batch_size = BATCH,
                                                          .mode = PADA_TRAIN,
                                                          .statistics = PADA_STATISTICS_RUNNING}));
    return n;
}

static void close_network(network *n)
{
    pada_engine_destroy(n->engine);
    pada_model_about_deinit(&n->about);
}

static void see_step(void *context, const pada_progress *progress)
{
    watch *w = context;

    (void)progress;
    if (++w->n_steps == w->stop_after) stop_now = 1;
}

static void see_epoch(void *context, const pada_progress *progress,
                      const pada_epoch_metrics *metrics)
{
    watch *w = context;

    w->epochs[progress->epoch] = *metrics;
    see_step(context, progress);
}

static pada_status train(network *n, const pada_recipe *recipe, const char *folder, watch *w)
{
    const pada_single_settings settings = {n->of->arch};

    stop_now = 0;
    return pada_train(
        &(pada_train_desc){.engine = n->engine,
                           .data = &data.base,
                           .recipe = recipe,
                           .strategy = &pada_strategy_single,
                           .settings = &settings,
                           .run = folder,
                           .best = folder && recipe->validate > 0 ? &n->about : NULL,
                           .stop = &stop_now,
                           .listener = {.context = w, .step = see_step, .epoch = see_epoch}});
}

static const pada_recipe plain = {
    .epochs = EPOCHS, .batch_size = BATCH, .lr = 0.05, .momentum = 0.9, .weight_decay = 0.01};

/* Everything that a recipe has. */
static pada_recipe full_recipe(const space_case *c)
{
    pada_recipe recipe = plain;

    recipe.accumulate = 2;
    recipe.augment = true;
    recipe.optimizer = 0;
    recipe.lr_schedule = PADA_SCHEDULE_STEP;
    recipe.lr_warmup_epochs = 1;
    recipe.lr_warmup = 0.01;
    recipe.lr_decay_epochs = 1.5;
    recipe.lr_decay_rate = 0.5;
    recipe.label_smoothing = 0.1;
    recipe.no_decay_norms = true;
    recipe.ema = 0.9;
    recipe.dropout = c->dropout;
    recipe.drop_path = c->drop_path;
    recipe.validate = TINY_TEST;
    return recipe;
}

static uint64_t hash_best(const char *folder)
{
    char path[700];
    pada_file file = {0};

    snprintf(path, sizeof path, "%s/" PADA_BEST_FILE, folder);
    CHECK_OK(pada_file_open(&file, path));
    const uint64_t hash = pada_hash(file.data, file.bytes, 0);
    pada_file_close(&file);
    return hash;
}

/* Stopped after a random step, again and again. */
static void check_resume(int i)
{
    network n = open_network(i);
    const pada_recipe recipe = full_recipe(n.of);
    char whole[600], parts[600], name[40];
    watch w = {0};
    pada_rng rng;
    pada_status st;

    snprintf(name, sizeof name, "%s-whole", n.of->name);
    snprintf(whole, sizeof whole, "%s", scratch_path(name));
    snprintf(name, sizeof name, "%s-parts", n.of->name);
    snprintf(parts, sizeof parts, "%s", scratch_path(name));
    CHECK_OK(train(&n, &recipe, whole, &w));
    pada_rng_init(&rng, 3, "stops", (uint64_t)i);
    do {
        watch stopping = {.stop_after = 1 + (int)pada_rng_below(&rng, 4)};
        st = train(&n, &recipe, parts, &stopping);
        assert_true(st == PADA_OK || st == PADA_ESTOPPED);
    } while (st != PADA_OK);
    if (hash_checkpoint(whole) != hash_checkpoint(parts) || hash_best(whole) != hash_best(parts))
        fail_msg("%s: other bits after a stop", n.of->name);
    close_network(&n);
}

static void all_spaces_resume_to_the_bit(void **state)
{
    (void)state;
    for (int i = 0; i < N_CASES; i++)
        check_resume(i);
}

/* The first epoch of a ramp drops nothing; a constant rate does. */
static void drop_path_ramps(void **state)
{
    network n = open_network(DARTS);
    pada_recipe recipe = plain;
    watch without = {0}, ramp = {0}, constant = {0};

    (void)state;
    CHECK_OK(train(&n, &recipe, NULL, &without));
    recipe.drop_path = 0.5;
    CHECK_OK(train(&n, &recipe, NULL, &ramp));
    recipe.drop_path_schedule = PADA_DROP_CONSTANT;
    CHECK_OK(train(&n, &recipe, NULL, &constant));
    assert_true(ramp.epochs[0].weights_hash == without.epochs[0].weights_hash);
    assert_true(ramp.epochs[1].weights_hash != without.epochs[1].weights_hash);
    assert_true(constant.epochs[0].weights_hash != without.epochs[0].weights_hash);
    CHECK_CLOSE(pada_recipe_drop_path(&recipe, 1, 4), 0.5, 0);
    recipe.drop_path_schedule = PADA_DROP_RAMP;
    CHECK_CLOSE(pada_recipe_drop_path(&recipe, 1, 4), 0.125, 0);
    close_network(&n);
}

static int only_label(const pada_dataset *ds, pada_split split, int i)
{
    (void)ds, (void)split, (void)i;
    return 0;
}

/* The loss of a step on copies of one image, in batches of four. */
static double step_on_copies(network *n, int n_images, double drop_path)
{
    static const pada_dataset_ops ops = {
        .name = "copies", .image = tiny_image, .label = only_label};
    static tiny_data saved;
    pada_recipe recipe = plain;
    watch w = {0};

    saved = data;
    recipe.epochs = 1;
    recipe.batch_size = 4;
    recipe.accumulate = n_images / 4;
    recipe.drop_path = drop_path;
    recipe.drop_path_schedule = PADA_DROP_CONSTANT;
    data.base.ops = &ops;
    data.base.n_images[PADA_SPLIT_TRAIN] = n_images;
    for (int i = 1; i < n_images; i++)
        memcpy(data.pixels[PADA_SPLIT_TRAIN][i], data.pixels[PADA_SPLIT_TRAIN][0],
               sizeof data.pixels[0][0]);
    CHECK_OK(train(n, &recipe, NULL, &w));
    data = saved;
    return pada_epoch_metrics_get(&w.epochs[0], "loss");
}

/* One batch or two of them have the same loss, unless they drop differently. */
static void batches_of_a_step_drop_differently(void **state)
{
    network n = open_network(DARTS);

    (void)state;
    CHECK_CLOSE(step_on_copies(&n, 8, 0), step_on_copies(&n, 4, 0), 1e-12);
    assert_true(fabs(step_on_copies(&n, 8, 0.5) - step_on_copies(&n, 4, 0.5)) > 1e-6);
    close_network(&n);
}

/* Learning rates are those of the schedule, and weight decay leaves vectors alone. */
static void schedules_and_decay(void **state)
{
    network n = open_network(MACRO);
    pada_recipe recipe = full_recipe(n.of);
    static const double rates[EPOCHS] = {0.01, 0.05, 0.025};
    watch w = {0};

    (void)state;
    CHECK_OK(train(&n, &recipe, NULL, &w));
    for (int i = 0; i < EPOCHS; i++)
        CHECK_CLOSE(pada_epoch_metrics_get(&w.epochs[i], "lr"), rates[i], 1e-15);
    const uint64_t spared = w.epochs[EPOCHS - 1].weights_hash;
    recipe.no_decay_norms = false;
    CHECK_OK(train(&n, &recipe, NULL, &w));
    assert_true(spared != w.epochs[EPOCHS - 1].weights_hash);
    close_network(&n);
}

/* A step of the optimiser without a gradient to speak of: weights shrink by decay, vectors do not. */
static void check_decay(bool spares)
{
    network n = open_network(MACRO);
    const pada_params *params = pada_engine_params(n.engine);
    const pada_optim optim = {.lr = 0.5, .weight_decay = 0.5, .spares_vectors = spares};
    static float images[BATCH * PADA_IMAGE_CHANNELS * TINY_SIDE * TINY_SIDE];
    static double before[4096], after[4096];
    static const double ones[4096] = {1, 1, 1, 1, 1, 1, 1, 1};
    const int32_t labels[BATCH] = {0};
    const pada_batch batch = {.images = images, .labels = labels, .n = BATCH, .grad_scale = 1e-30};
    pada_step_stats stats;

    CHECK_OK(pada_engine_init_weights(n.engine, 1));
    for (int i = 0; i < pada_params_count(params); i++)
        if (pada_params_get(params, i)->n_dims == 1) pada_engine_write_weight(n.engine, i, ones);
    pada_engine_zero_grad(n.engine);
    CHECK_OK(pada_engine_forward(n.engine, &n.about.path, &batch, PADA_TRAIN));
    pada_engine_backward(n.engine);
    pada_engine_read_weight(n.engine, 0, before);
    CHECK_OK(pada_engine_step(n.engine, &optim, &stats));
    for (int i = 0; i < pada_params_count(params); i++) {
        const bool is_vector = pada_params_get(params, i)->n_dims == 1;
        pada_engine_read_weight(n.engine, i, after);
        if (is_vector) CHECK_CLOSE(after[0], spares ? 1 : 0.75, 1e-6);
        if (i == 0) CHECK_CLOSE(after[0], 0.75 * before[0], 1e-6);
    }
    close_network(&n);
}

static void vectors_are_spared(void **state)
{
    (void)state;
    check_decay(false);
    check_decay(true);
}

static void the_best_is_kept(void **state)
{
    network n = open_network(NB201);
    char folder[600], file[640];
    pada_keeper keeper = {0};
    pada_model_about about = {0};

    (void)state;
    snprintf(folder, sizeof folder, "%s", scratch_path("kept"));
    snprintf(file, sizeof file, "%s/" PADA_BEST_FILE, folder);
    CHECK_OK(pada_make_dirs(folder));
    CHECK_OK(pada_keeper_offer(&keeper, folder, &n.about, n.engine, NAN));
    assert_false(pada_path_exists(file));
    CHECK_OK(
        pada_keeper_offer(&keeper, folder, &n.about, n.engine, 0)); /* nothing right is a start */
    assert_true(pada_path_exists(file));
    CHECK_OK(pada_keeper_offer(&keeper, folder, &n.about, n.engine, 25));
    const uint64_t first = hash_best(folder);
    CHECK_OK(pada_engine_init_weights(n.engine, 7));
    CHECK_OK(pada_keeper_offer(&keeper, folder, &n.about, n.engine, 25)); /* the last of equals */
    const uint64_t last = hash_best(folder);
    assert_true(last != first);
    CHECK_OK(pada_engine_init_weights(n.engine, 8));
    CHECK_OK(pada_keeper_offer(&keeper, folder, &n.about, n.engine, 20));
    assert_true(hash_best(folder) == last);
    CHECK_OK(pada_model_read(&about, file));
    assert_true(about.top1 == 25 && keeper.top1 == 25 && keeper.n_validated == 4);
    pada_model_about_deinit(&about);
    close_network(&n);
}

static void every_kth_epoch_is_validated(void **state)
{
    network n = open_network(NB201);
    pada_recipe recipe = full_recipe(n.of);
    char folder[600], file[640];
    pada_model_about about = {0};
    watch w = {0};
    double best = 0;

    (void)state;
    snprintf(folder, sizeof folder, "%s", scratch_path("validated"));
    snprintf(file, sizeof file, "%s/" PADA_BEST_FILE, folder);
    recipe.validate_every = 2;
    CHECK_OK(train(&n, &recipe, folder, &w));
    for (int i = 0; i < EPOCHS; i++) {
        const double top1 = pada_epoch_metrics_get(&w.epochs[i], "val_top1");
        assert_true(isnan(top1) == (i == 0)); /* the second and the last one */
        assert_int_equal(w.epochs[i].n, w.epochs[0].n);
        if (top1 > best) best = top1;
    }
    CHECK_OK(pada_model_read(&about, file));
    assert_true(about.top1 == best);
    pada_model_about_deinit(&about);
    close_network(&n);
}

/* What the network cannot drop is refused, before a folder is made. */
static void nothing_to_drop_is_said(void **state)
{
    network n = open_network(NB201);
    pada_recipe recipe = plain;
    watch w = {0};

    (void)state;
    recipe.drop_path = 0.1;
    assert_int_equal(train(&n, &recipe, scratch_path("refused"), &w), PADA_EINVAL);
    assert_string_equal(pada_message(),
                        "--drop-path: the network of space nb201 has nothing to drop there");
    recipe.drop_path = 0;
    recipe.dropout = 0.1;
    assert_int_equal(train(&n, &recipe, scratch_path("refused"), &w), PADA_EINVAL);
    recipe.dropout = 0;
    recipe.accumulate = 100;
    assert_int_equal(train(&n, &recipe, scratch_path("refused"), &w), PADA_EINVAL);
    assert_false(pada_path_exists(scratch_path("refused")));
    close_network(&n);
}

/* The recipes of the book are what the literature says. */
static void recipes_are_presets(void **state)
{
    pada_recipe recipe;

    (void)state;
    for (int i = 0; i < 5; i++) {
        const char *name = i < 4 ? pada_recipe_book_name(i) : NULL;
        pada_options *options;
        CHECK_OK(pada_options_create(&options));
        CHECK_OK(pada_options_bind(options, pada_retrain_options, &recipe));
        CHECK_OK(pada_recipe_book_preset(options, name, "proxyless"));
        if (i == 0) assert_true(recipe.epochs == 200 && recipe.nesterov && recipe.lr == 0.1);
        if (i == 1) assert_true(recipe.epochs == 50 && !recipe.nesterov && recipe.clip == 0);
        if (i == 2)
            assert_true(recipe.epochs == 600 && recipe.batch_size == 96 && recipe.clip == 5 &&
                        recipe.drop_path == 0.2 && recipe.weight_decay == 3e-4);
        if (i >= 3) {
            assert_true(recipe.epochs == 450 && recipe.optimizer == 1 && recipe.no_decay_norms &&
                        recipe.ema == 0.9999 && recipe.batch_size * recipe.accumulate == 2560);
            CHECK_CLOSE(pada_recipe_optim(&recipe, 100, 450).lr, 0.045894547, 1e-9);
        }
        pada_options_destroy(options);
    }
    assert_null(pada_recipe_book_name(4));
}

static int open_all(void **state)
{
    tiny_data_init(&data);
    return scratch_setup(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_spaces_resume_to_the_bit),
        cmocka_unit_test(drop_path_ramps),
        cmocka_unit_test(batches_of_a_step_drop_differently),
        cmocka_unit_test(schedules_and_decay),
        cmocka_unit_test(vectors_are_spared),
        cmocka_unit_test(the_best_is_kept),
        cmocka_unit_test(every_kth_epoch_is_validated),
        cmocka_unit_test(nothing_to_drop_is_said),
        cmocka_unit_test(recipes_are_presets),
    };
    return cmocka_run_group_tests(tests, open_all, scratch_teardown);
}
