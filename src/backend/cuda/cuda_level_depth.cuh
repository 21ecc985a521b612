/* cuda_level_depth.cuh - what the kernels of depthwise convolutions of a level share: how channels and pixels are divided
 * among blocks, and windows of values or gradients in shared memory.
 *
 * A block has a chunk of at most DEPTH_CHANNELS channels and makes tiles of results one after the other. What a tile
 * reads, its window, is loaded once by all threads, up to 8 channels at a time; norm and activation, or the coefficients
 * of a gradient, are applied on the way, and zeros stand where there is no image. A thread has two channels (its lane)
 * of patches of DEPTH_HIGH rows of DEPTH_STRIP neighbours: what it reads of the window serves all of them. Shared memory
 * has floats:
 *
 *   window   [row][column][DEPTH_PIXEL]; the pixels of a warp that stores 16 bytes each are in different banks
 *   weights  [tap][DEPTH_CHANNELS]
 *   coefs    [3][DEPTH_CHANNELS]: factor and shift of a norm, or a, b, c of a gradient */
#ifndef PADA_BACKEND_CUDA_CUDA_LEVEL_DEPTH_CUH
#define PADA_BACKEND_CUDA_CUDA_LEVEL_DEPTH_CUH

#include "backend/cuda/cuda_level.cuh"

enum {
    DEPTH_CHANNELS = 36,
    DEPTH_PIXEL = 36,
    DEPTH_SLOTS = 8,     /* of a block; twice as many if its chunk is narrow */
    DEPTH_NARROW = 16,   /* channels */
    DEPTH_THREADS = 160, /* of a block, at most: whole warps */
    DEPTH_STRIP = 4,
    DEPTH_HIGH = 2,
    DEPTH_PATCH = DEPTH_HIGH * DEPTH_STRIP,
    DEPTH_STRIPS = 4, /* of a row of a tile, at most */
    DEPTH_LOG = 2,    /* of how many patches a tile has above each other, at most; .. */
    DEPTH_TALL = 3,   /* .. of gradients where there are so many tiles of that size: */
    DEPTH_MANY = 16 * 132,
    DEPTH_AT_ONCE = 3, /* values of a thread that are under way together, or gradients */
    DEPTH_COEFS = 3 * DEPTH_CHANNELS,
    DEPTH_DEVICE = 132,          /* multiprocessors of an H200 */
    DEPTH_WORDS = 48 * 256 - 128 /* of shared memory: what every device has, less a depth_block */
};

static_assert(DEPTH_CHANNELS / 2 * DEPTH_SLOTS <= DEPTH_THREADS, "threads of the widest chunk");

/* Two channels. */
struct alignas(8) depth_pair {
    float a, b;
};

/* ---- kinds of convolutions, which the compiler knows ---- */

static __host__ __device__ constexpr int depth_kind(int kernel, int stride, int dilation)
{
    return (kernel / 2 - 1) * 4 + (stride - 1) * 2 + dilation - 1;
}

/* CASE(kernel, stride, dilation) for each. */
#define DEPTH_KINDS(CASE, K) CASE(K, 1, 1) CASE(K, 1, 2) CASE(K, 2, 1) CASE(K, 2, 2)

/* ---- chunks of channels ---- */

/* `each` channels, the last chunk what is left; a chunk begins where vectors of channels do. */
typedef struct depth_chunks {
    int n, each;
} depth_chunks;

/* Channels that can be loaded at once, if the tensors allow it. */
static __host__ __device__ inline int depth_vector(int channels)
{
    return channels % 8 == 0 ? 8 : channels % 4 == 0 ? 4 : 2;
}

static __host__ __device__ inline depth_chunks depth_divide(int channels)
{
    const int vector = depth_vector(channels), most = DEPTH_CHANNELS / vector * vector;
    const int n = (channels + most - 1) / most;
    const int each = ((channels + n - 1) / n + vector - 1) / vector * vector;

    return (depth_chunks){(channels + each - 1) / each, each};
}

