/* cuda_level_dense_weights.cu - gradients of the weights of dense convolutions of levels, on tensor cores.
 *
 * A warp sums up to SIDE x SIDE weights of one tap, a tile, over a share of the pixels of dz, STEP pixels at a time. With
 * g = lane / 4 and q = lane % 4 as in cuda_mma.cuh, a lane has EACH neighbouring channels of dz and of x, of the pixels q,
 * 4 + q, 8 + q and 12 + q of a step:
 *
 *   k       = 2q, 2q + 1, 2q + 8, 2q + 9   are these pixels, in this order
 *   m       = g, g + 8 of tile j           are the channels 4g + 2j and 4g + 2j + 1 of dz
 *   n       = g of tile i                  is channel 4g + i of x
 *
 * so that what comes from memory is a fragment, and nothing goes through shared memory. The warps of a block have
 * neighbouring tiles, as far as these divide evenly, and every so many-th step of a split of the pixels; at the end the
 * sums of the same tile are added up, in order. */
#include "backend/cuda/cuda_level_dense.cuh"

enum {
    WARPS = 8,
    THREADS = WARPS * 32,
    SIDE = 32,
    EACH = 4,
    STEP = 16,
    PER_SM = 2,
    BLOCKS = PER_SM * 132, /* of a job, where there are enough pixels */
    LEAST = 64,            /* pixels of a warp */
    SHARED_BYTES = THREADS * 32 * 4
};

/* How many tiles there are along each side, and how large they are. */
struct sides {
    int outs, ins, out, in;
};

static __host__ __device__ inline sides divide(const pada_conv *conv)
{
    const int depth = dense_depth(conv);
    sides s = {dense_divide_up(conv->c_out, SIDE), dense_divide_up(depth, SIDE), 0, 0};

    s.out = dense_round(dense_divide_up(conv->c_out, s.outs), EACH);
    s.in = dense_round(dense_divide_up(depth, s.ins), EACH);
    return s;
}

static __host__ __device__ inline int count_tiles(const pada_conv *conv)
{
    const sides s = divide(conv);

    return s.outs * s.ins * dense_turns(conv);
}

/* Tiles of a block. */
static __host__ __device__ inline int count_together(int tiles)
{
    return tiles % 8 == 0 ? 8 : tiles % 4 == 0 ? 4 : tiles % 2 == 0 ? 2 : 1;
}

/* As many as there are warps for, unless partial sums would be more than a quarter of what is read. */
int pada_cuda_level_dense_splits(const pada_conv *conv, pada_shape out, int n_images)
{
    const int tiles = count_tiles(conv), together = count_together(tiles);
    const int64_t rows = (int64_t)n_images * out.h * out.w;
    const int64_t bytes = rows * (4 * conv->c_out + 2 * dense_depth(conv));
    int64_t splits = rows / (LEAST * (WARPS / together));

    if (splits > bytes / (16 * pada_conv_weights(conv)))
        splits = bytes / (16 * pada_conv_weights(conv));
    if (splits > BLOCKS / (tiles / together)) splits = BLOCKS / (tiles / together);
    return splits < 1 ? 1 : (int)splits;
}

/* Which weights a warp has, which steps, and this lane's part of what it reads. */
struct share {
    int out, in, tap;      /* first channels of the tile */
    int end_out, end_in;   /* and the last ones + 1 */
    int step, end, stride; /* of STEP pixels */
    int split, together;
    dense_rows rows;
    int valid_out, valid_in; /* how many of EACH channels there are */
    bool plain;
};

