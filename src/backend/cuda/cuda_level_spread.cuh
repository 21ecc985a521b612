/* cuda_level_spread.cuh - how sums and pools of a level are spread over threads.
 *
 * All that can be known before the launch is worked out by the host and travels with the job: how many channels, 2, 4
 * or 8, a thread moves at once, and the numbers to divide by. The channels are cut into even chunks of at most
 * SPREAD_LANES threads; a block has one chunk, and its slots take turns at what the blocks of that chunk share. What norms
 * and gradients need of a channel waits in shared memory. */
#ifndef PADA_BACKEND_CUDA_CUDA_LEVEL_SPREAD_CUH
#define PADA_BACKEND_CUDA_CUDA_LEVEL_SPREAD_CUH

#include "backend/cuda/cuda_level.cuh"

enum {
    SPREAD_THREADS = 320,
    SPREAD_LANES = 32,
    SPREAD_WIDTH = 8, /* the most channels of a thread */
    SPREAD_RESIDENT = 2,
    SPREAD_BLOCKS = SPREAD_RESIDENT * 132, /* of a launch: as many as an H200 runs at a time */
    SPREAD_CHANNELS = SPREAD_LANES * SPREAD_WIDTH,
    SPREAD_TALLIES = cuda_tally_floats<SPREAD_WIDTH>(SPREAD_THREADS)
};

/* ---- on the host ---- */

struct spread {
    int width, channels;
    int lanes, slots;
    int pixels; /* of the batch */
    cuda_divisor chunks, by_lanes, by_channels /* of a chunk */, plane, row;
};

/* How many channels can be moved at once, of those that were possible before. */
static inline int spread_narrow(int width, const void *data, int64_t image, int pitch)
{
    if (!data) return width;
    while (width > 2 &&
           (image % width != 0 || pitch % width != 0 || (uintptr_t)data % (2u * width) != 0))
        width /= 2;
    return width;
}

static inline int spread_narrow(int width, const cuda_view &x)
{
    return spread_narrow(width, x.data, x.image, x.pitch);
}

static inline int spread_narrow(int width, const cuda_gradient &g)
{
    return spread_narrow(spread_narrow(width, g.dy, g.dy_image, g.dy_pitch), g.z, g.z_image,
                         g.z_pitch);
}

static inline int spread_narrow(int width, const cuda_result &to)
{
    width = spread_narrow(spread_narrow(width, to.at), to.data, to.image, to.pitch);
    for (int f = 0; f < to.n_finishes; f++)
        width = spread_narrow(width, to.finishes[f].z, to.finishes[f].z_image, to.pitch);
    return width;
}

/* The width to begin with. */
static inline int spread_width(int channels)
{
    return channels % 8 == 0 ? 8 : channels % 4 == 0 ? 4 : 2;
}

static inline spread spread_make(pada_shape shape, int n_images, int width)
{
    const int words = shape.c / width, chunks = (words + SPREAD_LANES - 1) / SPREAD_LANES;
    const int lanes = (words + chunks - 1) / chunks;

    return {width,
            shape.c,
            lanes,
            SPREAD_THREADS / lanes,
            n_images * shape.h * shape.w,
            cuda_prepare_divisor(chunks),
            cuda_prepare_divisor(lanes),
            cuda_prepare_divisor(lanes * width),
            cuda_prepare_divisor(shape.h * shape.w),
            cuda_prepare_divisor(shape.w)};
}

/* `n` things, one for each slot at a time. */
static inline level_work spread_work(const spread &s, int n, int cost)
{
    return {(int)s.chunks.by, (n - 1) / s.slots + 1, cost};
}

/* ---- on the device ---- */

/* Where a thread is in its job. */
struct spread_place {
    int lane, slot;
    int first, c;    /* channel of the block and of the thread */
    int turn, turns; /* of the blocks that have these channels */
    bool works;
};

