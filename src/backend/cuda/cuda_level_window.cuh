/* cuda_level_window.cuh - means over windows of a level and their transpose, W channels of one pixel.
 *
 * A Reader has load(image, pixel, v), which gives W channels of what is read. */
#ifndef PADA_BACKEND_CUDA_CUDA_LEVEL_WINDOW_CUH
#define PADA_BACKEND_CUDA_CUDA_LEVEL_WINDOW_CUH

#include "backend/cuda/cuda_level.cuh"

/* Channels of a thread: as many as can be moved at once, where there are only such words. */
static __host__ __device__ inline int level_width(int channels)
{
    return channels % 8 == 0 ? 8 : 2;
}

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
