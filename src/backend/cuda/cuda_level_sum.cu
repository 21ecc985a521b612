/* cuda_level_sum.cu - sums of terms of a level: of values forward, of gradients backward.
 *
 * A thread has W channels, 8 where their number allows it, of PIXELS pixels at a time, and adds up term after term: what
 * a batch norm or a gradient needs of a channel waits in shared memory, so that registers are left for the sums.
 * Design note 0025. */
#include "backend/cuda/cuda_level_lanes.cuh"
#include "backend/cuda/cuda_level_window.cuh"

enum {
    PIXELS = 2,
    WIDTH = 8, /* the most channels of a thread */
    COEFFICIENTS = (CUDA_LEVEL_TERMS + 1) * 3 * LEVEL_LANES * WIDTH,
    TALLIES = cuda_tally_floats<WIDTH>(LEVEL_THREADS),
    SHARED_FLOATS = COEFFICIENTS > TALLIES ? COEFFICIENTS : TALLIES
};

static __host__ __device__ inline int pixels_of(const cuda_level_sum &j)
{
    return j.n_images * j.shape.h * j.shape.w;
}

/* ---- coefficients of channels ---- */

/* The three numbers of a channel of a term: factor and shift of its norm, or a, b, c of its gradient. They are at
 * [term][which][W][lane]; behind the terms is the norm of the view whose slope the result has. */
template <int W>
static __device__ inline void stage_norm(const cuda_view &view, int c, int lanes, float *to)
{
    const cuda_norm<W> norm = cuda_read_norm<W>(view, c, W);

#pragma unroll
    for (int k = 0; k < W; k++) {
        to[k * lanes] = norm.factor[k];
        to[(W + k) * lanes] = norm.shift[k];
    }
}

template <int W>
static __device__ inline void stage_slope(const cuda_gradient &gradient, int c, int lanes,
                                          float *to)
{
    const cuda_slope<W> slope = cuda_read_slope<W>(gradient, c, W);

#pragma unroll
    for (int k = 0; k < W; k++) {
        to[k * lanes] = slope.a[k];
        to[(W + k) * lanes] = slope.b[k];
        to[(2 * W + k) * lanes] = slope.c[k];
    }
}

template <int W>
static __device__ inline void stage_all(const cuda_level_sum &j, const level_lanes &d,
                                        const level_place &place, float *shared)
{
    for (int e = place.slot; e <= j.n_terms; e += d.slots) {
        float *to = shared + e * 3 * W * d.lanes + place.lane;
        if (e == j.n_terms)
            stage_norm<W>(j.to.at, place.c, d.lanes, to);
        else if (j.terms[e].x.data)
            stage_norm<W>(j.terms[e].x, place.c, d.lanes, to);
        else
            stage_slope<W>(j.terms[e].dz, place.c, d.lanes, to);
    }
}

template <int W>
static __device__ __forceinline__ cuda_norm<W> staged_norm(const float *from, int lanes)
{
    cuda_norm<W> norm;

#pragma unroll
    for (int k = 0; k < W; k++) {
        norm.factor[k] = from[k * lanes];
        norm.shift[k] = from[(W + k) * lanes];
    }
    return norm;
}

template <int W>
static __device__ __forceinline__ cuda_slope<W> staged_slope(const float *from, int lanes)
{
    cuda_slope<W> slope;

#pragma unroll
    for (int k = 0; k < W; k++) {
        slope.a[k] = from[k * lanes];
        slope.b[k] = from[(W + k) * lanes];
        slope.c[k] = from[(2 * W + k) * lanes];
    }
    return slope;
}

/* ---- terms ---- */

/* Values or gradients of one term, as they are read. */
template <int W> struct reader {
    const cuda_level_term &term;
    int c, lanes;
    bool wide;
    const float *coefficients;

    __device__ __forceinline__ void load(int image, int pixel, float v[W]) const
    {
        if (!term.x.data) {
            cuda_load_gradient<W>(term.dz, staged_slope<W>(coefficients, lanes), image, pixel, c, W,
                                  wide, v);
            return;
        }
        cuda_load<W>(term.x.data, image * term.x.image + (int64_t)pixel * term.x.pitch + c, W, wide,
                     v);
        if (term.x.mean) cuda_apply_norm<W>(staged_norm<W>(coefficients, lanes), v);
        cuda_apply_act<W>(term.x.act, v);
    }
};

