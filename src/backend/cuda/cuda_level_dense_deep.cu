/* cuda_level_dense_deep.cu - pointwise convolutions of levels with so many channels that a tile of pixels does not fit into
 * shared memory with all of them, and the gradients of their inputs.
 *
 * A block makes tiles of ROWS pixels and up to COLUMNS channels, and reads what it multiplies in chunks of CHUNK channels:
 *
 *   arrived (two chunks ahead) -> convert -> left [pixel][channel] -> tensor cores -> what results meet -> memory
 *
 * A thread copies and converts the same piece of 8 channels of every chunk, so that it waits for nobody there; there is room
 * for two left matrices, so that one barrier for each chunk is enough. A warp has all rows of 16 columns, in the order of
 * cuda_level_dense.cuh, W = 4; a lane has four neighbouring channels of the results of a pixel. Tiles of 64 rows read the
 * weights half as often, and were slower: there are few tiles, and registers were short. */
#include "backend/cuda/cuda_level_dense_pieces.cuh"

enum {
    WARPS = 8,
    THREADS = WARPS * 32,
    ROWS = 32,
    COLUMNS = WARPS * 16,
    CHUNK = 64,
    STEPS = CHUNK / 16,
    PIECES = CHUNK / 8, /* of a row */
    PITCH = CHUNK + 8,  /* elements of a row of the left matrix */
    SLOTS = ROWS / 4,   /* lanes that have the same channels */
    PER_SM = 2,
    BLOCKS = PER_SM * 132,   /* of a launch: as many as an H200 runs at a time */
    MOST_SHARED = 96 * 1024, /* what every device has */
    LEFT_BYTES = 2 * ROWS * PITCH,
    ARRIVED_BYTES = 16 * THREADS /* of a tensor and a chunk */
};

static_assert((int)THREADS == (int)ROWS * (int)PIECES, "a thread has a piece of a chunk");

/* Bytes before each part of shared memory. */
struct deep_map {
    int slopes; /* [2][columns]: factor and shift of what results meet; before it [3][depth] of what is read */
    int arrived; /* [2][x, or dy, z][thread] */
    int left;    /* [2] */
    int tally;   /* [sum][slot][lane], W = 4 */
    int bytes;
};

static __host__ __device__ inline deep_map map_of(int depth, int columns, bool back, int n_finishes)
{
    deep_map m;

    m.slopes = (back ? 3 : 2) * 4 * depth;
    m.arrived = m.slopes + 2 * 4 * columns;
    m.left = m.arrived + 2 * (back ? 2 : 1) * ARRIVED_BYTES;
    m.tally = m.left + 2 * LEFT_BYTES;
    m.bytes = m.tally + (n_finishes > 0 ? 4 * (1 + n_finishes) * SLOTS * columns : 0);
    return m;
}

/* The channels of the result that a block makes, of so many. */
static __host__ __device__ inline int choose_columns(int all)
{
    return dense_round(dense_divide_up(all, dense_divide_up(all, COLUMNS)), 16);
}

/* The sizes of a product, and this block's part of it. */
struct product {
    int n, depth, all;
    int first, width; /* channels of the result */
    int tile, stride, blocks;
    deep_map map;
    int piece, row; /* of a thread */
    int column;     /* of a warp; none behind the last one */
};

template <bool BACK>
static __device__ __forceinline__ product plan(const cuda_level_conv &j, int block, int blocks)
{
    const pada_shape shape = BACK ? j.in : j.out;
    const int thread = (int)threadIdx.x, warp = thread / 32;
    product p;

    p.n = j.n_images * shape.h * shape.w;
    p.depth = BACK ? j.conv.c_out : j.conv.c_in;
    p.all = BACK ? j.conv.c_in : j.conv.c_out;
    const int columns = choose_columns(p.all), groups = dense_divide_up(p.all, columns);
    p.tile = block / groups;
    p.first = (block - p.tile * groups) * columns;
    p.width = min(p.all - p.first, columns);
    p.stride = blocks / groups;
    p.blocks = blocks;
    p.map = map_of(p.depth, columns, BACK, j.to.n_finishes);
    p.piece = thread % PIECES;
    p.row = thread / PIECES;
    p.column = warp * 16;
    return p;
}

/* ---- what is read ---- */

