/* cuda_depth.cu - depthwise convolutions: a thread has two neighbouring channels of several pixels of a row.
 *
 * What a thread loads of a row is used by all taps of that row, and a warp loads neighbouring channels, then
 * neighbouring pixels. Kernels, strides and dilations are known to the compiler; whatever else there is, and the gradient
 * of the input with stride 2, is left to cuda_conv.cu. Design note 0022. */
#include "backend/cuda/cuda_math.cuh"

enum {
    TILE = 4,   /* pixels of a thread */
    LANES = 16, /* pairs of channels of a block: weights */
    SLICES = 16 /* sets of rows of such a block */
};

bool pada_cuda_depth_fits(const pada_conv *conv)
{
    const pada_conv_list list = {/* kernels */ PADA_ONE(3) | PADA_ONE(5) | PADA_ONE(7),
                                 /* strides */ PADA_ONE(1) | PADA_ONE(2),
                                 /* pads */ PADA_ANY,
                                 /* dilations */ PADA_ONE(1) | PADA_ONE(2),
                                 /* groupings */ PADA_ONE(PADA_DEPTHWISE),
                                 /* acts */ PADA_ONE(PADA_ACT_NONE) | PADA_ONE(PADA_ACT_RELU) |
                                     PADA_ONE(PADA_ACT_RELU6),
                                 /* offsets */ PADA_ONE(0)};

    return pada_conv_in(&list, conv) && conv->c_in % 2 == 0;
}

/* ---- two channels ---- */

typedef struct pair {
    float a, b;
} pair;

static __device__ __forceinline__ pair get_pair(cuda_tensor t, int64_t i)
{
    pair p;

    if (t.half) {
        const uint32_t bits = *(const uint32_t *)((const uint16_t *)t.data + i);
        p.a = cuda_widen((uint16_t)bits);
        p.b = cuda_widen((uint16_t)(bits >> 16));
    } else {
        p = *(const pair *)((const float *)t.data + i);
    }
    return p;
}

static __device__ __forceinline__ void put_pair(cuda_tensor t, int64_t i, pair p)
{
    if (t.half)
        *(uint32_t *)((uint16_t *)t.data + i) = cuda_narrow(p.a) | (uint32_t)cuda_narrow(p.b) << 16;
    else
        *(pair *)((float *)t.data + i) = p;
}

/* Channels c and c + 1 of act(x), or zeros outside of the row, which begins at `row`. */
static __device__ __forceinline__ pair input_pair(const cuda_conv_job &j, int64_t row, int w)
{
    pair p = {0, 0};

    if (w < 0 || w >= j.in.w) return p;
    p = get_pair(j.x, row + (int64_t)w * j.in.c);
    p.a = cuda_act(j.conv.act, p.a);
    p.b = cuda_act(j.conv.act, p.b);
    return p;
}

/* A thread of the first two kernels: TILE columns from `first` on of a row, two channels. */
typedef struct strip {
    int64_t image;
    int row, first, c;
} strip;

static __device__ __forceinline__ strip locate_strip(int64_t i, pada_shape shape)
{
    const int pairs = shape.c / 2, strips = (shape.w + TILE - 1) / TILE;
    const int64_t of_row = i / pairs, row = of_row / strips;

    return (strip){row / shape.h, (int)(row % shape.h), (int)(of_row % strips) * TILE,
                   (int)(i % pairs) * 2};
}

static int64_t count_strips(pada_shape shape, int n_images)
{
    return (int64_t)n_images * shape.h * ((shape.w + TILE - 1) / TILE) * (shape.c / 2);
}

/* Row kh of the weights of two channels. */
template <int K>
static __device__ __forceinline__ void load_weights(const cuda_conv_job &j, int c, int kh, pair *w)
{
    const float *first = j.weight + ((int64_t)c * K + kh) * K, *second = first + K * K;

#pragma unroll
    for (int kw = 0; kw < K; kw++)
        w[kw] = (pair){first[kw], second[kw]};
}

/* ---- forward ---- */

