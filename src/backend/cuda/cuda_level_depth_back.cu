/* cuda_level_depth_back.cu - both gradients of depthwise convolutions of a level.
 *
 * A tile is of the gradient of x, its window of dz. A thread has a strip: each value of dz that it reads is used for the
 * gradient of x, with the weight of a tap, and for that of this weight, with x, which the strip needs anyway for the
 * slope of the activation. Sums of weights stay in registers over all tiles of a block; then the slots of the block
 * are added up in order. Design note 0025. */
#include "backend/cuda/cuda_level_depth.cuh"

enum {
    BLOCKS = 6 * 132,  /* of a job, where there are enough tiles, .. */
    SPLITS = 4 * 132,  /* .. but partial sums have to be added up */
    TAPS_AT_ONCE = 32, /* added up */
    SUM_WORDS = TAPS_AT_ONCE * DEPTH_THREADS * 2
};

static_assert((int)SUM_WORDS <= (int)DEPTH_WORDS, "sums of taps fit");

int pada_cuda_level_depth_splits(const pada_conv *conv, pada_shape in, int n_images)
{
    cuda_level_conv j = {};

    j.conv = *conv;
    j.in = in;
    j.n_images = n_images;
    const depth_plan plan = depth_make_plan(j, true);
    const int wanted = min(SPLITS, max(1, BLOCKS / plan.chunks.n));
    return min(wanted, plan.tiles.n);
}

/* Blocks of a multiprocessor: sums of weights take registers. */
static constexpr int blocks_of(int kernel)
{
    return kernel == 3 ? 5 : kernel == 5 ? 4 : 3;
}

/* ---- strips ---- */

/* Adds the products of a strip in row `row` of its tile. `from` is the word of its column in the first row of the window;
 * x has zeros outside of the image. */
template <int K, int STRIDE, int DILATION>
static __device__ __forceinline__ void correlate(const uint32_t *from, int pitch, int row,
                                                 const depth_pair *weights,
                                                 const depth_pair x[DEPTH_STRIP],
                                                 depth_pair dx[DEPTH_STRIP], depth_pair *dw)
{
    constexpr int N = (DEPTH_STRIP - 1 + (K - 1) * DILATION) / STRIDE + 1;

#pragma unroll
    for (int kh = 0; kh < K; kh++) {
        const int ahead = row + kh * DILATION;
        depth_pair dz[N];
        if (ahead % STRIDE != 0) continue;
        depth_read<N>(from + ahead / STRIDE * pitch, dz);
#pragma unroll
        for (int kw = 0; kw < K; kw++) {
            const depth_pair w = weights[(kh * K + kw) * DEPTH_LANES];
#pragma unroll
            for (int p = 0; p < DEPTH_STRIP; p++) {
                if ((p + kw * DILATION) % STRIDE != 0) continue;
                const depth_pair d = dz[(p + kw * DILATION) / STRIDE];
                dx[p].a += w.a * d.a;
                dx[p].b += w.b * d.b;
                dw[kh * K + kw].a += x[p].a * d.a;
                dw[kh * K + kw].b += x[p].b * d.b;
            }
        }
    }
}

/* MOST is the largest kernel of the launch. */
template <int MOST>
static __device__ __forceinline__ void correlate_any(const pada_conv &conv, const uint32_t *from,
                                                     int pitch, int row, const depth_pair *weights,
                                                     const depth_pair x[DEPTH_STRIP],
                                                     depth_pair dx[DEPTH_STRIP], depth_pair *dw)
{
    switch (depth_kind(conv.kernel, conv.stride, conv.dilation)) {
#define CASE(K, STRIDE, DILATION)                                                              \
    case depth_kind(K, STRIDE, DILATION):                                                      \
        if (K <= MOST)                                                                         \
            correlate<(K <= MOST ? K : 3), STRIDE, DILATION>(from, pitch, row, weights, x, dx, \
                                                             dw);                              \
        break;
        DEPTH_KINDS(CASE, 3)
        DEPTH_KINDS(CASE, 5)
        DEPTH_KINDS(CASE, 7)
#undef CASE
    default: break;
    }
}

/* A strip of two channels from c on, at (h, w) of an image; which of its pixels are there. */
typedef struct strip {
    int image, pixel, c;
    int row, column; /* in its tile */
    uint32_t is;
} strip;

/* Strip number i of a tile: with a stride of 2 even rows come first, since rows of one parity meet the same taps, so that
 * threads of a warp go the same way. */
static __device__ __forceinline__ strip find_strip(const cuda_level_conv &j,
                                                   const depth_tiles &tiles,
                                                   const depth_corner &corner, int i, int c)
{
    const depth_strip at = depth_find_strip(tiles, i);
    const int half = tiles.height / 2, odd = at.row >= half;
    const int row = j.conv.stride == 1 ? at.row : 2 * (at.row - odd * half) + odd;
    const int h = corner.h + row, w = corner.w + at.column;
    strip s = {corner.image, h * j.in.w + w, c, row, at.column, 0};

    if (i >= tiles.height * tiles.strips || h < 0 || h >= j.in.h) return s;
#pragma unroll
    for (int p = 0; p < DEPTH_STRIP; p++)
        if (w + p >= 0 && w + p < j.in.w) s.is |= 1u << p;
    return s;
}

