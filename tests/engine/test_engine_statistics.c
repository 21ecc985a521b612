/* test_engine_statistics.c - running statistics of batch norms: what training keeps, what evaluation makes of them, and
 * the files that they are in. */
#include <stdlib.h>
#include <string.h>

#include "backends.h"
#include "base/scratch.h"
#include "check.h"
#include "engine/engine.h"
#include "engine/engine_inspect.h"
#include "engine/engine_results.h"
#include "engine/engine_statistics.h"
#include "engine/engine_weights.h"

enum { N = 6, MAX_SIDE = 32, MAX_CHANNELS = 16, N_BATCHES = 2, CLASSES = 3 };

/* The batches of training, then one of evaluation. */
static float images[N_BATCHES + 1][N * 3 * MAX_SIDE * MAX_SIDE];
static int side = 16, channels = 4, pixels = 3 * 16 * 16;
static const int32_t labels[N] = {0, 2, 1, 1, 0, 2};
static pada_space space;
static const pada_path path = {{3, 2, 1, 4, 3, 1}};

/* Small networks; of the sizes that node kernels know, where one backend is tested. */
static int open_space(void **state)
{
    static double numbers[N * 3 * MAX_SIDE * MAX_SIDE];
    static pada_space_ops ops;
    const pada_space_ops *found;

    if (getenv("PADA_TEST_BACKEND")) {
        side = MAX_SIDE;
        channels = MAX_CHANNELS;
        pixels = 3 * side * side;
    }
    CHECK_OK(pada_space_find(&found, "nb201"));
    ops = *found;
    ops.norm_epsilon = 0.1; /* large enough to show where a backend takes another one */
    CHECK_OK(pada_space_init(
        &space, &ops,
        &(pada_space_config){
            .channels = channels, .cells = 1, .classes = CLASSES, .image_size = side}));
    for (int batch = 0; batch <= N_BATCHES; batch++) {
        random_normal(numbers, N * pixels, 4 + (uint64_t)batch);
        for (int i = 0; i < N * pixels; i++)
            images[batch][i] = (float)(numbers[i] * (1 + batch) + 0.5);
    }
    return scratch_setup(state);
}

static pada_batch part_of(int batch, int first, int n)
{
    return (pada_batch){.n = n, .images = images[batch] + first * pixels, .labels = labels + first};
}

/* NULL: this machine lacks the instructions or the device. */
static pada_engine *make_engine(const pada_backend *backend, pada_statistics statistics)
{
    pada_engine *e;
    const pada_status st = pada_engine_create(&e, &(pada_engine_desc){.space = &space,
                                                                      .backend = backend,
                                                                      .n_threads = 2,
                                                                      .batch_size = N,
                                                                      .mode = PADA_TRAIN,
                                                                      .statistics = statistics});

    if (is_absent_backend(backend, st)) return NULL;
    CHECK_OK(pada_engine_init_weights(e, 1));
    return e;
}

static pada_engine *make_ref(pada_statistics statistics)
{
    const pada_backend *ref;

    CHECK_OK(pada_backend_find(&ref, "ref"));
    return make_engine(ref, statistics);
}

static void train(pada_engine *e)
{
    for (int i = 0; i < N_BATCHES; i++) {
        const pada_batch batch = part_of(i, 0, N);
        pada_engine_zero_grad(e);
        CHECK_OK(pada_engine_forward(e, &path, &batch, PADA_TRAIN));
        pada_engine_backward(e);
    }
}

static void evaluate(pada_engine *e, double *logits)
{
    const pada_batch batch = part_of(N_BATCHES, 0, N);

    CHECK_OK(pada_engine_forward(e, &path, &batch, PADA_EVAL));
    pada_engine_logits(e, logits);
}

/* All of them, with the map of the engine; freed by the caller. */
static double *read_statistics(const pada_engine *e)
{
    const pada_params *map = pada_engine_statistics_map(e);
    double *to = calloc((size_t)pada_params_elements(map), sizeof *to);

    for (int i = 0; i < pada_params_count(map); i++)
        pada_engine_read_statistic(e, i, to + pada_params_get(map, i)->offset);
    return to;
}

