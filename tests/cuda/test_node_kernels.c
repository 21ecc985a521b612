/* test_node_kernels.c - node kernels and what belongs to them, launched alone on random tensors, against
 * plain loops in double over the same bfloat16 numbers.
 *
 * On a device or emulated. Inputs are the same bits for both, so that nothing but the last rounding may
 * differ: activations cannot fall on different sides. */
#include <stdlib.h>
#include <string.h>

#include "backend/cuda/cuda_kernels.h"
#include "check.h"

enum { CONVS = 2, TERMS = 3 };

/* A tensor on both sides; `is` is what `at` holds. */
typedef struct tensor {
    void *at;
    double *is;
    int64_t n;
} tensor;

static uint16_t narrow(double value)
{
    const float f = (float)value;
    uint32_t bits;

    memcpy(&bits, &f, sizeof bits);
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}

static double widen(uint16_t half)
{
    const uint32_t bits = (uint32_t)half << 16;
    float f;

    memcpy(&f, &bits, sizeof f);
    return f;
}

static void check_cuda(cudaError_t error)
{
    if (error != cudaSuccess) fail_msg("cuda: %s", cudaGetErrorString(error));
}

static void *device_memory(size_t bytes, int fill)
{
    void *memory;

    check_cuda(cudaMalloc(&memory, bytes));
    check_cuda(cudaMemsetAsync(memory, fill, bytes, NULL));
    return memory;
}

static void to_device(void *to, const void *from, size_t bytes)
{
    check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, NULL));
    check_cuda(cudaStreamSynchronize(NULL));
}

static void from_device(void *to, const void *from, size_t bytes)
{
    check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, NULL));
    check_cuda(cudaStreamSynchronize(NULL));
}

static tensor make_tensor(int64_t n, double scale, double offset, uint64_t seed)
{
    tensor t = {device_memory((size_t)n * 2, 0xff), calloc((size_t)n, sizeof(double)), n};
    uint16_t *halves = calloc((size_t)n, sizeof *halves);
    pada_rng rng;

    pada_rng_init(&rng, seed, "node", 0);
    for (int64_t i = 0; i < n; i++) {
        halves[i] = narrow(offset + scale * pada_rng_normal(&rng));
        t.is[i] = widen(halves[i]);
    }
    to_device(t.at, halves, (size_t)n * 2);
    free(halves);
    return t;
}

static void free_tensor(tensor *t)
{
    check_cuda(cudaFree(t->at));
    free(t->is);
}

static double *read_tensor(const void *at, int64_t n)
{
    uint16_t *halves = calloc((size_t)n, sizeof *halves);
    double *values = calloc((size_t)n, sizeof *values);

    from_device(halves, at, (size_t)n * 2);
    for (int64_t i = 0; i < n; i++)
        values[i] = widen(halves[i]);
    free(halves);
    return values;
}

/* Every number within a rounding to bfloat16 of what it should be, and a little of the largest. */
static void check_numbers(const char *what, const double *have, const double *want, int64_t n,
                          double rounding)
{
    double size = 0;

    for (int64_t i = 0; i < n; i++)
        if (fabs(want[i]) > size) size = fabs(want[i]);
    for (int64_t i = 0; i < n; i++)
        if (!(fabs(have[i] - want[i]) <= rounding * fabs(want[i]) + 1e-5 * size))
            fail_msg("%s: %.9g at %d, not %.9g (largest %g)", what, have[i], (int)i, want[i], size);
}

/* ---- plain loops; images are [n][h][w][c] ---- */

typedef struct net {
    pada_shape shape;
    int n;
    int64_t count;
    double pixels; /* of the batch */
} net;

static int64_t at(const net *k, int n, int h, int w, int c)
{
    return (((int64_t)n * k->shape.h + h) * k->shape.w + w) * k->shape.c + c;
}

#define FOR_EACH(k, n_, h_, w_, c_)                   \
    for (int n_ = 0; n_ < (k)->n; n_++)               \
        for (int h_ = 0; h_ < (k)->shape.h; h_++)     \
            for (int w_ = 0; w_ < (k)->shape.w; w_++) \
                for (int c_ = 0; c_ < (k)->shape.c; c_++)

static bool inside(const net *k, int h, int w)
{
    return h >= 0 && w >= 0 && h < k->shape.h && w < k->shape.w;
}

static int window(int i, int n)
{
    return 3 - (i == 0) - (i == n - 1);
}

