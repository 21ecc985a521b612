/* cuda_level_dense.cuh - dense convolutions as products of matrices on tensor cores: what the kernels share.
 *
 * A row of the left matrix is what a pixel of the result reads, tap by tap; its columns are channels. Convolutions of the
 * images, which have three channels, read all taps of all channels as one row of numbers instead.
 *
 * Products do not care in which order channels are added up, nor in which order columns stand. So a lane of a warp
 * (g = lane / 4, q = lane % 4 as in cuda_mma.cuh) has W neighbouring channels of pixels g and g + 8, which come
 * from memory in one piece and are its part of fragments; and W neighbouring channels of the results of the same pixels:
 *
 *   k   = 2q, 2q + 1, 2q + 8, 2q + 9 of product s of a chunk   is channel 4W chunk + Wq + 4s + 0 .. 3
 *   n   = 2q + e of tile t of a set of columns                 is channel 4W set + Wq + 2t + e
 *
 * Weights are packed in this order (cuda_level_dense_pack.cu). In cuda_level_dense.cu nothing goes through shared memory,
 * and no warp waits for another. */
#ifndef PADA_BACKEND_CUDA_CUDA_LEVEL_DENSE_CUH
#define PADA_BACKEND_CUDA_CUDA_LEVEL_DENSE_CUH

#include "backend/cuda/cuda_level.cuh"

enum {
    DENSE_COLUMNS = 64, /* channels of the result, of a warp */
    DENSE_MOST = 1536   /* channels on either side */
};

static __host__ __device__ inline int dense_taps(const pada_conv *conv)
{
    return conv->kernel * conv->kernel;
}

/* Whether a row of numbers is read, not taps of channels. */
static __host__ __device__ inline bool dense_is_image(const pada_conv *conv)
{
    return conv->c_in < 8;
}

/* Channels that are read at a tap, or numbers of a row. */
static __host__ __device__ inline int dense_depth(const pada_conv *conv)
{
    return dense_is_image(conv) ? conv->c_in * dense_taps(conv) : conv->c_in;
}

/* Taps that are read one after the other. */
static __host__ __device__ inline int dense_turns(const pada_conv *conv)
{
    return dense_is_image(conv) ? 1 : dense_taps(conv);
}

/* Whether every pixel reads the pixel at its own place. */
static __host__ __device__ inline bool dense_is_plain(const pada_conv &c)
{
    return c.kernel == 1 && c.stride == 1 && c.pad == 0 && c.offset == 0;
}

/* Whether cuda_level_dense_joined.cu has tiles for so many channels. */
static __host__ __device__ inline bool dense_is_moderate(int channels)
{
    return channels % 4 == 0 && channels <= (channels % 8 == 0 ? 640 : 512);
}

/* Whether cuda_level_dense_deep.cu can read and write 8 channels at once. */
static __host__ __device__ inline bool dense_comes_by_eights(const pada_conv *conv)
{
    return conv->c_in % 8 == 0 && conv->c_out % 8 == 0;
}

/* W: 8 where channels come by eights, unless there are so few that half of the lanes would have none. */
static __host__ __device__ inline int dense_lane_channels(const pada_conv *conv)
{
    const int depth = dense_depth(conv), c_out = conv->c_out;

    if (dense_is_image(conv)) return c_out % 8 == 0 ? 8 : 4;
    if (dense_is_plain(*conv) &&
        (dense_comes_by_eights(conv) || (dense_is_moderate(depth) && dense_is_moderate(c_out))))
        return 4;
    return depth % 8 == 0 && c_out % 8 == 0 && (depth > 16 || c_out > 16) ? 8 : 4;
}

static __host__ __device__ inline int dense_divide_up(int n, int by)
{
    return (n + by - 1) / by;
}

static __host__ __device__ inline int dense_round(int n, int to)
{
    return dense_divide_up(n, to) * to;
}

/* ---- pixels ---- */

/* As cuda_prepare_divisor has it. */
static inline unsigned dense_factor(int by)
{
    return by == 1 ? ~0u : (unsigned)(((uint64_t)1 << 32) / (unsigned)by);
}

/* Rows of a batch of images, one for each pixel. */
struct dense_rows {
    int n;
    cuda_divisor plane, width;
};

static __device__ __forceinline__ dense_rows dense_count(const cuda_level_conv &j, pada_shape shape)
{
    const unsigned plane = (unsigned)(shape.h * shape.w), width = (unsigned)shape.w;

    return {j.n_images * (int)plane, {plane, j.hints.plane}, {width, j.hints.width}};
}

/* image -1: there is none. */
static __device__ __forceinline__ cuda_spot dense_locate(int row, int end, const dense_rows &rows)
{
    const int image = cuda_divide(row, rows.plane);

    return row < end ? cuda_spot{image, row - image * (int)rows.plane.by} : cuda_spot{-1, 0};
}

