/* cuda_level_dense_deep.cu - pointwise convolutions of levels with so many channels that a tile of pixels does not fit into
 * shared memory with all of them, and the gradients of their inputs.
 *
 * A block makes tiles of ROWS pixels and up to COLUMNS channels, and reads what it multiplies in chunks of CHUNK channels:
 *
 *   arrived (two chunks ahead) -> convert -> left [pixel][channel] -> tensor cores -> what results meet -> memory
 *
 * A thread copies and converts the same pieces of 8 channels of every chunk, so that it waits for nobody there; there is room
 * for two left matrices, so that one barrier for each chunk is enough. Warps have 32 rows and up to SETS sets of 16 columns,
 * in the order of cuda_level_dense.cuh, W = 4; a lane has four neighbouring channels of the results of a pixel. */
#include "backend/cuda/cuda_level_dense_pieces.cuh"

enum {
    WARPS = 8,
    THREADS = WARPS * 32,
    ROWS = 64,
    SETS = 2,   /* of a warp, at most */
    ACROSS = 4, /* warps along the columns */
    COLUMNS = ACROSS * SETS * 16,
    CHUNK = 64,
    PIECES = CHUNK / 8,             /* of a row */
    EACH = ROWS * PIECES / THREADS, /* pieces of a thread */
    PITCH = CHUNK + 8,              /* elements of a row of the left matrix */
    SLOTS = ROWS / 4,               /* lanes that have the same channels */
    PER_SM = 2,
    BLOCKS = PER_SM * 132,   /* of a launch: as many as an H200 runs at a time */
    MOST_SHARED = 96 * 1024, /* what every device has */
    LEFT_BYTES = 2 * ROWS * PITCH,
    ARRIVED_BYTES = 16 * EACH * THREADS /* of a tensor and a chunk */
};

