/* cuda_stem.cu - the convolution of the images themselves: 3x3, 3 channels in, 16 out, 32x32 pixels; one image
 * per block.
 *
 * In shared memory a pixel has four channels, the last one zero, and the image a ring of zeros. A product of
 * matrices runs over k = 4 tap + channel, 36 of 48 or 40; with so few channels the fragments are read from
 * there pair by pair.
 */
#include "backend/cuda/cuda_node.cuh"

enum {
    SIZE = 32,
    ACROSS = SIZE + 2,
    IN = 3,
    OUT = 16,
    TAPS = 9,
    THREADS = 256,
    WARPS = THREADS / 32,
    STRIPS = SIZE * SIZE / 16 / WARPS, /* of 16 pixels, per warp */
    DEPTH = 3,                         /* times 16 rows of B, forward */
    COLUMNS = 5                        /* times 8 columns of B, backward */
};

bool pada_cuda_stem_fits(const pada_conv *conv, pada_shape in)
{
    const pada_conv_list list = {/* kernels */ PADA_ONE(3),
                                 /* strides */ PADA_ONE(1),
                                 /* pads */ PADA_ONE(1),
                                 /* dilations */ PADA_ONE(1),
                                 /* groupings */ PADA_ONE(PADA_DENSE),
                                 /* acts */ PADA_ONE(PADA_ACT_NONE),
                                 /* offsets */ PADA_ONE(0)};

    return pada_conv_in(&list, conv) && conv->c_in == IN && conv->c_out == OUT && in.h == SIZE &&
           in.w == SIZE;
}

static __device__ __forceinline__ void load_image(const void *x, uint2 *to)
{
    const uint16_t *from = (const uint16_t *)x + (size_t)blockIdx.x * (IN * SIZE * SIZE);

    for (int i = (int)threadIdx.x; i < ACROSS * ACROSS; i += THREADS) {
        const int row = i / ACROSS - 1, column = i % ACROSS - 1;
        uint2 pixel = make_uint2(0, 0);
        if (row >= 0 && column >= 0 && row < SIZE && column < SIZE) {
            const uint16_t *at = from + (row * SIZE + column) * IN;
            pixel = make_uint2(at[0] | (uint32_t)at[1] << 16, at[2]);
        }
        to[i] = pixel;
    }
}

/* Where tap 0 of pixel p is. */
static __device__ __forceinline__ int window_of(int p)
{
    return p / SIZE * ACROSS + p % SIZE;
}

static __device__ __forceinline__ int tap_offset(int tap)
{
    return tap / 3 * ACROSS + tap % 3;
}

/* ---- forward ---- */

static __device__ __forceinline__ uint32_t weight_pair(const float *weight, int k, int channel)
{
    const int tap = k / 4, in = k % 4;
    float w[2];

#pragma unroll
    for (int i = 0; i < 2; i++)
        w[i] = tap < TAPS && in + i < IN ? weight[(channel * IN + in + i) * TAPS + tap] : 0;
    return cuda_pair(w[0], w[1]);
}

