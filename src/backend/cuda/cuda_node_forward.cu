/* cuda_node_forward.cu - one node of a cell, forward: the sum of its terms, every convolution that reads
 * it, and the moments of all of them, in one pass over the batch.
 *
 * Phase 1 works on columns: terms are added up in registers, y goes to memory and act(y) to shared
 * memory. Phase 2 works on strips: each convolution in turn, from shared memory and weights in registers.
 *
 *   dynamic   act(y) of the block's images, with a ring of zeros    43.5, 27 or 40 KB
 *   coef      [term][channel] scale/deviation and shift - mean scale/deviation
 *   room      sums of warps: of y, and of each convolution
 */
#include "backend/cuda/cuda_node.cuh"

template <class T> static constexpr int WIDTH = T::TILES * 8; /* channels of a warp's strip */

/* a x + b of every batch norm among the terms. */
template <class T>
static __device__ __forceinline__ void read_norms(const cuda_node_forward_job &j,
                                                  float (*coef)[T::C][2])
{
    const double count = (double)j.n_images * (T::SIZE * T::SIZE);

    for (int i = (int)threadIdx.x; i < j.n_terms * T::C; i += T::THREADS) {
        const int e = i / T::C, c = i % T::C;
        double mean, rstd;
        if (j.terms[e].kind != PADA_TERM_BATCHNORM) continue;
        cuda_read_moments(&j.terms[e].moments, T::C, c, count, &mean, &rstd);
        if (j.terms[e].scale) rstd *= j.terms[e].scale[c];
        coef[e][c][0] = (float)rstd;
        coef[e][c][1] = (float)((j.terms[e].shift ? j.terms[e].shift[c] : 0) - mean * rstd);
    }
}

/* sum += every term; `u` holds the first one already, unless that is a pool. */
template <class T>
static __device__ __forceinline__ void add_terms(float (&sum)[T::ROWS][8], uint4 (&u)[T::ROWS],
                                                 const cuda_node_forward_job &j,
                                                 const float (*coef)[T::C][2],
                                                 const node_thread<T> &t)
{
#pragma unroll 1
    for (int e = 0; e < j.n_terms; e++) {
        const cuda_node_term &term = j.terms[e];
        float a[8], b[8];
        if (term.kind == PADA_TERM_AVGPOOL) {
            node_add_pool<T, false>(sum, t, term.x);
            continue;
        }
        if (e > 0) {
#pragma unroll
            for (int r = 0; r < T::ROWS; r++)
                u[r] = t.load(term.x, r);
        }
#pragma unroll
        for (int k = 0; k < 8; k++) {
            a[k] = 1, b[k] = 0;
            if (term.kind != PADA_TERM_BATCHNORM) continue;
            a[k] = coef[e][t.chunk * 8 + k][0];
            b[k] = coef[e][t.chunk * 8 + k][1];
        }
#pragma unroll
        for (int r = 0; r < T::ROWS; r++) {
            float x[8];
            cuda_unpack8(u[r], x);
#pragma unroll
            for (int k = 0; k < 8; k++)
                sum[r][k] += x[k] * a[k] + b[k];
        }
    }
}

/* Stores the sums: y as it is, act(y) in shared memory, the moments of this warp. */
template <class T>
static __device__ __forceinline__ void finish_sum(float (&sum)[T::ROWS][8],
                                                  const cuda_node_forward_job &j, char *shared,
                                                  float *room, const node_thread<T> &t)
{
    float first[8] = {0}, second[8] = {0};

#pragma unroll
    for (int r = 0; r < T::ROWS; r++) {
        uint4 v = make_uint4(cuda_pair(sum[r][0], sum[r][1]), cuda_pair(sum[r][2], sum[r][3]),
                             cuda_pair(sum[r][4], sum[r][5]), cuda_pair(sum[r][6], sum[r][7]));
        if (!t.valid) v = make_uint4(0, 0, 0, 0); /* batch norm of nothing */
        if (j.y) t.store(j.y, r, v);
        if (j.sums) {
            float y[8];
            cuda_unpack8(v, y);
#pragma unroll
            for (int k = 0; k < 8; k++)
                first[k] += y[k], second[k] += y[k] * y[k];
        }
        if (j.n_convs == 0) continue;
        if (j.relu)
            v = make_uint4(cuda_relu2(v.x), cuda_relu2(v.y), cuda_relu2(v.z), cuda_relu2(v.w));
        *t.shared(shared, r) = v;
    }
    if (j.sums) node_keep_sums<T>(first, second, room, t);
}

