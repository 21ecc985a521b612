/* cuda_level_dense_weights.cu - gradients of the weights of dense convolutions of levels, on tensor cores.
 *
 * A block sums SIDE x SIDE weights of one tap over a share (a split) of the pixels of dz, STEP pixels at a time: dz and
 * what the tap read there lie in shared memory, [2][STEP][PITCH] each, as they lie in memory, and the products read
 * them transposed. */
#include "backend/cuda/cuda_level_dense.cuh"

enum {
    SIDE = 64,
    STEP = 32,
    PITCH = SIDE + 8,
    TILE_BYTES = STEP * PITCH * 2,
    SHARED_BYTES = 4 * TILE_BYTES,
    GROUPS = SIDE / 8,
    EACH = STEP * GROUPS / DENSE_THREADS,
    BLOCKS = 3 * 132 /* of a job, where there are enough pixels */
};

/* Columns of weights: channels, or numbers of a row. */
static __host__ __device__ inline int count_columns(const pada_conv *conv)
{
    return dense_is_image(conv) ? conv->c_in * dense_taps(conv) : conv->c_in;
}

static __host__ __device__ inline int count_taps(const pada_conv *conv)
{
    return dense_is_image(conv) ? 1 : dense_taps(conv);
}

/* Blocks of one split. */
static __host__ __device__ inline int count_tiles(const pada_conv *conv)
{
    return (conv->c_out + SIDE - 1) / SIDE * ((count_columns(conv) + SIDE - 1) / SIDE) *
           count_taps(conv);
}

int pada_cuda_level_dense_splits(const pada_conv *conv, pada_shape out, int n_images)
{
    const int64_t most = ((int64_t)n_images * out.h * out.w + 2 * STEP - 1) / (2 * STEP);
    const int wanted = BLOCKS / count_tiles(conv);

    return wanted < 1 ? 1 : (int)(wanted < most ? wanted : most);
}

/* Which weights a block has, and this thread's part of what it reads. */
struct share {
    int out, in, tap; /* first channels */
    int row, end;
    dense_rows rows;
    int c_out, c_in;         /* of this thread: 8 channels from there on */
    int valid_out, valid_in; /* how many of them there are */
    bool image, plain, wide_dz, wide_x;
};

static __device__ __forceinline__ share find_share(const cuda_level_conv &j, int block)
{
    const int ins = (count_columns(&j.conv) + SIDE - 1) / SIDE;
    const int outs = (j.conv.c_out + SIDE - 1) / SIDE, tiles = count_tiles(&j.conv);
    const int split = block / tiles, tile = block % tiles, group = (int)threadIdx.x % GROUPS;
    share s;

    s.rows = dense_count(j.n_images, j.out);
    const int steps = (s.rows.n + STEP - 1) / STEP, each = (steps + j.splits - 1) / j.splits;
    s.row = split * each * STEP;
    s.end = min(s.row + each * STEP, s.rows.n);
    s.out = tile % outs * SIDE;
    s.in = tile / outs % ins * SIDE;
    s.tap = tile / outs / ins;
    s.c_out = s.out + group * 8;
    s.c_in = s.in + group * 8;
    s.valid_out = j.conv.c_out - s.c_out;
    s.valid_in = count_columns(&j.conv) - s.c_in;
    s.image = dense_is_image(&j.conv);
    s.plain = dense_is_plain(j.conv);
    s.wide_dz = cuda_is_wide(j.dz);
    s.wide_x = cuda_is_wide(j.x.data, j.x.image, j.x.pitch);
    return s;
}

struct cargo {
    cuda_raw<8> dy[EACH], z[EACH], x[EACH];
    bool is[EACH], is_x[EACH];
};

static __device__ __forceinline__ void load_step(const cuda_level_conv &j, const share &s, int row,
                                                 cargo *to)
{
    const int first = (int)threadIdx.x / GROUPS;

#pragma unroll
    for (int i = 0; i < EACH; i++) {
        const cuda_spot spot =
            dense_locate(row + first + i * (DENSE_THREADS / GROUPS), s.end, s.rows);
        const int64_t pixel = spot.pixel;
        const int64_t from = s.image || spot.image < 0 ? -1
                             : s.plain
                                 ? pixel
                                 : dense_source<false>(j, spot, s.rows.width, s.tap / j.conv.kernel,
                                                       s.tap % j.conv.kernel);
        to->dy[i] = {};
        to->x[i] = {};
        to->is[i] = spot.image >= 0;
        to->is_x[i] = from >= 0;
        if (spot.image < 0) continue;
        to->dy[i] =
            cuda_fetch<8>(j.dz.dy, spot.image * j.dz.dy_image + pixel * j.dz.dy_pitch + s.c_out,
                          s.valid_out, s.wide_dz);
        if (j.dz.z)
            to->z[i] =
                cuda_fetch<8>(j.dz.z, spot.image * j.dz.z_image + pixel * j.dz.z_pitch + s.c_out,
                              s.valid_out, s.wide_dz);
        if (s.image)
            to->x[i] = dense_gather(j, spot, s.rows.width, s.c_in);
        else if (from >= 0)
            to->x[i] = cuda_fetch<8>(j.x.data, spot.image * j.x.image + from * j.x.pitch + s.c_in,
                                     s.valid_in, s.wide_x);
    }
}

