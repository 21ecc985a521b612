/* cuda_level_sum.cu - sums of terms of a level: of values forward, of gradients backward.
 *
 * Every term is act(a v + b z + c): a value behind a norm, or the gradient behind one, which also reads z. A thread has W
 * channels of one pixel after the other. What it reads of a pixel, two terms at a time, is under way before anything is
 * waited for, the coefficients of the first round included. Design note 0025. */
#include "backend/cuda/cuda_level_spread.cuh"
#include "backend/cuda/cuda_level_window.cuh"

enum {
    AT_ONCE = 2, /* terms */
    COEFFICIENTS = (CUDA_LEVEL_TERMS + 1) * 3 * SPREAD_CHANNELS,
    SHARED_FLOATS = COEFFICIENTS > SPREAD_TALLIES ? COEFFICIENTS : SPREAD_TALLIES
};

/* ---- jobs, as the kernel wants them ---- */

struct sum_term {
    const void *v, *z;
    int64_t v_image, z_image;
    int v_pitch, z_pitch;
    pada_act act;
    bool pooled, spreads; /* the mean over windows, or its transpose */
    pada_pool pool;
    pada_shape from;
    cuda_divisor stride;
};

struct sum_job {
    spread how;
    pada_shape shape;
    int n_terms;
    spread_source
        sources[CUDA_LEVEL_TERMS + 1]; /* of terms, then of the view whose slope is wanted */
    sum_term terms[CUDA_LEVEL_TERMS];
    cuda_result to;
};

struct sum_jobs {
    int n, first[CUDA_LEVEL_SUMS + 1];
    bool beside;
    sum_job at[CUDA_LEVEL_SUMS];
};

static_assert(sizeof(sum_jobs) <= 4096, "arguments of a launch");

static sum_term make_term(const cuda_level_term &t)
{
    sum_term term = {t.dz.dy,       t.dz.z,       t.dz.dy_image, t.dz.z_image,
                     t.dz.dy_pitch, t.dz.z_pitch, PADA_ACT_NONE, t.pooled,
                     true,          t.pool,       t.from,        {1, ~0u}};

    if (t.pooled) term.stride = cuda_prepare_divisor(t.pool.stride);
    if (!t.x.data) return term;
    term.v = t.x.data;
    term.z = NULL;
    term.v_image = t.x.image;
    term.v_pitch = t.x.pitch;
    term.act = t.x.act;
    term.spreads = false;
    return term;
}

static void make_job(const cuda_level_sum &from, sum_job *job)
{
    int width = spread_narrow(spread_width(from.shape.c), from.to);

    for (int e = 0; e < from.n_terms; e++) {
        const cuda_level_term &t = from.terms[e];
        width = t.x.data ? spread_narrow(width, t.x) : spread_narrow(width, t.dz);
        job->terms[e] = make_term(t);
        job->sources[e] = t.x.data ? spread_norm(t.x) : spread_slope(t.dz);
    }
    job->sources[from.n_terms] = spread_norm(from.to.at);
    job->how = spread_make(from.shape, from.n_images, width);
    job->shape = from.shape;
    job->n_terms = from.n_terms;
    job->to = from.to;
}

/* ---- terms ---- */

/* What is on its way of one pixel. */
template <int W> struct cargo {
    cuda_raw<W> v, z;
};

template <int W>
static __device__ __forceinline__ cargo<W> fetch(const sum_term &t, cuda_spot spot, int c)
{
    cargo<W> raw = {};

    if (t.pooled || spot.image < 0) return raw;
    raw.v =
        cuda_fetch<W>(t.v, spot.image * t.v_image + (int64_t)spot.pixel * t.v_pitch + c, W, true);
    if (t.z)
        raw.z = cuda_fetch<W>(t.z, spot.image * t.z_image + (int64_t)spot.pixel * t.z_pitch + c, W,
                              true);
    return raw;
}

