/* cuda_level_pool.cu - pools of a level that are nodes, and their gradients: W channels of one result after the other.
 *
 * The gradient of a largest value goes to the first of the largest pixels of a window; a NaN is larger than all, and
 * the last one counts (cuda_pool.cu). For windows of 3x3 a block works out where that is once per window, for a tile of
 * pixels, as four bits of a channel in shared memory:
 *
 *   where   [row of windows][column][lane] of up to 8 times 3 row + column
 *
 * and its pixels then gather the gradients of the windows that point at them. Numbers are compared in front of the norm,
 * which keeps their order or turns it around: what is equal only by rounding behind it is not equal here. All
 * other windows are read again by each of their pixels. Design note 0025. */
#include <limits.h>

#include "backend/cuda/cuda_level_spread.cuh"
#include "backend/cuda/cuda_level_window.cuh"

enum {
    VALUES,
    SLOPES,
    SOURCES, /* of coefficients: of what is read, of the view whose slope is wanted */
    COEFFICIENTS = SOURCES * 3 * SPREAD_CHANNELS,
    MOST_WINDOWS = 1280, /* words of `where` */
    SHARED_FLOATS =
        COEFFICIENTS + MOST_WINDOWS > SPREAD_TALLIES ? COEFFICIENTS + MOST_WINDOWS : SPREAD_TALLIES
};

/* ---- jobs, as the kernel wants them ---- */

/* Tiles of pixels, of the gradient of a largest value. */
struct pool_tiles {
    int n;                       /* of the batch; 0: pixel by pixel */
    int height, high;            /* rows of pixels and of windows */
    cuda_divisor image, columns; /* tiles */
    cuda_divisor width, wide;    /* columns of pixels and of windows */
};

struct pool_job {
    spread how;
    pada_pool pool;
    pada_pool_kind kind;
    pada_act act;
    pada_shape in, out;
    int x_pitch, dy_pitch;
    int64_t x_image, dy_image;
    const void *x, *dy;
    cuda_divisor stride;
    pool_tiles tiles;
    spread_source sources[SOURCES];
    cuda_result to;
};

struct pool_jobs {
    int n, first[CUDA_LEVEL_POOLS + 1];
    bool beside;
    pool_job at[CUDA_LEVEL_POOLS];
};

static_assert(sizeof(pool_jobs) <= 4096, "arguments of a launch");

/* Rows of n windows that read `pixels` rows. */
static int windows_of(int pixels, int n, const pada_pool &pool)
{
    const int most = (pixels - 1 + pool.kernel - 1) / pool.stride + 1;

    return most < n ? most : n;
}

/* As few tiles as possible, of at most one pixel for a slot; among these with as few windows. */
static pool_tiles make_tiles(const cuda_level_pool &j, const spread &how)
{
    int best_w = 1, best = INT_MAX, windows = 0;

    for (int w = 1; w <= j.in.w && w <= how.slots; w++) {
        const int h = how.slots / w < j.in.h ? how.slots / w : j.in.h;
        const int tiles = ((j.in.h + h - 1) / h) * ((j.in.w + w - 1) / w);
        const int each = windows_of(h, j.out.h, j.pool) * windows_of(w, j.out.w, j.pool);
        if (tiles > best || (tiles == best && each >= windows) || each * how.lanes > MOST_WINDOWS)
            continue;
        best_w = w;
        best = tiles;
        windows = each;
    }
    const int h = how.slots / best_w < j.in.h ? how.slots / best_w : j.in.h;
    const int columns = (j.in.w + best_w - 1) / best_w, rows = (j.in.h + h - 1) / h;
    return {j.n_images * rows * columns,
            h,
            windows_of(h, j.out.h, j.pool),
            cuda_prepare_divisor(rows * columns),
            cuda_prepare_divisor(columns),
            cuda_prepare_divisor(best_w),
            cuda_prepare_divisor(windows_of(best_w, j.out.w, j.pool))};
}

