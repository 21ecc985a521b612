/* cuda_conv.cu - convolutions of any kernel, stride, padding, dilation and groups, one thread per result.
 *
 * These are the kernels for every shape; they have to be right. A weight gradient is a sum over all
 * pixels of the batch: chunks of images are summed apart, then added up in order. Where tensor cores can do
 * it, cuda_conv_mma.cu does; most depthwise ones are in cuda_depth.cu.
 *
 *   partial   [chunk][out][in of its group][kh][kw]
 */
#include "backend/cuda/cuda_math.cuh"

enum {
    MAX_CHUNKS = 128,
    MAX_PARTIAL = 1 << 24 /* floats, unless one chunk is more than that */
};

/* Rows (and columns) from an output, times the stride, to what its tap k reads. */
static __device__ inline int tap_shift(const pada_conv &conv, int k)
{
    return k * conv.dilation - conv.pad + conv.offset;
}

/* Channels of a group. */
typedef struct group_size {
    int in, out;
} group_size;

static __device__ inline group_size group_of(const pada_conv &conv)
{
    return (group_size){conv.c_in / conv.groups, conv.c_out / conv.groups};
}

__global__ static void forward_kernel(cuda_conv_job j, int64_t n, cuda_tensor z)
{
    cuda_begin();
    const int k = j.conv.kernel;
    const group_size group = group_of(j.conv);

    CUDA_FOR(i, n)
    {
        const cuda_position p = cuda_locate(i, j.out);
        const float *weight = j.weight + (int64_t)p.c * group.in * k * k;
        const int first = p.c / group.out * group.in;
        float sum = 0;
        for (int kh = 0; kh < k; kh++) {
            const int h = p.h * j.conv.stride + tap_shift(j.conv, kh);
            if (h < 0 || h >= j.in.h) continue;
            for (int kw = 0; kw < k; kw++) {
                const int w = p.w * j.conv.stride + tap_shift(j.conv, kw);
                if (w < 0 || w >= j.in.w) continue;
                const int64_t pixel = p.n * j.x.stride + cuda_pixel(j.in, h, w) + first;
                float tap = 0;
                for (int c = 0; c < group.in; c++)
                    tap += weight[((int64_t)c * k + kh) * k + kw] *
                           cuda_act(j.conv.act, cuda_get(j.x, pixel + c));
                sum += tap;
            }
        }
        cuda_put(z, p.n * z.stride + p.in_image, sum + (j.bias ? j.bias[p.c] : 0));
    }
}

cudaError_t pada_cuda_conv_forward(cudaStream_t stream, const cuda_conv_job *job, cuda_tensor z)
{
    const int64_t n = job->n_images * pada_shape_count(job->out);

    if (pada_cuda_conv_mma_fits(job)) return pada_cuda_conv_mma_forward(stream, job, z);
    if (pada_cuda_depth_fits(&job->conv)) return pada_cuda_depth_forward(stream, job, z);
    cuda_launch(forward_kernel, cuda_blocks(n), CUDA_BLOCK, 0, stream, *job, n, z);
    return cudaPeekAtLastError();
}

/* One thread per element of dx, which gathers from the outputs that read it. */
__global__ static void grad_in_kernel(cuda_conv_job j, int64_t n)
{
    cuda_begin();
    const int k = j.conv.kernel, s = j.conv.stride;
    const group_size group = group_of(j.conv);

    CUDA_FOR(i, n)
    {
        const cuda_position p = cuda_locate(i, j.in);
        const int first = p.c / group.in * group.out, row = p.c % group.in;
        float sum = 0;
        for (int kh = 0; kh < k; kh++) {
            const int h = p.h - tap_shift(j.conv, kh); /* the output's row, times the stride */
            if (h < 0 || h % s != 0 || h / s >= j.out.h) continue;
            for (int kw = 0; kw < k; kw++) {
                const int w = p.w - tap_shift(j.conv, kw);
                if (w < 0 || w % s != 0 || w / s >= j.out.w) continue;
                const int64_t pixel = p.n * j.dz.stride + cuda_pixel(j.out, h / s, w / s);
                float tap = 0;
                for (int o = first; o < first + group.out; o++)
                    tap += j.weight[(((int64_t)o * group.in + row) * k + kh) * k + kw] *
                           cuda_get(j.dz, pixel + o);
                sum += tap;
            }
        }
        sum *= cuda_act_slope(j.conv.act, cuda_get(j.x, p.n * j.x.stride + p.in_image));
        cuda_give(j.dx, p.n * j.dx.stride + p.in_image, j.accumulate, sum);
    }
}

cudaError_t pada_cuda_conv_grad_in(cudaStream_t stream, const cuda_conv_job *job)
{
    const int64_t n = job->n_images * pada_shape_count(job->in);

    if (pada_cuda_conv_mma_fits(job) && job->dz.half)
        return pada_cuda_conv_mma_grad_in(stream, job);
    if (pada_cuda_depth_fits(&job->conv) && job->conv.stride == 1)
        return pada_cuda_depth_grad_in(stream, job);
    cuda_launch(grad_in_kernel, cuda_blocks(n), CUDA_BLOCK, 0, stream, *job, n);
    return cudaPeekAtLastError();
}

/* Images of one chunk: so many that neither the chunks nor their sums become too many. */
static int chunk_size(const pada_conv *conv, int n_images)
{
    int64_t chunks = MAX_PARTIAL / pada_conv_weights(conv);

    if (chunks > MAX_CHUNKS) chunks = MAX_CHUNKS;
    if (chunks < 1) chunks = 1;
    return (int)((n_images + chunks - 1) / chunks);
}

