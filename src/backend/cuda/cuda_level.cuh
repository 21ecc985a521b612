/* cuda_level.cuh - what kernels of levels share: how they read values and gradients, and what becomes of their results.
 *
 * A thread has W neighbouring channels, 2 or 8, of one pixel after the other. The threads of a block are `slots` rows of
 * `lanes` threads: a lane is a place among the channels of the block, and the slots of a lane are added up in order. */
#ifndef PADA_BACKEND_CUDA_CUDA_LEVEL_CUH
#define PADA_BACKEND_CUDA_CUDA_LEVEL_CUH

#include "backend/cuda/cuda_level.h"
#include "backend/cuda/cuda_mma.cuh"

/* ---- jobs ---- */

/* What a job has to do: `rounds` things, one after the other, for each of `columns` sets of channels; a block has one set. */
struct level_work {
    int columns, rounds, cost; /* cost: of a round, compared with other jobs */
};

/* Divides about `total` blocks among jobs by what they have to do. */
static inline void level_place_blocks(const level_work *work, int n, int total, int *first)
{
    double sum = 0;

    for (int k = 0; k < n; k++)
        sum += (double)work[k].columns * work[k].rounds * work[k].cost;
    first[0] = 0;
    for (int k = 0; k < n; k++) {
        const double share = (double)work[k].rounds * work[k].cost / sum * total;
        const int turns = share < 1 ? 1 : share < work[k].rounds ? (int)share : work[k].rounds;
        first[k + 1] = first[k] + work[k].columns * turns;
    }
}

/* The job that this block belongs to. */
template <typename Jobs> static __device__ __forceinline__ int cuda_find_job(const Jobs &jobs)
{
    int k = 0;

    while (k + 1 < jobs.n && (int)blockIdx.x >= jobs.first[k + 1])
        k++;
    return k;
}

/* ---- pixels ---- */

/* Divides by a number that all threads of a block know: a product and a correction. */
struct cuda_divisor {
    unsigned by, factor;
};

static __host__ __device__ __forceinline__ cuda_divisor cuda_prepare_divisor(int by)
{
    return {(unsigned)by, by == 1 ? ~0u : (unsigned)(((uint64_t)1 << 32) / (unsigned)by)};
}

/* n >= 0; the quotient of the factor is one too small at most. */
static __device__ __forceinline__ int cuda_divide(int n, cuda_divisor d)
{
    const unsigned q = (unsigned)((uint64_t)(unsigned)n * d.factor >> 32);

    return (int)(((unsigned)n - q * d.by >= d.by) ? q + 1 : q);
}

/* ---- elements ---- */

/* Whether 8 channels can be moved at once; 4 can be where cuda_fetch and cuda_store are told that they are wide. */
static __device__ __forceinline__ bool cuda_is_wide(const void *data, int64_t image, int pitch)
{
    return image % 8 == 0 && pitch % 8 == 0 && (uintptr_t)data % 16 == 0;
}

/* W channels as they lie in memory. */
template <int W> struct cuda_raw {
    uint32_t pair[W / 2];
};

/* Those from element i on, of which `valid`, an even number, are there; the others are zero. */
template <int W>
static __device__ __forceinline__ cuda_raw<W> cuda_fetch(const void *data, int64_t i, int valid,
                                                         bool wide)
{
    const uint16_t *from = (const uint16_t *)data + i;
    cuda_raw<W> raw;

    if (W == 8 && wide && valid >= 8) {
        const uint4 all = *(const uint4 *)from;
        const uint32_t pairs[4] = {all.x, all.y, all.z, all.w};
#pragma unroll
        for (int k = 0; k < W / 2; k++)
            raw.pair[k] = pairs[k];
        return raw;
    }
    if (W == 4 && wide && valid >= 4) {
        const uint2 all = *(const uint2 *)from;
        raw.pair[0] = all.x;
        raw.pair[W / 2 - 1] = all.y;
        return raw;
    }
#pragma unroll
    for (int k = 0; k < W / 2; k++)
        raw.pair[k] = 2 * k < valid ? *(const uint32_t *)(from + 2 * k) : 0;
    return raw;
}

template <int W>
static __device__ __forceinline__ void cuda_unpack(const cuda_raw<W> &raw, float v[W])
{
#pragma unroll
    for (int k = 0; k < W; k += 2) {
        v[k] = cuda_low(raw.pair[k / 2]);
        v[k + 1] = cuda_high(raw.pair[k / 2]);
    }
}

template <int W>
static __device__ __forceinline__ void cuda_load(const void *data, int64_t i, int valid, bool wide,
                                                 float v[W])
{
    cuda_unpack<W>(cuda_fetch<W>(data, i, valid, wide), v);
}

