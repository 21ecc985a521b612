/* cuda_level_depth.cuh - what the kernels of depthwise convolutions of a level share: how channels and pixels are divided
 * among blocks, and what a block has of them.
 *
 * A block has a chunk of at most DEPTH_CHANNELS channels and makes tiles of results one after the other. What a tile
 * reads, its window, is loaded once by all threads, up to 8 channels at a time; norm and activation, or the coefficients
 * of a gradient, are applied, and zeros stand where there is no image. A thread has two channels (its lane) of patches of
 * DEPTH_HIGH rows of DEPTH_STRIP neighbours: what it reads of the window serves all of them. Shared memory has
 *
 *   window   floats [row][column][DEPTH_PIXEL]; the pixels of a warp that stores 16 bytes each are in different banks
 *   weights  floats [tap][DEPTH_CHANNELS]
 *   coefs    floats [3][DEPTH_CHANNELS]: factor and shift of a norm, or a, b, c of a gradient
 *
 * and backward, of what is copied while something else is made,
 *
 *   arrived  bfloat16 [dy, z][round][thread][channels at a time]: of the window of the next tile
 *   met      words [tensor][pixel of a patch][thread]: what results meet in memory */
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
    DEPTH_LOG = 2,    /* of how many patches a tile has above each other, at most */
    DEPTH_COEFS = 3 * DEPTH_CHANNELS,
    DEPTH_AT_ONCE = 3,             /* forward: values of a thread that are under way together */
    DEPTH_MET = 1 + CUDA_FINISHES, /* backward: tensors that results meet, at most */
    DEPTH_DEVICE = 132,            /* multiprocessors of an H200, .. */
    DEPTH_SHARED = 227 * 1024,     /* .. the shared memory of one, .. */
    DEPTH_RESERVED = 2048, /* .. and what a block takes of it beside its own: a depth_block */
    /* What every device has: of window, weights and coefs, in words; backward of all, in bytes, and a few less, since another
     * job of a launch may want more threads. */
    DEPTH_WORDS = 48 * 256 - 256,
    DEPTH_MOST = 92 * 1024
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

