/* test_engine_shards.c - training passes in shards: against passes of each part, one after the other, added up by hand. */
#include <stdlib.h>
#include <string.h>

#include "backends.h"
#include "engine/engine_align.h"
#include "engine/engine_inspect.h"
#include "engine/engine_results.h"
#include "engine/engine_statistics.h"
#include "engine/engine_weights.h"
#include "train/tiny_engine.h"

enum { N = 11, SHARDS = 4, MOST = 1 << 15, PIXELS = 3 * TINY_SIDE * TINY_SIDE };

static const pada_path path = {{3, 1, 4, 2, 0, 3}};
static float images[N * PIXELS];
static int32_t labels[N];
static float weights[N];

/* What a training pass leaves. */
typedef struct outcome {
    double grads[MOST], statistics[MOST], losses[N], norms[N];
} outcome;

static outcome whole, part, want;

static pada_engine *make_engine(pada_space *space, const pada_backend *backend)
{
    const pada_space_ops *ops;
    pada_engine *e;

    CHECK_OK(pada_space_find(&ops, "nb201"));
    CHECK_OK(pada_space_init(
        space, ops,
        &(pada_space_config){
            .channels = 4, .cells = 1, .classes = TINY_CLASSES, .image_size = TINY_SIDE}));
    CHECK_OK(pada_engine_create(&e, &(pada_engine_desc){.space = space,
                                                        .backend = backend,
                                                        .n_threads = 2,
                                                        .batch_size = N,
                                                        .mode = PADA_TRAIN,
                                                        .statistics = PADA_STATISTICS_RUNNING}));
    CHECK_OK(pada_engine_init_weights(e, 3));
    return e;
}

/* Images [first, end) of a batch of n. */
static pada_batch images_from(int first, int end, int n)
{
    return (pada_batch){.n = end - first,
                        .images = images + first * PIXELS,
                        .labels = labels + first,
                        .weights = weights + first,
                        .grad_scale = 0.5 * (end - first) / n};
}

static void run(pada_engine *e, const pada_batch *batch, outcome *out)
{
    const pada_params *params = pada_engine_params(e), *map = pada_engine_statistics_map(e);

    assert_true(pada_params_elements(params) <= MOST && pada_params_elements(map) <= MOST);
    pada_engine_zero_grad(e);
    CHECK_OK(pada_engine_forward(e, &path, batch, PADA_TRAIN));
    pada_engine_backward(e);
    memset(out, 0, sizeof *out);
    for (int i = 0; i < pada_params_count(params); i++)
        pada_engine_read_grad(e, i, out->grads + pada_params_get(params, i)->offset);
    for (int i = 0; i < pada_params_count(map); i++)
        pada_engine_read_statistic(e, i, out->statistics + pada_params_get(map, i)->offset);
    pada_engine_losses(e, out->losses);
    pada_engine_norms(e, out->norms);
}

/* A sum as the backend rounds it. */
static double sum(const pada_backend *backend, double a, double b)
{
    return backend->dtype == PADA_F64 ? a + b : (double)((float)a + (float)b);
}

/* The parts of a batch of n one after the other; gradients are added as a binary tree. */
static void run_parts(pada_engine *e, const pada_backend *backend, int n)
{
    static double pair[MOST];

    memset(&want, 0, sizeof want);
    for (int k = 0; k < SHARDS; k++) {
        const int first = (n * k + SHARDS - 1) / SHARDS, end = (n * (k + 1) + SHARDS - 1) / SHARDS;
        const pada_batch batch = images_from(first, end, n);
        memset(&part, 0, sizeof part);
        if (batch.n > 0) run(e, &batch, &part);
        memcpy(want.losses + first, part.losses, (size_t)batch.n * sizeof(double));
        memcpy(want.norms + first, part.norms, (size_t)batch.n * sizeof(double));
        if (k == 0) memcpy(want.statistics, part.statistics, sizeof want.statistics);
        for (int i = 0; i < MOST; i++) {
            if (k % 2 == 0) pair[i] = part.grads[i];
            if (k % 2 == 1) pair[i] = sum(backend, pair[i], part.grads[i]);
            if (k == 1) want.grads[i] = pair[i];
            if (k == 3) want.grads[i] = sum(backend, want.grads[i], pair[i]);
        }
    }
}

