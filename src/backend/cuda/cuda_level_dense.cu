/* cuda_level_dense.cu - dense convolutions of levels, and the gradients of their inputs, on tensor cores.
 *
 * A block makes tiles of ROWS pixels and DENSE_COLUMNS channels, one after the other. What it reads goes through registers,
 * where norm and activation, or the coefficients of a gradient, are applied, into shared memory, while the product of
 * the step before is computed:
 *
 *   left    [2][ROWS][PITCH]            what pixels read
 *   right   [2][DENSE_COLUMNS][PITCH]   weights
 *   coefs   [3][DENSE_MOST]             of the norm (factor, shift) or of the gradient (a, b, c)
 *
 * A tile is staged in `left` as bfloat16, [ROWS][STAGE], and written row by row; the tallies take the same place. */
#include "backend/cuda/cuda_level_dense.cuh"

enum {
    ROWS = 128,
    PITCH = DENSE_DEPTH + 8, /* elements; no two rows of a matrix in the same banks */
    STAGE = DENSE_COLUMNS + 8,
    LEFT_BYTES = 2 * ROWS * PITCH * 2,
    RIGHT_BYTES = 2 * DENSE_COLUMNS * PITCH * 2,
    SHARED_BYTES = LEFT_BYTES + RIGHT_BYTES + 3 * DENSE_MOST * 4,
    LANES = DENSE_COLUMNS / 8,
    SLOTS = DENSE_THREADS / LANES,
    GROUPS = DENSE_DEPTH / 8,             /* of 8 channels in a row of left or right */
    EACH = ROWS * GROUPS / DENSE_THREADS, /* of left, of a thread */
    WEIGHTS = DENSE_COLUMNS * GROUPS / DENSE_THREADS,
    AT_ONCE = 2,     /* rows that are written */
    BLOCKS = 3 * 132 /* of a launch: as many as an H200 runs at a time, each with several tiles */
};

static_assert(ROWS * STAGE * 2 <= LEFT_BYTES, "a tile is staged in left");
static_assert(cuda_tally_floats<8>(DENSE_THREADS) * 4 <= LEFT_BYTES, "and so are tallies");

bool pada_cuda_level_dense_fits(const pada_conv *conv)
{
    const pada_conv_list list = {/* kernels */ PADA_ANY,
                                 /* strides */ PADA_ANY,
                                 /* pads */ PADA_ANY,
                                 /* dilations */ PADA_ANY,
                                 /* groupings */ PADA_ONE(PADA_DENSE),
                                 /* acts */ PADA_ONE(PADA_ACT_NONE) | PADA_ONE(PADA_ACT_RELU) |
                                     PADA_ONE(PADA_ACT_RELU6),
                                 /* offsets */ PADA_ANY};
    const int depth = dense_is_image(conv) ? conv->c_in * dense_taps(conv) : conv->c_in;

    return pada_conv_in(&list, conv) && conv->c_out % 2 == 0 && conv->c_out <= DENSE_MOST &&
           depth <= DENSE_MOST && (dense_is_image(conv) || conv->c_in % 2 == 0);
}

/* ---- weights ---- */

static __host__ __device__ inline int pack_rows(const cuda_dense_pack *p, bool transposed)
{
    return dense_round(transposed ? p->c_in : p->c_out, DENSE_COLUMNS);
}

static __host__ __device__ inline int pack_columns(const cuda_dense_pack *p, bool transposed)
{
    return dense_round(transposed ? p->c_out : p->c_in, DENSE_DEPTH);
}

/* As one tap of so many channels, where a row of numbers is read. */
static __host__ __device__ inline cuda_dense_pack pack_of(const pada_conv *conv)
{
    const int taps = dense_taps(conv);

    return dense_is_image(conv) ? cuda_dense_pack{0, 0, conv->c_in * taps, conv->c_out, 1}
                                : cuda_dense_pack{0, 0, conv->c_in, conv->c_out, taps};
}

int64_t pada_cuda_dense_pack_half(const pada_conv *conv)
{
    const cuda_dense_pack p = pack_of(conv);

    return 2 * (int64_t)p.taps * pack_rows(&p, false) * pack_columns(&p, false);
}

