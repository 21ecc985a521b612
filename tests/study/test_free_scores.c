/* test_free_scores.c - scores without training against plain loops, and their file. */
#include "base/scratch.h"

#include <math.h>
#include <stdlib.h>

#include "base/symmetric.h"
#include "check.h"
#include "engine/engine_inspect.h"
#include "engine/engine_weights.h"
#include "study/free_scores.h"
#include "study/plain_nb201.h"

enum { SEED = 5, SIDE = 8, N_AZ = 64 };

/* conv3, pool, conv1, skip, none, conv3; one with dead edges and a value that two convolutions read; one convolution. */
static const pada_path cells[] = {
    {{3, 4, 2, 1, 0, 3}}, {{3, 0, 0, 3, 0, 0}}, {{0, 0, 0, 3, 0, 0}}, {{2, 3, 1, 1, 4, 2}}};
enum { N_CELLS_TRIED = sizeof cells / sizeof cells[0] };

static pada_space small_space(int side)
{
    return nb201_space(
        &(pada_space_config){.channels = 2, .cells = 1, .classes = 3, .image_size = side});
}

static pada_space final_of(const pada_path *cell, int side)
{
    const pada_space space = small_space(side);
    pada_space out;

    pada_space_finalise(&out, &space, cell);
    return out;
}

/* A score on a backend. */
static void measure(const char *name, const char *backend_name, const pada_space *final,
                    const pada_batch *batch, double *values)
{
    const pada_free_score *score;
    const pada_backend *backend;
    pada_trial *trial;

    assert_ok(pada_free_score_find(&score, name));
    assert_ok(pada_backend_find(&backend, backend_name));
    assert_ok(pada_trial_create(&trial, backend, 1));
    assert_ok(pada_trial_take(trial, final));
    assert_ok(score->measure(trial, batch, SEED, values));
    pada_trial_destroy(trial);
}

/* n images of normal noise. */
static pada_batch make_batch(int n, int side)
{
    static int32_t labels[256];
    const int count = n * 3 * side * side;
    float *images = calloc((size_t)count, sizeof *images);
    double *noise = calloc((size_t)count, sizeof *noise);

    random_normal(noise, count, 17);
    for (int i = 0; i < count; i++)
        images[i] = (float)noise[i];
    for (int i = 0; i < n; i++)
        labels[i] = i % 3;
    free(noise);
    return (pada_batch){.n = n, .images = images, .labels = labels};
}

static plain images_of(const pada_batch *batch, int side)
{
    plain x = plain_make(batch->n, 3, side);

    for (int i = 0; i < batch->n * 3 * side * side; i++)
        x.data[i] = batch->images[i];
    return x;
}

/* ---- the gradient norm: by an engine ---- */

static void test_grad_norm(void **state)
{
    const pada_batch batch = make_batch(6, SIDE);

    (void)state;
    for (int i = 0; i < N_CELLS_TRIED; i++) {
        const pada_space final = final_of(&cells[i], SIDE);
        pada_engine_desc desc = {.space = &final, .batch_size = batch.n, .mode = PADA_TRAIN};
        double sum = 0, value, on_cpu;
        pada_engine *e;

        assert_ok(pada_backend_find(&desc.backend, "ref"));
        assert_ok(pada_engine_create(&e, &desc));
        assert_ok(pada_engine_init_weights(e, SEED));
        pada_engine_zero_grad(e);
        assert_ok(pada_engine_forward(e, &cells[i], &batch, PADA_TRAIN));
        pada_engine_backward(e);
        for (int k = 0; k < pada_params_count(pada_engine_params(e)); k++) {
            const pada_param *p = pada_params_get(pada_engine_params(e), k);
            double *grad = calloc((size_t)p->count, sizeof *grad), squares = 0;
            pada_engine_read_grad(e, k, grad);
            for (int64_t j = 0; j < p->count; j++)
                squares += grad[j] * grad[j];
            if (p->n_dims > 1) sum += sqrt(squares);
            free(grad);
        }
        pada_engine_destroy(e);
        measure("grad_norm", "ref", &final, &batch, &value);
        measure("grad_norm", "cpu", &final, &batch, &on_cpu);
        assert_true(sum > 0.01);
        CHECK_CLOSE(value, sum, 1e-12 * sum);
        CHECK_CLOSE(on_cpu, sum, 1e-4 * sum);
    }
    free((void *)batch.images);
}

/* ---- synaptic flow: R is linear in every tensor ---- */

