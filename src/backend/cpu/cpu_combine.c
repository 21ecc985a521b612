/* cpu_combine.c - sums of terms and their gradients, batch-norm sums, and global average pooling.
 */
#include "backend/cpu/cpu_isa.h"
#include "backend/cpu/cpu_prepare.h"

static int64_t plane_floats(pada_shape shape)
{
    return (int64_t)shape.h * shape.w * VW;
}

/* ---- pooling ---- */

/* Pixels of a window of three around i that lie inside [0, n). */
static int inside(int i, int n)
{
    return 1 + (i > 0) + (i + 1 < n);
}

/* One over the pixels of the 3x3 window around (row, column), for columns inside and at the edge.
 */
typedef struct window_scale {
    vec inner, edge;
} window_scale;

static window_scale make_scale(int row, int h, int w)
{
    const int rows = inside(row, h);
    return (window_scale){vset(1.0f / (float)(3 * rows)),
                          vset(1.0f / (float)(inside(0, w) * rows))};
}

/* Sums of three neighbours along a row; `scale`, if given, is applied to the pixels first. */
static void box_row(const float *x, int w, const window_scale *scale, float *to)
{
    vec left = vzero(), here = vload(x);

    if (scale) here = vmul(here, scale->edge);
    for (int i = 0; i < w; i++) {
        vec right = i + 1 < w ? vload(x + (i + 1) * VW) : vzero();
        if (scale) right = vmul(right, i + 2 < w ? scale->inner : scale->edge);
        vstore(to + i * VW, vadd(vadd(left, here), right));
        left = here;
        here = right;
    }
}

/* y (+)= 3x3 average of x (stride 1, pad 1), or its transpose: forward the sum of a window is
 * scaled, backward every pixel is, by its own window. `ring` holds three rows of sums. */
static void pool3(const float *x, int h, int w, bool backward, bool accumulate, float *y,
                  float *ring)
{
    const int64_t row = (int64_t)w * VW;

    for (int i = -1; i < h; i++) {
        if (i + 1 < h) {
            const window_scale next = make_scale(i + 1, h, w);
            box_row(x + (i + 1) * row, w, backward ? &next : NULL, ring + (i + 1) % 3 * row);
        }
        if (i < 0) continue;
        const float *above = ring + (i + 2) % 3 * row, *here = ring + i % 3 * row;
        const float *below = ring + (i + 1) % 3 * row;
        const window_scale scale = make_scale(i, h, w);
        float *to = y + i * row;
        for (int k = 0; k < w; k++) {
            vec sum = vload(here + k * VW);
            if (i > 0) sum = vadd(sum, vload(above + k * VW));
            if (i + 1 < h) sum = vadd(sum, vload(below + k * VW));
            if (!backward) sum = vmul(sum, k > 0 && k + 1 < w ? scale.inner : scale.edge);
            vstore(to + k * VW, accumulate ? vadd(vload(to + k * VW), sum) : sum);
        }
    }
}

static void window(int o, int n, const pada_pool *pool, int *first, int *end)
{
    *first = o * pool->stride - pool->pad;
    *end = *first + pool->kernel;
    if (*first < 0) *first = 0;
    if (*end > n) *end = n;
}

/* Any pooling of one channel block: y (+)= pool(x), or x += its transpose applied to y. */
static void pool_any(const pada_pool *pool, pada_shape in, pada_shape out, float *x, float *y,
                     bool backward, bool accumulate)
{
    for (int h = 0; h < out.h; h++)
        for (int w = 0; w < out.w; w++) {
            int h0, h1, w0, w1;
            window(h, in.h, pool, &h0, &h1);
            window(w, in.w, pool, &w0, &w1);
            const vec scale = vset(1.0f / (float)((h1 - h0) * (w1 - w0)));
            float *to = y + ((int64_t)h * out.w + w) * VW;
            const vec d = vmul(scale, vload(to));
            vec sum = vzero();
            for (int i = h0; i < h1; i++)
                for (int j = w0; j < w1; j++) {
                    float *p = x + ((int64_t)i * in.w + j) * VW;
                    if (backward)
                        vstore(p, vadd(vload(p), d));
                    else
                        sum = vadd(sum, vload(p));
                }
            if (!backward) vstore(to, accumulate ? vfma(scale, sum, vload(to)) : vmul(scale, sum));
        }
}