/* A chunk of a tile. */
struct cursor {
    int tile, k;
};

static __device__ __forceinline__ cursor next_of(const product &p, cursor at)
{
    return at.k + CHUNK < p.depth ? cursor{at.tile, at.k + CHUNK} : cursor{at.tile + p.stride, 0};
}

/* Where this thread copies a piece to. */
template <bool BACK>
static __device__ __forceinline__ char *find_slot(const product &p, int stage, int tensor,
                                                  char *shared)
{
    return shared + p.map.arrived + (stage * (BACK ? 2 : 1) + tensor) * ARRIVED_BYTES +
           16 * (int)threadIdx.x;
}

/* Whether it has one. */
static __device__ __forceinline__ bool has_piece(const product &p, cursor at)
{
    return at.tile * ROWS + p.row < p.n && at.k + 8 * p.piece < p.depth;
}

template <bool BACK>
static __device__ __forceinline__ void fetch(const cuda_level_conv &j, const product &p, cursor at,
                                             int stage, char *shared)
{
    const int64_t row = (int64_t)at.tile * ROWS + p.row;
    const int c = at.k + 8 * p.piece;

    if (has_piece(p, at)) {
        const uint16_t *from = (const uint16_t *)(BACK ? j.dz.dy : j.x.data);
        cuda_copy_ahead<16>(cuda_shared_address(find_slot<BACK>(p, stage, 0, shared)),
                            from + row * (BACK ? j.dz.dy_pitch : j.x.pitch) + c);
        if (BACK && j.dz.z)
            cuda_copy_ahead<16>(cuda_shared_address(find_slot<BACK>(p, stage, 1, shared)),
                                (const uint16_t *)j.dz.z + row * j.dz.z_pitch + c);
    }
    cuda_end_copies();
}

/* What depends on channels alone. */
template <bool BACK>
static __device__ __forceinline__ void load_coefs(const cuda_level_conv &j, const product &p,
                                                  char *shared)
{
    float *coefs = (float *)shared, *slopes = (float *)(shared + p.map.slopes);
    const int columns = (p.map.arrived - p.map.slopes) / 8;

#pragma unroll 1
    for (int c = (int)threadIdx.x; c < p.depth; c += THREADS) {
        if (BACK) {
            const cuda_slope<1> slope = cuda_read_slope<1>(j.dz, c, 1);
            coefs[c] = slope.a[0], coefs[p.depth + c] = slope.b[0];
            coefs[2 * p.depth + c] = slope.c[0];
        } else {
            const cuda_norm<1> norm = cuda_read_norm<1>(j.x, c, 1);
            coefs[c] = norm.factor[0], coefs[p.depth + c] = norm.shift[0];
        }
    }
#pragma unroll 1
    for (int c = (int)threadIdx.x; BACK && c < p.width; c += THREADS) {
        const cuda_norm<1> norm = cuda_read_norm<1>(j.to.at, p.first + c, 1);
        slopes[c] = norm.factor[0], slopes[columns + c] = norm.shift[0];
    }
}

/* Writes the piece of this thread to the left matrix of a stage, zeros if it has none. */
template <bool BACK>
static __device__ __forceinline__ void convert(const cuda_level_conv &j, const product &p,
                                               cursor at, int stage, char *shared)
{
    const pada_act act = BACK ? PADA_ACT_NONE : j.x.act; /* of a gradient, there is none */
    const float *coefs = (const float *)shared + at.k + 8 * p.piece;
    uint16_t *to = (uint16_t *)(shared + p.map.left + stage * LEFT_BYTES) + p.row * PITCH +
                   dense_find_left(8 * p.piece);
    cuda_raw<8> value = {}, other = {};
    cuda_slope<8> slope;

    if (has_piece(p, at)) {
        value = dense_read_piece(find_slot<BACK>(p, stage, 0, shared));
        if (BACK ? j.dz.z != NULL : j.x.mean != NULL) {
            if (BACK) other = dense_read_piece(find_slot<BACK>(p, stage, 1, shared));
            dense_read_floats<8>(coefs, slope.a);
            if (BACK) dense_read_floats<8>(coefs + p.depth, slope.b);
            dense_read_floats<8>(coefs + (BACK ? 2 : 1) * p.depth, slope.c);
            value = dense_convert_piece<BACK>(act, slope, value, other);
        } else if (!BACK) {
            dense_act_piece(act, &value);
        }
    }
    /* in the order of fragments: pairs that are neighbours lie apart */
    cuda_store_shared8(cuda_shared_address(to), value.pair[0], value.pair[2]);
    cuda_store_shared8(cuda_shared_address(to + 8), value.pair[1], value.pair[3]);
}

