/* cuda_conv_mma.cu - convolutions of bfloat16 tensors on tensor cores, for every kernel, stride and padding:
 * those between the cells, which node kernels do not cover.
 *
 * A convolution is a product of matrices whose operands are gathered from memory, element by element or
 * pair by pair, straight into the fragments of an mma; shared memory is not needed, because what
 * neighbouring warps gather is in the first cache.
 *
 *   forward   z[pixel][out]      = sum over (kh, kw, in)  of act(x) * weight
 *   input     dx[pixel][in]      = sum over (kh, kw, out) of dz * weight
 *   weights   dw[out][in,kh,kw]  = sum over pixels        of dz * act(x);  chunks of images apart
 */
#include "backend/cuda/cuda_mma.cuh"

enum {
    WARPS = 4,        /* of a block */
    PIXEL_TILES = 4,  /* of 16 pixels, per warp */
    TILES = 4,        /* of 8 channels, per warp: forward and input */
    COLUMN_TILES = 6, /* of 8 weights, per block: weights */
    WEIGHT_WARPS = 8  /* of such a block */
};

bool pada_cuda_conv_mma_fits(const cuda_conv_job *job)
{
    const pada_conv_list list = {/* kernels, strides, pads */ PADA_ANY,
                                 PADA_ANY,
                                 PADA_ANY,
                                 /* dilations */ PADA_ONE(1),
                                 /* groupings */ PADA_ONE(PADA_DENSE),
                                 /* acts */ PADA_ONE(PADA_ACT_NONE) | PADA_ONE(PADA_ACT_RELU) |
                                     PADA_ONE(PADA_ACT_RELU6),
                                 /* offsets */ PADA_ANY};
    const int64_t most = INT32_MAX;
    const int c = job->conv.c_out;
    /* Tiles of 8 channels; what is missing to one is zero, which pays where there are many, and products are large. */
    const bool whole = c % 8 == 0 || (job->conv.kernel == 1 && c % 2 == 0 && c > 16);

    return job->x.half && pada_conv_in(&list, &job->conv) && whole &&
           job->n_images * job->x.stride < most &&
           job->n_images * pada_shape_count(job->out) < most;
}

/* The smaller of a bfloat16 that is not negative and 6; NaN stays. */
static __device__ __forceinline__ uint32_t at_most_6(uint32_t bits)
{
    const uint32_t six = 0x40c0, infinity = 0x7f80;

    return bits > six && bits <= infinity ? six : bits;
}

/* The activation of two bfloat16 numbers. */
static __device__ __forceinline__ uint32_t activate2(pada_act act, uint32_t pair)
{
    if (act == PADA_ACT_NONE) return pair;
    pair = cuda_relu2(pair);
    if (act == PADA_ACT_RELU) return pair;
    return at_most_6(pair & 0xffff) | at_most_6(pair >> 16) << 16;
}

/* ---- forward, and the gradient of the input ---- */

/* What is gathered, and where the results go. */
typedef struct gather {
    cuda_tensor from, to;
    pada_shape in, out; /* of from, of to */
    int n_pixels;       /* of `to`, all images */
} gather;

/* Pixel p of `to`: where its window starts in `from`. */
typedef struct origin {
    int image, h, w;
} origin;

template <bool BACKWARD>
static __device__ __forceinline__ origin origin_of(const cuda_conv_job &j, const gather &m, int p)
{
    const int plane = m.out.h * m.out.w, n = p / plane, in_image = p - n * plane;
    const int h = in_image / m.out.w, w = in_image - h * m.out.w;
    const int pad = j.conv.pad - j.conv.offset;
    origin o = {n, BACKWARD ? h + pad : h * j.conv.stride - pad,
                BACKWARD ? w + pad : w * j.conv.stride - pad};

    if (p >= m.n_pixels) o.h = o.w = BACKWARD ? -j.conv.kernel : m.in.h; /* reads nothing */
    return o;
}