static void add_pool(const net *k, const double *x, double *y, bool backward)
{
    FOR_EACH(k, n, h, w, c)
    for (int d = 0; d < 9; d++) {
        const int i = h + d / 3 - 1, j = w + d % 3 - 1;
        if (!inside(k, i, j)) continue;
        if (backward)
            y[at(k, n, h, w, c)] +=
                x[at(k, n, i, j, c)] / (window(i, k->shape.h) * window(j, k->shape.w));
        else
            y[at(k, n, h, w, c)] +=
                x[at(k, n, i, j, c)] / (window(h, k->shape.h) * window(w, k->shape.w));
    }
}

/* z += conv(x); transposed: with the weights of the transpose. */
static void add_conv(const net *k, const double *x, const float *w, int taps, bool transposed,
                     double *z)
{
    const int c = k->shape.c, r = taps == 9;

    FOR_EACH(k, n, h, col, o)
    for (int t = 0; t < taps; t++) {
        const int i = h + r * (t / 3 - 1), j = col + r * (t % 3 - 1);
        if (!inside(k, i, j)) continue;
        for (int ci = 0; ci < c; ci++) {
            const double weight = transposed ? w[((int64_t)ci * c + o) * taps + taps - 1 - t]
                                             : w[((int64_t)o * c + ci) * taps + t];
            z[at(k, n, h, col, o)] += weight * x[at(k, n, i, j, ci)];
        }
    }
}

static void conv_weights(const net *k, const double *x, const double *dz, int taps, double *dw)
{
    const int c = k->shape.c, r = taps == 9;

    FOR_EACH(k, n, h, w, o)
    for (int t = 0; t < taps; t++) {
        const int i = h + r * (t / 3 - 1), j = w + r * (t % 3 - 1);
        if (!inside(k, i, j)) continue;
        for (int ci = 0; ci < c; ci++)
            dw[((int64_t)o * c + ci) * taps + t] += dz[at(k, n, h, w, o)] * x[at(k, n, i, j, ci)];
    }
}

/* Sums of u and u v per channel, [c][2]. */
static void channel_sums(const net *k, const double *u, const double *v, double *sums)
{
    memset(sums, 0, 2 * (size_t)k->shape.c * sizeof *sums);
    for (int64_t i = 0; i < k->count; i++) {
        sums[i % k->shape.c * 2] += u[i];
        sums[i % k->shape.c * 2 + 1] += u[i] * v[i];
    }
}

/* ---- sums on the device ---- */

/* All in the finest unit, which holds what these tests have. */
static int64_t *fixed_sums(int channels, const double *sums)
{
    const size_t n = (size_t)cuda_sums_count(channels);
    int64_t *host = calloc(n, sizeof *host), *device = device_memory(n * sizeof *host, 0);

    for (int i = 0; sums && i < 2 * channels; i++)
        host[i] = llrint(sums[i] * 0x1p40);
    to_device(device, host, n * sizeof *host);
    free(host);
    return device;
}

static void check_sums(const char *what, const int64_t *device, int channels, const double *want,
                       double tolerance)
{
    int64_t host[CUDA_UNITS * 2 * 64 + 2];
    double size = 0, have[2 * 64] = {0};

    from_device(host, device, sizeof *host * (size_t)cuda_sums_count(channels));
    assert_true(host[CUDA_UNITS * 2 * channels] == 0);
    for (int unit = 0; unit < CUDA_UNITS; unit++)
        for (int i = 0; i < 2 * channels; i++)
            have[i] += ldexp((double)host[unit * 2 * channels + i], 32 * unit - 40);
    for (int i = 0; i < 2 * channels; i++)
        if (fabs(want[i]) > size) size = fabs(want[i]);
    for (int i = 0; i < 2 * channels; i++)
        if (!(fabs(have[i] - want[i]) <= tolerance * size))
            fail_msg("%s: sum %d of channel %d is %g, not %g", what, i % 2, i / 2, have[i],
                     want[i]);
}

/* ---- weights ---- */

typedef struct weights {
    float *is, *at;
    char *fragments;
    int taps, n;
} weights;

