/* cuda_layout.cu - from the plain images of a batch to tensors. */
#include "backend/cuda/cuda_math.cuh"

__global__ static void import_kernel(const float *__restrict__ planar, pada_shape shape, int64_t n,
                                     cuda_tensor to)
{
    CUDA_FOR(i, n)
    {
        const cuda_position p = cuda_locate(i, shape);
        const int64_t plane = (int64_t)p.n * shape.c + p.c;
        to.data[p.n * to.stride + p.in_image] = planar[(plane * shape.h + p.h) * shape.w + p.w];
    }
}

cudaError_t pada_cuda_import(cudaStream_t stream, const float *planar, pada_shape shape,
                             int n_images, cuda_tensor to)
{
    const int64_t n = n_images * pada_shape_count(shape);

    import_kernel<<<cuda_blocks(n), CUDA_BLOCK, 0, stream>>>(planar, shape, n, to);
    return cudaPeekAtLastError();
}