/* Where tap (kh, kw) of a window reads, or -1: outside. */
template <bool BACKWARD>
static __device__ __forceinline__ int source(const cuda_conv_job &j, const gather &m, origin o,
                                             int kh, int kw)
{
    int h = BACKWARD ? o.h - kh : o.h + kh, w = BACKWARD ? o.w - kw : o.w + kw;

    if (BACKWARD) {
        if (h < 0 || w < 0 || h % j.conv.stride != 0 || w % j.conv.stride != 0) return -1;
        h /= j.conv.stride, w /= j.conv.stride;
    }
    if (h < 0 || w < 0 || h >= m.in.h || w >= m.in.w) return -1;
    return o.image * (int)m.from.stride + (h * m.in.w + w) * m.in.c;
}

/* Row k of the sum: tap and channel of `from`. */
typedef struct summand {
    int kh, kw, c;
} summand;

static __device__ __forceinline__ summand summand_of(int k, int channels, int kernel)
{
    const int tap = k / channels;
    return (summand){tap / kernel, tap % kernel, k - tap * channels};
}

/* Elements k and k + 1 of a row of A. */
template <bool BACKWARD, bool PAIRED>
static __device__ __forceinline__ uint32_t gather_pair(const cuda_conv_job &j, const gather &m,
                                                       origin o, int k, int n_k)
{
    const uint16_t *x = (const uint16_t *)m.from.data;
    uint32_t pair = 0;

#pragma unroll
    for (int i = 0; i < (PAIRED ? 1 : 2); i++) {
        if (k + i >= n_k) continue;
        const summand s = summand_of(k + i, m.in.c, j.conv.kernel);
        const int at = source<BACKWARD>(j, m, o, s.kh, s.kw);
        if (at < 0) continue;
        if (PAIRED)
            pair = *(const uint32_t *)(x + at + s.c);
        else
            pair |= (uint32_t)x[at + s.c] << (16 * i);
    }
    return BACKWARD ? pair : activate2(j.conv.act, pair);
}

/* Weight between row k and channel n of `to`. */
template <bool BACKWARD>
static __device__ __forceinline__ float weight_at(const cuda_conv_job &j, const gather &m, int k,
                                                  int n_k, int n)
{
    if (k >= n_k || n >= m.out.c) return 0;
    const summand s = summand_of(k, m.in.c, j.conv.kernel);
    const int out = BACKWARD ? s.c : n, in = BACKWARD ? n : s.c;
    return j.weight[((out * j.conv.c_in + in) * j.conv.kernel + s.kh) * j.conv.kernel + s.kw];
}

/* Stores channels c and c + 1 of pixel p. */
template <bool BACKWARD>
static __device__ __forceinline__ void finish_pair(const cuda_conv_job &j, const gather &m, int p,
                                                   int c, float first, float second)
{
    const int plane = m.out.h * m.out.w, n = p / plane;
    const int64_t in_image = (int64_t)(p - n * plane) * m.out.c + c;
    const float sums[2] = {first, second};

#pragma unroll
    for (int i = 0; i < 2; i++) {
        if (p >= m.n_pixels || c + i >= m.out.c) continue;
        if (!BACKWARD) {
            cuda_put(m.to, n * m.to.stride + in_image + i, sums[i] + (j.bias ? j.bias[c + i] : 0));
            continue;
        }
        const float slope =
            cuda_act_slope(j.conv.act, cuda_get(j.x, n * j.x.stride + in_image + i));
        cuda_give(m.to, n * m.to.stride + in_image + i, j.accumulate, sums[i] * slope);
    }
}