template <bool BACK> static void make_job(const cuda_level_pool &from, pool_job *job)
{
    const bool tiled =
        BACK && from.kind == PADA_POOL_MAX && from.pool.kernel == 3 && from.x.act == PADA_ACT_NONE;
    int width = spread_narrow(spread_width(from.in.c), from.to);

    if (!BACK || from.kind == PADA_POOL_MAX) width = spread_narrow(width, from.x);
    if (BACK) width = spread_narrow(width, from.dz);
    job->how = spread_make(BACK ? from.in : from.out, from.n_images, width);
    job->pool = from.pool;
    job->kind = from.kind;
    job->act = from.x.act;
    job->in = from.in;
    job->out = from.out;
    job->x_pitch = from.x.pitch;
    job->dy_pitch = from.dz.dy_pitch;
    job->x_image = from.x.image;
    job->dy_image = from.dz.dy_image;
    job->x = from.x.data;
    job->dy = from.dz.dy;
    job->stride = cuda_prepare_divisor(from.pool.stride);
    job->tiles = pool_tiles{0, 0, 0, {1, ~0u}, {1, ~0u}, {1, ~0u}, {1, ~0u}};
    if (tiled) job->tiles = make_tiles(from, job->how);
    job->sources[VALUES] = spread_norm(from.x);
    job->sources[SLOPES] = spread_norm(from.to.at);
    job->to = from.to;
}

/* ---- what is read ---- */

template <int W> struct values {
    const pool_job &j;
    const float *coefs;
    int c;

    __device__ __forceinline__ void finish(float v[W]) const
    {
        if (j.sources[VALUES].mean)
            cuda_apply_norm<W>(spread_read_norm<W>(coefs, (int)j.how.by_channels.by), v);
        cuda_apply_act<W>(j.act, v);
    }

    __device__ __forceinline__ void load(int image, int pixel, float v[W]) const
    {
        cuda_load<W>(j.x, image * j.x_image + (int64_t)pixel * j.x_pitch + c, W, true, v);
        finish(v);
    }
};

template <int W> struct gradients {
    const pool_job &j;
    int c;

    __device__ __forceinline__ void load(int image, int pixel, float v[W]) const
    {
        cuda_load<W>(j.dy, image * j.dy_image + (int64_t)pixel * j.dy_pitch + c, W, true, v);
    }
};

/* ---- largest values of any windows ---- */

template <int W>
static __device__ inline void find_largest(const values<W> &from, int image, int h, int w,
                                           float largest[W])
{
    const pool_job &j = from.j;
    int h0, h1, w0, w1;

    cuda_window(h, j.in.h, j.pool, &h0, &h1);
    cuda_window(w, j.in.w, j.pool, &w0, &w1);
    from.load(image, h0 * j.in.w + w0, largest);
    for (int i = h0; i < h1; i++)
#pragma unroll 1
        for (int k = w0; k < w1; k++) {
            float v[W];
            from.load(image, i * j.in.w + k, v);
#pragma unroll
            for (int e = 0; e < W; e++)
                if (v[e] > largest[e] || v[e] != v[e]) largest[e] = v[e];
        }
}

/* In which of W channels, as bits, a pixel is preferred to another one that is before or behind it in a window. */
template <int W>
static __device__ __forceinline__ uint32_t prefer(const float mine[W], const float other[W],
                                                  bool before)
{
    uint32_t bits = 0;

#pragma unroll
    for (int e = 0; e < W; e++) {
        const bool is = before ? mine[e] > other[e] || mine[e] != mine[e]
                               : !(other[e] > mine[e]) && other[e] == other[e];
        bits |= is ? 1u << e : 0;
    }
    return bits;
}

/* Gradients of the windows that have their largest value at (h, w), window by window. */
template <int W>
static __device__ inline void collect(const values<W> &x, const gradients<W> &dy, int image, int h,
                                      int w, float sum[W])
{
    const pool_job &j = x.j;
    int first_h, end_h, first_w, end_w;
    float mine[W], other[W];

    x.load(image, h * j.in.w + w, mine);
    cuda_readers(h, j.out.h, j.pool, &first_h, &end_h);
    cuda_readers(w, j.out.w, j.pool, &first_w, &end_w);
#pragma unroll 1
    for (int a = first_h; a < end_h; a++)
#pragma unroll 1
        for (int b = first_w; b < end_w; b++) {
            int h0, h1, w0, w1;
            uint32_t bits = ~0u;
            cuda_window(a, j.in.h, j.pool, &h0, &h1);
            cuda_window(b, j.in.w, j.pool, &w0, &w1);
#pragma unroll 1
            for (int i = h0; i < h1; i++)
#pragma unroll 1
                for (int k = w0; k < w1; k++) {
                    if (i == h && k == w) continue;
                    x.load(image, i * j.in.w + k, other);
                    bits &= prefer<W>(mine, other, i < h || (i == h && k < w));
                }
            dy.load(image, a * j.out.w + b, other);
#pragma unroll
            for (int e = 0; e < W; e++)
                if (bits >> e & 1) sum[e] += other[e];
        }
}

/* ---- pixel by pixel ---- */