static __device__ __forceinline__ void fetch_strip(const void *data, int64_t image, int pitch,
                                                   const strip &s, uint32_t v[DEPTH_STRIP])
{
    const uint16_t *from =
        (const uint16_t *)data + s.image * image + (int64_t)s.pixel * pitch + s.c;

#pragma unroll
    for (int p = 0; p < DEPTH_STRIP; p++)
        v[p] = s.is >> p & 1 ? *(const uint32_t *)(from + p * pitch) : 0;
}

/* act(norm(x)), and zero where there is none. */
static __device__ __forceinline__ void see_strip(const cuda_level_conv &j, const cuda_norm<2> &norm,
                                                 const strip &s, const uint32_t raw[DEPTH_STRIP],
                                                 depth_pair x[DEPTH_STRIP])
{
#pragma unroll
    for (int p = 0; p < DEPTH_STRIP; p++) {
        float v[2] = {cuda_low(raw[p]), cuda_high(raw[p])};
        cuda_apply_norm<2>(norm, v);
        cuda_apply_act<2>(j.x.act, v);
        x[p].a = s.is >> p & 1 ? v[0] : 0;
        x[p].b = s.is >> p & 1 ? v[1] : 0;
    }
}

/* What belongs to the gradients of a strip: earlier contributions, and the operands of batch norms. */
typedef struct company {
    uint32_t there[DEPTH_STRIP], z[CUDA_FINISHES][DEPTH_STRIP];
} company;

static __device__ __forceinline__ void meet_strip(const cuda_result &to, const strip &s,
                                                  company *at)
{
    if (to.accumulate) fetch_strip(to.data, to.image, to.pitch, s, at->there);
#pragma unroll
    for (int f = 0; f < CUDA_FINISHES; f++)
        if (f < to.n_finishes)
            fetch_strip(to.finishes[f].z, to.finishes[f].z_image, to.pitch, s, at->z[f]);
}

/* Writes the gradients of a strip after what belongs to them. */
static __device__ __forceinline__ void write_strip(const cuda_level_conv &j,
                                                   const cuda_norm<2> &norm, const strip &s,
                                                   const uint32_t raw[DEPTH_STRIP],
                                                   const company &with,
                                                   const depth_pair dx[DEPTH_STRIP],
                                                   cuda_tally<2> *tally)
{
    uint16_t *to =
        (uint16_t *)j.to.data + s.image * j.to.image + (int64_t)s.pixel * j.to.pitch + s.c;

#pragma unroll
    for (int p = 0; p < DEPTH_STRIP; p++) {
        float v[2] = {cuda_low(raw[p]), cuda_high(raw[p])};
        if (!(s.is >> p & 1)) continue;
        cuda_apply_norm<2>(norm, v);
        v[0] = dx[p].a * cuda_act_slope(j.x.act, v[0]);
        v[1] = dx[p].b * cuda_act_slope(j.x.act, v[1]);
        if (j.to.accumulate) {
            v[0] += cuda_low(with.there[p]);
            v[1] += cuda_high(with.there[p]);
        }
        *(uint32_t *)(to + p * j.to.pitch) = cuda_pair(v[0], v[1]);
        tally->u[0] += v[0];
        tally->u[1] += v[1];
#pragma unroll
        for (int f = 0; f < CUDA_FINISHES; f++) {
            if (f >= j.to.n_finishes) break;
            tally->product[f][0] += v[0] * cuda_low(with.z[f][p]);
            tally->product[f][1] += v[1] * cuda_high(with.z[f][p]);
        }
    }
}

/* ---- blocks ---- */

/* Adds up the sums of weights of all slots, TAPS_AT_ONCE at a time, as [tap][slot][lane]. */
template <int MOST>
static __device__ __forceinline__ void put_weights(const cuda_level_conv &j, const depth_block &b,
                                                   const depth_pair *dw, depth_pair *shared)
{
    const int taps = b.plan.taps;

#pragma unroll
    for (int first = 0; first < MOST * MOST; first += TAPS_AT_ONCE) {
        __syncthreads(); /* what was there has been read */
#pragma unroll
        for (int t = first; t < MOST * MOST && t < first + TAPS_AT_ONCE; t++)
            shared[(t - first) * DEPTH_THREADS + threadIdx.x] = dw[t];
        __syncthreads();
        const int n = min(taps - first, (int)TAPS_AT_ONCE);
        for (int i = (int)threadIdx.x; i < n * b.channels; i += DEPTH_THREADS) {
            const int t = i / b.channels, c = i - t * b.channels;
            const float *of = (const float *)(shared + t * DEPTH_THREADS) + c;
            float sum = 0;
            for (int s = 0; s < b.slots; s++)
                sum += of[s * b.channels];
            /* taps were from the last to the first */
            j.partial[((int64_t)b.turn * j.conv.c_in + b.first + c) * taps + taps - 1 - first - t] =
                sum;
        }
    }
}