static __host__ __device__ inline int depth_slots(const depth_chunks &chunks)
{
    return chunks.each <= DEPTH_NARROW ? 2 * DEPTH_SLOTS : DEPTH_SLOTS;
}

/* Threads of a block: whole warps. */
static __host__ __device__ inline int depth_threads(const depth_chunks &chunks)
{
    return (chunks.each / 2 * depth_slots(chunks) + 31) / 32 * 32;
}

/* ---- tiles and their windows ---- */

/* The tiles of a batch: `strips` columns of 1 << log patches; the first begins `shift` rows and columns in front of
 * the image, which has rows x columns of them. */
typedef struct depth_tiles {
    int rows, columns, log, strips, shift, n;
} depth_tiles;

static __host__ __device__ inline int depth_height(const depth_tiles &t)
{
    return DEPTH_HIGH << t.log;
}

/* Rows and columns of the window of a tile, and floats from one row to the next. */
typedef struct depth_window {
    int rows, columns, pitch;
} depth_window;

typedef struct depth_plan {
    depth_chunks chunks;
    depth_tiles tiles;
    depth_window window;
    int taps;
} depth_plan;

typedef struct depth_corner {
    int image, h, w;
} depth_corner;

/* Patch i of a tile: down the columns. */
typedef struct depth_spot {
    int row, column; /* in its tile, or of a window */
} depth_spot;

static __device__ __forceinline__ depth_spot depth_find_patch(const depth_tiles &t, int i)
{
    const int column = i >> t.log;

    return (depth_spot){(i - (column << t.log)) * DEPTH_HIGH, column * DEPTH_STRIP};
}

/* How many patches of a tile that begins at column w there are in an image of this width. */
static __device__ __forceinline__ int depth_count_patches(const depth_tiles &t, int w, int width)
{
    return min(t.strips, (width - w + DEPTH_STRIP - 1) / DEPTH_STRIP) << t.log;
}

static __host__ __device__ inline depth_tiles depth_tile(pada_shape shape, int n_images, int shift,
                                                         int most_log, int most_strips)
{
    const int all_strips = (shape.w + shift + DEPTH_STRIP - 1) / DEPTH_STRIP;
    const int strips = all_strips < most_strips ? all_strips : most_strips;
    const int columns = (all_strips + strips - 1) / strips;
    int log = 0;

    while (log < most_log && DEPTH_HIGH << log < shape.h + shift)
        log++;
    const int height = DEPTH_HIGH << log, rows = (shape.h + shift + height - 1) / height;
    return (depth_tiles){rows, columns, log, strips, shift, n_images * rows * columns};
}

/* Row r of a tile and tap k meet row i of its window where i * up == r * down + k * dilation; `reach` is what the last
 * tap adds. */
static __host__ __device__ inline depth_window depth_measure(const depth_tiles &t, int reach,
                                                             int down, int up)
{
    const int rows = ((depth_height(t) - 1) * down + reach) / up + 1;
    const int columns = ((t.strips * DEPTH_STRIP - 1) * down + reach) / up + 1;

    return (depth_window){rows, columns, columns * DEPTH_PIXEL};
}

/* Words of shared memory while tiles are made. */
static __host__ __device__ inline int depth_words(const depth_plan &p)
{
    return p.window.rows * p.window.pitch + p.taps * DEPTH_CHANNELS + DEPTH_COEFS;
}

/* Taller tiles read less around them, but there have to be enough for all blocks, and none that is half empty. */
static __host__ __device__ inline int depth_most_log(const cuda_level_conv &j, int shift,
                                                     const depth_chunks &chunks)
{
    const depth_tiles tall = depth_tile(j.in, j.n_images, shift, DEPTH_TALL, DEPTH_STRIPS);

    const depth_tiles usual = depth_tile(j.in, j.n_images, shift, DEPTH_LOG, DEPTH_STRIPS);

    return (int64_t)tall.n * chunks.n >= DEPTH_MANY && usual.rows == 2 * tall.rows ? DEPTH_TALL
                                                                                   : DEPTH_LOG;
}

