/* cuda_level_dense.cuh - dense convolutions as products of matrices: what the kernels of both directions share.
 *
 * A row of the left matrix is what a pixel of the result reads, tap by tap; its columns are channels. Convolutions of the
 * images, which have three channels, read all taps of all channels as one row of numbers instead. */
#ifndef PADA_BACKEND_CUDA_CUDA_LEVEL_DENSE_CUH
#define PADA_BACKEND_CUDA_CUDA_LEVEL_DENSE_CUH

#include "backend/cuda/cuda_level.cuh"

enum {
    DENSE_THREADS = 128, /* of a block: four warps */
    DENSE_DEPTH = 32,    /* channels that are read at a time */
    DENSE_COLUMNS = 64,  /* channels of the result, of a block */
    DENSE_MOST = 1536    /* channels on either side */
};

static __host__ __device__ inline int dense_taps(const pada_conv *conv)
{
    return conv->kernel * conv->kernel;
}

/* Whether a row of numbers is read, not taps of channels. */
static __host__ __device__ inline bool dense_is_image(const pada_conv *conv)
{
    return conv->c_in < 8;
}

static __host__ __device__ inline int dense_round(int n, int to)
{
    return (n + to - 1) / to * to;
}

/* ---- pixels ---- */

/* Rows of a batch of images, one for each pixel. */
struct dense_rows {
    int n;
    cuda_divisor plane, width;
};

static __device__ __forceinline__ dense_rows dense_count(int n_images, pada_shape shape)
{
    return {n_images * shape.h * shape.w, cuda_prepare_divisor(shape.h * shape.w),
            cuda_prepare_divisor(shape.w)};
}

/* image -1: there is none. */
static __device__ __forceinline__ cuda_spot dense_locate(int row, int end, const dense_rows &rows)
{
    const int image = cuda_divide(row, rows.plane);

    return row < end ? cuda_spot{image, row - image * (int)rows.plane.by} : cuda_spot{-1, 0};
}

/* Whether every pixel reads the pixel at its own place. */
static __device__ __forceinline__ bool dense_is_plain(const pada_conv &c)
{
    return c.kernel == 1 && c.stride == 1 && c.pad == 0 && c.offset == 0;
}

/* The pixel that tap (kh, kw) of the result's pixel reads, or -1. Backward, the result is that of x, and dz is read. */
template <bool BACK>
static __device__ __forceinline__ int dense_source(const cuda_level_conv &j, cuda_spot spot,
                                                   cuda_divisor width, int kh, int kw)
{
    const pada_conv &c = j.conv;
    const int row = cuda_divide(spot.pixel, width), column = spot.pixel - row * (int)width.by;
    const int shift_h = c.offset - c.pad + kh * c.dilation;
    const int shift_w = c.offset - c.pad + kw * c.dilation;

    if (spot.image < 0) return -1;
    if (!BACK) {
        const int h = row * c.stride + shift_h, w = column * c.stride + shift_w;
        return h >= 0 && h < j.in.h && w >= 0 && w < j.in.w ? h * j.in.w + w : -1;
    }
    int h = row - shift_h, w = column - shift_w;
    if (c.stride > 1) {
        if (h < 0 || w < 0 || h % c.stride != 0 || w % c.stride != 0) return -1;
        h /= c.stride;
        w /= c.stride;
    }
    return h >= 0 && h < j.out.h && w >= 0 && w < j.out.w ? h * j.out.w + w : -1;
}

/* ---- 8 channels on their way ---- */

static __device__ __forceinline__ uint4 dense_vector(const cuda_raw<8> &raw)
{
    return make_uint4(raw.pair[0], raw.pair[1], raw.pair[2], raw.pair[3]);
}

static __device__ __forceinline__ cuda_raw<8> dense_pack(const float v[8])
{
    return {{cuda_pair(v[0], v[1]), cuda_pair(v[2], v[3]), cuda_pair(v[4], v[5]),
             cuda_pair(v[6], v[7])}};
}

/* Numbers [k, k + 8) of the row of all taps of an image. */
static __device__ __forceinline__ cuda_raw<8> dense_gather(const cuda_level_conv &j, cuda_spot spot,
                                                           cuda_divisor width, int k)
{
    const int taps = dense_taps(&j.conv);
    cuda_raw<8> raw = {};

#pragma unroll 1
    for (int i = 0; i < 8; i++) {
        const int c = (k + i) / taps, tap = (k + i) % taps;
        const int pixel = c < j.conv.c_in ? dense_source<false>(j, spot, width, tap / j.conv.kernel,
                                                                tap % j.conv.kernel)
                                          : -1;
        if (pixel < 0) continue;
        const uint32_t half =
            ((const uint16_t *)j.x.data)[spot.image * j.x.image + (int64_t)pixel * j.x.pitch + c];
#pragma unroll
        for (int e = 0; e < 4; e++)
            if (e == i / 2) raw.pair[e] |= half << i % 2 * 16;
    }
    return raw;
}

#endif