template <int W>
static __device__ __forceinline__ void cuda_store(void *data, int64_t i, int valid, bool wide,
                                                  const float v[W])
{
    uint16_t *to = (uint16_t *)data + i;

    if (W == 8 && wide && valid >= 8) {
        *(uint4 *)to = make_uint4(cuda_pair(v[0], v[1]), cuda_pair(v[2], v[3]),
                                  cuda_pair(v[4], v[5]), cuda_pair(v[6], v[7]));
        return;
    }
    if (W == 4 && wide && valid >= 4) {
        *(uint2 *)to = make_uint2(cuda_pair(v[0], v[1]), cuda_pair(v[W - 2], v[W - 1]));
        return;
    }
#pragma unroll
    for (int k = 0; k < W; k += 2)
        if (k < valid) *(uint32_t *)(to + k) = cuda_pair(v[k], v[k + 1]);
}

/* ---- views ---- */

/* The norm of W channels: y = factor x + shift. */
template <int W> struct cuda_norm {
    float factor[W], shift[W];
};

template <int W>
static __device__ __forceinline__ cuda_norm<W> cuda_read_norm(const cuda_view &view, int c,
                                                              int valid)
{
    cuda_norm<W> norm;

#pragma unroll
    for (int k = 0; k < W; k++) {
        const bool is = view.mean && k < valid;
        norm.factor[k] = is ? view.rstd[c + k] * (view.scale ? view.scale[c + k] : 1) : 1;
        norm.shift[k] =
            is ? (view.shift ? view.shift[c + k] : 0) - view.mean[c + k] * norm.factor[k] : 0;
    }
    return norm;
}

/* norm(x) of W channels, in front of the activation. */
template <int W>
static __device__ __forceinline__ void cuda_apply_norm(const cuda_norm<W> &norm, float v[W])
{
#pragma unroll
    for (int k = 0; k < W; k++)
        v[k] = norm.factor[k] * v[k] + norm.shift[k];
}

template <int W> static __device__ __forceinline__ void cuda_apply_act(pada_act act, float v[W])
{
    if (act == PADA_ACT_NONE) return;
#pragma unroll
    for (int k = 0; k < W; k++)
        v[k] = cuda_act(act, v[k]);
}

/* ---- gradients ---- */

template <int W> struct cuda_slope {
    float a[W], b[W], c[W];
};

/* Not read without z. */
template <int W>
static __device__ __forceinline__ cuda_slope<W> cuda_read_slope(const cuda_gradient &g, int c,
                                                                int valid)
{
    cuda_slope<W> s;

#pragma unroll
    for (int k = 0; k < W; k++) {
        const bool is = g.z && k < valid;
        s.a[k] = is ? g.coef[c + k] : 1;
        s.b[k] = is ? g.coef[g.vector + c + k] : 0;
        s.c[k] = is ? g.coef[2 * g.vector + c + k] : 0;
    }
    return s;
}

/* dz of W channels from c on, of a pixel of an image. */
template <int W>
static __device__ __forceinline__ void cuda_load_gradient(const cuda_gradient &g,
                                                          const cuda_slope<W> &s, int64_t image,
                                                          int64_t pixel, int c, int valid,
                                                          bool wide, float v[W])
{
    cuda_load<W>(g.dy, image * g.dy_image + pixel * g.dy_pitch + c, valid, wide, v);
    if (!g.z) return;
    float z[W];
    cuda_load<W>(g.z, image * g.z_image + pixel * g.z_pitch + c, valid, wide, z);
#pragma unroll
    for (int k = 0; k < W; k++)
        v[k] = s.a[k] * v[k] + (s.b[k] * z[k] + s.c[k]);
}

static __device__ __forceinline__ bool cuda_is_wide(const cuda_gradient &g)
{
    return cuda_is_wide(g.dy, g.dy_image, g.dy_pitch) &&
           (!g.z || cuda_is_wide(g.z, g.z_image, g.z_pitch));
}

/* ---- results ---- */

/* What a thread keeps of its results: sums of u and of u times another number, for each finish. */
template <int W> struct cuda_tally {
    float u[W], product[CUDA_FINISHES][W];
};

/* A pixel of a batch; image -1: there is none. */
struct cuda_spot {
    int image, pixel;
};

/* What results meet in memory before they are written. */
template <int W> struct cuda_met {
    cuda_raw<W> at, there, z[CUDA_FINISHES];
};

template <int W>
static __device__ __forceinline__ cuda_met<W> cuda_meet(const cuda_result &to, cuda_spot spot,
                                                        int c, int valid, bool wide)
{
    cuda_met<W> met;
    const int64_t image = spot.image, pixel = spot.pixel;

    if (to.at.data)
        met.at =
            cuda_fetch<W>(to.at.data, image * to.at.image + pixel * to.at.pitch + c, valid, wide);
    if (to.accumulate)
        met.there = cuda_fetch<W>(to.data, image * to.image + pixel * to.pitch + c, valid, wide);
#pragma unroll
    for (int f = 0; f < CUDA_FINISHES; f++)
        if (f < to.n_finishes && to.finishes[f].z)
            met.z[f] =
                cuda_fetch<W>(to.finishes[f].z,
                              image * to.finishes[f].z_image + pixel * to.pitch + c, valid, wide);
    return met;
}

