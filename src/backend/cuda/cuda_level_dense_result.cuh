/* cuda_level_dense_result.cuh - what becomes of W results of a pixel in a product of cuda_level_dense.cu: what they meet in
 * memory, and the sums over the batch, which a thread keeps in shared memory since registers are few. */
#ifndef PADA_BACKEND_CUDA_CUDA_LEVEL_DENSE_RESULT_CUH
#define PADA_BACKEND_CUDA_CUDA_LEVEL_DENSE_RESULT_CUH

#include "backend/cuda/cuda_level_dense.cuh"

enum {
    DENSE_THREADS = 128, /* of a block */
    DENSE_SETS = 2,      /* of columns, of a block; divides its warps */
    DENSE_SLOPES = DENSE_SETS * DENSE_COLUMNS
};

/* Where a thread keeps four floats of sum `which` of a set of columns. */
template <int W>
static __device__ __forceinline__ float4 *dense_tally_at(float *tally, int which, int set, int four,
                                                         int thread)
{
    return (float4 *)tally + ((which * (16 / W) + set) * (W / 4) + four) * DENSE_THREADS + thread;
}

template <int W>
static __device__ __forceinline__ void dense_add_tally(float *tally, int which, int set,
                                                       const float v[W])
{
#pragma unroll
    for (int four = 0; four < W / 4; four++) {
        float4 *at = dense_tally_at<W>(tally, which, set, four, (int)threadIdx.x);
        const float4 before = *at;
        *at = make_float4(before.x + v[4 * four], before.y + v[4 * four + 1],
                          before.z + v[4 * four + 2], before.w + v[4 * four + 3]);
    }
}

/* What W results meet in memory before they are written. */
template <int W>
static __device__ __forceinline__ cuda_met<W> dense_meet(const cuda_level_conv &j, int row,
                                                         cuda_spot spot, int c, int valid)
{
    const cuda_result &to = j.to;
    const bool joined = j.hints.joined_out, wide = j.hints.wide_to;
    cuda_met<W> met;

    if (to.at.data)
        met.at = dense_fetch<W>(
            to.at.data, dense_begin(joined, row, spot, to.at.image, to.at.pitch) + c, valid, wide);
    if (to.accumulate)
        met.there = dense_fetch<W>(to.data, dense_begin(joined, row, spot, to.image, to.pitch) + c,
                                   valid, wide);
#pragma unroll
    for (int f = 0; f < CUDA_FINISHES; f++)
        if (f < to.n_finishes && to.finishes[f].z)
            met.z[f] = dense_fetch<W>(
                to.finishes[f].z,
                dense_begin(joined, row, spot, to.finishes[f].z_image, to.pitch) + c, valid, wide);
    return met;
}

/* Results where the slope of an activation is not zero: of act(norm(x)), x being what they meet. `norm` is not read where
 * there is none. */
template <int W>
static __device__ __forceinline__ void dense_apply_slope(const cuda_view &at,
                                                         const cuda_norm<W> &norm, float x[W],
                                                         float v[W])
{
    if (at.mean) cuda_apply_norm<W>(norm, x);
    if (at.act == PADA_ACT_NONE) return;
    if (at.act == PADA_ACT_RELU)
#pragma unroll
        for (int k = 0; k < W; k++)
            v[k] = x[k] > 0 ? v[k] : 0;
    else
#pragma unroll
        for (int k = 0; k < W; k++)
            v[k] = x[k] > 0 && x[k] < 6 ? v[k] : 0;
}

/* Results of a pixel after what belongs to them. */
template <int W>
static __device__ __forceinline__ void dense_meet_results(const cuda_result &to,
                                                          const cuda_met<W> &met,
                                                          const cuda_norm<W> &norm, float v[W])
{
    float other[W];

    if (to.at.data) {
        cuda_unpack<W>(met.at, other);
        dense_apply_slope<W>(to.at, norm, other, v);
    }
    if (to.accumulate) {
        cuda_unpack<W>(met.there, other);
#pragma unroll
        for (int k = 0; k < W; k++)
            v[k] += other[k];
    }
}

/* Adds the results of a pixel to the tallies. */
template <int W, bool BACK>
static __device__ __forceinline__ void dense_tally_results(const cuda_result &to,
                                                           const cuda_met<W> &met, const float v[W],
                                                           float *tally, int set)
{
    float product[W], other[W];

    if (to.n_finishes == 0) return;
    dense_add_tally<W>(tally, 0, set, v);
#pragma unroll
    for (int f = 0; f < (BACK ? CUDA_FINISHES : 1); f++) {
        if (f >= to.n_finishes) break;
        if (BACK) cuda_unpack<W>(met.z[f], other);
#pragma unroll
        for (int k = 0; k < W; k++)
            product[k] = v[k] * (BACK ? other[k] : v[k]);
        dense_add_tally<W>(tally, 1 + f, set, product);
    }
}

#endif
