/* cuda_level_dense.cu - dense convolutions of levels, and the gradients of their inputs, on tensor cores: those that
 * cuda_level_dense_joined.cu has no tiles for.
 *
 * A warp makes tiles of ROWS pixels and DENSE_COLUMNS channels, one after the other, DEPTH channels that are read at a
 * time: a step. Its lanes load fragments from memory, apply norm and activation, or the coefficients of a gradient,
 * and write results from the accumulators (cuda_level_dense.cuh); the loads of the next step are under way meanwhile.
 * Warps of a block have the same pixels for up to DENSE_SETS sets of columns, so that all but one find them in the first
 * cache, as they find the weights. Shared memory has what depends on channels alone:
 *
 *   coefs   [3][depth]            of the norm (factor, shift) or of the gradient (a, b, c); or numbers of an image
 *   slopes  [2][DENSE_SETS][64]         factor and shift in front of the activation whose slope results are multiplied by
 *   tally   [sums][WARPS * 32]    what threads keep of their results; then, what cuda_end_results wants */
#include "backend/cuda/cuda_level_dense_result.cuh"

enum {
    WARPS = DENSE_THREADS / 32,
    ROWS = 16,
    LONGEST = 64, /* step; coefficients are padded to it */
    PER_SM = 4,
    BLOCKS = PER_SM * 132 /* of a launch: as many as an H200 runs at a time */
};

/* Channels of a step. Backward, each comes with another number, z. */
template <bool BACK> static constexpr int DEPTH = BACK ? 32 : LONGEST;

/* The sizes of a product, and this warp's part of it. */
struct product {
    dense_rows rows;
    int turns; /* taps; 1 where rows of numbers are read */
    int columns, depth, padded;
    int column, here; /* first column, and how many there are */
    int set, sets;    /* of columns, in the block */
    int blocks;       /* of the job */
    int first, tile, stride;
    bool plain;
};

/* Sets of columns that a block has. */
static __host__ __device__ inline int count_sets(int columns)
{
    const int all = dense_divide_up(columns, DENSE_COLUMNS);

    return dense_divide_up(all, dense_divide_up(all, DENSE_SETS));
}

template <bool BACK>
static __device__ __forceinline__ product plan(const cuda_level_conv &j, int block, int blocks)
{
    const int warp = (int)threadIdx.x / 32;
    product p;

    p.rows = dense_count(j, BACK ? j.in : j.out);
    p.turns = dense_turns(&j.conv);
    p.columns = BACK ? dense_depth(&j.conv) : j.conv.c_out;
    p.depth = BACK ? j.conv.c_out : dense_depth(&j.conv);
    p.padded = dense_round(p.depth, LONGEST);
    p.sets = count_sets(p.columns);
    p.set = warp % p.sets;
    const int groups = dense_divide_up(p.columns, p.sets * DENSE_COLUMNS);
    p.first = block % groups * p.sets * DENSE_COLUMNS;
    p.column = p.first + p.set * DENSE_COLUMNS;
    p.here = min(p.columns - p.column, DENSE_COLUMNS);
    p.blocks = blocks;
    p.tile = block / groups * (WARPS / p.sets) + warp / p.sets;
    p.stride = blocks / groups * (WARPS / p.sets);
    p.plain = dense_is_plain(j.conv);
    if (p.here <= 0) p.tile = p.rows.n; /* nothing to do */
    return p;
}

/* ---- what a warp reads ---- */

/* A tile of pixels, a tap, and the first of DEPTH channels. */
struct step {
    int tile, tap, k;
};

template <bool BACK> static __device__ __forceinline__ bool is_last(const product &p, const step &s)
{
    return s.k + DEPTH<BACK> >= p.depth && s.tap + 1 == p.turns;
}

template <bool BACK> static __device__ __forceinline__ step next_of(const product &p, step s)
{
    s.k += DEPTH<BACK>;
    if (s.k < p.depth) return s;
    s.k = 0;
    if (++s.tap < p.turns) return s;
    s.tap = 0;
    s.tile += p.stride;
    return s;
}

/* What a lane has of pixels g and g + 8. Chunks behind the last channel are not read, nor used. */
template <int W, bool BACK> struct cargo {
    static constexpr int CHUNKS = DEPTH<BACK> / (4 * W);
    cuda_raw<W> value[2][CHUNKS], z[BACK ? 2 : 1][BACK ? CHUNKS : 1];
    bool is[2]; /* not outside of the image */
};