/* Results are y, or (back) the gradient of x: with a stride of 2 the window of a tile begins at a whole row of dz then.
 * The largest tiles whose windows fit. */
static __host__ __device__ inline depth_plan depth_make_plan(const cuda_level_conv &j, bool back)
{
    const int stride = j.conv.stride, shift = back && stride == 2 ? j.conv.pad & 1 : 0;
    const int reach = (j.conv.kernel - 1) * j.conv.dilation;
    int log = DEPTH_LOG, strips = DEPTH_STRIPS;
    depth_plan p;

    p.chunks = depth_divide(j.conv.c_in);
    if (back) log = depth_most_log(j, shift, p.chunks);
    p.taps = j.conv.kernel * j.conv.kernel;
    for (;;) {
        p.tiles = depth_tile(back ? j.in : j.out, j.n_images, shift, log, strips);
        p.window = depth_measure(p.tiles, reach, back ? 1 : stride, back ? stride : 1);
        if (depth_words(p) <= DEPTH_WORDS || (log == 0 && strips == 1)) return p;
        if (strips * DEPTH_STRIP > DEPTH_HIGH << log)
            strips /= 2;
        else
            log--;
    }
}

/* What all threads of a block know; in shared memory, so that registers are left for sums. It has the channels [first,
 * first + channels), and tiles `turn`, turn + turns and so on. A thread loads every `step` pixels of a window. */
typedef struct depth_block {
    depth_plan plan;
    cuda_divisor tile_rows, tile_columns;
    int turn, first, channels, lanes, slots, kind;
    int weights; /* words in front of them */
    int vector, vectors, step, step_rows, step_columns;
} depth_block;

static_assert(sizeof(depth_block) <= 4 * 128, "shared memory besides DEPTH_WORDS");

/* Number `block` of its job. All threads call it; behind it is a barrier. */
static __device__ __forceinline__ void depth_begin(const cuda_level_conv &j, bool back, int block,
                                                   int vector, depth_block *b)
{
    if (threadIdx.x == 0) {
        b->plan = depth_make_plan(j, back);
        b->tile_rows = cuda_prepare_divisor(b->plan.tiles.rows);
        b->tile_columns = cuda_prepare_divisor(b->plan.tiles.columns);
        b->turn = block / b->plan.chunks.n;
        b->first = (block - b->turn * b->plan.chunks.n) * b->plan.chunks.each;
        b->channels = min(b->plan.chunks.each, j.conv.c_in - b->first);
        b->lanes = b->channels / 2;
        b->slots = depth_slots(b->plan.chunks);
        b->kind = depth_kind(j.conv.kernel, j.conv.stride, j.conv.dilation);
        b->weights = b->plan.window.rows * b->plan.window.pitch;
        b->vector = vector;
        b->vectors = b->channels / vector;
        b->step = (int)blockDim.x / b->vectors;
        b->step_rows = b->step / b->plan.window.columns;
        b->step_columns = b->step - b->step_rows * b->plan.window.columns;
    }
    __syncthreads();
}

static __device__ __forceinline__ depth_corner depth_find_tile(const depth_block &b, int i)
{
    const depth_tiles &t = b.plan.tiles;
    const int row = cuda_divide(i, b.tile_columns), image = cuda_divide(row, b.tile_rows);

    return (depth_corner){image, (row - image * t.rows) * depth_height(t) - t.shift,
                          (i - row * t.columns) * (t.strips * DEPTH_STRIP) - t.shift};
}

/* This thread: two channels from c on, whose patches it makes; slot -1: none. It loads the channels from `load_c` on
 * of the block, of pixels from (row, column) of a window on; row -1: none. */
typedef struct depth_part {
    int lane, slot, c;
    int load_c, row, column;
} depth_part;