static bool is_pool3(const pada_pool *pool)
{
    return pool->kernel == 3 && pool->stride == 1 && pool->pad == 1;
}

/* One term over all channel blocks of one image. */
static void pool_image(const pada_pool *pool, pada_shape in, pada_shape out, float *x, float *y,
                       bool backward, bool accumulate, float *scratch)
{
    const int64_t from = plane_floats(in), to = plane_floats(out);

    if (backward && !accumulate && !is_pool3(pool))
        memset(x, 0, (size_t)(blocks(in.c) * from) * sizeof *x);
    for (int b = 0; b < blocks(in.c); b++, x += from, y += to) {
        if (!is_pool3(pool))
            pool_any(pool, in, out, x, y, backward, accumulate);
        else if (backward)
            pool3(y, in.h, in.w, true, accumulate, x, scratch);
        else
            pool3(x, in.h, in.w, false, accumulate, y, scratch);
    }
}

/* ---- sums ---- */

/* The pointwise terms of one image: identities and batch norms. */
typedef struct pointwise {
    const float *plain[CPU_MAX_TERMS];
    const float *norm[CPU_MAX_TERMS], *mean[CPU_MAX_TERMS], *factor[CPU_MAX_TERMS];
    const float *shift[CPU_MAX_TERMS];
    int n_plain, n_norm, n_shift;
} pointwise;

/* y = sum of one channel block, with the numbers of terms known to the compiler. */
INLINE void sum_block(const pointwise *p, int channels, int b, int64_t plane, float *y,
                      const int n_norm, const int n_plain)
{
    const int64_t at = b * plane;
    vec mean[CPU_MAX_TERMS], factor[CPU_MAX_TERMS], shift = vzero();

    for (int k = 0; k < n_norm; k++) {
        mean[k] = vload(p->mean[k] + b * VW);
        factor[k] = vload(p->factor[k] + b * VW);
    }
    for (int k = 0; k < p->n_shift; k++)
        shift = vadd(shift, load_channels(p->shift[k], channels, b));
    for (int64_t i = at; i < at + plane; i += VW) {
        vec sum = shift;
        for (int k = 0; k < n_plain; k++)
            sum = vadd(sum, vload(p->plain[k] + i));
        for (int k = 0; k < n_norm; k++)
            sum = vfma(vsub(vload(p->norm[k] + i), mean[k]), factor[k], sum);
        vstore(y + i, sum);
    }
}

static void sum_pointwise(const pointwise *p, pada_shape shape, float *y)
{
    const int64_t plane = plane_floats(shape);

    for (int b = 0; b < blocks(shape.c); b++) {
        switch (p->n_norm * 100 + p->n_plain) {
        case 1: sum_block(p, shape.c, b, plane, y, 0, 1); break;
        case 2: sum_block(p, shape.c, b, plane, y, 0, 2); break;
        case 100: sum_block(p, shape.c, b, plane, y, 1, 0); break;
        case 101: sum_block(p, shape.c, b, plane, y, 1, 1); break;
        case 102: sum_block(p, shape.c, b, plane, y, 1, 2); break;
        case 200: sum_block(p, shape.c, b, plane, y, 2, 0); break;
        case 201: sum_block(p, shape.c, b, plane, y, 2, 1); break;
        case 300: sum_block(p, shape.c, b, plane, y, 3, 0); break;
        default: sum_block(p, shape.c, b, plane, y, p->n_norm, p->n_plain); break;
        }
    }
}

