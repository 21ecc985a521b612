/* cuda_reduction_forward.cu - the block between two stages, forward: the convolution with stride 2, the 2x2
 * means and their 1x1 convolution, one image per block.
 *
 *   dynamic   [ relu(y), with a ring of zeros | the means, pixel by pixel ]    51.7 or 31.7 KB
 *   room      sums of warps
 */
#include "backend/cuda/cuda_reduction.cuh"

template <class IN> static constexpr int shared_bytes(void)
{
    return IN::BYTES + IN::COUNT / 4 * 2;
}

/* The means of this block's image, to memory and to shared memory. */
template <class IN>
static __device__ __forceinline__ void pool(const cuda_reduction_forward_job &j, char *to)
{
    constexpr int size = IN::SIZE / 2;
    const uint16_t *y = (const uint16_t *)j.y + (size_t)blockIdx.x * IN::COUNT;
    uint16_t *pooled = (uint16_t *)j.pooled + (size_t)blockIdx.x * (IN::COUNT / 4);

#pragma unroll
    for (int i = (int)threadIdx.x; i < size * size * IN::CHUNKS; i += IN::THREADS) {
        const int chunk = i % IN::CHUNKS, o = i / IN::CHUNKS;
        const uint16_t *from = y + (o / size * 2 * IN::SIZE + o % size * 2) * IN::C + chunk * 8;
        float sum[8] = {0}, x[8];
#pragma unroll
        for (int k = 0; k < 4; k++) {
            cuda_unpack8(*(const uint4 *)(from + (k / 2 * IN::SIZE + k % 2) * IN::C), x);
#pragma unroll
            for (int c = 0; c < 8; c++)
                sum[c] += x[c];
        }
        const uint4 mean =
            make_uint4(cuda_pair(sum[0] / 4, sum[1] / 4), cuda_pair(sum[2] / 4, sum[3] / 4),
                       cuda_pair(sum[4] / 4, sum[5] / 4), cuda_pair(sum[6] / 4, sum[7] / 4));
        *(uint4 *)(to + IN::offset(o, chunk)) = mean;
        *(uint4 *)(pooled + o * IN::C + chunk * 8) = mean;
    }
}

/* z of this warp's pixels and channels, and their moments. */
template <class IN, class OUT, int TAPS>
static __device__ __forceinline__ void convolve(const cuda_node_conv &conv, uint32_t tile,
                                                float *room)
{
    using S = reduction_split<IN, OUT::C>;
    const int lane = (int)threadIdx.x & 31, warp = (int)threadIdx.x >> 5, g = lane >> 2;
    const int q = lane & 3, first_m = S::first_m(warp), first_n = S::first_n(warp);
    const uint2 *weight = (const uint2 *)conv.weight + lane;
    float sum[S::M_TILES][S::N_TILES][4] = {};

#pragma unroll
    for (int tap = 0; tap < TAPS; tap++)
#pragma unroll
        for (int k = 0; k < IN::DEPTH; k++) {
            uint2 b[S::N_TILES];
#pragma unroll
            for (int n = 0; n < S::N_TILES; n++)
                b[n] = weight[(((first_n + n) * TAPS + tap) * IN::DEPTH + k) * 32];
#pragma unroll
            for (int m = 0; m < S::M_TILES; m++) {
                const int o = (first_m + m) * 16 + (lane & 15);
                const int p =
                    TAPS == 1 ? o
                              : (o / S::SIZE * 2 + tap / 3) * IN::PITCH + o % S::SIZE * 2 + tap % 3;
                uint32_t a[4];
                cuda_load_matrices(a, tile + IN::offset(p, 2 * k + (lane >> 4)));
#pragma unroll
                for (int n = 0; n < S::N_TILES; n++)
                    cuda_mma(sum[m][n], a, b[n].x, b[n].y);
            }
        }
    float first[S::N_TILES][2] = {}, second[S::N_TILES][2] = {};
    uint16_t *z = (uint16_t *)conv.z + (size_t)blockIdx.x * OUT::COUNT + first_n * 8;
#pragma unroll
    for (int m = 0; m < S::M_TILES; m++)
#pragma unroll
        for (int h = 0; h < 2; h++) {
            const int o = (first_m + m) * 16 + g + 8 * h;
            uint32_t v[S::N_TILES];
#pragma unroll
            for (int n = 0; n < S::N_TILES; n++) {
                v[n] = cuda_pair(sum[m][n][2 * h], sum[m][n][2 * h + 1]);
                const float a = cuda_low(v[n]), b = cuda_high(v[n]);
                first[n][0] += a, first[n][1] += b;
                second[n][0] += a * a, second[n][1] += b * b;
            }
#pragma unroll
            for (int n = 0; n < S::N_TILES; n += 2)
                *(uint2 *)(z + o * OUT::C + S::channel(n, q)) = make_uint2(v[n], v[n + 1]);
        }
    if (!conv.sums) return;
    cuda_sum_rows(first, second);
#pragma unroll
    for (int n = 0; n < S::N_TILES; n++)
#pragma unroll
        for (int b = 0; b < 2; b++) {
            if (g != 0) continue;
            float *at = room + (warp * S::N_TILES * 8 + S::channel(n, q) + b) * 2;
            at[0] = first[n][b], at[1] = second[n][b];
        }
    __syncthreads();
    for (int i = (int)threadIdx.x; i < 2 * OUT::C; i += IN::THREADS) {
        const int half = i / 2 / (S::N_TILES * 8), in_half = i - half * S::N_TILES * 16;
        float share = 0;
        for (int w = half; w < IN::WARPS; w += S::HALVES)
            share += room[w * S::N_TILES * 16 + in_half];
        cuda_add_share(conv.sums, OUT::C, i, share);
    }
    __syncthreads();
}

