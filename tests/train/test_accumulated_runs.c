/* test_accumulated_runs.c - runs with steps of several batches: every method ends with the same bits after a stop, or says
 * why it does not train. */
#include <stdlib.h>

#include "base/scratch.h"
#include "check.h"
#include "strategy/method_flags.h"
#include "strategy/strategy_fewshot.h"
#include "strategy/strategy_single.h"
#include "train/checkpoint_hash.h"
#include "train/trainer.h"

#include "train/tiny_engine.h"

/* 44 images: steps of 12, 12, 12 and 8; the last one has two batches. */
enum { EPOCHS = 2, BATCH = 4, ACCUMULATE = 3, STEPS = 4, N_BLOCKS = 3 };

static tiny_data data;
static pada_space space, block_space;
static pada_engine *engine, *block_engine;
static volatile sig_atomic_t stop_now;

typedef struct watch {
    int n_steps, stop_after;
    double steps, passes, images; /* of the last epoch */
} watch;

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

    w->steps = pada_epoch_metrics_get(metrics, "steps");
    w->passes = pada_epoch_metrics_get(metrics, "passes");
    w->images = pada_epoch_metrics_get(metrics, "images");
    see_step(context, progress);
}

/* Settings small enough for two epochs. Borrowed until the next call. */
static const void *settings_of(const pada_strategy_ops *method)
{
    static const pada_fewshot_settings split = {.split_edges = "0", .child_epochs = 1};
    static const pada_single_settings network = {
        "|nor_conv_3x3~0|+|nor_conv_3x3~0|skip_connect~1|+|skip_connect~0|nor_conv_1x1~1|none~2|"};
    static max_align_t settings[64];
    const char *flags = "";

    if (strcmp(method->name, "spy") == 0) return NULL;
    if (strcmp(method->name, "single") == 0) return &network;
    if (strcmp(method->name, "fewshot") == 0) return &split;
    if (strcmp(method->name, "gm") == 0)
        flags = "--splits 1 --split-repeats 2 --warmup-epochs 1 --final-epochs 1";
    if (strcmp(method->name, "nsas") == 0)
        flags = "--nsas-archive 4 --nsas-recent 6 --nsas-candidates 1";
    if (strcmp(method->name, "pa") == 0) flags = "--path-update step";
    CHECK_OK(method_settings(method, flags, settings, sizeof settings));
    return settings;
}

static pada_status train(const pada_strategy_ops *method, int batch, int accumulate,
                         const char *folder, watch *w)
{
    const pada_recipe recipe = {.epochs = EPOCHS,
                                .batch_size = batch,
                                .accumulate = accumulate,
                                .lr = 0.1,
                                .momentum = 0.9,
                                .clip = 0.5,
                                .augment = true,
                                .variance = true,
                                .hold_out = strncmp(method->name, "magic_a", 7) == 0 ? 0.1 : 0};

    stop_now = 0;
    return pada_train(
        &(pada_train_desc){.engine = strcmp(method->name, "close") == 0 ? block_engine : engine,
                           .data = &data.base,
                           .recipe = &recipe,
                           .strategy = method,
                           .settings = settings_of(method),
                           .run = folder,
                           .stop = &stop_now,
                           .listener = {.context = w, .step = see_step, .epoch = see_epoch}});
}

/* A stop inside an epoch, whose checkpoint lies between two steps. */
static void check_resume(const pada_strategy_ops *method)
{
    char whole[64], parts[64];
    watch w = {0}, stopping = {.stop_after = STEPS + 2};

    snprintf(whole, sizeof whole, "%s-whole", method->name);
    snprintf(parts, sizeof parts, "%s-parts", method->name);
    const pada_status st = train(method, BATCH, ACCUMULATE, scratch_path(whole), &w);
    if (strcmp(method->name, "sumnas") == 0) {
        assert_int_equal(st, PADA_EINVAL);
        assert_non_null(strstr(pada_message(), "--accumulate 3: the inner steps of sumnas"));
        return;
    }
    if (st != PADA_OK) fail_msg("%s: %s", method->name, pada_message());
    assert_int_equal(train(method, BATCH, ACCUMULATE, scratch_path(parts), &stopping),
                     PADA_ESTOPPED);
    CHECK_OK(train(method, BATCH, ACCUMULATE, scratch_path(parts), &w));
    if (hash_checkpoint(scratch_path(whole)) != hash_checkpoint(scratch_path(parts)))
        fail_msg("%s: other bits after a stop", method->name);
}

static void methods_resume_or_say_why(void **state)
{
    (void)state;
    for (int i = 0; i < pada_strategy_count(); i++)
        check_resume(pada_strategy_get(i));
}