static __device__ __forceinline__ share find_share(const cuda_level_conv &j, int block)
{
    const sides sides = divide(&j.conv);
    const int tiles = sides.outs * sides.ins * dense_turns(&j.conv), g = (int)threadIdx.x % 32 / 4;
    const int warp = (int)threadIdx.x / 32;
    share s;

    s.together = count_together(tiles);
    const int groups = tiles / s.together, tile = block % groups * s.together + warp % s.together;
    s.split = block / groups;
    s.rows = dense_count(j, j.out);
    s.stride = WARPS / s.together;
    const int steps = dense_divide_up(s.rows.n, STEP), each = dense_divide_up(steps, j.splits);
    s.step = s.split * each + warp / s.together;
    s.end = min((s.split + 1) * each, steps);
    s.out = tile % sides.outs * sides.out;
    s.in = tile / sides.outs % sides.ins * sides.in;
    s.tap = tile / sides.outs / sides.ins;
    s.end_out = min(s.out + sides.out, j.conv.c_out);
    s.end_in = min(s.in + sides.in, dense_depth(&j.conv));
    s.valid_out = s.end_out - s.out - g * EACH;
    s.valid_in = s.end_in - s.in - g * EACH;
    s.plain = dense_is_plain(j.conv);
    return s;
}

/* ---- what a warp reads ---- */

struct cargo {
    cuda_raw<EACH> dy[4], z[4], x[4];
    uint32_t is, is_x; /* a bit for each pixel */
};

template <bool IMAGE>
static __device__ __forceinline__ void load_step(const cuda_level_conv &j, const share &s, int step,
                                                 const dense_number *numbers, cargo *to)
{
    const int lane = (int)threadIdx.x % 32, c_out = s.out + lane / 4 * EACH;
    const int c_in = s.in + lane / 4 * EACH;
    const bool joined = !IMAGE && j.hints.joined_in;

    to->is = to->is_x = 0;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const int row = step * STEP + i * 4 + lane % 4;
        cuda_spot spot = {row < s.rows.n ? 0 : -1, 0};
        if (!joined) spot = dense_locate(row, s.rows.n, s.rows);
        const int valid = spot.image >= 0 ? s.valid_out : 0;
        to->is |= spot.image >= 0 ? 1u << i : 0u;
        to->dy[i] = dense_fetch<EACH>(
            j.dz.dy, dense_begin(joined, row, spot, j.dz.dy_image, j.dz.dy_pitch) + c_out, valid,
            j.hints.wide_in);
        if (j.dz.z)
            to->z[i] = dense_fetch<EACH>(
                j.dz.z, dense_begin(joined, row, spot, j.dz.z_image, j.dz.z_pitch) + c_out, valid,
                j.hints.wide_in);
        if (IMAGE) {
            const dense_corner corner = dense_find_corner(j, spot, s.rows.width);
#pragma unroll
            for (int k = 0; k < EACH; k += 2)
                to->x[i].pair[k / 2] = dense_read_number(j, corner, numbers[k]) |
                                       dense_read_number(j, corner, numbers[k + 1]) << 16;
            continue;
        }
        if (!s.plain) {
            const int source = dense_source<false>(j, spot, s.rows.width, s.tap / j.conv.kernel,
                                                   s.tap % j.conv.kernel);
            spot = source < 0 ? cuda_spot{-1, 0} : cuda_spot{spot.image, source};
        }
        to->is_x |= spot.image >= 0 ? 1u << i : 0u;
        to->x[i] =
            dense_fetch<EACH>(j.x.data, dense_begin(joined, row, spot, j.x.image, j.x.pitch) + c_in,
                              spot.image >= 0 ? s.valid_in : 0, j.hints.wide_x);
    }
}

/* ---- fragments: pairs of pixels of each of EACH channels ---- */

struct fragment {
    uint32_t pair[2][EACH];
};

/* Those of numbers as they are. */
static __device__ __forceinline__ fragment turn(const cuda_raw<EACH> from[4])
{
    fragment to;

#pragma unroll
    for (int half = 0; half < 2; half++)
#pragma unroll
        for (int i = 0; i < EACH; i += 2) {
            const uint32_t a = from[2 * half].pair[i / 2], b = from[2 * half + 1].pair[i / 2];
            to.pair[half][i] = (a & 0xffffu) | b << 16;
            to.pair[half][i + 1] = a >> 16 | (b & 0xffff0000u);
        }
    return to;
}

/* Clears pixels that are not there. */
static __device__ __forceinline__ void clear(uint32_t is, fragment *f)
{
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const uint32_t bits = is >> 2 * half;
        const uint32_t mask = (bits & 1 ? 0xffffu : 0u) | (bits & 2 ? 0xffff0000u : 0u);
#pragma unroll
        for (int i = 0; i < EACH; i++)
            f->pair[half][i] &= mask;
    }
}

