/* cuda_level_dense_points.cu - gradients of the weights of pointwise convolutions whose pixels lie in one piece.
 *
 * A block sums a tile of weights over a share of the pixels, a chunk of pixels at a time:
 *
 *   arrived dy, z, x -> convert -> dz [pixel][out], x [pixel][in] -> tensor cores
 *
 * All threads copy and convert pieces of both operands (cuda_level_dense_pieces.cuh); those of the next chunk are on their
 * way while this one is multiplied (cuda_level_dense_squares.cuh). */
#include "backend/cuda/cuda_level_dense_pieces.cuh"
#include "backend/cuda/cuda_level_dense_squares.cuh"

enum {
    THREADS = SQUARES_THREADS,
    SIDE = SQUARES_SIDE,
    PER_SM = 2,
    BLOCKS = PER_SM * 132, /* of a launch: as many as an H200 runs at a time */
    LEAST = 64,            /* pixels of a block */
    SHARED = 96 * 1024,    /* what every device has */
    BEHIND = 32            /* bytes that squares read behind the last pixel */
};

/* ---- how the work is divided ---- */

/* Bytes before each part of shared memory; the sums at the end take the place of all. */
struct points_map {
    int x_coefs;  /* [2][period]: factor, shift; before it [3][period]: a, b, c */
    int dy, z, x; /* arrived */
    int dz, xs;   /* converted */
    int bytes;
};

/* What the host works out for a job. Its tiles are of one size, so that the last ones overlap with those before. */
struct points_plan {
    cuda_divisor tiles, outs;   /* all tiles, and those along the channels of dz */
    cuda_divisor by_out, by_in; /* channels of a tile */
    int share, chunk;           /* pixels of a block, and of what it multiplies at a time */
    dense_spread dz, x;
    dense_squares squares;
};

struct points_jobs {
    cuda_level_convs convs;
    points_plan plans[CUDA_LEVEL_CONVS];
};

static_assert(sizeof(points_jobs) <= 4096, "arguments of a kernel");

/* Elements of a row of a matrix: an odd multiple of 16 bytes, so that eight rows lie in different banks. */
static __host__ __device__ inline int pitch_of(int channels)
{
    const int pieces = (channels + 7) / 8;

    return 8 * (pieces + 1 - pieces % 2);
}

static __host__ __device__ inline points_map map_of(int out, int in, int pixels)
{
    points_map m;

    m.x_coefs = 3 * 4 * dense_period(out);
    m.dy = dense_round(m.x_coefs + 2 * 4 * dense_period(in), 16);
    m.z = m.dy + 2 * pixels * out;
    m.x = m.z + 2 * pixels * out;
    m.dz = m.x + 2 * pixels * in;
    m.xs = m.dz + 2 * pixels * pitch_of(out);
    m.bytes = m.xs + 2 * pixels * pitch_of(in) + BEHIND;
    return m;
}

/* Channels of a tile: even parts that begin where pieces do. */
static int tile_side(int channels)
{
    const int tiles = dense_divide_up(channels, SIDE);

    return dense_round(dense_divide_up(channels, tiles), channels % 8 == 0 ? 8 : 4);
}

static int count_tiles(int channels)
{
    return dense_divide_up(channels, tile_side(channels));
}

/* As many blocks as run at a time, unless there are too few pixels for them. Partial sums are no more than half of what is
 * read. */
int pada_cuda_dense_points_splits(const pada_conv *conv, pada_shape out, int n_images, double share)
{
    const int64_t rows = (int64_t)n_images * out.h * out.w;
    const int64_t bytes = rows * (4 * conv->c_out + 2 * conv->c_in);
    int64_t splits =
        (int64_t)(share * BLOCKS) / (count_tiles(conv->c_out) * count_tiles(conv->c_in));

    if (splits > rows / LEAST) splits = rows / LEAST;
    if (splits > bytes / (8 * pada_conv_weights(conv)))
        splits = bytes / (8 * pada_conv_weights(conv));
    return splits < 1 ? 1 : (int)splits;
}

/* Chunks are of the same size, as few as there is room for. */
static points_plan make_plan(const cuda_level_conv &j)
{
    const int out = tile_side(j.conv.c_out), in = tile_side(j.conv.c_in);
    const int outs = count_tiles(j.conv.c_out), rows = j.n_images * j.out.h * j.out.w;
    const int pixel = map_of(out, in, 1).bytes - map_of(out, in, 0).bytes;
    const int most = (SHARED - map_of(out, in, 0).bytes) / pixel / 16 * 16;
    points_plan p;

    p.outs = cuda_prepare_divisor(outs);
    p.tiles = cuda_prepare_divisor(outs * count_tiles(j.conv.c_in));
    p.by_out = cuda_prepare_divisor(out);
    p.by_in = cuda_prepare_divisor(in);
    p.share = dense_round(dense_divide_up(rows, j.splits), 16);
    p.chunk = dense_round(dense_divide_up(p.share, dense_divide_up(p.share, most)), 16);
    p.dz = dense_spread_out(out, THREADS);
    p.x = dense_spread_out(in, THREADS);
    p.squares = dense_divide_squares(out, in);
    return p;
}