template <int W>
static __device__ __forceinline__ void gather(const cuda_level_conv &j, const product &p,
                                              const dense_corner &corner, int k,
                                              const dense_number *numbers, cuda_raw<W> *to)
{
#pragma unroll
    for (int chunk = 0; chunk < DEPTH<false> / (4 * W); chunk++) {
        const int c = k + chunk * 4 * W;
        if (c >= p.depth) break;
#pragma unroll
        for (int i = 0; i < W; i += 2) {
            const dense_number *two = numbers + c + (int)threadIdx.x % 4 * W + i;
            to[chunk].pair[i / 2] =
                dense_read_number(j, corner, two[0]) | dense_read_number(j, corner, two[1]) << 16;
        }
    }
}

template <int W, bool BACK, bool IMAGE>
static __device__ __forceinline__ void load_step(const cuda_level_conv &j, const product &p,
                                                 const step &s, const dense_number *numbers,
                                                 cargo<W, BACK> *to)
{
    const int lane = (int)threadIdx.x % 32, kh = s.tap / j.conv.kernel, kw = s.tap % j.conv.kernel;

#pragma unroll
    for (int half = 0; half < 2; half++) {
        const int row = s.tile * ROWS + half * 8 + lane / 4;
        cuda_spot spot = {row < p.rows.n ? 0 : -1, 0};
        if (IMAGE || !j.hints.joined_in) spot = dense_locate(row, p.rows.n, p.rows);
        if (IMAGE) {
            gather<W>(j, p, dense_find_corner(j, spot, p.rows.width), s.k, numbers,
                      to->value[half]);
            continue;
        }
        if (!p.plain) {
            const int source = dense_source<BACK>(j, spot, p.rows.width, kh, kw);
            spot = source < 0 ? cuda_spot{-1, 0} : cuda_spot{spot.image, source};
        }
        to->is[half] = spot.image >= 0;
        const int64_t value =
            BACK ? dense_begin(j.hints.joined_in, row, spot, j.dz.dy_image, j.dz.dy_pitch)
                 : dense_begin(j.hints.joined_in, row, spot, j.x.image, j.x.pitch);
        const int64_t z = dense_begin(j.hints.joined_in, row, spot, j.dz.z_image, j.dz.z_pitch);
#pragma unroll
        for (int chunk = 0; chunk < DEPTH<BACK> / (4 * W); chunk++) {
            if (s.k + chunk * 4 * W >= p.depth) break;
            const int c = s.k + chunk * 4 * W + lane % 4 * W;
            const int valid = to->is[half] ? p.depth - c : 0;
            to->value[half][chunk] =
                dense_fetch<W>(BACK ? j.dz.dy : j.x.data, value + c, valid, j.hints.wide_in);
            if (BACK && j.dz.z)
                to->z[half][chunk] = dense_fetch<W>(j.dz.z, z + c, valid, j.hints.wide_in);
        }
    }
}

/* act(factor x + shift), or a dy + b z + c, of the channels from c on: fragments. */
template <int W, bool BACK>
static __device__ __forceinline__ void apply(const cuda_level_conv &j, const product &p,
                                             const float *coefs, int c, int chunk,
                                             cargo<W, BACK> *cargo)
{
    const bool normed = BACK ? j.dz.z != NULL : j.x.mean != NULL;
    float factor[W], other[W], shift[W];

    if (normed) {
        dense_read_floats<W>(coefs + c, factor);
        if (BACK) dense_read_floats<W>(coefs + p.padded + c, other);
        dense_read_floats<W>(coefs + (BACK ? 2 : 1) * p.padded + c, shift);
    }
#pragma unroll
    for (int half = 0; half < 2; half++) {
        uint32_t *pair = cargo->value[half][chunk].pair;
        if (normed) {
            float v[W], z[W];
            cuda_unpack<W>(cargo->value[half][chunk], v);
            if (BACK) cuda_unpack<W>(cargo->z[BACK ? half : 0][BACK ? chunk : 0], z);
#pragma unroll
            for (int i = 0; i < W; i++)
                v[i] = factor[i] * v[i] + (BACK ? other[i] * z[i] + shift[i] : shift[i]);
#pragma unroll
            for (int i = 0; i < W / 2; i++)
                pair[i] = BACK ? cuda_pair(v[2 * i], v[2 * i + 1])
                               : dense_pair_act(j.x.act, v[2 * i], v[2 * i + 1]);
        } else if (!BACK) {
#pragma unroll
            for (int i = 0; i < W / 2; i++)
                pair[i] = dense_act2(j.x.act, pair[i]);
        }
        if (!p.plain && !cargo->is[half])
#pragma unroll
            for (int i = 0; i < W / 2; i++)
                pair[i] = 0;
    }
}

