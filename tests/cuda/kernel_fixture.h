/* kernel_fixture.h - for tests that launch kernels of the cuda backend alone, on random tensors, and compare them
 * with plain loops in double over the same bfloat16 numbers. On a device or emulated. */
#ifndef PADA_TESTS_CUDA_KERNEL_FIXTURE_H
#define PADA_TESTS_CUDA_KERNEL_FIXTURE_H

#include <stdlib.h>
#include <string.h>

#include "backend/cuda/cuda_kernels.h"
#include "check.h"

/* A tensor on both sides; `is` is what `at` holds. */
typedef struct tensor {
    void *at;
    double *is;
    int64_t n;
} tensor;

static inline uint16_t narrow(double value)
{
    const float f = (float)value;
    uint32_t bits;

    memcpy(&bits, &f, sizeof bits);
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}

static inline double widen(uint16_t half)
{
    const uint32_t bits = (uint32_t)half << 16;
    float f;

    memcpy(&f, &bits, sizeof f);
    return f;
}

static inline void check_cuda(cudaError_t error)
{
    if (error != cudaSuccess) fail_msg("cuda: %s", cudaGetErrorString(error));
}

static inline void *device_memory(size_t bytes, int fill)
{
    void *memory;

    check_cuda(cudaMalloc(&memory, bytes));
    check_cuda(cudaMemsetAsync(memory, fill, bytes, NULL));
    return memory;
}

static inline void to_device(void *to, const void *from, size_t bytes)
{
    check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, NULL));
    check_cuda(cudaStreamSynchronize(NULL));
}

static inline void from_device(void *to, const void *from, size_t bytes)
{
    check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, NULL));
    check_cuda(cudaStreamSynchronize(NULL));
}

static inline tensor make_tensor(int64_t n, double scale, double offset, uint64_t seed)
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

static inline void free_tensor(tensor *t)
{
    check_cuda(cudaFree(t->at));
    free(t->is);
}

static inline double *read_tensor(const void *at, int64_t n)
{
    uint16_t *halves = calloc((size_t)n, sizeof *halves);
    double *values = calloc((size_t)n, sizeof *values);

    from_device(halves, at, (size_t)n * 2);
    for (int64_t i = 0; i < n; i++)
        values[i] = widen(halves[i]);
    free(halves);
    return values;
}

/* Every number within `rounding` of what it should be, and `slack` of the largest. */
static inline void check_numbers(const char *what, const double *have, const double *want,
                                 int64_t n, double rounding, double slack)
{
    double size = 0;

    for (int64_t i = 0; i < n; i++)
        if (fabs(want[i]) > size) size = fabs(want[i]);
    for (int64_t i = 0; i < n; i++)
        if (!(fabs(have[i] - want[i]) <= rounding * fabs(want[i]) + slack * size) &&
            !(isnan(have[i]) && isnan(want[i])))
            fail_msg("%s: %.9g at %d, not %.9g (largest %g)", what, have[i], (int)i, want[i], size);
}

/* ---- plain loops; images are [n][h][w][c] ---- */

typedef struct net {
    pada_shape shape;
    int n;
    int64_t count;
    double pixels; /* of the batch */
} net;

static inline int64_t at(const net *k, int n, int h, int w, int c)
{
    return (((int64_t)n * k->shape.h + h) * k->shape.w + w) * k->shape.c + c;
}

#define FOR_EACH(k, n_, h_, w_, c_)                   \
    for (int n_ = 0; n_ < (k)->n; n_++)               \
        for (int h_ = 0; h_ < (k)->shape.h; h_++)     \
            for (int w_ = 0; w_ < (k)->shape.w; w_++) \
                for (int c_ = 0; c_ < (k)->shape.c; c_++)

static inline bool inside(const net *k, int h, int w)
{
    return h >= 0 && w >= 0 && h < k->shape.h && w < k->shape.w;
}

static inline int window(int i, int n)
{
    return 3 - (i == 0) - (i == n - 1);
}

static inline void add_pool(const net *k, const double *x, double *y, bool backward)
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
static inline void add_conv(const net *k, const double *x, const float *w, int taps,
                            bool transposed, double *z)
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

static inline void conv_weights(const net *k, const double *x, const double *dz, int taps,
                                double *dw)
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
static inline void channel_sums(const net *k, const double *u, const double *v, double *sums)
{
    memset(sums, 0, 2 * (size_t)k->shape.c * sizeof *sums);
    for (int64_t i = 0; i < k->count; i++) {
        sums[i % k->shape.c * 2] += u[i];
        sums[i % k->shape.c * 2 + 1] += u[i] * v[i];
    }
}

/* ---- sums on the device ---- */

/* All in the finest unit, which holds what these tests have. */
static inline int64_t *fixed_sums(int channels, const double *sums)
{
    const size_t n = (size_t)cuda_sums_count(channels);
    int64_t *host = calloc(n, sizeof *host), *device = device_memory(n * sizeof *host, 0);

    for (int i = 0; sums && i < 2 * channels; i++)
        host[i] = llrint(sums[i] * 0x1p40);
    to_device(device, host, n * sizeof *host);
    free(host);
    return device;
}

