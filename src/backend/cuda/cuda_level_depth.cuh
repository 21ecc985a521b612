/* cuda_level_depth.cuh - what the kernels of depthwise convolutions of a level share: tiles of pixels, and rows of
 * values and of gradients that are read two channels at a time. */
#ifndef PADA_BACKEND_CUDA_CUDA_LEVEL_DEPTH_CUH
#define PADA_BACKEND_CUDA_CUDA_LEVEL_DEPTH_CUH

#include "backend/cuda/cuda_level_lanes.cuh"

/* Two channels. */
struct alignas(8) level_pair {
    float a, b;
};

/* ---- kinds of convolutions, which the compiler knows ---- */

static __host__ __device__ constexpr int level_kind(int kernel, int stride, int dilation)
{
    return (kernel / 2 - 1) * 4 + (stride - 1) * 2 + dilation - 1;
}

/* CASE(kernel, stride, dilation) for each. */
#define LEVEL_KINDS_OF(CASE, K) CASE(K, 1, 1) CASE(K, 1, 2) CASE(K, 2, 1) CASE(K, 2, 2)
#define LEVEL_KINDS(CASE)       LEVEL_KINDS_OF(CASE, 3) LEVEL_KINDS_OF(CASE, 5) LEVEL_KINDS_OF(CASE, 7)

/* ---- tiles ---- */

/* The tiles of a batch, of so many pixels; the first begins `shift` rows and columns in front of the image. */
typedef struct level_tiles {
    int rows, columns, height, width, shift, n;
} level_tiles;

static __host__ __device__ inline level_tiles level_tile(pada_shape shape, int n_images, int height,
                                                         int width, int shift)
{
    const int rows = (shape.h + shift + height - 1) / height;
    const int columns = (shape.w + shift + width - 1) / width;

    return (level_tiles){rows, columns, height, width, shift, n_images * rows * columns};
}

typedef struct level_corner {
    int image, h, w;
} level_corner;

static __device__ __forceinline__ level_corner level_find_tile(const level_tiles &t, int i)
{
    const int in_image = i % (t.rows * t.columns);

    return (level_corner){i / (t.rows * t.columns), in_image / t.columns * t.height - t.shift,
                          in_image % t.columns * t.width - t.shift};
}

/* ---- rows of what is read ---- */

/* x between two limits; NaN stays. */
static __device__ __forceinline__ float level_clamp(float x, float low, float high)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm("max.NaN.f32 %0, %0, %1;" : "+f"(x) : "f"(low));
    asm("min.NaN.f32 %0, %0, %1;" : "+f"(x) : "f"(high));
    return x;
#else
    return x < low ? low : x > high ? high : x;
#endif
}

/* act(norm(x)), zero outside of the image: padding is of what the convolution reads. */
struct level_values {
    const cuda_view *view;
    int h, w, c;
    cuda_norm<2> norm;
    float low, high; /* of the activation */

    __device__ __forceinline__ level_values(const cuda_view &of, pada_shape shape, int channel,
                                            int valid)
        : view(&of), h(shape.h), w(shape.w), c(channel), norm(cuda_read_norm<2>(of, channel, valid))
    {
        low = of.act == PADA_ACT_NONE ? -INFINITY : 0;
        high = of.act == PADA_ACT_RELU6 ? 6 : INFINITY;
    }

    /* N neighbours of a row of the image; columns may be outside. */
    template <int N>
    __device__ __forceinline__ void load(int image, int row, int first, level_pair x[N]) const
    {
        const int64_t from = image * view->image + (int64_t)(row * w + first) * view->pitch + c;

#pragma unroll
        for (int q = 0; q < N; q++) {
            const bool inside = first + q >= 0 && first + q < w;
            float v[2];
            cuda_load<2>(view->data, from + q * view->pitch, inside ? 2 : 0, false, v);
            cuda_apply_norm<2>(norm, v);
            x[q].a = inside ? level_clamp(v[0], low, high) : 0;
            x[q].b = inside ? level_clamp(v[1], low, high) : 0;
        }
    }
};

/* Gradients dz of such values, zero outside. */
struct level_gradients {
    const cuda_gradient *gradient;
    int h, w, c;
    cuda_slope<2> slope;

    __device__ __forceinline__ level_gradients(const cuda_gradient &of, pada_shape shape,
                                               int channel, int valid)
        : gradient(&of), h(shape.h), w(shape.w), c(channel),
          slope(cuda_read_slope<2>(of, channel, valid))
    {
    }

    template <int N>
    __device__ __forceinline__ void load(int image, int row, int first, level_pair x[N]) const
    {
#pragma unroll
        for (int q = 0; q < N; q++) {
            const bool inside = first + q >= 0 && first + q < w;
            float v[2];
            cuda_load_gradient<2>(*gradient, slope, image, row * w + first + q, c, inside ? 2 : 0,
                                  false, v);
            x[q].a = inside ? v[0] : 0;
            x[q].b = inside ? v[1] : 0;
        }
    }
};

#endif