/* As many steps as batches of that size would give, each of several passes. */
static void steps_count_once(void **state)
{
    const pada_strategy_ops *pada;
    watch w = {0};

    (void)state;
    CHECK_OK(pada_strategy_find(&pada, "pada"));
    CHECK_OK(train(pada, BATCH, ACCUMULATE, scratch_path("counted"), &w));
    assert_true(w.steps == EPOCHS * STEPS && w.passes == TINY_TRAIN / BATCH);
    assert_true(w.images == TINY_TRAIN);
    CHECK_OK(train(pada, BATCH, 1, scratch_path("one"), &w));
    assert_true(w.steps == EPOCHS * TINY_TRAIN / BATCH && w.passes == TINY_TRAIN / BATCH);
    CHECK_OK(train(pada, BATCH, 0, scratch_path("none"), &w));
    assert_true(hash_checkpoint(scratch_path("one")) == hash_checkpoint(scratch_path("none")));
    assert_true(hash_checkpoint(scratch_path("one")) != hash_checkpoint(scratch_path("counted")));
}

/* ---- what a strategy is given ---- */

typedef struct spy {
    pada_path_sampler sampler;
} spy;

static struct call {
    int64_t number;
    int n;
    double share;
    bool joins, more;
} calls[2 * TINY_TRAIN];
static int n_calls;

static pada_status begin_spying(void *self, const pada_strategy_env *env, const void *settings)
{
    (void)settings;
    n_calls = 0;
    pada_path_sampler_init(&((spy *)self)->sampler, env->space);
    return PADA_OK;
}

static pada_status spy_step(void *self, pada_engine *e, const pada_draws *draws,
                            const pada_epoch *epoch, int64_t number)
{
    const pada_path path = {{3, 3, 3, 3, 3, 3}};

    (void)self;
    calls[n_calls++] =
        (struct call){number, draws->batch.n, draws->batch.grad_scale, draws->joins, draws->more};
    return pada_strategy_single_path(e, &path, draws, NULL, 1, &epoch->optim);
}

static void spy_distributions(const void *self, const pada_epoch *epoch, pada_distributions *out)
{
    (void)epoch;
    *out = (pada_distributions){.paths = &((const spy *)self)->sampler};
}

static const pada_strategy_ops spying = {.name = "spy",
                                         .state_bytes = sizeof(spy),
                                         .init = begin_spying,
                                         .step = spy_step,
                                         .distributions = spy_distributions};

/* Batches of 3: steps of 12, 12, 12 and of 3, 3 and 2 images, each of which has the same share. */
static void shares_of_batches(void **state)
{
    watch w = {0};

    (void)state;
    CHECK_OK(train(&spying, 3, 4, NULL, &w));
    assert_int_equal(n_calls, EPOCHS * 15);
    for (int i = 0; i < n_calls; i++) {
        const int step = i % 15 / 4, part = i % 15 % 4;
        const bool is_last = step == 3, is_end = part == (is_last ? 2 : 3);
        assert_int_equal(calls[i].number, i / 15 * 4 + step);
        assert_int_equal(calls[i].n, is_last && is_end ? 2 : 3);
        CHECK_CLOSE(calls[i].share, (double)calls[i].n / (is_last ? 8 : 12), 1e-15);
        assert_true(calls[i].joins == (part > 0) && calls[i].more == !is_end);
    }
    CHECK_OK(train(&spying, 4, 1, NULL, &w));
    for (int i = 0; i < n_calls; i++)
        assert_true(calls[i].share == 0 && !calls[i].joins && !calls[i].more);
}

static void more_than_there_are(void **state)
{
    const pada_strategy_ops *spos;
    watch w = {0};

    (void)state;
    CHECK_OK(pada_strategy_find(&spos, "spos"));
    assert_int_equal(train(spos, BATCH, 12, scratch_path("few"), &w), PADA_EINVAL);
    assert_string_equal(pada_message(), "--accumulate 12: steps of so many batches of 4 images; "
                                        "there are 44 to train on");
    CHECK_OK(train(spos, BATCH, 11, scratch_path("all"), &w));
    assert_true(w.steps == EPOCHS);
}

static int open_all(void **state)
{
    const pada_backend *backend;

    tiny_data_init(&data);
    CHECK_OK(pada_backend_find(&backend, "cpu"));
    engine = tiny_engine(&space, backend, 2, BATCH);
    block_engine = tiny_block_engine(&block_space, backend, 2, BATCH, N_BLOCKS);
    return scratch_setup(state);
}

static int close_all(void **state)
{
    pada_engine_destroy(engine);
    pada_engine_destroy(block_engine);
    return scratch_teardown(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(methods_resume_or_say_why),
        cmocka_unit_test(steps_count_once),
        cmocka_unit_test(shares_of_batches),
        cmocka_unit_test(more_than_there_are),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