/* The largest of a window of 3x3: of numbers that a norm turns around, the smallest. */
template <int W>
static __device__ __forceinline__ void find_largest3(const values<W> &x, int image,
                                                     const level_side &rows,
                                                     const level_side &columns, float v[W])
{
    const pool_job &j = x.j;
    cuda_raw<W> raw[9], best;
    float factor[W];

    level_fetch9<W>(j.x, image * j.x_image + x.c, j.x_pitch, j.in.w, rows, columns, raw);
    spread_read<W>(x.coefs, factor);
#pragma unroll
    for (int p = 0; p < W / 2; p++) {
        const uint32_t turned =
            (factor[2 * p] < 0 ? 0x8000u : 0) | (factor[2 * p + 1] < 0 ? 0x80000000u : 0);
        best.pair[p] = 0xff80ff80u; /* -infinity */
#pragma unroll
        for (int i = 0; i < 9; i++)
            if (rows.at[i / 3] >= 0 && columns.at[i % 3] >= 0)
                best.pair[p] = cuda_max2(best.pair[p], raw[i].pair[p] ^ turned);
        best.pair[p] ^= turned;
    }
    cuda_unpack<W>(best, v);
    x.finish(v);
}

template <int W, bool BACK>
static __device__ __forceinline__ void pool_pixel(const values<W> &x, const gradients<W> &dy,
                                                  cuda_spot spot, float v[W])
{
    const pool_job &j = x.j;
    const int h = cuda_divide(spot.pixel, j.how.row), w = spot.pixel - h * (int)j.how.row.by;
    const bool largest = j.kind == PADA_POOL_MAX;

    if (BACK && largest) {
        collect<W>(x, dy, spot.image, h, w, v);
    } else if (j.pool.kernel != 3 || (!BACK && !largest && j.act != PADA_ACT_NONE)) {
        if (BACK)
            level_add_spread<W>(dy, j.pool, j.in, j.out, spot.image, h, w, v);
        else if (largest)
            find_largest<W>(x, spot.image, h, w, v);
        else
            level_add_mean<W>(x, j.pool, j.in, spot.image, h, w, v);
    } else if (BACK) {
        level_add9<W>(j.dy, spot.image * j.dy_image + dy.c, j.dy_pitch, j.out.w,
                      level_reader_side(h, j.in.h, j.out.h, j.pool, j.stride),
                      level_reader_side(w, j.in.w, j.out.w, j.pool, j.stride), v);
    } else {
        const level_side rows = level_window_side(h, j.in.h, j.pool);
        const level_side columns = level_window_side(w, j.in.w, j.pool);
        if (largest) {
            find_largest3<W>(x, spot.image, rows, columns, v);
            return;
        }
        level_add9<W>(j.x, spot.image * j.x_image + x.c, j.x_pitch, j.in.w, rows, columns, v);
        x.finish(v);
    }
}

template <int W, bool BACK>
static __device__ __forceinline__ void run_pixels(const pool_job &j, const spread_place &place,
                                                  const float *coefs, cuda_tally<W> *tally)
{
    const values<W> x = {j, coefs, place.c};
    const gradients<W> dy = {j, place.c};

#pragma unroll 1
    for (int i = place.turn * j.how.slots + place.slot; i < j.how.pixels && place.works;
         i += place.turns * j.how.slots) {
        const cuda_spot spot = spread_find(j.how, i);
        const cuda_met<W> met = cuda_meet<W>(j.to, spot, place.c, W, true);
        float v[W] = {};
        pool_pixel<W, BACK>(x, dy, spot, v);
        const int channels = (int)j.how.by_channels.by;
        const cuda_norm<W> slope = spread_read_norm<W>(coefs + SLOPES * 3 * channels, channels);
        cuda_put_result<W>(j.to, slope, met, spot, place.c, W, true, v, tally);
    }
}

/* ---- tiles of the gradient of the largest ---- */

/* Where the last NaN of a window is, for the channels that have one. */
template <int W>
static __device__ __forceinline__ uint32_t point_at_nan(const pool_job &j, int64_t from,
                                                        const level_side &rows,
                                                        const level_side &columns, uint32_t where)
{
#pragma unroll 1
    for (int i = 0; i < 9; i++) {
        const int h = i < 3 ? rows.at[0] : i < 6 ? rows.at[1] : rows.at[2];
        const int w = i % 3 == 0 ? columns.at[0] : i % 3 == 1 ? columns.at[1] : columns.at[2];
        float v[W];
        if (h < 0 || w < 0) continue;
        cuda_load<W>(j.x, from + (int64_t)(h * j.in.w + w) * j.x_pitch, W, true, v);
#pragma unroll
        for (int e = 0; e < W; e++)
            if (v[e] != v[e]) where = (where & ~(15u << 4 * e)) | (uint32_t)i << 4 * e;
    }
    return where;
}

