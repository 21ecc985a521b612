/* cuda_vector.cu - vector operations on ranges of parameter-shaped buffers.
 *
 * blockIdx.y is the range, so ranges of any length share one launch. */
#include "backend/cuda/cuda_math.cuh"

enum { SUM_THREADS = 1024 };

/* Every element i of this block's range once. */
#define FOR_RANGE(i, ranges)                                                                       \
    for (int64_t i = ranges.at[blockIdx.y].first + blockIdx.x * (int64_t)CUDA_BLOCK + threadIdx.x; \
         i < ranges.at[blockIdx.y].first + ranges.at[blockIdx.y].count;                            \
         i += (int64_t)gridDim.x * CUDA_BLOCK)

/* Blocks for a range of mean length; longer ones are walked with a stride. */
static dim3 grid_of(const cuda_ranges *ranges)
{
    int64_t total = 0;

    for (int k = 0; k < ranges->n; k++)
        total += ranges->at[k].count;
    return dim3(cuda_blocks(total / ranges->n + 1), (unsigned)ranges->n);
}

__global__ static void fill_zero_kernel(float *x, const __grid_constant__ cuda_ranges ranges)
{
    cuda_begin();
    FOR_RANGE(i, ranges)
    x[i] = 0;
}

cudaError_t pada_cuda_fill_zero(cudaStream_t stream, float *x, const cuda_ranges *ranges)
{
    cuda_launch(fill_zero_kernel, grid_of(ranges), CUDA_BLOCK, 0, stream, x, *ranges);
    return cudaPeekAtLastError();
}

cudaError_t pada_cuda_fits(void)
{
    cudaFuncAttributes attributes;
    return cudaFuncGetAttributes(&attributes, (const void *)fill_zero_kernel);
}

/* One block per range: strided sums in double, then a tree. SAME: x and y are, so that it is read and converted once. */
template <bool SAME>
__global__ static void dot_kernel(const float *x, const float *y,
                                  const __grid_constant__ cuda_ranges ranges, double *to)
{
    cuda_begin();
    __shared__ double sums[SUM_THREADS];
    const pada_range range = ranges.at[blockIdx.x];
    double sum = 0;

#pragma unroll 8 /* loads that are under way together */
    for (int64_t i = threadIdx.x; i < range.count; i += SUM_THREADS) {
        const double u = x[range.first + i];
        sum += u * (SAME ? u : (double)y[range.first + i]);
    }
    sums[threadIdx.x] = sum;
    for (unsigned half = SUM_THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    }
    if (threadIdx.x == 0) to[blockIdx.x] = sums[0];
}

cudaError_t pada_cuda_dot(cudaStream_t stream, const float *x, const float *y,
                          const cuda_ranges *ranges, double *sums)
{
    cuda_launch(x == y ? dot_kernel<true> : dot_kernel<false>, ranges->n, SUM_THREADS, 0, stream, x,
                y, *ranges, sums);
    return cudaPeekAtLastError();
}

cudaError_t pada_cuda_sum_squares(cudaStream_t stream, const float *x, const cuda_ranges *ranges,
                                  double *sums)
{
    return pada_cuda_dot(stream, x, x, ranges, sums);
}

/* The sum of n numbers, in an order that depends on n alone; for all threads of a block of CUDA_BLOCK. */
static __device__ double total(const double *x, int n)
{
    __shared__ double sums[CUDA_BLOCK];
    double sum = 0;

    for (int i = (int)threadIdx.x; i < n; i += CUDA_BLOCK)
        sum += x[i];
    sums[threadIdx.x] = sum;
    for (unsigned half = CUDA_BLOCK / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    }
    __syncthreads();
    return sums[0];
}

/* The factor of the gradients that clipping says, and the record of it; false: they are not finite. Every
 * block works it out for itself. */
static __device__ bool find_scale(const cuda_clip &c, float *scale)
{
    if (!c.sums) return true;
    const double norm = sqrt(total(c.sums, c.n_sums));
    double factor = c.clip > 0 ? c.clip / (norm + 1e-6) : 1; /* as PyTorch's clip_grad_norm_ */

    if (factor > 1) factor = 1;
    if (c.record && blockIdx.x == 0 && blockIdx.y == 0) {
        for (int k = (int)threadIdx.x; k < c.n_sums; k += CUDA_BLOCK)
            c.record[2 + k] = (float)sqrt(c.sums[k]);
        if (threadIdx.x == 0) {
            c.record[0] = (float)norm;
            c.record[1] = (float)factor;
        }
    }
    *scale = (float)factor;
    return norm < INFINITY; /* and not NaN */
}

__global__ static void sgd_kernel(const __grid_constant__ cuda_update_job j,
                                  const __grid_constant__ cuda_clip c,
                                  const __grid_constant__ cuda_ranges ranges)
{
    cuda_begin();
    const cuda_factors f = j.by;
    float scale = f.grad_scale;

    if (!find_scale(c, &scale)) return;
    FOR_RANGE(i, ranges)
    {
        const float slope = scale * j.g[i] + f.weight_decay * j.w[i];
        const float velocity = f.momentum * j.s0[i] + slope;
        j.s0[i] = velocity;
        j.w[i] -= f.lr * (f.nesterov ? slope + f.momentum * velocity : velocity);
    }
}