/* A warp: PIXEL_TILES * 16 pixels of `to`, TILES * 8 channels (blockIdx.y). */
template <bool BACKWARD, bool PAIRED>
__global__ static void gather_kernel(cuda_conv_job j, gather m)
{
    cuda_begin();
    const int lane = (int)threadIdx.x & 31, g = lane >> 2, q = lane & 3;
    const int warp = (int)blockIdx.x * WARPS + ((int)threadIdx.x >> 5);
    const int n_k = m.in.c * j.conv.kernel * j.conv.kernel;
    const int first_pixel = warp * PIXEL_TILES * 16, first_channel = (int)blockIdx.y * TILES * 8;
    float sum[PIXEL_TILES][TILES][4] = {};
    origin at[PIXEL_TILES][2];

#pragma unroll
    for (int t = 0; t < PIXEL_TILES; t++)
#pragma unroll
        for (int h = 0; h < 2; h++)
            at[t][h] = origin_of<BACKWARD>(j, m, first_pixel + t * 16 + g + 8 * h);
#pragma unroll 1
    for (int k = 0; k < n_k; k += 16) {
        uint32_t b[TILES][2];
#pragma unroll
        for (int n = 0; n < TILES; n++)
#pragma unroll
            for (int h = 0; h < 2; h++) {
                const int row = k + 2 * q + 8 * h, channel = first_channel + n * 8 + g;
                b[n][h] = cuda_pair(weight_at<BACKWARD>(j, m, row, n_k, channel),
                                    weight_at<BACKWARD>(j, m, row + 1, n_k, channel));
            }
#pragma unroll
        for (int t = 0; t < PIXEL_TILES; t++) {
            uint32_t a[4];
#pragma unroll
            for (int i = 0; i < 4; i++)
                a[i] = gather_pair<BACKWARD, PAIRED>(j, m, at[t][i & 1], k + 2 * q + 8 * (i >> 1),
                                                     n_k);
#pragma unroll
            for (int n = 0; n < TILES; n++)
                cuda_mma(sum[t][n], a, b[n][0], b[n][1]);
        }
    }
#pragma unroll
    for (int t = 0; t < PIXEL_TILES; t++)
#pragma unroll
        for (int n = 0; n < TILES; n++)
#pragma unroll
            for (int h = 0; h < 2; h++)
                finish_pair<BACKWARD>(j, m, first_pixel + t * 16 + g + 8 * h,
                                      first_channel + n * 8 + 2 * q, sum[t][n][2 * h],
                                      sum[t][n][2 * h + 1]);
}

static dim3 gather_grid(const gather *m)
{
    const int pixels = WARPS * PIXEL_TILES * 16, channels = TILES * 8;

    return dim3((unsigned)((m->n_pixels + pixels - 1) / pixels),
                (unsigned)((m->out.c + channels - 1) / channels));
}

cudaError_t pada_cuda_conv_mma_forward(cudaStream_t stream, const cuda_conv_job *job, cuda_tensor z)
{
    const gather m = {job->x, z, job->in, job->out, job->n_images * job->out.h * job->out.w};

    if (job->in.c % 2 == 0)
        cuda_launch(gather_kernel<false, true>, gather_grid(&m), WARPS * 32, 0, stream, *job, m);
    else
        cuda_launch(gather_kernel<false, false>, gather_grid(&m), WARPS * 32, 0, stream, *job, m);
    return cudaPeekAtLastError();
}

cudaError_t pada_cuda_conv_mma_grad_in(cudaStream_t stream, const cuda_conv_job *job)
{
    const gather m = {job->dz, job->dx, job->out, job->in, job->n_images * job->in.h * job->in.w};

    cuda_launch(gather_kernel<true, true>, gather_grid(&m), WARPS * 32, 0, stream, *job, m);
    return cudaPeekAtLastError();
}

/* ---- weights ---- */

/* act(x) of one image at tap (kh, kw) of output pixel p, channel c. */
static __device__ __forceinline__ uint32_t input_at(const cuda_conv_job &j, const uint16_t *x,
                                                    int p, int plane, summand s)
{
    const int h = p / j.out.w, w = p - h * j.out.w;
    const int pad = j.conv.pad - j.conv.offset;
    const int ih = h * j.conv.stride + s.kh - pad, iw = w * j.conv.stride + s.kw - pad;

    if (p >= plane || s.c >= j.conv.c_in || ih < 0 || iw < 0 || ih >= j.in.h || iw >= j.in.w)
        return 0;
    const uint32_t v = x[(ih * j.in.w + iw) * j.in.c + s.c];
    return activate2(j.conv.act, v);
}

/* A block: 16 channels out, COLUMN_TILES * 8 columns (in, kh, kw) in PyTorch's order (blockIdx.x), one chunk of
 * images (blockIdx.y). Warps take turns with 16 pixels; their sums are added up in order. */
