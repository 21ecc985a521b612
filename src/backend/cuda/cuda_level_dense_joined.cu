/* cuda_level_dense_joined.cu - pointwise convolutions of levels, and the gradients of their inputs, whose pixels lie in
 * one piece: what is read is converted once, and every thread has the same channels all the time.
 *
 * A block makes tiles of some pixels and up to COLUMNS channels, one after the other, in pieces (cuda_level_dense_pieces.cuh):
 *
 *   arrived -> convert -> left [pixel][channel] -> tensor cores -> right [pixel][channel], float -> what results meet -> memory
 *
 * Pieces of the next tile are copied to shared memory (`arrived`) as soon as those of this one have been used. The block
 * meets twice in a tile, where matrices are read otherwise than they were written. Fragments are in the order of
 * cuda_level_dense.cuh, W = 4, so that four neighbouring channels are written at once. Sums over the batch stay in
 * registers. */
#include "backend/cuda/cuda_level_dense_pieces.cuh"
#include "backend/cuda/cuda_level_dense_result.cuh"

enum {
    THREADS = DENSE_THREADS,
    WARPS = THREADS / 32,
    COLUMNS = 192, /* of a tile, at most */
    PER_SM = 4,
    BLOCKS = PER_SM * 132,  /* of a launch: as many as an H200 runs at a time */
    SHARED = 54 * 1024,     /* of a block: PER_SM of them leave something for the first cache */
    MOST_SHARED = 96 * 1024 /* what every device has */
};

/* ---- shared memory ---- */

/* Elements of a row of the right matrix, such that not more than two rows lie in one bank: it is written by pairs, and any
 * multiple of 32 bytes does it but whole lines. */
static __host__ __device__ inline int right_pitch(int columns)
{
    const int pitch = dense_round(columns, 8);

    return pitch % 32 == 0 ? pitch + 8 : pitch;
}

/* Tensors that results meet. */
static __host__ __device__ inline int count_met(const cuda_result &to)
{
    int n = (to.at.data != NULL) + (to.accumulate ? 1 : 0);

    for (int f = 0; f < to.n_finishes; f++)
        n += to.finishes[f].z != NULL;
    return n;
}

/* Bytes before each part; the sums at the end take the place of all. */
struct joined_map {
    int slopes; /* [2][period]: factor and shift of what results meet; before it [3][period] of what is read */
    int values, others; /* arrived: of x or dy, of z */
    int met;            /* arrived: one after the other */
    int left, right;
    int left_pitch, right_pitch; /* elements */
    int bytes;
};

static __host__ __device__ inline joined_map map_of(int rows, int depth, int columns, bool has_z,
                                                    int n_met)
{
    joined_map m;

    m.slopes = 3 * 4 * dense_period(depth);
    m.values = dense_round(m.slopes + 2 * 4 * dense_period(columns), 16);
    m.others = m.values + 2 * rows * depth;
    m.met = m.others + (has_z ? 2 * rows * depth : 0);
    m.left_pitch = dense_left_pitch(depth);
    m.right_pitch = right_pitch(columns);
    m.left = m.met + n_met * 2 * rows * columns;
    m.right = m.left + 2 * rows * m.left_pitch;
    m.bytes = m.right + 4 * rows * m.right_pitch;
    return m;
}

/* ---- parts ---- */

/* The sizes of a product, and this block's part of it. */
struct product {
    int n;            /* pixels */
    int rows;         /* of a tile */
    int depth, all;   /* channels that are read; of the result */
    int first, width; /* those of the result that are made here */
    int tile, stride, blocks;
    dense_spread in, out;
    joined_map map;
};

template <bool BACK>
static __device__ __forceinline__ product plan(const cuda_level_conv &j, int block, int blocks)
{
    const pada_shape shape = BACK ? j.in : j.out;
    product p;

    p.n = j.n_images * shape.h * shape.w;
    p.rows = j.hints.rows;
    p.depth = BACK ? j.conv.c_out : j.conv.c_in;
    p.all = BACK ? j.conv.c_in : j.conv.c_out;
    const int groups = dense_divide_up(p.all, j.hints.columns);
    p.first = block % groups * j.hints.columns;
    p.width = min(p.all - p.first, j.hints.columns);
    p.tile = block / groups;
    p.stride = blocks / groups;
    p.blocks = blocks;
    p.in = dense_spread_out(p.depth, THREADS);
    p.out = dense_spread_out(p.width, THREADS);
    p.map = map_of(p.rows, p.depth, p.width, BACK && j.dz.z, count_met(j.to));
    return p;
}