int64_t pada_cuda_dense_pack_bytes(const pada_conv *conv)
{
    const cuda_dense_pack p = pack_of(conv);

    return pada_cuda_dense_pack_half(conv) +
           2 * (int64_t)p.taps * pack_rows(&p, true) * pack_columns(&p, true);
}

/* blockIdx.y is the convolution. */
__global__ static void pack_kernel(const __grid_constant__ cuda_dense_packs jobs,
                                   const float *params, char *fragments)
{
    cuda_begin();
    const cuda_dense_pack &p = jobs.at[blockIdx.y];
    const float *weight = params + p.weight;
    uint16_t *to = (uint16_t *)(fragments + p.to);

    for (int half = 0; half < 2; half++) {
        const int rows = pack_rows(&p, half), columns = pack_columns(&p, half);
        const int n = p.taps * rows * columns;
        CUDA_FOR(i, n)
        {
            const int column = (int)i % columns, row = (int)i / columns % rows;
            const int tap = (int)i / columns / rows;
            const int out = half ? column : row, in = half ? row : column;
            to[i] = out < p.c_out && in < p.c_in
                        ? cuda_narrow(weight[((int64_t)out * p.c_in + in) * p.taps + tap])
                        : 0;
        }
        to += n;
    }
}

cuda_dense_pack pada_cuda_dense_pack_job(const pada_conv *conv, int64_t weight, int64_t to)
{
    cuda_dense_pack p = pack_of(conv);

    p.weight = weight;
    p.to = to;
    return p;
}

cudaError_t pada_cuda_dense_pack(cudaStream_t stream, const float *params,
                                 const cuda_dense_packs *jobs, void *fragments)
{
    return cuda_launch(pack_kernel, dim3(32, (unsigned)jobs->n), CUDA_BLOCK, 0, stream, *jobs,
                       params, (char *)fragments);
}

/* ---- what a block reads ---- */

/* The sizes of a product, and this thread's part of it. */
struct product {
    dense_rows rows;
    int taps; /* 1 where rows of numbers are read */
    int columns, depth, padded;
    int steps; /* of a tile */
    bool plain, wide;
    int group; /* of 8 channels that this thread reads */
};

template <bool BACK> static __device__ __forceinline__ product plan(const cuda_level_conv &j)
{
    const cuda_dense_pack pack = pack_of(&j.conv);
    product p;

    p.rows = dense_count(j.n_images, BACK ? j.in : j.out);
    p.taps = pack.taps;
    p.columns = BACK ? pack.c_in : pack.c_out;
    p.depth = BACK ? pack.c_out : pack.c_in;
    p.padded = dense_round(p.depth, DENSE_DEPTH);
    p.steps = p.taps * (p.padded / DENSE_DEPTH);
    p.plain = dense_is_plain(j.conv);
    p.wide = BACK ? cuda_is_wide(j.dz) : cuda_is_wide(j.x.data, j.x.image, j.x.pitch);
    p.group = (int)threadIdx.x % GROUPS;
    return p;
}

/* What is on its way from memory to the next step. */
template <bool BACK> struct cargo {
    cuda_raw<8> value[EACH], z[BACK ? EACH : 1];
    uint4 weight[WEIGHTS];
    bool is[EACH]; /* not outside of the image */
};