static weights make_weights(int c, int taps, uint64_t seed)
{
    weights w = {.taps = taps, .n = c * c * taps};
    pada_rng rng;

    w.is = calloc((size_t)w.n, sizeof *w.is);
    pada_rng_init(&rng, seed, "weights", 0);
    for (int i = 0; i < w.n; i++)
        w.is[i] = (float)widen(narrow(pada_rng_normal(&rng) / sqrt(c * taps)));
    w.at = device_memory((size_t)w.n * sizeof *w.at, 0);
    to_device(w.at, w.is, (size_t)w.n * sizeof *w.at);
    w.fragments = device_memory((size_t)w.n * 4, 0xff);
    const cuda_weight_jobs jobs = {.at = {{0, 0, c, taps}}, .n = 1};
    check_cuda(pada_cuda_pack_weights(NULL, w.at, &jobs, w.fragments));
    return w;
}

static void free_weights(weights *w)
{
    check_cuda(cudaFree(w->at));
    check_cuda(cudaFree(w->fragments));
    free(w->is);
}

/* ---- forward ---- */

static net make_net(int c, int n)
{
    const int size = 512 / c;

    return (net){{c, size, size}, n, (int64_t)n * c * size * size, (double)n * size * size};
}

static double *zeros(int64_t n)
{
    return calloc((size_t)n, sizeof(double));
}

static void relu(double *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (x[i] < 0) x[i] = 0;
}

static void moments_of(const net *k, const double *sums, int c, double *mean, double *rstd)
{
    *mean = sums[2 * c] / k->pixels;
    *rstd = 1 / sqrt(sums[2 * c + 1] / k->pixels - *mean * *mean + PADA_BN_EPS);
}

static void check_forward(int c, int n, bool with_relu)
{
    const net k = make_net(c, n);
    tensor x[TERMS];
    weights w[CONVS] = {make_weights(c, 9, 1), make_weights(c, 1, 2)};
    double sums[128], *y = zeros(k.count);
    void *out[CONVS + 1];
    int64_t *out_sums[CONVS + 1];

    for (int e = 0; e < TERMS; e++)
        x[e] = make_tensor(k.count, 1 + e, 0.2 * e, (uint64_t)e);
    for (int e = 0; e <= CONVS; e++) {
        out[e] = device_memory((size_t)k.count * 2 + 256, 0xff);
        out_sums[e] = fixed_sums(c, NULL);
    }
    channel_sums(&k, x[1].is, x[1].is, sums);
    int64_t *norm = fixed_sums(c, sums);
    cuda_node_forward_job job = {
        .shape = k.shape,
        .n_images = n,
        .n_terms = 3,
        .n_convs = 2,
        .relu = with_relu,
        .terms = {{.kind = PADA_TERM_IDENTITY, .x = x[0].at},
                  {.kind = PADA_TERM_BATCHNORM, .x = x[1].at, .moments = {.sums = norm}},
                  {.kind = PADA_TERM_AVGPOOL, .x = x[2].at}},
        .y = out[0],
        .sums = out_sums[0],
        .convs = {{9, w[0].fragments, out[1], out_sums[1]},
                  {1, w[1].fragments, out[2], out_sums[2]}},
    };
    check_cuda(pada_cuda_node_forward(NULL, &job));

    for (int64_t i = 0; i < k.count; i++) {
        double mean, rstd;
        moments_of(&k, sums, (int)(i % c), &mean, &rstd);
        y[i] = x[0].is[i] + (x[1].is[i] - mean) * rstd;
    }
    add_pool(&k, x[2].is, y, false);
    double *have = read_tensor(out[0], k.count);
    check_numbers("y", have, y, k.count, 0x1p-8);
    channel_sums(&k, have, have, sums);
    check_sums("y", out_sums[0], c, sums, 1e-6);
    if (with_relu) relu(have, k.count);
    for (int e = 0; e < CONVS; e++) {
        double *want = zeros(k.count);
        add_conv(&k, have, w[e].is, w[e].taps, false, want);
        double *z = read_tensor(out[e + 1], k.count);
        check_numbers(e ? "conv1x1" : "conv3x3", z, want, k.count, 0x1p-8);
        channel_sums(&k, z, z, sums);
        check_sums(e ? "conv1x1" : "conv3x3", out_sums[e + 1], c, sums, 1e-6);
        free(want);
        free(z);
        uint16_t behind[128]; /* images that do not exist are not written */
        from_device(behind, (char *)out[e + 1] + k.count * 2, sizeof behind);
        for (int i = 0; i < 128; i++)
            assert_int_equal(behind[i], 0xffff);
    }
    free(have);
    free(y);
    for (int e = 0; e < TERMS; e++)
        free_tensor(&x[e]);
    for (int e = 0; e <= CONVS; e++) {
        check_cuda(cudaFree(out[e]));
        check_cuda(cudaFree(out_sums[e]));
    }
    check_cuda(cudaFree(norm));
    for (int e = 0; e < CONVS; e++)
        free_weights(&w[e]);
}