/* ---- products ---- */

/* The weights of a chunk for the columns of a warp. */
struct deep_weights {
    uint4 b[STEPS];
};

static __device__ __forceinline__ deep_weights load_weights(const cuda_level_conv &j,
                                                            const product &p, int first)
{
    const int next = dense_round(p.all, DENSE_COLUMNS) / 16 * 32;
    const uint4 *from =
        dense_find_fragments(j.fragment, p.first + p.column) + (int64_t)first / 16 * next;
    deep_weights w;

#pragma unroll
    for (int k = 0; k < STEPS; k++)
        if (p.column < p.width && first + 16 * k < p.depth) w.b[k] = from[k * next];
    return w;
}

static __device__ __forceinline__ void multiply(const product &p, int first, const char *left,
                                                const deep_weights &w, float acc[2][2][4])
{
    const uint32_t from = dense_find_rows(left, 0, PITCH);

    if (p.column >= p.width) return;
#pragma unroll
    for (int k = 0; k < STEPS; k++) {
        if (first + 16 * k >= p.depth) break;
#pragma unroll
        for (int m = 0; m < 2; m++) {
            uint32_t a[4];
            cuda_load_matrices(a, from + (uint32_t)(2 * 16 * (m * PITCH + k)));
            cuda_mma(acc[m][0], a, w.b[k].x, w.b[k].y);
            cuda_mma(acc[m][1], a, w.b[k].z, w.b[k].w);
        }
    }
}

/* ---- results ---- */

/* Adds the sums of a lane's four channels of a tile to what it has in shared memory, `next` floats apart. */
static __device__ __forceinline__ void keep_tally(const cuda_tally<4> &tally, int n_finishes,
                                                  int next, float *to)
{
#pragma unroll
    for (int k = 0; k < 4; k++)
        to[k * next] += tally.u[k];
#pragma unroll
    for (int f = 0; f < CUDA_FINISHES; f++)
        if (f < n_finishes)
#pragma unroll
            for (int k = 0; k < 4; k++)
                to[(4 * (1 + f) + k) * next] += tally.product[f][k];
}

template <bool BACK>
static __device__ __forceinline__ void put_tile(const cuda_level_conv &j, const product &p,
                                                int tile, char *shared, float acc[2][2][4])
{
    const int lane = (int)threadIdx.x % 32, lanes = p.width / 4, c = p.column + lane % 4 * 4;
    const int columns = (p.map.arrived - p.map.slopes) / 8;
    const float *slopes = (const float *)(shared + p.map.slopes) + c;
    cuda_norm<4> norm = {};
    cuda_tally<4> tally = {};

    if (c >= p.width) return;
    if (BACK) {
        dense_read_floats<4>(slopes, norm.factor);
        dense_read_floats<4>(slopes + columns, norm.shift);
    }
#pragma unroll
    for (int m = 0; m < 2; m++) {
        cuda_spot spots[2];
        float v[2][4];
#pragma unroll
        for (int h = 0; h < 2; h++) { /* rows of accumulators, 8 apart */
            const int row = tile * ROWS + 16 * m + 8 * h + lane / 4;
            spots[h] = {row < p.n ? 0 : -1, row};
#pragma unroll
            for (int k = 0; k < 4; k++) {
                v[h][k] = acc[m][k / 2][2 * h + k % 2];
                acc[m][k / 2][2 * h + k % 2] = 0;
            }
        }
        cuda_put_results<4, 2>(j.to, norm, spots, p.first + c, 4, true, v, &tally);
    }
    if (j.to.n_finishes > 0)
        keep_tally(tally, j.to.n_finishes, SLOTS * lanes,
                   (float *)(shared + p.map.tally) + lane / 4 * lanes + c / 4);
}