void PADA_ISA(pada_cpu_combine)(const cpu_term *terms, int n_terms, pada_shape shape, int n_images,
                                cpu_tensor y, float *scratch)
{
    for (int n = 0; n < n_images; n++) {
        float *to = y.data + n * y.stride;
        pointwise p = {.n_plain = 0};
        for (int k = 0; k < n_terms; k++) {
            const float *x = terms[k].x.data + n * terms[k].x.stride;
            if (terms[k].kind == PADA_TERM_IDENTITY) {
                p.plain[p.n_plain++] = x;
            } else if (terms[k].kind == PADA_TERM_BATCHNORM) {
                p.norm[p.n_norm] = x;
                p.mean[p.n_norm] = terms[k].mean;
                p.factor[p.n_norm++] = terms[k].factor;
                if (terms[k].shift) p.shift[p.n_shift++] = terms[k].shift;
            }
        }
        bool started = p.n_plain + p.n_norm > 0;
        if (started) sum_pointwise(&p, shape, to);
        for (int k = 0; k < n_terms; k++) {
            if (terms[k].kind != PADA_TERM_AVGPOOL) continue;
            pool_image(&terms[k].pool, terms[k].in, shape, terms[k].x.data + n * terms[k].x.stride,
                       to, false, started, scratch);
            started = true;
        }
    }
}

void PADA_ISA(pada_cpu_combine_grad)(const cpu_term *terms, int n_terms, pada_shape shape,
                                     int n_images, cpu_tensor dy, float *scratch)
{
    const int64_t plane = plane_floats(shape);

    for (int n = 0; n < n_images; n++)
        for (int k = 0; k < n_terms; k++) {
            const cpu_term *t = &terms[k];
            float *d = dy.data + n * dy.stride, *dx = t->dx.data + n * t->dx.stride;
            if (t->kind == PADA_TERM_AVGPOOL) {
                pool_image(&t->pool, t->in, shape, dx, d, true, t->accumulate, scratch);
                continue;
            }
            for (int b = 0; b < blocks(shape.c); b++) {
                const bool norm = t->kind == PADA_TERM_BATCHNORM;
                const float *x = norm ? t->x.data + n * t->x.stride : d;
                norm_coef c = {vset(1.0f), vzero(), vzero()};
                if (norm) c = load_coef(t->coef, shape.c, b);
                for (int64_t i = b * plane; i < (b + 1) * plane; i += VW) {
                    const vec g = norm ? norm_grad(c, vload(d + i), vload(x + i)) : vload(d + i);
                    vstore(dx + i, t->accumulate ? vadd(vload(dx + i), g) : g);
                }
            }
        }
}

/* ---- one number per channel ---- */

void PADA_ISA(pada_cpu_spread)(const float *values, pada_shape shape, float *y)
{
    const int64_t plane = plane_floats(shape);

    for (int b = 0; b < blocks(shape.c); b++) {
        const vec v = load_channels(values, shape.c, b);
        for (int64_t i = 0; i < plane; i += VW)
            vstore(y + b * plane + i, v);
    }
}

void PADA_ISA(pada_cpu_add_pixels)(const float *x, pada_shape shape, float *sums)
{
    const int64_t plane = plane_floats(shape);

    for (int b = 0; b < blocks(shape.c); b++) {
        vec sum = vzero();
        for (int64_t i = 0; i < plane; i += VW)
            sum = vadd(sum, vload(x + b * plane + i));
        vstore(sums + b * VW, vadd(vload(sums + b * VW), sum));
    }
}

/* ---- reductions over an image ---- */

void PADA_ISA(pada_cpu_moments)(const float *x, pada_shape shape, float *partial)
{
    const int64_t plane = plane_floats(shape), vectors = channel_floats(shape.c);

    for (int b = 0; b < blocks(shape.c); b++, x += plane, partial += VW) {
        /* Sums around a value of the channel itself: no cancellation when the mean is large. */
        const vec shift = vload(x);
        vec sum[4] = {vzero(), vzero(), vzero(), vzero()},
            squares[4] = {vzero(), vzero(), vzero(), vzero()};
        int64_t i = 0;
        for (; i + 4 * VW <= plane; i += 4 * VW)
#pragma GCC unroll 4
            for (int k = 0; k < 4; k++) {
                const vec d = vsub(vload(x + i + k * VW), shift);
                sum[k] = vadd(sum[k], d);
                squares[k] = vfma(d, d, squares[k]);
            }
        for (; i < plane; i += VW) {
            const vec d = vsub(vload(x + i), shift);
            sum[0] = vadd(sum[0], d);
            squares[0] = vfma(d, d, squares[0]);
        }
        vstore(partial, shift);
        vstore(partial + vectors, vadd(vadd(sum[0], sum[1]), vadd(sum[2], sum[3])));
        vstore(partial + 2 * vectors,
               vadd(vadd(squares[0], squares[1]), vadd(squares[2], squares[3])));
    }
}