/* The pixel that tap (kh, kw) of the result's pixel reads, or -1. Backward, the result is that of x, and dz is read. */
template <bool BACK>
static __device__ __forceinline__ int dense_source(const cuda_level_conv &j, cuda_spot spot,
                                                   cuda_divisor width, int kh, int kw)
{
    const pada_conv &c = j.conv;
    const int row = cuda_divide(spot.pixel, width), column = spot.pixel - row * (int)width.by;
    const int shift_h = c.offset - c.pad + kh * c.dilation;
    const int shift_w = c.offset - c.pad + kw * c.dilation;

    if (spot.image < 0) return -1;
    if (!BACK) {
        const int h = row * c.stride + shift_h, w = column * c.stride + shift_w;
        return h >= 0 && h < j.in.h && w >= 0 && w < j.in.w ? h * j.in.w + w : -1;
    }
    int h = row - shift_h, w = column - shift_w;
    if (c.stride > 1) {
        if (h < 0 || w < 0 || h % c.stride != 0 || w % c.stride != 0) return -1;
        h /= c.stride;
        w /= c.stride;
    }
    return h >= 0 && h < j.out.h && w >= 0 && w < j.out.w ? h * j.out.w + w : -1;
}

/* The element where pixel `spot`, which is row `row`, begins. */
static __device__ __forceinline__ int64_t dense_begin(bool joined, int row, cuda_spot spot,
                                                      int64_t image, int pitch)
{
    return joined ? (int64_t)row * pitch : spot.image * image + (int64_t)spot.pixel * pitch;
}

/* ---- pixels that lie in one piece: cuda_level_dense_joined.cu ---- */

/* Whether a job is one of these. */
bool pada_cuda_dense_joins(const cuda_level_conv *j, bool back);
/* Launches those of the jobs that are. `beside`: of the launch; true for those that follow it. */
cudaError_t pada_cuda_dense_joined(cudaStream_t stream, const cuda_level_convs *jobs, bool back,
                                   bool *beside);

/* ---- the same with many channels: cuda_level_dense_deep.cu ---- */

bool pada_cuda_dense_is_deep(const cuda_level_conv *j, bool back);
cudaError_t pada_cuda_dense_deep(cudaStream_t stream, const cuda_level_convs *jobs, bool back,
                                 bool *beside);

/* ---- gradients of weights over such pixels: cuda_level_dense_points.cu ---- */

/* Whether pixels are pieces of 4 channels. */
static inline bool dense_has_pieces(const pada_conv *conv)
{
    return dense_is_plain(*conv) && !dense_is_image(conv) && conv->c_in % 4 == 0 &&
           conv->c_out % 4 == 0;
}

/* Into how many partial sums these gradients are divided, also where pixels do not lie in one piece. */
int pada_cuda_dense_points_splits(const pada_conv *conv, pada_shape out, int n_images,
                                  double share);
/* Whether a job is one of these. */
bool pada_cuda_dense_has_points(const cuda_level_conv *j);
/* Launches those of the jobs that are. `beside`: of the launch; true for those that follow it. */
cudaError_t pada_cuda_dense_points(cudaStream_t stream, const cuda_level_convs *jobs, bool *beside);

/* ---- what launches work out ---- */

static inline bool dense_is_wide(const void *data, int64_t image, int pitch, int channels)
{
    return image % channels == 0 && pitch % channels == 0 &&
           (uintptr_t)data % (2 * (uintptr_t)channels) == 0;
}

static inline bool dense_is_joined(int64_t image, int pitch, pada_shape shape)
{
    return image == (int64_t)shape.h * shape.w * pitch;
}

/* Rows are the pixels of `rows`; lanes have so many channels. */
static inline cuda_dense_hints dense_hint(const cuda_level_conv &j, pada_shape rows, bool back,
                                          int channels)
{
    const cuda_result &to = j.to;
    const cuda_gradient &dz = j.dz;
    cuda_dense_hints h = {};

    h.plane = dense_factor(rows.h * rows.w);
    h.width = dense_factor(rows.w);
    h.wide_x = dense_is_wide(j.x.data, j.x.image, j.x.pitch, channels);
    h.wide_in = !back ? h.wide_x
                      : dense_is_wide(dz.dy, dz.dy_image, dz.dy_pitch, channels) &&
                            (!dz.z || dense_is_wide(dz.z, dz.z_image, dz.z_pitch, channels));
    h.joined_in = dense_is_plain(j.conv) &&
                  (!back ? dense_is_joined(j.x.image, j.x.pitch, rows)
                         : dense_is_joined(dz.dy_image, dz.dy_pitch, rows) &&
                               (!dz.z || dense_is_joined(dz.z_image, dz.z_pitch, rows)));
    h.wide_to = dense_is_wide(to.data, to.image, to.pitch, channels);
    h.joined_out = dense_is_joined(to.image, to.pitch, rows);
    if (to.at.data) {
        h.wide_to = h.wide_to && dense_is_wide(to.at.data, to.at.image, to.at.pitch, channels);
        h.joined_out = h.joined_out && dense_is_joined(to.at.image, to.at.pitch, rows);
    }
    for (int f = 0; f < to.n_finishes; f++) {
        if (!to.finishes[f].z) continue;
        h.wide_to = h.wide_to &&
                    dense_is_wide(to.finishes[f].z, to.finishes[f].z_image, to.pitch, channels);
        h.joined_out = h.joined_out && dense_is_joined(to.finishes[f].z_image, to.pitch, rows);
    }
    return h;
}