static const double *find(const pada_engine *e, const double *statistics, const char *name)
{
    const pada_params *map = pada_engine_statistics_map(e);
    const int id = pada_params_find(map, name);

    if (id < 0) fail_msg("no %s", name);
    return statistics + pada_params_get(map, id)->offset;
}

/* ---- training ---- */

/* Mean and unbiased variance of what the stem makes of channel c of a batch. */
static void stem_by_hand(const double *weight, int batch, int c, double *mean, double *variance)
{
    static double z[N * MAX_SIDE * MAX_SIDE];
    const int count = N * side * side;

    *mean = *variance = 0;
    for (int i = 0; i < count; i++) {
        const int n = i / (side * side), h = i / side % side, w = i % side;
        z[i] = 0;
        for (int k = 0; k < 27; k++) {
            const int y = h + k / 3 % 3 - 1, x = w + k % 3 - 1;
            if (y < 0 || y >= side || x < 0 || x >= side) continue;
            z[i] += weight[c * 27 + k] * images[batch][((n * 3 + k / 9) * side + y) * side + x];
        }
        *mean += z[i] / count;
    }
    for (int i = 0; i < count; i++)
        *variance += (z[i] - *mean) * (z[i] - *mean) / (count - 1);
}

static void training_keeps_what_pytorch_does(void **state)
{
    pada_engine *e = make_ref(PADA_STATISTICS_RUNNING);
    double weight[MAX_CHANNELS * 27];

    (void)state;
    pada_engine_read_weight(e, pada_params_find(pada_engine_params(e), "stem.0.weight"), weight);
    train(e);
    double *kept = read_statistics(e);
    for (int c = 0; c < channels; c++) {
        double running_mean = 0, running_var = 1;
        for (int i = 0; i < N_BATCHES; i++) {
            double mean, variance;
            stem_by_hand(weight, i, c, &mean, &variance);
            running_mean = 0.9 * running_mean + 0.1 * mean;
            running_var = 0.9 * running_var + 0.1 * variance;
        }
        CHECK_CLOSE(find(e, kept, "stem.1.running_mean")[c], running_mean, 1e-12);
        CHECK_CLOSE(find(e, kept, "stem.1.running_var")[c], running_var, 1e-11);
    }
    /* batch norms that the path has, and one that it has not */
    assert_true(find(e, kept, "cells.1.conv_a.op.2.running_var")[0] != 1);
    assert_true(find(e, kept, "cells.3.conv_b.op.2.running_mean")[0] != 0);
    assert_true(find(e, kept, "lastact.0.running_var")[4 * channels - 1] != 1);
    assert_true(find(e, kept, "cells.0.edges.1<-0.3.op.2.running_var")[0] != 1);
    assert_true(find(e, kept, "cells.4.edges.2<-0.2.op.2.running_mean")[0] != 0);
    assert_true(find(e, kept, "cells.0.edges.1<-0.2.op.2.running_var")[0] == 1);
    assert_true(find(e, kept, "cells.0.edges.1<-0.2.op.2.running_mean")[0] == 0);
    CHECK_OK(pada_engine_init_weights(e, 1));
    free(kept);
    kept = read_statistics(e);
    assert_true(find(e, kept, "stem.1.running_mean")[0] == 0);
    assert_true(find(e, kept, "stem.1.running_var")[0] == 1);
    free(kept);
    pada_engine_destroy(e);
}

/* Statistics and evaluations against the reference. */
static void backends_agree(void **state)
{
    pada_engine *ref = make_ref(PADA_STATISTICS_RUNNING);
    const int64_t n = pada_params_elements(pada_engine_statistics_map(ref));
    double want_logits[N * CLASSES], logits[N * CLASSES];

    (void)state;
    train(ref);
    evaluate(ref, want_logits);
    double *want = read_statistics(ref);
    for (int i = 0; i < pada_backend_count(); i++) {
        const pada_backend *backend = pada_backend_get(i);
        pada_engine *e;
        if (!is_tested_backend(backend)) continue;
        if (!(e = make_engine(backend, PADA_STATISTICS_RUNNING))) continue;
        train(e);
        evaluate(e, logits);
        double *kept = read_statistics(e);
        if (relative_error(kept, want, n) > (backend->half ? 0.02 : 1e-5))
            fail_msg("%s: statistics are off by %g", backend->name, relative_error(kept, want, n));
        if (relative_error(logits, want_logits, N * CLASSES) > (backend->half ? 0.05 : 1e-5))
            fail_msg("%s: logits are off by %g", backend->name,
                     relative_error(logits, want_logits, N * CLASSES));
        free(kept);
        pada_engine_destroy(e);
    }
    free(want);
    pada_engine_destroy(ref);
}