__global__ static void __launch_bounds__(THREADS)
    stem_forward_kernel(const __grid_constant__ cuda_stem_job j)
{
    __shared__ uint2 image[ACROSS * ACROSS];
    __shared__ float room[WARPS][OUT][2];
    const int lane = (int)threadIdx.x & 31, warp = (int)threadIdx.x >> 5, g = lane >> 2;
    const int q = lane & 3;
    uint2 b[DEPTH][2];
    float first[2][2] = {}, second[2][2] = {};

    cuda_begin();
    load_image(j.x, image);
#pragma unroll
    for (int k = 0; k < DEPTH; k++)
#pragma unroll
        for (int n = 0; n < 2; n++) { /* a lane gets channels 4q .. 4q + 3 */
            const int channel = g / 2 * 4 + n * 2 + g % 2;
            b[k][n] = make_uint2(weight_pair(j.weight, 16 * k + 2 * q, channel),
                                 weight_pair(j.weight, 16 * k + 2 * q + 8, channel));
        }
    __syncthreads();
    uint16_t *z = (uint16_t *)j.z + (size_t)blockIdx.x * (OUT * SIZE * SIZE) + 4 * q;
#pragma unroll 2
    for (int s = 0; s < STRIPS; s++) {
        const int p = (warp * STRIPS + s) * 16 + g;
        const uint32_t *at = (const uint32_t *)(image + window_of(p)) + (q & 1);
        float sum[2][4] = {};
#pragma unroll
        for (int k = 0; k < DEPTH; k++) {
            uint32_t a[4];
#pragma unroll
            for (int i = 0; i < 4; i++) {
                const int even = 4 * k + (i >> 1) * 2, tap = even + (q >> 1);
                const int offset = q >> 1 ? tap_offset(even + 1) : tap_offset(even);
                a[i] = tap < TAPS ? at[2 * (offset + (i & 1) * 8)] : 0;
            }
            cuda_mma(sum[0], a, b[k][0].x, b[k][0].y);
            cuda_mma(sum[1], a, b[k][1].x, b[k][1].y);
        }
#pragma unroll
        for (int h = 0; h < 2; h++) {
            uint32_t v[2];
#pragma unroll
            for (int n = 0; n < 2; n++) {
                v[n] = cuda_pair(sum[n][2 * h], sum[n][2 * h + 1]);
                const float low = cuda_low(v[n]), high = cuda_high(v[n]);
                first[n][0] += low, first[n][1] += high;
                second[n][0] += low * low, second[n][1] += high * high;
            }
            *(uint2 *)(z + (p + 8 * h) * OUT) = make_uint2(v[0], v[1]);
        }
    }
    if (!j.sums) return;
    cuda_sum_rows(first, second);
#pragma unroll
    for (int n = 0; n < 2; n++)
#pragma unroll
        for (int i = 0; i < 2; i++) {
            if (g != 0) continue;
            room[warp][4 * q + 2 * n + i][0] = first[n][i];
            room[warp][4 * q + 2 * n + i][1] = second[n][i];
        }
    __syncthreads();
    for (int i = (int)threadIdx.x; i < 2 * OUT; i += THREADS) {
        float share = 0;
        for (int w = 0; w < WARPS; w++)
            share += room[w][i / 2][i % 2];
        cuda_add_share(j.sums, OUT, i, share);
    }
}

cudaError_t pada_cuda_stem_forward(cudaStream_t stream, const cuda_stem_job *job)
{
    return cuda_launch(stem_forward_kernel, (unsigned)job->n_images, THREADS, 0, stream, *job);
}

/* ---- backward ---- */

/* [ the image | dz, later the sums of warps ] */
enum { IMAGE_BYTES = ACROSS * ACROSS * 8 / 128 * 128 + 128, STEM_BYTES = IMAGE_BYTES + 32768 };

static __device__ __forceinline__ void form_dz(const cuda_stem_job &j, const float (*coef)[3],
                                               char *to)
{
    const size_t image = (size_t)blockIdx.x * (OUT * SIZE * SIZE);
    const int chunk = (int)threadIdx.x % 2, first = (int)threadIdx.x / 2;
    constexpr int each = SIZE * SIZE * 2 / THREADS;
    float abc[8][3];

#pragma unroll
    for (int k = 0; k < 8; k++)
#pragma unroll
        for (int i = 0; i < 3; i++)
            abc[k][i] = coef[chunk * 8 + k][i];
#pragma unroll 4
    for (int i = 0; i < each; i++) {
        const int p = first + i * (THREADS / 2);
        const size_t at = image + p * OUT + chunk * 8;
        float g[8], v[8] = {0};
        cuda_unpack8(*(const uint4 *)((const uint16_t *)j.dy + at), g);
        if (j.slopes.vector) cuda_unpack8(*(const uint4 *)((const uint16_t *)j.z + at), v);
#pragma unroll
        for (int k = 0; k < 8; k++)
            g[k] = g[k] * abc[k][0] + v[k] * abc[k][1] + abc[k][2];
        *(uint4 *)(to + node_tile16::offset(p, chunk)) =
            make_uint4(cuda_pair(g[0], g[1]), cuda_pair(g[2], g[3]), cuda_pair(g[4], g[5]),
                       cuda_pair(g[6], g[7]));
    }
}

