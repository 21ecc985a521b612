/* cuda_math.cuh - small functions that the kernels share: activations, windows, positions, grids. */
#ifndef PADA_BACKEND_CUDA_CUDA_MATH_CUH
#define PADA_BACKEND_CUDA_CUDA_MATH_CUH

#include "backend/cuda/cuda_kernels.h"
#include "backend/cuda/cuda_launch.cuh"

enum { CUDA_BLOCK = 256 /* threads */ };

/* Blocks for one thread per element; grids this large are walked with a stride. */
static inline unsigned cuda_blocks(int64_t n)
{
    const int64_t blocks = (n + CUDA_BLOCK - 1) / CUDA_BLOCK, most = 1 << 20;
    return (unsigned)(blocks < most ? blocks : most);
}

/* Every index below n once, over all threads of the grid. */
#define CUDA_FOR(i, n)                                                        \
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < (n); \
         i += (int64_t)gridDim.x * blockDim.x)

static __device__ inline float cuda_act(pada_act act, float x)
{
    if (act == PADA_ACT_NONE) return x;
    if (x < 0) return 0;
    return act == PADA_ACT_RELU6 && x > 6 ? 6 : x;
}

static __device__ inline float cuda_act_slope(pada_act act, float x)
{
    if (act == PADA_ACT_NONE) return 1;
    return x > 0 && (act != PADA_ACT_RELU6 || x < 6);
}

/* ---- elements ---- */

static __device__ inline float cuda_widen(uint16_t half)
{
    union {
        uint32_t bits;
        float value;
    } u;

    u.bits = (uint32_t)half << 16;
    return u.value;
}

/* To the nearest bfloat16, ties to even. */
static __device__ inline uint16_t cuda_narrow(float x)
{
    union {
        float value;
        uint32_t bits;
    } u;

    u.value = x;
    if ((u.bits & 0x7fffffffu) > 0x7f800000u) return 0x7fff; /* NaN */
    return (uint16_t)((u.bits + 0x7fffu + (u.bits >> 16 & 1)) >> 16);
}

static __device__ inline float cuda_get(cuda_tensor t, int64_t i)
{
    return t.half ? cuda_widen(((const uint16_t *)t.data)[i]) : ((const float *)t.data)[i];
}

static __device__ inline void cuda_put(cuda_tensor t, int64_t i, float x)
{
    if (t.half)
        ((uint16_t *)t.data)[i] = cuda_narrow(x);
    else
        ((float *)t.data)[i] = x;
}

/* Stores x, or adds it to what is there. */
static __device__ inline void cuda_give(cuda_tensor t, int64_t i, bool accumulate, float x)
{
    cuda_put(t, i, accumulate ? cuda_get(t, i) + x : x);
}

/* ---- positions ---- */

/* Where element i of a batch of [h, w, c] images is. */
typedef struct cuda_position {
    int64_t n, in_image;
    int h, w, c;
} cuda_position;

static __device__ inline cuda_position cuda_locate(int64_t i, pada_shape shape)
{
    const int64_t count = (int64_t)shape.c * shape.h * shape.w;
    cuda_position p;

    p.n = i / count;
    p.in_image = i - p.n * count;
    p.c = (int)(p.in_image % shape.c);
    const int64_t pixel = p.in_image / shape.c;
    p.w = (int)(pixel % shape.w);
    p.h = (int)(pixel / shape.w);
    return p;
}

/* Elements before pixel (h, w) of an image. */
static __device__ inline int64_t cuda_pixel(pada_shape shape, int h, int w)
{
    return ((int64_t)h * shape.w + w) * shape.c;
}

/* Rows (or columns) first to end - 1 of n under output o of a pool. */
static __device__ inline void cuda_window(int o, int n, pada_pool pool, int *first, int *end)
{
    *first = o * pool.stride - pool.pad;
    *end = *first + pool.kernel;
    if (*first < 0) *first = 0;
    if (*end > n) *end = n;
}

/* Outputs first to end - 1 of n_out whose windows hold input i. */
static __device__ inline void cuda_readers(int i, int n_out, pada_pool pool, int *first, int *end)
{
    const int behind =
        i + pool.pad - pool.kernel; /* the last start of a window that ends before i */

    *first = behind < 0 ? 0 : behind / pool.stride + 1;
    *end = (i + pool.pad) / pool.stride + 1;
    if (*end > n_out) *end = n_out;
}

#endif
