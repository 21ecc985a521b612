/* cpu_wino_backward.c - backward on tiles of 4x4, F(4,3) both ways: transforms and the products at
 * 36 points. */
#include "backend/cpu/cpu_tile.h"
#include "backend/cpu/cpu_wino.h"

/* All three transforms go through a ring of rows in points, so that memory is read and written row
 * by row. */
static float *ring_row(const geometry *g, float *ring, int row)
{
    return ring + (row & (RING - 1)) * row_floats(g);
}

/* V = B^T act(x) B of one block of one image, whose first tile is `v`. */
static void transform_x(const geometry *g, pada_act act, const float *x, float *v, float *ring)
{
    memset(ring_row(g, ring, -1), 0, (size_t)row_floats(g) * sizeof *ring);
    for (int th = 0; th < g->tiles_h; th++) {
        const int first = th * STEP - 1;
        for (int r = th == 0 ? 0 : first + 2; r < first + POINTS; r++) {
            if (r < g->h)
                transform_row(x + (int64_t)r * g->w * VW, g->w, act, ring_row(g, ring, r), POINTS);
            else
                memset(ring_row(g, ring, r), 0, (size_t)row_floats(g) * sizeof *ring);
        }
        for (int tw = 0; tw < g->tiles_w; tw++, v += VW)
            for (int j = 0; j < POINTS; j++) {
                vec d[POINTS], points[POINTS];
                for (int i = 0; i < POINTS; i++)
                    d[i] = vload(ring_row(g, ring, first + i) + (tw * POINTS + j) * VW);
                input_points(d, points, 1);
                for (int i = 0; i < POINTS; i++)
                    vstore(v + (i * POINTS + j) * g->in_point, points[i]);
            }
    }
}

/* One row of dz in points; its sum is added to *sum. z is NULL where dz = dy. */
INLINE void transform_dz_row(const geometry *g, const float *dy, const float *z, norm_coef coef,
                             float *to, vec *sum)
{
    for (int t = 0; t < g->tiles_w; t++, to += POINTS * VW) {
        vec d[STEP], m[POINTS];
        for (int k = 0; k < STEP; k++) {
            const int at = (t * STEP + k) * VW;
            d[k] = vzero();
            if (t * STEP + k < g->w)
                d[k] = z ? norm_grad(coef, vload(dy + at), vload(z + at)) : vload(dy + at);
            *sum = vadd(*sum, d[k]);
        }
        output_points_adjoint(d, m, 1, 1);
        for (int k = 0; k < POINTS; k++)
            vstore(to + k * VW, m[k]);
    }
}

/* dM = A dz A^T of one block of one image. Returns the sum of dz. */
static vec transform_dz(const geometry *g, const float *dy, const float *z, norm_coef coef,
                        float *m, float *ring)
{
    vec sum = vzero();

    for (int th = 0; th < g->tiles_h; th++) {
        for (int r = th * STEP; r < (th + 1) * STEP; r++) {
            const int64_t at = (int64_t)r * g->w * VW;
            if (r < g->h)
                transform_dz_row(g, dy + at, z ? z + at : NULL, coef, ring_row(g, ring, r), &sum);
            else
                memset(ring_row(g, ring, r), 0, (size_t)row_floats(g) * sizeof *ring);
        }
        for (int tw = 0; tw < g->tiles_w; tw++, m += VW)
            for (int j = 0; j < POINTS; j++) {
                vec d[STEP], points[POINTS];
                for (int i = 0; i < STEP; i++)
                    d[i] = vload(ring_row(g, ring, th * STEP + i) + (tw * POINTS + j) * VW);
                output_points_adjoint(d, points, 1, 1);
                for (int i = 0; i < POINTS; i++)
                    vstore(m + (i * POINTS + j) * g->out_point, points[i]);
            }
    }
    return sum;
}

/* One row of dx from its points, through the activation. Neighbouring tiles overlap by two pixels.
 */
