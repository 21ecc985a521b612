/* cpu_wino_forward.c - forward on tiles of 2 rows by 4 columns, or 2x2.
 *
 * `points` (6 or 4) is known to the compiler in all functions below the last one. */
#include "backend/cpu/cpu_wino.h"

/* One convolution of a group, after its x has been transformed. */
typedef struct strips {
    int in_blocks, in_last; /* channels in the last block */
    int h, w, tiles;        /* tiles of a row */
    int64_t row, strip;     /* floats of a row of tiles, of a strip */
} strips;

/* All of act(x) of one image, strip by strip; `ring` holds the last four rows. */
INLINE void transform_image(const strips *g, pada_act act, const float *x, float *to, float *ring,
                            const int points)
{
    const int64_t row = g->row, plane = (int64_t)g->h * g->w * VW;

    for (int b = 0; b < g->in_blocks; b++, x += plane) {
        memset(ring + 3 * row, 0, (size_t)row * sizeof *ring); /* the row above the image */
        for (int s = 0; 2 * s < g->h; s++) {
            /* Rows 2s-1 .. 2s+2; the first is the third of the strip before. Row r is kept in place
             * r & 3. */
            for (int r = s == 0 ? 0 : 2 * s + 1; r <= 2 * s + 2; r++) {
                float *in_ring = ring + (r & 3) * row;
                if (r < g->h)
                    transform_row(x + (int64_t)r * g->w * VW, g->w, act, in_ring, points);
                else
                    memset(in_ring, 0, (size_t)row * sizeof *ring);
            }
            float *v = to + s * g->strip + b * LEVELS * row;
            for (int64_t i = 0; i < row; i += VW) {
                vec d[LEVELS], levels[LEVELS];
                for (int k = 0; k < LEVELS; k++)
                    d[k] = vload(ring + ((2 * s + 3 + k) & 3) * row + i);
                input_levels(d, levels);
                for (int k = 0; k < LEVELS; k++)
                    vstore(v + k * row + i, levels[k]);
            }
        }
    }
}

enum { MOST_TILES = VW == 16 ? 4 : 2 }; /* in registers at once */

typedef vec accumulators[MOST_TILES][POINTS];

/* clang-format off */
#define EACH_ACC                                                         \
    _Pragma("GCC unroll 4") for (int t = 0; t < n_strips * n_tiles; t++) \
        _Pragma("GCC unroll 6") for (int p = 0; p < points; p++)
/* clang-format on */

/* acc += U V for one level and the first `lanes` channels of a block. */
INLINE void level_block(const strips *g, const float *v, const float *u, accumulators acc,
                        const int lanes, const int n_strips, const int n_tiles, const int points)
{
    const float *second = v + (n_strips > 1 ? g->strip : 0);

    for (int i = 0; i < lanes; i++, u += points * VW) {
        vec k[POINTS];
#pragma GCC unroll 6
        for (int p = 0; p < points; p++)
            k[p] = vload(u + p * VW);
        EACH_ACC
        {
            const float *from = (t < n_tiles ? v : second) + (t % n_tiles * points + p) * VW;
            acc[t][p] = vfma(k[p], vset(from[i]), acc[t][p]);
        }
    }
}

/* The same for n_strips x n_tiles tiles and all channels. The compiler knows the lanes of whole blocks. */
INLINE void level_product(const strips *g, const float *v, const float *u, accumulators acc,
                          const int n_strips, const int n_tiles, const int points)
{
    const int whole = g->in_last == VW ? g->in_blocks : g->in_blocks - 1;

    for (int b = 0; b < whole; b++, v += LEVELS * g->row, u += VW * points * VW)
        level_block(g, v, u, acc, VW, n_strips, n_tiles, points);
    if (whole < g->in_blocks) level_block(g, v, u, acc, g->in_last, n_strips, n_tiles, points);
}

/* One output row of every tile. */
INLINE void store_rows(const strips *g, accumulators acc, vec bias, float *z, int h, int w,
                       const int n_strips, const int n_tiles, const int points)
{
    const int step = points - 2;

#pragma GCC unroll 4
    for (int t = 0; t < n_strips * n_tiles; t++) {
        const int row = h + t / n_tiles * 2, column = w + t % n_tiles * step;
        float *to = z + ((int64_t)row * g->w + column) * VW;
        vec y[STEP];
        if (points == POINTS)
            output_points(acc[t], y);
        else
            output_levels(acc[t], y);
        for (int k = 0; k < step && row < g->h; k++)
            if (column + k < g->w) vstore(to + k * VW, vadd(y[k], bias));
    }
}