template <bool BACK>
__global__ static void __launch_bounds__(THREADS, PER_SM)
    deep_kernel(const __grid_constant__ cuda_level_convs jobs)
{
    CUDA_DYNAMIC_SHARED(shared);
    const int job = cuda_find_job(jobs), thread = (int)threadIdx.x;
    const cuda_level_conv &j = jobs.at[job];
    const product p =
        plan<BACK>(j, (int)blockIdx.x - jobs.first[job], jobs.first[job + 1] - jobs.first[job]);
    cursor at = {p.tile, 0}, ahead = at;
    float acc[2][2][4] = {};

    for (int i = thread; i < (p.map.bytes - p.map.tally) / 4; i += THREADS)
        ((float *)(shared + p.map.tally))[i] = 0;
    cuda_begin_beside(jobs.beside);
    for (int stage = 0; stage < 2; stage++) {
        fetch<BACK>(j, p, ahead, stage, shared);
        ahead = next_of(p, ahead);
    }
    load_coefs<BACK>(j, p, shared);
    __syncthreads();
    for (int stage = 0; at.tile * ROWS < p.n; stage = 1 - stage) {
        const cursor after = next_of(p, at);
        cuda_wait_copies();
        convert<BACK>(j, p, at, stage, shared);
        const deep_weights weights = load_weights(j, p, at.k);
        fetch<BACK>(j, p, ahead, stage, shared);
        ahead = next_of(p, ahead);
        __syncthreads();
        multiply(p, at.k, shared + p.map.left + stage * LEFT_BYTES, weights, acc);
        if (after.tile != at.tile) put_tile<BACK>(j, p, at.tile, shared, acc);
        at = after;
    }
    cuda_add_tallies<4>(j.to, p.all, p.first, p.width / 4, SLOTS, p.blocks,
                        (float *)(shared + p.map.tally));
    cuda_end(jobs.beside);
}

/* ---- launches ---- */

static int count_bytes(const cuda_level_conv &j, bool back)
{
    return map_of(back ? j.conv.c_out : j.conv.c_in,
                  choose_columns(back ? j.conv.c_in : j.conv.c_out), back, j.to.n_finishes)
        .bytes;
}

bool pada_cuda_dense_is_deep(const cuda_level_conv *j, bool back)
{
    const cuda_dense_hints h = dense_hint(*j, back ? j->in : j->out, back, 8);

    return dense_is_plain(j->conv) && dense_comes_by_eights(&j->conv) && h.joined_in &&
           h.joined_out && h.wide_in && h.wide_to && !pada_cuda_dense_joins(j, back) &&
           count_bytes(*j, back) <= MOST_SHARED;
}

template <bool BACK> static cudaError_t launch(cudaStream_t stream, cuda_level_convs *placed)
{
    level_work work[CUDA_LEVEL_CONVS];
    int bytes = 0;

    for (int k = 0; k < placed->n; k++) {
        const cuda_level_conv &j = placed->at[k];
        const pada_shape shape = BACK ? j.in : j.out;
        const int depth = BACK ? j.conv.c_out : j.conv.c_in;
        const int all = BACK ? j.conv.c_in : j.conv.c_out;
        const int64_t pixels = (int64_t)j.n_images * shape.h * shape.w;
        work[k] = {dense_divide_up(all, choose_columns(all)), (int)((pixels - 1) / ROWS + 1),
                   dense_divide_up(depth, CHUNK)};
        bytes = max(bytes, count_bytes(j, BACK));
    }
    level_place_blocks(work, placed->n, BLOCKS, placed->first);
    const cudaError_t error = cudaFuncSetAttribute(
        (const void *)deep_kernel<BACK>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    return error == cudaSuccess ? cuda_launch(deep_kernel<BACK>, (unsigned)placed->first[placed->n],
                                              THREADS, (size_t)bytes, stream, *placed)
                                : error;
}

cudaError_t pada_cuda_dense_deep(cudaStream_t stream, const cuda_level_convs *jobs, bool back,
                                 bool *beside)
{
    cuda_level_convs placed;

    placed.n = 0;
    placed.beside = *beside;
    for (int k = 0; k < jobs->n; k++)
        if (pada_cuda_dense_is_deep(&jobs->at[k], back)) placed.at[placed.n++] = jobs->at[k];
    if (placed.n == 0) return cudaSuccess;
    *beside = true;
    return back ? launch<true>(stream, &placed) : launch<false>(stream, &placed);
}
