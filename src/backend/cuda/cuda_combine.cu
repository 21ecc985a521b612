/* cuda_combine.cu - sums of terms and their gradients, and constants, one thread per result. */
#include "backend/cuda/cuda_math.cuh"

/* The terms of one launch travel as an argument of the kernel. */
typedef struct term_list {
    cuda_term at[CUDA_MAX_TERMS];
    int n;
} term_list;

static __device__ float pooled(const cuda_term *t, cuda_position p)
{
    int h0, h1, w0, w1;
    float sum = 0;

    cuda_window(p.h, t->in.h, t->pool, &h0, &h1);
    cuda_window(p.w, t->in.w, t->pool, &w0, &w1);
    for (int h = h0; h < h1; h++)
        for (int w = w0; w < w1; w++)
            sum += cuda_get(t->x, p.n * t->x.stride + cuda_pixel(t->in, h, w) + p.c);
    return sum / (float)((h1 - h0) * (w1 - w0));
}

__global__ static void combine_kernel(const __grid_constant__ term_list terms, pada_shape shape,
                                      int64_t n, bool accumulate, cuda_tensor out)
{
    cuda_begin();
    CUDA_FOR(i, n)
    {
        const cuda_position p = cuda_locate(i, shape);
        const int64_t to = p.n * out.stride + p.in_image;
        float sum = accumulate ? cuda_get(out, to) : 0;
        for (int k = 0; k < terms.n; k++) {
            const cuda_term *t = &terms.at[k];
            if (t->kind == PADA_TERM_AVGPOOL) {
                sum += pooled(t, p);
                continue;
            }
            const float x = cuda_get(t->x, p.n * t->x.stride + p.in_image);
            float y = t->kind == PADA_TERM_BATCHNORM ? (x - t->mean[p.c]) * t->rstd[p.c] : x;
            if (t->scale) y *= t->scale[p.c];
            if (t->shift) y += t->shift[p.c];
            sum += y;
        }
        cuda_put(out, to, sum);
    }
}

cudaError_t pada_cuda_combine(cudaStream_t stream, const cuda_term *terms, int n_terms,
                              pada_shape shape, int n_images, bool accumulate, cuda_tensor y)
{
    const int64_t n = n_images * pada_shape_count(shape);
    term_list list;

    PADA_ASSERT(n_terms <= CUDA_MAX_TERMS);
    list.n = n_terms;
    for (int k = 0; k < n_terms; k++)
        list.at[k] = terms[k];
    cuda_launch(combine_kernel, cuda_blocks(n), CUDA_BLOCK, 0, stream, list, shape, n, accumulate,
                y);
    return cudaPeekAtLastError();
}

/* The sum over the windows that hold element p of x. */
static __device__ float spread(const cuda_term *t, cuda_position p, pada_shape out, cuda_tensor dy)
{
    int first_h, end_h, first_w, end_w;
    float sum = 0;

    cuda_readers(p.h, out.h, t->pool, &first_h, &end_h);
    cuda_readers(p.w, out.w, t->pool, &first_w, &end_w);
    for (int h = first_h; h < end_h; h++)
        for (int w = first_w; w < end_w; w++) {
            int h0, h1, w0, w1;
            cuda_window(h, t->in.h, t->pool, &h0, &h1);
            cuda_window(w, t->in.w, t->pool, &w0, &w1);
            sum += cuda_get(dy, p.n * dy.stride + cuda_pixel(out, h, w) + p.c) /
                   (float)((h1 - h0) * (w1 - w0));
        }
    return sum;
}

__global__ static void combine_grad_kernel(cuda_term t, pada_shape out, int64_t n, cuda_tensor dy)
{
    cuda_begin();
    CUDA_FOR(i, n)
    {
        const cuda_position p = cuda_locate(i, t.in);
        const float from =
            t.kind == PADA_TERM_AVGPOOL ? 0 : cuda_get(dy, p.n * dy.stride + p.in_image);
        float g;
        if (t.kind == PADA_TERM_AVGPOOL)
            g = spread(&t, p, out, dy);
        else if (t.kind == PADA_TERM_BATCHNORM)
            g = t.coef[p.c] * from +
                t.coef[t.vector + p.c] * cuda_get(t.x, p.n * t.x.stride + p.in_image) +
                t.coef[2 * t.vector + p.c];
        else
            g = from;
        cuda_give(t.dx, p.n * t.dx.stride + p.in_image, t.accumulate, g);
    }
}

cudaError_t pada_cuda_combine_grad(cudaStream_t stream, const cuda_term *term, pada_shape shape,
                                   int n_images, cuda_tensor dy)
{
    const int64_t n = n_images * pada_shape_count(term->in);

    cuda_launch(combine_grad_kernel, cuda_blocks(n), CUDA_BLOCK, 0, stream, *term, shape, n, dy);
    return cudaPeekAtLastError();
}

__global__ static void constant_kernel(const float *values, pada_shape shape, int64_t n,
                                       cuda_tensor y)
{
    cuda_begin();
    CUDA_FOR(i, n)
    {
        const cuda_position p = cuda_locate(i, shape);
        cuda_put(y, p.n * y.stride + p.in_image, values[p.c]);
    }
}

cudaError_t pada_cuda_constant(cudaStream_t stream, const float *values, pada_shape shape,
                               int n_images, cuda_tensor y)
{
    const int64_t n = n_images * pada_shape_count(shape);

    cuda_launch(constant_kernel, cuda_blocks(n), CUDA_BLOCK, 0, stream, values, shape, n, y);
    return cudaPeekAtLastError();
}