INLINE void norm_sums_block(const float *dy, const float *const *x, const float *const *mean, int b,
                            int64_t plane, int64_t vectors, float *partial, const int n)
{
    vec sum[2] = {vzero(), vzero()}, products[CPU_MAX_TERMS][2], m[CPU_MAX_TERMS];
    int64_t i = b * plane;
    const int64_t end = i + plane;

    for (int k = 0; k < n; k++) {
        products[k][0] = products[k][1] = vzero();
        m[k] = vload(mean[k] + b * VW);
    }
    for (; i + 2 * VW <= end; i += 2 * VW)
#pragma GCC unroll 2
        for (int u = 0; u < 2; u++) {
            const vec d = vload(dy + i + u * VW);
            sum[u] = vadd(sum[u], d);
            for (int k = 0; k < n; k++)
                products[k][u] = vfma(d, vsub(vload(x[k] + i + u * VW), m[k]), products[k][u]);
        }
    if (i < end) {
        const vec d = vload(dy + i);
        sum[0] = vadd(sum[0], d);
        for (int k = 0; k < n; k++)
            products[k][0] = vfma(d, vsub(vload(x[k] + i), m[k]), products[k][0]);
    }
    vstore(partial + b * VW, vadd(sum[0], sum[1]));
    for (int k = 0; k < n; k++)
        vstore(partial + (k + 1) * vectors + b * VW, vadd(products[k][0], products[k][1]));
}

void PADA_ISA(pada_cpu_norm_sums)(const float *dy, const float *const *x, const float *const *mean,
                                  int n, pada_shape shape, float *partial)
{
    const int64_t plane = plane_floats(shape), vectors = channel_floats(shape.c);

    for (int b = 0; b < blocks(shape.c); b++) {
        switch (n) {
        case 1: norm_sums_block(dy, x, mean, b, plane, vectors, partial, 1); break;
        case 2: norm_sums_block(dy, x, mean, b, plane, vectors, partial, 2); break;
        case 3: norm_sums_block(dy, x, mean, b, plane, vectors, partial, 3); break;
        default: norm_sums_block(dy, x, mean, b, plane, vectors, partial, n); break;
        }
    }
}

void PADA_ISA(pada_cpu_gap)(const float *x, pada_shape shape, pada_act act, float *features)
{
    const int64_t plane = plane_floats(shape);
    const vec scale = vset(1.0f / (float)(shape.h * shape.w));

    for (int b = 0; b < blocks(shape.c); b++, x += plane) {
        vec sum = vzero();
        for (int64_t i = 0; i < plane; i += VW)
            sum = vadd(sum, activate(act, vload(x + i)));
        vstore(features + b * VW, vmul(scale, sum));
    }
}

void PADA_ISA(pada_cpu_gap_grad)(const float *x, pada_shape shape, pada_act act,
                                 const float *grad_features, bool accumulate, float *dx)
{
    const int64_t plane = plane_floats(shape);
    const vec scale = vset(1.0f / (float)(shape.h * shape.w));

    for (int b = 0; b < blocks(shape.c); b++, x += plane, dx += plane) {
        const vec g = vmul(scale, vload(grad_features + b * VW));
        for (int64_t i = 0; i < plane; i += VW) {
            const vec d = activate_grad(act, vload(x + i), g);
            vstore(dx + i, accumulate ? vadd(vload(dx + i), d) : d);
        }
    }
}
