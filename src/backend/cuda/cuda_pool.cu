/* cuda_pool.cu - pools and concatenations, which only move pixels about: one thread per result. */
#include "backend/cuda/cuda_math.cuh"

/* ---- pools ---- */

/* Where the largest act(x) of a window is, the first of equal ones; a NaN is larger than all. */
static __device__ int64_t largest_at(const cuda_pool_job &j, int64_t base, int h0, int h1, int w0,
                                     int w1)
{
    int64_t best = -1;
    float largest = 0;

    for (int h = h0; h < h1; h++)
        for (int w = w0; w < w1; w++) {
            const int64_t at = base + cuda_pixel(j.in, h, w);
            const float a = cuda_act(j.act, cuda_get(j.x, at));
            if (best >= 0 && !(a > largest) && a == a) continue;
            best = at;
            largest = a;
        }
    return best;
}

__global__ static void pool_kernel(cuda_pool_job j, int64_t n)
{
    cuda_begin();
    CUDA_FOR(i, n)
    {
        const cuda_position p = cuda_locate(i, j.out);
        const int64_t base = p.n * j.x.stride + p.c;
        int h0, h1, w0, w1;
        float y = 0;
        cuda_window(p.h, j.in.h, j.pool, &h0, &h1);
        cuda_window(p.w, j.in.w, j.pool, &w0, &w1);
        if (j.kind == PADA_POOL_MAX) {
            y = cuda_act(j.act, cuda_get(j.x, largest_at(j, base, h0, h1, w0, w1)));
        } else {
            for (int h = h0; h < h1; h++)
                for (int w = w0; w < w1; w++)
                    y += cuda_act(j.act, cuda_get(j.x, base + cuda_pixel(j.in, h, w)));
            y /= (float)((h1 - h0) * (w1 - w0));
        }
        cuda_put(j.y, p.n * j.y.stride + p.in_image, y);
    }
}

cudaError_t pada_cuda_pool(cudaStream_t stream, const cuda_pool_job *job)
{
    const int64_t n = job->n_images * pada_shape_count(job->out);

    cuda_launch(pool_kernel, cuda_blocks(n), CUDA_BLOCK, 0, stream, *job, n);
    return cudaPeekAtLastError();
}

/* One thread per element of x: the windows that hold it, and of largest values those that it is the largest of. */
__global__ static void pool_grad_kernel(cuda_pool_job j, int64_t n)
{
    cuda_begin();
    CUDA_FOR(i, n)
    {
        const cuda_position p = cuda_locate(i, j.in);
        const int64_t base = p.n * j.x.stride + p.c, at = p.n * j.x.stride + p.in_image;
        int first_h, end_h, first_w, end_w;
        float sum = 0;
        cuda_readers(p.h, j.out.h, j.pool, &first_h, &end_h);
        cuda_readers(p.w, j.out.w, j.pool, &first_w, &end_w);
        for (int h = first_h; h < end_h; h++)
            for (int w = first_w; w < end_w; w++) {
                int h0, h1, w0, w1;
                cuda_window(h, j.in.h, j.pool, &h0, &h1);
                cuda_window(w, j.in.w, j.pool, &w0, &w1);
                const float dy = cuda_get(j.y, p.n * j.y.stride + cuda_pixel(j.out, h, w) + p.c);
                if (j.kind == PADA_POOL_AVG)
                    sum += dy / (float)((h1 - h0) * (w1 - w0));
                else if (largest_at(j, base, h0, h1, w0, w1) == at)
                    sum += dy;
            }
        cuda_give(j.dx, p.n * j.dx.stride + p.in_image, j.accumulate,
                  sum * cuda_act_slope(j.act, cuda_get(j.x, at)));
    }
}

cudaError_t pada_cuda_pool_grad(cudaStream_t stream, const cuda_pool_job *job)
{
    const int64_t n = job->n_images * pada_shape_count(job->in);

    cuda_launch(pool_grad_kernel, cuda_blocks(n), CUDA_BLOCK, 0, stream, *job, n);
    return cudaPeekAtLastError();
}

/* ---- concatenations ---- */

/* Channel c of y is the one of the part that has it, or zero. */
__global__ static void concat_kernel(const __grid_constant__ cuda_concat_job j, pada_shape shape,
                                     int64_t n, cuda_tensor y)
{
    cuda_begin();
    CUDA_FOR(i, n)
    {
        const cuda_position p = cuda_locate(i, shape);
        float value = 0;
        for (int k = 0; k < j.n_parts; k++) {
            const cuda_part *part = &j.parts[k];
            const int c = p.c - part->first;
            if (c < 0 || c >= part->channels) continue;
            value = cuda_get(part->x, p.n * part->x.stride +
                                          ((int64_t)p.h * shape.w + p.w) * part->channels + c);
        }
        cuda_put(y, p.n * y.stride + p.in_image, value);
    }
}

cudaError_t pada_cuda_concat(cudaStream_t stream, const cuda_concat_job *job, pada_shape shape,
                             int n_images, cuda_tensor y)
{
    const int64_t n = n_images * pada_shape_count(shape);

    cuda_launch(concat_kernel, cuda_blocks(n), CUDA_BLOCK, 0, stream, *job, shape, n, y);
    return cudaPeekAtLastError();
}

__global__ static void concat_grad_kernel(cuda_part part, pada_shape shape, int64_t n,
                                          cuda_tensor dy, bool accumulate)
{
    cuda_begin();
    const pada_shape in = {part.channels, shape.h, shape.w};

    CUDA_FOR(i, n)
    {
        const cuda_position p = cuda_locate(i, in);
        const int64_t from = p.n * dy.stride + cuda_pixel(shape, p.h, p.w) + part.first + p.c;
        cuda_give(part.x, p.n * part.x.stride + p.in_image, accumulate, cuda_get(dy, from));
    }
}

cudaError_t pada_cuda_concat_grad(cudaStream_t stream, const cuda_part *part, pada_shape shape,
                                  int n_images, cuda_tensor dy, bool accumulate)
{
    const int64_t n = (int64_t)n_images * part->channels * shape.h * shape.w;

    cuda_launch(concat_grad_kernel, cuda_blocks(n), CUDA_BLOCK, 0, stream, *part, shape, n, dy,
                accumulate);
    return cudaPeekAtLastError();
}