/* Bytes of a tile of so many channels. Tiles behind the last one have none, or less. */
static __device__ __forceinline__ int count_bytes(const product &p, int tile, int channels)
{
    return 2 * min(p.n - tile * p.rows, p.rows) * channels;
}

/* ---- what arrives ---- */

template <bool BACK>
static __device__ __forceinline__ void fetch_values(const cuda_level_conv &j, const product &p,
                                                    const dense_piece &at, int tile, char *shared)
{
    const int bytes = count_bytes(p, tile, p.depth);
    const int64_t row = (int64_t)tile * p.rows;
    const bool wide = j.hints.wide_in;

    if (bytes > 0) {
        const dense_place values = {BACK ? j.dz.dy : j.x.data, row,
                                    BACK ? j.dz.dy_pitch : j.x.pitch, 0, wide};
        dense_fetch_pieces(values, p.depth, p.in, at, bytes, shared + p.map.values);
        if (BACK && j.dz.z)
            dense_fetch_pieces({j.dz.z, row, j.dz.z_pitch, 0, wide}, p.depth, p.in, at, bytes,
                               shared + p.map.others);
    }
    cuda_end_copies();
}

/* What results meet, in the order in which meet reads it; nothing forward. */
template <bool BACK>
static __device__ __forceinline__ void fetch_met(const cuda_level_conv &j, const product &p,
                                                 const dense_piece &at, int tile, char *shared)
{
    const cuda_result &to = j.to;
    const int bytes = count_bytes(p, tile, p.width), next = 2 * p.rows * p.width;
    const int n = (to.at.data != NULL) + (to.accumulate ? 1 : 0) + to.n_finishes;
    int which = to.at.data ? 0 : 1; /* slope, earlier contributions, norms */

    for (int i = 0; BACK && i < n && bytes > 0; i++, which++) {
        if (which == 1 && !to.accumulate) which++;
        const void *data = which == 0   ? to.at.data
                           : which == 1 ? to.data
                                        : to.finishes[which - 2].z;
        const dense_place from = {data, (int64_t)tile * p.rows, which == 0 ? to.at.pitch : to.pitch,
                                  p.first, j.hints.wide_to};
        dense_fetch_pieces(from, p.width, p.out, at, bytes, shared + p.map.met + i * next);
    }
    cuda_end_copies();
}

/* What depends on channels alone. */
template <bool BACK>
static __device__ __forceinline__ void load_coefs(const cuda_level_conv &j, const product &p,
                                                  char *shared)
{
    const int reads = dense_period(p.depth), writes = dense_period(p.width);
    float *coefs = (float *)shared, *slopes = (float *)(shared + p.map.slopes);

    for (int i = (int)threadIdx.x; i < reads; i += THREADS) {
        const int c = i < p.depth ? i : i - p.depth;
        if (BACK) {
            const cuda_slope<1> slope = cuda_read_slope<1>(j.dz, c, 1);
            coefs[i] = slope.a[0], coefs[reads + i] = slope.b[0], coefs[2 * reads + i] = slope.c[0];
        } else {
            const cuda_norm<1> norm = cuda_read_norm<1>(j.x, c, 1);
            coefs[i] = norm.factor[0], coefs[reads + i] = norm.shift[0];
        }
    }
    for (int i = (int)threadIdx.x; BACK && i < writes; i += THREADS) {
        const int c = p.first + (i < p.width ? i : i - p.width);
        const cuda_norm<1> norm = cuda_read_norm<1>(j.to.at, c, 1);
        slopes[i] = norm.factor[0], slopes[writes + i] = norm.shift[0];
    }
}

/* ---- the left matrix ---- */