static void test_forward(void **state)
{
    (void)state;
    check_cuda(pada_cuda_node_forward_init());
    check_forward(16, 2, true);
    check_forward(32, 2, true);
    check_forward(64, 4, true);
    check_forward(64, 3, true); /* half a block */
    check_forward(32, 1, false);
}

/* ---- backward ---- */

static void check_backward(int c, int n)
{
    const net k = make_net(c, n);
    tensor y = make_tensor(k.count, 1, 0.1, 9), dy[4], z[CONVS], in[2];
    weights w[CONVS] = {make_weights(c, 9, 1), make_weights(c, 1, 2)};
    double sums[128], back[128], *want = zeros(k.count), *x = zeros(k.count);
    const int blocks = pada_cuda_node_blocks(k.shape, n);
    void *out = device_memory((size_t)k.count * 2 + 256, 0xff);
    int64_t *norms[2] = {fixed_sums(c, NULL), fixed_sums(c, NULL)};
    float *grads[CONVS], *partial[CONVS];
    int64_t *moments[CONVS], *slopes[CONVS];
    cuda_node_backward_job job = {.shape = k.shape,
                                  .n_images = n,
                                  .n_convs = 2,
                                  .n_flows = 2,
                                  .n_norms = 2,
                                  .relu = true,
                                  .y = y.at,
                                  .dy = out};

    for (int e = 0; e < 4; e++)
        dy[e] = make_tensor(k.count, 1e-2, 1e-3, 20 + (uint64_t)e);
    for (int e = 0; e < 2; e++) {
        in[e] = make_tensor(k.count, 1, 0.5, 30 + (uint64_t)e);
        z[e] = make_tensor(k.count, 1.5, -0.5, 40 + (uint64_t)e);
        job.norms[e] = (cuda_node_norm){in[e].at, norms[e]};
        job.flows[e] = (cuda_node_flow){e == 1, dy[2 + e].at};
    }
    memcpy(x, y.is, (size_t)k.count * sizeof *x);
    relu(x, k.count);
    for (int e = 0; e < CONVS; e++) {
        double *dz = zeros(k.count), *dw = zeros(w[e].n);
        channel_sums(&k, z[e].is, z[e].is, sums);
        channel_sums(&k, dy[e].is, z[e].is, back);
        moments[e] = fixed_sums(c, sums);
        slopes[e] = fixed_sums(c, back);
        for (int64_t i = 0; i < k.count; i++) {
            double mean, rstd;
            const int ch = (int)(i % c);
            moments_of(&k, sums, ch, &mean, &rstd);
            const double product = (back[2 * ch + 1] - mean * back[2 * ch]) * rstd / k.pixels;
            const double xhat = (z[e].is[i] - mean) * rstd;
            /* as the kernel, dz is rounded to bfloat16 */
            dz[i] = widen(narrow(rstd * (dy[e].is[i] - back[2 * ch] / k.pixels - xhat * product)));
        }
        add_conv(&k, dz, w[e].is, w[e].taps, true, want);
        conv_weights(&k, x, dz, w[e].taps, dw);
        grads[e] = device_memory((size_t)w[e].n * sizeof(float), 0);
        partial[e] = device_memory((size_t)w[e].n * (size_t)blocks * sizeof(float), 0xff);
        job.convs[e] =
            (cuda_node_back_conv){.taps = w[e].taps,
                                  .dy = dy[e].at,
                                  .z = z[e].at,
                                  .slopes = {.moments = {.sums = moments[e]}, .sums = slopes[e]},
                                  .weight = w[e].fragments + (size_t)w[e].n * 2,
                                  .partial = partial[e]};
        if (e == 0) {
            cuda_node_backward_job alone = job;
            alone.n_convs = 1; /* and nothing else: only weights */
            alone.n_flows = alone.n_norms = 0;
            alone.dy = NULL;
            check_cuda(pada_cuda_node_backward(NULL, &alone));
        }
        if (e == CONVS - 1) check_cuda(pada_cuda_node_backward(NULL, &job));
        free(dz);
        /* the reduction adds: three times */
        const cuda_reduce_jobs reduce = {.at = {{partial[e], 0, c, w[e].taps, blocks}}, .n = 1};
        for (int i = 0; i < 3; i++)
            check_cuda(pada_cuda_reduce_weights(NULL, &reduce, grads[e]));
        float *have = calloc((size_t)w[e].n, sizeof *have);
        from_device(have, grads[e], (size_t)w[e].n * sizeof *have);
        double *wide = zeros(w[e].n);
        for (int i = 0; i < w[e].n; i++)
            wide[i] = have[i] / 3;
        /* now and then dz falls on the other side of a tie */
        for (int i = 0; i < w[e].n; i++)
            CHECK_CLOSE(wide[i], dw[i], 2e-3);
        CHECK_CLOSE(relative_error(wide, dw, w[e].n), 0, 2e-4);
        free(wide);
        free(have);
        free(dw);
    }
    for (int64_t i = 0; i < k.count; i++)
        want[i] = (y.is[i] > 0 ? widen(narrow(want[i])) : 0) + dy[2].is[i];
    add_pool(&k, dy[3].is, want, true);
    double *have = read_tensor(out, k.count);
    check_numbers("gradient", have, want, k.count, 0x1p-6); /* two roundings, and ties of dz */
    CHECK_CLOSE(relative_error(have, want, k.count), 0, 0x1p-8);
    for (int e = 0; e < 2; e++) {
        channel_sums(&k, have, in[e].is, sums);
        check_sums("norm", norms[e], c, sums, 1e-5);
    }
    uint16_t behind[128];
    from_device(behind, (char *)out + k.count * 2, sizeof behind);
    for (int i = 0; i < 128; i++)
        assert_int_equal(behind[i], 0xffff);

    free(have);
    free(want);
    free(x);
    free_tensor(&y);
    check_cuda(cudaFree(out));
    for (int e = 0; e < 4; e++)
        free_tensor(&dy[e]);
    for (int e = 0; e < 2; e++) {
        free_tensor(&z[e]);
        free_tensor(&in[e]);
        free_weights(&w[e]);
        void *memory[] = {norms[e], grads[e], partial[e], moments[e], slopes[e]};
        for (int i = 0; i < 5; i++)
            check_cuda(cudaFree(memory[i]));
    }
}

