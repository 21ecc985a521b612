/* cuda_sums.cu - sums over images and pixels, one per channel: batch-norm statistics, the
 * coefficients of their gradients, gradients of biases.
 *
 * Two steps, both in double and in a fixed order. A block sums one image for 32 channels; then a
 * block per channel adds up the images.
 *
 *   partial   [image][2][channel] doubles
 */
#include "backend/cuda/cuda_math.cuh"

enum {
    LANES = 32,
    SLICES = 8, /* a block of the first step: channels, sets of pixels */
    ADDERS = 32 /* threads of a block of the second step */
};

/* What the two sums of an element u are. */
typedef enum sum_kind {
    MOMENTS, /* u, u^2 */
    PRODUCTS /* u, u (x - mean) */
} sum_kind;

__global__ static void image_sums_kernel(sum_kind kind, cuda_tensor u, cuda_tensor x,
                                         const float *mean, pada_shape shape, double *partial)
{
    cuda_begin();
    __shared__ double sums[2][SLICES][LANES];
    const int64_t n = blockIdx.x, plane = (int64_t)shape.h * shape.w;
    const int c = blockIdx.y * LANES + threadIdx.x;
    double first = 0, second = 0;

    if (c < shape.c)
        for (int64_t p = threadIdx.y; p < plane; p += SLICES) {
            const double value = cuda_get(u, n * u.stride + p * shape.c + c);
            first += value;
            if (kind == MOMENTS)
                second += value * value;
            else if (x.data)
                second += value * ((double)cuda_get(x, n * x.stride + p * shape.c + c) - mean[c]);
        }
    sums[0][threadIdx.y][threadIdx.x] = first;
    sums[1][threadIdx.y][threadIdx.x] = second;
    __syncthreads();
    if (threadIdx.y >= 2 || c >= shape.c) return;
    double sum = 0;
    for (int k = 0; k < SLICES; k++)
        sum += sums[threadIdx.y][k][threadIdx.x];
    partial[(n * 2 + threadIdx.y) * shape.c + c] = sum;
}

static void sum_images(cudaStream_t stream, sum_kind kind, cuda_tensor u, cuda_tensor x,
                       const float *mean, pada_shape shape, int n_images, double *partial)
{
    const dim3 grid((unsigned)n_images, (unsigned)((shape.c + LANES - 1) / LANES));
    const dim3 block(LANES, SLICES);

    cuda_launch(image_sums_kernel, grid, block, 0, stream, kind, u, x, mean, shape, partial);
}

/* Sum `which` of this block's channel over the images, for thread 0 (the others: 0). */
static __device__ double add_images(const double *partial, int which, int n_images, int channels)
{
    __shared__ double sums[ADDERS];
    double sum = 0;

    for (int64_t n = threadIdx.x; n < n_images; n += ADDERS)
        sum += partial[(n * 2 + which) * channels + blockIdx.x];
    __syncthreads(); /* the sums of the call before have been read */
    sums[threadIdx.x] = sum;
    for (unsigned half = ADDERS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    }
    return threadIdx.x == 0 ? sums[0] : 0;
}

__global__ static void moments_kernel(const double *partial, int n_images, pada_shape shape,
                                      double epsilon, float *mean, float *rstd)
{
    cuda_begin();
    const double count = (double)n_images * shape.h * shape.w;
    const double sum = add_images(partial, 0, n_images, shape.c);
    const double squares = add_images(partial, 1, n_images, shape.c);

    if (threadIdx.x != 0) return;
    const double variance = squares / count - (sum / count) * (sum / count);
    mean[blockIdx.x] = (float)(sum / count);
    rstd[blockIdx.x] = (float)(1 / sqrt((variance < 0 ? 0 : variance) + epsilon));
}

/* From dx = scale rstd (dy - mean(dy) - xhat mean(dy xhat)) to dx = a dy + b x + c. */
__global__ static void norm_coef_kernel(const double *partial, int n_images, pada_shape shape,
                                        cuda_norm_job job)
{
    cuda_begin();
    const double count = (double)n_images * shape.h * shape.w;
    const double sum = add_images(partial, 0, n_images, shape.c);
    const double product = add_images(partial, 1, n_images, shape.c);
    const int c = blockIdx.x;

    if (threadIdx.x != 0) return;
    const double r = job.rstd[c], slope = r * r * r * product / count;
    const double scale = job.scale ? job.scale[c] : 1;
    job.coef[c] = (float)(scale * r);
    job.coef[job.vector + c] = (float)(scale * -slope);
    job.coef[2 * job.vector + c] = (float)(scale * (slope * job.mean[c] - r * sum / count));
    if (job.grad_scale) job.grad_scale[c] += (float)(r * product);
    if (job.grad_shift) job.grad_shift[c] += (float)sum;
}

__global__ static void bias_grad_kernel(const double *partial, int n_images, int channels,
                                        float *grad)
{
    cuda_begin();
    const double sum = add_images(partial, 0, n_images, channels);

    if (threadIdx.x == 0) grad[blockIdx.x] += (float)sum;
}

int64_t pada_cuda_sums_partial(int channels, int n_images)
{
    return 2 * (int64_t)channels * n_images;
}

cudaError_t pada_cuda_moments(cudaStream_t stream, cuda_tensor x, pada_shape shape, int n_images,
                              double epsilon, double *partial, float *mean, float *rstd)
{
    const cuda_tensor none = {NULL, 0, false};

    sum_images(stream, MOMENTS, x, none, NULL, shape, n_images, partial);
    cuda_launch(moments_kernel, shape.c, ADDERS, 0, stream, partial, n_images, shape, epsilon, mean,
                rstd);
    return cudaPeekAtLastError();
}

cudaError_t pada_cuda_norm_coef(cudaStream_t stream, cuda_tensor dy, cuda_tensor x,
                                pada_shape shape, int n_images, double *partial,
                                const cuda_norm_job *job)
{
    sum_images(stream, PRODUCTS, dy, x, job->mean, shape, n_images, partial);
    cuda_launch(norm_coef_kernel, shape.c, ADDERS, 0, stream, partial, n_images, shape, *job);
    return cudaPeekAtLastError();
}

cudaError_t pada_cuda_bias_grad(cudaStream_t stream, cuda_tensor dz, pada_shape shape, int n_images,
                                double *partial, float *grad)
{
    const cuda_tensor none = {NULL, 0, false};

    sum_images(stream, PRODUCTS, dz, none, NULL, shape, n_images, partial);
    cuda_launch(bias_grad_kernel, shape.c, ADDERS, 0, stream, partial, n_images, shape.c, grad);
    return cudaPeekAtLastError();
}