template <class IN, class OUT>
__global__ static void __launch_bounds__(IN::THREADS, 2)
    reduction_forward_kernel(const __grid_constant__ cuda_reduction_forward_job j)
{
    CUDA_DYNAMIC_SHARED(shared);
    __shared__ float room[IN::WARPS * reduction_split<IN, OUT::C>::N_TILES * 16];
    const node_thread<IN> t(j.n_images);
    uint4 u[IN::ROWS];

    node_clear_ring<IN, IN::CHUNKS>(shared);
    cuda_begin();
#pragma unroll
    for (int r = 0; r < IN::ROWS; r++)
        u[r] = t.load(j.y, r);
    pool<IN>(j, shared + IN::BYTES);
#pragma unroll
    for (int r = 0; r < IN::ROWS; r++)
        *t.shared(shared, r) = make_uint4(cuda_relu2(u[r].x), cuda_relu2(u[r].y),
                                          cuda_relu2(u[r].z), cuda_relu2(u[r].w));
    __syncthreads();
    const uint32_t tile = cuda_shared_address(shared);
    convolve<IN, OUT, 1>(j.point, tile + IN::BYTES, room);
    convolve<IN, OUT, 9>(j.strided, tile, room);
}

template <class IN, class OUT> static cudaError_t raise_limit(void)
{
    return cudaFuncSetAttribute((const void *)reduction_forward_kernel<IN, OUT>,
                                cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes<IN>());
}

cudaError_t pada_cuda_reduction_forward_init(void)
{
    const cudaError_t error = raise_limit<node_tile16, reduction_out16>();

    return error == cudaSuccess ? raise_limit<node_tile32, reduction_out32>() : error;
}

bool pada_cuda_reduction_fits(pada_shape shape)
{
    return pada_cuda_node_fits(shape) && shape.c < 64;
}

template <class IN, class OUT>
static cudaError_t launch(cudaStream_t stream, const cuda_reduction_forward_job *job)
{
    return cuda_launch(reduction_forward_kernel<IN, OUT>, (unsigned)job->n_images, IN::THREADS,
                       shared_bytes<IN>(), stream, *job);
}

cudaError_t pada_cuda_reduction_forward(cudaStream_t stream, const cuda_reduction_forward_job *job)
{
    PADA_ASSERT(pada_cuda_reduction_fits(job->shape));
    if (job->shape.c == 16) return launch<node_tile16, reduction_out16>(stream, job);
    return launch<node_tile32, reduction_out32>(stream, job);
}