static inline void check_sums(const char *what, const int64_t *device, int channels,
                              const double *want, double tolerance)
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
    int c_in, c_out, taps, n;
} weights;

static inline weights make_weights(int c_in, int c_out, int taps, uint64_t seed)
{
    weights w = {.c_in = c_in, .c_out = c_out, .taps = taps, .n = c_in * c_out * taps};
    pada_rng rng;

    w.is = calloc((size_t)w.n, sizeof *w.is);
    pada_rng_init(&rng, seed, "weights", 0);
    for (int i = 0; i < w.n; i++)
        w.is[i] = (float)widen(narrow(pada_rng_normal(&rng) / sqrt(c_in * taps)));
    w.at = device_memory((size_t)w.n * sizeof *w.at, 0);
    to_device(w.at, w.is, (size_t)w.n * sizeof *w.at);
    w.fragments = device_memory((size_t)w.n * 4, 0xff);
    const cuda_weight_jobs jobs = {.at = {{0, 0, c_in, c_out, taps}}, .n = 1};
    check_cuda(pada_cuda_pack_weights(NULL, w.at, &jobs, w.fragments));
    return w;
}

static inline void free_weights(weights *w)
{
    check_cuda(cudaFree(w->at));
    check_cuda(cudaFree(w->fragments));
    free(w->is);
}

static inline net make_net(int c, int n)
{
    const int size = 512 / c;

    return (net){{c, size, size}, n, (int64_t)n * c * size * size, (double)n * size * size};
}

static inline double *zeros(int64_t n)
{
    return calloc((size_t)n, sizeof(double));
}

static inline void relu(double *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (x[i] < 0) x[i] = 0;
}

/* Of all batch norms here: large enough to show, and not what networks have unless they say so. */
#define NORM_EPSILON 0.1

static inline void moments_of(const net *k, const double *sums, int c, double *mean, double *rstd)
{
    *mean = sums[2 * c] / k->pixels;
    *rstd = 1 / sqrt(sums[2 * c + 1] / k->pixels - *mean * *mean + NORM_EPSILON);
}

/* dz of z behind whose batch norm the gradient is dy, and the sums from which kernels work it out. */
static inline void norm_gradient(const net *k, const tensor *dy, const tensor *z, double *dz,
                                 int64_t **moments, int64_t **slopes)
{
    double sums[128], back[128];

    channel_sums(k, z->is, z->is, sums);
    channel_sums(k, dy->is, z->is, back);
    *moments = fixed_sums(k->shape.c, sums);
    *slopes = fixed_sums(k->shape.c, back);
    for (int64_t i = 0; i < k->count; i++) {
        const int c = (int)(i % k->shape.c);
        double mean, rstd;
        moments_of(k, sums, c, &mean, &rstd);
        const double product = (back[2 * c + 1] - mean * back[2 * c]) * rstd / k->pixels;
        const double xhat = (z->is[i] - mean) * rstd;
        dz[i] = rstd * (dy->is[i] - back[2 * c] / k->pixels - xhat * product);
    }
}

/* Scales or shifts of a batch norm: numbers around `middle`, one per channel. */
typedef struct channel_vector {
    double is[128];
    float *at; /* on the device */
} channel_vector;

static inline channel_vector make_channel_vector(int channels, double middle, uint64_t seed)
{
    channel_vector v;
    float values[128];

    random_normal(v.is, channels, seed);
    for (int c = 0; c < channels; c++) {
        values[c] = (float)(middle + 0.3 * v.is[c]);
        v.is[c] = values[c];
    }
    v.at = device_memory((size_t)channels * sizeof *v.at, 0);
    to_device(v.at, values, (size_t)channels * sizeof *v.at);
    return v;
}

/* To the nearest bfloat16. */
static inline void round_all(double *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        x[i] = widen(narrow(x[i]));
}

/* grads of weights, added up from the partial sums of blocks, within what ties of dz explain. */
static inline void check_weights(const cuda_reduce_job *job, const double *want)
{
    const cuda_reduce_jobs jobs = {.at = {*job}, .n = 1};
    const int n = job->c_in * job->c_out * job->taps;
    float *grads = device_memory((size_t)n * sizeof *grads, 0);
    float *have = calloc((size_t)n, sizeof *have);
    double *wide = calloc((size_t)n, sizeof *wide);

    for (int i = 0; i < 3; i++) /* it adds: three times */
        check_cuda(pada_cuda_reduce_weights(NULL, &jobs, grads));
    from_device(have, grads, (size_t)n * sizeof *have);
    for (int i = 0; i < n; i++) {
        wide[i] = have[i] / 3;
        CHECK_CLOSE(wide[i], want[i], 2e-3);
    }
    CHECK_CLOSE(relative_error(wide, want, n), 0, 1e-3);
    free(wide);
    free(have);
    check_cuda(cudaFree(grads));
}

static inline int find_device(void **state)
{
    int n = 0;

    (void)state;
    if (cudaGetDeviceCount(&n) == cudaSuccess && n > 0) return 0;
    exit(77);
}

#endif
