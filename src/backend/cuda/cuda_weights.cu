/* cuda_weights.cu - weights on their way into node kernels, and their gradients on the way back; sums on
 * the way to the general kernels.
 *
 * Weights are float32 [out, in, kh, kw]. Node kernels read bfloat16 fragments of the matrix B of an mma,
 * [tile of 8 channels out][tap][16 channels in][lane] uint2, and write accumulators,
 * [16x16 channels][tap][8 channels in][lane] float4. With less than 64 channels two tiles share 16 channels
 * such that a lane has four of them side by side: 4q..4q+1 in the first, 4q+2..4q+3 in the second. */
#include "backend/cuda/cuda_mma.cuh"

/* Where weight (out, in, tap) is among the fragments, in elements. */
static __device__ inline int fragment_of(int channels, int taps, int out, int in, int tap)
{
    const int depth = channels / 16, k = in % 16;
    int tile = out / 8, n = out % 8;

    if (channels < 64) {
        tile = out / 16 * 2 + out % 4 / 2;
        n = out % 16 / 4 * 2 + out % 2;
    }
    const int lane = n * 4 + k % 8 / 2;
    return ((((tile * taps + tap) * depth + in / 16) * 32 + lane) * 2 + k / 8) * 2 + k % 2;
}

/* blockIdx.y is the convolution. */
__global__ static void pack_kernel(const float *params,
                                   const __grid_constant__ cuda_weight_jobs jobs, char *fragments)
{
    cuda_begin();
    const cuda_weight_job &j = jobs.at[blockIdx.y];
    const int n = j.channels * j.channels * j.taps;
    uint16_t *to = (uint16_t *)(fragments + j.to), *transposed = to + n;

    CUDA_FOR(i, n)
    {
        const int tap = (int)i % j.taps, in = (int)i / j.taps % j.channels;
        const int out = (int)i / j.taps / j.channels;
        const uint16_t w = cuda_narrow(params[j.weight + i]);
        to[fragment_of(j.channels, j.taps, out, in, tap)] = w;
        transposed[fragment_of(j.channels, j.taps, in, out, j.taps - 1 - tap)] = w;
    }
}

cudaError_t pada_cuda_pack_weights(cudaStream_t stream, const float *params,
                                   const cuda_weight_jobs *jobs, void *fragments)
{
    int most = 0;

    for (int k = 0; k < jobs->n; k++)
        if (jobs->at[k].channels * jobs->at[k].channels * jobs->at[k].taps > most)
            most = jobs->at[k].channels * jobs->at[k].channels * jobs->at[k].taps;
    const dim3 grid(cuda_blocks(most), (unsigned)jobs->n);
    cuda_launch(pack_kernel, grid, CUDA_BLOCK, 0, stream, params, *jobs, (char *)fragments);
    return cudaPeekAtLastError();
}

enum { REDUCE_LANES = 32, REDUCE_PARTS = CUDA_BLOCK / REDUCE_LANES };

/* 32 float4 of a convolution per block: eight parts of the partial sums are added up apart, each in order,
 * and then in order. blockIdx.y is the convolution. */
__global__ static void reduce_kernel(const __grid_constant__ cuda_reduce_jobs jobs, float *grads)
{
    cuda_begin();
    __shared__ float4 parts[REDUCE_PARTS][REDUCE_LANES];
    const cuda_reduce_job &j = jobs.at[blockIdx.y];
    const int n = j.channels * j.channels * j.taps / 4;
    const int lane = (int)threadIdx.x % REDUCE_LANES, part = (int)threadIdx.x / REDUCE_LANES;
    const int i = (int)blockIdx.x * REDUCE_LANES + lane;
    const int share = (j.blocks + REDUCE_PARTS - 1) / REDUCE_PARTS;
    const int end = min((part + 1) * share, j.blocks);
    float4 s = make_float4(0, 0, 0, 0);

    if ((int)blockIdx.x * REDUCE_LANES >= n) return;
    if (i < n) {
        const float4 *from = (const float4 *)j.partial + i;
#pragma unroll 8
        for (int k = part * share; k < end; k++) {
            const float4 v = from[(size_t)k * n];
            s.x += v.x, s.y += v.y, s.z += v.z, s.w += v.w;
        }
    }
    parts[part][lane] = s;
    __syncthreads();
    if (part != 0 || i >= n) return;
    for (int k = 1; k < REDUCE_PARTS; k++) {
        const float4 v = parts[k][lane];
        s.x += v.x, s.y += v.y, s.z += v.z, s.w += v.w;
    }
    const int side = j.channels / 16, l = i % 32, half = i / 32 % 2;
    const int tap = i / 64 % j.taps, pair = i / 64 / j.taps;
    const int out = pair / side * 16 + l / 4, in = pair % side * 16 + half * 8 + l % 4 * 2;
    float *to = grads + j.weight + (out * j.channels + in) * j.taps + tap;
    const int below = 8 * j.channels * j.taps; /* eight channels further */
    to[0] += s.x;
    to[j.taps] += s.y;
    to[below] += s.z;
    to[below + j.taps] += s.w;
}

cudaError_t pada_cuda_reduce_weights(cudaStream_t stream, const cuda_reduce_jobs *jobs,
                                     float *grads)
{
    int most = 0;

    for (int k = 0; k < jobs->n; k++)
        if (jobs->at[k].channels * jobs->at[k].channels * jobs->at[k].taps > most)
            most = jobs->at[k].channels * jobs->at[k].channels * jobs->at[k].taps;
    const dim3 grid((unsigned)((most / 4 + REDUCE_LANES - 1) / REDUCE_LANES), (unsigned)jobs->n);
    cuda_launch(reduce_kernel, grid, CUDA_BLOCK, 0, stream, *jobs, grads);
    return cudaPeekAtLastError();
}

/* ---- sums for the general kernels ---- */

__global__ static void finish_moments_kernel(cuda_moments m, int channels, double count,
                                             float *mean, float *rstd)
{
    cuda_begin();
    CUDA_FOR(c, channels)
    {
        double mean_of, rstd_of;
        cuda_read_moments(&m, channels, (int)c, count, &mean_of, &rstd_of);
        mean[c] = (float)mean_of;
        rstd[c] = (float)rstd_of;
    }
}

cudaError_t pada_cuda_finish_moments(cudaStream_t stream, const int64_t *sums, pada_shape shape,
                                     int n_images, float *mean, float *rstd)
{
    const cuda_moments m = {sums, NULL, NULL};

    cuda_launch(finish_moments_kernel, 1, CUDA_BLOCK, 0, stream, m, shape.c,
                (double)n_images * shape.h * shape.w, mean, rstd);
    return cudaPeekAtLastError();
}

__global__ static void finish_slopes_kernel(cuda_slopes s, int channels, double count, float *coef,
                                            int64_t vector)
{
    cuda_begin();
    CUDA_FOR(c, channels)
    {
        float abc[3];
        cuda_read_slopes(&s, channels, (int)c, count, abc);
        for (int k = 0; k < 3; k++)
            coef[k * vector + c] = abc[k];
    }
}

cudaError_t pada_cuda_finish_slopes(cudaStream_t stream, const cuda_slopes *slopes,
                                    pada_shape shape, int n_images, float *coef, int64_t vector)
{
    cuda_launch(finish_slopes_kernel, 1, CUDA_BLOCK, 0, stream, *slopes, shape.c,
                (double)n_images * shape.h * shape.w, coef, vector);
    return cudaPeekAtLastError();
}
