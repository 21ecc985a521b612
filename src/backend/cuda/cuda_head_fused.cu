/* cuda_head_fused.cu - the end of a network, mean over pixels, linear layer and loss, as one launch in each
 * direction; one image per block. Sums are few and taken in double. */
#include "backend/cuda/cuda_math.cuh"

enum { THREADS = 256, MOST = THREADS /* channels, classes */, PARTS = 16 /* of a logit's sum */ };

bool pada_cuda_head_fits(pada_shape in, int classes)
{
    return in.c <= MOST && classes <= MOST;
}

/* ---- forward ---- */

/* Means over pixels; threads of one channel add up every slices-th pixel each. */
static __device__ void pool(const cuda_head_job &j, double *parts, float *features)
{
    const int c = (int)threadIdx.x % j.in.c, slices = THREADS / j.in.c;
    const int slice = (int)threadIdx.x / j.in.c, plane = j.in.h * j.in.w;
    const int64_t image = blockIdx.x * j.x.stride;
    double sum = 0;

    if (slice < slices)
#pragma unroll 4
        for (int p = slice; p < plane; p += slices)
            sum += cuda_act(j.act, cuda_get(j.x, image + (int64_t)p * j.in.c + c));
    parts[threadIdx.x] = sum;
    __syncthreads();
    if (slice != 0) return;
    for (int k = 1; k < slices; k++)
        sum += parts[k * j.in.c + c];
    features[c] = (float)(sum / plane);
    cuda_put(j.features, blockIdx.x * j.features.stride + c, features[c]);
}

static __device__ void multiply(const cuda_head_job &j, const float *features, double *parts,
                                float *logits)
{
    const cuda_linear_job &l = j.linear;
    const int part = (int)threadIdx.x % PARTS;

    for (int first = 0; first < l.n_out; first += THREADS / PARTS) {
        const int o = first + (int)threadIdx.x / PARTS;
        double sum = 0;
        if (o < l.n_out)
            for (int c = part; c < l.n_in; c += PARTS)
                sum += (double)l.weight[o * l.n_in + c] * features[c];
        __syncthreads();
        parts[threadIdx.x] = sum;
        __syncthreads();
        if (part != 0 || o >= l.n_out) continue;
        for (int k = 1; k < PARTS; k++)
            sum += parts[threadIdx.x + k];
        logits[o] = (float)(sum + (l.bias ? l.bias[o] : 0));
        cuda_put(l.y, blockIdx.x * l.y.stride + o, logits[o]);
    }
}

static __device__ void finish_loss(const cuda_loss_job &j, const float *logits, double *powers)
{
    const int c = (int)threadIdx.x, n = (int)blockIdx.x, label = j.labels[n];
    const double scale = j.grad_scale * (j.weights ? j.weights[n] : 1.0) / j.n_images;
    const double sharp = 1 - j.smoothing, even = j.smoothing / j.classes;
    double top = logits[0], sum = 0, rest = 0, squares = 0;
    int rank = 0;

    for (int k = 1; k < j.classes; k++)
        if (logits[k] > top) top = logits[k];
    if (c < j.classes) powers[c] = exp(logits[c] - top);
    __syncthreads();
    for (int k = 0; k < j.classes; k++)
        sum += powers[k];
    if (c < j.classes && j.grad.data)
        ((float *)j.grad.data)[n * j.grad.stride + c] =
            (float)(scale * (powers[c] / sum - (even + (c == label ? sharp : 0))));
    if (c != 0 || !j.loss) return;
    for (int k = 0; k < j.classes; k++) {
        const double d = powers[k] / sum - (even + (k == label ? sharp : 0));
        squares += d * d;
        rank += k < label ? logits[k] >= logits[label] : logits[k] > logits[label];
    }
    for (int k = 0; k < j.classes && even > 0; k++)
        rest += logits[k] - top;
    j.loss[n] = (float)(log(sum) - sharp * (logits[label] - top) - even * rest);
    j.norm[n] = (float)sqrt(squares);
    j.rank[n] = rank;
}