static void test_synflow(void **state)
{
    (void)state;
    for (int i = 0; i < N_CELLS_TRIED; i++) {
        const pada_space final = final_of(&cells[i], SIDE);
        plain ones = plain_make(1, 3, SIDE);
        plain_net net;
        double flow = 0, value;

        for (int k = 0; k < 3 * SIDE * SIDE; k++)
            ones.data[k] = 1;
        plain_open(&net, &final, SEED, 1, true);
        net.has_norms = false;
        const double r = plain_forward(&net, &ones);
        for (int k = 0; k < pada_params_count(net.params); k++) {
            const pada_param *p = pada_params_get(net.params, k);
            if (p->n_dims == 1) continue;
            for (int64_t j = 0; j < p->count; j++)
                net.weights[p->offset + j] *= 2;
            flow += plain_forward(&net, &ones) - r;
            for (int64_t j = 0; j < p->count; j++)
                net.weights[p->offset + j] /= 2;
        }
        measure("synflow", "ref", &final, NULL, &value);
        CHECK_CLOSE(value, log(flow), 1e-11);
        plain_close(&net);
        free(ones.data);
    }
}

/* ---- NASWOT: the kernel by counting ---- */

static void test_naswot(void **state)
{
    enum { N = 7 };
    const pada_batch batch = make_batch(N, SIDE);
    plain images = images_of(&batch, SIDE);

    (void)state;
    for (int i = 0; i < N_CELLS_TRIED; i++) {
        const pada_space final = final_of(&cells[i], SIDE);
        double kernel[N * N] = {0}, expected, value;
        plain_net net;

        plain_open(&net, &final, SEED, 1, false);
        plain_forward(&net, &images);
        assert_true(net.n_relus > 4 && net.n_relus < PLAIN_RELUS);
        for (int k = 0; k < net.n_relus; k++) {
            const plain *x = &net.relus[k];
            const int count = x->c * x->h * x->h;
            for (int a = 0; a < N; a++)
                for (int b = 0; b < N; b++)
                    for (int j = 0; j < count; j++)
                        kernel[a * N + b] +=
                            (x->data[a * count + j] > 0) == (x->data[b * count + j] > 0);
        }
        assert_ok(pada_symmetric_log_det(kernel, N, &expected));
        measure("naswot", "ref", &final, &batch, &value);
        CHECK_CLOSE(value, expected, 1e-9);
        plain_close(&net);
    }
    free(images.data);
    free((void *)batch.images);
}

/* ---- AZ-NAS ---- */

static plain az_images(int side)
{
    plain x = plain_make(N_AZ, 3, side);
    pada_rng rng;

    pada_rng_init(&rng, SEED, "az_nas images", 0);
    for (int i = 0; i < N_AZ * 3 * side * side; i++)
        x.data[i] = (float)pada_rng_normal(&rng);
    return x;
}

static double entropy_of(const plain *x)
{
    const int plane = x->h * x->h;
    const double count = x->n * plane;
    double means[8] = {0}, matrix[64] = {0}, values[8], sum = 0, entropy = 0;

    for (int pass = 0; pass < 2; pass++)
        for (int n = 0; n < x->n; n++)
            for (int p = 0; p < plane; p++)
                for (int a = 0; a < x->c; a++) {
                    const double value = *plain_at(x, n, a, 0, p);
                    if (pass == 0) means[a] += value / count;
                    for (int b = 0; pass == 1 && b < x->c; b++)
                        matrix[a * x->c + b] +=
                            (value - means[a]) * (*plain_at(x, n, b, 0, p) - means[b]) / count;
                }
    assert_ok(pada_symmetric_eigenvalues(matrix, x->c, values));
    for (int a = 0; a < x->c; a++)
        sum += values[a];
    for (int a = 0; a < x->c; a++)
        entropy -= values[a] / sum * log(values[a] / sum + 1e-8);
    return entropy;
}

static double inner_product(const plain *x, const double *signs)
{
    double sum = 0;

    for (int i = 0; i < x->n * x->c * x->h * x->h; i++)
        sum += x->data[i] * signs[i];
    return sum;
}

