/* cuda_level_dense_squares.cuh - sums of weights over pixels, on tensor cores: what a block that has dz and x in shared
 * memory makes of them.
 *
 * A warp has up to HIGH x WIDE squares of 16 x 16 weights of a tile; warps for which there are none take every so many-th
 * 16 pixels of the squares of others, and their sums are added up at the end, in order. Rows and columns of squares that
 * the tile does not have are multiplied, too, whatever stands there, and dropped. */
#ifndef PADA_BACKEND_CUDA_CUDA_LEVEL_DENSE_SQUARES_CUH
#define PADA_BACKEND_CUDA_CUDA_LEVEL_DENSE_SQUARES_CUH

#include "backend/cuda/cuda_level_dense.cuh"

enum {
    SQUARES_WARPS = 8,
    SQUARES_THREADS = SQUARES_WARPS * 32,
    SQUARES_SIDE = 128, /* of a tile, at most */
    SQUARES_HIGH = 4,
    SQUARES_WIDE = 2,
    SQUARES_SUMS = SQUARES_WARPS / 2 * SQUARES_HIGH * SQUARES_WIDE * 2 * 32 * 16 /* bytes */
};

/* How a tile of out x in weights is divided among warps. */
struct dense_squares {
    int out, in;
    int high, warps; /* warps along `out`, and of a tile */
    int slices;      /* warps that have the same weights */
};

static __host__ __device__ inline dense_squares dense_divide_squares(int out, int in)
{
    const int high = dense_divide_up(out, 16 * SQUARES_HIGH);
    const int warps = high * dense_divide_up(in, 16 * SQUARES_WIDE);

    return {out, in, high, warps, warps == 1 ? 8 : warps == 2 ? 4 : warps <= 4 ? 2 : 1};
}

/* The squares of a warp, and its slice of the pixels. */
struct dense_square {
    int row, column; /* of the tile */
    int slice;       /* slices: none */
};

static __device__ __forceinline__ dense_square dense_find_square(const dense_squares &s)
{
    const int warp = (int)threadIdx.x / 32, each = SQUARES_WARPS / s.slices, at = warp % each;

    return {at % s.high * SQUARES_HIGH * 16, at / s.high * SQUARES_WIDE * 16,
            at < s.warps ? warp / each : s.slices};
}

/* dz and x of some pixels in shared memory, as [pixel][channel]; elements of a row. */
struct dense_operands {
    const uint16_t *dz, *x;
    int dz_pitch, x_pitch;
};

static __device__ __forceinline__ void dense_multiply_squares(
    const dense_squares &s, const dense_square &q, const dense_operands &of, int pixels,
    float acc[SQUARES_HIGH][2 * SQUARES_WIDE][4])
{
    const int lane = (int)threadIdx.x % 32, i = lane / 8;
    const uint32_t dz = cuda_shared_address(of.dz) +
                        2 * (uint32_t)((i / 2 * 8 + lane % 8) * of.dz_pitch + q.row + i % 2 * 8);
    const uint32_t x = cuda_shared_address(of.x) +
                       2 * (uint32_t)((i % 2 * 8 + lane % 8) * of.x_pitch + q.column + i / 2 * 8);

    if (q.slice == s.slices) return;
    for (int k = q.slice * 16; k < pixels; k += s.slices * 16) {
        uint32_t b[SQUARES_WIDE][4];
#pragma unroll
        for (int n = 0; n < SQUARES_WIDE; n++)
            if (q.column + 16 * n < s.in)
                cuda_load_transposed(b[n], x + 2 * (uint32_t)(k * of.x_pitch + 16 * n));
#pragma unroll
        for (int m = 0; m < SQUARES_HIGH; m++) {
            uint32_t a[4];
            if (q.row + 16 * m >= s.out) break;
            cuda_load_transposed(a, dz + 2 * (uint32_t)(k * of.dz_pitch + 16 * m));
#pragma unroll
            for (int n = 0; n < SQUARES_WIDE; n++) {
                if (q.column + 16 * n >= s.in) break;
                cuda_mma(acc[m][2 * n], a, b[n][0], b[n][1]);
                cuda_mma(acc[m][2 * n + 1], a, b[n][2], b[n][3]);
            }
        }
    }
}

/* Adds what the warps of the same squares have, in order, to what the first one has. Shared memory is free. */
static __device__ __forceinline__ void dense_add_slices(
    const dense_squares &s, float4 *shared, float acc[SQUARES_HIGH][2 * SQUARES_WIDE][4])
{
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    const int each = SQUARES_WARPS / s.slices;

    for (int slices = s.slices / 2; slices > 0; slices /= 2) {
        float4 *at = shared + warp % (slices * each) * SQUARES_HIGH * 2 * SQUARES_WIDE * 32 + lane;
        __syncthreads();
        if (warp >= slices * each && warp < 2 * slices * each)
#pragma unroll
            for (int i = 0; i < SQUARES_HIGH * 2 * SQUARES_WIDE; i++) {
                const float *v = acc[i / (2 * SQUARES_WIDE)][i % (2 * SQUARES_WIDE)];
                at[i * 32] = make_float4(v[0], v[1], v[2], v[3]);
            }
        __syncthreads();
        if (warp >= slices * each) continue;
#pragma unroll
        for (int i = 0; i < SQUARES_HIGH * 2 * SQUARES_WIDE; i++) {
            const float4 v = at[i * 32];
            float *to = acc[i / (2 * SQUARES_WIDE)][i % (2 * SQUARES_WIDE)];
            to[0] += v.x, to[1] += v.y, to[2] += v.z, to[3] += v.w;
        }
    }
}

/* Writes the weights of a tile that begins at row `out` and column `in`; a tap has so many columns. */
static __device__ __forceinline__ void dense_put_squares(
    const pada_conv &conv, const dense_squares &s, const dense_square &q, int out, int in,
    int channels, float *partial, const float acc[SQUARES_HIGH][2 * SQUARES_WIDE][4])
{
    const int lane = (int)threadIdx.x % 32;
    const int depth = dense_depth(&conv), turns = dense_turns(&conv);

    if (q.slice > 0) return;
#pragma unroll
    for (int n = 0; n < 2 * SQUARES_WIDE; n++) {
        const int at = q.column + 8 * n + lane % 4 * 2;
        const int tap = turns == 1 ? 0 : (in + at) / channels;
        const int c = in + at - tap * channels;
        if (at >= s.in || tap >= turns || c >= depth) continue;
#pragma unroll
        for (int m = 0; m < 2 * SQUARES_HIGH; m++) {
            const int row = q.row + 8 * m + lane / 4;
            if (row >= s.out || out + row >= conv.c_out) continue;
            float *to = partial + ((int64_t)(out + row) * depth + c) * turns + tap;
            const float *v = acc[m / 2][n] + m % 2 * 2;
            to[0] = v[0];
            if (c + 1 < depth) to[turns] = v[1];
        }
    }
}

#endif
