/* cuda_level_depth.cu - depthwise convolutions of a level, and the gradients of their inputs.
 *
 * Both gather. A thread has two channels of a tile of results; it reads the window of the tile row by row, once, and
 * each row is used by all taps that meet it. With row i of the window, row r of the tile and tap k (of the gradient: from
 * the last to the first) they meet where
 *
 *   i * UP == r * DOWN + k * DILATION        DOWN, UP: the stride, 1 forward; 1, the stride backward
 *
 * which the compiler knows, also with a stride of 2: tiles of a gradient begin at the pixel that makes the first row
 * of the window exact, which depends on the padding. Design note 0025. */
#include "backend/cuda/cuda_level_depth.cuh"

enum {
    HIGH = 2,
    WIDE = 8,    /* pixels of a tile; even, so that the parity of a pixel is known */
    AT_ONCE = 4, /* results that are written */
    MOST_TAPS = 7 * 7,
    SHARED_FLOATS = MOST_TAPS * LEVEL_LANES * 2 /* weights; after them the sums of the block */
};

static_assert(SHARED_FLOATS >= cuda_tally_floats<2>(LEVEL_THREADS), "room for sums");

bool pada_cuda_level_depth_fits(const pada_conv *conv)
{
    return pada_cuda_depth_fits(conv);
}

/* The weights of the channels of a block as [tap][pair]; backward, taps from the last to the first. */
template <bool BACK>
static __device__ inline void stage_weights(const cuda_level_conv &j, int first, int lanes,
                                            level_pair *shared)
{
    const int taps = j.conv.kernel * j.conv.kernel, left = j.conv.c_in - first;
    const int channels = min(2 * lanes, left);
    float *to = (float *)shared;

    for (int i = (int)threadIdx.x; i < channels * taps; i += LEVEL_THREADS) {
        const int c = i / taps, tap = i % taps;
        to[(BACK ? taps - 1 - tap : tap) * 2 * lanes + c] = j.weight[(int64_t)first * taps + i];
    }
}

/* Sums of a tile whose window begins at (row, column) of an image of the source. `weights` are those of this lane. */
template <int K, int DOWN, int UP, int DILATION, typename Source>
static __device__ __forceinline__ void convolve(const Source &source, int image, int row,
                                                int column, const level_pair *weights, int lanes,
                                                level_pair sums[HIGH][WIDE])
{
    constexpr int ROWS = ((HIGH - 1) * DOWN + (K - 1) * DILATION) / UP + 1;
    constexpr int COLUMNS = ((WIDE - 1) * DOWN + (K - 1) * DILATION) / UP + 1;

    /* Rows are not unrolled: code that does not fit the instruction cache is what these kernels would wait for. */
#pragma unroll 1
    for (int i = 0; i < ROWS; i++) {
        level_pair x[COLUMNS];
        if (row + i < 0 || row + i >= source.h) continue;
        source.template load<COLUMNS>(image, row + i, column, x);
#pragma unroll
        for (int r = 0; r < HIGH; r++) {
            const int ahead = i * UP - r * DOWN, kh = ahead / DILATION;
            if (ahead < 0 || ahead % DILATION != 0 || kh >= K) continue;
#pragma unroll
            for (int kw = 0; kw < K; kw++) {
                const level_pair w = weights[(kh * K + kw) * lanes];
#pragma unroll
                for (int p = 0; p < WIDE; p++) {
                    const int behind = p * DOWN + kw * DILATION;
                    if (behind % UP != 0) continue;
                    sums[r][p].a += w.a * x[behind / UP].a;
                    sums[r][p].b += w.b * x[behind / UP].b;
                }
            }
        }
    }
}

/* The tiles of a job; backward with stride 2 the window of a tile begins at a whole row. */
template <bool BACK>
static __host__ __device__ inline level_tiles tiles_of(const cuda_level_conv &j)
{
    return BACK ? level_tile(j.in, j.n_images, HIGH, WIDE, j.conv.stride == 2 ? j.conv.pad & 1 : 0)
                : level_tile(j.out, j.n_images, HIGH, WIDE, 0);
}

/* The first row of the window of a tile that begins at row h. */
template <bool BACK> static __device__ __forceinline__ int window_of(const pada_conv &conv, int h)
{
    return BACK ? (h + conv.pad - (conv.kernel - 1) * conv.dilation) / conv.stride
                : h * conv.stride - conv.pad;
}