/* What a block reads once. */
template <bool BACK>
static __device__ __forceinline__ void load_coefs(const cuda_level_conv &j, const product &p,
                                                  float *coefs)
{
    const cuda_view &at = j.to.at;
    float *slopes = coefs + 3 * p.padded;

    for (int c = (int)threadIdx.x; c < p.padded; c += DENSE_THREADS) {
        if (BACK && j.dz.z) {
            for (int k = 0; k < 3; k++)
                coefs[k * p.padded + c] = c < p.depth ? j.dz.coef[k * j.dz.vector + c] : 0;
        } else if (!BACK && j.x.mean) {
            const cuda_norm<1> norm = cuda_read_norm<1>(j.x, c, c < p.depth);
            coefs[c] = norm.factor[0];
            coefs[p.padded + c] = norm.shift[0];
        }
    }
    if (!at.data || !at.mean) return;
    for (int c = (int)threadIdx.x; c < p.sets * DENSE_COLUMNS; c += DENSE_THREADS) {
        const cuda_norm<1> norm = cuda_read_norm<1>(at, p.first + c, p.first + c < p.columns);
        slopes[c] = norm.factor[0];
        slopes[DENSE_SLOPES + c] = norm.shift[0];
    }
}

/* ---- what it computes ---- */

template <int W, bool BACK>
static __device__ __forceinline__ void multiply(const cuda_level_conv &j, const product &p,
                                                const step &s, const cargo<W, BACK> &cargo,
                                                float acc[8][4])
{
    const int vectors = dense_round(p.columns, DENSE_COLUMNS) / 16;
    const int steps = dense_round(p.depth, 4 * W) / 16;
    const int n = dense_divide_up(p.here, 4 * W) * (W / 4);
    const uint4 *from = (const uint4 *)j.fragment + (int)threadIdx.x % 32 +
                        ((s.tap * steps + s.k / 16) * vectors + p.column / 16) * 32;

#pragma unroll
    for (int k = 0; k < DEPTH<BACK> / 16; k++) {
        const int chunk = k / (W / 4), pair = k % (W / 4) * 2;
        if (s.k + chunk * 4 * W >= p.depth) break;
        const uint32_t a[4] = {cargo.value[0][chunk].pair[pair], cargo.value[1][chunk].pair[pair],
                               cargo.value[0][chunk].pair[pair + 1],
                               cargo.value[1][chunk].pair[pair + 1]};
        uint4 b[4];
#pragma unroll
        for (int v = 0; v < 4; v++)
            if (v < n) b[v] = from[(k * vectors + v) * 32];
#pragma unroll
        for (int v = 0; v < 4; v++) {
            if (v >= n) break;
            cuda_mma(acc[2 * v], a, b[v].x, b[v].y);
            cuda_mma(acc[2 * v + 1], a, b[v].z, b[v].w);
        }
    }
}

/* ---- what it writes ---- */

template <int W> static __device__ __forceinline__ cuda_norm<W> read_slopes(const float *slopes)
{
    cuda_norm<W> norm;

    dense_read_floats<W>(slopes, norm.factor);
    dense_read_floats<W>(slopes + DENSE_SLOPES, norm.shift);
    return norm;
}

/* Writes a tile. Forward, results meet nothing. */
template <int W, bool BACK>
static __device__ __forceinline__ void write_tile(const cuda_level_conv &j, const product &p,
                                                  int tile, const float *slopes, float *tally,
                                                  const float acc[8][4])
{
    const int lane = (int)threadIdx.x % 32;

#pragma unroll
    for (int half = 0; half < 2; half++) {
        const int row = tile * ROWS + lane / 4 + half * 8;
        cuda_spot spot = {0, 0};
        if (!j.hints.joined_out) spot = dense_locate(row, p.rows.n, p.rows);
        if (row >= p.rows.n) break;
        const int64_t begin = dense_begin(j.hints.joined_out, row, spot, j.to.image, j.to.pitch);
#pragma unroll
        for (int set = 0; set < 16 / W; set++) {
            const int at = set * 4 * W + lane % 4 * W, c = p.column + at, valid = p.columns - c;
            if (valid <= 0) break;
            cuda_met<W> met;
            float v[W];
            if (BACK) met = dense_meet<W>(j, row, spot, c, valid);
#pragma unroll
            for (int k = 0; k < W; k++)
                v[k] = acc[set * (W / 2) + k / 2][half * 2 + k % 2];
            if (BACK) {
                cuda_norm<W> norm;
                if (j.to.at.mean) norm = read_slopes<W>(slopes + p.set * DENSE_COLUMNS + at);
                dense_meet_results<W>(j.to, met, norm, v);
            }
            dense_store<W>(j.to.data, begin + c, valid, j.hints.wide_to, v);
            dense_tally_results<W, BACK>(j.to, met, v, tally, set);
        }
    }
}