__global__ static void __launch_bounds__(THREADS)
    head_forward_kernel(const __grid_constant__ cuda_head_job j)
{
    __shared__ double parts[THREADS];
    __shared__ float features[MOST], logits[MOST];

    cuda_begin();
    pool(j, parts, features);
    __syncthreads();
    multiply(j, features, parts, logits);
    __syncthreads();
    finish_loss(j.loss, logits, parts);
}

cudaError_t pada_cuda_head_forward(cudaStream_t stream, const cuda_head_job *job)
{
    PADA_ASSERT(pada_cuda_head_fits(job->in, job->linear.n_out));
    return cuda_launch(head_forward_kernel, (unsigned)job->n_images, THREADS, 0, stream, *job);
}

/* ---- backward ---- */

enum { LANES = 32, SLICES = THREADS / LANES };

/* dx of one image. */
static __device__ void input_gradient(const cuda_head_job &j, float *slopes)
{
    const cuda_linear_job &l = j.linear;
    const int64_t n = blockIdx.x;
    const int count = j.in.c * j.in.h * j.in.w;

    if ((int)threadIdx.x < j.in.c) {
        double sum = 0;
        for (int o = 0; o < l.n_out; o++)
            sum += (double)l.weight[o * l.n_in + threadIdx.x] * cuda_get(l.y, n * l.y.stride + o);
        slopes[threadIdx.x] = (float)sum / (float)(j.in.h * j.in.w);
    }
    __syncthreads();
#pragma unroll 4
    for (int i = (int)threadIdx.x; i < count; i += THREADS)
        cuda_put(j.dx, n * j.dx.stride + i,
                 slopes[i % j.in.c] * cuda_act_slope(j.act, cuda_get(j.x, n * j.x.stride + i)));
}

/* 32 weights of one output, and its bias as column n_in; eight sets of images are summed apart, each in
 * order, and then in order. */
static __device__ void weight_gradient(const cuda_linear_job &j, int block, double (*sums)[LANES])
{
    const int groups = j.n_in / LANES + 1, lane = (int)threadIdx.x % LANES;
    const int slice = (int)threadIdx.x / LANES, o = block / groups;
    const int c = block % groups * LANES + lane;
    double sum = 0;

    if (c <= j.n_in)
#pragma unroll 8
        for (int k = slice; k < j.n_images; k += SLICES)
            sum += (double)cuda_get(j.y, (int64_t)k * j.y.stride + o) *
                   (c < j.n_in ? cuda_get(j.x, (int64_t)k * j.x.stride + c) : 1);
    sums[slice][lane] = sum;
    __syncthreads();
    if (slice != 0 || c > j.n_in) return;
    for (int k = 1; k < SLICES; k++)
        sum += sums[k][lane];
    if (c < j.n_in)
        j.grad_weight[(int64_t)o * j.n_in + c] += (float)sum;
    else if (j.grad_bias)
        j.grad_bias[o] += (float)sum;
}

/* The first blocks have an image each, the others weights. */
__global__ static void __launch_bounds__(THREADS)
    head_backward_kernel(const __grid_constant__ cuda_head_job j)
{
    __shared__ double sums[SLICES][LANES];
    __shared__ float slopes[MOST];

    cuda_begin();
    if ((int)blockIdx.x < j.n_images)
        input_gradient(j, slopes);
    else
        weight_gradient(j.linear, (int)blockIdx.x - j.n_images, sums);
}

cudaError_t pada_cuda_head_backward(cudaStream_t stream, const cuda_head_job *job)
{
    const int weights = (job->linear.n_in / LANES + 1) * job->linear.n_out;

    PADA_ASSERT(pada_cuda_head_fits(job->in, job->linear.n_out));
    return cuda_launch(head_backward_kernel, (unsigned)(job->n_images + weights), THREADS, 0,
                       stream, *job);
}
