/* cuda_level_depth.cuh - what the kernels of depthwise convolutions of a level share: how channels and pixels are divided
 * among blocks, and windows of values or gradients in shared memory.
 *
 * A block has a chunk of at most DEPTH_CHANNELS channels and makes tiles of results one after the other. What a tile
 * reads, its window, is loaded once by all threads, up to 8 channels at a time; norm and activation, or the coefficients
 * of a gradient, are applied on the way, and zeros stand where there is no image. A thread has two channels (its lane)
 * of strips of DEPTH_STRIP neighbours in a row. Words of shared memory are pairs of bfloat16:
 *
 *   window   [row][pitch], a pixel has DEPTH_LANES words; the pitch puts neighbouring strips into different banks
 *   weights  [tap][DEPTH_LANES] pairs of floats
 *   coefs    [3][DEPTH_CHANNELS] floats: factor and shift of a norm, or a, b, c of a gradient */
#ifndef PADA_BACKEND_CUDA_CUDA_LEVEL_DEPTH_CUH
#define PADA_BACKEND_CUDA_CUDA_LEVEL_DEPTH_CUH

#include "backend/cuda/cuda_level.cuh"

enum {
    DEPTH_THREADS = 128,
    DEPTH_CHANNELS = 32,
    DEPTH_LANES = DEPTH_CHANNELS / 2,
    DEPTH_STRIP = 4,
    DEPTH_STRIPS = 4, /* of a row of a tile, at most */
    DEPTH_ROWS = 8,   /* of a tile, at most */
    DEPTH_AT_ONCE =
        4,          /* values of a thread that are under way together, or half as many gradients */
    DEPTH_MOST = 7, /* the largest kernel */
    DEPTH_COEFS = 3 * DEPTH_CHANNELS,
    DEPTH_WORDS = 48 * 256 /* of shared memory: what every device has */
};

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
    const int vector = depth_vector(channels);
    const int n = (channels + DEPTH_CHANNELS - 1) / DEPTH_CHANNELS;
    const int each = ((channels + n - 1) / n + vector - 1) / vector * vector;

    return (depth_chunks){(channels + each - 1) / each, each};
}

/* ---- tiles and their windows ---- */

/* The tiles of a batch: `height` rows of `strips` strips; the first begins `shift` rows and columns in front of
 * the image. */
typedef struct depth_tiles {
    int rows, columns, height, strips, shift, n;
} depth_tiles;

/* Rows and columns of the window of a tile, and words from one row to the next. */
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

static __device__ __forceinline__ depth_corner depth_find_tile(const depth_tiles &t, int i)
{
    const int row = i / t.columns, image = row / t.rows;

    return (depth_corner){image, (row - image * t.rows) * t.height - t.shift,
                          (i - row * t.columns) * (t.strips * DEPTH_STRIP) - t.shift};
}

/* Strip i of a tile: down the columns of strips. */
typedef struct depth_strip {
    int row, column; /* in its tile */
} depth_strip;

static __device__ __forceinline__ depth_strip depth_find_strip(const depth_tiles &t, int i)
{
    int row = i, column = 0;

    while (row >= t.height) {
        row -= t.height;
        column += DEPTH_STRIP;
    }
    return (depth_strip){row, column};
}

/* even: every tile begins at a row of the same parity. */
static __host__ __device__ inline depth_tiles depth_tile(pada_shape shape, int n_images, int shift,
                                                         bool even, int most_rows, int most_strips)
{
    const int wanted = (shape.h + shift + most_rows - 1) / most_rows;
    const int least = (shape.h + shift + wanted - 1) / wanted;
    const int height = even ? least + least % 2 : least;
    const int all_strips = (shape.w + shift + DEPTH_STRIP - 1) / DEPTH_STRIP;
    const int strips = all_strips < most_strips ? all_strips : most_strips;
    const int rows = (shape.h + shift + height - 1) / height;
    const int columns = (all_strips + strips - 1) / strips;

    return (depth_tiles){rows, columns, height, strips, shift, n_images * rows * columns};
}

/* Row r of a tile and tap k meet row i of its window where i * up == r * down + k * dilation; `reach` is what the last
 * tap adds. */
static __host__ __device__ inline depth_window depth_measure(const depth_tiles &t, int reach,
                                                             int down, int up, int lanes)
{
    const int rows = ((t.height - 1) * down + reach) / up + 1;
    const int columns = ((t.strips * DEPTH_STRIP - 1) * down + reach) / up + 1;
    const int words = columns * DEPTH_LANES, banks = 32 / down;
    const int pad = (lanes / down - words % banks + banks) % banks;

    return (depth_window){rows, columns, words + (pad + 3) / 4 * 4};
}

/* Words of shared memory while tiles are made. */
static __host__ __device__ inline int depth_words(const depth_plan &p)
{
    return p.window.rows * p.window.pitch + p.taps * DEPTH_CHANNELS + DEPTH_COEFS;
}