/* What the host works out for a job. */
typedef struct depth_plan {
    depth_chunks chunks;
    depth_tiles tiles;
    depth_window window;
    int taps;
    cuda_divisor tile_rows, tile_columns;
    uint8_t vector; /* channels that a thread loads at a time */
    bool z_is_x;    /* backward: the first norm of the results is that of x */
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

static inline depth_tiles depth_tile(pada_shape shape, int n_images, int shift, int most_log,
                                     int most_strips)
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
static inline depth_window depth_measure(const depth_tiles &t, int reach, int down, int up)
{
    const int rows = ((depth_height(t) - 1) * down + reach) / up + 1;
    const int columns = ((t.strips * DEPTH_STRIP - 1) * down + reach) / up + 1;

    return (depth_window){rows, columns, columns * DEPTH_PIXEL};
}

/* How often each of the threads that load so many vectors of a pixel loads one. */
static __host__ __device__ inline int depth_rounds(const depth_plan &p, int vectors, int threads)
{
    const int step = threads / vectors;

    return (p.window.rows * p.window.columns + step - 1) / step;
}

/* Words of shared memory: of window, weights and coefs. */
static inline int depth_words(const depth_plan &p)
{
    return p.window.rows * p.window.pitch + p.taps * DEPTH_CHANNELS + DEPTH_COEFS;
}

static constexpr int depth_met_bytes(int threads)
{
    return 4 * DEPTH_MET * DEPTH_PATCH * threads;
}

/* Bytes of all, backward, in a block of so many threads. */
static inline int depth_back_bytes(const depth_plan &p, int threads)
{
    const int rounds = depth_rounds(p, p.chunks.each / p.vector, threads);

    return 4 * depth_words(p) + 2 * rounds * threads * 2 * p.vector + depth_met_bytes(threads);
}

/* Blocks of a multiprocessor that has registers for them, backward. Sums of weights take registers. */
static inline int depth_per_sm(int kernel, int threads)
{
    return (kernel == 3 ? 16 : kernel == 5 ? 12 : 8) / (threads / 32);
}

/* Whether a plan fits into shared memory: backward, so that there is room for those blocks, or for 4 of them. */
static inline bool depth_fits(const depth_plan &p, int kernel, bool back)
{
    const int threads = depth_threads(p.chunks), per_sm = depth_per_sm(kernel, threads);
    const int bytes = DEPTH_SHARED / (per_sm < 4 ? per_sm : 4) - DEPTH_RESERVED;

    if (!back) return depth_words(p) <= DEPTH_WORDS;
    return depth_back_bytes(p, threads) <= (bytes < DEPTH_MOST ? bytes : DEPTH_MOST);
}

/* Results are y, or (back) the gradient of x: with a stride of 2 the window of a tile begins at a whole row of dz then.
 * The largest tiles whose windows fit. */
static inline depth_plan depth_make_plan(const cuda_level_conv &j, bool back)
{
    const int stride = j.conv.stride, shift = back && stride == 2 ? j.conv.pad & 1 : 0;
    const int reach = (j.conv.kernel - 1) * j.conv.dilation;
    int log = DEPTH_LOG, strips = DEPTH_STRIPS;
    depth_plan p;

    p.chunks = depth_divide(j.conv.c_in);
    p.taps = j.conv.kernel * j.conv.kernel;
    p.vector = (uint8_t)depth_vector(j.conv.c_in);
    for (;;) {
        p.tiles = depth_tile(back ? j.in : j.out, j.n_images, shift, log, strips);
        p.window = depth_measure(p.tiles, reach, back ? 1 : stride, back ? stride : 1);
        if (depth_fits(p, j.conv.kernel, back) || (log == 0 && strips == 1)) break;
        if (strips * DEPTH_STRIP > DEPTH_HIGH << log)
            strips /= 2;
        else
            log--;
    }
    p.tile_rows = cuda_prepare_divisor(p.tiles.rows);
    p.tile_columns = cuda_prepare_divisor(p.tiles.columns);
    p.z_is_x = false;
    return p;
}

/* What all threads of a block know; in shared memory, so that registers are left for sums. It has the channels [first,
 * first + channels), and tiles `turn`, turn + turns and so on. A thread loads every `step` pixels of a window. */
typedef struct depth_block {
    depth_plan plan;
    int turn, first, channels, lanes, slots, kind;
    int weights; /* words in front of them */
    int vectors, step, step_rows, step_columns;
    int arrived, tensor, met; /* bytes in front of them, of an arrived tensor */
} depth_block;

/* Number `block` of its job. All threads call it; behind it is a barrier. */
static __device__ __forceinline__ void depth_begin(const cuda_level_conv &j, const depth_plan &plan,
                                                   int block, depth_block *b)
{
    if (threadIdx.x == 0) {
        const int threads = (int)blockDim.x;
        b->plan = plan;
        b->turn = block / b->plan.chunks.n;
        b->first = (block - b->turn * b->plan.chunks.n) * b->plan.chunks.each;
        b->channels = min(b->plan.chunks.each, j.conv.c_in - b->first);
        b->lanes = b->channels / 2;
        b->slots = depth_slots(b->plan.chunks);
        b->kind = depth_kind(j.conv.kernel, j.conv.stride, j.conv.dilation);
        b->weights = b->plan.window.rows * b->plan.window.pitch;
        b->vectors = b->channels / b->plan.vector;
        b->step = threads / b->vectors;
        b->step_rows = b->step / b->plan.window.columns;
        b->step_columns = b->step - b->step_rows * b->plan.window.columns;
        b->arrived = 4 * (b->weights + b->plan.taps * DEPTH_CHANNELS + DEPTH_COEFS);
        b->tensor = depth_rounds(b->plan, b->vectors, threads) * threads * 2 * b->plan.vector;
        b->met = b->arrived + 2 * b->tensor;
    }
    __syncthreads();
}

static __device__ __forceinline__ depth_corner depth_find_tile(const depth_block &b, int i)
{
    const depth_tiles &t = b.plan.tiles;
    const int row = cuda_divide(i, b.plan.tile_columns);
    const int image = cuda_divide(row, b.plan.tile_rows);

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
    p.load_c = (thread - pixel * b.vectors) * b.plan.vector;
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

/* Jobs of one launch. */
typedef struct depth_jobs {
    cuda_level_convs convs;
    depth_plan plans[CUDA_LEVEL_CONVS];
} depth_jobs;

static_assert(sizeof(depth_jobs) <= 4096, "arguments of a kernel");

#endif
