/* cuda_level_depth_load.cuh - windows of depthwise convolutions in shared memory (cuda_level_depth.cuh): how they are
 * filled. Forward, what is loaded goes there at once: a block makes few tiles, and copies would cost instructions. */
#ifndef PADA_BACKEND_CUDA_CUDA_LEVEL_DEPTH_LOAD_CUH
#define PADA_BACKEND_CUDA_CUDA_LEVEL_DEPTH_LOAD_CUH

#include "backend/cuda/cuda_level_depth.cuh"

/* ---- activations ---- */

#ifdef __CUDACC__

/* The larger, or smaller, one of x and a bound; NaN stays. */
static __device__ __forceinline__ float depth_floor(float x, float low)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
    asm("max.NaN.f32 %0, %0, %1;" : "+f"(x) : "f"(low));
#endif
    return x;
}

static __device__ __forceinline__ float depth_cap(float x, float high)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
    asm("min.NaN.f32 %0, %0, %1;" : "+f"(x) : "f"(high));
#endif
    return x;
}

/* Keeps a pointer in a register, so that what is added to it is added at once, not to parts of it. */
static __device__ __forceinline__ void depth_pin(char **at)
{
    asm("" : "+l"(*at));
    __builtin_assume(__isGlobal(*at));
}

#else

static inline void depth_pin(char **)
{
}

static inline float depth_floor(float x, float low)
{
    return x < low ? low : x;
}

static inline float depth_cap(float x, float high)
{
    return x > high ? high : x;
}

#endif

/* An activation is x with a floor, and RELU6 has a cap. */
static __device__ __forceinline__ float depth_low(pada_act act)
{
    return act == PADA_ACT_NONE ? -INFINITY : 0;
}

template <int N> static __device__ __forceinline__ void depth_activate(pada_act act, float v[N])
{
    const float low = depth_low(act);

#pragma unroll
    for (int k = 0; k < N; k++)
        v[k] = depth_floor(v[k], low);
    if (act != PADA_ACT_RELU6) return;
#pragma unroll
    for (int k = 0; k < N; k++)
        v[k] = depth_cap(v[k], 6);
}

/* ---- what is loaded ---- */

/* Element `at` of an image, all of whose elements have numbers of 32 bits. */
static __device__ __forceinline__ char *depth_find_image(const void *data, int64_t step, int image,
                                                         int at)
{
    return (char *)data + 2 * ((int64_t)image * (int)step) + 2 * (int64_t)at;
}

/* W channels; all of them are there, and aligned. */
template <int W> static __device__ __forceinline__ cuda_raw<W> depth_fetch(const char *from)
{
    cuda_raw<W> raw;

    if (W == 8) {
        const uint4 v = *(const uint4 *)from;
        raw.pair[0] = v.x, raw.pair[1 % (W / 2)] = v.y;
        raw.pair[2 % (W / 2)] = v.z, raw.pair[3 % (W / 2)] = v.w;
    } else if (W == 4) {
        const uint2 v = *(const uint2 *)from;
        raw.pair[0] = v.x, raw.pair[1 % (W / 2)] = v.y;
    } else {
        raw.pair[0] = *(const uint32_t *)from;
    }
    return raw;
}

/* Writes W floats, aligned as vectors of them are. */
template <int W> static __device__ __forceinline__ void depth_keep(float *to, const float v[W])
{
#pragma unroll
    for (int k = 0; k < W; k += 4)
        if (W == 2)
            *(depth_pair *)to = {v[0], v[1]};
        else
            *(float4 *)(to + k) = make_float4(v[k], v[k + 1], v[(k + 2) % W], v[(k + 3) % W]);
}

/* Coefficients of W channels: act(c[0] x + c[1]), or c[0] dy + (c[1] z + c[2]). */
template <int W> struct depth_coef {
    float c[3][W];
};

template <int W>
static __device__ __forceinline__ depth_coef<W> depth_read_coefs(const float *from, int n)
{
    depth_coef<W> coef;

#pragma unroll
    for (int i = 0; i < n; i++)
#pragma unroll
        for (int k = 0; k < W; k += 2) {
            const depth_pair pair = *(const depth_pair *)(from + i * DEPTH_CHANNELS + k);
            coef.c[i][k] = pair.a;
            coef.c[i][k + 1] = pair.b;
        }
    return coef;
}

/* Where a thread begins to write to the window. The pixels of a window lie one after the other. */
static __device__ __forceinline__ float *depth_begin_window(const depth_block &b,
                                                            const depth_part &p, char *shared)
{
    return (float *)shared + (p.row * b.plan.window.columns + p.column) * DEPTH_PIXEL + p.load_c;
}

/* ---- forward: windows of x, as they come ---- */

/* The window that begins at (row, column) of an image. What is not there is read from the first pixel, and zero in the
 * window. */