/* What a block has. */
struct points {
    const points_plan &plan;
    points_map map;
    int split, begin, end; /* pixels */
    int out, in;           /* the first channels of the tile */
};

static __device__ __forceinline__ points find_points(const cuda_level_conv &j,
                                                     const points_plan &plan, int block)
{
    const int split = cuda_divide(block, plan.tiles), tile = block - split * (int)plan.tiles.by;
    const int across = cuda_divide(tile, plan.outs), along = tile - across * (int)plan.outs.by;
    const int out = plan.squares.out, in = plan.squares.in, begin = split * plan.share;

    return {plan,
            map_of(out, in, plan.chunk),
            split,
            begin,
            min(begin + plan.share, j.n_images * j.out.h * j.out.w),
            min(along * out, j.conv.c_out - out),
            min(across * in, j.conv.c_in - in)};
}

/* ---- pieces ---- */

static __device__ __forceinline__ void fetch_chunk(const cuda_level_conv &j, const points &p,
                                                   const dense_piece &dz, const dense_piece &x,
                                                   int first, char *shared)
{
    const points_plan &plan = p.plan;
    const int out = plan.squares.out, in = plan.squares.in, n = min(p.end - first, plan.chunk);

    if (n > 0) {
        dense_fetch_pieces({j.dz.dy, first, j.dz.dy_pitch, p.out, j.hints.wide_in}, out, plan.dz,
                           dz, 2 * n * out, shared + p.map.dy);
        if (j.dz.z)
            dense_fetch_pieces({j.dz.z, first, j.dz.z_pitch, p.out, j.hints.wide_in}, out, plan.dz,
                               dz, 2 * n * out, shared + p.map.z);
        dense_fetch_pieces({j.x.data, first, j.x.pitch, p.in, j.hints.wide_x}, in, plan.x, x,
                           2 * n * in, shared + p.map.x);
    }
}

/* What depends on channels alone. */
static __device__ __forceinline__ void load_coefs(const cuda_level_conv &j, const points &p,
                                                  char *shared)
{
    const int out = p.plan.squares.out, in = p.plan.squares.in;
    const int outs = dense_period(out), ins = dense_period(in);
    float *of_dz = (float *)shared, *of_x = (float *)(shared + p.map.x_coefs);

#pragma unroll 1
    for (int i = (int)threadIdx.x; i < outs; i += THREADS) {
        const cuda_slope<1> slope = cuda_read_slope<1>(j.dz, p.out + (i < out ? i : i - out), 1);
        of_dz[i] = slope.a[0], of_dz[outs + i] = slope.b[0], of_dz[2 * outs + i] = slope.c[0];
    }
#pragma unroll 1
    for (int i = (int)threadIdx.x; i < ins; i += THREADS) {
        const cuda_norm<1> norm = cuda_read_norm<1>(j.x, p.in + (i < in ? i : i - in), 1);
        of_x[i] = norm.factor[0], of_x[ins + i] = norm.shift[0];
    }
}

/* Writes the pieces of this thread to a matrix, and zeros for pixels that are not there. DZ: a dy + b z + c; or
 * act(factor x + shift). */
template <bool DZ>
static __device__ __forceinline__ void convert(bool normed, pada_act act, int channels,
                                               const dense_spread &s, const dense_piece &at, int n,
                                               int pixels, const float *coefs, const char *values,
                                               const char *others, uint16_t *to)
{
    const int period = dense_period(channels), pitch = pitch_of(channels), bytes = 2 * n * channels;
    const int step = 16 * s.step, next = s.rows * pitch,
              half = dense_find_half(channels, at, pitch);
    const bool straight = channels % 8 == 0;
    cuda_slope<8> slope;

    dense_read_floats<8>(coefs + at.coefs, slope.a);
    if (DZ) dense_read_floats<8>(coefs + period + at.coefs, slope.b);
    dense_read_floats<8>(coefs + (DZ ? 2 : 1) * period + at.coefs, slope.c);
    to += at.row * pitch + at.channel;
    for (int i = 16 * at.first; i < 2 * pixels * channels; i += step, to += next) {
        cuda_raw<8> value = {};
        if (i < bytes) {
            value = dense_prepare_piece<DZ>(normed, act, slope, values + i, DZ ? others + i : NULL);
            if (i + 16 > bytes) value.pair[2] = value.pair[3] = 0;
        }
        if (straight) {
            cuda_store_shared16(cuda_shared_address(to), make_uint4(value.pair[0], value.pair[1],
                                                                    value.pair[2], value.pair[3]));
        } else {
            cuda_store_shared8(cuda_shared_address(to), value.pair[0], value.pair[1]);
            cuda_store_shared8(cuda_shared_address(to + half), value.pair[2], value.pair[3]);
        }
    }
}

