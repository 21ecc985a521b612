/* cuda_head.cu - the end of a network: mean over pixels, linear layer, loss; one thread per
 * result. Numbers here are few, so sums are taken in double. */
#include "backend/cuda/cuda_math.cuh"

/* ---- mean over pixels ---- */

__global__ static void gap_kernel(cuda_tensor x, pada_shape in, pada_act act, int64_t n,
                                  cuda_tensor f)
{
    cuda_begin();
    const int64_t plane = (int64_t)in.h * in.w;

    CUDA_FOR(i, n)
    {
        const int64_t image = i / in.c, c = i % in.c;
        double sum = 0;
        for (int64_t p = 0; p < plane; p++)
            sum += cuda_act(act, cuda_get(x, image * x.stride + p * in.c + c));
        cuda_put(f, image * f.stride + c, (float)(sum / (double)plane));
    }
}

cudaError_t pada_cuda_gap(cudaStream_t stream, cuda_tensor x, pada_shape in, pada_act act,
                          int n_images, cuda_tensor f)
{
    const int64_t n = (int64_t)n_images * in.c;

    cuda_launch(gap_kernel, cuda_blocks(n), CUDA_BLOCK, 0, stream, x, in, act, n, f);
    return cudaPeekAtLastError();
}

__global__ static void gap_grad_kernel(cuda_tensor x, pada_shape in, pada_act act, int64_t n,
                                       cuda_tensor df, bool accumulate, cuda_tensor dx)
{
    cuda_begin();
    const float scale = 1.0f / (float)((int64_t)in.h * in.w);

    CUDA_FOR(i, n)
    {
        const cuda_position p = cuda_locate(i, in);
        const float g = cuda_get(df, p.n * df.stride + p.c) * scale *
                        cuda_act_slope(act, cuda_get(x, p.n * x.stride + p.in_image));
        cuda_give(dx, p.n * dx.stride + p.in_image, accumulate, g);
    }
}

cudaError_t pada_cuda_gap_grad(cudaStream_t stream, cuda_tensor x, pada_shape in, pada_act act,
                               int n_images, cuda_tensor df, bool accumulate, cuda_tensor dx)
{
    const int64_t n = n_images * pada_shape_count(in);

    cuda_launch(gap_grad_kernel, cuda_blocks(n), CUDA_BLOCK, 0, stream, x, in, act, n, df,
                accumulate, dx);
    return cudaPeekAtLastError();
}

/* ---- linear layer ---- */

__global__ static void linear_kernel(cuda_linear_job j, int64_t n)
{
    cuda_begin();
    CUDA_FOR(i, n)
    {
        const int64_t image = i / j.n_out, o = i % j.n_out;
        double sum = j.bias ? j.bias[o] : 0;
        for (int c = 0; c < j.n_in; c++)
            sum += (double)j.weight[o * j.n_in + c] * cuda_get(j.x, image * j.x.stride + c);
        cuda_put(j.y, image * j.y.stride + o, (float)sum);
    }
}

cudaError_t pada_cuda_linear(cudaStream_t stream, const cuda_linear_job *job)
{
    const int64_t n = (int64_t)job->n_images * job->n_out;

    cuda_launch(linear_kernel, cuda_blocks(n), CUDA_BLOCK, 0, stream, *job, n);
    return cudaPeekAtLastError();
}

__global__ static void linear_grad_in_kernel(cuda_linear_job j, int64_t n)
{
    cuda_begin();
    CUDA_FOR(i, n)
    {
        const int64_t image = i / j.n_in, c = i % j.n_in;
        double sum = 0;
        for (int o = 0; o < j.n_out; o++)
            sum +=
                (double)j.weight[(int64_t)o * j.n_in + c] * cuda_get(j.y, image * j.y.stride + o);
        cuda_give(j.dx, image * j.dx.stride + c, j.accumulate, (float)sum);
    }
}

enum { GRAD_LANES = 32, GRAD_SLICES = 8 };

/* 32 weights of one output per block, and its bias as column n_in; eight sets of images are summed apart,
 * each in order, and then in order. */
__global__ static void linear_grad_weight_kernel(cuda_linear_job j)
{
    cuda_begin();
    __shared__ double sums[GRAD_SLICES][GRAD_LANES];
    const int c = (int)(blockIdx.x * GRAD_LANES + threadIdx.x), o = (int)blockIdx.y;
    double sum = 0;

    if (c <= j.n_in)
        for (int64_t k = threadIdx.y; k < j.n_images; k += GRAD_SLICES)
            sum += (double)cuda_get(j.y, k * j.y.stride + o) *
                   (c < j.n_in ? cuda_get(j.x, k * j.x.stride + c) : 1);
    sums[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y != 0 || c > j.n_in) return;
    for (int k = 1; k < GRAD_SLICES; k++)
        sum += sums[k][threadIdx.x];
    if (c < j.n_in)
        j.grad_weight[(int64_t)o * j.n_in + c] += (float)sum;
    else if (j.grad_bias)
        j.grad_bias[o] += (float)sum;
}

cudaError_t pada_cuda_linear_grad(cudaStream_t stream, const cuda_linear_job *job)
{
    const int64_t n = (int64_t)job->n_images * job->n_in;
    const dim3 grid((unsigned)(job->n_in / GRAD_LANES + 1), (unsigned)job->n_out);
    const dim3 block(GRAD_LANES, GRAD_SLICES);

    cuda_launch(linear_grad_weight_kernel, grid, block, 0, stream, *job);
    if (n > 0) cuda_launch(linear_grad_in_kernel, cuda_blocks(n), CUDA_BLOCK, 0, stream, *job, n);
    return cudaPeekAtLastError();
}

/* ---- loss ---- */

__global__ static void loss_kernel(cuda_loss_job j)
{
    const double sharp = 1 - j.smoothing, even = j.smoothing / j.classes;

    cuda_begin();
    CUDA_FOR(n, j.n_images)
    {
        /* float32 in every backend */
        const float *l = (const float *)j.logits.data + n * j.logits.stride;
        float *grad = j.grad.data ? (float *)j.grad.data + n * j.grad.stride : NULL;
        const int label = j.labels[n];
        const double scale = j.grad_scale * (j.weights ? j.weights[n] : 1.0) / j.n_images;
        double top = l[0], sum = 0, rest = 0, squares = 0;
        int rank = 0;
        for (int c = 1; c < j.classes; c++)
            if (l[c] > top) top = l[c];
        for (int c = 0; c < j.classes; c++)
            sum += exp(l[c] - top);
        for (int c = 0; c < j.classes; c++) {
            const double d = exp(l[c] - top) / sum - (even + (c == label ? sharp : 0));
            squares += d * d;
            if (grad) grad[c] = (float)(scale * d);
            rank += c < label ? l[c] >= l[label] : l[c] > l[label];
        }
        if (!j.loss) continue;
        for (int c = 0; c < j.classes && even > 0; c++)
            rest += l[c] - top;
        j.loss[n] = (float)(log(sum) - sharp * (l[label] - top) - even * rest);
        j.norm[n] = (float)sqrt(squares);
        j.rank[n] = rank;
    }
}

cudaError_t pada_cuda_loss(cudaStream_t stream, const cuda_loss_job *job)
{
    cuda_launch(loss_kernel, cuda_blocks(job->n_images), CUDA_BLOCK, 0, stream, *job);
    return cudaPeekAtLastError();
}
