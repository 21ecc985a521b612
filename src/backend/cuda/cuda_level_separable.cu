/* cuda_level_separable.cu - a depthwise convolution and the pointwise one behind it, with nothing between them: one launch,
 * and what stands between the two stays in shared memory.
 *
 * A block makes tiles of whole rows of one image, so that the pixels of a tile lie one after the other. It goes through the
 * chunks of channels as the kernel of depthwise convolutions does (cuda_level_depth.cuh); results are rounded to bfloat16 and
 * become the left matrix of a product (cuda_level_dense.cuh), whose results are written from the accumulators:
 *
 *   x -> window, float -> depthwise -> left [pixel][channel] -> tensor cores -> z and sums
 *                                       '-> between, where the gradient of the pointwise weights will read it
 *
 * Rows of the left matrix behind the last pixel are zero, so that nothing has to be asked before results are counted.
 * Shared memory has, in this order, the window, PIXEL floats from a pixel to the next; weights [chunk][tap][DEPTH_CHANNELS] and coefficients
 * [chunk][3][DEPTH_CHANNELS] of all channels; the left matrix; sums [warp][moment][channel of z], which only that warp adds
 * to, in the order of its tiles. Design note 0025. */
#include "backend/cuda/cuda_level_dense.cuh"
#include "backend/cuda/cuda_level_depth_load.cuh"
#include "base/mem.h"

enum {
    PER_SM = 4,
    BLOCKS = PER_SM * DEPTH_DEVICE, /* of a launch: as many as an H200 runs at a time */
    WARPS = DEPTH_THREADS / 32,
    TALLEST = 3, /* as DEPTH_LOG: 16 rows */
    NARROW_PIXEL =
        20, /* floats of a window, where all jobs of a launch have narrow chunks: taller tiles fit */
    MOST_STRIPS = 64,        /* of a row, which a tile has all of */
    MOST_CHANNELS = 256,     /* of the depthwise convolution */
    FEWEST_PIXELS = 32,      /* of a tile, unless the image has less */
    SHARED = 55 * 1024,      /* of a block, so that PER_SM of them fit */
    MOST_SHARED = 96 * 1024, /* what every device has */
    MOMENTS = 2
};

/* ---- sizes ---- */

static __host__ __device__ inline depth_plan make_plan(const cuda_level_conv &j, int log, int pixel)
{
    depth_plan p;

    p.chunks = depth_divide(j.conv.c_in);
    p.taps = j.conv.kernel * j.conv.kernel;
    p.tiles = depth_tile(j.out, j.n_images, 0, log, MOST_STRIPS);
    p.window =
        depth_measure(p.tiles, (j.conv.kernel - 1) * j.conv.dilation, j.conv.stride, 1, pixel);
    return p;
}

/* Bytes before each part. */
struct separable_map {
    int weights, coefs, left, sums, bytes;
    int rows, pitch; /* of the left matrix: pixels, elements of one */
};

static __host__ __device__ inline separable_map map_of(const cuda_level_conv &j,
                                                       const depth_plan &p)
{
    separable_map m;

    m.rows = dense_round(depth_height(p.tiles) * j.out.w, 32);
    m.pitch = dense_left_pitch(j.conv.c_in);
    m.weights = 4 * p.window.rows * p.window.pitch;
    m.coefs = m.weights + 4 * p.chunks.n * p.taps * DEPTH_CHANNELS;
    m.left = m.coefs + 4 * p.chunks.n * DEPTH_COEFS;
    m.sums = m.left + 2 * m.rows * m.pitch;
    m.bytes = m.sums + 4 * WARPS * MOMENTS * j.out.c;
    return m;
}

/* A block, as all of its threads know it. */
struct separable {
    depth_block depth;
    separable_map map;
    int blocks; /* of the job */
};

static __device__ __forceinline__ depth_chunk find_chunk(const cuda_level_conv &j,
                                                         const separable &b, int i, char *shared)
{
    const int first = i * b.depth.plan.chunks.each;

    return {first, min(b.depth.plan.chunks.each, j.conv.c_in - first),
            (float *)(shared + b.map.weights) + i * b.depth.plan.taps * DEPTH_CHANNELS,
            (float *)(shared + b.map.coefs) + i * DEPTH_COEFS};
}

/* ---- depthwise ---- */

/* Writes a patch of two channels from c on to the left matrix: zeros below the image, nothing beside it. */
static __device__ __forceinline__ void keep_patch(const cuda_level_conv &j, const separable &b,
                                                  int h, const depth_spot &at, int c,
                                                  const depth_pair sums[DEPTH_PATCH], char *shared)
{
    uint16_t *to = (uint16_t *)(shared + b.map.left) +
                   (at.row * j.out.w + at.column) * b.map.pitch + dense_find_left(c);

#pragma unroll
    for (int r = 0; r < DEPTH_HIGH; r++, to += j.out.w * b.map.pitch)
#pragma unroll
        for (int p = 0; p < DEPTH_STRIP; p++) {
            const depth_pair &v = sums[r * DEPTH_STRIP + p];
            if (at.column + p < j.out.w)
                *(uint32_t *)(to + p * b.map.pitch) = h + r < j.out.h ? cuda_pair(v.a, v.b) : 0;
        }
}