/* ---- W channels on their way ---- */

/* Those from element i on, of which `valid` are there; the others are zero. */
template <int W>
static __device__ __forceinline__ cuda_raw<W> dense_fetch(const void *data, int64_t i, int valid,
                                                          bool wide)
{
    const uint16_t *from = (const uint16_t *)data + i;
    cuda_raw<W> raw = {};

    if (!wide || valid < W) {
#pragma unroll
        for (int k = 0; k < W / 2; k++)
            if (2 * k < valid) raw.pair[k] = *(const uint32_t *)(from + 2 * k);
    } else if (W == 8) {
        const uint4 all = *(const uint4 *)from;
        raw.pair[0] = all.x, raw.pair[1] = all.y, raw.pair[W - 6] = all.z, raw.pair[W - 5] = all.w;
    } else {
        const uint2 all = *(const uint2 *)from;
        raw.pair[0] = all.x, raw.pair[1] = all.y;
    }
    return raw;
}

template <int W>
static __device__ __forceinline__ void dense_store(void *data, int64_t i, int valid, bool wide,
                                                   const float v[W])
{
    uint16_t *to = (uint16_t *)data + i;
    uint32_t pair[W / 2];

#pragma unroll
    for (int k = 0; k < W / 2; k++)
        pair[k] = cuda_pair(v[2 * k], v[2 * k + 1]);
    if (!wide || valid < W) {
#pragma unroll
        for (int k = 0; k < W / 2; k++)
            if (2 * k < valid) *(uint32_t *)(to + 2 * k) = pair[k];
    } else if (W == 8) {
        *(uint4 *)to = make_uint4(pair[0], pair[1], pair[W - 6], pair[W - 5]);
    } else {
        *(uint2 *)to = make_uint2(pair[0], pair[1]);
    }
}

/* W floats of shared memory, a multiple of 16 bytes. */
template <int W>
static __device__ __forceinline__ void dense_read_floats(const float *from, float v[W])
{
#pragma unroll
    for (int k = 0; k < W; k += 4) {
        const float4 four = *(const float4 *)(from + k);
        v[k] = four.x, v[k + 1] = four.y, v[k + 2] = four.z, v[k + 3] = four.w;
    }
}

/* ---- products from shared memory, W = 4 ---- */

/* Rows of the left matrix have channels in the order of the fragments: of 16, first the pairs 0, 2, 4, 6, and then 1, 3, 5,
 * 7. Elements before channel c, an even number. */
static __device__ __forceinline__ int dense_find_left(int c)
{
    const int pair = c % 16 / 2;

    return c / 16 * 16 + pair % 2 * 8 + pair / 2 * 2;
}

/* Elements of such a row: an odd multiple of 16 bytes, so that rows of a fragment lie in different banks. */
static __host__ __device__ inline int dense_left_pitch(int depth)
{
    return dense_round(depth, 16) + 8;
}

/* Adds the products of 16 M rows, `across` bytes from 16 to the next, and 16 N columns. `left` is where this lane begins to
 * load matrices, `from` its fragments, `next` from a step to the next. Column 4q + 2t + e of 16 is acc[m][2n + t][e], for
 * row g, and [e + 2], for row g + 8. */
template <int M, int N>
static __device__ __forceinline__ void dense_multiply(uint32_t left, int across, const uint4 *from,
                                                      int next, int depth, float acc[M][2 * N][4])
{
#pragma unroll(N == 3 ? 1 : 2)
    for (int k = 0; k < depth; k += 16, from += next, left += 2 * 16) {
        uint32_t a[M][4];
        uint4 b[N];
#pragma unroll
        for (int n = 0; n < N; n++)
            b[n] = from[32 * n];
#pragma unroll
        for (int m = 0; m < M; m++)
            cuda_load_matrices(a[m], left + (uint32_t)(m * across));
#pragma unroll
        for (int i = 0; i < M * N; i++) {
            cuda_mma(acc[i / N][i % N * 2], a[i / N], b[i % N].x, b[i % N].y);
            cuda_mma(acc[i / N][i % N * 2 + 1], a[i / N], b[i % N].z, b[i % N].w);
        }
    }
}