template <int W>
static __device__ __forceinline__ void add_term(const reader<W> &from, pada_shape shape,
                                                const cuda_spot at[PIXELS], float sums[PIXELS][W])
{
    if (!from.term.pooled) {
        float v[PIXELS][W];
#pragma unroll
        for (int p = 0; p < PIXELS; p++)
            if (at[p].image >= 0) from.load(at[p].image, at[p].pixel, v[p]);
#pragma unroll
        for (int p = 0; p < PIXELS; p++)
#pragma unroll
            for (int k = 0; k < W; k++)
                if (at[p].image >= 0) sums[p][k] += v[p][k];
        return;
    }
#pragma unroll
    for (int p = 0; p < PIXELS; p++) {
        const int h = at[p].pixel / shape.w, w = at[p].pixel % shape.w;
        if (at[p].image < 0) continue;
        if (from.term.x.data)
            level_add_mean<W>(from, from.term.pool, from.term.from, at[p].image, h, w, sums[p]);
        else
            level_add_spread<W>(from, from.term.pool, shape, from.term.from, at[p].image, h, w,
                                sums[p]);
    }
}

/* ---- sums ---- */

static __device__ __forceinline__ bool is_wide(const cuda_level_sum &j)
{
    bool wide = cuda_is_wide(j.to);

    for (int e = 0; e < j.n_terms; e++) {
        const cuda_level_term &term = j.terms[e];
        wide = wide && (term.x.data ? cuda_is_wide(term.x.data, term.x.image, term.x.pitch)
                                    : cuda_is_wide(term.dz));
    }
    return wide;
}

template <int W>
static __device__ __forceinline__ void run_job(const cuda_level_sum &j, int block, int blocks,
                                               float *shared)
{
    const level_lanes d = level_divide(j.shape.c, W);
    const level_place place = level_locate(d, W, j.shape.c, block, blocks);
    const int n = pixels_of(j);
    const cuda_divisor of_image = cuda_prepare_divisor(j.shape.h * j.shape.w);
    const bool wide = is_wide(j);
    const float *coefficients = shared + place.lane;
    cuda_tally<W> tally = {};

    if (place.valid > 0) stage_all<W>(j, d, place, shared);
    __syncthreads();
    for (int first = place.at; first < n && place.valid > 0; first += PIXELS * place.share) {
        float sums[PIXELS][W] = {};
        cuda_spot at[PIXELS];
#pragma unroll
        for (int p = 0; p < PIXELS; p++) {
            const int i = first + p * place.share;
            const int image = cuda_divide(i, of_image);
            at[p] = i < n ? cuda_spot{image, i - image * (int)of_image.by} : cuda_spot{-1, 0};
        }
#pragma unroll 1
        for (int e = 0; e < j.n_terms; e++)
            add_term<W>(
                reader<W>{j.terms[e], place.c, d.lanes, wide, coefficients + e * 3 * W * d.lanes},
                j.shape, at, sums);
        const cuda_norm<W> slope =
            staged_norm<W>(coefficients + j.n_terms * 3 * W * d.lanes, d.lanes);
        cuda_put_results<W, PIXELS>(j.to, slope, at, place.c, W, wide, sums, &tally);
    }
    __syncthreads(); /* the coefficients have been read */
    cuda_end_results<W>(j.to, j.shape.c, place.first, place.lane, d.lanes, place.slot, d.slots,
                        blocks, tally, shared);
}

__global__ static void __launch_bounds__(LEVEL_THREADS, 2)
    sum_kernel(const __grid_constant__ cuda_level_sums jobs)
{
    cuda_begin();
    __shared__ float shared[SHARED_FLOATS];
    const int k = cuda_find_job(jobs), blocks = jobs.first[k + 1] - jobs.first[k];
    const cuda_level_sum &j = jobs.at[k];

    if (level_width(j.shape.c) == WIDTH)
        run_job<WIDTH>(j, (int)blockIdx.x - jobs.first[k], blocks, shared);
    else
        run_job<2>(j, (int)blockIdx.x - jobs.first[k], blocks, shared);
}

cudaError_t pada_cuda_level_sum(cudaStream_t stream, const cuda_level_sums *jobs)
{
    cuda_level_sums placed = *jobs;

    level_work work[CUDA_LEVEL_SUMS];
    for (int k = 0; k < placed.n; k++) {
        const cuda_level_sum &j = placed.at[k];
        const int rounds = (pixels_of(j) - 1) / PIXELS + 1;
        work[k] =
            level_work_of(level_divide(j.shape.c, level_width(j.shape.c)), rounds, 1 + j.n_terms);
    }
    level_place_blocks(work, placed.n, LEVEL_BLOCKS, placed.first);
    return cuda_launch(sum_kernel, (unsigned)placed.first[placed.n], LEVEL_THREADS, 0, stream,
                       placed);
}
