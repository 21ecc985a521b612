/* cpu_wino.h - 3x3 convolutions, stride 1, pad 1, by Winograd's minimal filtering: points,
 * transforms, sizes.
 *
 * F(4,3) computes four neighbouring outputs of a 3-tap filter with six multiplications instead of
 * twelve:
 *
 *   y = A^T [ (G g) . (B^T d) ]        d: six inputs, g: three taps, y: four outputs
 *
 * here with the points 0, +-5/8, +-3/2 and infinity; F(2,3) computes two outputs with four
 * multiplications instead of six, with the points 0, +-1 and infinity, and is more accurate. Larger
 * tiles save more and round more. Forward, where rounding flips activations near zero, tiles are 2
 * rows by 4 columns, F(2,3) down and F(4,3) across, or 2x2 where there are few channels, which are
 * the early layers that all others depend on: a third or 4/9 of the multiplications. Backward,
 * where rounding does no harm, they are 4x4: a quarter (docs/design/0003-winograd.md has the
 * measurements). Backward is the exact adjoint:
 *
 *   V = B^T x B     dU[p] += V[p] dM[p]      dW = G^T dU G
 *   dM = A dz A^T   dV[p] = U[p]^T dM[p]     dx = B dV B^T
 *
 * for each of the 36 points p, the middle two being small matrix products over the tiles of a group
 * of images. */
#ifndef PADA_BACKEND_CPU_CPU_WINO_H
#define PADA_BACKEND_CPU_CPU_WINO_H

#include "backend/cpu/cpu_prepare.h"

enum {
    POINTS = 6, /* of F(4,3) */
    STEP = 4,
    LEVELS = 4, /* points of F(2,3) */
    POINTS2 = POINTS * POINTS,
    RING = 8 /* rows in points that a transform keeps; a power of two */
};

#define PA   0.625f      /* a = 5/8 */
#define PB   1.5f        /* b = 3/2 */
#define PA2  0.390625f   /* a^2 */
#define PB2  2.25f       /* b^2 */
#define PAB2 0.87890625f /* a^2 b^2 */
#define PSUM 2.640625f   /* a^2 + b^2 */

/* v = B^T d of F(2,3), with the sign of the last point turned round so that the outputs are sums.
 */
INLINE void input_levels(const vec *d, vec *v)
{
    const vec d0 = d[0], d1 = d[1], d2 = d[2], d3 = d[3];

    v[0] = vsub(d0, d2);
    v[1] = vadd(d1, d2);
    v[2] = vsub(d2, d1);
    v[3] = vsub(d3, d1);
}

/* y = A^T m of F(2,3). */
INLINE void output_levels(const vec *m, vec *y)
{
    y[0] = vadd(m[0], vadd(m[1], m[2]));
    y[1] = vadd(m[3], vsub(m[1], m[2]));
}

/* v = B^T d of F(4,3); d and v are `stride` vectors apart. */
INLINE void input_points(const vec *d, vec *v, const int stride)
{
    const vec d0 = d[0], d1 = d[stride], d2 = d[2 * stride], d3 = d[3 * stride], d4 = d[4 * stride],
              d5 = d[5 * stride];
    const vec even_a = vfnma(vset(PB2), d2, d4), odd_a = vfnma(vset(PB2), d1, d3);
    const vec even_b = vfnma(vset(PA2), d2, d4), odd_b = vfnma(vset(PA2), d1, d3);

    v[0] = vfma(vset(PAB2), d0, vfnma(vset(PSUM), d2, d4));
    v[stride] = vfma(vset(PA), odd_a, even_a);
    v[2 * stride] = vfnma(vset(PA), odd_a, even_a);
    v[3 * stride] = vfma(vset(PB), odd_b, even_b);
    v[4 * stride] = vfnma(vset(PB), odd_b, even_b);
    v[5 * stride] = vfma(vset(PAB2), d1, vfnma(vset(PSUM), d3, d5));
}

/* d = B v, the transpose of input_points. */
INLINE void input_points_adjoint(const vec *v, vec *d, const int stride)
{
    const vec sum_a = vadd(v[stride], v[2 * stride]),
              diff_a = vmul(vset(PA), vsub(v[stride], v[2 * stride]));
    const vec sum_b = vadd(v[3 * stride], v[4 * stride]),
              diff_b = vmul(vset(PB), vsub(v[3 * stride], v[4 * stride]));
    const vec v0 = v[0], v5 = v[5 * stride];

    d[0] = vmul(vset(PAB2), v0);
    d[stride] = vfnma(vset(PA2), diff_b, vfnma(vset(PB2), diff_a, vmul(vset(PAB2), v5)));
    d[2 * stride] = vfnma(vset(PA2), sum_b, vfnma(vset(PB2), sum_a, vmul(vset(-PSUM), v0)));
    d[3 * stride] = vfnma(vset(PSUM), v5, vadd(diff_a, diff_b));
    d[4 * stride] = vadd(v0, vadd(sum_a, sum_b));
    d[5 * stride] = v5;
}