template <int MOST>
__global__ static void __launch_bounds__(DEPTH_THREADS, blocks_of(MOST))
    depth_back_kernel(const __grid_constant__ depth_jobs jobs)
{
    CUDA_DYNAMIC_SHARED(shared);
    __shared__ depth_block b;
    const int k = cuda_find_job(jobs.convs);
    const cuda_level_conv &j = jobs.convs.at[k];
    const depth_tiles &tiles = b.plan.tiles;
    const int stride = j.conv.stride, before = j.conv.pad - (j.conv.kernel - 1) * j.conv.dilation;
    depth_pair dw[MOST * MOST] = {};
    cuda_tally<2> tally = {};

    depth_begin(j, true, (int)blockIdx.x - jobs.convs.first[k], jobs.vectors[k], &b);
    const depth_part part = depth_locate(b);
    cuda_begin_beside(jobs.convs.beside);
    depth_stage<true>(j, b, shared);
    const cuda_norm<2> norm = cuda_read_norm<2>(j.x, part.c, part.slot < 0 ? 0 : 2);
    for (int t = b.turn; t < tiles.n; t += j.splits) {
        const depth_corner corner = depth_find_tile(tiles, t);
        const int n_strips = tiles.height * tiles.strips;
        int i = part.slot < 0 ? n_strips : part.slot;
        strip at = find_strip(j, tiles, corner, i, part.c);
        uint32_t raw[DEPTH_STRIP];
        fetch_strip(j.x.data, j.x.image, j.x.pitch, at, raw); /* under way with the window */
        __syncthreads(); /* coefficients are there, the window before has been read */
        depth_load<true>(j, b, part, corner.image, (corner.h + before) / stride,
                         (corner.w + before) / stride, shared);
        __syncthreads();
        while (i < n_strips) {
            depth_pair x[DEPTH_STRIP], dx[DEPTH_STRIP] = {};
            company with;
            if (j.to.data) meet_strip(j.to, at, &with);
            see_strip(j, norm, at, raw, x);
            correlate_any<MOST>(
                j.conv, (const uint32_t *)shared + at.column / stride * DEPTH_LANES + part.lane,
                b.plan.window.pitch, at.row,
                (const depth_pair *)depth_weights(b, shared) + part.lane, x, dx, dw);
            if (j.to.data) write_strip(j, norm, at, raw, with, dx, &tally);
            i += b.slots;
            if (i >= n_strips) break;
            at = find_strip(j, tiles, corner, i, part.c);
            fetch_strip(j.x.data, j.x.image, j.x.pitch, at, raw);
        }
    }
    put_weights<MOST>(j, b, dw, (depth_pair *)shared);
    __syncthreads();
    if (j.to.data)
        cuda_end_results<2>(j.to, j.conv.c_in, b.first, part.lane, b.lanes,
                            part.slot < 0 ? b.slots : part.slot, b.slots,
                            j.splits * b.plan.chunks.n, tally, (float *)shared);
    cuda_end(jobs.convs.beside);
}

cudaError_t pada_cuda_level_depth_back(cudaStream_t stream, const cuda_level_convs *from)
{
    depth_jobs jobs;
    int words = cuda_tally_floats<2>(DEPTH_THREADS), kernel = 0;

    jobs.convs = *from;
    jobs.convs.first[0] = 0;
    for (int k = 0; k < from->n; k++) {
        const cuda_level_conv &j = from->at[k];
        const depth_plan plan = depth_make_plan(j, true);
        words = max(words, depth_words(plan));
        kernel = max(kernel, j.conv.kernel);
        jobs.vectors[k] =
            depth_aligned(j.dz.dy, j.dz.dy_image, j.dz.dy_pitch, depth_vector(j.conv.c_in));
        if (j.dz.z)
            jobs.vectors[k] = depth_aligned(j.dz.z, j.dz.z_image, j.dz.z_pitch, jobs.vectors[k]);
        jobs.convs.first[k + 1] = jobs.convs.first[k] + plan.chunks.n * j.splits;
    }
    words = max(words, min(kernel * kernel, (int)TAPS_AT_ONCE) * DEPTH_THREADS * 2);
    const auto chosen = kernel == 3   ? depth_back_kernel<3>
                        : kernel == 5 ? depth_back_kernel<5>
                                      : depth_back_kernel<7>;
    return cuda_launch(chosen, (unsigned)jobs.convs.first[from->n], DEPTH_THREADS,
                       (size_t)words * 4, stream, jobs);
}