static __device__ __forceinline__ spread_place spread_locate(const spread &s, int block, int blocks)
{
    spread_place p;

    p.slot = cuda_divide((int)threadIdx.x, s.by_lanes);
    p.lane = (int)threadIdx.x - p.slot * s.lanes;
    p.turn = cuda_divide(block, s.chunks);
    p.turns = cuda_divide(blocks, s.chunks);
    p.first = (block - p.turn * (int)s.chunks.by) * s.lanes * s.width;
    p.c = p.first + p.lane * s.width;
    p.works = p.slot < s.slots && p.c < s.channels;
    return p;
}

/* Pixel i of the batch; image -1: there is none. */
static __device__ __forceinline__ cuda_spot spread_find(const spread &s, int i)
{
    const int image = cuda_divide(i, s.plane);

    return i < s.pixels ? cuda_spot{image, i - image * (int)s.plane.by} : cuda_spot{-1, 0};
}

/* Brings kernel parameters close before they are needed, one word of each line. */
template <typename T> static __device__ __forceinline__ void spread_touch(const T &params)
{
#ifdef __CUDA_ARCH__
#pragma unroll 4
    for (int i = 0; i < (int)(sizeof params / 4); i += 16)
        asm volatile("" ::"r"(((const int *)&params)[i]));
#else
    (void)params;
#endif
}

/* ---- coefficients: a v + b z + c ---- */

/* Of a norm (mean is there): a = rstd, b = scale, c = shift as they are in memory; of a gradient its coefficients;
 * without a: 1, 0, 0. */
struct spread_source {
    const float *mean, *a, *b, *c;
};

static inline spread_source spread_norm(const cuda_view &x)
{
    if (!x.data || !x.mean) return {NULL, NULL, NULL, NULL};
    return {x.mean, x.rstd, x.scale, x.shift};
}

static inline spread_source spread_slope(const cuda_gradient &g)
{
    if (!g.z) return {NULL, NULL, NULL, NULL};
    return {NULL, g.coef, g.coef + g.vector, g.coef + 2 * g.vector};
}

/* Those of one channel; b and c are `channels` behind each other. */
static __device__ __forceinline__ void spread_stage(const spread_source &from, int channel,
                                                    int channels, float *to)
{
    float a = 1, b = 0, c = 0;

    if (from.a) {
        a = from.a[channel];
        b = from.b ? from.b[channel] : 1;
        c = from.c ? from.c[channel] : 0;
    }
    if (from.mean) {
        a *= b;
        b = 0;
        c -= from.mean[channel] * a;
    }
    to[0] = a;
    to[channels] = b;
    to[2 * channels] = c;
}

/* All of a block, from the n sources of a job. */
static __device__ __forceinline__ void spread_stage_all(const spread &s, const spread_place &place,
                                                        const spread_source *sources, int n,
                                                        float *shared)
{
    const int channels = (int)s.by_channels.by;

    for (int i = (int)threadIdx.x; i < n * channels; i += SPREAD_THREADS) {
        const int e = cuda_divide(i, s.by_channels), k = i - e * channels;
        if (place.first + k < s.channels)
            spread_stage(sources[e], place.first + k, channels, shared + e * 3 * channels + k);
    }
}

/* W staged numbers, side by side. */
template <int W> static __device__ __forceinline__ void spread_read(const float *from, float v[W])
{
#pragma unroll
    for (int k = 0; k < W; k += 4) {
        if (W == 2) {
            v[0] = from[0];
            v[1] = from[1];
            break;
        }
        const float4 four = *(const float4 *)(from + k);
        v[k] = four.x;
        v[k + 1] = four.y;
        v[(k + 2) % W] = four.z;
        v[(k + 3) % W] = four.w;
    }
}

template <int W>
static __device__ __forceinline__ cuda_norm<W> spread_read_norm(const float *from, int channels)
{
    cuda_norm<W> norm;

    spread_read<W>(from, norm.factor);
    spread_read<W>(from + 2 * channels, norm.shift);
    return norm;
}

#endif