/* Writes the pieces of this thread to the left matrix. */
template <bool BACK>
static __device__ __forceinline__ void convert(const cuda_level_conv &j, const product &p,
                                               const dense_piece &at, int tile, char *shared)
{
    const bool normed = BACK ? j.dz.z != NULL : j.x.mean != NULL, straight = p.depth % 8 == 0;
    const pada_act act = BACK ? PADA_ACT_NONE : j.x.act; /* of a gradient, there is none */
    const int bytes = count_bytes(p, tile, p.depth), period = dense_period(p.depth);
    const int pitch = p.map.left_pitch, step = 16 * p.in.step, next = p.in.rows * pitch;
    const int c = at.divided ? 0 : at.channel + 4; /* of the other half */
    const int first = at.row * pitch + dense_find_left(at.channel);
    const int half = (at.row + (at.divided ? 1 : 0)) * pitch + dense_find_left(c) - first;
    const float *coefs = (const float *)shared + at.coefs;
    const char *values = shared + p.map.values, *others = shared + p.map.others;
    uint16_t *to = (uint16_t *)(shared + p.map.left) + first;
    cuda_slope<8> slope;

    dense_read_floats<8>(coefs, slope.a);
    if (BACK) dense_read_floats<8>(coefs + period, slope.b);
    dense_read_floats<8>(coefs + (BACK ? 2 : 1) * period, slope.c);
    for (int i = 16 * at.first; i < bytes; i += step, to += next) {
        const cuda_raw<8> value =
            dense_prepare_piece<BACK>(normed, act, slope, values + i, others + i);
        if (straight) {
            cuda_store_shared8(cuda_shared_address(to), value.pair[0], value.pair[2]);
            cuda_store_shared8(cuda_shared_address(to + 8), value.pair[1], value.pair[3]);
        } else {
            *(uint32_t *)to = value.pair[0];
            *(uint32_t *)(to + 8) = value.pair[1];
            *(uint32_t *)(to + half) = value.pair[2];
            *(uint32_t *)(to + half + 8) = value.pair[3];
        }
    }
}

/* ---- products ---- */

/* 16 M rows and 16 N columns from `row` and `column` on. */
template <int M, int N>
static __device__ __forceinline__ void multiply(const cuda_level_conv &j, const product &p, int row,
                                                int column, char *shared)
{
    const int lane = (int)threadIdx.x % 32, c = column + lane % 4 * 4;
    const int next = dense_round(p.all, DENSE_COLUMNS) / 16 * 32, width = p.width;
    const int across = 2 * 16 * p.map.left_pitch, pitch = p.map.right_pitch;
    float *right = (float *)(shared + p.map.right) + (row + lane / 4) * pitch + c;
    float acc[M][2 * N][4] = {};

    dense_multiply<M, N>(dense_find_rows(shared + p.map.left, row, p.map.left_pitch), across,
                         dense_find_fragments(j.fragment, p.first + column), next, p.depth, acc);
#pragma unroll
    for (int n = 0; n < N; n++) {
        if (c + 16 * n >= width) break;
#pragma unroll
        for (int i = 0; i < 4 * M; i++) { /* pairs, as accumulators have them */
            const float *v = acc[i / 4][2 * n + i % 2] + i / 2 % 2 * 2;
            *(float2 *)(right + 8 * (i / 2) * pitch + 16 * n + i % 2 * 2) = make_float2(v[0], v[1]);
        }
    }
}

/* Warps share the tile, up to 32 rows and 32 columns at a time; or 48, where that is all. */
static __device__ __forceinline__ void multiply_tile(const cuda_level_conv &j, const product &p,
                                                     char *shared)
{
    const int rows = p.rows, width = p.width;
    const bool three = rows > 16 && width > 32 && width <= 48;
    int row = (int)threadIdx.x / 32 * 32, column = 0;

    for (;; row += WARPS * 32) {
        for (; row >= rows; row -= dense_round(rows, 32))
            column += three ? 48 : 32;
        if (column >= width) return;
        if (rows == 16)
            multiply<1, 2>(j, p, row, column, shared);
        else if (three)
            multiply<2, 3>(j, p, row, column, shared);
        else if (width - column > 16)
            multiply<2, 2>(j, p, row, column, shared);
        else
            multiply<2, 1>(j, p, row, column, shared);
    }
}

/* ---- results ---- */

/* What becomes of a piece of results: slope, earlier contributions, sums. What it meets has arrived at `met`, `next` bytes
 * from one tensor to the next, in the order of fetch_met. `both`: or the first half alone, the last of all. */