/* Turns tallies of several sets of columns into those of one, with fewer threads for each: lane and slot as
 * cuda_end_results has them. */
template <int W>
static __device__ __forceinline__ void end_product(const cuda_level_conv &j, const product &p,
                                                   float *tally)
{
    constexpr int SHARE = 16 / W; /* sets of a thread; threads of a set */
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32, g = lane / 4;
    const int set = g % SHARE, first = (int)threadIdx.x - set * 4;
    cuda_tally<W> sums = {};

    if (j.to.n_finishes == 0) return;
    __syncthreads();
#pragma unroll
    for (int which = 0; which <= CUDA_FINISHES; which++) {
        if (which > j.to.n_finishes) break;
        float *to = which == 0 ? sums.u : sums.product[which == 0 ? 0 : which - 1];
#pragma unroll
        for (int other = 0; other < SHARE; other++)
#pragma unroll
            for (int four = 0; four < W / 4; four++) {
                const float4 v = *dense_tally_at<W>(tally, which, set, four, first + other * 4);
                to[4 * four] += v.x, to[4 * four + 1] += v.y;
                to[4 * four + 2] += v.z, to[4 * four + 3] += v.w;
            }
    }
    __syncthreads();
    cuda_end_results<W>(j.to, p.columns, p.first, (p.set * SHARE + set) * 4 + lane % 4,
                        p.sets * SHARE * 4, warp / p.sets * (8 / SHARE) + g / SHARE,
                        WARPS / p.sets * (8 / SHARE), p.blocks, sums, tally);
}

template <int W, bool BACK, bool IMAGE>
__global__ static void __launch_bounds__(DENSE_THREADS, PER_SM)
    product_kernel(const __grid_constant__ cuda_level_convs jobs)
{
    CUDA_DYNAMIC_SHARED(shared);
    const int job = cuda_find_job(jobs);
    __shared__ cuda_level_conv j; /* as a parameter, its fields would take registers all the time */
    for (int i = (int)threadIdx.x; i < (int)(sizeof j / 4); i += DENSE_THREADS)
        ((uint32_t *)&j)[i] = ((const uint32_t *)&jobs.at[job])[i];
    __syncthreads();
    const product p =
        plan<BACK>(j, (int)blockIdx.x - jobs.first[job], jobs.first[job + 1] - jobs.first[job]);
    float *coefs = (float *)shared, *slopes = coefs + 3 * p.padded,
          *tally = slopes + 2 * DENSE_SLOPES;
    dense_number *numbers = (dense_number *)shared;
    step s = {p.tile, 0, 0};
    cargo<W, BACK> now, next;
    float acc[8][4] = {};

    for (int k = (int)threadIdx.x; IMAGE && k < p.padded; k += DENSE_THREADS)
        numbers[k] = dense_find_number(j, k);
    for (int i = 0; i < (j.to.n_finishes ? (1 + j.to.n_finishes) * 4 : 0); i++)
        ((float4 *)tally)[i * DENSE_THREADS + (int)threadIdx.x] = make_float4(0, 0, 0, 0);
    if (IMAGE) __syncthreads();
    cuda_begin_beside(jobs.beside);
    if (s.tile * ROWS < p.rows.n) load_step<W, BACK, IMAGE>(j, p, s, numbers, &next);
    if (!IMAGE) {
        load_coefs<BACK>(j, p, coefs);
        __syncthreads();
    }
    while (s.tile * ROWS < p.rows.n) {
        const step after = next_of<BACK>(p, s);
        now = next;
        if (!IMAGE)
#pragma unroll
            for (int chunk = 0; chunk < DEPTH<BACK> / (4 * W); chunk++) {
                const int c = s.k + chunk * 4 * W;
                if (c >= p.depth) break;
                apply<W, BACK>(j, p, coefs, c + (int)threadIdx.x % 4 * W, chunk, &now);
            }
        if (after.tile * ROWS < p.rows.n) load_step<W, BACK, IMAGE>(j, p, after, numbers, &next);
        multiply<W, BACK>(j, p, s, now, acc);
        if (is_last<BACK>(p, s)) {
            write_tile<W, BACK>(j, p, s.tile, slopes, tally, acc);
#pragma unroll
            for (int i = 0; i < 32; i++)
                acc[i / 4][i % 4] = 0;
        }
        s = after;
    }
    end_product<W>(j, p, tally);
    cuda_end(jobs.beside);
}