static __device__ __forceinline__ fragment read_gradient(const cuda_level_conv &j,
                                                         const cuda_slope<EACH> &slope,
                                                         const cargo &from)
{
    if (!j.dz.z) return turn(from.dy);
    fragment f;
#pragma unroll
    for (int half = 0; half < 2; half++) {
        float v[2][EACH], z[EACH];
#pragma unroll
        for (int b = 0; b < 2; b++) {
            cuda_unpack<EACH>(from.dy[2 * half + b], v[b]);
            cuda_unpack<EACH>(from.z[2 * half + b], z);
#pragma unroll
            for (int i = 0; i < EACH; i++)
                v[b][i] = slope.a[i] * v[b][i] + (slope.b[i] * z[i] + slope.c[i]);
        }
#pragma unroll
        for (int i = 0; i < EACH; i++)
            f.pair[half][i] = cuda_pair(v[0][i], v[1][i]);
    }
    if (from.is != 15) clear(from.is, &f);
    return f;
}

static __device__ __forceinline__ fragment read_value(const cuda_level_conv &j,
                                                      const cuda_norm<EACH> &norm,
                                                      const cargo &from)
{
    fragment f;

    if (!j.x.mean) {
        f = turn(from.x);
#pragma unroll
        for (int i = 0; i < 2 * EACH; i++)
            f.pair[i / EACH][i % EACH] = dense_act2(j.x.act, f.pair[i / EACH][i % EACH]);
        return f;
    }
#pragma unroll
    for (int half = 0; half < 2; half++) {
        float v[2][EACH];
#pragma unroll
        for (int b = 0; b < 2; b++) {
            cuda_unpack<EACH>(from.x[2 * half + b], v[b]);
            cuda_apply_norm<EACH>(norm, v[b]);
        }
#pragma unroll
        for (int i = 0; i < EACH; i++)
            f.pair[half][i] = dense_pair_act(j.x.act, v[0][i], v[1][i]);
    }
    if (from.is_x != 15) clear(from.is_x, &f);
    return f;
}

/* acc[pair of channels of dz][channel of x] */
static __device__ __forceinline__ void multiply(const fragment &dz, const fragment &x,
                                                float acc[2][EACH][4])
{
#pragma unroll
    for (int pair = 0; pair < 2; pair++) {
        const uint32_t a[4] = {dz.pair[0][2 * pair], dz.pair[0][2 * pair + 1], dz.pair[1][2 * pair],
                               dz.pair[1][2 * pair + 1]};
#pragma unroll
        for (int i = 0; i < EACH; i++)
            cuda_mma(acc[pair][i], a, x.pair[0][i], x.pair[1][i]);
    }
}

/* ---- what it writes ---- */

/* Adds what the other warps of the same tile have, in order, to what the first one has. */
static __device__ __forceinline__ void add_shares(const share &s, float4 *shared,
                                                  float acc[2][EACH][4])
{
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;

    if (s.stride == 1) return;
    if (warp >= s.together)
#pragma unroll
        for (int i = 0; i < 2 * EACH; i++) {
            const float *v = acc[i / EACH][i % EACH];
            shared[(warp * 2 * EACH + i) * 32 + lane] = make_float4(v[0], v[1], v[2], v[3]);
        }
    __syncthreads();
    for (int other = warp + s.together; warp < s.together && other < WARPS; other += s.together)
#pragma unroll
        for (int i = 0; i < 2 * EACH; i++) {
            const float4 v = shared[(other * 2 * EACH + i) * 32 + lane];
            float *to = acc[i / EACH][i % EACH];
            to[0] += v.x, to[1] += v.y, to[2] += v.z, to[3] += v.w;
        }
}

