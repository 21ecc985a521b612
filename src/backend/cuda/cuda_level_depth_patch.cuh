/* cuda_level_depth_patch.cuh - patches of the gradients of depthwise convolutions (cuda_level_depth_back.cu). */
#ifndef PADA_BACKEND_CUDA_CUDA_LEVEL_DEPTH_PATCH_CUH
#define PADA_BACKEND_CUDA_CUDA_LEVEL_DEPTH_PATCH_CUH

#include "backend/cuda/cuda_level_depth_load.cuh"

enum { DEPTH_ALL = (1 << DEPTH_PATCH) - 1 /* pixels of a patch, a bit for each */ };

/* Adds the products of a patch. `from` is the first word of its window; x has zeros outside of the image. */
template <int K, int STRIDE, int DILATION>
static __device__ __forceinline__ void correlate(const float *from, int pitch, const float *weights,
                                                 const depth_pair x[DEPTH_PATCH],
                                                 depth_pair dx[DEPTH_PATCH], depth_pair *dw)
{
    constexpr int ROWS = (DEPTH_HIGH - 1 + (K - 1) * DILATION) / STRIDE + 1;
    constexpr int N = (DEPTH_STRIP - 1 + (K - 1) * DILATION) / STRIDE + 1;

#pragma unroll
    for (int i = 0; i < ROWS; i++, from += pitch) {
        depth_pair dz[N];
        depth_read<N>(from, dz);
#pragma unroll
        for (int r = 0; r < DEPTH_HIGH; r++) {
            const int ahead = i * STRIDE - r, kh = ahead / DILATION;
            if (ahead < 0 || ahead % DILATION != 0 || kh >= K) continue;
#pragma unroll
            for (int kw = 0; kw < K; kw++) {
                const depth_pair w = depth_weight(weights, kh * K + kw);
                depth_pair *const sum = &dw[kh * K + kw];
#pragma unroll
                for (int p = 0; p < DEPTH_STRIP; p++) {
                    if ((p + kw * DILATION) % STRIDE != 0) continue;
                    const int q = r * DEPTH_STRIP + p;
                    const depth_pair d = dz[(p + kw * DILATION) / STRIDE];
                    dx[q].a += w.a * d.a;
                    dx[q].b += w.b * d.b;
                    sum->a += x[q].a * d.a;
                    sum->b += x[q].b * d.b;
                }
            }
        }
    }
}

/* MOST is the largest kernel of the launch. */
template <int MOST>
static __device__ __forceinline__ void correlate_any(int kind, const float *from, int pitch,
                                                     const float *weights,
                                                     const depth_pair x[DEPTH_PATCH],
                                                     depth_pair dx[DEPTH_PATCH], depth_pair *dw)
{
    switch (kind) {
#define CASE(K, STRIDE, DILATION)                                                              \
    case depth_kind(K, STRIDE, DILATION):                                                      \
        if (K <= MOST)                                                                         \
            correlate<(K <= MOST ? K : 3), STRIDE, DILATION>(from, pitch, weights, x, dx, dw); \
        break;
        DEPTH_KINDS(CASE, 3)
        DEPTH_KINDS(CASE, 5)
        DEPTH_KINDS(CASE, 7)
#undef CASE
    default: break;
    }
}

/* A patch of two channels from c on, whose first pixel this is in an image. A bit for each pixel: which of them are
 * in rows that there are, and which are there. */
typedef struct patch {
    int image, pixel, c;
    int row, column; /* in its tile */
    uint32_t in_rows, is;
} patch;

/* Those of its columns that an image has, if it begins at column w. */
static __device__ __forceinline__ void see_columns(patch *s, int w, int width)
{
    const uint32_t row = (0xfu >> max(0, w + DEPTH_STRIP - width)) & (0xfu << max(0, -w));

    s->is = s->in_rows & (row | row << DEPTH_STRIP);
}

static __device__ __forceinline__ patch find_patch(const cuda_level_conv &j,
                                                   const depth_tiles &tiles,
                                                   const depth_corner &corner, int i, int c)
{
    const depth_spot at = depth_find_patch(tiles, i);
    const int h = corner.h + at.row, w = corner.w + at.column;
    patch s = {corner.image, h * j.in.w + w, c, at.row, at.column, 0, 0};

    if ((unsigned)h < (unsigned)j.in.h) s.in_rows = 0xf;
    if ((unsigned)(h + 1) < (unsigned)j.in.h) s.in_rows |= 0xf << DEPTH_STRIP;
    see_columns(&s, w, j.in.w);
    return s;
}