/* Results are y, or (back) the gradient of x: with a stride of 2 the window of a tile begins at a whole row of dz then.
 * The largest tiles whose windows fit. */
static __host__ __device__ inline depth_plan depth_make_plan(const cuda_level_conv &j, bool back)
{
    const int stride = j.conv.stride, shift = back && stride == 2 ? j.conv.pad & 1 : 0;
    const int reach = (j.conv.kernel - 1) * j.conv.dilation;
    depth_plan p;

    p.chunks = depth_divide(j.conv.c_in);
    p.taps = j.conv.kernel * j.conv.kernel;
    for (int rows = DEPTH_ROWS, strips = DEPTH_STRIPS;;
         rows = strips > 2 ? rows : rows / 2, strips = strips > 2 ? strips / 2 : strips) {
        p.tiles =
            depth_tile(back ? j.in : j.out, j.n_images, shift, back && stride == 2, rows, strips);
        p.window =
            depth_measure(p.tiles, reach, back ? 1 : stride, back ? stride : 1, p.chunks.each / 2);
        if (depth_words(p) <= DEPTH_WORDS || rows <= 2) return p;
    }
}

/* What all threads of a block know; in shared memory, so that registers are left for sums. It has the channels [first,
 * first + channels), and tiles `turn`, turn + turns and so on. A thread loads every `step` pixels of a window. */
typedef struct depth_block {
    depth_plan plan;
    int turn, first, channels, lanes, slots;
    int vector, vectors, step, step_rows, step_columns;
} depth_block;

/* Number `block` of its job. All threads call it; behind it is a barrier. */
static __device__ __forceinline__ void depth_begin(const cuda_level_conv &j, bool back, int block,
                                                   int vector, depth_block *b)
{
    if (threadIdx.x == 0) {
        b->plan = depth_make_plan(j, back);
        b->turn = block / b->plan.chunks.n;
        b->first = (block - b->turn * b->plan.chunks.n) * b->plan.chunks.each;
        b->channels = min(b->plan.chunks.each, j.conv.c_in - b->first);
        b->lanes = b->channels / 2;
        b->slots = DEPTH_THREADS / b->lanes;
        b->vector = vector;
        b->vectors = b->channels / vector;
        b->step = DEPTH_THREADS / b->vectors;
        b->step_rows = b->step / b->plan.window.columns;
        b->step_columns = b->step - b->step_rows * b->plan.window.columns;
    }
    __syncthreads();
}

/* This thread: two channels from c on, whose strips it makes; slot -1: none. It loads the channels from `load_c` on
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
    return (float *)shared + b.plan.window.rows * b.plan.window.pitch;
}

static __device__ __forceinline__ float *depth_coefs(const depth_block &b, char *shared)
{
    return depth_weights(b, shared) + b.plan.taps * DEPTH_CHANNELS;
}

/* ---- what is loaded ---- */

#ifdef __CUDACC__

/* The smaller one of 6 and each; NaN stays. */
static __device__ __forceinline__ uint32_t depth_cap(uint32_t pair)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
    asm("min.NaN.bf16x2 %0, %0, %1;" : "+r"(pair) : "r"(0x40c040c0));
#endif
    return pair;
}

#else

static inline uint32_t depth_cap(uint32_t pair)
{
    return (cuda_low(pair) > 6 ? 0x40c0 : pair & 0xffffu) |
           (cuda_high(pair) > 6 ? 0x40c00000 : pair & 0xffff0000u);
}

#endif