static __device__ __forceinline__ depth_part depth_locate(const depth_block &b)
{
    const int thread = (int)threadIdx.x, slot = thread / b.lanes, pixel = thread / b.vectors;
    depth_part p;

    p.lane = thread - slot * b.lanes;
    p.slot = slot < b.slots ? slot : -1;
    p.c = b.first + 2 * p.lane;
    p.load_c = (thread - pixel * b.vectors) * b.vector;
    p.row = pixel < b.step ? pixel / b.plan.window.columns : -1;
    p.column = pixel - p.row * b.plan.window.columns;
    return p;
}

static __device__ __forceinline__ float *depth_weights(const depth_block &b, char *shared)
{
    return (float *)shared + b.weights;
}

static __device__ __forceinline__ float *depth_coefs(const depth_block &b, char *shared)
{
    return depth_weights(b, shared) + b.plan.taps * DEPTH_CHANNELS;
}

/* ---- activations ---- */

#ifdef __CUDACC__

/* The larger, or smaller, one of x and a bound; NaN stays. */
static __device__ __forceinline__ float depth_floor(float x, float low)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
    asm("max.NaN.f32 %0, %0, %1;" : "+f"(x) : "f"(low));
#endif
    return x;
}

static __device__ __forceinline__ float depth_cap(float x, float high)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
    asm("min.NaN.f32 %0, %0, %1;" : "+f"(x) : "f"(high));
#endif
    return x;
}

/* Keeps a pointer in a register, so that what is added to it is added at once, not to parts of it. */
static __device__ __forceinline__ void depth_pin(char **at)
{
    asm("" : "+l"(*at));
    __builtin_assume(__isGlobal(*at));
}

#else

static inline void depth_pin(char **)
{
}

static inline float depth_floor(float x, float low)
{
    return x < low ? low : x;
}

static inline float depth_cap(float x, float high)
{
    return x > high ? high : x;
}

#endif

/* An activation is x with a floor, and RELU6 has a cap. */
static __device__ __forceinline__ float depth_low(pada_act act)
{
    return act == PADA_ACT_NONE ? -INFINITY : 0;
}

template <int N> static __device__ __forceinline__ void depth_activate(pada_act act, float v[N])
{
    const float low = depth_low(act);

#pragma unroll
    for (int k = 0; k < N; k++)
        v[k] = depth_floor(v[k], low);
    if (act != PADA_ACT_RELU6) return;
#pragma unroll
    for (int k = 0; k < N; k++)
        v[k] = depth_cap(v[k], 6);
}

/* ---- what is loaded ---- */

/* Element `at` of an image, all of whose elements have numbers of 32 bits. */
static __device__ __forceinline__ char *depth_find_image(const void *data, int64_t step, int image,
                                                         int at)
{
    return (char *)data + 2 * ((int64_t)image * (int)step) + 2 * (int64_t)at;
}

/* W channels; all of them are there, and aligned. */
template <int W> static __device__ __forceinline__ cuda_raw<W> depth_fetch(const char *from)
{
    cuda_raw<W> raw;

    if (W == 8) {
        const uint4 v = *(const uint4 *)from;
        raw.pair[0] = v.x, raw.pair[1 % (W / 2)] = v.y;
        raw.pair[2 % (W / 2)] = v.z, raw.pair[3 % (W / 2)] = v.w;
    } else if (W == 4) {
        const uint2 v = *(const uint2 *)from;
        raw.pair[0] = v.x, raw.pair[1 % (W / 2)] = v.y;
    } else {
        raw.pair[0] = *(const uint32_t *)from;
    }
    return raw;
}

/* Writes W floats, aligned as vectors of them are. */
template <int W> static __device__ __forceinline__ void depth_keep(float *to, const float v[W])
{
#pragma unroll
    for (int k = 0; k < W; k += 4)
        if (W == 2)
            *(depth_pair *)to = {v[0], v[1]};
        else
            *(float4 *)(to + k) = make_float4(v[k], v[k + 1], v[(k + 2) % W], v[(k + 3) % W]);
}

/* Coefficients of W channels: act(c[0] x + c[1]), or c[0] dy + (c[1] z + c[2]). */
template <int W> struct depth_coef {
    float c[3][W];
};