/* Writes W results of a pixel after what belongs to them. */
template <int W>
static __device__ __forceinline__ void cuda_put_result(const cuda_result &to,
                                                       const cuda_norm<W> &at,
                                                       const cuda_met<W> &met, cuda_spot spot,
                                                       int c, int valid, bool wide, float v[W],
                                                       cuda_tally<W> *tally)
{
    float other[W];

    if (to.at.data) {
        cuda_unpack<W>(met.at, other);
        cuda_apply_norm<W>(at, other);
#pragma unroll
        for (int k = 0; k < W; k++)
            v[k] *= cuda_act_slope(to.at.act, other[k]);
    }
    if (to.accumulate) {
        cuda_unpack<W>(met.there, other);
#pragma unroll
        for (int k = 0; k < W; k++)
            v[k] += other[k];
    }
    cuda_store<W>(to.data, spot.image * to.image + (int64_t)spot.pixel * to.pitch + c, valid, wide,
                  v);
#pragma unroll
    for (int f = 0; f < CUDA_FINISHES; f++) {
        if (f >= to.n_finishes) break;
        const bool is_norm = to.finishes[f].z;
        if (is_norm) cuda_unpack<W>(met.z[f], other);
#pragma unroll
        for (int k = 0; k < W; k++)
            tally->product[f][k] += v[k] * (is_norm ? other[k] : v[k]);
    }
#pragma unroll
    for (int k = 0; k < W; k++)
        tally->u[k] += v[k];
}

/* The same of N pixels: all loads are under way before the first result is written. */
template <int W, int N>
static __device__ __forceinline__ void cuda_put_results(const cuda_result &to,
                                                        const cuda_norm<W> &at,
                                                        const cuda_spot (&spots)[N], int c,
                                                        int valid, bool wide, float (&v)[N][W],
                                                        cuda_tally<W> *tally)
{
    cuda_met<W> met[N];

#pragma unroll
    for (int k = 0; k < N; k++)
        if (spots[k].image >= 0) met[k] = cuda_meet<W>(to, spots[k], c, valid, wide);
#pragma unroll
    for (int k = 0; k < N; k++)
        if (spots[k].image >= 0)
            cuda_put_result<W>(to, at, met[k], spots[k], c, valid, wide, v[k], tally);
}

/* Whether all that cuda_put_results touches can be moved 8 channels at a time. */
static __device__ __forceinline__ bool cuda_is_wide(const cuda_result &to)
{
    bool wide = cuda_is_wide(to.data, to.image, to.pitch);

    if (to.at.data) wide = wide && cuda_is_wide(to.at.data, to.at.image, to.at.pitch);
    for (int f = 0; f < to.n_finishes; f++)
        if (to.finishes[f].z)
            wide = wide && cuda_is_wide(to.finishes[f].z, to.finishes[f].z_image, to.pitch);
    return wide;
}

/* 1/x of a positive number to 46 bits, without the division that is a function of many instructions. */
static __device__ __forceinline__ double cuda_invert(double x)
{
    const double near = 1 / (float)x;

    return near * (2 - x * near);
}

/* Mean and 1/deviation, or the coefficients of dz = a dy + b z + c, of one channel. In double is what may cancel. */
static __device__ inline void cuda_finish_channel(const cuda_finish &f, int channels, int c)
{
    const bool is_norm = f.z;
    const float mean = is_norm ? f.mean[c] : 0, rstd = is_norm ? f.rstd[c] : 0;
    const float scale = is_norm && f.scale ? f.scale[c] : 1;
    const float grad_scale = f.grad_scale ? f.grad_scale[c] : 0;
    const float grad_shift = f.grad_shift ? f.grad_shift[c] : 0;
    const double sum = cuda_read_sum(f.sums, channels, 2 * c);
    const double products = cuda_read_sum(f.sums, channels, 2 * c + 1);
    const double share = cuda_invert(f.count);

    if (!is_norm) {
        const double average = sum * share, variance = products * share - average * average;
        f.mean[c] = (float)average;
        f.rstd[c] = rsqrtf((float)((variance < 0 ? 0 : variance) + f.epsilon));
        return;
    }
    const double centred = products - mean * sum; /* of dy (z - mean) */
    const double factor = (double)scale * rstd;
    const double slope = factor * rstd * rstd * centred * share;
    f.coef[c] = (float)factor;
    f.coef[f.vector + c] = (float)-slope;
    f.coef[2 * f.vector + c] = (float)(slope * mean - factor * sum * share);
    if (f.grad_scale) f.grad_scale[c] = grad_scale + (float)(centred * rstd);
    if (f.grad_shift) f.grad_shift[c] = grad_shift + (float)sum;
}