/* ---- launches ---- */

static size_t shared_bytes(const cuda_level_conv &j, bool back)
{
    const int depth = dense_round(back ? j.conv.c_out : dense_depth(&j.conv), LONGEST);
    const int sums = j.to.n_finishes ? (1 + j.to.n_finishes) * 16 * DENSE_THREADS : 0;

    static_assert(cuda_tally_floats<8>(DENSE_THREADS) <= 2 * 16 * DENSE_THREADS,
                  "sums take the same place");
    return sizeof(float) * (size_t)(3 * depth + 2 * DENSE_SLOPES + sums);
}

/* Those of the jobs whose lanes have W channels, and that read rows of numbers or do not. `beside`: of the first launch;
 * of the others it is true. */
template <int W, bool BACK, bool IMAGE>
static cudaError_t launch_products(cudaStream_t stream, const cuda_level_convs *jobs, bool *beside)
{
    cuda_level_convs placed;
    level_work work[CUDA_LEVEL_CONVS];
    size_t bytes = 0;

    placed.n = 0;
    placed.beside = *beside;
    for (int k = 0; k < jobs->n; k++) {
        const cuda_level_conv &j = jobs->at[k];
        const pada_shape rows = BACK ? j.in : j.out;
        if (dense_is_image(&j.conv) != IMAGE || dense_lane_channels(&j.conv) != W ||
            pada_cuda_dense_joins(&j, BACK) || pada_cuda_dense_is_deep(&j, BACK))
            continue;
        const int columns = BACK ? j.conv.c_in : j.conv.c_out, sets = count_sets(columns);
        const int tiles = (int)(((int64_t)j.n_images * rows.h * rows.w + ROWS - 1) / ROWS);
        const int depth = BACK ? j.conv.c_out : dense_depth(&j.conv);
        work[placed.n] = {dense_divide_up(columns, sets * DENSE_COLUMNS),
                          dense_divide_up(tiles, WARPS / sets),
                          1 + dense_turns(&j.conv) * dense_divide_up(depth, DEPTH<BACK>)};
        placed.at[placed.n] = j;
        placed.at[placed.n++].hints = dense_hint(j, rows, BACK, W);
        bytes = shared_bytes(j, BACK) > bytes ? shared_bytes(j, BACK) : bytes;
    }
    if (placed.n == 0) return cudaSuccess;
    *beside = true;
    level_place_blocks(work, placed.n, BLOCKS, placed.first);
    if (bytes > 48 * 1024) {
        const cudaError_t error =
            cudaFuncSetAttribute((const void *)product_kernel<W, BACK, IMAGE>,
                                 cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
        if (error != cudaSuccess) return error;
    }
    return cuda_launch(product_kernel<W, BACK, IMAGE>, (unsigned)placed.first[placed.n],
                       DENSE_THREADS, bytes, stream, placed);
}

cudaError_t pada_cuda_level_dense_forward(cudaStream_t stream, const cuda_level_convs *jobs)
{
    bool beside = jobs->beside;
    cudaError_t error = pada_cuda_dense_joined(stream, jobs, false, &beside);

    if (error == cudaSuccess) error = pada_cuda_dense_deep(stream, jobs, false, &beside);
    if (error == cudaSuccess) error = launch_products<8, false, true>(stream, jobs, &beside);
    if (error == cudaSuccess) error = launch_products<4, false, true>(stream, jobs, &beside);
    if (error == cudaSuccess) error = launch_products<8, false, false>(stream, jobs, &beside);
    return error == cudaSuccess ? launch_products<4, false, false>(stream, jobs, &beside) : error;
}

cudaError_t pada_cuda_level_dense_grad_in(cudaStream_t stream, const cuda_level_convs *jobs)
{
    bool beside = jobs->beside;
    cudaError_t error = pada_cuda_dense_joined(stream, jobs, true, &beside);

    if (error == cudaSuccess) error = pada_cuda_dense_deep(stream, jobs, true, &beside);
    if (error == cudaSuccess) error = launch_products<8, true, false>(stream, jobs, &beside);
    return error == cudaSuccess ? launch_products<4, true, false>(stream, jobs, &beside) : error;
}
