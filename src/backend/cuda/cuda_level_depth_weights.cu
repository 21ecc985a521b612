/* cuda_level_depth_weights.cu - gradients of the weights of depthwise convolutions of a level.
 *
 * A block has a chunk of channels, up to MOST_TAPS taps (all of a 3x3 or 5x5 kernel, half of a 7x7 one) and a share of
 * the tiles of dz. A thread keeps the sums of all those taps for two channels: the window of a tile is read once, and
 * each row of it meets the rows of dz that its taps pair it with. The slots of a block are added up in order.
 * Design note 0025. */
#include "backend/cuda/cuda_level_depth.cuh"

enum {
    TILE = 4,       /* rows of a tile, .. */
    WIDTH = 2,      /* and columns: registers are needed for the taps */
    MOST_TAPS = 28, /* 4 rows of 7 */
    AT_ONCE = 7,    /* taps that are added up at a time */
    WANTED_BLOCKS = 2 * 132
};

/* Blocks that divide the taps of a kernel. */
static __host__ __device__ constexpr int parts_of(int kernel)
{
    return (kernel * kernel + MOST_TAPS - 1) / MOST_TAPS;
}

int pada_cuda_level_depth_splits(const pada_conv *conv, pada_shape out, int n_images)
{
    const level_lanes d = level_divide(conv->c_in, 2);
    const int rounds = (level_tile(out, n_images, TILE, WIDTH, 0).n - 1) / d.slots + 1;
    const int wanted = WANTED_BLOCKS / (d.chunks * parts_of(conv->kernel));

    return wanted < 1 ? 1 : wanted < rounds ? wanted : rounds;
}

/* Adds the products of a tile to the sums of ROWS rows of taps, from row `part` of them on. */
template <int K, int STRIDE, int DILATION>
static __device__ __forceinline__ void correlate(const level_values &values,
                                                 const level_gradients &gradients,
                                                 const level_corner &corner, int part, int pad,
                                                 level_pair sums[MOST_TAPS])
{
    constexpr int ROWS = MOST_TAPS / K < K ? MOST_TAPS / K : K;
    constexpr int HIGH = (TILE - 1) * STRIDE + (ROWS - 1) * DILATION + 1;
    constexpr int WIDE = (WIDTH - 1) * STRIDE + (K - 1) * DILATION + 1;
    const int row = corner.h * STRIDE + part * ROWS * DILATION - pad;
    const int column = corner.w * STRIDE - pad;
    level_pair dz[TILE][WIDTH];

#pragma unroll
    for (int r = 0; r < TILE; r++) {
#pragma unroll
        for (int p = 0; p < WIDTH; p++)
            dz[r][p] = (level_pair){0, 0};
        if (corner.h + r < gradients.h)
            gradients.load<WIDTH>(corner.image, corner.h + r, corner.w, dz[r]);
    }
#pragma unroll
    for (int i = 0; i < HIGH; i++) {
        level_pair x[WIDE];
        if (row + i < 0 || row + i >= values.h) continue;
        values.load<WIDE>(corner.image, row + i, column, x);
#pragma unroll
        for (int r = 0; r < TILE; r++) {
            const int ahead = i - r * STRIDE, kh = ahead / DILATION;
            if (ahead < 0 || ahead % DILATION != 0 || kh >= ROWS) continue;
#pragma unroll
            for (int kw = 0; kw < K; kw++)
#pragma unroll
                for (int p = 0; p < WIDTH; p++) {
                    sums[kh * K + kw].a += dz[r][p].a * x[p * STRIDE + kw * DILATION].a;
                    sums[kh * K + kw].b += dz[r][p].b * x[p * STRIDE + kw * DILATION].b;
                }
        }
    }
}

/* The sums of a thread over tiles `first` to `end` - 1, every slot-th of them. */
static __device__ __forceinline__ void correlate_tiles(const cuda_level_conv &j, int part,
                                                       const level_place &place, int slots,
                                                       int first, int end,
                                                       level_pair sums[MOST_TAPS])
{
    const level_values values(j.x, j.in, place.c, 2);
    const level_gradients gradients(j.dz, j.out, place.c, 2);
    const level_tiles tiles = level_tile(j.out, j.n_images, TILE, WIDTH, 0);
    const int kind = level_kind(j.conv.kernel, j.conv.stride, j.conv.dilation);

    for (int t = first + place.slot; t < end; t += slots) {
        const level_corner corner = level_find_tile(tiles, t);
        switch (kind) {
#define CASE(K, STRIDE, DILATION)                                                          \
    case level_kind(K, STRIDE, DILATION):                                                  \
        correlate<K, STRIDE, DILATION>(values, gradients, corner, part, j.conv.pad, sums); \
        break;
            LEVEL_KINDS(CASE)
#undef CASE
        default: break;
        }
    }
}

/* Blocks of a job: [split][part of the taps][chunk of channels]. */
__global__ static void __launch_bounds__(LEVEL_THREADS, 2)
    weights_kernel(const __grid_constant__ cuda_level_convs jobs)
{
    cuda_begin();
    __shared__ level_pair shared[AT_ONCE][LEVEL_THREADS];
    const int k = cuda_find_job(jobs), block = (int)blockIdx.x - jobs.first[k];
    const cuda_level_conv &j = jobs.at[k];
    const int channels = j.conv.c_in, taps = j.conv.kernel * j.conv.kernel;
    const level_lanes d = level_divide(channels, 2);
    const level_place place = level_locate(d, 2, channels, block, j.splits);
    const int parts = parts_of(j.conv.kernel), part = block / d.chunks % parts;
    const int split = block / d.chunks / parts;
    const int64_t tiles = level_tile(j.out, j.n_images, TILE, WIDTH, 0).n;
    level_pair sums[MOST_TAPS] = {};

    if (place.valid > 0)
        correlate_tiles(j, part, place, d.slots, (int)(split * tiles / j.splits),
                        (int)((split + 1) * tiles / j.splits), sums);
#pragma unroll
    for (int first = 0; first < MOST_TAPS; first += AT_ONCE) {
        __syncthreads(); /* the sums before these have been read */
#pragma unroll
        for (int t = 0; t < AT_ONCE; t++)
            shared[t][threadIdx.x] = sums[first + t];
        __syncthreads();
        for (int i = (int)threadIdx.x; i < AT_ONCE * 2 * d.lanes; i += LEVEL_THREADS) {
            const int t = i / (2 * d.lanes), in_chunk = i % (2 * d.lanes);
            const int c = place.first + in_chunk, tap = part * MOST_TAPS + first + t;
            if (c >= channels || tap >= taps) continue;
            const float *of_slots = (const float *)shared[t] + in_chunk;
            float sum = 0;
            for (int s = 0; s < d.slots; s++)
                sum += of_slots[s * 2 * d.lanes];
            j.partial[((int64_t)split * channels + c) * taps + tap] = sum;
        }
    }
}

cudaError_t pada_cuda_level_depth_weights(cudaStream_t stream, const cuda_level_convs *jobs)
{
    cuda_level_convs placed = *jobs;

    placed.first[0] = 0;
    for (int k = 0; k < placed.n; k++) {
        const pada_conv &conv = placed.at[k].conv;
        placed.first[k + 1] = placed.first[k] + level_divide(conv.c_in, 2).chunks *
                                                    parts_of(conv.kernel) * placed.at[k].splits;
    }
    return cuda_launch(weights_kernel, (unsigned)placed.first[placed.n], LEVEL_THREADS, 0, stream,
                       placed);
}
