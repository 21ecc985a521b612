/* cpu_norm.c - batch norms between stages: from the sums of the images to statistics, and to the coefficients of
 * gradients. */
#include <math.h>
#include <string.h>

#include "backend/cpu/cpu_device.h"

static float *work_at(const pada_bindings *b, int64_t offset)
{
    return (float *)((char *)b->work + offset);
}

/* Number c of a parameter vector; `otherwise`, where there is none. */
static float param(const pada_bindings *b, int64_t offset, int c, float otherwise)
{
    return offset >= 0 ? ((const float *)b->params)[offset + c] : otherwise;
}

/* Channels whose sums over the batch are made together: the numbers of an image lie side by side. */
enum { SLICE = 32 };

/* One sum per channel and chunk of a share. */
typedef struct chunk_sums {
    double at[CPU_MAX_CHUNKS][SLICE];
} chunk_sums;

static int slice_width(int first, int channels)
{
    return channels - first < SLICE ? channels - first : SLICE;
}

/* Sums the chunks' parts as a binary tree, which processes with a half, a quarter or an eighth of
 * the chunks can build, too. The number of chunks is a power of two. */
static void tree_sum(chunk_sums *parts, const cpu_share *share, int n, double *sums)
{
    const int n_chunks = share->end_chunk - share->first_chunk;

    for (int step = 1; step < n_chunks; step *= 2)
        for (int i = 0; i < n_chunks; i += 2 * step)
            for (int c = 0; c < n; c++)
                parts->at[i][c] += parts->at[i + step][c];
    memcpy(sums, parts->at[0], (size_t)n * sizeof *sums);
}

/* What forward reads of batch norm t. Channels of padding get zeros, since zero times what other paths left there must
 * not be NaN. */
static float *clear_norm(const pada_program *q, const pada_bindings *b, int t)
{
    const int64_t vector = cpu_vector_floats(q->nodes[q->terms[t].x].shape.c);

    return memset(work_at(b, q->term_plans[t].stats), 0, (size_t)(2 * vector) * sizeof(float));
}

/* Moves running statistics towards those of the batch. */
static void keep_statistics(const pada_program *q, const pada_bindings *b, int t, int n_images,
                            const float *mean, const float *variance)
{
    const pada_norm *norm = &q->terms[t].norm;
    const pada_shape shape = q->nodes[q->terms[t].x].shape;
    const double count = (double)n_images * shape.h * shape.w, share = b->momentum;
    float *kept_mean = (float *)b->statistics + norm->mean;
    float *kept_variance = (float *)b->statistics + norm->variance;

    for (int c = 0; c < shape.c; c++) {
        const double now = pada_unbiased_variance(variance[c], count);
        kept_mean[c] = (float)((1 - share) * kept_mean[c] + share * mean[c]);
        kept_variance[c] = (float)((1 - share) * kept_variance[c] + share * now);
    }
}

/* The batch norms of value v, whose statistics are there. */
static void finish_norms(const pada_program *q, const pada_bindings *b, pada_value v, int n_images,
                         const float *variance)
{
    const int channels = q->nodes[v].shape.c;
    const int64_t vector = cpu_vector_floats(channels);
    const float *mean = work_at(b, q->node_plans[v].stats), *rstd = mean + vector;

    for (int t = 0; t < q->n_terms; t++) {
        if (q->terms[t].kind != PADA_TERM_BATCHNORM || q->terms[t].x != v ||
            pada_norm_is_fixed(q, t))
            continue;
        if (q->term_plans[t].stats != q->node_plans[v].stats) {
            float *to = clear_norm(q, b, t), *factor = to + vector;
            for (int c = 0; c < channels; c++) {
                to[c] = mean[c];
                factor[c] = rstd[c] * param(b, q->terms[t].norm.scale, c, 1);
            }
        }
        if (b->statistics && q->terms[t].norm.mean >= 0)
            keep_statistics(q, b, t, n_images, mean, variance);
    }
}

void pada_cpu_set_fixed_norms(const pada_program *q, const pada_bindings *b)
{
    const float *kept = b->statistics;

    for (int t = 0; q->fixed_norms && t < q->n_terms; t++) {
        const pada_norm *norm = &q->terms[t].norm;
        const int channels = q->nodes[q->terms[t].x].shape.c;
        if (q->terms[t].kind != PADA_TERM_BATCHNORM || !pada_norm_is_fixed(q, t)) continue;
        float *mean = clear_norm(q, b, t), *factor = mean + cpu_vector_floats(channels);
        for (int c = 0; c < channels; c++) {
            const double variance = kept[norm->variance + c];
            mean[c] = kept[norm->mean + c];
            factor[c] = (float)(param(b, norm->scale, c, 1) / sqrt(variance + q->norm_epsilon));
        }
    }
}

/* Of n channels, the sum and the spread around the mean m of what an image has, from its moments p. */
static void add_sum(double *restrict to, const float *p, int64_t vector, double pixels, int n)
{
    for (int c = 0; c < n; c++)
        to[c] += pixels * p[c] + p[vector + c];
}

static void add_spread(double *restrict to, const float *p, int64_t vector, double pixels,
                       const double *m, int n)
{
    for (int c = 0; c < n; c++) {
        const double s = p[vector + c], gap = p[c] + s / pixels - m[c];
        to[c] += p[2 * vector + c] - s * s / pixels + pixels * (gap * gap);
    }
}