/* y = A^T m: six points to four outputs. */
INLINE void output_points(const vec *m, vec *y)
{
    const vec sum_a = vadd(m[1], m[2]), diff_a = vmul(vset(PA), vsub(m[1], m[2]));
    const vec sum_b = vadd(m[3], m[4]), diff_b = vmul(vset(PB), vsub(m[3], m[4]));

    y[0] = vadd(m[0], vadd(sum_a, sum_b));
    y[1] = vadd(diff_a, diff_b);
    y[2] = vfma(vset(PA2), sum_a, vmul(vset(PB2), sum_b));
    y[3] = vfma(vset(PA2), diff_a, vfma(vset(PB2), diff_b, m[5]));
}

/* m = A y, the transpose of output_points. */
INLINE void output_points_adjoint(const vec *y, vec *m, const int y_stride, const int m_stride)
{
    const vec y0 = y[0], y1 = y[y_stride], y2 = y[2 * y_stride], y3 = y[3 * y_stride];
    const vec even_a = vfma(vset(PA2), y2, y0), odd_a = vfma(vset(PA2), y3, y1);
    const vec even_b = vfma(vset(PB2), y2, y0), odd_b = vfma(vset(PB2), y3, y1);

    m[0] = y0;
    m[m_stride] = vfma(vset(PA), odd_a, even_a);
    m[2 * m_stride] = vfnma(vset(PA), odd_a, even_a);
    m[3 * m_stride] = vfma(vset(PB), odd_b, even_b);
    m[4 * m_stride] = vfnma(vset(PB), odd_b, even_b);
    m[5 * m_stride] = y3;
}

typedef struct geometry {
    int in_blocks, out_blocks, h, w;
    int out_last;                /* channels in the last block of the output */
    int tiles_h, tiles_w;        /* of 4x4 outputs */
    int n_images, tiles;         /* of the whole group */
    int64_t in_point, out_point; /* floats from one point to the next in V or dV, and in dM */
} geometry;

INLINE geometry make_geometry(const pada_conv *conv, pada_shape in, int n_images)
{
    geometry g = {.in_blocks = blocks(conv->c_in),
                  .out_blocks = blocks(conv->c_out),
                  .h = in.h,
                  .w = in.w,
                  .out_last = last_lanes(conv->c_out)};

    g.tiles_h = (in.h + STEP - 1) / STEP;
    g.tiles_w = (in.w + STEP - 1) / STEP;
    g.n_images = n_images;
    g.tiles = n_images * g.tiles_h * g.tiles_w;
    /* One vector of air: powers of two would send all points of a tile to the same cache set. */
    g.in_point = ((int64_t)g.in_blocks * g.tiles + 1) * VW;
    g.out_point = ((int64_t)g.out_blocks * g.tiles + 1) * VW;
    return g;
}

/* Floats of one row of tiles in points. */
INLINE int64_t row_floats(const geometry *g)
{
    return (int64_t)g->tiles_w * POINTS * VW;
}

/* Forward: points of a tile across, 4 of F(2,3) or 6 of F(4,3). */
INLINE int forward_points(const pada_conv *conv)
{
    return conv->c_in <= 16 ? LEVELS : POINTS;
}

/* Forward: floats of the transformed x of one image, [strip of two
 * rows][block][level][tile][point][VW], and of one row of tiles in it. */
INLINE int64_t forward_row_floats(int w, const int points)
{
    const int step = points - 2;
    return (int64_t)((w + step - 1) / step) * points * VW;
}

INLINE int64_t strips_floats(const pada_conv *conv, pada_shape in, const int points)
{
    return (int64_t)((in.h + 1) / 2) * blocks(conv->c_in) * LEVELS *
           forward_row_floats(in.w, points);
}

/* Floats from one point to the next in packed weights (backward) and accumulators; again with a
 * vector of air. */
INLINE int64_t point_floats(const pada_conv *conv)
{
    return ((int64_t)blocks(conv->c_in) * blocks(conv->c_out) * VW + 1) * VW;
}

/* One row of act(x), w pixels, in points, tile by tile. */
INLINE void transform_row(const float *x, int w, pada_act act, float *to, const int points)
{
    const int step = points - 2;
    vec d[POINTS], v[POINTS];

    d[0] = vzero();
    d[1] = activate(act, vload(x));
    for (int first = 0; first < w; first += step, to += points * VW) {
        for (int k = 2; k < points; k++) {
            const int column = first + k - 1;
            d[k] = column < w ? activate(act, vload(x + column * VW)) : vzero();
        }
        if (points == POINTS)
            input_points(d, v, 1);
        else
            input_levels(d, v);
        for (int k = 0; k < points; k++)
            vstore(to + k * VW, v[k]);
        d[0] = d[step];
        d[1] = d[step + 1];
    }
}

/* The two directions; contracts in cpu_kernels.h. */
void PADA_ISA(pada_cpu_wino_forward)(const cpu_conv_job *job);
void PADA_ISA(pada_cpu_wino_backward)(const cpu_conv_job *job);

#endif