__global__ static void __launch_bounds__(WEIGHT_WARPS * 32)
    weight_kernel(cuda_conv_job j, int chunk)
{
    cuda_begin();
    __shared__ float sums[WEIGHT_WARPS][COLUMN_TILES * 4][32];
    const int warp = (int)threadIdx.x >> 5, lane = (int)threadIdx.x & 31;
    const int g = lane >> 2, q = lane & 3, kernel = j.conv.kernel;
    const int n_columns = j.conv.c_in * kernel * kernel, plane = j.out.h * j.out.w;
    const int groups = (n_columns + COLUMN_TILES * 8 - 1) / (COLUMN_TILES * 8);
    const int out = (int)blockIdx.x / groups * 16;
    const int column = (int)blockIdx.x % groups * COLUMN_TILES * 8;
    const int first = (int)blockIdx.y * chunk, last = min(first + chunk, j.n_images);
    float sum[COLUMN_TILES][4] = {};
    summand at[COLUMN_TILES];

#pragma unroll
    for (int n = 0; n < COLUMN_TILES; n++) {
        const int i = column + n * 8 + g; /* behind the end: a channel that does not exist */
        at[n] = (summand){i / kernel % kernel, i % kernel, i / (kernel * kernel)};
    }
#pragma unroll 1
    for (int image = first; image < last; image++) {
        const uint16_t *x = (const uint16_t *)j.x.data + image * j.x.stride;
        const uint16_t *dz = (const uint16_t *)j.dz.data + image * j.dz.stride;
#pragma unroll 1
        for (int p = warp * 16; p < plane; p += WEIGHT_WARPS * 16) {
            uint32_t a[4];
#pragma unroll
            for (int i = 0; i < 4; i++) {
                const int o = out + g + 8 * (i & 1), pixel = p + 2 * q + 8 * (i >> 1);
                a[i] = 0;
                if (o >= j.conv.c_out) continue;
                if (pixel < plane) a[i] = dz[pixel * j.out.c + o];
                if (pixel + 1 < plane) a[i] |= (uint32_t)dz[(pixel + 1) * j.out.c + o] << 16;
            }
#pragma unroll
            for (int n = 0; n < COLUMN_TILES; n++) {
                uint32_t b[2];
#pragma unroll
                for (int h = 0; h < 2; h++) {
                    const int pixel = p + 2 * q + 8 * h;
                    b[h] = input_at(j, x, pixel, plane, at[n]) |
                           input_at(j, x, pixel + 1, plane, at[n]) << 16;
                }
                cuda_mma(sum[n], a, b[0], b[1]);
            }
        }
    }
#pragma unroll
    for (int n = 0; n < COLUMN_TILES; n++)
#pragma unroll
        for (int i = 0; i < 4; i++)
            sums[warp][n * 4 + i][lane] = sum[n][i];
    __syncthreads();
    float *partial = j.partial + (int64_t)blockIdx.y * j.conv.c_out * n_columns;
    for (int k = (int)threadIdx.x; k < COLUMN_TILES * 4 * 32; k += WEIGHT_WARPS * 32) {
        const int l = k % 32, i = k / 32 % 4, n = k / 128;
        const int o = out + l / 4 + 8 * (i >> 1), to = column + n * 8 + 2 * (l % 4) + (i & 1);
        float total = 0;
        for (int w = 0; w < WEIGHT_WARPS; w++)
            total += sums[w][n * 4 + i][l];
        if (o < j.conv.c_out && to < n_columns) partial[o * n_columns + to] = total;
    }
}

cudaError_t pada_cuda_conv_mma_weights(cudaStream_t stream, const cuda_conv_job *job, int chunk,
                                       int chunks)
{
    const int columns = job->conv.c_in * job->conv.kernel * job->conv.kernel;
    const int blocks =
        (job->conv.c_out + 15) / 16 * ((columns + COLUMN_TILES * 8 - 1) / (COLUMN_TILES * 8));
    const dim3 grid((unsigned)blocks, (unsigned)chunks);

    return cuda_launch(weight_kernel, grid, WEIGHT_WARPS * 32, 0, stream, *job, chunk);
}
