/* cuda_layout.cu - from the images of a batch, plain or held, to tensors. */
#include "backend/cuda/cuda_math.cuh"

__global__ static void import_kernel(const float *planar, pada_shape shape, int64_t n,
                                     cuda_tensor to)
{
    cuda_begin();
    CUDA_FOR(i, n)
    {
        const cuda_position p = cuda_locate(i, shape);
        const int64_t plane = (int64_t)p.n * shape.c + p.c;
        cuda_put(to, p.n * to.stride + p.in_image, planar[(plane * shape.h + p.h) * shape.w + p.w]);
    }
}

cudaError_t pada_cuda_import(cudaStream_t stream, const float *planar, pada_shape shape,
                             int n_images, cuda_tensor to)
{
    const int64_t n = n_images * pada_shape_count(shape);

    cuda_launch(import_kernel, cuda_blocks(n), CUDA_BLOCK, 0, stream, planar, shape, n, to);
    return cudaPeekAtLastError();
}

__global__ static void gather_kernel(const float *__restrict__ levels,
                                     const uint8_t *__restrict__ images,
                                     const pada_pick *__restrict__ picks, pada_shape shape,
                                     int64_t n, cuda_tensor to)
{
    CUDA_FOR(i, n)
    {
        const cuda_position p = cuda_locate(i, shape);
        const pada_pick pick = picks[p.n];
        const int row = p.h + pick.top;
        const int column = (pick.flip ? shape.w - 1 - p.w : p.w) + pick.left;
        const bool inside = row >= 0 && row < shape.h && column >= 0 && column < shape.w;
        const int64_t plane = (int64_t)pick.image * shape.c + p.c;
        const int byte = inside ? images[(plane * shape.h + row) * shape.w + column] : 0;
        const bool in_hole = p.h >= pick.hole_top && p.h < pick.hole_bottom &&
                             p.w >= pick.hole_left && p.w < pick.hole_right;
        cuda_put(to, p.n * to.stride + p.in_image, in_hole ? 0.0f : levels[p.c * 256 + byte]);
    }
}

cudaError_t pada_cuda_gather(cudaStream_t stream, const float *levels, const uint8_t *images,
                             const pada_pick *picks, pada_shape shape, int n_images, cuda_tensor to)
{
    const int64_t n = n_images * pada_shape_count(shape);

    gather_kernel<<<cuda_blocks(n), CUDA_BLOCK, 0, stream>>>(levels, images, picks, shape, n, to);
    return cudaPeekAtLastError();
}
