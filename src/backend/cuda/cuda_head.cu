/* cuda_head.cu - the end of a network: mean over pixels, linear layer, loss. Numbers here are few, so sums are taken
 * in double, each by one thread and in order. */
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

/* blockIdx.y is the image. */
__global__ static void gap_grad_kernel(cuda_tensor x, pada_shape in, pada_act act, cuda_tensor df,
                                       bool accumulate, cuda_tensor dx)
{
    const int count = in.c * in.h * in.w;
    const float scale = 1.0f / (float)((int64_t)in.h * in.w);
    const int64_t n = blockIdx.y;

    cuda_begin();
    for (int i = (int)(blockIdx.x * blockDim.x + threadIdx.x); i < count;
         i += (int)(gridDim.x * blockDim.x)) {
        const float g = cuda_get(df, n * df.stride + i % in.c) * scale *
                        cuda_act_slope(act, cuda_get(x, n * x.stride + i));
        cuda_give(dx, n * dx.stride + i, accumulate, g);
    }
}

cudaError_t pada_cuda_gap_grad(cudaStream_t stream, cuda_tensor x, pada_shape in, pada_act act,
                               int n_images, cuda_tensor df, bool accumulate, cuda_tensor dx)
{
    const dim3 grid(cuda_blocks((pada_shape_count(in) + 3) / 4), (unsigned)n_images);

    cuda_launch(gap_grad_kernel, grid, CUDA_BLOCK, 0, stream, x, in, act, df, accumulate, dx);
    return cudaPeekAtLastError();
}

/* ---- linear layer ----
 *
 * Products of matrices, result[m][n] = sum over k of left[m][k] right[n][k]. A block has SIDE x SIDE results, 2x2 of them
 * in a thread, and brings the operands of DEPTH steps at a time into shared memory, as double: numbers are converted
 * once for all of their products. */

typedef enum linear_kind { OUTPUT, GRAD_IN, GRAD_WEIGHT } linear_kind;

enum {
    SIDE = 32,
    DEPTH = 32,
    FEW_BLOCKS = 64, /* fewer of them take longer than linear_few_kernel */
    SLICES = 8 /* of images: gradients of weights are summed apart in each, and then in order */
};

/* Rows, columns and steps. The gradient of the bias is column n_in of that of the weights. */
template <linear_kind KIND> static __host__ __device__ inline int count_m(const cuda_linear_job &j)
{
    return KIND == GRAD_WEIGHT ? j.n_out : j.n_images;
}

template <linear_kind KIND> static __host__ __device__ inline int count_n(const cuda_linear_job &j)
{
    return KIND == OUTPUT ? j.n_out : KIND == GRAD_IN ? j.n_in : j.n_in + 1;
}

template <linear_kind KIND> static __host__ __device__ inline int count_k(const cuda_linear_job &j)
{
    return KIND == OUTPUT ? j.n_in : KIND == GRAD_IN ? j.n_out : j.n_images;
}

template <linear_kind KIND>
static __device__ inline float left_of(const cuda_linear_job &j, int64_t m, int64_t k)
{
    return KIND == OUTPUT    ? cuda_get(j.x, m * j.x.stride + k)
           : KIND == GRAD_IN ? cuda_get(j.y, m * j.y.stride + k)
                             : cuda_get(j.y, k * j.y.stride + m);
}

template <linear_kind KIND>
static __device__ inline float right_of(const cuda_linear_job &j, int64_t n, int64_t k)
{
    if (KIND == OUTPUT) return j.weight[n * j.n_in + k];
    if (KIND == GRAD_IN) return j.weight[k * j.n_in + n];
    return n < j.n_in ? cuda_get(j.x, k * j.x.stride + n) : 1;
}

/* Both operands of steps [k, k + DEPTH), zero behind the last; neighbours read side by side. */
template <linear_kind KIND>
static __device__ inline void stage_operands(const cuda_linear_job &j, int m, int n, int k,
                                             double (*left)[SIDE + 1], double (*right)[SIDE + 1])
{
    const int end_m = count_m<KIND>(j), end_n = count_n<KIND>(j), end_k = count_k<KIND>(j);

#pragma unroll
    for (int i = (int)threadIdx.x; i < SIDE * DEPTH; i += CUDA_BLOCK) {
        const int fast = i % SIDE, slow = i / SIDE;
        const int lk = KIND == GRAD_WEIGHT ? slow : fast, lm = KIND == GRAD_WEIGHT ? fast : slow;
        const int rk = KIND == OUTPUT ? fast : slow, rn = KIND == OUTPUT ? slow : fast;
        left[lk][lm] = m + lm < end_m && k + lk < end_k ? left_of<KIND>(j, m + lm, k + lk) : 0;
        right[rk][rn] = n + rn < end_n && k + rk < end_k ? right_of<KIND>(j, n + rn, k + rk) : 0;
    }
}