static void weights_do_not_depend_on_statistics(void **state)
{
    pada_engine *batch = make_ref(PADA_STATISTICS_BATCH),
                *running = make_ref(PADA_STATISTICS_RUNNING);
    pada_engine *engines[] = {batch, running};
    const pada_optim optim = {.lr = 0.1, .momentum = 0.9};
    pada_step_stats stats;

    (void)state;
    for (int i = 0; i < 2; i++) {
        train(engines[i]);
        CHECK_OK(pada_engine_step(engines[i], &optim, &stats));
    }
    assert_true(pada_engine_weights_hash(batch) == pada_engine_weights_hash(running));
    assert_true(pada_engine_statistics_hash(batch) == 0);
    assert_true(pada_engine_statistics_hash(running) != 0);
    pada_engine_destroy(batch);
    pada_engine_destroy(running);
}

/* ---- evaluation ---- */

/* The loss of an image does not depend on what other images are in the batch: to the bit on CPUs. */
static void batch_sizes_do_not_matter(void **state)
{
    static const int sizes[] = {1, 4, N};

    (void)state;
    for (int i = 0; i < pada_backend_count(); i++) {
        const pada_backend *backend = pada_backend_get(i);
        double losses[3][N];
        pada_engine *e;
        if (!is_tested_backend(backend)) continue;
        if (!(e = make_engine(backend, PADA_STATISTICS_RUNNING))) continue;
        train(e);
        for (int k = 0; k < 3; k++)
            for (int first = 0; first < N; first += sizes[k]) {
                const int n = N - first < sizes[k] ? N - first : sizes[k];
                const pada_batch batch = part_of(N_BATCHES, first, n);
                CHECK_OK(pada_engine_forward(e, &path, &batch, PADA_EVAL));
                pada_engine_losses(e, losses[k] + first);
            }
        for (int k = 0; k < 2; k++)
            for (int n = 0; n < N; n++)
                CHECK_CLOSE(losses[k][n], losses[2][n],
                            strncmp(backend->name, "cpu", 3) ? 1e-6 : 0);
        pada_engine_destroy(e);
    }
}

/* The share of a batch; and its own statistics make of a batch nearly what the batch does. */
static void collecting(void **state)
{
    pada_engine *e = make_ref(PADA_STATISTICS_RECALIBRATED);
    pada_engine *by_batch = make_ref(PADA_STATISTICS_BATCH);
    const int64_t n = pada_params_elements(pada_engine_statistics_map(e));
    const pada_batch first = part_of(0, 0, N), second = part_of(N_BATCHES, 0, N);
    double logits[N * CLASSES], want[N * CLASSES];

    (void)state;
    CHECK_OK(pada_engine_collect_statistics(e, &path, &first, 1));
    double *of_first = read_statistics(e);
    CHECK_OK(pada_engine_collect_statistics(e, &path, &second, 1));
    double *of_second = read_statistics(e);
    evaluate(e, logits);
    evaluate(by_batch, want);
    assert_true(relative_error(logits, want, N * CLASSES) < 0.05); /* unbiased variance */
    assert_true(relative_error(logits, want, N * CLASSES) > 1e-9);
    CHECK_OK(pada_engine_collect_statistics(e, &path, &first, 0.25));
    double *mixed = read_statistics(e);
    for (int64_t i = 0; i < n; i++)
        CHECK_CLOSE(mixed[i], 0.25 * of_first[i] + 0.75 * of_second[i], 1e-12);
    train(e); /* leaves them alone */
    double *after = read_statistics(e);
    assert_memory_equal(after, mixed, (size_t)n * sizeof *mixed);
    free(of_first);
    free(of_second);
    free(mixed);
    free(after);
    pada_engine_destroy(e);
    pada_engine_destroy(by_batch);
}

