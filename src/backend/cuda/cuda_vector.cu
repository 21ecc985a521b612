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

/* One block per range: strided sums in double, then a tree. */
__global__ static void dot_kernel(const float *x, const float *y,
                                  const __grid_constant__ cuda_ranges ranges, double *to)
{
    cuda_begin();
    __shared__ double sums[SUM_THREADS];
    const pada_range range = ranges.at[blockIdx.x];
    double sum = 0;

    for (int64_t i = threadIdx.x; i < range.count; i += SUM_THREADS)
        sum += (double)x[range.first + i] * (double)y[range.first + i];
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
    cuda_launch(dot_kernel, ranges->n, SUM_THREADS, 0, stream, x, y, *ranges, sums);
    return cudaPeekAtLastError();
}

cudaError_t pada_cuda_sum_squares(cudaStream_t stream, const float *x, const cuda_ranges *ranges,
                                  double *sums)
{
    return pada_cuda_dot(stream, x, x, ranges, sums);
}

/* The factors of a step, in the type they are used in. */
typedef struct sgd_factors {
    float lr, momentum, weight_decay, grad_scale;
    bool nesterov;
} sgd_factors;

__global__ static void sgd_kernel(float *w, const float *g, float *v,
                                  const __grid_constant__ cuda_ranges ranges, sgd_factors f)
{
    cuda_begin();
    FOR_RANGE(i, ranges)
    {
        const float slope = f.grad_scale * g[i] + f.weight_decay * w[i];
        const float velocity = f.momentum * v[i] + slope;
        v[i] = velocity;
        w[i] -= f.lr * (f.nesterov ? slope + f.momentum * velocity : velocity);
    }
}

cudaError_t pada_cuda_sgd(cudaStream_t stream, float *w, const float *g, float *v,
                          const cuda_ranges *ranges, const pada_sgd_step *step)
{
    const sgd_factors f = {(float)step->lr, (float)step->momentum, (float)step->weight_decay,
                           (float)step->grad_scale, step->nesterov};

    cuda_launch(sgd_kernel, grid_of(ranges), CUDA_BLOCK, 0, stream, w, g, v, *ranges, f);
    return cudaPeekAtLastError();
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

/* Every block works out the norm for itself. */
__global__ static void clip_sgd_kernel(cuda_clip_job j, const __grid_constant__ cuda_ranges ranges,
                                       sgd_factors f)
{
    cuda_begin();
    const double norm = sqrt(total(j.sums, j.n_sums));
    const bool finite = norm < INFINITY;                     /* and not NaN */
    double factor = j.clip > 0 ? j.clip / (norm + 1e-6) : 1; /* as PyTorch's clip_grad_norm_ */

    if (factor > 1) factor = 1;
    if (j.record && blockIdx.x == 0 && blockIdx.y == 0) {
        for (int k = (int)threadIdx.x; k < j.n_sums; k += CUDA_BLOCK)
            j.record[2 + k] = (float)sqrt(j.sums[k]);
        if (threadIdx.x == 0) {
            j.record[0] = (float)norm;
            j.record[1] = (float)factor;
        }
    }
    if (!finite) return;
    FOR_RANGE(i, ranges)
    {
        const float slope = (float)factor * j.g[i] + f.weight_decay * j.w[i];
        const float velocity = f.momentum * j.v[i] + slope;
        j.v[i] = velocity;
        j.w[i] -= f.lr * (f.nesterov ? slope + f.momentum * velocity : velocity);
    }
}

cudaError_t pada_cuda_clip_sgd(cudaStream_t stream, const cuda_clip_job *job,
                               const cuda_ranges *ranges, const pada_sgd_step *step)
{
    const sgd_factors f = {(float)step->lr, (float)step->momentum, (float)step->weight_decay, 1,
                           step->nesterov};

    cuda_launch(clip_sgd_kernel, grid_of(ranges), CUDA_BLOCK, 0, stream, *job, *ranges, f);
    return cudaPeekAtLastError();
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
