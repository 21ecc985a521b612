/* cuda_level_depth.cuh - what the kernels of depthwise convolutions of a level share: how channels and pixels are divided
 * among blocks, and what a block has of them.
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