template <linear_kind KIND>
static __device__ inline void give_result(const cuda_linear_job &j, int64_t m, int64_t n,
                                          double sum)
{
    if (m >= count_m<KIND>(j) || n >= count_n<KIND>(j)) return;
    if (KIND == OUTPUT)
        cuda_put(j.y, m * j.y.stride + n, (float)sum);
    else if (KIND == GRAD_IN)
        cuda_give(j.dx, m * j.dx.stride + n, j.accumulate, (float)sum);
    else if (n < j.n_in)
        j.grad_weight[m * j.n_in + n] += (float)sum;
    else if (j.grad_bias)
        j.grad_bias[m] += (float)sum;
}

template <linear_kind KIND>
__global__ static void __launch_bounds__(CUDA_BLOCK)
    linear_kernel(const __grid_constant__ cuda_linear_job j)
{
    constexpr int PARTS = KIND == GRAD_WEIGHT ? SLICES : 1;
    __shared__ double left[DEPTH][SIDE + 1], right[DEPTH][SIDE + 1];
    const int m = (int)blockIdx.y * SIDE, n = (int)blockIdx.x * SIDE, end = count_k<KIND>(j);
    const int row = (int)threadIdx.x / (SIDE / 2), column = (int)threadIdx.x % (SIDE / 2);
    double sums[PARTS][2][2] = {};

    cuda_begin();
    for (int i = 0; i < 4 && KIND == OUTPUT && j.bias; i++) {
        const int o = n + column + i % 2 * (SIDE / 2);
        if (o < j.n_out) sums[0][i / 2][i % 2] = j.bias[o];
    }
    for (int k = 0; k < end; k += DEPTH) {
        stage_operands<KIND>(j, m, n, k, left, right);
        __syncthreads();
#pragma unroll 8
        for (int d = 0; d < DEPTH; d++)
#pragma unroll
            for (int i = 0; i < 4; i++)
                sums[d % PARTS][i / 2][i % 2] +=
                    left[d][row + i / 2 * (SIDE / 2)] * right[d][column + i % 2 * (SIDE / 2)];
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 4; i++) {
        double sum = sums[0][i / 2][i % 2];
#pragma unroll
        for (int p = 1; p < PARTS; p++)
            sum += sums[p][i / 2][i % 2];
        give_result<KIND>(j, m + row + i / 2 * (SIDE / 2), n + column + i % 2 * (SIDE / 2), sum);
    }
}

template <linear_kind KIND>
static cudaError_t launch_linear(cudaStream_t stream, const cuda_linear_job *job)
{
    const dim3 grid((unsigned)((count_n<KIND>(*job) + SIDE - 1) / SIDE),
                    (unsigned)((count_m<KIND>(*job) + SIDE - 1) / SIDE));

    cuda_launch(linear_kernel<KIND>, grid, CUDA_BLOCK, 0, stream, *job);
    return cudaPeekAtLastError();
}

/* So few outputs that blocks of them would leave most of a device idle: a block for each image, whose warps have an output
 * at a time, and lanes every so many-th input. */
__global__ static void __launch_bounds__(CUDA_BLOCK)
    linear_few_kernel(const __grid_constant__ cuda_linear_job j)
{
    constexpr int WARPS = CUDA_BLOCK / 32;
    __shared__ double parts[WARPS][33];
    const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
    const int64_t m = blockIdx.x;

    cuda_begin();
    for (int first = 0; first < j.n_out; first += WARPS) {
        const int n = first + warp;
        double sum = 0;
#pragma unroll 4
        for (int k = lane; n < j.n_out && k < j.n_in; k += 32)
            sum += (double)left_of<OUTPUT>(j, m, k) * (double)right_of<OUTPUT>(j, n, k);
        parts[warp][lane] = sum;
        __syncthreads();
        if ((int)threadIdx.x < WARPS && first + (int)threadIdx.x < j.n_out) {
            const int o = first + (int)threadIdx.x;
            double all = j.bias ? j.bias[o] : 0;
            for (int i = 0; i < 32; i++)
                all += parts[threadIdx.x][i];
            give_result<OUTPUT>(j, m, o, all);
        }
        __syncthreads();
    }
}