/* W channels; all of them are there, and aligned. */
template <int W>
static __device__ __forceinline__ cuda_raw<W> depth_fetch(const uint16_t *from, bool is)
{
    cuda_raw<W> raw = {};

    if (!is) return raw;
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

template <int W>
static __device__ __forceinline__ void depth_keep(uint32_t *to, const cuda_raw<W> &raw)
{
    if (W == 8)
        *(uint4 *)to = make_uint4(raw.pair[0], raw.pair[1 % (W / 2)], raw.pair[2 % (W / 2)],
                                  raw.pair[3 % (W / 2)]);
    else if (W == 4)
        *(uint2 *)to = make_uint2(raw.pair[0], raw.pair[1 % (W / 2)]);
    else
        *to = raw.pair[0];
}

/* act(factor x + shift). */
template <int W>
static __device__ __forceinline__ void depth_normalise(const cuda_view &view, const float *coefs,
                                                       cuda_raw<W> *x)
{
    float v[W];

    cuda_unpack<W>(*x, v);
#pragma unroll
    for (int k = 0; k < W; k += 2) {
        uint32_t pair = x->pair[k / 2];
        if (view.mean)
            pair = cuda_pair(coefs[k] * v[k] + coefs[DEPTH_CHANNELS + k],
                             coefs[k + 1] * v[k + 1] + coefs[DEPTH_CHANNELS + k + 1]);
        if (view.act != PADA_ACT_NONE) pair = cuda_relu2(pair);
        if (view.act == PADA_ACT_RELU6) pair = depth_cap(pair);
        x->pair[k / 2] = pair;
    }
}

/* a dy + b z + c */
template <int W>
static __device__ __forceinline__ void depth_slope(const float *coefs, const cuda_raw<W> &z,
                                                   cuda_raw<W> *dy)
{
    float v[W], w[W];

    cuda_unpack<W>(*dy, v);
    cuda_unpack<W>(z, w);
#pragma unroll
    for (int k = 0; k < W; k++)
        v[k] = coefs[k] * v[k] + (coefs[DEPTH_CHANNELS + k] * w[k] + coefs[2 * DEPTH_CHANNELS + k]);
#pragma unroll
    for (int k = 0; k < W; k += 2)
        dy->pair[k / 2] = cuda_pair(v[k], v[k + 1]);
}

/* Where a load of a window goes. */
typedef struct depth_spot {
    int row, column;
} depth_spot;

static __device__ __forceinline__ void depth_advance(const depth_block &b, depth_spot *at)
{
    at->row += b.step_rows;
    at->column += b.step_columns;
    if (at->column >= b.plan.window.columns) {
        at->column -= b.plan.window.columns;
        at->row++;
    }
}

/* Loads the window that begins at (row, column) of an image, of x or (BACK) of dz. */
template <int W, bool BACK>
static __device__ __forceinline__ void depth_load_by(const cuda_level_conv &j, const depth_block &b,
                                                     const depth_part &p, int image, int row,
                                                     int column, char *shared)
{
    const pada_shape &shape = BACK ? j.out : j.in;
    const int pitch = BACK ? j.dz.dy_pitch : j.x.pitch, c = b.first + p.load_c;
    const uint16_t *from = (const uint16_t *)(BACK ? j.dz.dy : j.x.data) +
                           image * (BACK ? j.dz.dy_image : j.x.image) + c;
    const uint16_t *from_z = (const uint16_t *)j.dz.z + image * j.dz.z_image + c;
    const bool has_z = BACK && j.dz.z;
    const float *coefs = depth_coefs(b, shared) + p.load_c;
    constexpr int N = BACK ? DEPTH_AT_ONCE / 2 : DEPTH_AT_ONCE;
    depth_spot at = {p.row, p.column};

#pragma unroll 1
    while (at.row < b.plan.window.rows) {
        cuda_raw<W> v[N], z[N];
        int to[N];
        bool is[N];
#pragma unroll
        for (int k = 0; k < N; k++) {
            const int h = row + at.row, w = column + at.column, pixel = h * shape.w + w;
            to[k] = at.row < b.plan.window.rows
                        ? at.row * b.plan.window.pitch + at.column * DEPTH_LANES + p.load_c / 2
                        : -1;
            is[k] = to[k] >= 0 && h >= 0 && h < shape.h && w >= 0 && w < shape.w;
            v[k] = depth_fetch<W>(from + (int64_t)pixel * pitch, is[k]);
            if (has_z) z[k] = depth_fetch<W>(from_z + (int64_t)pixel * j.dz.z_pitch, is[k]);
            depth_advance(b, &at);
        }
#pragma unroll
        for (int k = 0; k < N; k++) {
            if (BACK && has_z && is[k]) depth_slope<W>(coefs, z[k], &v[k]);
            if (!BACK && is[k]) depth_normalise<W>(j.x, coefs, &v[k]);
            if (to[k] >= 0) depth_keep<W>((uint32_t *)shared + to[k], v[k]);
        }
    }
}

template <bool BACK>
static __device__ __forceinline__ void depth_load(const cuda_level_conv &j, const depth_block &b,
                                                  const depth_part &p, int image, int row,
                                                  int column, char *shared)
{
    if (p.row < 0) return;
    if (b.vector == 8)
        depth_load_by<8, BACK>(j, b, p, image, row, column, shared);
    else if (b.vector == 4)
        depth_load_by<4, BACK>(j, b, p, image, row, column, shared);
    else
        depth_load_by<2, BACK>(j, b, p, image, row, column, shared);
}

/* The weights of a chunk, backward from the last tap to the first, and its coefficients. */
template <bool BACK>
static __device__ __forceinline__ void depth_stage(const cuda_level_conv &j, const depth_block &b,
                                                   char *shared)
{
    const int taps = b.plan.taps, thread = (int)threadIdx.x;
    float *const weights = depth_weights(b, shared), *const coefs = depth_coefs(b, shared);

#pragma unroll 4
    for (int i = thread; i < b.channels * taps; i += DEPTH_THREADS) {
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
static __device__ __forceinline__ void depth_read(const uint32_t *from, depth_pair x[N])
{
#pragma unroll
    for (int q = 0; q < N; q++) {
        const uint32_t pair = from[q * DEPTH_LANES];
        x[q].a = cuda_low(pair);
        x[q].b = cuda_high(pair);
    }
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
    int vectors[CUDA_LEVEL_CONVS];
} depth_jobs;

static_assert(sizeof(depth_jobs) <= 4096, "arguments of a kernel");

#endif