/* Of block `place` by differences: the gradient of sum(signs * output), pixel by pixel, against the signs. */
static double trainability_of(plain_net *net, int place)
{
    const double step = 1e-6;
    plain x = plain_copy(&net->blocks[place]);
    const plain *y = &net->blocks[place + 1];
    const int stride = x.h / y->h, rows = x.c * stride * stride;
    double *signs = calloc((size_t)(y->n * y->c * y->h * y->h), sizeof *signs);
    double m[32 * 8] = {0}, gram[64] = {0}, values[8];
    pada_rng rng;

    pada_rng_init(&rng, SEED, "az_nas signs", (uint64_t)place + 1);
    for (int i = 0; i < y->n * y->c * y->h * y->h; i++)
        signs[i] = pada_rng_u32(&rng) >> 31 ? 1 : -1;
    for (int n = 0; n < x.n; n++)
        for (int c = 0; c < x.c; c++)
            for (int i = 0; i < x.h; i++)
                for (int j = 0; j < x.h; j++) {
                    double *pixel = plain_at(&x, n, c, i, j), kept = *pixel, slope = 0;
                    for (int side = -1; side <= 1; side += 2) {
                        *pixel = kept + side * step;
                        plain out = plain_block(net, place, &x);
                        slope += side * inner_product(&out, signs) / (2 * step);
                        free(out.data);
                    }
                    *pixel = kept;
                    const int row = (c * stride + i % stride) * stride + j % stride;
                    for (int o = 0; o < y->c; o++)
                        m[row * y->c + o] +=
                            slope *
                            signs[((n * y->c + o) * y->h + i / stride) * y->h + j / stride] /
                            (y->n * y->h * y->h);
                }
    for (int a = 0; a < y->c; a++)
        for (int b = 0; b < y->c; b++)
            for (int r = 0; r < rows; r++)
                gram[a * y->c + b] += m[r * y->c + a] * m[r * y->c + b];
    assert_ok(pada_symmetric_eigenvalues(gram, y->c, values));
    const double s = sqrt(values[y->c - 1]);
    free(signs);
    free(x.data);
    return 2 - s - 1 / (s + 1e-6);
}

static void test_az_nas(void **state)
{
    enum { SMALL = 4 };
    const pada_space final = final_of(&cells[3], SMALL);
    plain images = az_images(SMALL);
    double values[4], on_cpu[4], expressivity = 0, progressivity = INFINITY, last = 0, mean = 0;
    pada_cost cost;
    plain_net net;

    (void)state;
    plain_open(&net, &final, SEED, sqrt(6), false);
    plain_forward(&net, &images);
    for (int i = 0; i < PLAIN_BLOCKS; i++) {
        const double entropy = entropy_of(&net.blocks[i]);
        expressivity += entropy;
        if (i > 0) progressivity = fmin(progressivity, entropy - last);
        last = entropy;
    }
    for (int place = 0; place < PLAIN_BLOCKS - 1; place++)
        mean += trainability_of(&net, place) / (PLAIN_BLOCKS - 1);
    measure("az_nas", "ref", &final, NULL, values);
    measure("az_nas", "cpu", &final, NULL, on_cpu);
    pada_space_cost(&final, &final.network, &cost);
    CHECK_CLOSE(values[0], expressivity, 1e-6);
    CHECK_CLOSE(values[1], progressivity, 1e-6);
    CHECK_CLOSE(values[2], mean, 1e-4);
    CHECK_CLOSE(values[3], (double)cost.macs, 0);
    for (int k = 0; k < 4; k++)
        CHECK_CLOSE(on_cpu[k], values[k], 1e-3 * fabs(values[k]));
    plain_close(&net);
    free(images.data);
}

/* A cell that passes its input on, and one through which nothing flows, are worse than everything. */
static void test_az_nas_extremes(void **state)
{
    static const pada_path skips[] = {{{0, 0, 0, 1, 0, 0}}, {{0, 1, 3, 1, 2, 0}}}, none = {{0}};
    pada_space final;
    double values[4];

    (void)state;
    for (int i = 0; i < 2; i++) { /* in the second a convolution reads zeros */
        final = final_of(&skips[i], SIDE);
        measure("az_nas", "cpu", &final, NULL, values);
        assert_true(values[2] == PADA_FREE_WORST);
        assert_true(values[0] > 0 && values[1] > -10);
    }
    final = final_of(&none, SIDE);
    measure("az_nas", "ref", &final, NULL, values);
    assert_true(values[0] == PADA_FREE_WORST && values[1] == PADA_FREE_WORST);
    assert_true(values[2] < -1e5);
}

/* Ranks of four proxies: three networks, of which the last is best in two and ties in one. */
static void test_ranks(void **state)
{
    static const double values[] = {1, 2, 3, /**/ 5, 5, 5, /**/ 3, 2, 1, /**/ 10, 20, 30};
    static const double expected[] = {1 * 2 * 3 * 1, 2 * 2 * 2 * 2, 3 * 2 * 1 * 3};
    const pada_free_score *score;
    double out[3];

    (void)state;
    assert_ok(pada_free_score_find(&score, "az_nas"));
    assert_ok(pada_free_score_combine(score, values, 3, out));
    for (int i = 0; i < 3; i++)
        CHECK_CLOSE(out[i], log(expected[i] / 81), 1e-14);
    assert_int_equal(pada_free_score_find(&score, "az_nass"), PADA_EINVAL);
}