/* Floats of shared memory that cuda_end_results wants of a block of so many threads. */
template <int W> static constexpr int cuda_tally_floats(int threads)
{
    return threads * W * (1 + CUDA_FINISHES);
}

/* The tallies in shared memory as [value][slot][lane], so that neighbours write side by side. */
template <int W>
static __device__ __forceinline__ void cuda_stage_tally(const cuda_tally<W> &tally, int n_finishes,
                                                        int pitch, float *to)
{
#pragma unroll
    for (int k = 0; k < W; k++)
        to[k * pitch] = tally.u[k];
#pragma unroll
    for (int f = 0; f < CUDA_FINISHES; f++)
        if (f < n_finishes)
#pragma unroll
            for (int k = 0; k < W; k++)
                to[(W * (1 + f) + k) * pitch] = tally.product[f][k];
}

/* Adds the sum of one value of a channel over the block to those of the job. */
static __device__ __forceinline__ void cuda_give_share(const cuda_result &to, int channels, int c,
                                                       int which, float sum)
{
    if (which > 0) {
        cuda_add_share(to.finishes[which - 1].sums, channels, 2 * c + 1, sum);
        return;
    }
    for (int f = 0; f < to.n_finishes; f++)
        cuda_add_share(to.finishes[f].sums, channels, 2 * c, sum);
}

/* A block has given its shares; the last of the `blocks` of the job finishes the sums. `shared` is free for one int behind
 * a barrier. */
static __device__ inline void cuda_close_results(const cuda_result &to, int channels, int blocks,
                                                 float *shared)
{
    const int thread = (int)(threadIdx.y * blockDim.x + threadIdx.x);
    const int threads = (int)(blockDim.x * blockDim.y);

    __syncthreads();
    int *is_last = (int *)shared;
    if (thread ==
        0) { /* the fences are also for what the others did before, or do behind, a barrier */
        cuda_fence();
        *is_last = cuda_count(to.finishes[0].sums + CUDA_UNITS * 2 * channels + 1) == blocks - 1;
        cuda_fence();
    }
    __syncthreads();
    if (!*is_last) return;
    for (int i = thread; i < to.n_finishes * channels; i += threads) {
        const int f = i >= channels;
        cuda_finish_channel(to.finishes[f], channels, i - f * channels);
    }
}

/* Adds up tallies that stand in shared memory as [value][slot][lane], and gives their share to the sums; the last of the
 * `blocks` of the job finishes them. The lanes of the block have channels from `first` on, W each. Several neighbours in
 * a warp, a power of two, share a sum where there are more threads than sums. All threads call it. */
template <int W>
static __device__ inline void cuda_add_tallies(const cuda_result &to, int channels, int first,
                                               int lanes, int slots, int blocks, float *shared)
{
    const int thread = (int)(threadIdx.y * blockDim.x + threadIdx.x);
    const int threads = (int)(blockDim.x * blockDim.y), values = W * (1 + to.n_finishes) * lanes;
    int log = 0; /* of how many share a sum */

    if (to.n_finishes == 0) return;
    while (log < 5 && values << (log + 1) <= threads && 2 << log <= slots)
        log++;
    __syncthreads();
    for (int begin = 0; begin < values << log; begin += threads) {
        const int i = (begin + thread) >> log, part = thread & ((1 << log) - 1);
        const int value = i / lanes, at = i - value * lanes, c = first + at * W + value % W;
        float sum = 0;
        if (i < values) {
            const float *from = shared + value * slots * lanes + at;
#pragma unroll 4
            for (int s = part; s < slots; s += 1 << log)
                sum += from[s * lanes];
        }
        for (int mask = 1; mask < 1 << log; mask *= 2)
            sum += cuda_exchange(sum, mask);
        if (i < values && part == 0 && c < channels)
            cuda_give_share(to, channels, c, value / W, sum);
    }
    cuda_close_results(to, channels, blocks, shared);
}

/* The same of the tallies of all threads; `shared` is free. */
template <int W>
static __device__ inline void cuda_end_results(const cuda_result &to, int channels, int first,
                                               int lane, int lanes, int slot, int slots, int blocks,
                                               const cuda_tally<W> &tally, float *shared)
{
    if (to.n_finishes > 0 && lane < lanes && slot < slots)
        cuda_stage_tally<W>(tally, to.n_finishes, slots * lanes, shared + slot * lanes + lane);
    cuda_add_tallies<W>(to, channels, first, lanes, slots, blocks, shared);
}

static_assert(CUDA_FINISHES == 2, "cuda_end_results finishes one or two norms");

#endif