/* Bytes before each part of shared memory. */
struct deep_map {
    int slopes; /* [2][columns]: factor and shift of what results meet; before it [3][depth] of what is read */
    int arrived; /* [2][x, or dy, z][piece][thread] */
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
    int piece, row;       /* of a thread */
    int warp_row, column; /* of a warp */
    int sets;
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
    p.warp_row = warp / ACROSS * 32;
    const int sets = dense_divide_up(p.width, 16), at = warp % ACROSS;
    p.column = sets * at / ACROSS * 16;
    p.sets = sets * (at + 1) / ACROSS - sets * at / ACROSS;
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

static __device__ __forceinline__ char *find_slot(const product &p, int stage, int tensor,
                                                  int tensors, int i, char *shared)
{
    return shared + p.map.arrived + (stage * tensors + tensor) * ARRIVED_BYTES +
           16 * (i * THREADS + (int)threadIdx.x);
}

template <bool BACK>
static __device__ __forceinline__ void fetch(const cuda_level_conv &j, const product &p, cursor at,
                                             int stage, char *shared)
{
    const int c = at.k + 8 * p.piece;

#pragma unroll
    for (int i = 0; i < EACH; i++) {
        const int64_t row = (int64_t)at.tile * ROWS + p.row + i * (ROWS / EACH);
        if (row >= p.n || c >= p.depth) break;
        const uint16_t *from = (const uint16_t *)(BACK ? j.dz.dy : j.x.data);
        cuda_copy_ahead<16>(cuda_shared_address(find_slot(p, stage, 0, 1 + BACK, i, shared)),
                            from + row * (BACK ? j.dz.dy_pitch : j.x.pitch) + c);
        if (BACK && j.dz.z)
            cuda_copy_ahead<16>(cuda_shared_address(find_slot(p, stage, 1, 1 + BACK, i, shared)),
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

/* Writes the pieces of this thread to the left matrix of a stage, and zeros where there is nothing. */
template <bool BACK>
static __device__ __forceinline__ void convert(const cuda_level_conv &j, const product &p,
                                               cursor at, int stage, char *shared)
{
    const bool normed = BACK ? j.dz.z != NULL : j.x.mean != NULL;
    const pada_act act = BACK ? PADA_ACT_NONE : j.x.act; /* of a gradient, there is none */
    const int c = at.k + 8 * p.piece;
    const float *coefs = (const float *)shared + c;
    uint16_t *to = (uint16_t *)(shared + p.map.left + stage * LEFT_BYTES) + p.row * PITCH +
                   dense_find_left(8 * p.piece);
    cuda_slope<8> slope = {};

    if (normed && c < p.depth) {
        dense_read_floats<8>(coefs, slope.a);
        if (BACK) dense_read_floats<8>(coefs + p.depth, slope.b);
        dense_read_floats<8>(coefs + (BACK ? 2 : 1) * p.depth, slope.c);
    }
#pragma unroll
    for (int i = 0; i < EACH; i++, to += ROWS / EACH * PITCH) {
        cuda_raw<8> value = {};
        if (at.tile * ROWS + p.row + i * (ROWS / EACH) < p.n && c < p.depth) {
            value = dense_read_piece(find_slot(p, stage, 0, 1 + BACK, i, shared));
            if (normed) {
                cuda_raw<8> other = {};
                if (BACK) other = dense_read_piece(find_slot(p, stage, 1, 1 + BACK, i, shared));
                value = dense_convert_piece<BACK>(act, slope, value, other);
            } else if (!BACK) {
                dense_act_piece(act, &value);
            }
        }
        /* in the order of fragments: pairs that are neighbours lie apart */
        cuda_store_shared8(cuda_shared_address(to), value.pair[0], value.pair[2]);
        cuda_store_shared8(cuda_shared_address(to + 8), value.pair[1], value.pair[3]);
    }
}

/* ---- products ---- */

static __device__ __forceinline__ void multiply(const cuda_level_conv &j, const product &p,
                                                cursor at, int stage, char *shared,
                                                float acc[2][2 * SETS][4])
{
    const int vectors = dense_round(p.all, DENSE_COLUMNS) / 16, steps = min(CHUNK, p.depth - at.k);
    const uint4 *from =
        dense_find_fragments(j.fragment, p.first + p.column) + (int64_t)at.k / 16 * vectors * 32;
    uint32_t left = dense_find_rows(shared + p.map.left + stage * LEFT_BYTES, p.warp_row, PITCH);

#pragma unroll 2
    for (int k = 0; k < steps; k += 16, from += vectors * 32, left += 2 * 16) {
        uint32_t a[2][4];
        uint4 b[SETS];
#pragma unroll
        for (int n = 0; n < SETS; n++)
            if (n < p.sets) b[n] = from[32 * n];
#pragma unroll
        for (int m = 0; m < 2; m++)
            cuda_load_matrices(a[m], left + (uint32_t)(m * 2 * 16 * PITCH));
#pragma unroll
        for (int n = 0; n < SETS; n++) {
            if (n >= p.sets) break;
#pragma unroll
            for (int m = 0; m < 2; m++) {
                cuda_mma(acc[m][2 * n], a[m], b[n].x, b[n].y);
                cuda_mma(acc[m][2 * n + 1], a[m], b[n].z, b[n].w);
            }
        }
    }
}

/* ---- results ---- */

/* Adds the sums of a lane's four channels of a tile to what it has in shared memory. */
static __device__ __forceinline__ void keep_tally(const cuda_tally<4> &tally, int n_finishes,
                                                  int lanes, float *to)
{
    const int next = SLOTS * lanes;

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
                                                int tile, char *shared, float acc[2][2 * SETS][4])
{
    const int lane = (int)threadIdx.x % 32, lanes = p.width / 4;
    const int columns = (p.map.arrived - p.map.slopes) / 8;
    const int first = tile * ROWS + p.warp_row + lane / 4;

#pragma unroll
    for (int n = 0; n < SETS; n++) {
        const int c = p.column + 16 * n + lane % 4 * 4;
        if (n >= p.sets || c >= p.width) break;
        const float *slopes = (const float *)(shared + p.map.slopes) + c;
        cuda_norm<4> norm = {};
        cuda_tally<4> tally = {};
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
                const float *low = acc[m][2 * n] + 2 * h, *high = acc[m][2 * n + 1] + 2 * h;
                const int row = first + 16 * m + 8 * h;
                spots[h] = {row < p.n ? 0 : -1, row};
                v[h][0] = low[0], v[h][1] = low[1], v[h][2] = high[0], v[h][3] = high[1];
            }
            cuda_put_results<4, 2>(j.to, norm, spots, p.first + c, 4, true, v, &tally);
        }
        if (j.to.n_finishes > 0)
            keep_tally(tally, j.to.n_finishes, lanes,
                       (float *)(shared + p.map.tally) + (p.warp_row / 4 + lane / 4) * lanes +
                           c / 4);
    }
#pragma unroll
    for (int i = 0; i < 2 * 2 * SETS * 4; i++)
        acc[i / (8 * SETS)][i / 4 % (2 * SETS)][i % 4] = 0;
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
    float acc[2][2 * SETS][4] = {};

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
        fetch<BACK>(j, p, ahead, stage, shared);
        ahead = next_of(p, ahead);
        __syncthreads();
        multiply(j, p, at, stage, shared, acc);
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
