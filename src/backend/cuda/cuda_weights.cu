/* cuda_weights.cu - weights on their way into node kernels, and their gradients on the way back; sums on
 * the way to the general kernels.
 *
 * Weights are float32 [out, in, kh, kw]. Node kernels read bfloat16 fragments of the matrix B of an mma,
 * [tile of 8 channels out][tap][16 channels in][lane] uint2, and write accumulators,
 * [16x16 channels][tap][8 channels in][lane] float4. Two tiles share 16 channels such that a lane has four of
 * them side by side: 4q..4q+1 in the first, 4q+2..4q+3 in the second. */
#include "backend/cuda/cuda_mma.cuh"

/* What lane holds column n of B in a tile: the channel. */
static __device__ inline int channel_of(int tile, int n)
{
    return tile / 2 * 16 + n / 2 * 4 + tile % 2 * 2 + n % 2;
}

/* Four weights of one lane, for `out` columns and `in` rows of B; transposed: of the transposed convolution. */
static __device__ inline uint2 fragment(const float *weight, const cuda_weight_job &j, int i,
                                        bool transposed)
{
    const int depth = (transposed ? j.c_out : j.c_in) / 16;
    const int lane = i % 32, k = i / 32 % depth * 16 + lane % 4 * 2;
    const int tap = i / 32 / depth % j.taps, tile = i / 32 / depth / j.taps;
    const int n = channel_of(tile, lane / 4);
    float w[4];

#pragma unroll
    for (int e = 0; e < 4; e++) {
        const int row = k + e / 2 * 8 + e % 2;
        w[e] = transposed ? weight[(row * j.c_in + n) * j.taps + j.taps - 1 - tap]
                          : weight[(n * j.c_in + row) * j.taps + tap];
    }
    return make_uint2(cuda_pair(w[0], w[1]), cuda_pair(w[2], w[3]));
}

enum { PACK_BLOCKS = 24 /* per convolution */ };

/* blockIdx.y is the convolution. */
__global__ static void pack_kernel(const float *params,
                                   const __grid_constant__ cuda_weight_jobs jobs, char *fragments)
{
    cuda_begin();
    const cuda_weight_job &j = jobs.at[blockIdx.y];
    const int n = j.c_in * j.c_out * j.taps / 4;
    uint2 *to = (uint2 *)(fragments + j.to);

    CUDA_FOR(i, 2 * n)
    {
        to[i] = fragment(params + j.weight, j, (int)(i < n ? i : i - n), i >= n);
    }
}

cudaError_t pada_cuda_pack_weights(cudaStream_t stream, const float *params,
                                   const cuda_weight_jobs *jobs, void *fragments)
{
    const dim3 grid(PACK_BLOCKS, (unsigned)jobs->n);

    return cuda_launch(pack_kernel, grid, CUDA_BLOCK, 0, stream, params, *jobs, (char *)fragments);
}

enum { REDUCE_PARTS = 16, REDUCE_EACH = 16, REDUCE_LOADS = 8 };

/* Among how many threads the partial sums of a weight are divided: each has REDUCE_EACH of them or more, .. */
static __host__ __device__ inline int parts_of(const cuda_reduce_job *j)
{
    int parts = 1;

    while (parts < REDUCE_PARTS && 2 * parts * REDUCE_EACH <= j->blocks)
        parts *= 2;
    return parts;
}

