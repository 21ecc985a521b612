/* test_validation.c - what is tried after an epoch: which images, which networks, and chance. */
#include "base/scratch.h"
#include "check.h"
#include "strategy/strategy_single.h"
#include "study/evaluate.h"
#include "train/trainer.h"
#include "train/validation.h"

#include "engine/engine_weights.h"
#include "train/tiny_engine.h"

enum { BATCH = 6, N_BATCHES = 3 /* of 16 images */ };

static tiny_data data;
static pada_space space;
static pada_engine *engine;

static int open_all(void **state)
{
    const pada_backend *backend;

    (void)state;
    tiny_data_init(&data);
    CHECK_OK(pada_backend_find(&backend, "cpu"));
    engine = tiny_engine(&space, backend, 2, BATCH);
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    pada_engine_destroy(engine);
    return 0;
}

static void keep_metrics(void *context, const pada_progress *progress,
                         const pada_epoch_metrics *metrics)
{
    (void)progress;
    *(pada_epoch_metrics *)context = *metrics;
}

/* Two epochs without a folder; the metrics of the last one. */
static pada_epoch_metrics train(const char *method, const void *settings)
{
    const pada_recipe recipe = {
        .epochs = 2, .batch_size = BATCH, .lr = 0.1, .momentum = 0.9, .validate = 1000};
    const pada_strategy_ops *strategy;
    pada_epoch_metrics metrics;

    CHECK_OK(pada_strategy_find(&strategy, method));
    CHECK_OK(
        pada_train(&(pada_train_desc){.engine = engine,
                                      .data = &data.base,
                                      .recipe = &recipe,
                                      .strategy = strategy,
                                      .settings = settings,
                                      .listener = {.context = &metrics, .epoch = keep_metrics}}));
    return metrics;
}

/* A network that is trained alone is validated itself, not others that nobody trains. */
static void one_network_is_validated(void **state)
{
    const pada_single_settings single = {
        "|nor_conv_3x3~0|+|nor_conv_1x1~0|skip_connect~1|+|avg_pool_3x3~0|nor_conv_3x3~1|none~2|"};
    pada_evaluator *evaluator;
    pada_evaluation expected;
    pada_path path;

    (void)state;
    const pada_epoch_metrics metrics = train("single", &single);
    CHECK_OK(space.ops->parse(&space, single.arch, NULL, &path));
    CHECK_OK(pada_evaluator_create(
        &evaluator,
        &(pada_evaluator_desc){.data = &data.base, .split = PADA_SPLIT_TEST, .batch_size = BATCH}));
    CHECK_OK(pada_evaluator_run(evaluator, engine, &path, NULL, &expected));
    CHECK_CLOSE(pada_epoch_metrics_get(&metrics, "val_top1"), 100.0 * expected.top1 / TINY_TEST, 0);
    CHECK_CLOSE(pada_epoch_metrics_get(&metrics, "val_loss"), expected.loss, 1e-12);
    CHECK_CLOSE(pada_epoch_metrics_get(&metrics, "val_networks"), 1, 0);
    pada_evaluator_destroy(evaluator);
}

/* Of a supernet, a random one for each batch. */
static void random_networks_are_counted(void **state)
{
    (void)state;
    const pada_epoch_metrics metrics = train("spos", NULL);
    CHECK_CLOSE(pada_epoch_metrics_get(&metrics, "val_networks"), N_BATCHES, 0);
}

static double val_loss(void)
{
    const pada_epoch_metrics metrics = train("spos", NULL);

    return pada_epoch_metrics_get(&metrics, "val_loss");
}

/* Val where there is one, and else test. */
static void val_comes_before_test(void **state)
{
    (void)state;
    data.base.n_images[PADA_SPLIT_VAL] = TINY_TEST;
    const double before = val_loss();
    memset(data.pixels[PADA_SPLIT_TEST], 77, sizeof data.pixels[0]);
    CHECK_CLOSE(val_loss(), before, 0);
    memset(data.pixels[PADA_SPLIT_VAL], 77, sizeof data.pixels[0]);
    assert_true(val_loss() != before);
    tiny_data_init(&data);
}

/* Whether a validation with so many images of the most frequent class warns. */
static bool warns(int n_guessed, bool last)
{
    pada_epoch_metrics metrics = {0};
    pada_validation what;
    pada_subspace within;

    pada_subspace_init(&within, &space);
    CHECK_OK(pada_validation_init(&what, engine, &data.base, TINY_TEST, BATCH, 0));
    assert_int_equal(what.n_guessed, TINY_TEST / TINY_CLASSES);
    what.n_guessed = n_guessed;
    CHECK_OK(pada_validate(&what, engine, &within, 0, last, &metrics));
    pada_validation_deinit(&what);
    return strcmp(metrics.warnings, "chance") == 0;
}

/* Only at the end, and only if a guess would be as good. */
static void chance_is_told(void **state)
{
    (void)state;
    CHECK_OK(pada_engine_init_weights(engine, 1));
    assert_true(warns(TINY_TEST, true)); /* nobody is better than that */
    assert_false(warns(TINY_TEST, false));
    (void)train("spos", NULL);
    assert_false(warns(0, true)); /* it has some right */
}

static void out_of_memory(void **state)
{
    pada_validation what;

    (void)state;
    for (int64_t n = 0;; n++) {
        const int64_t live = pada_mem_live();
        pada_mem_fail_after(n);
        const pada_status st = pada_validation_init(&what, engine, &data.base, 16, BATCH, 0);
        pada_mem_fail_after(-1);
        pada_validation_deinit(&what);
        assert_int_equal(pada_mem_live(), live);
        if (st == PADA_OK) break;
        assert_int_equal(st, PADA_ENOMEM);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_network_is_validated),
        cmocka_unit_test(random_networks_are_counted),
        cmocka_unit_test(val_comes_before_test),
        cmocka_unit_test(chance_is_told),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
