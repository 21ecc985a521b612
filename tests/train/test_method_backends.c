/* test_method_backends.c - the methods that ask for more than passes and steps, on every backend: the
 * same bits twice, and near the reference. */
#include <stdlib.h>
#include <string.h>

#include "backends.h"
#include "engine/engine_weights.h"
#include "strategy/method_flags.h"
#include "train/tiny_engine.h"
#include "train/trainer.h"

enum { BATCH = 11, BLOCKS = 2 };

static tiny_data data;
static pada_recipe recipe = {.epochs = 2, /* of two steps */
                             .batch_size = BATCH,
                             .lr = 0.05,
                             .momentum = 0.9,
                             .weight_decay = 1e-3,
                             .clip = 5,
                             .hold_out = 0.5,
                             .augment = true};

static int make_data(void **state)
{
    (void)state;
    tiny_data_init(&data);
    return 0;
}

/* Trains from fresh weights; NULL: this machine lacks the instructions or the device. Freed by the
 * caller. */
static double *train(const pada_backend *backend, const char *method, const char *flags, int blocks)
{
    static max_align_t settings[64];
    const pada_strategy_ops *ops;
    pada_space space;

    if (!is_present_backend(backend)) return NULL;
    pada_engine *e = tiny_block_engine(&space, backend, 1, BATCH, blocks);
    CHECK_OK(pada_strategy_find(&ops, method));
    CHECK_OK(method_settings(ops, flags, settings, sizeof settings));
    CHECK_OK(pada_train(&(pada_train_desc){.engine = e,
                                           .data = &data.base,
                                           .recipe = &recipe,
                                           .strategy = ops,
                                           .settings = settings}));
    const pada_params *params = pada_engine_params(e);
    double *weights = calloc((size_t)pada_params_elements(params) + 1, sizeof *weights);
    for (int i = 0; i < pada_params_count(params); i++)
        pada_engine_read_weight(e, i, weights + 1 + pada_params_get(params, i)->offset);
    weights[0] = (double)pada_params_elements(params);
    pada_engine_destroy(e);
    return weights;
}

static void run_everywhere(const char *method, const char *flags, int blocks)
{
    const pada_backend *ref;

    CHECK_OK(pada_backend_find(&ref, "ref"));
    double *want = train(ref, method, flags, blocks);
    const size_t n = (size_t)want[0];
    for (int i = 0; i < pada_backend_count(); i++) {
        const pada_backend *backend = pada_backend_get(i);
        double *one, *two;
        if (!is_tested_backend(backend)) continue;
        if (!(one = train(backend, method, flags, blocks))) continue;
        two = train(backend, method, flags, blocks);
        if (memcmp(one, two, (n + 1) * sizeof *one) != 0)
            fail_msg("%s: two runs of %s differ", backend->name, method);
        const double far = relative_distance(one + 1, want + 1, (int64_t)n);
        if (!(far < (backend->half ? 0.2 : 1e-3)))
            fail_msg("%s: weights of %s are off by %g", backend->name, method, far);
        free(one);
        free(two);
    }
    free(want);
}

/* Who is the anchor may hang on a single image, so it is not asked again after the first step. */
static void test_magic(void **state)
{
    (void)state;
    run_everywhere("magic_at", "--align 2 --anchor-every 1000", 0);
}

static void test_close(void **state)
{
    (void)state;
    run_everywhere("close", "--close-grow 0.5 --close-restart 0.5", BLOCKS);
}

/* Weights of paths and of images; the second epoch draws by the norms of the first. */
static void test_importance(void **state)
{
    (void)state;
    run_everywhere(
        "pada",
        "--path-scope per_slot --path-norm unweighted --path-accumulate sum "
        "--path-reweight --path-schedule const --path-tau-max 0.5 "
        "--data-accumulate mean --data-reweight --data-schedule const --data-tau-max 0.5",
        0);
}

/* Holes are cut into images that a device holds; for the others it gets batches. */
static void test_changes(void **state)
{
    const pada_recipe plain = recipe;

    (void)state;
    recipe.cutout = TINY_SIDE / 2;
    run_everywhere("spos", "", 0);
    recipe.auto_augment = PADA_POLICY_V0;
    run_everywhere("spos", "", 0);
    recipe.auto_augment = PADA_POLICY_NONE;
    recipe.random_erasing = 0.5;
    run_everywhere("spos", "", 0);
    recipe = plain;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_changes),
        cmocka_unit_test(test_importance),
        cmocka_unit_test(test_magic),
        cmocka_unit_test(test_close),
    };
    return cmocka_run_group_tests(tests, make_data, NULL);
}