__global__ static void __launch_bounds__(THREADS, PER_SM)
    points_kernel(const __grid_constant__ points_jobs jobs)
{
    CUDA_DYNAMIC_SHARED(shared);
    const int job = cuda_find_job(jobs.convs), thread = (int)threadIdx.x;
    const cuda_level_conv &j = jobs.convs.at[job];
    const points_plan &plan = jobs.plans[job];
    const points p = find_points(j, plan, (int)blockIdx.x - jobs.convs.first[job]);
    const int out = plan.squares.out, in = plan.squares.in;
    const dense_piece dz = dense_find_piece(out, cuda_divide(8 * thread, plan.by_out), plan.dz);
    const dense_piece x = dense_find_piece(in, cuda_divide(8 * thread, plan.by_in), plan.x);
    const dense_square q = dense_find_square(plan.squares);
    const dense_operands of = {(const uint16_t *)(shared + p.map.dz),
                               (const uint16_t *)(shared + p.map.xs), pitch_of(out), pitch_of(in)};
    float acc[SQUARES_HIGH][2 * SQUARES_WIDE][4] = {};

    cuda_begin_beside(jobs.convs.beside);
    fetch_chunk(j, p, dz, x, p.begin, shared);
    load_coefs(j, p, shared);
    for (int first = p.begin; first < p.end; first += plan.chunk) {
        const int n = min(p.end - first, plan.chunk);
        cuda_wait_all_copies();
        __syncthreads(); /* coefficients are there, the matrices have been read */
        convert<true>(j.dz.z != NULL, PADA_ACT_NONE, out, plan.dz, dz, n, plan.chunk,
                      (const float *)shared, shared + p.map.dy, shared + p.map.z,
                      (uint16_t *)(shared + p.map.dz));
        convert<false>(j.x.mean != NULL, j.x.act, in, plan.x, x, n, plan.chunk,
                       (const float *)(shared + p.map.x_coefs), shared + p.map.x, NULL,
                       (uint16_t *)(shared + p.map.xs));
        fetch_chunk(j, p, dz, x, first + plan.chunk, shared);
        __syncthreads();
        dense_multiply_squares(plan.squares, q, of, plan.chunk, acc);
    }
    dense_add_slices(plan.squares, (float4 *)shared, acc);
    dense_put_squares(j.conv, plan.squares, q, p.out, p.in, j.conv.c_in,
                      j.partial + p.split * (int64_t)j.conv.c_out * j.conv.c_in, acc);
    cuda_end(jobs.convs.beside);
}

/* ---- launches ---- */

bool pada_cuda_dense_has_points(const cuda_level_conv *j)
{
    const cuda_dense_hints h = dense_hint(*j, j->out, true, 4);

    return dense_has_pieces(&j->conv) && h.joined_in && h.wide_in && h.wide_x &&
           dense_is_joined(j->x.image, j->x.pitch, j->out);
}

cudaError_t pada_cuda_dense_points(cudaStream_t stream, const cuda_level_convs *jobs, bool *beside)
{
    points_jobs placed;
    int bytes = SQUARES_SUMS;

    placed.convs.n = placed.convs.first[0] = 0;
    placed.convs.beside = *beside;
    for (int k = 0; k < jobs->n; k++) {
        if (!pada_cuda_dense_has_points(&jobs->at[k])) continue;
        const int n = placed.convs.n++;
        cuda_level_conv *j = &placed.convs.at[n];
        *j = jobs->at[k];
        const points_plan plan = make_plan(*j);
        const int c_out = j->conv.c_out, c_in = j->conv.c_in, out = plan.squares.out;
        j->hints.wide_in = dense_is_whole(j->dz.dy, j->dz.dy_pitch, c_out, out) &&
                           (!j->dz.z || dense_is_whole(j->dz.z, j->dz.z_pitch, c_out, out));
        j->hints.wide_x = dense_is_whole(j->x.data, j->x.pitch, c_in, plan.squares.in);
        placed.plans[n] = plan;
        placed.convs.first[n + 1] = placed.convs.first[n] + j->splits * (int)plan.tiles.by;
        bytes = max(bytes, map_of(out, plan.squares.in, plan.chunk).bytes);
    }
    if (placed.convs.n == 0) return cudaSuccess;
    *beside = true;
    const cudaError_t error = cudaFuncSetAttribute(
        (const void *)points_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    return error == cudaSuccess
               ? cuda_launch(points_kernel, (unsigned)placed.convs.first[placed.convs.n], THREADS,
                             (size_t)bytes, stream, placed)
               : error;
}