__global__ static void rmsprop_kernel(const __grid_constant__ cuda_update_job j,
                                      const __grid_constant__ cuda_clip c,
                                      const __grid_constant__ cuda_ranges ranges)
{
    cuda_begin();
    const cuda_factors f = j.by;
    float scale = f.grad_scale;

    if (!find_scale(c, &scale)) return;
    FOR_RANGE(i, ranges)
    {
        const float slope = scale * j.g[i] + f.weight_decay * j.w[i];
        const float square = j.s0[i] + f.fresh * (slope * slope - j.s0[i]);
        const float velocity = f.momentum * j.s1[i] + f.lr * slope / sqrtf(square + f.epsilon);
        j.s0[i] = square;
        j.s1[i] = velocity;
        j.w[i] -= velocity;
    }
}

__global__ static void adam_kernel(const __grid_constant__ cuda_update_job j,
                                   const __grid_constant__ cuda_clip c,
                                   const __grid_constant__ cuda_ranges ranges,
                                   const __grid_constant__ cuda_shares rates,
                                   const __grid_constant__ cuda_shares roots)
{
    cuda_begin();
    const cuda_factors f = j.by;
    const float rate = rates.at[blockIdx.y], root = roots.at[blockIdx.y];
    float scale = f.grad_scale;

    if (!find_scale(c, &scale)) return;
    FOR_RANGE(i, ranges)
    {
        const float slope = scale * j.g[i] + f.weight_decay * j.w[i];
        const float mean = f.momentum * j.s0[i] + f.fresh_mean * slope;
        const float square = f.decay * j.s1[i] + f.fresh * (slope * slope);
        j.s0[i] = mean;
        j.s1[i] = square;
        j.w[i] -= rate * mean / (root * sqrtf(square) + f.epsilon);
    }
}

cudaError_t pada_cuda_clip_update(cudaStream_t stream, const cuda_update_job *job,
                                  const cuda_clip *clip, const cuda_ranges *ranges)
{
    const dim3 grid = grid_of(ranges);

    switch (job->rule) {
    case PADA_RULE_SGD:
        cuda_launch(sgd_kernel, grid, CUDA_BLOCK, 0, stream, *job, *clip, *ranges);
        break;
    case PADA_RULE_RMSPROP:
        cuda_launch(rmsprop_kernel, grid, CUDA_BLOCK, 0, stream, *job, *clip, *ranges);
        break;
    case PADA_RULE_ADAM:
        cuda_launch(adam_kernel, grid, CUDA_BLOCK, 0, stream, *job, *clip, *ranges, *job->rates,
                    *job->roots);
        break;
    }
    return cudaPeekAtLastError();
}

cudaError_t pada_cuda_update(cudaStream_t stream, const cuda_update_job *job,
                             const cuda_ranges *ranges)
{
    const cuda_clip none = {NULL, 0, 0, NULL};

    return pada_cuda_clip_update(stream, job, &none, ranges);
}

__global__ static void copy_kernel(float *to, const float *from,
                                   const __grid_constant__ cuda_ranges ranges)
{
    cuda_begin();
    FOR_RANGE(i, ranges)
    to[i] = from[i];
}

cudaError_t pada_cuda_copy(cudaStream_t stream, float *to, const float *from,
                           const cuda_ranges *ranges)
{
    cuda_launch(copy_kernel, grid_of(ranges), CUDA_BLOCK, 0, stream, to, from, *ranges);
    return cudaPeekAtLastError();
}

__global__ static void axpy_kernel(float *y, float a, const float *x,
                                   const __grid_constant__ cuda_ranges ranges)
{
    cuda_begin();
    FOR_RANGE(i, ranges)
    y[i] += a * x[i];
}

cudaError_t pada_cuda_axpy(cudaStream_t stream, float *y, float a, const float *x,
                           const cuda_ranges *ranges)
{
    cuda_launch(axpy_kernel, grid_of(ranges), CUDA_BLOCK, 0, stream, y, a, x, *ranges);
    return cudaPeekAtLastError();
}

__global__ static void blend_kernel(float *y, float old, float fresh, const float *x,
                                    const __grid_constant__ cuda_ranges ranges)
{
    cuda_begin();
    FOR_RANGE(i, ranges)
    y[i] = old * y[i] + fresh * x[i];
}

cudaError_t pada_cuda_blend(cudaStream_t stream, float *y, double a, const float *x,
                            const cuda_ranges *ranges)
{
    cuda_launch(blend_kernel, grid_of(ranges), CUDA_BLOCK, 0, stream, y, (float)a, (float)(1 - a),
                x, *ranges);
    return cudaPeekAtLastError();
}

__global__ static void welford_kernel(float *mean, float *spread, const float *x,
                                      const __grid_constant__ cuda_ranges ranges,
                                      const __grid_constant__ cuda_shares shares)
{
    cuda_begin();
    const float share = shares.at[blockIdx.y];

    FOR_RANGE(i, ranges)
    {
        const float off = x[i] - mean[i];
        const float now = mean[i] + share * off;
        mean[i] = now;
        spread[i] += off * (x[i] - now);
    }
}

cudaError_t pada_cuda_welford(cudaStream_t stream, float *mean, float *spread, const float *x,
                              const cuda_ranges *ranges, const cuda_shares *shares)
{
    cuda_launch(welford_kernel, grid_of(ranges), CUDA_BLOCK, 0, stream, mean, spread, x, *ranges,
                *shares);
    return cudaPeekAtLastError();
}