template <int W>
static __device__ __forceinline__ void depth_load_by(const cuda_level_conv &j, const depth_block &b,
                                                     const depth_part &p, int image, int row,
                                                     int column, char *shared)
{
    const int height = j.in.h, width = j.in.w, columns = b.plan.window.columns;
    const int pitch = j.x.pitch, step = b.step * DEPTH_PIXEL;
    const int step_rows = b.step_rows, step_columns = b.step_columns, end_column = column + columns;
    char *from = (char *)j.x.data + 2 * (image * j.x.image + b.first + p.load_c);
    const depth_coef<W> coef = depth_read_coefs<W>(depth_coefs(b, shared) + p.load_c, 2);
    const float *end = (const float *)shared + b.weights;
    float *to = depth_begin_window(b, p, shared);
    int h = row + p.row, w = column + p.column;

    depth_pin(&from);
#pragma unroll 1
    while (to < end) {
        cuda_raw<W> raw[DEPTH_AT_ONCE];
        bool is[DEPTH_AT_ONCE];
#pragma unroll
        for (int k = 0; k < DEPTH_AT_ONCE; k++) {
            is[k] = (unsigned)h < (unsigned)height && (unsigned)w < (unsigned)width;
            raw[k] = depth_fetch<W>(from + 2 * (int64_t)((is[k] ? h * width + w : 0) * pitch));
            h += step_rows;
            w += step_columns;
            if (w >= end_column) {
                w -= columns;
                h++;
            }
        }
#pragma unroll
        for (int k = 0; k < DEPTH_AT_ONCE; k++, to += step) {
            float v[W] = {};
            if (to >= end) break;
            if (is[k]) {
                cuda_unpack<W>(raw[k], v);
#pragma unroll
                for (int i = 0; i < W; i++)
                    v[i] = coef.c[0][i] * v[i] + coef.c[1][i];
                depth_activate<W>(j.x.act, v);
            }
            depth_keep<W>(to, v);
        }
    }
}

static __device__ __forceinline__ void depth_load(const cuda_level_conv &j, const depth_block &b,
                                                  const depth_part &p, const depth_corner &corner,
                                                  char *shared)
{
    const int row = corner.h * j.conv.stride - j.conv.pad;
    const int column = corner.w * j.conv.stride - j.conv.pad;

    if (p.row < 0) return;
    if (b.plan.vector == 8)
        depth_load_by<8>(j, b, p, corner.image, row, column, shared);
    else if (b.plan.vector == 4)
        depth_load_by<4>(j, b, p, corner.image, row, column, shared);
    else
        depth_load_by<2>(j, b, p, corner.image, row, column, shared);
}

/* ---- backward: windows of dz, which are copied while the tile before is made ---- */

/* Where a thread finds what it copied of a window; `step` from one round to the next. */
static __device__ __forceinline__ char *depth_slots(const depth_block &b, char *shared, int *step)
{
    *step = (int)blockDim.x * 2 * b.plan.vector;
    return shared + b.arrived + (int)threadIdx.x * 2 * b.plan.vector;
}

/* Copies the window that begins at (row, column) of an image. A bit for each round: whether the pixel is in the image. */
template <int W>
static __device__ __forceinline__ uint64_t depth_copy_by(const cuda_level_conv &j,
                                                         const depth_block &b, const depth_part &p,
                                                         int image, int row, int column,
                                                         char *shared)
{
    const int height = j.out.h, width = j.out.w, columns = b.plan.window.columns;
    const int pitch = j.dz.dy_pitch, pitch_z = j.dz.z_pitch, c = b.first + p.load_c;
    const int to_z = b.tensor, rows = b.plan.window.rows;
    const int step_rows = b.step_rows, step_columns = b.step_columns;
    const bool has_z = j.dz.z;
    char *from = (char *)j.dz.dy + 2 * (image * j.dz.dy_image + c);
    char *from_z = has_z ? (char *)j.dz.z + 2 * (image * j.dz.z_image + c) : NULL;
    int h = p.row, w = p.column, step; /* of the window */
    uint32_t to = cuda_shared_address(depth_slots(b, shared, &step));
    uint64_t is = 0, bit = 1;

    depth_pin(&from);
    if (has_z) depth_pin(&from_z);
#pragma unroll 2
    for (; h < rows; to += (uint32_t)step, bit <<= 1) {
        const int y = row + h, x = column + w;
        if ((unsigned)y < (unsigned)height && (unsigned)x < (unsigned)width) {
            const int pixel = y * width + x;
            cuda_copy_ahead<2 * W>(to, from + 2 * (int64_t)(pixel * pitch));
            if (has_z)
                cuda_copy_ahead<2 * W>(to + (uint32_t)to_z,
                                       from_z + 2 * (int64_t)(pixel * pitch_z));
            is |= bit;
        }
        h += step_rows;
        w += step_columns;
        if (w >= columns) {
            w -= columns;
            h++;
        }
    }
    return is;
}