/* Stores z of this warp's strip and its moments. */
template <class T>
static __device__ __forceinline__ void finish_conv(const float (&sum)[T::OUT_ROWS][T::TILES][4],
                                                   const cuda_node_conv &conv, int n_images,
                                                   float *room, const node_thread<T> &t)
{
    constexpr int width = WIDTH<T>; /* channels of a warp */
    const int g = t.lane >> 2, q = t.lane & 3;
    const uint32_t tile = blockIdx.x * (uint32_t)(T::IMAGES * T::COUNT);
    float first[T::TILES][2] = {}, second[T::TILES][2] = {};

#pragma unroll
    for (int r = 0; r < T::OUT_ROWS; r++)
#pragma unroll
        for (int h = 0; h < 2; h++) {
            const int image = T::image_of(t.strip, g + 8 * h);
            const int pixel = T::pixel(t.strip, g + 8 * h, t.slice * T::OUT_ROWS + r);
            uint16_t *z = (uint16_t *)conv.z + tile + (size_t)image * T::COUNT +
                          (size_t)pixel * T::C + t.group * width;
            uint32_t v[T::TILES];
#pragma unroll
            for (int n = 0; n < T::TILES; n++) {
                v[n] = cuda_pair(sum[r][n][2 * h], sum[r][n][2 * h + 1]);
                const float a = cuda_low(v[n]), b = cuda_high(v[n]);
                first[n][0] += a, first[n][1] += b;
                second[n][0] += a * a, second[n][1] += b * b;
            }
            if (T::IMAGES > 1 && (int)blockIdx.x * T::IMAGES + image >= n_images) continue;
            *(uint2 *)(z + 4 * q) = make_uint2(v[0], v[1]); /* cuda_weights.cu says why */
        }
    if (!conv.sums) return;
    cuda_sum_rows(first, second);
    if (g != 0) return;
#pragma unroll
    for (int n = 0; n < T::TILES; n++)
#pragma unroll
        for (int b = 0; b < 2; b++) {
            const int c = 4 * q + 2 * n + b;
            room[(t.warp * width + c) * 2] = first[n][b];
            room[(t.warp * width + c) * 2 + 1] = second[n][b];
        }
}

/* Adds up the moments that the warps have left. */
template <class T>
static __device__ __forceinline__ void add_moments(const cuda_node_forward_job &j,
                                                   const float *of_y, const float *of_convs,
                                                   const node_thread<T> &t)
{
    constexpr int width = WIDTH<T>, each = T::WARPS * width * 2;

    for (int i = t.tid; i < 2 * T::C && j.sums; i += T::THREADS)
        node_add_sum<T>(of_y, i, j.sums, t);
    for (int i = t.tid; i < j.n_convs * 2 * T::C; i += T::THREADS) {
        const int e = i / (2 * T::C), k = i % (2 * T::C);
        const int group = k / 2 / width, in_group = k - group * width * 2;
        float share = 0;
        if (!j.convs[e].sums) continue;
#pragma unroll
        for (int w = 0; w < T::WARPS / T::GROUPS; w++)
            share += of_convs[e * each + (w * T::GROUPS + group) * width * 2 + in_group];
        cuda_add_share(j.convs[e].sums, T::C, k, share);
    }
}

template <class T, int TAPS>
static __device__ __forceinline__ void convolve(const cuda_node_conv &conv, int n_images,
                                                uint32_t shared, float *room,
                                                const node_thread<T> &t)
{
    float sum[T::OUT_ROWS][T::TILES][4] = {};

    node_conv<T, TAPS>(sum, shared, conv.weight, t);
    finish_conv<T>(sum, conv, n_images, room, t);
}

