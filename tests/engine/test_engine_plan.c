/* test_engine_plan.c - a network that comes again is planned once, and computes the same. */
#include <string.h>

#include "backends.h"
#include "engine/engine_align.h"
#include "engine/engine_inspect.h"
#include "engine/engine_results.h"
#include "engine/engine_weights.h"
#include "train/tiny_engine.h"

enum { FULL = 8, RAGGED = 3, N_BATCHES = 5 };

static const pada_path path = {{3, 2, 1, 4, 3, 1}}, other = {{2, 3, 1, 1, 0, 3}};

/* ---- counting ---- */

static const pada_space_ops *space_ops;
static const pada_backend *real_backend;
static int n_builds, n_prepares;

static void count_walk(const pada_space *space, pada_builder *b)
{
    n_builds++;
    space_ops->walk(space, b);
}

static pada_status count_prepare(pada_device *device, const pada_program *program)
{
    n_prepares++;
    return real_backend->prepare(device, program);
}

/* An engine whose space and backend count what planning asks them for. */
static pada_engine *counted_engine(void)
{
    static pada_space_ops ops;
    static pada_backend backend;
    pada_engine *e;
    pada_space space;

    CHECK_OK(pada_space_find(&space_ops, "nb201"));
    CHECK_OK(pada_backend_find(&real_backend, "cpu"));
    ops = *space_ops;
    ops.walk = count_walk;
    backend = *real_backend;
    backend.prepare = count_prepare;
    CHECK_OK(pada_space_init(
        &space, &ops,
        &(pada_space_config){
            .channels = 4, .cells = 1, .classes = TINY_CLASSES, .image_size = TINY_SIDE}));
    CHECK_OK(pada_engine_create(&e, &(pada_engine_desc){.space = &space,
                                                        .backend = &backend,
                                                        .n_threads = 1,
                                                        .batch_size = FULL,
                                                        .mode = PADA_TRAIN}));
    CHECK_OK(pada_engine_init_weights(e, 3));
    n_builds = n_prepares = 0;
    return e;
}

/* ---- batches ---- */

static float images[N_BATCHES * FULL * 3 * TINY_SIDE * TINY_SIDE];
static int32_t labels[N_BATCHES * FULL];

static void make_images(void)
{
    static tiny_data data;

    tiny_data_init(&data);
    for (int i = 0; i < N_BATCHES * FULL; i++)
        pada_dataset_fill(&data.base, PADA_SPLIT_TRAIN, i, 1,
                          images + i * 3 * TINY_SIDE * TINY_SIDE, labels + i);
}

/* The last one is smaller. */
static pada_batch batch_at(int b)
{
    return (pada_batch){.n = b == N_BATCHES - 1 ? RAGGED : FULL,
                        .images = images + b * FULL * 3 * TINY_SIDE * TINY_SIDE,
                        .labels = labels + b * FULL};
}

static void forward(pada_engine *e, const pada_path *p, int b, pada_mode mode)
{
    const pada_batch batch = batch_at(b);

    CHECK_OK(pada_engine_forward(e, p, &batch, mode));
}

/* ---- tests ---- */

static void check_counts(int builds, int prepares)
{
    assert_int_equal(n_builds, builds);
    assert_int_equal(n_prepares, prepares);
}

static void network_is_planned_once_per_size_of_batch(void **state)
{
    pada_engine *e = counted_engine();

    (void)state;
    for (int b = 0; b < N_BATCHES; b++)
        forward(e, &path, b, PADA_EVAL);
    check_counts(2, 2);
    for (int b = 0; b < N_BATCHES; b++) /* both are still there */
        forward(e, &path, b, PADA_EVAL);
    check_counts(2, 4);
    for (int b = 0; b < N_BATCHES; b++)
        forward(e, &other, b, PADA_EVAL);
    check_counts(4, 6);
    pada_engine_destroy(e);
}

static void whatever_changes_the_program_is_planned(void **state)
{
    pada_engine *e = counted_engine();
    const pada_batch batch = batch_at(0);

    (void)state;
    forward(e, &path, 0, PADA_TRAIN);
    check_counts(1, 1);
    forward(e, &path, 0, PADA_EVAL);
    check_counts(2, 2);
    CHECK_OK(pada_engine_keep_taps(e, &path, &batch)); /* plans the extremes first */
    n_builds = 0;
    CHECK_OK(pada_engine_forward_aligned(e, &path, &batch, 1));
    assert_int_equal(n_builds, 1);
    forward(e, &path, 0, PADA_TRAIN);
    assert_int_equal(n_builds, 2);
    pada_engine_destroy(e);
}

/* Logits of all batches and the gradient of the first, as one row. `between`: another network runs
 * before every batch, so that no plan is kept. */
static int run_all(const pada_backend *backend, bool between, double *out)
{
    pada_space space;
    pada_engine *e = tiny_engine(&space, backend, 2, FULL);
    int n = 0;

    CHECK_OK(pada_engine_init_weights(e, 3));
    for (int round = 0; round < 2; round++)
        for (int b = 0; b < N_BATCHES; b++) {
            for (int k = 0; between && k < 2; k++)
                forward(e, &other, k * (N_BATCHES - 1), PADA_EVAL);
            forward(e, &path, b, PADA_EVAL);
            pada_engine_logits(e, out + n);
            n += batch_at(b).n * TINY_CLASSES;
        }
    pada_engine_zero_grad(e);
    for (int k = 0; k < 2; k++) {
        if (between) forward(e, &other, 0, PADA_EVAL);
        forward(e, &path, 0, PADA_TRAIN);
        pada_engine_backward(e);
    }
    for (int i = 0; i < pada_params_count(pada_engine_params(e)); i++) {
        pada_engine_read_grad(e, i, out + n);
        n += (int)pada_params_get(pada_engine_params(e), i)->count;
    }
    pada_engine_destroy(e);
    return n;
}

static void kept_plans_compute_the_same(void **state)
{
    static double kept[1 << 16], fresh[1 << 16];

    (void)state;
    for (int i = 0; i < pada_backend_count(); i++) {
        const pada_backend *backend = pada_backend_get(i);
        if (!is_tested_backend(backend) || !is_present_backend(backend)) continue;
        const int n = run_all(backend, false, kept);
        assert_true(n < 1 << 16 && n == run_all(backend, true, fresh));
        assert_memory_equal(kept, fresh, (size_t)n * sizeof *kept);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(network_is_planned_once_per_size_of_batch),
        cmocka_unit_test(whatever_changes_the_program_is_planned),
        cmocka_unit_test(kept_plans_compute_the_same),
    };
    make_images();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
