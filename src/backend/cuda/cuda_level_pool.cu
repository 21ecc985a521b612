/* cuda_level_pool.cu - pools of a level that are nodes, and their gradients: W channels of one result after the other.
 *
 * The gradient of a largest value goes to the first of the largest pixels of a window; a NaN is larger than all, and
 * the last one counts (cuda_pool.cu). Which one that is is worked out again from x. Design note 0025. */
#include "backend/cuda/cuda_level_lanes.cuh"
#include "backend/cuda/cuda_level_window.cuh"

enum { WIDTH = 8, SHARED_FLOATS = cuda_tally_floats<WIDTH>(LEVEL_THREADS) };

/* ---- what is read ---- */

template <int W> struct values {
    const cuda_view &view;
    cuda_norm<W> norm;
    int c;
    bool wide;

    __device__ __forceinline__ void load(int image, int pixel, float v[W]) const
    {
        cuda_load<W>(view.data, image * view.image + (int64_t)pixel * view.pitch + c, W, wide, v);
        if (view.mean) cuda_apply_norm<W>(norm, v);
        cuda_apply_act<W>(view.act, v);
    }
};

template <int W> struct gradients {
    const cuda_gradient &dz;
    int c;
    bool wide;

    __device__ __forceinline__ void load(int image, int pixel, float v[W]) const
    {
        cuda_load<W>(dz.dy, image * dz.dy_image + (int64_t)pixel * dz.dy_pitch + c, W, wide, v);
    }
};

/* ---- largest values ---- */

template <int W>
static __device__ inline void find_largest(const values<W> &from, const cuda_level_pool &j,
                                           int image, int h, int w, float largest[W])
{
    int h0, h1, w0, w1;

    cuda_window(h, j.in.h, j.pool, &h0, &h1);
    cuda_window(w, j.in.w, j.pool, &w0, &w1);
    from.load(image, h0 * j.in.w + w0, largest);
    for (int i = h0; i < h1; i++)
#pragma unroll 1
        for (int k = w0; k < w1; k++) {
            float v[W];
            from.load(image, i * j.in.w + k, v);
#pragma unroll
            for (int e = 0; e < W; e++)
                if (v[e] > largest[e] || v[e] != v[e]) largest[e] = v[e];
        }
}

/* In which of W channels, as bits, a pixel is preferred to another one that is before or behind it in a window. */
template <int W>
static __device__ __forceinline__ uint32_t prefer(const float mine[W], const float other[W],
                                                  bool before)
{
    uint32_t bits = 0;

#pragma unroll
    for (int e = 0; e < W; e++) {
        const bool is = before ? mine[e] > other[e] || mine[e] != mine[e]
                               : !(other[e] > mine[e]) && other[e] == other[e];
        bits |= is ? 1u << e : 0;
    }
    return bits;
}

/* Adds the gradient of output (h, w) where the bits say so. */
template <int W>
static __device__ __forceinline__ void add_where(const gradients<W> &dy, const pada_shape &out,
                                                 int image, int h, int w, uint32_t bits,
                                                 float sum[W])
{
    float v[W];

    dy.load(image, h * out.w + w, v);
#pragma unroll
    for (int e = 0; e < W; e++)
        if (bits >> e & 1) sum[e] += v[e];
}

/* Gradients of the windows that have their largest value at (h, w), window by window. */
template <int W>
static __device__ inline void collect(const values<W> &x, const gradients<W> &dy,
                                      const cuda_level_pool &j, int image, int h, int w,
                                      float sum[W])
{
    int first_h, end_h, first_w, end_w;
    float mine[W], other[W];

    x.load(image, h * j.in.w + w, mine);
    cuda_readers(h, j.out.h, j.pool, &first_h, &end_h);
    cuda_readers(w, j.out.w, j.pool, &first_w, &end_w);
    for (int a = first_h; a < end_h; a++)
        for (int b = first_w; b < end_w; b++) {
            int h0, h1, w0, w1;
            uint32_t bits = ~0u;
            cuda_window(a, j.in.h, j.pool, &h0, &h1);
            cuda_window(b, j.in.w, j.pool, &w0, &w1);
            for (int i = h0; i < h1; i++)
#pragma unroll 1
                for (int k = w0; k < w1; k++) {
                    if (i == h && k == w) continue;
                    x.load(image, i * j.in.w + k, other);
                    bits &= prefer<W>(mine, other, i < h || (i == h && k < w));
                }
            add_where<W>(dy, j.out, image, a, b, bits, sum);
        }
}

/* The same for windows of 3x3: which of two pixels is preferred is the same in all windows, so that each of the 24
 * around (h, w) is read once. */
