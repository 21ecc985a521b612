/* cuda_align.cu - taps: keeping a value, its distance from what was kept, and the gradient of that. */
#include "backend/cuda/cuda_math.cuh"

/* Element i of image n; zero where there is no tensor. */
static __device__ inline float get_or_zero(cuda_tensor x, int64_t n, int64_t i)
{
    return x.data ? cuda_get(x, n * x.stride + i) : 0;
}

__global__ static void keep_kernel(cuda_align_job j, int64_t count)
{
    cuda_begin();
    CUDA_FOR(i, j.n_images * count)
    {
        const int64_t n = i / count, k = i - n * count;
        cuda_put(j.kept, n * j.kept.stride + k, get_or_zero(j.x, n, k));
    }
}

cudaError_t pada_cuda_tap_keep(cudaStream_t stream, const cuda_align_job *job)
{
    const int64_t count = pada_shape_count(job->shape);

    cuda_launch(keep_kernel, cuda_blocks(job->n_images * count), CUDA_BLOCK, 0, stream, *job,
                count);
    return cudaPeekAtLastError();
}

/* One block per image; every thread adds up its elements, and thread 0 the threads in order. */
__global__ static void align_kernel(cuda_align_job j, int64_t count)
{
    cuda_begin();
    __shared__ double sums[CUDA_BLOCK];
    const int64_t n = blockIdx.x;
    double sum = 0;

    for (int64_t i = threadIdx.x; i < count; i += CUDA_BLOCK) {
        const float d = get_or_zero(j.x, n, i) - cuda_get(j.kept, n * j.kept.stride + i);
        sum += (double)d * d;
    }
    sums[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x != 0) return;
    for (int k = 1; k < CUDA_BLOCK; k++)
        sum += sums[k];
    j.distance[n] = (j.accumulate ? j.distance[n] : 0) + (float)(j.share * sum);
}

cudaError_t pada_cuda_align(cudaStream_t stream, const cuda_align_job *job)
{
    cuda_launch(align_kernel, (unsigned)job->n_images, CUDA_BLOCK, 0, stream, *job,
                pada_shape_count(job->shape));
    return cudaPeekAtLastError();
}

__global__ static void align_grad_kernel(cuda_align_job j, int64_t count)
{
    cuda_begin();
    CUDA_FOR(i, j.n_images * count)
    {
        const int64_t n = i / count, k = i - n * count;
        const double factor = 2 * j.scale * (j.weights ? j.weights[n] : 1.0) / j.n_images * j.share;
        const float d = cuda_get(j.x, n * j.x.stride + k) - cuda_get(j.kept, n * j.kept.stride + k);
        cuda_give(j.dx, n * j.dx.stride + k, j.accumulate, (float)factor * d);
    }
}

cudaError_t pada_cuda_align_grad(cudaStream_t stream, const cuda_align_job *job)
{
    const int64_t count = pada_shape_count(job->shape);

    cuda_launch(align_grad_kernel, cuda_blocks(job->n_images * count), CUDA_BLOCK, 0, stream, *job,
                count);
    return cudaPeekAtLastError();
}