/* act(a v + b z + c total), where total is the sum of the shares of what was added up. */
template <int W>
static __device__ __forceinline__ void apply(const sum_term &t, const float *coefs, int channels,
                                             float total, const float z[W], float v[W])
{
    float a[W], b[W];

    spread_read<W>(coefs, a);
    spread_read<W>(coefs + 2 * channels, b);
#pragma unroll
    for (int k = 0; k < W; k++)
        v[k] = a[k] * v[k] + b[k] * total;
    if (t.z) {
        spread_read<W>(coefs + channels, b);
#pragma unroll
        for (int k = 0; k < W; k++)
            v[k] += b[k] * z[k];
    }
    cuda_apply_act<W>(t.act, v);
}

/* Values or gradients of a term, pixel by pixel, for windows of any size. */
template <int W> struct reader {
    const sum_term &term;
    int c, channels;
    const float *coefs;

    __device__ __forceinline__ void load(int image, int pixel, float v[W]) const
    {
        float z[W];
        sum_term plain = term;
        plain.pooled = false;
        const cargo<W> raw = fetch<W>(plain, {image, pixel}, c);
        cuda_unpack<W>(raw.v, v);
        cuda_unpack<W>(raw.z, z);
        apply<W>(term, coefs, channels, 1, z, v);
    }
};

template <int W>
static __device__ __forceinline__ void add_any_window(const reader<W> &from,
                                                      const pada_shape &shape, int image, int h,
                                                      int w, float sums[W])
{
    if (from.term.spreads)
        level_add_spread<W>(from, from.term.pool, shape, from.term.from, image, h, w, sums);
    else
        level_add_mean<W>(from, from.term.pool, from.term.from, image, h, w, sums);
}

/* A mean over windows or its transpose. Norms and gradients are linear: windows of 3x3 are added up before them. */
template <int W>
static __device__ inline void add_pooled(const sum_job &j, const sum_term &t, cuda_spot spot, int c,
                                         const float *coefs, float sums[W])
{
    const int channels = (int)j.how.by_channels.by;
    const int h = cuda_divide(spot.pixel, j.how.row), w = spot.pixel - h * j.shape.w;

    if (t.pool.kernel != 3 || t.act != PADA_ACT_NONE) {
        add_any_window<W>(reader<W>{t, c, channels, coefs}, j.shape, spot.image, h, w, sums);
        return;
    }
    const level_side rows = t.spreads ? level_reader_side(h, j.shape.h, t.from.h, t.pool, t.stride)
                                      : level_window_side(h, t.from.h, t.pool);
    const level_side columns = t.spreads
                                   ? level_reader_side(w, j.shape.w, t.from.w, t.pool, t.stride)
                                   : level_window_side(w, t.from.w, t.pool);
    const float total = (rows.share[0] + rows.share[1] + rows.share[2]) *
                        (columns.share[0] + columns.share[1] + columns.share[2]);
    float v[W] = {}, z[W] = {};
    level_add9<W>(t.v, spot.image * t.v_image + c, t.v_pitch, t.from.w, rows, columns, v);
    if (t.z) level_add9<W>(t.z, spot.image * t.z_image + c, t.z_pitch, t.from.w, rows, columns, z);
    apply<W>(t, coefs, channels, total, z, v);
#pragma unroll
    for (int k = 0; k < W; k++)
        sums[k] += v[k];
}

template <int W>
static __device__ __forceinline__ void add_term(const sum_job &j, const sum_term &t,
                                                const cargo<W> &raw, const float *coefs,
                                                float sums[W])
{
    const int channels = (int)j.how.by_channels.by;
    float v[W], z[W];

    if (t.pooled) return;
    cuda_unpack<W>(raw.v, v);
    cuda_unpack<W>(raw.z, z);
    apply<W>(t, coefs, channels, 1, z, v);
#pragma unroll
    for (int k = 0; k < W; k++)
        sums[k] += v[k];
}

/* ---- sums ---- */

