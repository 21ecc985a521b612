/* cuda_level_window.cuh - means over windows of a level and their transpose, W channels of one pixel.
 *
 * A Reader has load(image, pixel, v), which gives W channels of what is read. */
#ifndef PADA_BACKEND_CUDA_CUDA_LEVEL_WINDOW_CUH
#define PADA_BACKEND_CUDA_CUDA_LEVEL_WINDOW_CUH

#include "backend/cuda/cuda_level.cuh"

/* ---- windows of 3x3, which most are ---- */

/* 1/n; n is nearly always 1, 2 or 3. */
static __device__ __forceinline__ float level_share(int n)
{
    return n == 3 ? 1.0f / 3 : n == 2 ? 0.5f : n == 1 ? 1.0f : 1 / (float)n;
}

/* Three rows (or columns), -1 for those that are not there, and their shares of a mean. */
struct level_side {
    int at[3];
    float share[3];
};

/* Those of n that the window of output o holds. */
static __device__ __forceinline__ level_side level_window_side(int o, int n, const pada_pool &pool)
{
    const int begin = o * pool.stride - pool.pad;
    const float share = level_share(min(begin + 3, n) - (begin < 0 ? 0 : begin));
    level_side side;

#pragma unroll
    for (int k = 0; k < 3; k++) {
        side.at[k] = begin + k >= 0 && begin + k < n ? begin + k : -1;
        side.share[k] = side.at[k] >= 0 ? share : 0;
    }
    return side;
}

/* The windows of n_out that hold input i of n, in order; i is number 2 - k in window k. */
static __device__ __forceinline__ level_side level_reader_side(int i, int n, int n_out,
                                                               const pada_pool &pool,
                                                               cuda_divisor stride)
{
    level_side side;

#pragma unroll
    for (int k = 0; k < 3; k++) {
        const int begin = i - 2 + k, from = begin + pool.pad;
        const int o = cuda_divide(from < 0 ? 0 : from, stride);
        const bool is = from >= 0 && o * (int)stride.by == from && o < n_out;
        side.at[k] = is ? o : -1;
        side.share[k] = is ? level_share(min(begin + 3, n) - (begin < 0 ? 0 : begin)) : 0;
    }
    return side;
}

/* What lies there, zeros where nothing does: all loads are under way together. `from` is the first element. */
template <int W>
static __device__ __forceinline__ void level_fetch9(const void *data, int64_t from, int pitch,
                                                    int width, const level_side &h,
                                                    const level_side &w, cuda_raw<W> v[9])
{
#pragma unroll
    for (int i = 0; i < 9; i++) {
        v[i] = {};
        if (h.at[i / 3] >= 0 && w.at[i % 3] >= 0)
            v[i] = cuda_fetch<W>(data, from + (int64_t)(h.at[i / 3] * width + w.at[i % 3]) * pitch,
                                 W, true);
    }
}

/* Adds them by their shares. */
template <int W>
static __device__ __forceinline__ void level_add9(const void *data, int64_t from, int pitch,
                                                  int width, const level_side &h,
                                                  const level_side &w, float sum[W])
{
    cuda_raw<W> raw[9];

    level_fetch9<W>(data, from, pitch, width, h, w, raw);
#pragma unroll
    for (int i = 0; i < 9; i++) {
        const float share = h.share[i / 3] * w.share[i % 3];
        float v[W];
        cuda_unpack<W>(raw[i], v);
#pragma unroll
        for (int e = 0; e < W; e++)
            sum[e] += share * v[e];
    }
}

/* ---- any windows ---- */

/* Adds the mean over the window of output (h, w) of a pool, whose input has this shape. */
template <int W, typename Reader>
static __device__ inline void level_add_mean(const Reader &from, const pada_pool &pool,
                                             const pada_shape &in, int image, int h, int w,
                                             float sum[W])
{
    int h0, h1, w0, w1;

    cuda_window(h, in.h, pool, &h0, &h1);
    cuda_window(w, in.w, pool, &w0, &w1);
    const float share = 1 / (float)((h1 - h0) * (w1 - w0));
    for (int i = h0; i < h1; i++)
#pragma unroll 1
        for (int k = w0; k < w1; k++) {
            float v[W];
            from.load(image, i * in.w + k, v);
#pragma unroll
            for (int e = 0; e < W; e++)
                sum[e] += v[e] * share;
        }
}

/* Adds what the gradients of means say about input (h, w), which their windows hold. */
template <int W, typename Reader>
static __device__ inline void level_add_spread(const Reader &from, const pada_pool &pool,
                                               const pada_shape &in, const pada_shape &out,
                                               int image, int h, int w, float sum[W])
{
    int first_h, end_h, first_w, end_w;

    cuda_readers(h, out.h, pool, &first_h, &end_h);
    cuda_readers(w, out.w, pool, &first_w, &end_w);
    for (int i = first_h; i < end_h; i++)
#pragma unroll 1
        for (int k = first_w; k < end_w; k++) {
            int h0, h1, w0, w1;
            float v[W];
            cuda_window(i, in.h, pool, &h0, &h1);
            cuda_window(k, in.w, pool, &w0, &w1);
            from.load(image, i * out.w + k, v);
            const float share = 1 / (float)((h1 - h0) * (w1 - w0));
#pragma unroll
            for (int e = 0; e < W; e++)
                sum[e] += v[e] * share;
        }
}

#endif