/* Where the largest of window (h, w) is. The numbers are integers in the same order, with 15 - place as their last
 * bits, so that of equal ones the first is larger. */
template <int W>
static __device__ __forceinline__ uint32_t find_where(const pool_job &j, int image, int c, int h,
                                                      int w, const uint32_t signs[W / 2])
{
    const int64_t from = image * j.x_image + c;
    const level_side rows = level_window_side(h, j.in.h, j.pool);
    const level_side columns = level_window_side(w, j.in.w, j.pool);
    cuda_raw<W> raw[9];
    uint32_t where = 0;
    bool has_nan = false;

    level_fetch9<W>(j.x, from, j.x_pitch, j.in.w, rows, columns, raw);
#pragma unroll
    for (int p = 0; p < W / 2; p++) {
        int low = INT_MIN, high = INT_MIN;
#pragma unroll
        for (int i = 0; i < 9; i++) {
            if (rows.at[i / 3] < 0 || columns.at[i % 3] < 0) continue;
            const uint32_t ordered = cuda_order2(raw[i].pair[p], signs[p]);
            const int a = (int)(ordered << 16 | (15u - i));
            const int b = (int)((ordered & 0xffff0000u) | (15u - i));
            low = a > low ? a : low;
            high = b > high ? b : high;
        }
        where |= (~(uint32_t)low & 15) << 8 * p | (~(uint32_t)high & 15) << (8 * p + 4);
        has_nan = has_nan || low >= 0x7fff0000 || high >= 0x7fff0000;
    }
    return has_nan ? point_at_nan<W>(j, from, rows, columns, where) : where;
}

/* 1, -1 or 0 as bfloat16: what a norm does to the order of numbers. */
template <int W>
static __device__ __forceinline__ void read_signs(const float *coefs, uint32_t signs[W / 2])
{
    float factor[W];

    spread_read<W>(coefs, factor);
#pragma unroll
    for (int k = 0; k < W; k++)
        factor[k] = factor[k] > 0 ? 1 : factor[k] < 0 ? -1 : 0;
#pragma unroll
    for (int p = 0; p < W / 2; p++)
        signs[p] = cuda_pair(factor[2 * p], factor[2 * p + 1]);
}

/* The first window of those that read row i. */
static __device__ __forceinline__ int first_window(const pool_job &j, int i)
{
    const int behind = i + j.pool.pad - 2;

    return behind <= 0 ? 0 : cuda_divide(behind + j.pool.stride - 1, j.stride);
}

/* Gradients of the windows that point at pixel (h, w); `where` of this lane, which begins at window (first_h, first_w). */
template <int W>
static __device__ __forceinline__ void gather(const pool_job &j, int image, int c, int h, int w,
                                              int first_h, int first_w, const uint32_t *where,
                                              float sum[W])
{
    const level_side rows = level_reader_side(h, j.in.h, j.out.h, j.pool, j.stride);
    const level_side columns = level_reader_side(w, j.in.w, j.out.w, j.pool, j.stride);
    cuda_raw<W> raw[9];

    level_fetch9<W>(j.dy, image * j.dy_image + c, j.dy_pitch, j.out.w, rows, columns, raw);
#pragma unroll
    for (int i = 0; i < 9; i++) {
        const int a = rows.at[i / 3], b = columns.at[i % 3];
        float v[W];
        if (a < 0 || b < 0) continue;
        const uint32_t there =
            where[((a - first_h) * (int)j.tiles.wide.by + b - first_w) * j.how.lanes];
        cuda_unpack<W>(raw[i], v);
#pragma unroll
        for (int e = 0; e < W; e++)
            if ((there >> 4 * e & 15) == 8u - i) sum[e] += v[e];
    }
}