template <bool BACK, typename Source>
static __device__ __forceinline__ void convolve_tile(const cuda_level_conv &j, const Source &source,
                                                     const level_corner &corner,
                                                     const level_pair *weights, int lanes,
                                                     level_pair sums[HIGH][WIDE])
{
    const int row = window_of<BACK>(j.conv, corner.h), column = window_of<BACK>(j.conv, corner.w);

    switch (level_kind(j.conv.kernel, j.conv.stride, j.conv.dilation)) {
#define CASE(K, STRIDE, DILATION)                                                                  \
    case level_kind(K, STRIDE, DILATION):                                                          \
        convolve<K, BACK ? 1 : STRIDE, BACK ? STRIDE : 1, DILATION>(source, corner.image, row,     \
                                                                    column, weights, lanes, sums); \
        break;
        LEVEL_KINDS(CASE)
#undef CASE
    default: break;
    }
}

/* All tiles of a thread. */
template <bool BACK, typename Source>
static __device__ __forceinline__ void run_tiles(const cuda_level_conv &j, const Source &source,
                                                 pada_shape shape, const level_place &place,
                                                 const level_pair *weights, int lanes,
                                                 cuda_tally<2> *tally)
{
    const level_tiles tiles = tiles_of<BACK>(j);
    const cuda_norm<2> at = /* outputs have no slope */
        BACK ? cuda_read_norm<2>(j.to.at, place.c, 2) : (cuda_norm<2>){{1, 1}, {0, 0}};

    for (int t = place.at; t < tiles.n; t += place.share) {
        const level_corner corner = level_find_tile(tiles, t);
        level_pair sums[HIGH][WIDE] = {};
        convolve_tile<BACK>(j, source, corner, weights, lanes, sums);
#pragma unroll
        for (int r = 0; r < HIGH; r++)
#pragma unroll
            for (int first = 0; first < WIDE; first += AT_ONCE) {
                cuda_spot spots[AT_ONCE];
                float v[AT_ONCE][2];
#pragma unroll
                for (int p = 0; p < AT_ONCE; p++) {
                    const int h = corner.h + r, w = corner.w + first + p;
                    const bool inside = h >= 0 && h < shape.h && w >= 0 && w < shape.w;
                    spots[p] = {inside ? corner.image : -1, h * shape.w + w};
                    v[p][0] = sums[r][first + p].a;
                    v[p][1] = sums[r][first + p].b;
                }
                cuda_put_results<2, AT_ONCE>(j.to, at, spots, place.c, 2, false, v, tally);
            }
    }
}

template <bool BACK>
__global__ static void __launch_bounds__(LEVEL_THREADS, 2)
    depth_kernel(const __grid_constant__ cuda_level_convs jobs)
{
    cuda_begin();
    __shared__ level_pair shared[SHARED_FLOATS / 2];
    const int k = cuda_find_job(jobs), blocks = jobs.first[k + 1] - jobs.first[k];
    const cuda_level_conv &j = jobs.at[k];
    const level_lanes d = level_divide(j.conv.c_in, 2);
    const level_place place =
        level_locate(d, 2, j.conv.c_in, (int)blockIdx.x - jobs.first[k], blocks);
    cuda_tally<2> tally = {};

    stage_weights<BACK>(j, place.first, d.lanes, shared);
    __syncthreads();
    if (place.valid > 0) {
        const level_pair *weights = shared + place.lane;
        if (BACK)
            run_tiles<BACK>(j, level_gradients(j.dz, j.out, place.c, 2), j.in, place, weights,
                            d.lanes, &tally);
        else
            run_tiles<BACK>(j, level_values(j.x, j.in, place.c, 2), j.out, place, weights, d.lanes,
                            &tally);
    }
    __syncthreads(); /* the weights have been read */
    cuda_end_results<2>(j.to, j.conv.c_in, place.first, place.lane, d.lanes, place.slot, d.slots,
                        blocks, tally, (float *)shared);
}

template <bool BACK> static cudaError_t launch(cudaStream_t stream, const cuda_level_convs *jobs)
{
    cuda_level_convs placed = *jobs;

    level_work work[CUDA_LEVEL_CONVS];
    for (int k = 0; k < placed.n; k++) {
        const cuda_level_conv &j = placed.at[k];
        const int taps = j.conv.kernel * j.conv.kernel;
        work[k] = level_work_of(level_divide(j.conv.c_in, 2), tiles_of<BACK>(j).n, 10 + taps);
    }
    level_place_blocks(work, placed.n, LEVEL_BLOCKS, placed.first);
    return cuda_launch(depth_kernel<BACK>, (unsigned)placed.first[placed.n], LEVEL_THREADS, 0,
                       stream, placed);
}

cudaError_t pada_cuda_level_depth_forward(cudaStream_t stream, const cuda_level_convs *jobs)
{
    return launch<false>(stream, jobs);
}

cudaError_t pada_cuda_level_depth_grad_in(cudaStream_t stream, const cuda_level_convs *jobs)
{
    return launch<true>(stream, jobs);
}