template <bool BACK>
static __device__ __forceinline__ cuda_raw<8> end_piece(const cuda_result &to,
                                                        const cuda_norm<8> &norm, const char *met,
                                                        int next, bool both, float v[8],
                                                        cuda_tally<8> *tally)
{
    float other[8];

    if (BACK && to.at.data) {
        cuda_unpack<8>(dense_read_piece(met), other);
        dense_apply_slope<8>(to.at, norm, other, v);
        met += next;
    }
    if (BACK && to.accumulate) {
        cuda_unpack<8>(dense_read_piece(met), other);
#pragma unroll
        for (int k = 0; k < 8; k++)
            v[k] += other[k];
        met += next;
    }
    const cuda_raw<8> piece = dense_pack_piece(PADA_ACT_NONE, v);
    if (to.n_finishes == 0) return piece;
    if (!both) v[4] = v[5] = v[6] = v[7] = 0;
#pragma unroll
    for (int k = 0; k < 8; k++)
        tally->u[k] += v[k];
#pragma unroll
    for (int f = 0; f < (BACK ? CUDA_FINISHES : 1); f++) {
        if (f > 0 && f >= to.n_finishes) break;
        if (BACK) cuda_unpack<8>(dense_read_piece(met + f * next), other);
#pragma unroll
        for (int k = 0; k < 8; k++)
            tally->product[f][k] += v[k] * (BACK ? other[k] : v[k]);
    }
    return piece;
}

/* Writes the pieces of this thread. */
template <bool BACK>
static __device__ __forceinline__ void put_results(const cuda_level_conv &j, const product &p,
                                                   const dense_piece &at, int tile,
                                                   const char *shared, cuda_tally<8> *tally)
{
    const cuda_result &to = j.to;
    const bool wide = j.hints.wide_to;
    const int bytes = count_bytes(p, tile, p.width), pitch = p.map.right_pitch;
    const int step = 16 * p.out.step, next = p.out.rows * pitch, met_bytes = 2 * p.rows * p.width;
    const int half = dense_find_half(p.width, at, pitch),
              out_half = 2 * dense_find_half(p.width, at, to.pitch);
    const int64_t out_next = 2 * (int64_t)p.out.rows * to.pitch;
    const float *from = (const float *)(shared + p.map.right) + at.row * pitch + at.channel;
    const char *met = shared + p.map.met;
    char *out = cuda_global(
        (char *)dense_find_first({to.data, (int64_t)tile * p.rows, to.pitch, p.first, wide}, at));
    int i = 16 * at.first;
    cuda_norm<8> norm;
    float v[8];

    if (BACK) {
        const float *slopes = (const float *)(shared + p.map.slopes) + at.coefs;
        dense_read_floats<8>(slopes, norm.factor);
        dense_read_floats<8>(slopes + dense_period(p.width), norm.shift);
    }
    for (; i + 16 <= bytes; i += step, from += next, out += out_next) {
        dense_read_floats<4>(from, v);
        dense_read_floats<4>(from + half, v + 4);
        const cuda_raw<8> piece = end_piece<BACK>(to, norm, met + i, met_bytes, true, v, tally);
        if (wide) {
            cuda_store16(out,
                         make_uint4(piece.pair[0], piece.pair[1], piece.pair[2], piece.pair[3]));
        } else {
            *(uint2 *)out = make_uint2(piece.pair[0], piece.pair[1]);
            *(uint2 *)(out + out_half) = make_uint2(piece.pair[2], piece.pair[3]);
        }
    }
    if (i >= bytes) return;
    dense_read_floats<4>(from, v);
    dense_read_floats<4>(from + half, v + 4);
    const cuda_raw<8> piece = end_piece<BACK>(to, norm, met + i, met_bytes, false, v, tally);
    *(uint2 *)out = make_uint2(piece.pair[0], piece.pair[1]);
}

/* Adds up the tallies of the block, and gives its shares. Several neighbours in a warp, a power of two, share a sum where
 * there are more threads than sums. */