static __device__ __forceinline__ void store_step(const cuda_level_conv &j,
                                                  const cuda_slope<8> &slope,
                                                  const cuda_norm<8> &norm, const cargo &from,
                                                  char *dz, char *x)
{
    const int first = (int)threadIdx.x / GROUPS, group = (int)threadIdx.x % GROUPS;

#pragma unroll
    for (int i = 0; i < EACH; i++) {
        const int at = ((first + i * (DENSE_THREADS / GROUPS)) * PITCH + group * 8) * 2;
        cuda_raw<8> gradient = from.dy[i], value = from.x[i];
        float v[8], z[8];
        if (j.dz.z && from.is[i]) {
            cuda_unpack<8>(gradient, v);
            cuda_unpack<8>(from.z[i], z);
#pragma unroll
            for (int k = 0; k < 8; k++)
                v[k] = slope.a[k] * v[k] + (slope.b[k] * z[k] + slope.c[k]);
            gradient = dense_pack(v);
        }
        if (from.is_x[i] && (j.x.mean || j.x.act != PADA_ACT_NONE)) {
            cuda_unpack<8>(value, v);
            cuda_apply_norm<8>(norm, v);
            cuda_apply_act<8>(j.x.act, v);
            value = dense_pack(v);
        }
        *(uint4 *)(dz + at) = dense_vector(gradient);
        *(uint4 *)(x + at) = dense_vector(value);
    }
}

/* A warp has 32 x 32 weights: acc[half of 16 outputs][tile of 8 inputs]. */
static __device__ __forceinline__ void multiply(const char *dz, const char *x, int outs, int ins,
                                                float acc[2][4][4])
{
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    const int out = warp / 2 * 32, in = warp % 2 * 32;
    const uint32_t a_at =
        cuda_shared_address(dz + ((lane / 16 * 8 + lane % 8) * PITCH + out + lane / 8 % 2 * 8) * 2);
    const uint32_t b_at = cuda_shared_address(x + (lane % 16 * PITCH + in + lane / 16 * 8) * 2);

    if (out >= outs || in >= ins) return;
#pragma unroll
    for (int k = 0; k < STEP; k += 16) {
        uint32_t a[2][4];
        cuda_load_transposed(a[0], a_at + k * PITCH * 2);
        cuda_load_transposed(a[1], a_at + (k * PITCH + 16) * 2);
#pragma unroll
        for (int t = 0; t < 4; t += 2) {
            uint32_t b[4];
            cuda_load_transposed(b, b_at + (k * PITCH + t * 8) * 2);
#pragma unroll
            for (int half = 0; half < 2; half++) {
                cuda_mma(acc[half][t], a[half], b[0], b[1]);
                cuda_mma(acc[half][t + 1], a[half], b[2], b[3]);
            }
        }
    }
}

static __device__ __forceinline__ void put_weight(const cuda_level_conv &j, const share &s,
                                                  float *partial, int out, int in, float value)
{
    const int columns = count_columns(&j.conv);

    if (out < j.conv.c_out && in < columns)
        partial[((int64_t)out * columns + in) * count_taps(&j.conv) + s.tap] = value;
}

static __device__ __forceinline__ void put_weights(const cuda_level_conv &j, const share &s,
                                                   float *partial, const float acc[2][4][4])
{
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;

#pragma unroll
    for (int half = 0; half < 2; half++)
#pragma unroll
        for (int t = 0; t < 4; t++) {
            const int out = s.out + warp / 2 * 32 + half * 16 + lane / 4;
            const int in = s.in + warp % 2 * 32 + t * 8 + lane % 4 * 2;
            put_weight(j, s, partial, out, in, acc[half][t][0]);
            put_weight(j, s, partial, out, in + 1, acc[half][t][1]);
            put_weight(j, s, partial, out + 8, in, acc[half][t][2]);
            put_weight(j, s, partial, out + 8, in + 1, acc[half][t][3]);
        }
}

__global__ static void __launch_bounds__(DENSE_THREADS)
    weights_kernel(const __grid_constant__ cuda_level_convs jobs)
{
    cuda_begin();
    CUDA_DYNAMIC_SHARED(shared);
    const int k = cuda_find_job(jobs), block = (int)blockIdx.x - jobs.first[k];
    const cuda_level_conv &j = jobs.at[k];
    const share s = find_share(j, block);
    const cuda_slope<8> slope = cuda_read_slope<8>(j.dz, s.c_out, s.valid_out);
    const cuda_norm<8> norm = cuda_read_norm<8>(j.x, s.c_in, s.valid_in);
    const int outs = j.conv.c_out - s.out, ins = count_columns(&j.conv) - s.in;
    float acc[2][4][4] = {};
    cargo cargo;

#pragma unroll 1
    for (int step = 0, row = s.row; row < s.end + STEP; step++, row += STEP) {
        const int now = step % 2, before = 1 - now;
        if (row < s.end) load_step(j, s, row, &cargo);
        if (step > 0)
            multiply(shared + before * TILE_BYTES, shared + (2 + before) * TILE_BYTES, outs, ins,
                     acc);
        if (row < s.end)
            store_step(j, slope, norm, cargo, shared + now * TILE_BYTES,
                       shared + (2 + now) * TILE_BYTES);
        __syncthreads();
    }
    put_weights(j, s,
                j.partial + block / count_tiles(&j.conv) * (int64_t)j.conv.c_out *
                                count_columns(&j.conv) * count_taps(&j.conv),
                acc);
}

cudaError_t pada_cuda_level_dense_weights(cudaStream_t stream, const cuda_level_convs *jobs)
{
    cuda_level_convs placed = *jobs;

    placed.first[0] = 0;
    for (int k = 0; k < placed.n; k++)
        placed.first[k + 1] =
            placed.first[k] + placed.at[k].splits * count_tiles(&placed.at[k].conv);
    return cuda_launch(weights_kernel, (unsigned)placed.first[placed.n], DENSE_THREADS,
                       SHARED_BYTES, stream, placed);
}
