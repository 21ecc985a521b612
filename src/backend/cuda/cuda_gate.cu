/* cuda_gate.cu - act(x) times the sigmoid of one number per image and channel, one thread per result. */
#include "backend/cuda/cuda_math.cuh"

static __device__ inline float factor_at(const cuda_gate_job &j, int64_t n, int c)
{
    return 1 / (1 + expf(-cuda_get(j.s, n * j.s.stride + c)));
}

__global__ static void gate_kernel(cuda_gate_job j, int64_t n)
{
    cuda_begin();
    CUDA_FOR(i, n)
    {
        const cuda_position p = cuda_locate(i, j.shape);
        const float a = cuda_act(j.act, cuda_get(j.x, p.n * j.x.stride + p.in_image));
        cuda_put(j.y, p.n * j.y.stride + p.in_image, a * factor_at(j, p.n, p.c));
    }
}

cudaError_t pada_cuda_gate(cudaStream_t stream, const cuda_gate_job *job)
{
    const int64_t n = job->n_images * pada_shape_count(job->shape);

    cuda_launch(gate_kernel, cuda_blocks(n), CUDA_BLOCK, 0, stream, *job, n);
    return cudaPeekAtLastError();
}

__global__ static void gate_grad_kernel(cuda_gate_job j, int64_t n)
{
    cuda_begin();
    CUDA_FOR(i, n)
    {
        const cuda_position p = cuda_locate(i, j.shape);
        const float slope = cuda_act_slope(j.act, cuda_get(j.x, p.n * j.x.stride + p.in_image));
        const float dy = cuda_get(j.y, p.n * j.y.stride + p.in_image);
        cuda_give(j.to, p.n * j.to.stride + p.in_image, j.accumulate,
                  dy * factor_at(j, p.n, p.c) * slope);
    }
}

cudaError_t pada_cuda_gate_grad(cudaStream_t stream, const cuda_gate_job *job)
{
    const int64_t n = job->n_images * pada_shape_count(job->shape);

    cuda_launch(gate_grad_kernel, cuda_blocks(n), CUDA_BLOCK, 0, stream, *job, n);
    return cudaPeekAtLastError();
}

enum { LANES = 32, SLICES = 8 }; /* of a block: channels, sets of pixels */

/* One image and LANES channels per block; sets of pixels are added up in order. */
__global__ static void gate_factor_grad_kernel(cuda_gate_job j)
{
    cuda_begin();
    __shared__ double sums[SLICES][LANES];
    const int64_t n = blockIdx.x, plane = (int64_t)j.shape.h * j.shape.w;
    const int c = blockIdx.y * LANES + threadIdx.x;
    double sum = 0;

    if (c < j.shape.c)
        for (int64_t p = threadIdx.y; p < plane; p += SLICES)
            sum += (double)cuda_get(j.y, n * j.y.stride + p * j.shape.c + c) *
                   cuda_act(j.act, cuda_get(j.x, n * j.x.stride + p * j.shape.c + c));
    sums[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y != 0 || c >= j.shape.c) return;
    for (int k = 1; k < SLICES; k++)
        sum += sums[k][threadIdx.x];
    const float factor = factor_at(j, n, c);
    cuda_give(j.to, n * j.to.stride + c, j.accumulate, (float)sum * factor * (1 - factor));
}

cudaError_t pada_cuda_gate_factor_grad(cudaStream_t stream, const cuda_gate_job *job)
{
    const dim3 grid((unsigned)job->n_images, (unsigned)((job->shape.c + LANES - 1) / LANES));
    const dim3 block(LANES, SLICES);

    cuda_launch(gate_factor_grad_kernel, grid, block, 0, stream, *job);
    return cudaPeekAtLastError();
}