template <class T>
static __device__ __forceinline__ void node_forward(const cuda_node_forward_job &j, char *shared,
                                                    float (*coef)[T::C][2], float *of_y,
                                                    float *of_convs)
{
    const node_thread<T> t(j.n_images);
    float sum[T::ROWS][8] = {};
    uint4 u[T::ROWS];

    if (j.n_convs > 0) node_clear_ring<T, T::CHUNKS>(shared);
    cuda_begin();
#pragma unroll
    for (int r = 0; r < T::ROWS; r++)
        u[r] = make_uint4(0, 0, 0, 0);
    if (j.n_terms > 0 &&
        j.terms[0].kind != PADA_TERM_AVGPOOL) { /* on its way while norms are read */
#pragma unroll
        for (int r = 0; r < T::ROWS; r++)
            u[r] = t.load(j.terms[0].x, r);
    }
    read_norms<T>(j, coef);
    __syncthreads();
    add_terms<T>(sum, u, j, coef, t);
    finish_sum<T>(sum, j, shared, of_y, t);
    __syncthreads();
#pragma unroll 1
    for (int e = 0; e < j.n_convs; e++) {
        float *room = of_convs + e * (T::WARPS * WIDTH<T> * 2);
        if (j.convs[e].taps == 9)
            convolve<T, 9>(j.convs[e], j.n_images, cuda_shared_address(shared), room, t);
        else
            convolve<T, 1>(j.convs[e], j.n_images, cuda_shared_address(shared), room, t);
    }
    __syncthreads();
    add_moments<T>(j, of_y, of_convs, t);
}

template <class T>
__global__ static void __launch_bounds__(T::THREADS, 512 / T::THREADS)
    node_forward_kernel(const __grid_constant__ cuda_node_forward_job j)
{
    CUDA_DYNAMIC_SHARED(shared);
    __shared__ float coef[CUDA_NODE_TERMS][T::C][2];
    __shared__ float of_y[T::SUMS];
    __shared__ float of_convs[CUDA_NODE_CONVS * T::WARPS * WIDTH<T> * 2];

    node_forward<T>(j, shared, coef, of_y, of_convs);
}

/* Convolutions of many images are faster with fewer threads for each. */
using few_tile64 = node_tile<64, 2, 512>;
using many_tile32 = node_tile<32, 1, 128>;

template <class T> static cudaError_t raise_limit(void)
{
    return cudaFuncSetAttribute((const void *)node_forward_kernel<T>,
                                cudaFuncAttributeMaxDynamicSharedMemorySize, T::BYTES);
}

cudaError_t pada_cuda_node_forward_init(void)
{
    cudaError_t error = raise_limit<node_tile16>();

    if (error == cudaSuccess) error = raise_limit<node_tile32>();
    if (error == cudaSuccess) error = raise_limit<many_tile32>();
    if (error == cudaSuccess) error = raise_limit<few_tile64>();
    return error == cudaSuccess ? raise_limit<node_tile64>() : error;
}

template <class T> static cudaError_t launch(cudaStream_t stream, const cuda_node_forward_job *job)
{
    const unsigned blocks = (unsigned)((job->n_images + T::IMAGES - 1) / T::IMAGES);

    return cuda_launch(node_forward_kernel<T>, blocks, T::THREADS, job->n_convs > 0 ? T::BYTES : 0,
                       stream, *job);
}

bool pada_cuda_node_fits(pada_shape shape)
{
    return shape.h == shape.w && shape.c * shape.h == 512 &&
           (shape.c == 16 || shape.c == 32 || shape.c == 64);
}

cudaError_t pada_cuda_node_forward(cudaStream_t stream, const cuda_node_forward_job *job)
{
    PADA_ASSERT(pada_cuda_node_fits(job->shape));
    if (job->shape.c == 16) return launch<node_tile16>(stream, job);
    if (job->shape.c == 64)
        return job->few ? launch<few_tile64>(stream, job) : launch<node_tile64>(stream, job);
    return job->few || job->n_convs == 0 ? launch<node_tile32>(stream, job)
                                         : launch<many_tile32>(stream, job);
}