template <int W>
static __device__ __forceinline__ depth_coef<W> depth_read_coefs(const float *from, int n)
{
    depth_coef<W> coef;

#pragma unroll
    for (int i = 0; i < n; i++)
#pragma unroll
        for (int k = 0; k < W; k += 2) {
            const depth_pair pair = *(const depth_pair *)(from + i * DEPTH_CHANNELS + k);
            coef.c[i][k] = pair.a;
            coef.c[i][k + 1] = pair.b;
        }
    return coef;
}

/* What a window is of: x; dz as it is; dz = a dy + b z + c. */
enum depth_source { DEPTH_X, DEPTH_DY, DEPTH_DZ };

template <int W, depth_source FROM>
static __device__ __forceinline__ void depth_apply(const depth_coef<W> &coef, pada_act act,
                                                   const cuda_raw<W> &raw, const cuda_raw<W> &raw_z,
                                                   float v[W])
{
    float z[W];

    cuda_unpack<W>(raw, v);
    if (FROM == DEPTH_DY) return;
    if (FROM == DEPTH_DZ) cuda_unpack<W>(raw_z, z);
#pragma unroll
    for (int k = 0; k < W; k++)
        v[k] = coef.c[0][k] * v[k] +
               (FROM == DEPTH_DZ ? coef.c[1][k] * z[k] + coef.c[2][k] : coef.c[1][k]);
    if (FROM == DEPTH_X) depth_activate<W>(act, v);
}

/* Loads the window that begins at (row, column) of an image. What is not there is read from the first pixel, and zero in
 * the window. The pixels of a window lie one after the other. */
template <int W, depth_source FROM>
static __device__ __forceinline__ void depth_load_by(const cuda_level_conv &j, const depth_block &b,
                                                     const depth_part &p, int image, int row,
                                                     int column, char *shared)
{
    constexpr bool BACK = FROM != DEPTH_X;
    const pada_shape &shape = BACK ? j.out : j.in;
    const int height = shape.h, width = shape.w, columns = b.plan.window.columns;
    const int pitch = BACK ? j.dz.dy_pitch : j.x.pitch, c = b.first + p.load_c;
    const int pitch_z = j.dz.z_pitch, step = b.step * DEPTH_PIXEL;
    const int step_rows = b.step_rows, step_columns = b.step_columns, end_column = column + columns;
    char *from =
        (char *)(BACK ? j.dz.dy : j.x.data) + 2 * (image * (BACK ? j.dz.dy_image : j.x.image) + c);
    char *from_z = FROM == DEPTH_DZ ? (char *)j.dz.z + 2 * (image * j.dz.z_image + c) : NULL;
    const depth_coef<W> coef =
        depth_read_coefs<W>(depth_coefs(b, shared) + p.load_c, FROM == DEPTH_DY ? 0
                                                               : BACK           ? 3
                                                                                : 2);
    const float *end = (const float *)shared + b.weights;
    float *to = (float *)shared + (p.row * columns + p.column) * DEPTH_PIXEL + p.load_c;
    int h = row + p.row, w = column + p.column;

    depth_pin(&from);
    if (FROM == DEPTH_DZ) depth_pin(&from_z);
#pragma unroll 1
    while (to < end) {
        cuda_raw<W> raw[DEPTH_AT_ONCE], z[DEPTH_AT_ONCE];
        bool is[DEPTH_AT_ONCE];
#pragma unroll
        for (int k = 0; k < DEPTH_AT_ONCE; k++) {
            is[k] = (unsigned)h < (unsigned)height && (unsigned)w < (unsigned)width;
            const int pixel = is[k] ? h * width + w : 0;
            raw[k] = depth_fetch<W>(from + 2 * (int64_t)(pixel * pitch));
            if (FROM == DEPTH_DZ) z[k] = depth_fetch<W>(from_z + 2 * (int64_t)(pixel * pitch_z));
            h += step_rows;
            w += step_columns;
            if (w >= end_column) {
                w -= columns;
                h++;
            }
        }
#pragma unroll
        for (int k = 0; k < DEPTH_AT_ONCE; k++, to += step) {
            float v[W] = {};
            if (to >= end) break;
            if (is[k]) depth_apply<W, FROM>(coef, j.x.act, raw[k], z[k], v);
            depth_keep<W>(to, v);
        }
    }
}