INLINE void store_dx_row(const geometry *g, pada_act act, bool accumulate, const float *points,
                         const float *x, float *dx)
{
    vec left0 = vzero(), left1 = vzero();

    for (int t = 0; t <= g->tiles_w; t++, points += POINTS * VW) {
        vec d[POINTS] = {vzero(), vzero(), vzero(), vzero(), vzero(), vzero()};
        if (t < g->tiles_w) {
            vec v[POINTS];
            for (int k = 0; k < POINTS; k++)
                v[k] = vload(points + k * VW);
            input_points_adjoint(v, d, 1);
        }
        d[0] = vadd(d[0], left0);
        d[1] = vadd(d[1], left1);
        left0 = d[4];
        left1 = d[5];
        for (int k = 0; k < STEP; k++) {
            const int w = t * STEP + k - 1;
            if (w < 0 || w >= g->w) continue;
            const vec grad = activate_grad(act, vload(x + w * VW), d[k]);
            vstore(dx + w * VW, accumulate ? vadd(vload(dx + w * VW), grad) : grad);
        }
    }
}

/* dx (+)= B dV B^T of one block of one image, through the activation. Tile rows overlap by two
 * rows, which are added while they are still in points. */
static void transform_dv(const geometry *g, pada_act act, bool accumulate, const float *dv,
                         const float *x, float *dx, float *ring)
{
    for (int th = 0; th < g->tiles_h; th++) {
        const int first = th * STEP - 1;
        for (int tw = 0; tw < g->tiles_w; tw++, dv += VW)
            for (int j = 0; j < POINTS; j++) {
                vec points[POINTS], d[POINTS];
                for (int i = 0; i < POINTS; i++)
                    points[i] = vload(dv + (i * POINTS + j) * g->in_point);
                input_points_adjoint(points, d, 1);
                for (int i = 0; i < POINTS; i++) {
                    float *to = ring_row(g, ring, first + i) + (tw * POINTS + j) * VW;
                    vstore(to, i < 2 && th > 0 ? vadd(vload(to), d[i]) : d[i]);
                }
            }
        const int complete = th + 1 < g->tiles_h ? first + STEP : first + STEP + 1;
        for (int r = first < 0 ? 0 : first; r < complete && r < g->h; r++)
            store_dx_row(g, act, accumulate, ring_row(g, ring, r), x + (int64_t)r * g->w * VW,
                         dx + (int64_t)r * g->w * VW);
    }
}

/* dU += V^T dM at one point: [in channel] x [out channel], summed over the tiles. */
INLINE void weights_tile(const geometry *g, const float *v, const float *m, float *acc_to, int b,
                         int i, int o, const int rows, const int columns)
{
    const int64_t block = (int64_t)g->tiles * VW, out = (int64_t)g->in_blocks * VW * VW;
    float *c = acc_to + o * out + ((int64_t)b * VW + i) * VW;
    const tile_operands p = {.a = v + b * block + i,
                             .a_row = 1,
                             .a_step = VW,
                             .b = m + o * block,
                             .b_column = block,
                             .b_step = VW,
                             .n_last = g->tiles,
                             .n_blocks = 1};
    tile acc;

    tile_load(acc, c, VW, out, rows, columns);
    tile_product(acc, &p, rows, columns);
    tile_store(acc, c, VW, out, rows, columns);
}

static void product_weights(const geometry *g, const float *v, const float *m, float *acc)
{
    enum { ROWS1 = VW < TILE_TALL ? VW : TILE_TALL, ROWS2 = VW < TILE_PAIR ? VW : TILE_PAIR };

    for (int b = 0; b < g->in_blocks; b++)
        for (int o = 0; o < g->out_blocks; o += 2) {
            if (o + 1 < g->out_blocks)
                for (int i = 0; i < VW; i += ROWS2)
                    weights_tile(g, v, m, acc, b, i, o, ROWS2, 2);
            else
                for (int i = 0; i < VW; i += ROWS1)
                    weights_tile(g, v, m, acc, b, i, o, ROWS1, 1);
        }
}