static void test_backward(void **state)
{
    (void)state;
    check_cuda(pada_cuda_node_backward_init());
    check_backward(16, 2);
    check_backward(32, 3);
    check_backward(64, 2);
    check_backward(64, 3);
}

/* A sum that does not fit into 64 bits, or is NaN, is NaN behind the kernel, not a wrong number. */
static void test_spoilt_sums(void **state)
{
    const net k = make_net(64, 2);
    tensor x = make_tensor(k.count, 1, 0, 1);
    float *mean = device_memory(64 * sizeof *mean, 0), *rstd = device_memory(64 * sizeof *rstd, 0);
    float have[64];

    (void)state;
    check_cuda(pada_cuda_node_forward_init());
    for (int i = 0; i < 3; i++) {
        static const uint16_t extremes[] = {0x3f80, 0x7fc0, 0x7f00}; /* 1, NaN, 1.7e38 */
        int64_t *sums = fixed_sums(64, NULL);
        to_device((uint16_t *)x.at + 5, &extremes[i], 2);
        const cuda_node_forward_job job = {.shape = k.shape,
                                           .n_images = 2,
                                           .n_terms = 1,
                                           .terms = {{.kind = PADA_TERM_IDENTITY, .x = x.at}},
                                           .sums = sums};
        check_cuda(pada_cuda_node_forward(NULL, &job));
        check_cuda(pada_cuda_finish_moments(NULL, sums, k.shape, 2, mean, rstd));
        from_device(have, rstd, sizeof have);
        assert_int_equal(isnan(have[5]) != 0, i > 0);
        check_cuda(cudaFree(sums));
    }
    free_tensor(&x);
    check_cuda(cudaFree(mean));
    check_cuda(cudaFree(rstd));
}

static int find_device(void **state)
{
    int n = 0;

    (void)state;
    if (cudaGetDeviceCount(&n) == cudaSuccess && n > 0) return 0;
    exit(77);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forward),
        cmocka_unit_test(test_backward),
        cmocka_unit_test(test_spoilt_sums),
    };
    return cmocka_run_group_tests(tests, find_device, NULL);
}