template <int W, bool POOLED>
static __device__ __forceinline__ void run_job(const sum_job &j, int block, int blocks, bool beside,
                                               float *shared)
{
    const spread_place place = spread_locate(j.how, block, blocks);
    const int chunk = 3 * (int)j.how.by_channels.by;
    const int step = place.turns * j.how.slots;
    const float *coefs = shared + place.lane * W;
    cuda_tally<W> tally = {};
    bool staged = false;

    spread_touch(j);
    cuda_begin_beside(beside);
#pragma unroll 1
    for (int i = place.turn * j.how.slots + place.slot; i < j.how.pixels || !staged; i += step) {
        const cuda_spot spot = place.works ? spread_find(j.how, i) : cuda_spot{-1, 0};
        cuda_met<W> met;
        float sums[W] = {};
        if (spot.image >= 0) met = cuda_meet<W>(j.to, spot, place.c, W, true);
#pragma unroll 1
        for (int e = 0; e < j.n_terms; e += AT_ONCE) {
            const bool two = e + 1 < j.n_terms;
            const cargo<W> first = fetch<W>(j.terms[e], spot, place.c);
            const cargo<W> second = two ? fetch<W>(j.terms[e + 1], spot, place.c) : cargo<W>{};
            if (!staged) {
                spread_stage_all(j.how, place, j.sources, j.n_terms + 1, shared);
                __syncthreads();
                staged = true;
            }
            if (spot.image < 0) continue;
            add_term<W>(j, j.terms[e], first, coefs + e * chunk, sums);
            if (two) add_term<W>(j, j.terms[e + 1], second, coefs + (e + 1) * chunk, sums);
        }
        if (spot.image < 0) continue;
#pragma unroll 1
        for (int e = 0; POOLED && e < j.n_terms; e++)
            if (j.terms[e].pooled)
                add_pooled<W>(j, j.terms[e], spot, place.c, coefs + e * chunk, sums);
        const cuda_norm<W> slope = spread_read_norm<W>(coefs + j.n_terms * chunk, chunk / 3);
        cuda_put_result<W>(j.to, slope, met, spot, place.c, W, true, sums, &tally);
    }
    __syncthreads(); /* the coefficients have been read */
    cuda_end_results<W>(j.to, j.shape.c, place.first, place.lane, j.how.lanes, place.slot,
                        j.how.slots, blocks, tally, shared);
}

/* Few launches have pooled terms, whose windows want more registers. */
template <bool POOLED>
__global__ static void __launch_bounds__(SPREAD_THREADS, SPREAD_RESIDENT)
    sum_kernel(const __grid_constant__ sum_jobs jobs)
{
    __shared__ float4 shared[SHARED_FLOATS / 4];
    const int k = cuda_find_job(jobs), blocks = jobs.first[k + 1] - jobs.first[k];
    const int block = (int)blockIdx.x - jobs.first[k];
    const sum_job &j = jobs.at[k];

    if (j.how.width == 8)
        run_job<8, POOLED>(j, block, blocks, jobs.beside, (float *)shared);
    else if (j.how.width == 4)
        run_job<4, POOLED>(j, block, blocks, jobs.beside, (float *)shared);
    else
        run_job<2, POOLED>(j, block, blocks, jobs.beside, (float *)shared);
    cuda_end(jobs.beside);
}

cudaError_t pada_cuda_level_sum(cudaStream_t stream, const cuda_level_sums *jobs)
{
    level_work work[CUDA_LEVEL_SUMS];
    sum_jobs placed;
    bool pooled = false;

    placed.n = jobs->n;
    placed.beside = jobs->beside;
    for (int k = 0; k < placed.n; k++) {
        const sum_job &j = placed.at[k];
        make_job(jobs->at[k], &placed.at[k]);
        work[k] = spread_work(j.how, j.how.pixels, 1 + j.n_terms);
        for (int e = 0; e < j.n_terms; e++)
            pooled = pooled || j.terms[e].pooled;
    }
    level_place_blocks(work, placed.n, SPREAD_BLOCKS, placed.first);
    return cuda_launch(pooled ? sum_kernel<true> : sum_kernel<false>,
                       (unsigned)placed.first[placed.n], SPREAD_THREADS, 0, stream, placed);
}