static void check_same(const outcome *a, const outcome *b)
{
    assert_memory_equal(a->grads, b->grads, sizeof a->grads);
    assert_memory_equal(a->losses, b->losses, sizeof a->losses);
    assert_memory_equal(a->norms, b->norms, sizeof a->norms);
}

static void check_same_statistics(const outcome *a, const outcome *b)
{
    assert_memory_equal(a->statistics, b->statistics, sizeof a->statistics);
}

/* A batch, and behind it one that has empty shards. */
static void check_passes(const pada_backend *backend)
{
    int first, end;
    pada_space space;
    pada_engine *plain = make_engine(&space, backend), *e = make_engine(&space, backend);

    CHECK_OK(pada_engine_divide(e, NULL, SHARDS));
    for (int n = N; n > 0; n -= N - SHARDS + 1) {
        const pada_batch batch = images_from(0, n, n);
        pada_engine_train_share(e, n, &first, &end);
        assert_int_equal(first, 0);
        assert_int_equal(end, n);
        run(e, &batch, &whole);
        run_parts(plain, backend, n);
        check_same(&whole, &want);
        if (n == N)
            check_same_statistics(&whole, &want); /* all parts have moved those of `plain` */
        assert_true(want.losses[0] > 0 && want.grads[0] != 0);
    }
    pada_engine_destroy(plain);
    pada_engine_destroy(e);
}

/* Other passes are whole; and all of them are, once it is over. */
static void check_others(const pada_backend *backend)
{
    const pada_batch batch = images_from(0, N, N);
    double logits[2][N * TINY_CLASSES];
    pada_space space;
    pada_engine *plain = make_engine(&space, backend), *e = make_engine(&space, backend);

    CHECK_OK(pada_engine_divide(e, NULL, SHARDS));
    CHECK_OK(pada_engine_forward(e, &path, &batch, PADA_EVAL));
    pada_engine_logits(e, logits[0]);
    CHECK_OK(pada_engine_forward(plain, &path, &batch, PADA_EVAL));
    pada_engine_logits(plain, logits[1]);
    assert_memory_equal(logits[0], logits[1], sizeof logits[0]);
    CHECK_OK(pada_engine_divide(e, NULL, 0));
    run(e, &batch, &whole);
    run(plain, &batch, &want);
    check_same(&whole, &want);
    check_same_statistics(&whole, &want);
    pada_engine_destroy(plain);
    pada_engine_destroy(e);
}

static void check_backend(const pada_backend *backend)
{
    check_passes(backend);
    check_others(backend);
}

static void passes_are_those_of_the_parts(void **state)
{
    const pada_backend *ref;

    (void)state;
    CHECK_OK(pada_backend_find(&ref, "ref"));
    check_backend(ref);
    for (int i = 0; i < pada_backend_count(); i++) {
        const pada_backend *backend = pada_backend_get(i);
        if (!is_tested_backend(backend) || !is_present_backend(backend)) continue;
        check_backend(backend);
    }
}

static void what_cannot_be_is_refused(void **state)
{
    const pada_batch batch = images_from(0, N, N);
    const pada_backend *ref;
    pada_space space;

    (void)state;
    CHECK_OK(pada_backend_find(&ref, "ref"));
    pada_engine *e = make_engine(&space, ref);
    assert_int_equal(pada_engine_divide(e, NULL, 3), PADA_EINVAL);
    assert_int_equal(pada_engine_divide(e, NULL, 2 * PADA_MAX_SHARDS), PADA_EINVAL);
    CHECK_OK(pada_engine_divide(e, NULL, SHARDS));
    assert_int_equal(pada_engine_keep_taps(e, &path, &batch), PADA_EUNSUPPORTED);
    pada_engine_destroy(e);

    e = tiny_block_engine(&space, ref, 1, N, 2);
    assert_int_equal(pada_engine_divide(e, NULL, SHARDS), PADA_EUNSUPPORTED);
    pada_engine_destroy(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(passes_are_those_of_the_parts),
        cmocka_unit_test(what_cannot_be_is_refused),
    };

    for (int i = 0; i < N * PIXELS; i++)
        images[i] = (float)((i * 7919 + i / 31 * 104729) % 2003) / 1000 - 1;
    for (int i = 0; i < N; i++) {
        labels[i] = i * i % TINY_CLASSES;
        weights[i] = 0.5f + (float)i / N;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