/* Where a lane begins: `row` is the first of its warp. */
static __device__ __forceinline__ uint32_t dense_find_rows(const void *left, int row, int pitch)
{
    const int lane = (int)threadIdx.x % 32;

    return cuda_shared_address(left) + (uint32_t)(2 * ((row + lane % 16) * pitch + lane / 16 * 8));
}

static __device__ __forceinline__ const uint4 *dense_find_fragments(const void *fragment,
                                                                    int column)
{
    return cuda_global((const uint4 *)fragment + column / 16 * 32 + (int)threadIdx.x % 32);
}

/* ---- packed activations; NaN stays NaN ---- */

#if !defined(__CUDACC__)

static inline uint32_t dense_pair_relu(float low, float high)
{
    return cuda_relu2(cuda_pair(low, high));
}

static inline uint32_t dense_limit6(uint32_t pair)
{
    const uint32_t six = 0x40c0;

    return (cuda_low(pair) > 6 ? six : pair & 0xffffu) |
           (cuda_high(pair) > 6 ? six << 16 : pair & 0xffff0000u);
}

#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800

static __device__ __forceinline__ uint32_t dense_pair_relu(float, float)
{
    __trap();
    return 0;
}

static __device__ __forceinline__ uint32_t dense_limit6(uint32_t)
{
    __trap();
    return 0;
}

#else

static __device__ __forceinline__ uint32_t dense_pair_relu(float low, float high)
{
    uint32_t pair;

    asm("cvt.rn.relu.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
}

static __device__ __forceinline__ uint32_t dense_limit6(uint32_t pair)
{
    uint32_t least;

    asm("min.NaN.bf16x2 %0, %1, %2;" : "=r"(least) : "r"(pair), "r"(0x40c040c0));
    return least;
}

#endif

/* The activation of a pair that is already rounded. */
static __device__ __forceinline__ uint32_t dense_act2(pada_act act, uint32_t pair)
{
    if (act == PADA_ACT_NONE) return pair;
    return act == PADA_ACT_RELU6 ? dense_limit6(cuda_relu2(pair)) : cuda_relu2(pair);
}

/* .. and of one that is not. */
static __device__ __forceinline__ uint32_t dense_pair_act(pada_act act, float low, float high)
{
    if (act == PADA_ACT_NONE) return cuda_pair(low, high);
    const uint32_t pair = dense_pair_relu(low, high);
    return act == PADA_ACT_RELU6 ? dense_limit6(pair) : pair;
}

/* ---- images ---- */

/* Number k of a row: how far from the pixel's first tap, in elements, and in rows and columns (16 bits each). */
struct dense_number {
    int offset, shift;
};

static __device__ __forceinline__ dense_number dense_find_number(const cuda_level_conv &j, int k)
{
    const int taps = dense_taps(&j.conv), c = k / taps, tap = k % taps;
    const int h = tap / j.conv.kernel * j.conv.dilation, w = tap % j.conv.kernel * j.conv.dilation;

    if (c >= j.conv.c_in) return {0, 0x7fff}; /* outside of all images */
    return {(h * j.in.w + w) * j.x.pitch + c, h | w << 16};
}

/* Where the taps of a pixel of the result begin. */
struct dense_corner {
    const uint16_t *from;
    int h, w;
};

static __device__ __forceinline__ dense_corner dense_find_corner(const cuda_level_conv &j,
                                                                 cuda_spot spot, cuda_divisor width)
{
    const int row = cuda_divide(spot.pixel, width), column = spot.pixel - row * (int)width.by;
    const int h = row * j.conv.stride + j.conv.offset - j.conv.pad;
    const int w = column * j.conv.stride + j.conv.offset - j.conv.pad;

    if (spot.image < 0) return {NULL, 1 << 20, 0};
    return {(const uint16_t *)j.x.data + spot.image * j.x.image +
                (int64_t)(h * j.in.w + w) * j.x.pitch,
            h, w};
}

static __device__ __forceinline__ uint32_t dense_read_number(const cuda_level_conv &j,
                                                             const dense_corner &corner,
                                                             dense_number number)
{
    const int h = corner.h + (number.shift & 0xffff), w = corner.w + (number.shift >> 16);

    return (unsigned)h < (unsigned)j.in.h && (unsigned)w < (unsigned)j.in.w
               ? corner.from[number.offset]
               : 0u;
}

#endif