/* The window of tile t, unless it is behind the last one. */
static __device__ __forceinline__ uint64_t depth_copy(const cuda_level_conv &j,
                                                      const depth_block &b, const depth_part &p,
                                                      int t, char *shared)
{
    const int before = j.conv.pad - (j.conv.kernel - 1) * j.conv.dilation;
    const int half = j.conv.stride - 1; /* >> half: divided by the stride */

    if (p.row < 0 || t >= b.plan.tiles.n) return 0;
    const depth_corner corner = depth_find_tile(b, t);
    const int row = (corner.h + before) >> half, column = (corner.w + before) >> half;
    if (b.plan.vector == 8) return depth_copy_by<8>(j, b, p, corner.image, row, column, shared);
    if (b.plan.vector == 4) return depth_copy_by<4>(j, b, p, corner.image, row, column, shared);
    return depth_copy_by<2>(j, b, p, corner.image, row, column, shared);
}

/* Writes what this thread has copied to the window, as a dy + b z + c (HAS_Z) or dy, and zeros where there is no image. */
template <int W, bool HAS_Z>
static __device__ __forceinline__ void depth_convert_by(const depth_block &b, const depth_part &p,
                                                        uint64_t is, char *shared)
{
    const int to_z = b.tensor, next = b.step * DEPTH_PIXEL;
    const depth_coef<W> coef =
        depth_read_coefs<W>(depth_coefs(b, shared) + p.load_c, HAS_Z ? 3 : 0);
    const float *end = (const float *)shared + b.weights;
    float *to = depth_begin_window(b, p, shared);
    int step;
    const char *from = depth_slots(b, shared, &step);

#pragma unroll 2
    for (; to < end; to += next, from += step, is >>= 1) {
        float v[W] = {}, z[W];
        if (is & 1) {
            cuda_unpack<W>(depth_fetch<W>(from), v);
            if (HAS_Z) {
                cuda_unpack<W>(depth_fetch<W>(from + to_z), z);
#pragma unroll
                for (int k = 0; k < W; k++)
                    v[k] = coef.c[0][k] * v[k] + (coef.c[1][k] * z[k] + coef.c[2][k]);
            }
        }
        depth_keep<W>(to, v);
    }
}

template <bool HAS_Z>
static __device__ __forceinline__ void depth_convert_from(const depth_block &b, const depth_part &p,
                                                          uint64_t is, char *shared)
{
    if (p.row < 0) return;
    if (b.plan.vector == 8)
        depth_convert_by<8, HAS_Z>(b, p, is, shared);
    else if (b.plan.vector == 4)
        depth_convert_by<4, HAS_Z>(b, p, is, shared);
    else
        depth_convert_by<2, HAS_Z>(b, p, is, shared);
}

static __device__ __forceinline__ void depth_convert(const cuda_level_conv &j, const depth_block &b,
                                                     const depth_part &p, uint64_t is, char *shared)
{
    if (j.dz.z)
        depth_convert_from<true>(b, p, is, shared);
    else
        depth_convert_from<false>(b, p, is, shared);
}

/* ---- both ---- */

/* The weights of a chunk, backward from the last tap to the first, and its coefficients. */
template <bool BACK>
static __device__ __forceinline__ void depth_stage(const cuda_level_conv &j, const depth_block &b,
                                                   char *shared)
{
    const int taps = b.plan.taps, thread = (int)threadIdx.x;
    float *const weights = depth_weights(b, shared), *const coefs = depth_coefs(b, shared);

#pragma unroll 4
    for (int i = thread; i < b.channels * taps; i += (int)blockDim.x) {
        const int c = i / taps, tap = i - c * taps;
        weights[(BACK ? taps - 1 - tap : tap) * DEPTH_CHANNELS + c] =
            j.weight[(int64_t)b.first * taps + i];
    }
    if (thread >= b.channels) return;
    if (BACK) {
        const cuda_slope<1> slope = cuda_read_slope<1>(j.dz, b.first + thread, 1);
        coefs[thread] = slope.a[0];
        coefs[DEPTH_CHANNELS + thread] = slope.b[0];
        coefs[2 * DEPTH_CHANNELS + thread] = slope.c[0];
    } else {
        const cuda_norm<1> norm = cuda_read_norm<1>(j.x, b.first + thread, 1);
        coefs[thread] = norm.factor[0];
        coefs[DEPTH_CHANNELS + thread] = norm.shift[0];
    }
}

/* N neighbours of a row of a window, for one lane. */
template <int N>
static __device__ __forceinline__ void depth_read(const float *from, depth_pair x[N])
{
#pragma unroll
    for (int q = 0; q < N; q++)
        x[q] = *(const depth_pair *)(from + q * DEPTH_PIXEL);
}

static __device__ __forceinline__ depth_pair depth_weight(const float *weights, int tap)
{
    return *(const depth_pair *)(weights + tap * DEPTH_CHANNELS);
}

#endif