/* The patch so many columns further. */
static __device__ __forceinline__ void move_patch(patch *s, int columns, int first, int width)
{
    s->pixel += columns;
    s->column += columns;
    see_columns(s, first + s->column, width);
}

/* Whether pixel p is there. FULL: all are, so that nothing has to be asked. */
template <bool FULL> static __device__ __forceinline__ bool has_pixel(const patch &s, int p)
{
    return FULL || (s.is >> p & 1);
}

/* A patch in memory: its rows, and bytes from one pixel to the next. */
typedef struct place {
    char *row[DEPTH_HIGH];
    int pitch;
} place;

static __device__ __forceinline__ place find_place(const void *data, int64_t image, int pitch,
                                                   int width, const patch &s)
{
    place to;

    to.row[0] = depth_find_image(data, image, s.image, s.pixel * pitch + s.c);
    to.row[1] = to.row[0] + (int64_t)width * (2 * pitch);
    to.pitch = pitch;
    depth_pin(&to.row[0]);
    depth_pin(&to.row[1]);
    return to;
}

static __device__ __forceinline__ uint32_t *find_pixel(const place &to, int p)
{
    return (uint32_t *)(to.row[p / DEPTH_STRIP] + (int64_t)to.pitch * (p % DEPTH_STRIP * 2));
}

template <bool FULL>
static __device__ __forceinline__ void fetch_pixels(const place &from, const patch &s,
                                                    uint32_t v[DEPTH_PATCH])
{
#pragma unroll
    for (int p = 0; p < DEPTH_PATCH; p++)
        v[p] = has_pixel<FULL>(s, p) ? *find_pixel(from, p) : 0;
}

static __device__ __forceinline__ void fetch_x(const cuda_level_conv &j, const patch &s,
                                               uint32_t v[DEPTH_PATCH])
{
    const place from = find_place(j.x.data, j.x.image, j.x.pitch, j.in.w, s);

    if (s.is == DEPTH_ALL)
        fetch_pixels<true>(from, s, v);
    else
        fetch_pixels<false>(from, s, v);
}

/* act(norm(x)), and zero where there is none. */
template <bool FULL>
static __device__ __forceinline__ void see_patch(pada_act act, const cuda_norm<2> &norm,
                                                 const patch &s, const uint32_t raw[DEPTH_PATCH],
                                                 depth_pair x[DEPTH_PATCH])
{
    float v[2 * DEPTH_PATCH];

#pragma unroll
    for (int p = 0; p < DEPTH_PATCH; p++) {
        v[2 * p] = norm.factor[0] * cuda_low(raw[p]) + norm.shift[0];
        v[2 * p + 1] = norm.factor[1] * cuda_high(raw[p]) + norm.shift[1];
    }
    depth_activate<2 * DEPTH_PATCH>(act, v);
#pragma unroll
    for (int p = 0; p < DEPTH_PATCH; p++) {
        x[p].a = has_pixel<FULL>(s, p) ? v[2 * p] : 0;
        x[p].b = has_pixel<FULL>(s, p) ? v[2 * p + 1] : 0;
    }
}

/* What belongs to the gradients of a patch: earlier contributions, and the operands of batch norms. Words of this thread in
 * shared memory, where they are copied while the products are made: [tensor][pixel], `step` words apart. The operand of
 * the first norm may be x, which is there already. */
typedef struct company {
    uint32_t *words;
    int step;
    bool z_is_x;
} company;

/* Zeros where there is no pixel. */
template <bool FULL>
static __device__ __forceinline__ void bring_pixels(const place &from, const patch &s,
                                                    const company &with, int tensor)
{
    uint32_t *words = with.words + tensor * DEPTH_PATCH * with.step;

#pragma unroll
    for (int p = 0; p < DEPTH_PATCH; p++, words += with.step)
        if (has_pixel<FULL>(s, p))
            cuda_copy_ahead<4>(cuda_shared_address(words), find_pixel(from, p));
        else
            *words = 0;
}