template <int K, int STRIDE, int DILATION>
__global__ static void forward_kernel(cuda_conv_job j, int64_t n, cuda_tensor z)
{
    cuda_begin();
    CUDA_FOR(i, n)
    {
        const strip s = locate_strip(i, j.out);
        pair sum[TILE] = {}, w[K];
#pragma unroll 1
        for (int kh = 0; kh < K; kh++) {
            const int h = s.row * STRIDE + kh * DILATION - j.conv.pad;
            if (h < 0 || h >= j.in.h) continue;
            const int64_t row = s.image * j.x.stride + cuda_pixel(j.in, h, 0) + s.c;
            load_weights<K>(j, s.c, kh, w);
#pragma unroll
            for (int q = 0; q < (TILE - 1) * STRIDE + (K - 1) * DILATION + 1; q++) {
                const pair x = input_pair(j, row, s.first * STRIDE + q - j.conv.pad);
#pragma unroll
                for (int kw = 0; kw < K; kw++) {
                    const int p = (q - kw * DILATION) / STRIDE;
                    if (q < kw * DILATION || p >= TILE || p * STRIDE + kw * DILATION != q) continue;
                    sum[p].a += w[kw].a * x.a;
                    sum[p].b += w[kw].b * x.b;
                }
            }
        }
        const pair bias = {j.bias ? j.bias[s.c] : 0, j.bias ? j.bias[s.c + 1] : 0};
        const int64_t to = s.image * z.stride + cuda_pixel(j.out, s.row, s.first) + s.c;
#pragma unroll
        for (int p = 0; p < TILE; p++)
            if (s.first + p < j.out.w)
                put_pair(z, to + (int64_t)p * j.out.c,
                         (pair){sum[p].a + bias.a, sum[p].b + bias.b});
    }
}

/* LAUNCH with what a convolution has. */
#define FOR_DILATIONS(K, STRIDE) \
    (job->conv.dilation == 1 ? LAUNCH(K, STRIDE, 1) : LAUNCH(K, STRIDE, 2))
#define FOR_STRIDES(K) (job->conv.stride == 1 ? FOR_DILATIONS(K, 1) : FOR_DILATIONS(K, 2))
#define FOR_KERNELS                           \
    (job->conv.kernel == 3   ? FOR_STRIDES(3) \
     : job->conv.kernel == 5 ? FOR_STRIDES(5) \
                             : FOR_STRIDES(7))

cudaError_t pada_cuda_depth_forward(cudaStream_t stream, const cuda_conv_job *job, cuda_tensor z)
{
    const int64_t n = count_strips(job->out, job->n_images);

#define LAUNCH(K, STRIDE, DILATION)                                                               \
    cuda_launch(forward_kernel<K, STRIDE, DILATION>, cuda_blocks(n), CUDA_BLOCK, 0, stream, *job, \
                n, z)
    FOR_KERNELS;
#undef LAUNCH
    return cudaPeekAtLastError();
}

/* ---- gradient of the input, stride 1 ---- */

template <int K, int DILATION> __global__ static void grad_in_kernel(cuda_conv_job j, int64_t n)
{
    cuda_begin();
    CUDA_FOR(i, n)
    {
        const strip s = locate_strip(i, j.in);
        const int reach = (K - 1) * DILATION;
        pair sum[TILE] = {}, w[K];
#pragma unroll 1
        for (int kh = 0; kh < K; kh++) {
            const int h = s.row + j.conv.pad - kh * DILATION;
            if (h < 0 || h >= j.out.h) continue;
            const int64_t row = s.image * j.dz.stride + cuda_pixel(j.out, h, 0) + s.c;
            load_weights<K>(j, s.c, kh, w);
#pragma unroll
            for (int q = 0; q < TILE + (K - 1) * DILATION; q++) {
                const int column = s.first + j.conv.pad - reach + q;
                pair d = {0, 0};
                if (column >= 0 && column < j.out.w)
                    d = get_pair(j.dz, row + (int64_t)column * j.out.c);
#pragma unroll
                for (int kw = 0; kw < K; kw++) {
                    const int p = q - (K - 1 - kw) * DILATION;
                    if (p < 0 || p >= TILE) continue;
                    sum[p].a += w[kw].a * d.a;
                    sum[p].b += w[kw].b * d.b;
                }
            }
        }
#pragma unroll
        for (int p = 0; p < TILE; p++) {
            if (s.first + p >= j.in.w) continue;
            const int64_t in_image = cuda_pixel(j.in, s.row, s.first + p) + s.c;
            const int64_t to = s.image * j.dx.stride + in_image;
            const pair x = get_pair(j.x, s.image * j.x.stride + in_image);
            pair d = {sum[p].a * cuda_act_slope(j.conv.act, x.a),
                      sum[p].b * cuda_act_slope(j.conv.act, x.b)};
            if (j.accumulate) {
                const pair there = get_pair(j.dx, to);
                d.a += there.a;
                d.b += there.b;
            }
            put_pair(j.dx, to, d);
        }
    }
}