template <int W>
static __device__ __forceinline__ void run_tiles(const pool_job &j, const spread_place &place,
                                                 const float *coefs, uint32_t *where,
                                                 cuda_tally<W> *tally)
{
    const pool_tiles &tiles = j.tiles;
    const int channels = (int)j.how.by_channels.by, width = (int)tiles.width.by;
    const int row = cuda_divide(place.slot, tiles.width), column = place.slot - row * width;
    uint32_t signs[W / 2];

    read_signs<W>(coefs, signs);
    where += place.lane;
#pragma unroll 1
    for (int t = place.turn; t < tiles.n; t += place.turns) {
        const int image = cuda_divide(t, tiles.image), at = t - image * (int)tiles.image.by;
        const int down = cuda_divide(at, tiles.columns);
        const int h = down * tiles.height, w = (at - down * (int)tiles.columns.by) * width;
        const int first_h = first_window(j, h), first_w = first_window(j, w);
#pragma unroll 1
        for (int i = place.slot; i < tiles.high * (int)tiles.wide.by; i += j.how.slots) {
            const int a = cuda_divide(i, tiles.wide), b = i - a * (int)tiles.wide.by;
            if (place.works && first_h + a < j.out.h && first_w + b < j.out.w)
                where[i * j.how.lanes] =
                    find_where<W>(j, image, place.c, first_h + a, first_w + b, signs);
        }
        __syncthreads();
        if (place.works && row < tiles.height && h + row < j.in.h && w + column < j.in.w) {
            const cuda_spot spot = {image, (h + row) * j.in.w + w + column};
            const cuda_met<W> met = cuda_meet<W>(j.to, spot, place.c, W, true);
            float v[W] = {};
            gather<W>(j, image, place.c, h + row, w + column, first_h, first_w, where, v);
            const cuda_norm<W> slope = spread_read_norm<W>(coefs + SLOPES * 3 * channels, channels);
            cuda_put_result<W>(j.to, slope, met, spot, place.c, W, true, v, tally);
        }
        __syncthreads(); /* `where` has been read */
    }
}

/* ---- jobs ---- */

template <int W, bool BACK>
static __device__ __forceinline__ void run_job(const pool_job &j, int block, int blocks,
                                               bool beside, float *shared)
{
    const spread_place place = spread_locate(j.how, block, blocks);
    const float *coefs = shared + place.lane * W;
    cuda_tally<W> tally = {};

    spread_touch(j);
    cuda_begin_beside(beside);
    spread_stage_all(j.how, place, j.sources, SOURCES, shared);
    __syncthreads();
    if (BACK && j.tiles.n > 0)
        run_tiles<W>(j, place, coefs, (uint32_t *)(shared + COEFFICIENTS), &tally);
    else
        run_pixels<W, BACK>(j, place, coefs, &tally);
    __syncthreads(); /* the coefficients have been read */
    cuda_end_results<W>(j.to, j.how.channels, place.first, place.lane, j.how.lanes, place.slot,
                        j.how.slots, blocks, tally, shared);
}

template <bool BACK>
__global__ static void __launch_bounds__(SPREAD_THREADS, SPREAD_RESIDENT)
    pool_kernel(const __grid_constant__ pool_jobs jobs)
{
    __shared__ float4 shared[SHARED_FLOATS / 4];
    const int k = cuda_find_job(jobs), blocks = jobs.first[k + 1] - jobs.first[k];
    const int block = (int)blockIdx.x - jobs.first[k];
    const pool_job &j = jobs.at[k];

    if (j.how.width == 8)
        run_job<8, BACK>(j, block, blocks, jobs.beside, (float *)shared);
    else if (j.how.width == 4)
        run_job<4, BACK>(j, block, blocks, jobs.beside, (float *)shared);
    else
        run_job<2, BACK>(j, block, blocks, jobs.beside, (float *)shared);
    cuda_end(jobs.beside);
}

template <bool BACK> static cudaError_t launch(cudaStream_t stream, const cuda_level_pools *jobs)
{
    level_work work[CUDA_LEVEL_POOLS];
    pool_jobs placed;

    placed.n = jobs->n;
    placed.beside = jobs->beside;
    for (int k = 0; k < placed.n; k++) {
        const pool_job &j = placed.at[k];
        make_job<BACK>(jobs->at[k], &placed.at[k]);
        work[k] = spread_work(j.how, j.how.pixels, 1);
        if (j.tiles.n > 0) work[k] = level_work{(int)j.how.chunks.by, j.tiles.n, 2};
    }
    level_place_blocks(work, placed.n, SPREAD_BLOCKS, placed.first);
    return cuda_launch(pool_kernel<BACK>, (unsigned)placed.first[placed.n], SPREAD_THREADS, 0,
                       stream, placed);
}

cudaError_t pada_cuda_level_pool_forward(cudaStream_t stream, const cuda_level_pools *jobs)
{
    return launch<false>(stream, jobs);
}

cudaError_t pada_cuda_level_pool_grad(cudaStream_t stream, const cuda_level_pools *jobs)
{
    return launch<true>(stream, jobs);
}