template <bool FULL>
static __device__ __forceinline__ void bring_company(const cuda_result &to, int width,
                                                     const patch &s, const company &with)
{
    if (to.accumulate)
        bring_pixels<FULL>(find_place(to.data, to.image, to.pitch, width, s), s, with, 0);
#pragma unroll
    for (int f = 0; f < CUDA_FINISHES; f++)
        if (f < to.n_finishes && !(f == 0 && with.z_is_x))
            bring_pixels<FULL>(
                find_place(to.finishes[f].z, to.finishes[f].z_image, to.pitch, width, s), s, with,
                1 + f);
}

/* Of a tensor that has arrived. */
static __device__ __forceinline__ void read_company(const company &with, int tensor,
                                                    uint32_t v[DEPTH_PATCH])
{
    const uint32_t *words = with.words + tensor * DEPTH_PATCH * with.step;

#pragma unroll
    for (int p = 0; p < DEPTH_PATCH; p++)
        v[p] = words[p * with.step];
}

/* Times the slope of an activation at x = act(norm(..)), and zero where there is no pixel. CAPPED: x ends at 6. */
template <bool FULL, bool CAPPED>
static __device__ __forceinline__ void slope_patch(float low, const patch &s,
                                                   const depth_pair x[DEPTH_PATCH],
                                                   depth_pair dx[DEPTH_PATCH])
{
#pragma unroll
    for (int p = 0; p < DEPTH_PATCH; p++) {
        const bool is = has_pixel<FULL>(s, p);
        dx[p].a = is && x[p].a > low && (!CAPPED || x[p].a < 6) ? dx[p].a : 0;
        dx[p].b = is && x[p].b > low && (!CAPPED || x[p].b < 6) ? dx[p].b : 0;
    }
}

/* Gradients of a patch, which are zero where there is no pixel: their sums, with what belongs to them; raw_x is x as it lies
 * in memory. */
static __device__ __forceinline__ void count_patch(const cuda_result &to, const company &with,
                                                   const uint32_t raw_x[DEPTH_PATCH],
                                                   const depth_pair v[DEPTH_PATCH],
                                                   cuda_tally<2> *tally)
{
    if (to.n_finishes == 0) return;
#pragma unroll
    for (int p = 0; p < DEPTH_PATCH; p++) {
        tally->u[0] += v[p].a;
        tally->u[1] += v[p].b;
    }
#pragma unroll
    for (int f = 0; f < CUDA_FINISHES; f++) {
        uint32_t z[DEPTH_PATCH];
        if (f >= to.n_finishes) break;
        if (f == 0 && with.z_is_x)
#pragma unroll
            for (int p = 0; p < DEPTH_PATCH; p++)
                z[p] = raw_x[p];
        else
            read_company(with, 1 + f, z);
#pragma unroll
        for (int p = 0; p < DEPTH_PATCH; p++) {
            tally->product[f][0] += v[p].a * cuda_low(z[p]);
            tally->product[f][1] += v[p].b * cuda_high(z[p]);
        }
    }
}

/* Writes the gradients of a patch after what belongs to them. */
template <bool FULL>
static __device__ __forceinline__ void write_patch(const cuda_level_conv &j, const patch &s,
                                                   const company &with,
                                                   const depth_pair x[DEPTH_PATCH],
                                                   depth_pair dx[DEPTH_PATCH])
{
    const place to = find_place(j.to.data, j.to.image, j.to.pitch, j.in.w, s);

    if (j.x.act == PADA_ACT_RELU6)
        slope_patch<FULL, true>(0, s, x, dx);
    else
        slope_patch<FULL, false>(depth_low(j.x.act), s, x, dx);
    if (j.to.accumulate) {
        uint32_t there[DEPTH_PATCH];
        read_company(with, 0, there);
#pragma unroll
        for (int p = 0; p < DEPTH_PATCH; p++) {
            dx[p].a += cuda_low(there[p]);
            dx[p].b += cuda_high(there[p]);
        }
    }
#pragma unroll
    for (int p = 0; p < DEPTH_PATCH; p++)
        if (has_pixel<FULL>(s, p)) *find_pixel(to, p) = cuda_pair(dx[p].a, dx[p].b);
}

#endif