__global__ static void __launch_bounds__(THREADS)
    stem_backward_kernel(const __grid_constant__ cuda_stem_job j)
{
    CUDA_DYNAMIC_SHARED(shared);
    __shared__ float coef[OUT][3];
    const int lane = (int)threadIdx.x & 31, warp = (int)threadIdx.x >> 5, g = lane >> 2;
    const int q = lane & 3;
    char *dz = shared + IMAGE_BYTES;
    float sum[COLUMNS][4] = {};

    cuda_begin();
    for (int c = (int)threadIdx.x; c < OUT; c += THREADS) {
        coef[c][0] = 1, coef[c][1] = coef[c][2] = 0;
        if (j.slopes.vector)
            cuda_read_slopes(&j.slopes, OUT, c, (double)j.n_images * (SIZE * SIZE), coef[c]);
    }
    load_image(j.x, (uint2 *)shared);
    __syncthreads();
    form_dz(j, coef, dz);
    __syncthreads();
#pragma unroll 2
    for (int s = 0; s < STRIPS; s++) {
        const int p = (warp * STRIPS + s) * 16;
        const uint16_t *at = (const uint16_t *)shared + 4 * (window_of(p) + 2 * q);
        uint32_t a[4];
        cuda_load_transposed(
            a, cuda_shared_address(dz) +
                   node_tile16::offset(p + (lane & 7) + (lane >> 4) * 8, lane >> 3 & 1));
#pragma unroll
        for (int n = 0; n < COLUMNS; n++) {
            const int tap = 2 * n + (g >> 2);
            const int offset = g >> 2 ? tap_offset(2 * n + 1) : tap_offset(2 * n);
            const uint16_t *x = at + 4 * offset + (g & 3);
            uint32_t b[2] = {0, 0};
            if (tap < TAPS) {
                b[0] = x[0] | (uint32_t)x[4] << 16;
                b[1] = x[32] | (uint32_t)x[36] << 16;
            }
            cuda_mma(sum[n], a, b[0], b[1]);
        }
    }
    __syncthreads();
    float *room = (float *)dz; /* [warp][column][element][lane] */
#pragma unroll
    for (int n = 0; n < COLUMNS; n++)
#pragma unroll
        for (int i = 0; i < 4; i++)
            room[((warp * COLUMNS + n) * 4 + i) * 32 + lane] = sum[n][i];
    __syncthreads();
    float *partial = j.partial + (size_t)blockIdx.x * (OUT * IN * TAPS);
    for (int i = (int)threadIdx.x; i < OUT * IN * TAPS; i += THREADS) {
        const int out = i / (IN * TAPS), column = i % TAPS * 4 + i / TAPS % IN;
        const int element = out / 8 * 2 + column % 2, of = out % 8 * 4 + column % 8 / 2;
        float total = 0;
        for (int w = 0; w < WARPS; w++)
            total += room[((w * COLUMNS + column / 8) * 4 + element) * 32 + of];
        partial[i] = total;
    }
}

cudaError_t pada_cuda_stem_init(void)
{
    return cudaFuncSetAttribute((const void *)stem_backward_kernel,
                                cudaFuncAttributeMaxDynamicSharedMemorySize, STEM_BYTES);
}

cudaError_t pada_cuda_stem_backward(cudaStream_t stream, const cuda_stem_job *job)
{
    return cuda_launch(stem_backward_kernel, (unsigned)job->n_images, THREADS, STEM_BYTES, stream,
                       *job);
}
