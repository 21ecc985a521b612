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

/* Sums the chunks' parts as a binary tree, which processes with a half, a quarter or an eighth of
 * the chunks can build, too. `n` is a power of two; parts are lost. */
static double tree_sum(double *parts, int n)
{
    for (int step = 1; step < n; step *= 2)
        for (int i = 0; i < n; i += 2 * step)
            parts[i] += parts[i + step];
    return parts[0];
}

/* What forward reads of batch norm t. Channels of padding get zeros, since zero times what other paths left there must
 * not be NaN. */
static float *clear_norm(const pada_program *q, const pada_bindings *b, int t)
{
    const int64_t vector = cpu_vector_floats(q->nodes[q->terms[t].x].shape.c);

    return memset(work_at(b, q->term_plans[t].stats), 0, (size_t)(2 * vector) * sizeof(float));
}

/* Moves running statistics towards those of the batch. */
static void keep_statistics(const pada_program *q, const pada_bindings *b, int t, const float *mean,
                            const float *variance)
{
    const pada_norm *norm = &q->terms[t].norm;
    const pada_shape shape = q->nodes[q->terms[t].x].shape;
    const double count = (double)q->n_images * shape.h * shape.w, share = b->momentum;
    float *kept_mean = (float *)b->statistics + norm->mean;
    float *kept_variance = (float *)b->statistics + norm->variance;

    for (int c = 0; c < shape.c; c++) {
        const double now = pada_unbiased_variance(variance[c], count);
        kept_mean[c] = (float)((1 - share) * kept_mean[c] + share * mean[c]);
        kept_variance[c] = (float)((1 - share) * kept_variance[c] + share * now);
    }
}

/* The batch norms of value v, whose statistics are there. */
static void finish_norms(const pada_program *q, const pada_bindings *b, pada_value v,
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
        if (b->statistics && q->terms[t].norm.mean >= 0) keep_statistics(q, b, t, mean, variance);
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

/* mean and 1/deviation from the moments of the images, merged in double: within a chunk in the
 * order of the images, then by tree_sum. */
void pada_cpu_finish_moments(const pada_program *q, const pada_bindings *b, const pada_instr *instr,
                             int n_chunks)
{
    const pada_shape shape = q->nodes[instr->v].shape;
    const int64_t vector = cpu_vector_floats(shape.c);
    const int n_images = q->n_images;
    const double pixels = (double)shape.h * shape.w, count = pixels * n_images;
    float *partial = work_at(b, instr->partial);
    float *mean = work_at(b, q->node_plans[instr->v].stats), *rstd = mean + vector;

    /* Channels of padding, as in clear_norm. */
    memset(mean, 0, (size_t)(2 * vector) * sizeof *mean);

    for (int c = 0; c < shape.c; c++) {
        double sum[CPU_MAX_CHUNKS] = {0}, spread[CPU_MAX_CHUNKS] = {0};
        for (int k = 0; k < n_chunks; k++)
            for (int n = cpu_chunk_first(n_images, n_chunks, k);
                 n < cpu_chunk_first(n_images, n_chunks, k + 1); n++) {
                const float *p = partial + (int64_t)n * 3 * vector + c;
                sum[k] += pixels * p[0] + p[vector];
            }
        const double m = tree_sum(sum, n_chunks) / count;
        for (int k = 0; k < n_chunks; k++)
            for (int n = cpu_chunk_first(n_images, n_chunks, k);
                 n < cpu_chunk_first(n_images, n_chunks, k + 1); n++) {
                const float *p = partial + (int64_t)n * 3 * vector + c;
                const double s = p[vector], gap = p[0] + s / pixels - m;
                spread[k] += p[2 * vector] - s * s / pixels + pixels * (gap * gap);
            }
        const double variance = tree_sum(spread, n_chunks) / count;
        mean[c] = (float)m;
        rstd[c] = (float)(1 / sqrt((variance < 0 ? 0 : variance) + q->norm_epsilon));
        partial[c] = (float)(variance < 0 ? 0 : variance); /* nobody reads these sums any more */
    }
    finish_norms(q, b, instr->v, partial);
}

/* The sums over the batch of dy and of dy (x - mean), which is row `row` of the images' sums. */
typedef struct norm_sums {
    double dy, product;
} norm_sums;

static norm_sums add_images(const pada_program *q, const float *partial, int64_t image, int64_t at,
                            int c, int n_chunks)
{
    double sums[CPU_MAX_CHUNKS] = {0}, products[CPU_MAX_CHUNKS] = {0};

    for (int i = 0; i < n_chunks; i++)
        for (int n = cpu_chunk_first(q->n_images, n_chunks, i);
             n < cpu_chunk_first(q->n_images, n_chunks, i + 1); n++) {
            sums[i] += partial[n * image + c];
            products[i] += partial[n * image + at + c];
        }
    return (norm_sums){tree_sum(sums, n_chunks), tree_sum(products, n_chunks)};
}

void pada_cpu_finish_norm_sums(const pada_program *q, const pada_bindings *b,
                               const pada_instr *instr, int n_chunks)
{
    const pada_node *node = &q->nodes[instr->v];
    const int64_t vector = cpu_vector_floats(node->shape.c);
    const int64_t image = (1 + node->n_terms) * vector;
    const double count = (double)node->shape.h * node->shape.w * q->n_images;
    const float *partial = work_at(b, instr->partial);
    float *grads = b->grads;
    int row = 0;

    for (int k = 0; k < node->n_terms; k++) {
        const pada_term *term = &q->terms[node->first_term + k];
        if (term->kind != PADA_TERM_BATCHNORM) continue;
        const float *mean = work_at(b, q->node_plans[term->x].stats), *rstd = mean + vector;
        float *coef = work_at(b, q->term_plans[node->first_term + k].coef);
        /* Padding, as in clear_norm. */
        memset(coef, 0, (size_t)(3 * vector) * sizeof *coef);
        row++;
        for (int c = 0; c < node->shape.c; c++) {
            const norm_sums sums = add_images(q, partial, image, row * vector, c, n_chunks);
            const double slope = (double)rstd[c] * rstd[c] * rstd[c] * sums.product / count;
            const double scale = param(b, term->norm.scale, c, 1);
            coef[c] = (float)(scale * rstd[c]);
            coef[vector + c] = (float)(scale * -slope);
            coef[2 * vector + c] = (float)(scale * (slope * mean[c] - rstd[c] * sums.dy / count));
            if (term->norm.scale >= 0)
                grads[term->norm.scale + c] += (float)(rstd[c] * sums.product);
            if (term->norm.shift >= 0) grads[term->norm.shift + c] += (float)sums.dy;
        }
    }
}