/* Moments are merged in double: within a chunk in the order of the images, then by tree_sum. */
void pada_cpu_add_moments(const pada_program *q, const pada_bindings *b, const pada_instr *instr,
                          const cpu_share *share, double *sums)
{
    const pada_shape shape = q->nodes[instr->v].shape;
    const int64_t vector = cpu_vector_floats(shape.c);
    const double pixels = (double)shape.h * shape.w;
    const float *partial = work_at(b, instr->partial);

    for (int first = 0; first < shape.c; first += SLICE) {
        const int n = slice_width(first, shape.c);
        chunk_sums parts = {{{0}}};
        for (int k = share->first_chunk; k < share->end_chunk; k++)
            for (int i = cpu_share_chunk(share, k); i < cpu_share_chunk(share, k + 1); i++)
                add_sum(parts.at[k - share->first_chunk], partial + (int64_t)i * 3 * vector + first,
                        vector, pixels, n);
        tree_sum(&parts, share, n, sums + first);
    }
}

void pada_cpu_add_spreads(const pada_program *q, const pada_bindings *b, const pada_instr *instr,
                          const cpu_share *share, const double *sums, double *spreads)
{
    const pada_shape shape = q->nodes[instr->v].shape;
    const int64_t vector = cpu_vector_floats(shape.c);
    const double pixels = (double)shape.h * shape.w, count = pixels * share->n_images;
    const float *partial = work_at(b, instr->partial);

    for (int first = 0; first < shape.c; first += SLICE) {
        const int n = slice_width(first, shape.c);
        chunk_sums parts = {{{0}}};
        double m[SLICE];
        for (int c = 0; c < n; c++)
            m[c] = sums[first + c] / count;
        for (int k = share->first_chunk; k < share->end_chunk; k++)
            for (int i = cpu_share_chunk(share, k); i < cpu_share_chunk(share, k + 1); i++)
                add_spread(parts.at[k - share->first_chunk],
                           partial + (int64_t)i * 3 * vector + first, vector, pixels, m, n);
        tree_sum(&parts, share, n, spreads + first);
    }
}

/* mean and 1/deviation */
void pada_cpu_finish_moments(const pada_program *q, const pada_bindings *b, const pada_instr *instr,
                             int n_images, const double *sums, const double *spreads)
{
    const pada_shape shape = q->nodes[instr->v].shape;
    const int64_t vector = cpu_vector_floats(shape.c);
    const double count = (double)shape.h * shape.w * n_images;
    float *variances = work_at(b, instr->partial); /* nobody reads the images' sums any more */
    float *mean = work_at(b, q->node_plans[instr->v].stats), *rstd = mean + vector;

    /* Channels of padding, as in clear_norm. */
    memset(mean, 0, (size_t)(2 * vector) * sizeof *mean);
    for (int c = 0; c < shape.c; c++) {
        const double found = spreads[c] / count, variance = found < 0 ? 0 : found;
        mean[c] = (float)(sums[c] / count);
        rstd[c] = (float)(1 / sqrt(variance + q->norm_epsilon));
        variances[c] = (float)variance;
    }
    finish_norms(q, b, instr->v, n_images, variances);
}

/* The sums of a channel vector that the images have from `at` on. */
static void add_images(const float *at, int64_t image, int channels, const cpu_share *share,
                       double *sums)
{
    for (int first = 0; first < channels; first += SLICE) {
        const int n = slice_width(first, channels);
        chunk_sums parts = {{{0}}};
        for (int k = share->first_chunk; k < share->end_chunk; k++)
            for (int i = cpu_share_chunk(share, k); i < cpu_share_chunk(share, k + 1); i++)
                for (int c = 0; c < n; c++)
                    parts.at[k - share->first_chunk][c] += at[i * image + first + c];
        tree_sum(&parts, share, n, sums + first);
    }
}

void pada_cpu_add_norm_sums(const pada_program *q, const pada_bindings *b, const pada_instr *instr,
                            const cpu_share *share, double *sums)
{
    const pada_node *node = &q->nodes[instr->v];
    const int channels = node->shape.c;
    const int64_t vector = cpu_vector_floats(channels), image = (1 + node->n_terms) * vector;
    const float *partial = work_at(b, instr->partial);

    add_images(partial, image, channels, share, sums);
    for (int k = 0; k < node->n_terms; k++) {
        if (q->terms[node->first_term + k].kind != PADA_TERM_BATCHNORM) continue;
        partial += vector;
        sums += channels;
        add_images(partial, image, channels, share, sums);
    }
}

void pada_cpu_finish_norm_sums(const pada_program *q, const pada_bindings *b,
                               const pada_instr *instr, int n_images, const double *sums)
{
    const pada_node *node = &q->nodes[instr->v];
    const int channels = node->shape.c;
    const int64_t vector = cpu_vector_floats(channels);
    const double count = (double)node->shape.h * node->shape.w * n_images;
    const double *products = sums;
    float *grads = b->grads;

    for (int k = 0; k < node->n_terms; k++) {
        const pada_term *term = &q->terms[node->first_term + k];
        if (term->kind != PADA_TERM_BATCHNORM) continue;
        const float *mean = work_at(b, q->node_plans[term->x].stats), *rstd = mean + vector;
        float *coef = work_at(b, q->term_plans[node->first_term + k].coef);
        /* Padding, as in clear_norm. */
        memset(coef, 0, (size_t)(3 * vector) * sizeof *coef);
        products += channels;
        for (int c = 0; c < channels; c++) {
            const double sum = sums[c], product = products[c];
            const double slope = (double)rstd[c] * rstd[c] * rstd[c] * product / count;
            const double scale = param(b, term->norm.scale, c, 1);
            coef[c] = (float)(scale * rstd[c]);
            coef[vector + c] = (float)(scale * -slope);
            coef[2 * vector + c] = (float)(scale * (slope * mean[c] - rstd[c] * sum / count));
            if (term->norm.scale >= 0) grads[term->norm.scale + c] += (float)(rstd[c] * product);
            if (term->norm.shift >= 0) grads[term->norm.shift + c] += (float)sum;
        }
    }
}