cudaError_t pada_cuda_linear(cudaStream_t stream, const cuda_linear_job *job)
{
    const int blocks = (job->n_out + SIDE - 1) / SIDE * ((job->n_images + SIDE - 1) / SIDE);

    if (blocks >= FEW_BLOCKS) return launch_linear<OUTPUT>(stream, job);
    cuda_launch(linear_few_kernel, (unsigned)job->n_images, CUDA_BLOCK, 0, stream, *job);
    return cudaPeekAtLastError();
}

cudaError_t pada_cuda_linear_grad(cudaStream_t stream, const cuda_linear_job *job)
{
    const cudaError_t error = launch_linear<GRAD_WEIGHT>(stream, job);

    return error == cudaSuccess && job->n_in > 0 ? launch_linear<GRAD_IN>(stream, job) : error;
}

/* ---- loss: an image per block ---- */

enum { LOSS_THREADS = 256 /* as many classes at a time */ };

/* For thread 0: the sum, and what n threads have, or their squares, in order. */
template <bool SQUARES>
static __device__ double add_in_order(double sum, double mine, int n, double *shared)
{
    __syncthreads();
    shared[threadIdx.x] = mine;
    __syncthreads();
    if (threadIdx.x != 0) return 0;
#pragma unroll 8
    for (int k = 0; k < n; k++)
        sum += SQUARES ? shared[k] * shared[k] : shared[k];
    return sum;
}

/* For all threads. */
static __device__ float find_top(const cuda_loss_job &j, const float *l, float *shared)
{
    float top = l[0];

    for (int c = (int)threadIdx.x; c < j.classes; c += LOSS_THREADS)
        if (l[c] > top) top = l[c];
    shared[threadIdx.x] = top;
    for (int half = LOSS_THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if ((int)threadIdx.x < half && shared[threadIdx.x + half] > shared[threadIdx.x])
            shared[threadIdx.x] = shared[threadIdx.x + half];
    }
    __syncthreads();
    return shared[0];
}

__global__ static void __launch_bounds__(LOSS_THREADS)
    loss_kernel(const __grid_constant__ cuda_loss_job j)
{
    __shared__ double terms[LOSS_THREADS], total;
    __shared__ float tops[LOSS_THREADS];
    const double sharp = 1 - j.smoothing, even = j.smoothing / j.classes;
    const int64_t n = blockIdx.x;

    cuda_begin();
    /* float32 in every backend */
    const float *l = (const float *)j.logits.data + n * j.logits.stride;
    float *grad = j.grad.data ? (float *)j.grad.data + n * j.grad.stride : NULL;
    const int label = j.labels[n];
    const double scale = j.grad_scale * (j.weights ? j.weights[n] : 1.0) / j.n_images;
    const double top = find_top(j, l, tops);
    double sum = 0, rest = 0, squares = 0, rank = 0;

    for (int first = 0; first < j.classes; first += LOSS_THREADS) {
        const int c = first + (int)threadIdx.x;
        sum = add_in_order<false>(sum, c < j.classes ? exp(l[c] - top) : 0,
                                  min(j.classes - first, LOSS_THREADS), terms);
    }
    if (threadIdx.x == 0) total = sum;
    __syncthreads();
    for (int first = 0; first < j.classes; first += LOSS_THREADS) {
        const int c = first + (int)threadIdx.x, left = min(j.classes - first, LOSS_THREADS);
        const bool is = c < j.classes;
        const double d = is ? exp(l[c] - top) / total - (even + (c == label ? sharp : 0)) : 0;
        if (is && grad) grad[c] = (float)(scale * d);
        if (!j.loss) continue;
        squares = add_in_order<true>(squares, d, left, terms);
        if (even > 0) rest = add_in_order<false>(rest, is ? l[c] - top : 0, left, terms);
        const bool before = is && (c < label ? l[c] >= l[label] : l[c] > l[label]);
        rank = add_in_order<false>(rank, before, left, terms);
    }
    if (threadIdx.x != 0 || !j.loss) return;
    j.loss[n] = (float)(log(sum) - sharp * (l[label] - top) - even * rest);
    j.norm[n] = (float)sqrt(squares);
    j.rank[n] = (int)rank;
}

cudaError_t pada_cuda_loss(cudaStream_t stream, const cuda_loss_job *job)
{
    cuda_launch(loss_kernel, (unsigned)job->n_images, LOSS_THREADS, 0, stream, *job);
    return cudaPeekAtLastError();
}