/* n_strips x n_tiles tiles of one block of output channels, from the products m of the four levels:
 * y0 = m0 + (m1 + m2), y1 = m3 + (m1 - m2). */
INLINE void forward_block(const strips *g, const float *v, const float *u, vec bias, float *z,
                          int h, int w, const int n_strips, const int n_tiles, const int points)
{
    const int64_t level = (int64_t)g->in_blocks * VW * points * VW;
    float saved[MOST_TILES][POINTS][VW] __attribute__((aligned(64)));
    accumulators acc;

    EACH_ACC acc[t][p] = vzero();
    level_product(g, v + g->row, u + level, acc, n_strips, n_tiles, points);
    EACH_ACC
    {
        vstore(saved[t][p], acc[t][p]);
        acc[t][p] = vzero();
    }
    level_product(g, v + 2 * g->row, u + 2 * level, acc, n_strips, n_tiles, points);
    EACH_ACC
    {
        const vec m1 = vload(saved[t][p]);
        vstore(saved[t][p], vsub(m1, acc[t][p]));
        acc[t][p] = vadd(m1, acc[t][p]);
    }
    level_product(g, v, u, acc, n_strips, n_tiles, points);
    store_rows(g, acc, bias, z, h, w, n_strips, n_tiles, points);
    EACH_ACC acc[t][p] = vload(saved[t][p]);
    level_product(g, v + 3 * g->row, u + 3 * level, acc, n_strips, n_tiles, points);
    store_rows(g, acc, bias, z, h + 1, w, n_strips, n_tiles, points);
}

/* One image and one block of output channels. */
INLINE void forward_image(const strips *g, const float *v, const float *u, vec bias, float *z,
                          const int points)
{
    const int n_strips = (g->h + 1) / 2, step = points - 2;
    const int64_t tile = points * VW;
    int s = 0;

    if (g->tiles % MOST_TILES == MOST_TILES / 2) /* narrow images: two strips at a time */
        for (; s + 2 <= n_strips; s += 2)
            for (int t = 0; t < g->tiles; t += MOST_TILES / 2)
                forward_block(g, v + s * g->strip + t * tile, u, bias, z, 2 * s, t * step, 2,
                              MOST_TILES / 2, points);
    for (; s < n_strips; s++) {
        int t = 0;
        for (; t + MOST_TILES <= g->tiles; t += MOST_TILES)
            forward_block(g, v + s * g->strip + t * tile, u, bias, z, 2 * s, t * step, 1,
                          MOST_TILES, points);
        for (; t < g->tiles; t++)
            forward_block(g, v + s * g->strip + t * tile, u, bias, z, 2 * s, t * step, 1, 1,
                          points);
    }
}

INLINE void forward(const cpu_conv_job *job, const int points)
{
    const int in_blocks = blocks(job->in.c), step = points - 2;
    const int64_t row = forward_row_floats(job->in.w, points);
    const strips g = {.in_blocks = in_blocks,
                      .in_last = last_lanes(job->in.c),
                      .h = job->in.h,
                      .w = job->in.w,
                      .tiles = (job->in.w + step - 1) / step,
                      .row = row,
                      .strip = in_blocks * LEVELS * row};
    const int64_t image = strips_floats(job->conv, job->in, points);
    const int64_t plane = (int64_t)g.h * g.w * VW;
    const int64_t weights = (int64_t)LEVELS * in_blocks * VW * points * VW;
    float *ring = job->scratch + job->n_images * image;

    for (int n = 0; n < job->n_images && !job->same_x; n++)
        transform_image(&g, job->conv->act, job->x.data + n * job->x.stride,
                        job->scratch + n * image, ring, points);
    for (int o = 0; o < blocks(job->out.c); o++) {
        const vec bias = load_channels(job->bias, job->out.c, o);
        for (int n = 0; n < job->n_images; n++)
            forward_image(&g, job->scratch + n * image, job->weight + o * weights, bias,
                          job->z.data + n * job->z.stride + o * plane, points);
    }
}

void PADA_ISA(pada_cpu_wino_forward)(const cpu_conv_job *job)
{
    if (forward_points(job->conv) == POINTS)
        forward(job, POINTS);
    else
        forward(job, LEVELS);
}