cudaError_t pada_cuda_depth_grad_in(cudaStream_t stream, const cuda_conv_job *job)
{
    const int64_t n = count_strips(job->in, job->n_images);

#define LAUNCH(K, STRIDE, DILATION) \
    cuda_launch(grad_in_kernel<K, DILATION>, cuda_blocks(n), CUDA_BLOCK, 0, stream, *job, n)
    (job->conv.kernel == 3   ? FOR_DILATIONS(3, 1)
     : job->conv.kernel == 5 ? FOR_DILATIONS(5, 1)
                             : FOR_DILATIONS(7, 1));
#undef LAUNCH
    return cudaPeekAtLastError();
}

/* ---- gradient of the weights ---- */

/* A block: LANES pairs of channels (blockIdx.x), a chunk of images (y), a row of taps (z). Its sets of rows are added
 * up in order. */
template <int K, int STRIDE, int DILATION>
__global__ static void __launch_bounds__(LANES *SLICES)
    grad_weight_kernel(cuda_conv_job j, int chunk, int64_t n_weights)
{
    cuda_begin();
    __shared__ pair sums[SLICES][LANES];
    const int c = ((int)blockIdx.x * LANES + (int)threadIdx.x) * 2, kh = (int)blockIdx.z;
    const int first = (int)blockIdx.y * chunk, last = min(first + chunk, j.n_images);
    const int n_rows = (last - first) * j.out.h;
    pair sum[K] = {};

    for (int r = (int)threadIdx.y; r < n_rows && c < j.conv.c_in; r += SLICES) {
        const int64_t image = first + r / j.out.h;
        const int row = r % j.out.h, h = row * STRIDE + kh * DILATION - j.conv.pad;
        if (h < 0 || h >= j.in.h) continue;
        const int64_t x_row = image * j.x.stride + cuda_pixel(j.in, h, 0) + c;
        const int64_t dz_row = image * j.dz.stride + cuda_pixel(j.out, row, 0) + c;
        for (int begin = 0; begin < j.out.w; begin += TILE) {
            pair d[TILE];
#pragma unroll
            for (int p = 0; p < TILE; p++) {
                d[p] = (pair){0, 0};
                if (begin + p < j.out.w)
                    d[p] = get_pair(j.dz, dz_row + (int64_t)(begin + p) * j.out.c);
            }
#pragma unroll
            for (int q = 0; q < (TILE - 1) * STRIDE + (K - 1) * DILATION + 1; q++) {
                const pair x = input_pair(j, x_row, begin * STRIDE + q - j.conv.pad);
#pragma unroll
                for (int kw = 0; kw < K; kw++) {
                    const int p = (q - kw * DILATION) / STRIDE;
                    if (q < kw * DILATION || p >= TILE || p * STRIDE + kw * DILATION != q) continue;
                    sum[kw].a += d[p].a * x.a;
                    sum[kw].b += d[p].b * x.b;
                }
            }
        }
    }
#pragma unroll
    for (int kw = 0; kw < K; kw++) {
        __syncthreads(); /* the sums of the tap before have been read */
        sums[threadIdx.y][threadIdx.x] = sum[kw];
        __syncthreads();
        if (threadIdx.y != 0 || c >= j.conv.c_in) continue;
        double a = 0, b = 0;
        for (int k = 0; k < SLICES; k++) {
            a += sums[k][threadIdx.x].a;
            b += sums[k][threadIdx.x].b;
        }
        float *to = j.partial + blockIdx.y * n_weights + ((int64_t)c * K + kh) * K + kw;
        to[0] = (float)a;
        to[K * K] = (float)b;
    }
}

cudaError_t pada_cuda_depth_weights(cudaStream_t stream, const cuda_conv_job *job, int chunk,
                                    int chunks)
{
    const int64_t n = pada_conv_weights(&job->conv);
    const int pairs = job->conv.c_in / 2;
    const dim3 grid((unsigned)((pairs + LANES - 1) / LANES), (unsigned)chunks,
                    (unsigned)job->conv.kernel);
    const dim3 block(LANES, SLICES);

#define LAUNCH(K, STRIDE, DILATION) \
    cuda_launch(grad_weight_kernel<K, STRIDE, DILATION>, grid, block, 0, stream, *job, chunk, n)
    FOR_KERNELS;
#undef LAUNCH
    return cudaPeekAtLastError();
}