static __device__ inline float4 add4(float4 a, float4 b)
{
    return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

/* Where the four sums that a lane holds go: one channel in further right, eight channels out below. */
struct sum_place {
    float *to;
    int right, below;

    __device__ inline float4 load(void) const
    {
        return make_float4(to[0], to[right], to[below], to[below + right]);
    }

    __device__ inline void store(float4 s) const
    {
        to[0] = s.x, to[right] = s.y, to[below] = s.z, to[below + right] = s.w;
    }
};

static __device__ inline sum_place place_of(const cuda_reduce_job &j, float *grads, int i)
{
    float *to = grads + j.weight;

    if (j.plain) return {to + 4 * i, 1, 2};
    const int side = j.c_in / 16, l = i % 32, half = i / 32 % 2;
    const int tap = i / 64 % j.taps, pair = i / 64 / j.taps;
    const int out = pair / side * 16 + l / 4, in = pair % side * 16 + half * 8 + l % 4 * 2;
    return {to + (out * j.c_in + in) * j.taps + tap, j.taps, 8 * j.c_in * j.taps};
}

/* .. and has several of them on their way. Their sums are added up in order: always the same order. */
__global__ static void reduce_kernel(const __grid_constant__ cuda_reduce_jobs jobs, float *grads)
{
    cuda_begin();
    __shared__ float4 sums[CUDA_BLOCK];
    int low = 0, high = jobs.n - 1;
    while (low < high) { /* the last job that begins at this block or before it */
        const int middle = (low + high + 1) / 2;
        if (jobs.at[middle].first_block <= (int)blockIdx.x)
            low = middle;
        else
            high = middle - 1;
    }
    const cuda_reduce_job &j = jobs.at[low];
    const int n = j.c_in * j.c_out * j.taps / 4, parts = parts_of(&j), lanes = CUDA_BLOCK / parts;
    const int lane = (int)threadIdx.x % lanes, part = (int)threadIdx.x / lanes;
    const int i = ((int)blockIdx.x - j.first_block) * lanes + lane;
    const sum_place to = place_of(j, grads, i);
    float4 s = make_float4(0, 0, 0, 0), before = s;

    if (part == 0 && i < n) before = to.load();
    for (int first = part; i < n && first < j.blocks; first += REDUCE_LOADS * parts) {
        const float4 *from = (const float4 *)j.partial + i;
        float4 v[REDUCE_LOADS];
#pragma unroll
        for (int u = 0; u < REDUCE_LOADS; u++) {
            const int k = first + u * parts;
            v[u] = from[(size_t)(k < j.blocks ? k : first) * n];
        }
#pragma unroll
        for (int u = 0; u < REDUCE_LOADS; u++)
            if (first + u * parts < j.blocks) s = add4(s, v[u]);
    }
    sums[threadIdx.x] = s;
    __syncthreads();
    if (part != 0 || i >= n) return;
    for (int k = 1; k < parts; k++)
        s = add4(s, sums[k * lanes + lane]);
    to.store(add4(before, s));
}

cudaError_t pada_cuda_reduce_weights(cudaStream_t stream, const cuda_reduce_jobs *jobs,
                                     float *grads)
{
    cuda_reduce_jobs placed = *jobs;
    int blocks = 0;

    for (int k = 0; k < placed.n; k++) {
        const int n = placed.at[k].c_in * placed.at[k].c_out * placed.at[k].taps / 4;
        const int lanes = CUDA_BLOCK / parts_of(&placed.at[k]);
        placed.at[k].first_block = blocks;
        blocks += (n + lanes - 1) / lanes;
    }
    return cuda_launch(reduce_kernel, (unsigned)blocks, CUDA_BLOCK, 0, stream, placed, grads);
}

/* ---- sums for the general kernels ---- */

__global__ static void finish_moments_kernel(cuda_moments m, int channels, double count,
                                             float *mean, float *rstd)
{
    cuda_begin();
    CUDA_FOR(c, channels)
    {
        double mean_of, rstd_of;
        cuda_read_moments(&m, channels, (int)c, count, &mean_of, &rstd_of);
        mean[c] = (float)mean_of;
        rstd[c] = (float)rstd_of;
    }
}

cudaError_t pada_cuda_finish_moments(cudaStream_t stream, const int64_t *sums, double epsilon,
                                     pada_shape shape, int n_images, float *mean, float *rstd)
{
    const cuda_moments m = {sums, NULL, NULL, epsilon};

    cuda_launch(finish_moments_kernel, 1, CUDA_BLOCK, 0, stream, m, shape.c,
                (double)n_images * shape.h * shape.w, mean, rstd);
    return cudaPeekAtLastError();
}

/* Gradients of the scale and the shift of channel c. */
static __device__ __forceinline__ void add_norm_gradients(const cuda_slope_job &j, int c)
{
    const double sum = cuda_read_sum(j.slopes.sums, j.channels, 2 * c);
    double mean, rstd;

    cuda_read_moments(&j.slopes.moments, j.channels, c, j.count, &mean, &rstd);
    const double product = cuda_read_sum(j.slopes.sums, j.channels, 2 * c + 1) - mean * sum;
    if (j.grad_scale) j.grad_scale[c] += (float)(rstd * product);
    if (j.grad_shift) j.grad_shift[c] += (float)sum;
}

/* blockIdx.x is the batch norm. */
__global__ static void finish_slopes_kernel(const __grid_constant__ cuda_slope_jobs jobs)
{
    cuda_begin();
    const cuda_slope_job &j = jobs.at[blockIdx.x];

    for (int c = (int)threadIdx.x; c < j.channels; c += (int)blockDim.x) {
        float abc[3];
        if (j.grad_scale || j.grad_shift) add_norm_gradients(j, c);
        if (!j.coef) continue;
        cuda_read_slopes(&j.slopes, j.channels, c, j.count, abc);
        for (int k = 0; k < 3; k++)
            j.coef[k * j.slopes.vector + c] = abc[k];
    }
}

cudaError_t pada_cuda_finish_slopes(cudaStream_t stream, const cuda_slope_jobs *jobs)
{
    return cuda_launch(finish_slopes_kernel, (unsigned)jobs->n, 64, 0, stream, *jobs);
}