template <bool BACK, bool IMAGE>
static __device__ __forceinline__ void load_step(const cuda_level_conv &j, const product &p,
                                                 const cuda_spot *spots, int column, int step,
                                                 cargo<BACK> *to)
{
    const int chunks = p.padded / DENSE_DEPTH, tap = step / chunks;
    const int k = step % chunks * DENSE_DEPTH + p.group * 8;
    const int kh = tap / j.conv.kernel, kw = tap % j.conv.kernel;
    const int first = (int)threadIdx.x / GROUPS;

#pragma unroll
    for (int i = 0; i < EACH; i++) {
        const cuda_spot spot = spots[i];
        to->value[i] = {};
        if (IMAGE) {
            to->is[i] = spot.image >= 0;
            if (to->is[i]) to->value[i] = dense_gather(j, spot, p.rows.width, k);
            continue;
        }
        const int64_t pixel = p.plain ? (spot.image < 0 ? -1 : spot.pixel)
                                      : dense_source<BACK>(j, spot, p.rows.width, kh, kw);
        to->is[i] = pixel >= 0;
        if (pixel < 0) continue;
        if (!BACK) {
            to->value[i] = cuda_fetch<8>(j.x.data, spot.image * j.x.image + pixel * j.x.pitch + k,
                                         p.depth - k, p.wide);
            continue;
        }
        to->value[i] = cuda_fetch<8>(
            j.dz.dy, spot.image * j.dz.dy_image + pixel * j.dz.dy_pitch + k, p.depth - k, p.wide);
        if (j.dz.z)
            to->z[i] = cuda_fetch<8>(j.dz.z, spot.image * j.dz.z_image + pixel * j.dz.z_pitch + k,
                                     p.depth - k, p.wide);
    }
    const int n_rows = dense_round(p.columns, DENSE_COLUMNS);
    const uint16_t *weights =
        (const uint16_t *)j.fragment + ((int64_t)tap * n_rows + column + first) * p.padded + k;
#pragma unroll
    for (int i = 0; i < WEIGHTS; i++)
        to->weight[i] =
            *(const uint4 *)(weights + (int64_t)i * (DENSE_THREADS / GROUPS) * p.padded);
}

/* act(factor x + shift), or a dy + b z + c, of the channels [k, k + 8). */
template <bool BACK>
static __device__ __forceinline__ cuda_raw<8> apply(const cuda_level_conv &j, const float *coefs,
                                                    int k, const cuda_raw<8> &value,
                                                    const cuda_raw<8> &z)
{
    float v[8], w[8];

    cuda_unpack<8>(value, v);
    if (BACK) {
        cuda_unpack<8>(z, w);
#pragma unroll
        for (int i = 0; i < 8; i++)
            v[i] = coefs[k + i] * v[i] +
                   (coefs[DENSE_MOST + k + i] * w[i] + coefs[2 * DENSE_MOST + k + i]);
    } else {
#pragma unroll
        for (int i = 0; i < 8; i++)
            v[i] = coefs[k + i] * v[i] + coefs[DENSE_MOST + k + i];
        cuda_apply_act<8>(j.x.act, v);
    }
    return dense_pack(v);
}

template <bool BACK>
static __device__ __forceinline__ void store_step(const cuda_level_conv &j, const product &p,
                                                  const cargo<BACK> &from, int step, char *left,
                                                  char *right, const float *coefs)
{
    const int k = step % (p.padded / DENSE_DEPTH) * DENSE_DEPTH + p.group * 8;
    const int first = (int)threadIdx.x / GROUPS;
    const bool plain = BACK ? !j.dz.z : !j.x.mean && j.x.act == PADA_ACT_NONE;

#pragma unroll
    for (int i = 0; i < EACH; i++) {
        cuda_raw<8> v = from.value[i];
        if (!plain && from.is[i] && k < p.depth)
            v = apply<BACK>(j, coefs, k, v, from.z[BACK ? i : 0]);
        *(uint4 *)(left + ((first + i * (DENSE_THREADS / GROUPS)) * PITCH + p.group * 8) * 2) =
            dense_vector(v);
    }
#pragma unroll
    for (int i = 0; i < WEIGHTS; i++)
        *(uint4 *)(right + ((first + i * (DENSE_THREADS / GROUPS)) * PITCH + p.group * 8) * 2) =
            from.weight[i];
}

/* Coefficients of all channels that are read; zero behind the last one. */
template <bool BACK>
static __device__ __forceinline__ void load_coefs(const cuda_level_conv &j, const product &p,
                                                  float *coefs)
{
    for (int c = (int)threadIdx.x; c < p.padded; c += DENSE_THREADS) {
        if (BACK && j.dz.z) {
            for (int k = 0; k < 3; k++)
                coefs[k * DENSE_MOST + c] = c < p.depth ? j.dz.coef[k * j.dz.vector + c] : 0;
        } else if (!BACK && !dense_is_image(&j.conv)) {
            const cuda_norm<1> norm = cuda_read_norm<1>(j.x, c, c < p.depth);
            coefs[c] = norm.factor[0];
            coefs[DENSE_MOST + c] = norm.shift[0];
        }
    }
}

