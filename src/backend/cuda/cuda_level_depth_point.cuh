/* cuda_level_depth_point.cuh - windows of gradients that are made where they are used: behind a depthwise convolution stands a
 * pointwise one, and a window of its gradient dz times its transposed weights is the window that cuda_level_depth_back.cu
 * wants.
 *
 *   dz -> left [pixel of the window][channel], bfloat16 -> tensor cores -> window, float
 *
 * Where there is no image, dz is zero, and so is the window. Behind what a block has otherwise, shared memory has the left
 * matrix, in the order of fragments (cuda_level_dense.cuh), and coefficients of dz [3][channel]. */
#ifndef PADA_BACKEND_CUDA_CUDA_LEVEL_DEPTH_POINT_CUH
#define PADA_BACKEND_CUDA_CUDA_LEVEL_DEPTH_POINT_CUH

#include "backend/cuda/cuda_level_dense.cuh"
#include "backend/cuda/cuda_level_depth_load.cuh"

enum {
    DEPTH_POINT_CHANNELS = 256,   /* of dz, at most */
    DEPTH_POINT_CHUNKS = 2,       /* which make windows of the same dz, at most */
    DEPTH_POINT_WORDS = 18 << 10, /* of shared memory: three blocks of a multiprocessor, .. */
    DEPTH_POINT_MOST = 24 << 10   /* .. or two, where sums of weights take so many registers */
};

/* How dz gets to a window: bytes before each part of shared memory, rows of the left matrix, elements of one. */
typedef struct depth_point {
    int left, slopes, bytes;
    int rows, pitch;
    depth_spread spread;
} depth_point;

static __host__ __device__ inline depth_plan depth_make_point_plan(const cuda_level_conv &j)
{
    const int most = j.conv.kernel == 3 ? DEPTH_POINT_WORDS : DEPTH_POINT_MOST;

    return depth_make_plan_with(j, true, {dense_left_pitch(j.out.c) / 2, 3 * j.out.c, most});
}

static __host__ __device__ inline depth_point depth_map_point(const cuda_level_conv &j,
                                                              const depth_plan &plan)
{
    depth_point p = {};

    p.rows = dense_round(plan.window.rows * plan.window.columns, 32);
    p.pitch = dense_left_pitch(j.out.c);
    p.left = 4 * depth_words(plan);
    p.slopes = p.left + 2 * p.rows * p.pitch;
    p.bytes = p.slopes + 4 * 3 * j.out.c;
    return p;
}

/* Zeros behind the last channel and the last pixel, too. */
static __device__ __forceinline__ void depth_clear_point(const depth_point &p, char *shared)
{
    for (int i = p.left + 16 * (int)threadIdx.x; i < p.slopes; i += 16 * (int)blockDim.x)
        *(uint4 *)(shared + i) = make_uint4(0, 0, 0, 0);
}

static __device__ __forceinline__ void depth_stage_point(const cuda_level_conv &j,
                                                         const depth_point &p, char *shared)
{
    float *slopes = (float *)(shared + p.slopes);

    for (int c = (int)threadIdx.x; c < j.out.c; c += (int)blockDim.x) {
        const cuda_slope<1> slope = cuda_read_slope<1>(j.dz, c, 1);
        slopes[c] = slope.a[0];
        slopes[j.out.c + c] = slope.b[0];
        slopes[2 * j.out.c + c] = slope.c[0];
    }
}

/* Where the pixels of a thread go: the left matrix. Four channels are two pairs, which are 8 elements apart. */
struct depth_halves {
    uint16_t *to;
    const uint16_t *end;
    int step;

    template <int W> __device__ __forceinline__ void keep(const float v[W]) const
    {
        const uint32_t first = cuda_pair(v[0], v[1]), second = cuda_pair(v[2], v[3]);

        if (W == 8) {
            *(uint2 *)to = make_uint2(first, cuda_pair(v[4 % W], v[5 % W]));
            *(uint2 *)(to + 8) = make_uint2(second, cuda_pair(v[6 % W], v[7 % W]));
        } else {
            *(uint32_t *)to = first;
            *(uint32_t *)(to + 8) = second;
        }
    }
};

template <depth_source FROM>
static __device__ __forceinline__ void depth_load_left(const cuda_level_conv &j,
                                                       const depth_window &window,
                                                       const depth_point &p,
                                                       const depth_reader &reader, int image,
                                                       int row, int column, char *shared)
{
    uint16_t *left = (uint16_t *)(shared + p.left);
    const int pixel = reader.row * window.columns + reader.column;
    const depth_halves keep = {left + pixel * p.pitch + dense_find_left(reader.c),
                               left + window.rows * window.columns * p.pitch,
                               p.spread.step * p.pitch};
    const depth_factors slopes = {(const float *)(shared + p.slopes), j.out.c};

    if (p.spread.vector == 8)
        depth_load_by<8, FROM>(j, window, p.spread, reader, 0, slopes, image, row, column, keep);
    else
        depth_load_by<4, FROM>(j, window, p.spread, reader, 0, slopes, image, row, column, keep);
}

/* The left matrix of the window that begins at (row, column) of dz. */
static __device__ __forceinline__ void depth_load_point(const cuda_level_conv &j,
                                                        const depth_block &b, const depth_point &p,
                                                        const depth_reader &reader, int image,
                                                        int row, int column, char *shared)
{
    if (reader.row < 0) return;
    if (j.dz.z)
        depth_load_left<DEPTH_DZ>(j, b.plan.window, p, reader, image, row, column, shared);
    else
        depth_load_left<DEPTH_DY>(j, b.plan.window, p, reader, image, row, column, shared);
}

/* The window, of the channels of the block: 32 pixels and 16 columns for a warp at a time. Columns of fragments begin at
 * multiples of 16, those of the block at multiples of 4. */
static __device__ __forceinline__ void depth_multiply_point(const cuda_level_conv &j,
                                                            const depth_block &b,
                                                            const depth_point &p, char *shared)
{
    const int lane = (int)threadIdx.x % 32, warps = (int)blockDim.x / 32;
    const int pixels = b.plan.window.rows * b.plan.window.columns, groups = p.rows / 32;
    const int before = b.first / 16, sets = dense_divide_up(b.first + b.channels, 16) - before;
    const int next = dense_round(j.conv.c_in, DENSE_COLUMNS) / 16 * 32;

    for (int i = (int)threadIdx.x / 32; i < groups * sets; i += warps) {
        const int set = i / groups, row = (i - set * groups) * 32, column = 16 * (before + set);
        const int c = column - b.first + lane % 4 * 4; /* of the block */
        float *to = (float *)shared + (row + lane / 4) * DEPTH_PIXEL + c;
        float acc[2][2][4] = {};
        dense_multiply<2, 1>(dense_find_rows(shared + p.left, row, p.pitch), 2 * 16 * p.pitch,
                             dense_find_fragments(j.fragment, column), next, j.out.c, acc);
        if (c < 0 || c >= b.channels) continue;
#pragma unroll
        for (int k = 0; k < 4; k++) { /* rows g, g + 8 and so on */
            const float *low = acc[k / 2][0] + k % 2 * 2, *high = acc[k / 2][1] + k % 2 * 2;
            if (row + lane / 4 + 8 * k < pixels)
                *(float4 *)(to + 8 * k * DEPTH_PIXEL) =
                    make_float4(low[0], low[1], high[0], high[1]);
        }
    }
}

#endif