/* ---- many of them ---- */

typedef struct watch {
    int n_progress, stop_after;
} watch;

static bool stop(void *user)
{
    const watch *w = user;

    return w->stop_after >= 0 && w->n_progress >= w->stop_after;
}

static void progress(void *user, int n_done, int n_total)
{
    watch *w = user;

    (void)n_done, (void)n_total;
    w->n_progress++;
}

static pada_status run(const pada_dataset *data, const char *folder, int n_threads, watch *w,
                       pada_free_scores *out)
{
    const pada_space space = nb201_space(
        &(pada_space_config){.channels = 2, .cells = 1, .classes = 10, .image_size = 16});
    const pada_free_score *score;

    assert_ok(pada_free_score_find(&score, "naswot"));
    return pada_free_scores_run(&(pada_free_scores_desc){.score = score,
                                                         .space = &space,
                                                         .paths = cells,
                                                         .n = N_CELLS_TRIED,
                                                         .data = data,
                                                         .seed = SEED,
                                                         .n_threads = n_threads,
                                                         .folder = scratch_path(folder),
                                                         .user = w,
                                                         .stop = stop,
                                                         .progress = progress},
                                out);
}

/* Stopped and resumed, by one thread or three, nothing is measured twice and the numbers are the same. */
static void test_many(void **state)
{
    pada_free_scores first, again, whole;
    pada_dataset *data;
    watch w = {.stop_after = 1};

    (void)state;
    assert_ok(
        pada_dataset_open(&data, &(pada_dataset_desc){.where = "builtin",
                                                      .splits = PADA_SPLIT_BIT(PADA_SPLIT_TRAIN)}));
    assert_int_equal(run(data, "one", 1, &w, &first), PADA_ESTOPPED);
    assert_int_equal(w.n_progress, 1);
    pada_free_scores_deinit(&first);
    w.stop_after = -1;
    assert_ok(run(data, "one", 1, &w, &first));
    assert_int_equal(w.n_progress, N_CELLS_TRIED);
    assert_int_equal(first.n_measured, N_CELLS_TRIED - 1);
    assert_ok(run(data, "one", 3, &w, &again));
    assert_int_equal(again.n_measured, 0);
    assert_ok(run(data, "other", 3, &w, &whole));
    assert_int_equal(whole.n_measured, N_CELLS_TRIED);
    for (int i = 0; i < N_CELLS_TRIED; i++) {
        assert_true(first.scores[i] == again.scores[i]);
        assert_true(first.scores[i] == whole.scores[i]);
        assert_true(i == 0 || first.scores[i] != first.scores[i - 1]);
    }
    pada_free_scores_deinit(&first);
    pada_free_scores_deinit(&again);
    pada_free_scores_deinit(&whole);
    pada_dataset_close(data);
}

/* Opens a trial, measures, and closes it. */
static pada_status measure_once(const pada_free_score *score, const pada_space *final,
                                const pada_batch *batch)
{
    double values[PADA_MAX_FREE_VALUES];
    const pada_backend *backend;
    pada_trial *trial;

    PADA_TRY(pada_backend_find(&backend, "ref"));
    PADA_TRY(pada_trial_create(&trial, backend, 1));
    pada_status st = pada_trial_take(trial, final);
    if (st == PADA_OK) st = score->measure(trial, batch, SEED, values);
    pada_trial_destroy(trial);
    return st;
}

static void test_out_of_memory(void **state)
{
    const pada_space final = final_of(&cells[2], 4);
    const pada_batch batch = make_batch(2, 4);
    const pada_free_score *score;

    (void)state;
    for (int i = 0; pada_free_score_name(i); i++) {
        assert_ok(pada_free_score_find(&score, pada_free_score_name(i)));
        if (score->n_values > 1) continue; /* always 64 images: seconds of allocations */
        assert_survives_oom(measure_once(score, &final, &batch), (void)0);
    }
    free((void *)batch.images);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_grad_norm),
                                       cmocka_unit_test(test_synflow),
                                       cmocka_unit_test(test_naswot),
                                       cmocka_unit_test(test_az_nas),
                                       cmocka_unit_test(test_az_nas_extremes),
                                       cmocka_unit_test(test_ranks),
                                       cmocka_unit_test(test_many),
                                       cmocka_unit_test(test_out_of_memory)};
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