/* ---- files ---- */

static void files_have_them(void **state)
{
    const char *with = scratch_path("with.safetensors"), *without;
    pada_engine *e = make_ref(PADA_STATISTICS_RUNNING), *other = make_ref(PADA_STATISTICS_RUNNING);
    pada_engine *by_batch = make_ref(PADA_STATISTICS_BATCH);
    double logits[N * CLASSES], want[N * CLASSES];

    (void)state;
    train(e);
    CHECK_OK(pada_engine_save_weights(e, with));
    CHECK_OK(pada_engine_load_weights(other, with));
    assert_int_equal(pada_engine_statistics(other), PADA_STATISTICS_RUNNING);
    assert_true(pada_engine_statistics_hash(other) == pada_engine_statistics_hash(e));
    CHECK_OK(pada_engine_load_weights(by_batch, with));
    assert_int_equal(pada_engine_statistics(by_batch), PADA_STATISTICS_BATCH);
    without = scratch_path("without.safetensors");
    CHECK_OK(pada_engine_save_weights(by_batch, without));
    CHECK_OK(pada_engine_load_weights(other, without));
    assert_int_equal(pada_engine_statistics(other), PADA_STATISTICS_BATCH);
    evaluate(by_batch, want);
    evaluate(other, logits);
    assert_memory_equal(logits, want, sizeof want);
    CHECK_OK(pada_engine_load_weights(other, scratch_path("with.safetensors")));
    assert_int_equal(pada_engine_statistics(other), PADA_STATISTICS_RUNNING);
    pada_engine_destroy(e);
    pada_engine_destroy(other);
    pada_engine_destroy(by_batch);
}

/* An engine that does not train has nothing to normalise fresh weights by but the batch. */
static void fresh_weights_have_none(void **state)
{
    const pada_backend *ref;
    pada_engine *e;

    (void)state;
    CHECK_OK(pada_backend_find(&ref, "ref"));
    CHECK_OK(pada_engine_create(&e, &(pada_engine_desc){.space = &space,
                                                        .backend = ref,
                                                        .batch_size = N,
                                                        .statistics = PADA_STATISTICS_RUNNING}));
    CHECK_OK(pada_engine_init_weights(e, 1));
    assert_int_equal(pada_engine_statistics(e), PADA_STATISTICS_BATCH);
    CHECK_OK(pada_engine_load_weights(e, scratch_path("with.safetensors")));
    assert_int_equal(pada_engine_statistics(e), PADA_STATISTICS_RUNNING);
    pada_engine_destroy(e);
}

static void checkpoints_have_them(void **state)
{
    pada_engine *e = make_ref(PADA_STATISTICS_RUNNING), *other = make_ref(PADA_STATISTICS_RUNNING);
    pada_engine *by_batch = make_ref(PADA_STATISTICS_BATCH);
    pada_engine *savers[] = {e, by_batch};

    (void)state;
    train(e);
    for (int i = 0; i < 2; i++) {
        const char *file = scratch_path("checkpoint.safetensors");
        pada_state *s;
        CHECK_OK(pada_state_create(&s));
        pada_engine_visit(savers[i], s);
        CHECK_OK(pada_state_write(s, file));
        pada_state_destroy(s);
        CHECK_OK(pada_state_open(&s, file));
        pada_engine_visit(other, s);
        CHECK_OK(pada_state_finish(s));
        pada_state_destroy(s);
        assert_int_equal(pada_engine_statistics(other), pada_engine_statistics(savers[i]));
        assert_true(pada_engine_statistics_hash(other) == pada_engine_statistics_hash(savers[i]));
    }
    pada_engine_destroy(e);
    pada_engine_destroy(other);
    pada_engine_destroy(by_batch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(training_keeps_what_pytorch_does),
        cmocka_unit_test(backends_agree),
        cmocka_unit_test(weights_do_not_depend_on_statistics),
        cmocka_unit_test(batch_sizes_do_not_matter),
        cmocka_unit_test(collecting),
        cmocka_unit_test(files_have_them),
        cmocka_unit_test(fresh_weights_have_none),
        cmocka_unit_test(checkpoints_have_them),
    };
    return cmocka_run_group_tests(tests, open_space, scratch_teardown);
}