/* ---- what it computes ---- */

/* A warp has 32 rows: acc[half of 16][tile of 8 columns]. */
static __device__ __forceinline__ void multiply(const char *left, const char *right, int depth,
                                                int n_tiles, float acc[2][8][4])
{
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    const uint32_t a_at =
        cuda_shared_address(left + ((warp * 32 + lane % 16) * PITCH + lane / 16 * 8) * 2);
    const uint32_t b_at =
        cuda_shared_address(right + ((lane / 16 * 8 + lane % 8) * PITCH + lane / 8 % 2 * 8) * 2);

#pragma unroll
    for (int k = 0; k < DENSE_DEPTH; k += 16) {
        if (k >= depth) break;
        uint32_t a[2][4];
        cuda_load_matrices(a[0], a_at + k * 2);
        cuda_load_matrices(a[1], a_at + (16 * PITCH + k) * 2);
#pragma unroll
        for (int t = 0; t < 8; t += 2) {
            if (t >= n_tiles) break;
            uint32_t b[4];
            cuda_load_matrices(b, b_at + (t * 8 * PITCH + k) * 2);
#pragma unroll
            for (int half = 0; half < 2; half++) {
                cuda_mma(acc[half][t], a[half], b[0], b[1]);
                cuda_mma(acc[half][t + 1], a[half], b[2], b[3]);
            }
        }
    }
}

/* The tile as bfloat16, to be written by rows. */
static __device__ __forceinline__ void stage(char *to, int n_tiles, const float acc[2][8][4])
{
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;

#pragma unroll
    for (int half = 0; half < 2; half++)
#pragma unroll
        for (int t = 0; t < 8; t++) {
            if (t >= n_tiles) break;
            const int row = warp * 32 + half * 16 + lane / 4, column = t * 8 + lane % 4 * 2;
            uint32_t *at = (uint32_t *)(to + (row * STAGE + column) * 2);
            at[0] = cuda_pair(acc[half][t][0], acc[half][t][1]);
            at[8 * STAGE / 2] = cuda_pair(acc[half][t][2], acc[half][t][3]);
        }
}

/* The loads of a step are under way while the one before is computed; there is one copy of each, since code has to fit
 * the instruction cache. */
template <bool BACK, bool IMAGE>
static __device__ __forceinline__ void make_tile(const cuda_level_conv &j, const product &p,
                                                 int tile, int column, char *shared,
                                                 float acc[2][8][4])
{
    char *const right = shared + LEFT_BYTES;
    const float *coefs = (const float *)(shared + LEFT_BYTES + RIGHT_BYTES);
    const int n_tiles = (min(p.columns - column, DENSE_COLUMNS) + 7) / 8;
    const int chunks = p.padded / DENSE_DEPTH;
    cuda_spot spots[EACH];
    cargo<BACK> cargo;

#pragma unroll
    for (int i = 0; i < EACH; i++)
        spots[i] =
            dense_locate(tile * ROWS + (int)threadIdx.x / GROUPS + i * (DENSE_THREADS / GROUPS),
                         p.rows.n, p.rows);
#pragma unroll 1
    for (int step = 0; step <= p.steps; step++) {
        const int now = step % 2, before = 1 - now;
        if (step < p.steps) load_step<BACK, IMAGE>(j, p, spots, column, step, &cargo);
        if (step > 0)
            multiply(shared + before * (LEFT_BYTES / 2), right + before * (RIGHT_BYTES / 2),
                     p.depth - (step - 1) % chunks * DENSE_DEPTH, n_tiles, acc);
        if (step < p.steps)
            store_step<BACK>(j, p, cargo, step, shared + now * (LEFT_BYTES / 2),
                             right + now * (RIGHT_BYTES / 2), coefs);
        __syncthreads();
    }
    stage(shared, n_tiles, acc);
    __syncthreads();
}

/* Tiles of rows, and of columns. */
template <bool BACK> static int count_tiles(const cuda_level_conv &j)
{
    const pada_shape to = BACK ? j.in : j.out;

    return (int)(((int64_t)j.n_images * to.h * to.w + ROWS - 1) / ROWS);
}