template <depth_source FROM>
static __device__ __forceinline__ void depth_load_from(const cuda_level_conv &j,
                                                       const depth_block &b, const depth_part &p,
                                                       int image, int row, int column, char *shared)
{
    if (p.row < 0) return;
    if (b.vector == 8)
        depth_load_by<8, FROM>(j, b, p, image, row, column, shared);
    else if (b.vector == 4)
        depth_load_by<4, FROM>(j, b, p, image, row, column, shared);
    else
        depth_load_by<2, FROM>(j, b, p, image, row, column, shared);
}

/* The window of dz (BACK) or x. */
template <bool BACK>
static __device__ __forceinline__ void depth_load(const cuda_level_conv &j, const depth_block &b,
                                                  const depth_part &p, int image, int row,
                                                  int column, char *shared)
{
    if (!BACK)
        depth_load_from<DEPTH_X>(j, b, p, image, row, column, shared);
    else if (j.dz.z)
        depth_load_from<DEPTH_DZ>(j, b, p, image, row, column, shared);
    else
        depth_load_from<DEPTH_DY>(j, b, p, image, row, column, shared);
}

/* The weights of a chunk, backward from the last tap to the first, and its coefficients. */
template <bool BACK>
static __device__ __forceinline__ void depth_stage(const cuda_level_conv &j, const depth_block &b,
                                                   char *shared)
{
    const int taps = b.plan.taps, thread = (int)threadIdx.x;
    float *const weights = depth_weights(b, shared), *const coefs = depth_coefs(b, shared);

#pragma unroll 4
    for (int i = thread; i < b.channels * taps; i += (int)blockDim.x) {
        const int c = i / taps, tap = i - c * taps;
        weights[(BACK ? taps - 1 - tap : tap) * DEPTH_CHANNELS + c] =
            j.weight[(int64_t)b.first * taps + i];
    }
    if (thread >= b.channels) return;
    if (BACK) {
        const cuda_slope<1> slope = cuda_read_slope<1>(j.dz, b.first + thread, 1);
        coefs[thread] = slope.a[0];
        coefs[DEPTH_CHANNELS + thread] = slope.b[0];
        coefs[2 * DEPTH_CHANNELS + thread] = slope.c[0];
    } else {
        const cuda_norm<1> norm = cuda_read_norm<1>(j.x, b.first + thread, 1);
        coefs[thread] = norm.factor[0];
        coefs[DEPTH_CHANNELS + thread] = norm.shift[0];
    }
}

/* N neighbours of a row of a window, for one lane. */
template <int N>
static __device__ __forceinline__ void depth_read(const float *from, depth_pair x[N])
{
#pragma unroll
    for (int q = 0; q < N; q++)
        x[q] = *(const depth_pair *)(from + q * DEPTH_PIXEL);
}

static __device__ __forceinline__ depth_pair depth_weight(const float *weights, int tap)
{
    return *(const depth_pair *)(weights + tap * DEPTH_CHANNELS);
}

/* ---- launches ---- */

/* The most channels that all loads of a tensor can have at once. */
static inline int depth_aligned(const void *data, int64_t image, int pitch, int most)
{
    while (most > 2 &&
           (image % most != 0 || pitch % most != 0 || (uintptr_t)data % (2 * most) != 0))
        most /= 2;
    return most;
}

/* Jobs of one launch, and what their threads load at a time. */
typedef struct depth_jobs {
    cuda_level_convs convs;
    uint8_t vectors[CUDA_LEVEL_CONVS];
    bool z_is_x[CUDA_LEVEL_CONVS]; /* backward: the first norm of the results is that of x */
} depth_jobs;

static_assert(sizeof(depth_jobs) <= 4096, "arguments of a kernel");

#endif