static __device__ __forceinline__ void end_results(const cuda_level_conv &j, const product &p,
                                                   const cuda_tally<8> &tally, float *shared)
{
    const dense_spread s = p.out;
    const int thread = (int)threadIdx.x, sums = (1 + j.to.n_finishes) * p.width;
    int log = 0; /* of how many share a sum */

    if (j.to.n_finishes == 0) return;
    __syncthreads();
#pragma unroll
    for (int which = 0; which <= CUDA_FINISHES; which++) {
        const float *v = which == 0 ? tally.u : tally.product[which == 0 ? 0 : which - 1];
        float4 *to = (float4 *)(shared + 8 * (which * s.step + thread));
        if (which > j.to.n_finishes || thread >= s.step) break;
        to[0] = make_float4(v[0], v[1], v[2], v[3]);
        to[1] = make_float4(v[4], v[5], v[6], v[7]);
    }
    while (log < 5 && sums << (log + 1) <= THREADS && 2 << log <= s.rows)
        log++;
    __syncthreads();
    for (int begin = 0; begin < sums << log; begin += THREADS) {
        const int i = (begin + thread) >> log, part = thread & ((1 << log) - 1);
        const int which = i / p.width, c = i - which * p.width;
        float sum = 0;
        if (i < sums)
#pragma unroll 4
            for (int r = part; r < s.rows; r += 1 << log)
                sum += shared[which * 8 * s.step + r * p.width + c];
        for (int mask = 1; mask < 1 << log; mask *= 2)
            sum += cuda_exchange(sum, mask);
        if (i < sums && part == 0) cuda_give_share(j.to, p.all, p.first + c, which, sum);
    }
    cuda_close_results(j.to, p.all, p.blocks, shared);
}

template <bool BACK>
__global__ static void __launch_bounds__(THREADS, PER_SM)
    joined_kernel(const __grid_constant__ cuda_level_convs jobs)
{
    CUDA_DYNAMIC_SHARED(shared);
    const int job = cuda_find_job(jobs), thread = (int)threadIdx.x;
    const cuda_level_conv &j = jobs.at[job];
    const product p =
        plan<BACK>(j, (int)blockIdx.x - jobs.first[job], jobs.first[job + 1] - jobs.first[job]);
    const dense_piece in = dense_find_piece(p.depth, 8 * thread / p.depth, p.in);
    const dense_piece out = dense_find_piece(p.width, 8 * thread / p.width, p.out);
    cuda_tally<8> tally = {};

    /* channels behind the last one are multiplied, too */
    for (int i = thread; i < p.rows * p.map.left_pitch / 8; i += THREADS)
        ((uint4 *)(shared + p.map.left))[i] = make_uint4(0, 0, 0, 0);
    cuda_begin_beside(jobs.beside);
    fetch_values<BACK>(j, p, in, p.tile, shared);
    fetch_met<BACK>(j, p, out, p.tile, shared);
    load_coefs<BACK>(j, p, shared);
    __syncthreads();
    for (int tile = p.tile; tile * p.rows < p.n; tile += p.stride) {
        cuda_wait_copies();
        convert<BACK>(j, p, in, tile, shared);
        fetch_values<BACK>(j, p, in, tile + p.stride, shared);
        __syncthreads();
        multiply_tile(j, p, shared);
        __syncthreads();
        cuda_wait_copies();
        put_results<BACK>(j, p, out, tile, shared, &tally);
        fetch_met<BACK>(j, p, out, tile + p.stride, shared);
    }
    end_results(j, p, tally, (float *)shared);
    cuda_end(jobs.beside);
}

/* ---- launches ---- */

/* Columns of a tile: as many for each of the blocks that share them, a multiple of 32, so that packed weights, which are
 * padded, have all that a warp multiplies. */
static int choose_columns(int columns)
{
    const int groups = dense_divide_up(columns, COLUMNS);

    return groups == 1 ? columns : dense_round(dense_divide_up(columns, groups), 32);
}

static int count_bytes(const cuda_level_conv &j, bool back, int rows)
{
    const int depth = back ? j.conv.c_out : j.conv.c_in;
    const int columns = choose_columns(back ? j.conv.c_in : j.conv.c_out);
    const int bytes = map_of(rows, depth, columns, back && j.dz.z, count_met(j.to)).bytes;
    const int sums = 4 * 8 * THREADS * (1 + j.to.n_finishes);

    return bytes > sums ? bytes : sums;
}