/* All patches of a tile, for a chunk of channels whose window is there. */
template <int PIXEL>
static __device__ __forceinline__ void convolve(const cuda_level_conv &j, const separable &b,
                                                const depth_part &part, const depth_chunk &of,
                                                int h, char *shared)
{
    const depth_tiles &tiles = b.depth.plan.tiles;
    const int patches = tiles.strips << tiles.log, stride = j.conv.stride;
    const int pitch = b.depth.plan.window.pitch;

    if (part.slot < 0 || 2 * part.lane >= of.channels) return;
    for (int i = part.slot; i < patches; i += b.depth.slots) {
        const depth_spot at = depth_find_patch(tiles, i);
        depth_pair sums[DEPTH_PATCH] = {};
        if (h + at.row < j.out.h)
            depth_convolve_any<PIXEL>(b.depth.kind,
                                      (const float *)shared + at.row * stride * pitch +
                                          at.column * stride * PIXEL + 2 * part.lane,
                                      pitch, of.weights + 2 * part.lane, sums);
        keep_patch(j, b, h + at.row, at, of.first + 2 * part.lane, sums, shared);
    }
}

/* The left matrix as a tensor: four channels of every step-th pixel for a thread. */
static __device__ __forceinline__ void put_between(const cuda_level_conv &j, const separable &b,
                                                   int image, int first, int pixels,
                                                   const char *shared)
{
    const int elements = dense_round(j.out.h * j.out.w * j.conv.c_in, PADA_ALIGN / 2);
    const int64_t begin = (int64_t)image * elements + (int64_t)first * j.conv.c_in;
    const int fours = j.conv.c_in / 4, step = (int)blockDim.x / fours;
    const int from = (int)threadIdx.x / fours, c = 4 * ((int)threadIdx.x - from * fours);
    const uint16_t *left =
        (const uint16_t *)(shared + b.map.left) + from * b.map.pitch + dense_find_left(c);
    uint16_t *to = cuda_global((uint16_t *)j.between + begin + (int64_t)from * j.conv.c_in + c);

    if (from >= step) return;
    for (int p = from; p < pixels; p += step) {
        *(uint2 *)to = make_uint2(*(const uint32_t *)left, *(const uint32_t *)(left + 8));
        left += step * b.map.pitch;
        to += (int64_t)step * j.conv.c_in;
    }
}

/* ---- pointwise ---- */

/* Adds up 8 numbers of lanes that have the same q; lane g gets number g. */
static __device__ __forceinline__ float add_lanes(float v[8])
{
    const int g = (int)threadIdx.x % 32 / 4;

#pragma unroll
    for (int half = 4; half > 0; half /= 2) {
        const bool high = g & half;
#pragma unroll
        for (int k = 0; k < half; k++) {
            const float give = high ? v[k] : v[half + k], keep = high ? v[half + k] : v[k];
            v[k] = keep + cuda_exchange(give, 4 * half);
        }
    }
    return v[0];
}

/* Writes 16 M rows from `row` on of 16 columns, and counts them. `to` is z at the first pixel of the tile. */
template <int M>
static __device__ __forceinline__ void put_columns(const cuda_level_conv &j, int row, int column,
                                                   int pixels, uint16_t *to,
                                                   const float (*acc)[4] /* [2 M]: tile by tile */,
                                                   int across, float *sums)
{
    const int lane = (int)threadIdx.x % 32, g = lane / 4, c = column + lane % 4 * 4;
    const bool is = c < j.out.c;
    float v[8] = {};

    to += (int64_t)(row + g) * j.to.pitch + c;
#pragma unroll
    for (int i = 0; i < 2 * M; i++) { /* rows g, g + 8 and so on */
        const float *low = acc[i / 2 * across] + i % 2 * 2,
                    *high = acc[i / 2 * across + 1] + i % 2 * 2;
        if (is && row + g + 8 * i < pixels)
            *(uint2 *)(to + (int64_t)(8 * i) * j.to.pitch) =
                make_uint2(cuda_pair(low[0], low[1]), cuda_pair(high[0], high[1]));
#pragma unroll
        for (int k = 0; k < 2; k++) {
            v[k] += low[k];
            v[2 + k] += high[k];
            v[4 + k] += low[k] * low[k];
            v[6 + k] += high[k] * high[k];
        }
    }
    if (j.to.n_finishes == 0) return;
    const float sum = add_lanes(v);
    if (is) sums[g / 4 * j.out.c + c + g % 4] += sum;
}