template <int W>
static __device__ inline void collect3(const values<W> &x, const gradients<W> &dy,
                                       const cuda_level_pool &j, int image, int h, int w,
                                       float sum[W])
{
    float mine[W], other[W];
    uint32_t bits[3][3]; /* of the windows that begin 2, 1, 0 pixels before (h, w) */

#pragma unroll
    for (int i = 0; i < 9; i++)
        bits[i / 3][i % 3] = ~0u;
    x.load(image, h * j.in.w + w, mine);
#pragma unroll
    for (int a = -2; a <= 2; a++)
#pragma unroll
        for (int b = -2; b <= 2; b++) {
            if (a == 0 && b == 0) continue;
            if (h + a < 0 || h + a >= j.in.h || w + b < 0 || w + b >= j.in.w) continue;
            x.load(image, (h + a) * j.in.w + w + b, other);
            const uint32_t preferred = prefer<W>(mine, other, a < 0 || (a == 0 && b < 0));
#pragma unroll
            for (int s = 0; s < 3; s++)
#pragma unroll
                for (int t = 0; t < 3; t++)
                    if (a >= s - 2 && a <= s && b >= t - 2 && b <= t) bits[s][t] &= preferred;
        }
#pragma unroll
    for (int s = 0; s < 3; s++)
#pragma unroll
        for (int t = 0; t < 3; t++) {
            const int row = h + s - 2 + j.pool.pad, column = w + t - 2 + j.pool.pad;
            if (row < 0 || row % j.pool.stride != 0 || row / j.pool.stride >= j.out.h) continue;
            if (column < 0 || column % j.pool.stride != 0 || column / j.pool.stride >= j.out.w)
                continue;
            add_where<W>(dy, j.out, image, row / j.pool.stride, column / j.pool.stride, bits[s][t],
                         sum);
        }
}

/* ---- jobs ---- */

template <bool BACK>
static __host__ __device__ inline const pada_shape &shape_of(const cuda_level_pool &j)
{
    return BACK ? j.in : j.out;
}

template <bool BACK> static __host__ __device__ inline int pixels_of(const cuda_level_pool &j)
{
    return j.n_images * shape_of<BACK>(j).h * shape_of<BACK>(j).w;
}

/* One result. */
template <int W, bool BACK>
static __device__ __forceinline__ void pool_pixel(const cuda_level_pool &j, const values<W> &x,
                                                  const gradients<W> &dy, int image, int h, int w,
                                                  float v[W])
{
    if (j.kind == PADA_POOL_AVG) {
        if (BACK)
            level_add_spread<W>(dy, j.pool, j.in, j.out, image, h, w, v);
        else
            level_add_mean<W>(x, j.pool, j.in, image, h, w, v);
    } else if (!BACK) {
        find_largest<W>(x, j, image, h, w, v);
    } else if (j.pool.kernel == 3) {
        collect3<W>(x, dy, j, image, h, w, v);
    } else {
        collect<W>(x, dy, j, image, h, w, v);
    }
}

template <int W, bool BACK>
static __device__ __forceinline__ void run_job(const cuda_level_pool &j, int block, int blocks,
                                               float *shared)
{
    const pada_shape &shape = shape_of<BACK>(j);
    const level_lanes d = level_divide(shape.c, W);
    const level_place place = level_locate(d, W, shape.c, block, blocks);
    const int n = pixels_of<BACK>(j), of_image = shape.h * shape.w;
    cuda_tally<W> tally = {};

    if (place.valid > 0) {
        const values<W> x = {j.x, cuda_read_norm<W>(j.x, place.c, W), place.c,
                             cuda_is_wide(j.x.data, j.x.image, j.x.pitch)};
        const gradients<W> dy = {j.dz, place.c, cuda_is_wide(j.dz)};
        const cuda_norm<W> slope = cuda_read_norm<W>(j.to.at, place.c, W);
        const bool wide = cuda_is_wide(j.to);
        for (int i = place.at; i < n; i += place.share) {
            const int image = i / of_image, pixel = i % of_image;
            const cuda_spot spots[1] = {{image, pixel}};
            float v[1][W] = {};
            pool_pixel<W, BACK>(j, x, dy, image, pixel / shape.w, pixel % shape.w, v[0]);
            cuda_put_results<W, 1>(j.to, slope, spots, place.c, W, wide, v, &tally);
        }
    }
    cuda_end_results<W>(j.to, shape.c, place.first, place.lane, d.lanes, place.slot, d.slots,
                        blocks, tally, shared);
}

template <bool BACK>
__global__ static void __launch_bounds__(LEVEL_THREADS, 2)
    pool_kernel(const __grid_constant__ cuda_level_pools jobs)
{
    cuda_begin();
    __shared__ float shared[SHARED_FLOATS];
    const int k = cuda_find_job(jobs), blocks = jobs.first[k + 1] - jobs.first[k];
    const cuda_level_pool &j = jobs.at[k];

    if (level_width(j.in.c) == WIDTH)
        run_job<WIDTH, BACK>(j, (int)blockIdx.x - jobs.first[k], blocks, shared);
    else
        run_job<2, BACK>(j, (int)blockIdx.x - jobs.first[k], blocks, shared);
}

template <bool BACK> static cudaError_t launch(cudaStream_t stream, const cuda_level_pools *jobs)
{
    cuda_level_pools placed = *jobs;

    level_work work[CUDA_LEVEL_POOLS];
    for (int k = 0; k < placed.n; k++) {
        const cuda_level_pool &j = placed.at[k];
        work[k] = level_work_of(level_divide(j.in.c, level_width(j.in.c)), pixels_of<BACK>(j), 1);
    }
    level_place_blocks(work, placed.n, LEVEL_BLOCKS, placed.first);
    return cuda_launch(pool_kernel<BACK>, (unsigned)placed.first[placed.n], LEVEL_THREADS, 0,
                       stream, placed);
}

cudaError_t pada_cuda_level_pool_forward(cudaStream_t stream, const cuda_level_pools *jobs)
{
    return launch<false>(stream, jobs);
}

cudaError_t pada_cuda_level_pool_grad(cudaStream_t stream, const cuda_level_pools *jobs)
{
    return launch<true>(stream, jobs);
}