template <bool BACK> static int count_columns(const cuda_level_conv &j)
{
    return ((BACK ? j.in : j.out).c + DENSE_COLUMNS - 1) / DENSE_COLUMNS;
}

/* Writes a staged tile. */
static __device__ __forceinline__ void write_tile(const cuda_level_conv &j, const product &p,
                                                  int tile, int c, int valid, bool wide,
                                                  const char *staged, cuda_tally<8> *tally)
{
    const int lane = (int)threadIdx.x % LANES, slot = (int)threadIdx.x / LANES;
    const cuda_norm<8> at = cuda_read_norm<8>(j.to.at, c, valid);

    for (int first = slot; first < ROWS && valid > 0; first += SLOTS * AT_ONCE) {
        cuda_spot spots[AT_ONCE];
        float v[AT_ONCE][8];
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) {
            const int row = first + k * SLOTS;
            spots[k] = dense_locate(tile * ROWS + row, p.rows.n, p.rows);
            cuda_unpack8(*(const uint4 *)(staged + (row * STAGE + lane * 8) * 2), v[k]);
        }
        cuda_put_results<8, AT_ONCE>(j.to, at, spots, c, valid, wide, v, tally);
    }
}

template <bool BACK, bool IMAGE>
__global__ static void __launch_bounds__(DENSE_THREADS, 3)
    product_kernel(const __grid_constant__ cuda_level_convs jobs)
{
    cuda_begin();
    CUDA_DYNAMIC_SHARED(shared);
    const int k = cuda_find_job(jobs);
    const cuda_level_conv &j = jobs.at[k];
    const product p = plan<BACK>(j);
    const int columns = (p.columns + DENSE_COLUMNS - 1) / DENSE_COLUMNS;
    const int blocks = jobs.first[k + 1] - jobs.first[k], turns = blocks / columns;
    const int block = (int)blockIdx.x - jobs.first[k], column = block % columns * DENSE_COLUMNS;
    const int lane = (int)threadIdx.x % LANES, slot = (int)threadIdx.x / LANES;
    const int c = column + lane * 8, valid = p.columns - c;
    const bool wide = cuda_is_wide(j.to);
    cuda_tally<8> tally = {};

    load_coefs<BACK>(j, p, (float *)(shared + LEFT_BYTES + RIGHT_BYTES));
    __syncthreads();
    for (int tile = block / columns; tile * ROWS < p.rows.n; tile += turns) {
        float acc[2][8][4] = {};
        make_tile<BACK, IMAGE>(j, p, tile, column, shared, acc);
        write_tile(j, p, tile, c, valid, wide, shared, &tally);
        __syncthreads();
    }
    cuda_end_results<8>(j.to, p.columns, column, lane, LANES, slot, SLOTS, blocks, tally,
                        (float *)shared);
}

/* Those of the jobs that read rows of numbers, or the others. */
template <bool BACK, bool IMAGE>
static cudaError_t launch_products(cudaStream_t stream, const cuda_level_convs *jobs)
{
    cuda_level_convs placed;
    level_work work[CUDA_LEVEL_CONVS];

    placed.n = 0;
    for (int k = 0; k < jobs->n; k++) {
        const cuda_level_conv &j = jobs->at[k];
        if (dense_is_image(&j.conv) != IMAGE) continue;
        work[placed.n] = {count_columns<BACK>(j), count_tiles<BACK>(j), 1 + pack_of(&j.conv).taps};
        placed.at[placed.n++] = j;
    }
    if (placed.n == 0) return cudaSuccess;
    level_place_blocks(work, placed.n, BLOCKS, placed.first);
    return cuda_launch(product_kernel<BACK, IMAGE>, (unsigned)placed.first[placed.n], DENSE_THREADS,
                       SHARED_BYTES, stream, placed);
}

cudaError_t pada_cuda_level_dense_forward(cudaStream_t stream, const cuda_level_convs *jobs)
{
    const cudaError_t error = launch_products<false, true>(stream, jobs);

    return error == cudaSuccess ? launch_products<false, false>(stream, jobs) : error;
}

cudaError_t pada_cuda_level_dense_grad_in(cudaStream_t stream, const cuda_level_convs *jobs)
{
    return launch_products<true, false>(stream, jobs);
}