/* 16 M rows and 16 N columns. */
template <int M, int N>
static __device__ __forceinline__ void multiply(const cuda_level_conv &j, const separable &b,
                                                int row, int column, int pixels, uint16_t *to,
                                                char *shared)
{
    float *sums = (float *)(shared + b.map.sums) + (int)threadIdx.x / 32 * MOMENTS * j.out.c;
    float acc[M][2 * N][4] = {};

    dense_multiply<M, N>(dense_find_rows(shared + b.map.left, row, b.map.pitch),
                         2 * 16 * b.map.pitch, dense_find_fragments(j.fragment, column),
                         dense_round(j.out.c, DENSE_COLUMNS) / 16 * 32, j.conv.c_in, acc);
#pragma unroll
    for (int n = 0; n < N; n++)
        if (column + 16 * n < j.out.c)
            put_columns<M>(j, row, column + 16 * n, pixels, to, &acc[0][2 * n], 2 * N, sums);
}

/* Warps share the tile: 32 rows and columns at a time, or 16, where there would be too few of those. */
static __device__ __forceinline__ void multiply_tile(const cuda_level_conv &j, const separable &b,
                                                     int pixels, uint16_t *to, char *shared)
{
    const int warps = (int)blockDim.x / 32, warp = (int)threadIdx.x / 32;
    const bool large = dense_divide_up(pixels, 32) * (j.out.c / 32) >= warps;
    const int size = large ? 32 : 16, rows = dense_divide_up(pixels, size);
    const int parts = rows * dense_divide_up(j.out.c, size);

    for (int i = warp; i < parts; i += warps) {
        const int column = i / rows, row = i - column * rows;
        if (large)
            multiply<2, 2>(j, b, 32 * row, 32 * column, pixels, to, shared);
        else
            multiply<1, 1>(j, b, 16 * row, 16 * column, pixels, to, shared);
    }
}

/* ---- blocks ---- */

/* What is added to is zero. */
static __device__ __forceinline__ void clear(const separable &b, char *shared)
{
    for (int i = b.map.left / 16 + (int)threadIdx.x; 16 * i < b.map.bytes; i += (int)blockDim.x)
        ((uint4 *)shared)[i] = make_uint4(0, 0, 0, 0);
}

/* Adds up what the warps of this block have counted, in order. */
static __device__ __forceinline__ void end_results(const cuda_level_conv &j, const separable &b,
                                                   char *shared)
{
    const int channels = j.out.c, warps = (int)blockDim.x / 32;
    const float *sums = (const float *)(shared + b.map.sums);

    if (j.to.n_finishes == 0) return;
    __syncthreads(); /* all warps have counted */
    for (int i = (int)threadIdx.x; i < MOMENTS * channels; i += (int)blockDim.x) {
        const int which = i >= channels;
        float sum = 0;
        for (int w = 0; w < warps; w++)
            sum += sums[w * MOMENTS * channels + i];
        cuda_give_share(j.to, channels, i - which * channels, which, sum);
    }
    cuda_close_results(j.to, channels, b.blocks, (float *)shared);
}

/* Jobs of one launch, how many channels their threads load at a time, and how tall their tiles are. */
typedef struct separable_jobs {
    cuda_level_convs convs;
    uint8_t vectors[CUDA_LEVEL_CONVS], logs[CUDA_LEVEL_CONVS];
} separable_jobs;

static_assert(sizeof(separable_jobs) <= 4096, "arguments of a kernel");

