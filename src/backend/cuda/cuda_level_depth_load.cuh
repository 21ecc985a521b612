/* cuda_level_depth_load.cuh - windows of depthwise convolutions in shared memory (cuda_level_depth.cuh): how they are
 * loaded. */
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

/* What a window is of: x; dz as it is; dz = a dy + b z + c. */
enum depth_source { DEPTH_X, DEPTH_DY, DEPTH_DZ };

template <int W, depth_source FROM>
static __device__ __forceinline__ void depth_apply(const depth_coef<W> &coef, pada_act act,
                                                   const cuda_raw<W> &raw, const cuda_raw<W> &raw_z,
                                                   float v[W])
{
    float z[W];

    cuda_unpack<W>(raw, v);
    if (FROM == DEPTH_DY) return;
    if (FROM == DEPTH_DZ) cuda_unpack<W>(raw_z, z);
#pragma unroll
    for (int k = 0; k < W; k++)
        v[k] = coef.c[0][k] * v[k] +
               (FROM == DEPTH_DZ ? coef.c[1][k] * z[k] + coef.c[2][k] : coef.c[1][k]);
    if (FROM == DEPTH_X) depth_activate<W>(act, v);
}

/* Loads the window that begins at (row, column) of an image. What is not there is read from the first pixel, and zero in
 * the window. The pixels of a window lie one after the other. */
template <int W, depth_source FROM>
static __device__ __forceinline__ void depth_load_by(const cuda_level_conv &j, const depth_block &b,
                                                     const depth_part &p, int image, int row,
                                                     int column, char *shared)
{
    constexpr bool BACK = FROM != DEPTH_X;
    const pada_shape &shape = BACK ? j.out : j.in;
    const int height = shape.h, width = shape.w, columns = b.plan.window.columns;
    const int pitch = BACK ? j.dz.dy_pitch : j.x.pitch, c = b.first + p.load_c;
    const int pitch_z = j.dz.z_pitch, step = b.step * DEPTH_PIXEL;
    const int step_rows = b.step_rows, step_columns = b.step_columns, end_column = column + columns;
    char *from =
        (char *)(BACK ? j.dz.dy : j.x.data) + 2 * (image * (BACK ? j.dz.dy_image : j.x.image) + c);
    char *from_z = FROM == DEPTH_DZ ? (char *)j.dz.z + 2 * (image * j.dz.z_image + c) : NULL;
    const depth_coef<W> coef =
        depth_read_coefs<W>(depth_coefs(b, shared) + p.load_c, FROM == DEPTH_DY ? 0
                                                               : BACK           ? 3
                                                                                : 2);
    const float *end = (const float *)shared + b.weights;
    float *to = (float *)shared + (p.row * columns + p.column) * DEPTH_PIXEL + p.load_c;
    int h = row + p.row, w = column + p.column;

    depth_pin(&from);
    if (FROM == DEPTH_DZ) depth_pin(&from_z);
#pragma unroll 1
    while (to < end) {
        cuda_raw<W> raw[DEPTH_AT_ONCE], z[DEPTH_AT_ONCE];
        bool is[DEPTH_AT_ONCE];
#pragma unroll
        for (int k = 0; k < DEPTH_AT_ONCE; k++) {
            is[k] = (unsigned)h < (unsigned)height && (unsigned)w < (unsigned)width;
            const int pixel = is[k] ? h * width + w : 0;
            raw[k] = depth_fetch<W>(from + 2 * (int64_t)(pixel * pitch));
            if (FROM == DEPTH_DZ) z[k] = depth_fetch<W>(from_z + 2 * (int64_t)(pixel * pitch_z));
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
            if (is[k]) depth_apply<W, FROM>(coef, j.x.act, raw[k], z[k], v);
            depth_keep<W>(to, v);
        }
    }
}

template <depth_source FROM>
static __device__ __forceinline__ void depth_load_from(const cuda_level_conv &j,
                                                       const depth_block &b, const depth_part &p,
                                                       int image, int row, int column, char *shared)
{
    if (p.row < 0) return;
    if (b.vector == 8)
        depth_load_by<8, FROM>(j, b, p, image, row, column, shared);
    else if (b.vector == 4)
        depth_load_by<4, FROM>(j, b, p, image, row, column, shared);
    else
        depth_load_by<2, FROM>(j, b, p, image, row, column, shared);
}

/* The window of dz (BACK) or x. */
template <bool BACK>
static __device__ __forceinline__ void depth_load(const cuda_level_conv &j, const depth_block &b,
                                                  const depth_part &p, int image, int row,
                                                  int column, char *shared)
{
    if (!BACK)
        depth_load_from<DEPTH_X>(j, b, p, image, row, column, shared);
    else if (j.dz.z)
        depth_load_from<DEPTH_DZ>(j, b, p, image, row, column, shared);
    else
        depth_load_from<DEPTH_DY>(j, b, p, image, row, column, shared);
}

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
