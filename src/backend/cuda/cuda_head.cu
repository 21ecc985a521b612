/* cuda_head.cu - the end of a network: mean over pixels, linear layer, loss; one thread per
 * result. Numbers here are few, so sums are taken in double. */
#include "backend/cuda/cuda_math.cuh"

/* ---- mean over pixels ---- */

__global__ static void gap_kernel(cuda_tensor x, pada_shape in, pada_act act, int64_t n,
                                  cuda_tensor f)
{
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

    gap_kernel<<<cuda_blocks(n), CUDA_BLOCK, 0, stream>>>(x, in, act, n, f);
    return cudaPeekAtLastError();
}

__global__ static void gap_grad_kernel(cuda_tensor x, pada_shape in, pada_act act, int64_t n,
                                       cuda_tensor df, bool accumulate, cuda_tensor dx)
{
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

    gap_grad_kernel<<<cuda_blocks(n), CUDA_BLOCK, 0, stream>>>(x, in, act, n, df, accumulate, dx);
    return cudaPeekAtLastError();
}

/* ---- linear layer ---- */

__global__ static void linear_kernel(cuda_linear_job j, int64_t n)
{
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

    linear_kernel<<<cuda_blocks(n), CUDA_BLOCK, 0, stream>>>(*job, n);
    return cudaPeekAtLastError();
}

__global__ static void linear_grad_in_kernel(cuda_linear_job j, int64_t n)
{
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

/* One thread per weight, and one per bias: column n_in. */
__global__ static void linear_grad_weight_kernel(cuda_linear_job j, int64_t n)
{
    CUDA_FOR(i, n)
    {
        const int64_t o = i / (j.n_in + 1), c = i % (j.n_in + 1);
        double sum = 0;
        if (c == j.n_in && !j.grad_bias) continue;
        for (int64_t k = 0; k < j.n_images; k++)
            sum += (double)cuda_get(j.y, k * j.y.stride + o) *
                   (c < j.n_in ? cuda_get(j.x, k * j.x.stride + c) : 1);
        if (c < j.n_in)
            j.grad_weight[o * j.n_in + c] += (float)sum;
        else
            j.grad_bias[o] += (float)sum;
    }
}

cudaError_t pada_cuda_linear_grad(cudaStream_t stream, const cuda_linear_job *job)
{
    const int64_t n = (int64_t)job->n_images * job->n_in;
    const int64_t n_weights = (int64_t)job->n_out * (job->n_in + 1);

    linear_grad_weight_kernel<<<cuda_blocks(n_weights), CUDA_BLOCK, 0, stream>>>(*job, n_weights);
    if (n > 0) linear_grad_in_kernel<<<cuda_blocks(n), CUDA_BLOCK, 0, stream>>>(*job, n);
    return cudaPeekAtLastError();
}

/* ---- loss ---- */

__global__ static void loss_kernel(cuda_loss_job j)
{
    CUDA_FOR(n, j.n_images)
    {
        /* float32 in every backend */
        const float *l = (const float *)j.logits.data + n * j.logits.stride;
        float *grad = j.grad.data ? (float *)j.grad.data + n * j.grad.stride : NULL;
        const int label = j.labels[n];
        const double scale = j.grad_scale * (j.weights ? j.weights[n] : 1.0) / j.n_images;
        double top = l[0], sum = 0, squares = 0;
        int rank = 0;
        for (int c = 1; c < j.classes; c++)
            if (l[c] > top) top = l[c];
        for (int c = 0; c < j.classes; c++)
            sum += exp(l[c] - top);
        for (int c = 0; c < j.classes; c++) {
            const double d = exp(l[c] - top) / sum - (c == label);
            squares += d * d;
            if (grad) grad[c] = (float)(scale * d);
            rank += c < label ? l[c] >= l[label] : l[c] > l[label];
        }
        j.loss[n] = (float)(log(sum) - (l[label] - top));
        j.norm[n] = (float)sqrt(squares);
        j.rank[n] = rank;
    }
}

cudaError_t pada_cuda_loss(cudaStream_t stream, const cuda_loss_job *job)
{
    loss_kernel<<<cuda_blocks(job->n_images), CUDA_BLOCK, 0, stream>>>(*job);
    return cudaPeekAtLastError();
}