static int n_chunks(const pada_conv *conv, int n_images)
{
    const int size = chunk_size(conv, n_images);
    return (n_images + size - 1) / size;
}

int64_t pada_cuda_conv_partial(const pada_conv *conv, int n_images)
{
    return pada_conv_weights(conv) * n_chunks(conv, n_images);
}

/* One thread per weight; neighbours differ in the output channel, so that they read dz side by side
 * and share x. blockIdx.y is the chunk. A row is summed in float, rows in double. */
__global__ static void grad_weight_kernel(cuda_conv_job j, int chunk, int64_t n_weights)
{
    cuda_begin();
    const int k = j.conv.kernel, s = j.conv.stride;
    const group_size group = group_of(j.conv);
    const int first = blockIdx.y * chunk, last = min(first + chunk, j.n_images);

    CUDA_FOR(i, n_weights)
    {
        const int o = (int)(i % j.conv.c_out), kw = (int)(i / j.conv.c_out % k);
        const int kh = (int)(i / j.conv.c_out / k % k), in = (int)(i / j.conv.c_out / k / k);
        const int c = o / group.out * group.in + in;
        double sum = 0;
        for (int n = first; n < last; n++)
            for (int h = 0; h < j.out.h; h++) {
                const int ih = h * s + tap_shift(j.conv, kh);
                if (ih < 0 || ih >= j.in.h) continue;
                const int64_t x = n * j.x.stride + cuda_pixel(j.in, ih, 0) + c;
                const int64_t dz = n * j.dz.stride + cuda_pixel(j.out, h, 0) + o;
                float row = 0;
                for (int w = 0; w < j.out.w; w++) {
                    const int iw = w * s + tap_shift(j.conv, kw);
                    if (iw < 0 || iw >= j.in.w) continue;
                    row += cuda_act(j.conv.act, cuda_get(j.x, x + (int64_t)iw * j.in.c)) *
                           cuda_get(j.dz, dz + (int64_t)w * j.out.c);
                }
                sum += row;
            }
        j.partial[blockIdx.y * n_weights + (((int64_t)o * group.in + in) * k + kh) * k + kw] =
            (float)sum;
    }
}

enum { ADD_LANES = 32, ADD_SLICES = 8 };

/* 32 weights per block; eight sets of chunks are added up apart, each in order, and then in order. */
__global__ static void add_chunks_kernel(const float *partial, int chunks, int64_t n, float *grad)
{
    cuda_begin();
    __shared__ double sums[ADD_SLICES][ADD_LANES];
    const int64_t i = blockIdx.x * (int64_t)ADD_LANES + threadIdx.x;
    double sum = 0;

    if (i < n) {
#pragma unroll 8
        for (int k = (int)threadIdx.y; k < chunks; k += ADD_SLICES)
            sum += partial[k * n + i];
    }
    sums[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y != 0 || i >= n) return;
    for (int k = 1; k < ADD_SLICES; k++)
        sum += sums[k][threadIdx.x];
    grad[i] += (float)sum;
}

cudaError_t pada_cuda_conv_grad_weight(cudaStream_t stream, const cuda_conv_job *job)
{
    const int64_t n = pada_conv_weights(&job->conv);
    const int chunks = n_chunks(&job->conv, job->n_images);
    const dim3 grid(cuda_blocks(n), (unsigned)chunks);

    const int chunk = chunk_size(&job->conv, job->n_images);

    if (pada_cuda_conv_mma_fits(job) && job->dz.half)
        (void)pada_cuda_conv_mma_weights(stream, job, chunk, chunks);
    else if (pada_cuda_depth_fits(&job->conv))
        (void)pada_cuda_depth_weights(stream, job, chunk, chunks);
    else
        cuda_launch(grad_weight_kernel, grid, CUDA_BLOCK, 0, stream, *job, chunk, n);
    const dim3 block(ADD_LANES, ADD_SLICES);
    const unsigned blocks = (unsigned)((n + ADD_LANES - 1) / ADD_LANES);
    cuda_launch(add_chunks_kernel, blocks, block, 0, stream, job->partial, chunks, n,
                job->grad_weight);
    return cudaPeekAtLastError();
}

__global__ static void norm_grad_kernel(pada_shape shape, int64_t n, cuda_tensor dy, cuda_tensor z,
                                        const float *coef, int64_t vector, cuda_tensor dz)
{
    cuda_begin();
    CUDA_FOR(i, n)
    {
        const cuda_position p = cuda_locate(i, shape);
        const float slope = coef[p.c] * cuda_get(dy, p.n * dy.stride + p.in_image) +
                            coef[vector + p.c] * cuda_get(z, p.n * z.stride + p.in_image);
        cuda_put(dz, p.n * dz.stride + p.in_image, slope + coef[2 * vector + p.c]);
    }
}

cudaError_t pada_cuda_norm_grad(cudaStream_t stream, pada_shape shape, int n_images, cuda_tensor dy,
                                cuda_tensor z, const float *coef, int64_t vector, cuda_tensor dz)
{
    const int64_t n = n_images * pada_shape_count(shape);

    cuda_launch(norm_grad_kernel, cuda_blocks(n), CUDA_BLOCK, 0, stream, shape, n, dy, z, coef,
                vector, dz);
    return cudaPeekAtLastError();
}