bool pada_cuda_dense_joins(const cuda_level_conv *j, bool back)
{
    const cuda_dense_hints h = dense_hint(*j, back ? j->in : j->out, back, 4);

    return dense_is_plain(j->conv) && !dense_is_image(&j->conv) &&
           dense_is_moderate(j->conv.c_in) && dense_is_moderate(j->conv.c_out) && h.joined_in &&
           h.joined_out && h.wide_in && h.wide_to && count_bytes(*j, back, 16) <= MOST_SHARED;
}

/* Pixels of a tile: many, unless there would be too few tiles for `blocks`. */
static int choose_rows(const cuda_level_conv &j, bool back, int blocks)
{
    const pada_shape shape = back ? j.in : j.out;
    const int64_t pixels = (int64_t)j.n_images * shape.h * shape.w;

    for (int rows = 128; rows > 16; rows -= 32)
        if (count_bytes(j, back, rows) <= SHARED && (rows == 32 || pixels / rows >= blocks))
            return rows;
    return 16;
}

static cuda_dense_hints hint(const cuda_level_conv &j, bool back, int blocks)
{
    const cuda_result &to = j.to;
    const int depth = back ? j.conv.c_out : j.conv.c_in, all = back ? j.conv.c_in : j.conv.c_out;
    const int columns = choose_columns(all);
    cuda_dense_hints h = {};

    h.wide_in = !back ? dense_is_whole(j.x.data, j.x.pitch, depth, depth)
                      : dense_is_whole(j.dz.dy, j.dz.dy_pitch, depth, depth) &&
                            (!j.dz.z || dense_is_whole(j.dz.z, j.dz.z_pitch, depth, depth));
    h.wide_to = dense_is_whole(to.data, to.pitch, all, columns) &&
                (!to.at.data || dense_is_whole(to.at.data, to.at.pitch, all, columns));
    for (int f = 0; f < to.n_finishes; f++)
        h.wide_to = h.wide_to &&
                    (!to.finishes[f].z || dense_is_whole(to.finishes[f].z, to.pitch, all, columns));
    h.rows = (unsigned char)choose_rows(j, back, blocks);
    h.columns = (short)columns;
    return h;
}

template <bool BACK> static cudaError_t launch(cudaStream_t stream, cuda_level_convs *placed)
{
    level_work work[CUDA_LEVEL_CONVS];
    int bytes = 0;

    for (int k = 0; k < placed->n; k++) {
        cuda_level_conv *j = &placed->at[k];
        const pada_shape shape = BACK ? j->in : j->out;
        const int depth = BACK ? j->conv.c_out : j->conv.c_in;
        j->hints = hint(*j, BACK, BLOCKS / placed->n);
        const int64_t pixels = (int64_t)j->n_images * shape.h * shape.w;
        const int moved =
            depth * (BACK && j->dz.z ? 2 : 1) + j->hints.columns * (1 + count_met(j->to));
        work[k] = {dense_divide_up(BACK ? j->conv.c_in : j->conv.c_out, j->hints.columns),
                   (int)((pixels + j->hints.rows - 1) / j->hints.rows),
                   dense_divide_up(j->hints.rows * moved, 64)};
        bytes = count_bytes(*j, BACK, j->hints.rows) > bytes ? count_bytes(*j, BACK, j->hints.rows)
                                                             : bytes;
    }
    level_place_blocks(work, placed->n, BLOCKS, placed->first);
    if (bytes > 48 * 1024) {
        const cudaError_t error = cudaFuncSetAttribute(
            (const void *)joined_kernel<BACK>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
        if (error != cudaSuccess) return error;
    }
    return cuda_launch(joined_kernel<BACK>, (unsigned)placed->first[placed->n], THREADS,
                       (size_t)bytes, stream, *placed);
}

cudaError_t pada_cuda_dense_joined(cudaStream_t stream, const cuda_level_convs *jobs, bool back,
                                   bool *beside)
{
    cuda_level_convs placed;

    placed.n = 0;
    placed.beside = *beside;
    for (int k = 0; k < jobs->n; k++)
        if (pada_cuda_dense_joins(&jobs->at[k], back)) placed.at[placed.n++] = jobs->at[k];
    if (placed.n == 0) return cudaSuccess;
    *beside = true;
    return back ? launch<true>(stream, &placed) : launch<false>(stream, &placed);
}