template <int PIXEL>
__global__ static void __launch_bounds__(DEPTH_THREADS, PER_SM)
    separable_kernel(const __grid_constant__ separable_jobs jobs)
{
    CUDA_DYNAMIC_SHARED(shared);
    __shared__ separable b;
    const int k = cuda_find_job(jobs.convs);
    const cuda_level_conv &j = jobs.convs.at[k];

    if (threadIdx.x == 0) {
        const depth_plan plan = make_plan(j, jobs.logs[k], PIXEL);
        const int turn = (int)blockIdx.x - jobs.convs.first[k];
        depth_prepare(j, plan, turn * plan.chunks.n, jobs.vectors[k], &b.depth);
        b.map = map_of(j, plan);
        b.blocks = jobs.convs.first[k + 1] - jobs.convs.first[k];
    }
    __syncthreads(); /* b is there */
    const depth_part part = depth_locate(b.depth);
    const depth_tiles &tiles = b.depth.plan.tiles;
    clear(b, shared);
    cuda_begin_beside(jobs.convs.beside);
    for (int i = 0; i < b.depth.plan.chunks.n; i++)
        depth_stage<false>(j, b.depth.plan.taps, find_chunk(j, b, i, shared));
    __syncthreads(); /* weights, coefficients and zeros are there */
    for (int t = b.depth.turn; t < tiles.n; t += b.blocks) {
        const depth_corner corner = depth_find_tile(b.depth, t);
        const int pixels = min(depth_height(tiles), j.out.h - corner.h) * j.out.w;
        const int first = corner.h * j.out.w;
        for (int i = 0; i < b.depth.plan.chunks.n; i++) {
            const depth_chunk of = find_chunk(j, b, i, shared);
            depth_reader reader = part.reader;
            if (reader.c >= of.channels) reader.row = -1; /* the last chunk may be narrow */
            if (i > 0) __syncthreads();                   /* the window before has been read */
            depth_load<false, PIXEL>(j, b.depth, reader, of, corner.image,
                                     corner.h * j.conv.stride - j.conv.pad, -j.conv.pad, shared);
            __syncthreads(); /* the window is there; the left matrix has been read */
            convolve<PIXEL>(j, b, part, of, corner.h, shared);
        }
        __syncthreads(); /* the left matrix is there, the window has been read */
        if (j.between) put_between(j, b, corner.image, first, pixels, shared);
        multiply_tile(j, b, pixels,
                      cuda_global((uint16_t *)j.to.data + corner.image * j.to.image +
                                  (int64_t)first * j.to.pitch),
                      shared);
    }
    end_results(j, b, shared);
    cuda_end(jobs.convs.beside);
}

/* ---- launches ---- */

static int count_bytes(const cuda_level_conv &j, int log, int pixel)
{
    return map_of(j, make_plan(j, log, pixel)).bytes;
}

bool pada_cuda_level_separable_fits(const pada_conv *depth, const pada_conv *point, pada_shape out)
{
    cuda_level_conv j = {};

    j.conv = *depth;
    j.out = out;
    j.n_images = 1;
    return pada_cuda_level_depth_fits(depth) && pada_cuda_level_dense_fits(point) &&
           dense_is_plain(*point) && point->act == PADA_ACT_NONE &&
           dense_is_moderate(point->c_in) && point->c_in <= MOST_CHANNELS &&
           dense_is_moderate(point->c_out) && count_bytes(j, 0, DEPTH_PIXEL) <= MOST_SHARED;
}

/* The tallest tiles of which there are enough for so many blocks. */
static int choose_log(const cuda_level_conv &j, int blocks, int pixel)
{
    int log = TALLEST;

    for (; log > 0; log--) {
        const depth_tiles tiles = make_plan(j, log, pixel).tiles;
        const bool small =
            DEPTH_HIGH << (log - 1) < j.out.h && depth_height(tiles) / 2 * j.out.w >= FEWEST_PIXELS;
        if (count_bytes(j, log, pixel) <= SHARED && (tiles.n >= blocks || !small)) break;
    }
    return log;
}

static bool is_narrow(const cuda_level_convs *jobs)
{
    for (int k = 0; k < jobs->n; k++)
        if (depth_divide(jobs->at[k].conv.c_in).each > DEPTH_NARROW) return false;
    return true;
}

template <int PIXEL> static cudaError_t launch(cudaStream_t stream, const cuda_level_convs *from)
{
    level_work work[CUDA_LEVEL_CONVS];
    separable_jobs jobs;
    int bytes = 0, threads = 0;

    jobs.convs = *from;
    for (int k = 0; k < from->n; k++) {
        const cuda_level_conv &j = from->at[k];
        const int log = choose_log(j, BLOCKS / from->n, PIXEL);
        const depth_plan plan = make_plan(j, log, PIXEL);
        bytes = max(bytes, count_bytes(j, log, PIXEL));
        threads = max(threads, depth_threads(plan.chunks));
        work[k] = {1, plan.tiles.n, plan.chunks.n * (10 + plan.taps) << log};
        jobs.logs[k] = (uint8_t)log;
        jobs.vectors[k] =
            (uint8_t)depth_aligned(j.x.data, j.x.image, j.x.pitch, depth_vector(j.conv.c_in));
    }
    level_place_blocks(work, from->n, BLOCKS, jobs.convs.first);
    if (bytes > 48 * 1024) {
        const cudaError_t error =
            cudaFuncSetAttribute((const void *)separable_kernel<PIXEL>,
                                 cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
        if (error != cudaSuccess) return error;
    }
    return cuda_launch(separable_kernel<PIXEL>, (unsigned)jobs.convs.first[from->n],
                       (unsigned)threads, (size_t)bytes, stream, jobs);
}

cudaError_t pada_cuda_level_separable_forward(cudaStream_t stream, const cuda_level_convs *jobs)
{
    return is_narrow(jobs) ? launch<NARROW_PIXEL>(stream, jobs) : launch<DEPTH_PIXEL>(stream, jobs);
}