/* A lane has 4 neighbouring channels of dz, and 8 of x. */
static __device__ __forceinline__ void put_weights(const cuda_level_conv &j, const share &s,
                                                   const float acc[2][EACH][4])
{
    const int lane = (int)threadIdx.x % 32, depth = dense_depth(&j.conv);
    const int turns = dense_turns(&j.conv);
    float *partial = j.partial + s.split * (int64_t)j.conv.c_out * depth * turns;

#pragma unroll
    for (int o = 0; o < 4; o++)
#pragma unroll
        for (int e = 0; e < 2; e++) {
            const int out = s.out + lane / 4 * 4 + o, in = s.in + lane % 4 * 8 + e * 4;
            const int at = o % 2 * 2 + e, valid = out < s.end_out ? s.end_in - in : 0;
            float *to = partial + ((int64_t)out * depth + in) * turns + s.tap;
            if (turns == 1 && depth % 4 == 0 && valid >= 4) {
                *(float4 *)to = make_float4(acc[o / 2][0][at], acc[o / 2][1][at], acc[o / 2][2][at],
                                            acc[o / 2][3][at]);
                continue;
            }
#pragma unroll
            for (int i = 0; i < EACH; i++)
                if (i < valid) to[i * turns] = acc[o / 2][i][at];
        }
}

template <bool IMAGE>
__global__ static void __launch_bounds__(THREADS, PER_SM)
    weights_kernel(const __grid_constant__ cuda_level_convs jobs)
{
    CUDA_DYNAMIC_SHARED(shared);
    const int job = cuda_find_job(jobs), g = (int)threadIdx.x % 32 / 4;
    const cuda_level_conv &j = jobs.at[job];
    const share s = find_share(j, (int)blockIdx.x - jobs.first[job]);
    dense_number numbers[IMAGE ? EACH : 1];
    float acc[2][EACH][4] = {};
    cargo now, next;

#pragma unroll
    for (int k = 0; k < EACH && IMAGE; k++)
        numbers[IMAGE ? k : 0] =
            dense_find_number(j, k < s.valid_in ? s.in + g * EACH + k : DENSE_MOST);
    cuda_begin_beside(jobs.beside);
    if (s.step < s.end) load_step<IMAGE>(j, s, s.step, numbers, &next);
    const cuda_slope<EACH> slope = cuda_read_slope<EACH>(j.dz, s.out + g * EACH, s.valid_out);
    const cuda_norm<EACH> norm = cuda_read_norm<EACH>(j.x, s.in + g * EACH, s.valid_in);
    for (int step = s.step; step < s.end; step += s.stride) {
        now = next;
        if (step + s.stride < s.end) load_step<IMAGE>(j, s, step + s.stride, numbers, &next);
        multiply(read_gradient(j, slope, now), read_value(j, norm, now), acc);
    }
    add_shares(s, (float4 *)shared, acc);
    if ((int)threadIdx.x / 32 < s.together) put_weights(j, s, acc);
    cuda_end(jobs.beside);
}

/* Those of the jobs that read rows of numbers, or the others. `beside`: of the first launch; of the other it is true. */
template <bool IMAGE>
static cudaError_t launch_weights(cudaStream_t stream, const cuda_level_convs *jobs, bool *beside)
{
    cuda_level_convs placed;

    placed.n = placed.first[0] = 0;
    placed.beside = *beside;
    for (int k = 0; k < jobs->n; k++) {
        const cuda_level_conv &j = jobs->at[k];
        const int tiles = count_tiles(&j.conv);
        if (dense_is_image(&j.conv) != IMAGE) continue;
        cuda_dense_hints hints = dense_hint(j, j.out, true, EACH);
        hints.joined_in = hints.joined_in && dense_is_joined(j.x.image, j.x.pitch, j.out);
        placed.at[placed.n] = j;
        placed.at[placed.n].hints = hints;
        placed.first[placed.n + 1] =
            placed.first[placed.n] + j.splits * (tiles / count_together(tiles));
        placed.n++;
    }
    if (placed.n == 0) return cudaSuccess;
    *beside = true;
    return cuda_launch(weights_kernel<IMAGE>, (unsigned)placed.first[placed.n], THREADS,
                       SHARED_BYTES, stream, placed);
}

cudaError_t pada_cuda_level_dense_weights(cudaStream_t stream, const cuda_level_convs *jobs)
{
    bool beside = jobs->beside;
    const cudaError_t error = launch_weights<true>(stream, jobs, &beside);

    return error == cudaSuccess ? launch_weights<false>(stream, jobs, &beside) : error;
}