/* dV = dM U at one point: [tile] x [in channel], summed over the output channels. */
INLINE void inputs_tile(const geometry *g, const float *m, const float *u, float *dv, int b, int t,
                        const int rows, const int columns)
{
    const int64_t block = (int64_t)g->tiles * VW, in = (int64_t)g->out_blocks * VW * VW;
    const tile_operands p = {.a = m + (int64_t)t * VW,
                             .a_row = VW,
                             .a_step = 1,
                             .a_block = block,
                             .b = u + b * in,
                             .b_column = in,
                             .b_step = VW,
                             .b_block = VW * VW,
                             .n_steps = VW,
                             .n_last = g->out_last,
                             .n_blocks = g->out_blocks};
    tile acc;

    tile_fill(acc, vzero(), rows, columns);
    tile_product(acc, &p, rows, columns);
    tile_store(acc, dv + b * block + (int64_t)t * VW, VW, block, rows, columns);
}

static void product_inputs(const geometry *g, const float *m, const float *u, float *dv)
{
    for (int b = 0; b < g->in_blocks; b += 2) {
        int t = 0;
        if (b + 1 < g->in_blocks) {
            for (; t + TILE_PAIR <= g->tiles; t += TILE_PAIR)
                inputs_tile(g, m, u, dv, b, t, TILE_PAIR, 2);
            for (; t < g->tiles; t++)
                inputs_tile(g, m, u, dv, b, t, 1, 2);
        } else {
            for (; t + TILE_TALL <= g->tiles; t += TILE_TALL)
                inputs_tile(g, m, u, dv, b, t, TILE_TALL, 1);
            for (; t < g->tiles; t++)
                inputs_tile(g, m, u, dv, b, t, 1, 1);
        }
    }
}

static void transform_operands(const geometry *g, const cpu_conv_job *job, float *v, float *m,
                               float *ring)
{
    const int64_t plane = (int64_t)g->h * g->w * VW, block = (int64_t)g->tiles * VW;

    for (int n = 0; n < g->n_images; n++) {
        const float *x = job->x.data + n * job->x.stride, *dy = job->dy.data + n * job->dy.stride;
        const float *z = job->coef ? job->z.data + n * job->z.stride : NULL;
        const int64_t first = (int64_t)n * g->tiles_h * g->tiles_w * VW;
        for (int b = 0; b < g->in_blocks; b++)
            transform_x(g, job->conv->act, x + b * plane, v + b * block + first, ring);
        for (int b = 0; b < g->out_blocks; b++) {
            const norm_coef coef =
                z ? load_coef(job->coef, job->out.c, b) : (norm_coef){vzero(), vzero(), vzero()};
            const vec sum = transform_dz(g, dy + b * plane, z ? z + b * plane : NULL, coef,
                                         m + b * block + first, ring);
            if (job->grad_bias)
                vstore(job->grad_bias + b * VW, vadd(vload(job->grad_bias + b * VW), sum));
        }
    }
}

/* Scratch: [ V | dM | dV | ring ]. */
void PADA_ISA(pada_cpu_wino_backward)(const cpu_conv_job *job)
{
    const geometry g = make_geometry(job->conv, job->in, job->n_images);
    const int64_t weights = point_floats(job->conv), block = (int64_t)g.tiles * VW;
    const int64_t plane = (int64_t)g.h * g.w * VW;
    float *v = job->scratch, *m = v + POINTS2 * g.in_point, *dv = m + POINTS2 * g.out_point;
    float *ring = dv + POINTS2 * g.in_point;

    transform_operands(&g, job, v, m, ring);
    for (int p = 0; p < POINTS2; p++) {
        product_weights(&g, v + p * g.in_point, m + p * g.out_point,
                        job->grad_weight + p * weights);
        if (job->dx.data)
            product_inputs(&g, m + p * g.out_point, job->weight + p * weights, dv + p * g.in_point);
    }
    for (int n = 0; n < g.n_images && job->dx.data; n++)
        for (int b = 0; b < g.in_blocks; b++)
            transform_dv(&g, job->conv->act, job->accumulate,
                         dv + b * block + (int64_t)n * g.tiles_h * g.tiles_w * VW,
                         job->x.data + n * job->x.stride + b * plane,
                         job->dx.data + n * job->dx.stride + b * plane, ring);
}
