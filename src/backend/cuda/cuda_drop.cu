/* cuda_drop.cu - dropout and drop path: one image per block and slice, so that a mask of images is drawn once. */
#include "backend/cuda/cuda_math.cuh"
#include "backend/drop_mask.h"

static const int64_t elements = 8; /* per thread, where an image has so many */
static const int64_t most_slices = 65535;

__global__ static void drop_kernel(const __grid_constant__ cuda_drop_job j, int64_t count)
{
    const int n = (int)blockIdx.x;
    const int64_t plane = (int64_t)j.shape.h * j.shape.w;
    const bool whole = j.drop.kind == PADA_DROP_IMAGES;
    double factor = 0;

    cuda_begin();
    if (whole) factor = pada_drop_factor(&j.drops, &j.drop, n, 0);
    for (int64_t i = (int64_t)blockIdx.y * blockDim.x + threadIdx.x; i < count;
         i += (int64_t)gridDim.y * blockDim.x) {
        if (!whole)
            factor = pada_drop_factor(&j.drops, &j.drop, n, i % j.shape.c * plane + i / j.shape.c);
        const float y =
            factor == 0 ? 0 : (float)factor * cuda_get(j.x, n * (int64_t)j.x.stride + i);
        cuda_give(j.y, n * (int64_t)j.y.stride + i, j.accumulate, y);
    }
}

cudaError_t pada_cuda_drop(cudaStream_t stream, const cuda_drop_job *job)
{
    const int64_t count = pada_shape_count(job->shape), part = CUDA_BLOCK * elements;
    const int64_t slices = (count + part - 1) / part;
    const dim3 grid((unsigned)job->n_images,
                    (unsigned)(slices < most_slices ? slices : most_slices));

    cuda_launch(drop_kernel, grid, CUDA_BLOCK, 0, stream, *job, count);
    return cudaPeekAtLastError();
}
