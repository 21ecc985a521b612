/* ref_backend.c - the reference backend: runs a program in double precision with the plain loops.
 *
 * It runs a stage image by image like the fast backends, so that tensors inside a stage need one
 * image of scratch, and finishes reductions with loops over the whole batch at the end of the
 * stage. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "backend/backend.h"
#include "backend/drop_mask.h"
#include "backend/ref/ref_kernels.h"
#include "base/mem.h"

struct pada_device {
    double *scratch;  /* tensors inside a stage */
    double *act, *dz; /* one image each: activated input, gradient of a convolution's output */
    int64_t scratch_bytes, image_count;
};

static void ref_close(pada_device *d)
{
    if (!d) return;
    pada_free(d->scratch);
    pada_free(d->act);
    pada_free(d->dz);
    pada_free(d);
}

static pada_status ref_open(pada_device **out, int n_threads)
{
    void *mem;

    (void)n_threads; /* plain loops on one thread: the oracle has to be right, not fast */
    *out = NULL;
    PADA_TRY(pada_calloc(&mem, 1, sizeof **out));
    *out = mem;
    return PADA_OK;
}

static const char *ref_describe(const pada_device *d)
{
    (void)d;
    return "plain loops, float64";
}

static pada_status ref_alloc(pada_device *d, void **out, int64_t bytes)
{
    (void)d;
    return pada_alloc_aligned(out, (size_t)bytes);
}

static void ref_release(pada_device *d, void *memory)
{
    (void)d;
    pada_free(memory);
}

static void ref_write(pada_device *d, void *buffer, pada_range range, const double *from)
{
    (void)d;
    memcpy((double *)buffer + range.first, from, (size_t)range.count * sizeof(double));
}

static void ref_read(pada_device *d, const void *buffer, pada_range range, double *to)
{
    (void)d;
    memcpy(to, (const double *)buffer + range.first, (size_t)range.count * sizeof(double));
}

static void ref_read_i32(pada_device *d, const int32_t *buffer, pada_range range, int32_t *to)
{
    (void)d;
    memcpy(to, buffer + range.first, (size_t)range.count * sizeof *to);
}

static void ref_write_i32(pada_device *d, int32_t *buffer, pada_range range, const int32_t *from)
{
    (void)d;
    memcpy(buffer + range.first, from, (size_t)range.count * sizeof *from);
}

static void ref_read_raw(pada_device *d, const void *buffer, const pada_range *ranges, int n,
                         void *to)
{
    double *at = to;

    (void)d;
    for (int r = 0; r < n; at += ranges[r++].count)
        memcpy(at, (const double *)buffer + ranges[r].first, (size_t)ranges[r].count * sizeof *at);
}

static void ref_write_raw(pada_device *d, void *buffer, const pada_range *ranges, int n,
                          const void *from)
{
    const double *at = from;

    (void)d;
    for (int r = 0; r < n; at += ranges[r++].count)
        memcpy((double *)buffer + ranges[r].first, at, (size_t)ranges[r].count * sizeof *at);
}

static int64_t round_up(int64_t bytes)
{
    return (bytes + PADA_ALIGN - 1) / PADA_ALIGN * PADA_ALIGN;
}

static int64_t image_bytes(pada_shape shape)
{
    return round_up(pada_shape_count(shape) * (int64_t)sizeof(double));
}

static int64_t channel_bytes(int channels)
{
    return round_up(channels * (int64_t)sizeof(double));
}

static int64_t ref_image_bytes(const pada_device *d, pada_shape shape)
{
    (void)d;
    return image_bytes(shape);
}

static int64_t ref_channel_bytes(const pada_device *d, int channels)
{
    (void)d;
    return channel_bytes(channels);
}

static void ref_unpack(pada_device *d, const void *tensor, int64_t n, pada_shape shape, double *to)
{
    const int64_t count = pada_shape_count(shape), stride = image_bytes(shape);

    (void)d;
    for (int64_t i = 0; i < n; i++)
        memcpy(to + i * count, (const char *)tensor + i * stride, (size_t)count * sizeof(double));
}

static void ref_pack(pada_device *d, void *tensor, int64_t n, pada_shape shape, const double *from)
{
    const int64_t count = pada_shape_count(shape), stride = image_bytes(shape);

    (void)d;
    for (int64_t i = 0; i < n; i++)
        memcpy((char *)tensor + i * stride, from + i * count, (size_t)count * sizeof(double));
}

/* Replaces *buffer by a larger one; its contents are not kept. */
static pada_status renew(double **buffer, int64_t bytes)
{
    void *mem;

    PADA_TRY(pada_alloc_aligned(&mem, (size_t)bytes));
    pada_free(*buffer);
    *buffer = mem;
    return PADA_OK;
}

static pada_status ref_prepare(pada_device *d, const pada_program *q)
{
    int64_t most = 1;

    for (int v = 0; v < q->n_nodes; v++)
        if (pada_shape_count(q->nodes[v].shape) > most) most = pada_shape_count(q->nodes[v].shape);
    if (q->local_bytes > d->scratch_bytes) {
        PADA_TRY(renew(&d->scratch, q->local_bytes));
        d->scratch_bytes = q->local_bytes;
    }
    if (most > d->image_count) {
        PADA_TRY(renew(&d->act, most * (int64_t)sizeof(double)));
        PADA_TRY(renew(&d->dz, most * (int64_t)sizeof(double)));
        d->image_count = most;
    }
    return PADA_OK;
}

/* ---- running ---- */

typedef struct run {
    pada_device *d;
    const pada_program *q;
    const pada_bindings *b;
} run;

static double *at(const run *r, const pada_place *place, int n)
{
    PADA_ASSERT(place->in != PADA_NOWHERE);
    char *base = place->in == PADA_LOCAL  ? (char *)r->d->scratch
                 : place->in == PADA_TAPS ? (char *)r->b->taps + n * place->image_bytes
                                          : (char *)r->b->work + n * place->image_bytes;
    return (double *)(base + place->offset);
}

static double *value(const run *r, pada_value v, int n)
{
    return at(r, &r->q->node_plans[v].value, n);
}

static double *grad(const run *r, pada_value v, int n)
{
    return at(r, &r->q->node_plans[v].grad, n);
}

static double *vectors(const run *r, int64_t offset)
{
    return (double *)((char *)r->b->work + offset);
}

/* Number c of a parameter vector; `otherwise`, where there is none. */
static double param(const run *r, int64_t offset, int c, double otherwise)
{
    return offset >= 0 ? ((const double *)r->b->params)[offset + c] : otherwise;
}

/* The vectors mean and 1/deviation of value v. */
static void stats(const run *r, pada_value v, double **mean, double **rstd)
{
    *mean = vectors(r, r->q->node_plans[v].stats);
    *rstd = *mean + channel_bytes(r->q->nodes[v].shape.c) / (int64_t)sizeof(double);
}

/* The activated input of a convolution, in d->act. */
static const double *activated(const run *r, const pada_node *node, int n)
{
    const pada_node *x = &r->q->nodes[node->x];
    const int64_t count = pada_shape_count(x->shape);
    const int is_input = x->op == PADA_OP_INPUT;
    const double *from = is_input ? NULL : value(r, node->x, n);

    for (int64_t i = 0; i < count; i++)
        r->d->act[i] =
            pada_ref_act(node->conv.act, is_input ? r->b->images[n * count + i] : from[i]);
    return r->d->act;
}

static void conv_forward(const run *r, const pada_instr *instr, int n)
{
    const pada_node *node = &r->q->nodes[instr->v];
    const double *params = r->b->params;

    pada_ref_conv(&node->conv, r->q->nodes[node->x].shape, node->shape, activated(r, node, n),
                  params + node->weight, node->bias >= 0 ? params + node->bias : NULL,
                  value(r, instr->v, n));
}

static void conv_backward(const run *r, const pada_instr *instr, int n)
{
    const pada_node *node = &r->q->nodes[instr->v];
    const pada_shape in = r->q->nodes[node->x].shape, out = node->shape;
    const int64_t plane = (int64_t)out.h * out.w;
    const double *dy = grad(r, instr->dy, n), *params = r->b->params;
    double *dz = r->d->dz, *grads = r->b->grads;

    for (int64_t i = 0; i < out.c * plane; i++)
        dz[i] = dy[i];
    if (instr->term >= 0) {
        const int64_t stride = channel_bytes(out.c) / (int64_t)sizeof(double);
        const double *coef = vectors(r, r->q->term_plans[instr->term].coef),
                     *z = value(r, instr->v, n);
        for (int c = 0; c < out.c; c++)
            for (int64_t i = c * plane; i < (c + 1) * plane; i++)
                dz[i] = coef[c] * dy[i] + coef[stride + c] * z[i] + coef[2 * stride + c];
    }
    pada_ref_conv_grad_weight(&node->conv, in, out, activated(r, node, n), dz, grads + node->weight,
                              node->bias >= 0 ? grads + node->bias : NULL);
    if (instr->no_grad_in) return;
    double *da = r->d->act, *dx = grad(r, node->x, n);
    const double *x = value(r, node->x, n);
    pada_ref_conv_grad_in(&node->conv, in, out, dz, params + node->weight, da);
    for (int64_t i = 0; i < pada_shape_count(in); i++)
        dx[i] = (instr->accumulate ? dx[i] : 0) + da[i] * pada_ref_act_slope(node->conv.act, x[i]);
}

/* y += the batch norm x of term t. */
static void norm_forward(const run *r, int t, const double *x, double *y)
{
    const pada_term *term = &r->q->terms[t];
    const pada_shape shape = r->q->nodes[term->x].shape;
    const int64_t plane = (int64_t)shape.h * shape.w;
    const double *mean = vectors(r, r->q->term_plans[t].stats);
    const double *factor = mean + channel_bytes(shape.c) / (int64_t)sizeof(double);

    for (int c = 0; c < shape.c; c++) {
        const double shift = param(r, term->norm.shift, c, 0);
        for (int64_t i = c * plane; i < (c + 1) * plane; i++)
            y[i] += (x[i] - mean[c]) * factor[c] + shift;
    }
}

static void combine_forward(const run *r, const pada_instr *instr, int n)
{
    const pada_node *node = &r->q->nodes[instr->v];
    const int64_t plane = (int64_t)node->shape.h * node->shape.w, count = node->shape.c * plane;
    double *y = value(r, instr->v, n);

    memset(y, 0, (size_t)count * sizeof *y);
    for (int k = 0; k < node->n_terms; k++) {
        const pada_term *term = &r->q->terms[node->first_term + k];
        const double *x = value(r, term->x, n);
        switch (term->kind) {
        case PADA_TERM_IDENTITY:
            for (int64_t i = 0; i < count; i++)
                y[i] += x[i];
            break;
        case PADA_TERM_BATCHNORM: norm_forward(r, node->first_term + k, x, y); break;
        case PADA_TERM_AVGPOOL:
            pada_ref_avgpool_add(&term->pool, r->q->nodes[term->x].shape, node->shape, x, y);
            break;
        }
    }
}

static void combine_backward(const run *r, const pada_instr *instr, int n)
{
    const pada_node *node = &r->q->nodes[instr->v];
    const int64_t plane = (int64_t)node->shape.h * node->shape.w, count = node->shape.c * plane;
    const int64_t stride = channel_bytes(node->shape.c) / (int64_t)sizeof(double);
    const double *dy = grad(r, instr->v, n);

    for (int k = 0; k < node->n_terms; k++) {
        const int t = node->first_term + k;
        const pada_term *term = &r->q->terms[t];
        const pada_term_plan *plan = &r->q->term_plans[t];
        const pada_shape in = r->q->nodes[term->x].shape;
        if (plan->lazy || (term->kind == PADA_TERM_BATCHNORM) != instr->norms) continue;
        double *dx = grad(r, term->x, n);
        if (!plan->accumulate) memset(dx, 0, (size_t)pada_shape_count(in) * sizeof *dx);
        switch (term->kind) {
        case PADA_TERM_IDENTITY:
            for (int64_t i = 0; i < count; i++)
                dx[i] += dy[i];
            break;
        case PADA_TERM_BATCHNORM: {
            const double *coef = vectors(r, plan->coef), *x = value(r, term->x, n);
            for (int64_t i = 0; i < count; i++) {
                const int64_t c = i / plane;
                dx[i] += coef[c] * dy[i] + coef[stride + c] * x[i] + coef[2 * stride + c];
            }
            break;
        }
        case PADA_TERM_AVGPOOL:
            pada_ref_avgpool_grad_add(&term->pool, in, node->shape, dy, dx);
            break;
        }
    }
}

static void gap(const run *r, const pada_instr *instr, int n)
{
    const pada_node *node = &r->q->nodes[instr->v];
    const pada_shape in = r->q->nodes[node->x].shape;
    const int64_t plane = (int64_t)in.h * in.w;
    const double *x = value(r, node->x, n);

    if (instr->code == PADA_CODE_GAP_FWD) {
        double *f = value(r, instr->v, n);
        for (int c = 0; c < in.c; c++) {
            double sum = 0;
            for (int64_t i = 0; i < plane; i++)
                sum += pada_ref_act(node->act, x[c * plane + i]);
            f[c] = sum / (double)plane;
        }
        return;
    }
    const double *df = grad(r, instr->v, n);
    double *dx = grad(r, node->x, n);
    for (int64_t i = 0; i < in.c * plane; i++)
        dx[i] = (instr->accumulate ? dx[i] : 0) +
                df[i / plane] / (double)plane * pada_ref_act_slope(node->act, x[i]);
}

static void pool(const run *r, const pada_instr *instr, int n)
{
    const pada_node *node = &r->q->nodes[instr->v];
    const pada_shape in = r->q->nodes[node->x].shape;
    const double *x = value(r, node->x, n);

    if (instr->code == PADA_CODE_POOL_FWD) {
        pada_ref_pool(node, in, x, value(r, instr->v, n));
        return;
    }
    double *dx = grad(r, node->x, n);
    if (!instr->accumulate) memset(dx, 0, (size_t)pada_shape_count(in) * sizeof *dx);
    pada_ref_pool_grad_add(node, in, x, grad(r, instr->v, n), dx);
}

static void concat(const run *r, const pada_instr *instr, int n)
{
    const pada_node *node = &r->q->nodes[instr->v];
    const bool forward = instr->code == PADA_CODE_CONCAT_FWD;
    const int64_t plane = (int64_t)node->shape.h * node->shape.w;
    double *y = forward ? value(r, instr->v, n) : grad(r, instr->v, n);

    if (forward) memset(y, 0, (size_t)pada_shape_count(node->shape) * sizeof *y);
    for (int t = node->first_term; t < node->first_term + node->n_terms; t++) {
        const pada_term *term = &r->q->terms[t];
        const int64_t count = pada_shape_count(r->q->nodes[term->x].shape);
        double *part = y + term->channel * plane;
        if (forward) {
            memcpy(part, value(r, term->x, n), (size_t)count * sizeof *part);
            continue;
        }
        double *dx = grad(r, term->x, n);
        for (int64_t i = 0; i < count; i++)
            dx[i] = (r->q->term_plans[t].accumulate ? dx[i] : 0) + part[i];
    }
}

static void gate(const run *r, const pada_instr *instr, int n)
{
    const pada_node *node = &r->q->nodes[instr->v];
    const bool forward = instr->code == PADA_CODE_GATE_FWD;
    const int64_t plane = (int64_t)node->shape.h * node->shape.w;
    const int tx = node->first_term, ts = tx + 1;
    const double *x = value(r, r->q->terms[tx].x, n), *s = value(r, r->q->terms[ts].x, n);
    double *y = forward ? value(r, instr->v, n) : grad(r, instr->v, n);
    double *dx = forward ? NULL : grad(r, r->q->terms[tx].x, n);
    double *ds = forward ? NULL : grad(r, r->q->terms[ts].x, n);

    for (int c = 0; c < node->shape.c; c++) {
        const double factor = 1 / (1 + exp(-s[c]));
        double sum = 0;
        for (int64_t i = c * plane; i < (c + 1) * plane; i++) {
            const double a = pada_ref_act(node->act, x[i]);
            if (forward) {
                y[i] = a * factor;
                continue;
            }
            sum += y[i] * a;
            dx[i] = (r->q->term_plans[tx].accumulate ? dx[i] : 0) +
                    y[i] * factor * pada_ref_act_slope(node->act, x[i]);
        }
        if (!forward)
            ds[c] = (r->q->term_plans[ts].accumulate ? ds[c] : 0) + sum * factor * (1 - factor);
    }
}

static void constant(const run *r, const pada_instr *instr, int n)
{
    const pada_node *node = &r->q->nodes[instr->v];
    const bool forward = instr->code == PADA_CODE_CONSTANT_FWD;
    const int64_t plane = (int64_t)node->shape.h * node->shape.w;
    double *y = forward ? value(r, instr->v, n) : grad(r, instr->v, n), *grads = r->b->grads;

    for (int64_t i = 0; i < node->shape.c * plane; i++)
        if (forward)
            y[i] = ((const double *)r->b->params)[node->bias + i / plane];
        else
            grads[node->bias + i / plane] += y[i];
}

static void drop(const run *r, const pada_instr *instr, int n)
{
    const pada_node *node = &r->q->nodes[instr->v];
    const bool forward = instr->code == PADA_CODE_DROP_FWD;
    const double *from = forward ? value(r, node->x, n) : grad(r, instr->v, n);
    double *to = forward ? value(r, instr->v, n) : grad(r, node->x, n);

    for (int64_t i = 0; i < pada_shape_count(node->shape); i++) {
        const int64_t element = node->drop.kind == PADA_DROP_IMAGES ? 0 : i;
        const double factor = pada_drop_factor(&r->b->drops, &node->drop, n, element);
        to[i] = (instr->accumulate ? to[i] : 0) + (factor == 0 ? 0 : factor * from[i]);
    }
}

static void linear_forward(const run *r, const pada_instr *instr, int n)
{
    const pada_node *node = &r->q->nodes[instr->v];
    const double *params = r->b->params;
    double *y = value(r, instr->v, n);

    for (int o = 0; o < node->shape.c; o++)
        y[o] = node->bias >= 0 ? params[node->bias + o] : 0;
    if (node->x == PADA_ZERO) return;
    const double *x = value(r, node->x, n), *w = params + node->weight;
    const int in = r->q->nodes[node->x].shape.c;
    for (int o = 0; o < node->shape.c; o++)
        for (int i = 0; i < in; i++)
            y[o] += w[(int64_t)o * in + i] * x[i];
}

static void linear_backward(const run *r, const pada_instr *instr, int n)
{
    const pada_node *node = &r->q->nodes[instr->v];
    const double *params = r->b->params, *dy = grad(r, instr->v, n);
    double *grads = r->b->grads;

    for (int o = 0; node->bias >= 0 && o < node->shape.c; o++)
        grads[node->bias + o] += dy[o];
    if (node->x == PADA_ZERO) return;
    const int in = r->q->nodes[node->x].shape.c;
    const double *x = value(r, node->x, n), *w = params + node->weight;
    double *dx = grad(r, node->x, n), *gw = grads + node->weight;
    if (!instr->accumulate) memset(dx, 0, (size_t)in * sizeof *dx);
    for (int o = 0; o < node->shape.c; o++)
        for (int i = 0; i < in; i++) {
            gw[(int64_t)o * in + i] += dy[o] * x[i];
            dx[i] += dy[o] * w[(int64_t)o * in + i];
        }
}

/* The factor of an image's loss in the gradient. */
static double loss_scale(const run *r, int n)
{
    return r->b->grad_scale * (r->b->weights ? r->b->weights[n] : 1.0) / r->q->n_images;
}

static void tap(const run *r, const pada_instr *instr, int n)
{
    const pada_node *node = &r->q->nodes[instr->v];
    const int64_t count = pada_shape_count(node->shape);
    const double *x = node->x != PADA_ZERO ? value(r, node->x, n) : NULL;
    const double share = 1 / ((double)count * r->q->n_taps);
    double *kept = value(r, instr->v, n);

    if (instr->code == PADA_CODE_TAP_KEEP) {
        for (int64_t i = 0; i < count; i++)
            kept[i] = x ? x[i] : 0;
    } else if (instr->code == PADA_CODE_ALIGN_FWD) {
        double *result = (double *)r->b->results.align + n, sum = 0;
        for (int64_t i = 0; i < count; i++) {
            const double d = (x ? x[i] : 0) - kept[i];
            sum += d * d;
        }
        *result = (instr->accumulate ? *result : 0) + share * sum;
    } else {
        const double factor = 2 * r->b->align * loss_scale(r, n) * share;
        double *dx = grad(r, node->x, n);
        for (int64_t i = 0; i < count; i++)
            dx[i] = (instr->accumulate ? dx[i] : 0) + factor * (x[i] - kept[i]);
    }
}

static void cross_entropy(const run *r, const pada_instr *instr, int n)
{
    const pada_loss *what = &r->q->nodes[instr->v].loss;
    const pada_value logits = r->q->nodes[instr->v].x;
    const int train = r->q->node_plans[logits].grad.in != PADA_NOWHERE;
    double loss, norm;
    int32_t rank;

    pada_ref_loss(what, value(r, logits, n), r->q->nodes[logits].shape.c, r->b->labels[n],
                  loss_scale(r, n) * what->weight, &loss, &norm, &rank,
                  train ? grad(r, logits, n) : NULL);
    if (what->is_auxiliary) return;
    ((double *)r->b->results.loss)[n] = loss;
    ((double *)r->b->results.norm)[n] = norm;
    r->b->results.rank[n] = rank;
}

static void run_image(const run *r, const pada_instr *instr, int n)
{
    switch (instr->code) {
    case PADA_CODE_CONV_FWD: conv_forward(r, instr, n); break;
    case PADA_CODE_COMBINE_FWD: combine_forward(r, instr, n); break;
    case PADA_CODE_LINEAR_FWD: linear_forward(r, instr, n); break;
    case PADA_CODE_LOSS_FWD: cross_entropy(r, instr, n); break;
    case PADA_CODE_LINEAR_BWD: linear_backward(r, instr, n); break;
    case PADA_CODE_GAP_FWD:
    case PADA_CODE_GAP_BWD: gap(r, instr, n); break;
    case PADA_CODE_COMBINE_BWD: combine_backward(r, instr, n); break;
    case PADA_CODE_POOL_FWD:
    case PADA_CODE_POOL_BWD: pool(r, instr, n); break;
    case PADA_CODE_CONCAT_FWD:
    case PADA_CODE_CONCAT_BWD: concat(r, instr, n); break;
    case PADA_CODE_DROP_FWD:
    case PADA_CODE_DROP_BWD: drop(r, instr, n); break;
    case PADA_CODE_CONSTANT_FWD:
    case PADA_CODE_CONSTANT_BWD: constant(r, instr, n); break;
    case PADA_CODE_GATE_FWD:
    case PADA_CODE_GATE_BWD: gate(r, instr, n); break;
    case PADA_CODE_CONV_BWD: conv_backward(r, instr, n); break;
    case PADA_CODE_TAP_KEEP:
    case PADA_CODE_ALIGN_FWD:
    case PADA_CODE_ALIGN_BWD: tap(r, instr, n); break;
    case PADA_CODE_NORM_SUMS: break; /* all of it happens at the end of the stage */
    }
}

/* What forward reads of channel c of batch norm t. */
static void set_norm(const run *r, int t, int c, double mean, double rstd)
{
    const pada_term *term = &r->q->terms[t];
    const int64_t stride = channel_bytes(r->q->nodes[term->x].shape.c) / (int64_t)sizeof(double);
    double *to = vectors(r, r->q->term_plans[t].stats);

    to[c] = mean;
    to[stride + c] = rstd * param(r, term->norm.scale, c, 1);
}

/* Moves the running statistics of a batch norm, if it has any, towards those of the batch. */
static void keep_statistics(const run *r, const pada_norm *norm, int c, double mean,
                            double variance)
{
    const double share = r->b->momentum;
    double *kept = r->b->statistics;

    if (!kept || norm->mean < 0) return;
    kept[norm->mean + c] = (1 - share) * kept[norm->mean + c] + share * mean;
    kept[norm->variance + c] = (1 - share) * kept[norm->variance + c] + share * variance;
}

/* mean and 1/deviation of a value that batch norm reads, and what its batch norms make of it. */
static void finish_stats(const run *r, pada_value v)
{
    const pada_shape shape = r->q->nodes[v].shape;
    const int64_t stride = r->q->node_plans[v].value.image_bytes / (int64_t)sizeof(double);
    const double count = (double)r->q->n_images * shape.h * shape.w;
    double *mean, *rstd, variance;

    stats(r, v, &mean, &rstd);
    for (int c = 0; c < shape.c; c++) {
        pada_ref_moments(value(r, v, 0), r->q->n_images, stride, shape, c, &mean[c], &variance);
        rstd[c] = 1 / sqrt(variance + r->q->norm_epsilon);
        for (int t = 0; t < r->q->n_terms; t++) {
            const pada_term *term = &r->q->terms[t];
            if (term->kind != PADA_TERM_BATCHNORM || term->x != v || pada_norm_is_fixed(r->q, t))
                continue;
            set_norm(r, t, c, mean[c], rstd[c]);
            keep_statistics(r, &term->norm, c, mean[c], pada_unbiased_variance(variance, count));
        }
    }
}

/* What forward reads of the batch norms that are normalised by running statistics. */
static void set_fixed_norms(const run *r)
{
    const double *kept = r->b->statistics;

    for (int t = 0; t < r->q->n_terms; t++) {
        const pada_term *term = &r->q->terms[t];
        if (term->kind != PADA_TERM_BATCHNORM || !pada_norm_is_fixed(r->q, t)) continue;
        for (int c = 0; c < r->q->nodes[term->x].shape.c; c++)
            set_norm(r, t, c, kept[term->norm.mean + c],
                     1 / sqrt(kept[term->norm.variance + c] + r->q->norm_epsilon));
    }
}

/* From dx = scale rstd (dy - mean(dy) - xhat mean(dy xhat)) to dx = a dy + b x + c, for every batch-norm
 * term; and the gradients of scale and shift. */
static void finish_norm_sums(const run *r, const pada_instr *instr)
{
    const pada_node *node = &r->q->nodes[instr->v];
    const int64_t plane = (int64_t)node->shape.h * node->shape.w;
    const int64_t stride = channel_bytes(node->shape.c) / (int64_t)sizeof(double);
    const double count = (double)plane * r->q->n_images;
    double *grads = r->b->grads;

    for (int k = 0; k < node->n_terms; k++) {
        const pada_term *term = &r->q->terms[node->first_term + k];
        double *mean, *rstd, *coef = vectors(r, r->q->term_plans[node->first_term + k].coef);
        if (term->kind != PADA_TERM_BATCHNORM) continue;
        stats(r, term->x, &mean, &rstd);
        for (int c = 0; c < node->shape.c; c++) {
            double sum = 0, product = 0;
            for (int n = 0; n < r->q->n_images; n++) {
                const double *dy = grad(r, instr->dy, n) + c * plane,
                             *x = value(r, term->x, n) + c * plane;
                for (int64_t i = 0; i < plane; i++) {
                    sum += dy[i];
                    product += dy[i] * (x[i] - mean[c]);
                }
            }
            const double scale = param(r, term->norm.scale, c, 1);
            const double slope = rstd[c] * rstd[c] * rstd[c] * product / count;
            coef[c] = scale * rstd[c];
            coef[stride + c] = -scale * slope;
            coef[2 * stride + c] = scale * (slope * mean[c] - rstd[c] * sum / count);
            if (term->norm.scale >= 0) grads[term->norm.scale + c] += rstd[c] * product;
            if (term->norm.shift >= 0) grads[term->norm.shift + c] += sum;
        }
    }
}

static void ref_run(pada_device *d, const pada_program *q, const pada_bindings *b, int first,
                    int count)
{
    const run r = {d, q, b};

    if (first == 0) set_fixed_norms(&r);
    for (int s = first; s < first + count; s++) {
        const pada_instr *instrs = q->instrs + q->stages[s].first;
        for (int n = 0; n < q->n_images; n++)
            for (int i = 0; i < q->stages[s].count; i++)
                run_image(&r, &instrs[i], n);
        for (int i = 0; i < q->stages[s].count; i++) {
            if (instrs[i].stats) finish_stats(&r, instrs[i].v);
            if (instrs[i].code == PADA_CODE_NORM_SUMS) finish_norm_sums(&r, &instrs[i]);
        }
    }
}

/* ---- vectors ---- */

#define FOR_RANGES(i)                  \
    for (int k = 0; k < n_ranges; k++) \
        for (int64_t i = ranges[k].first; i < ranges[k].first + ranges[k].count; i++)

static void ref_fill_zero(pada_device *d, void *x, const pada_range *ranges, int n_ranges)
{
    (void)d;
    FOR_RANGES(i)((double *)x)[i] = 0;
}

static void ref_dot(pada_device *d, const void *x, const void *y, const pada_range *ranges,
                    int n_ranges, double *sums)
{
    (void)d;
    for (int k = 0; k < n_ranges; k++)
        sums[k] = 0;
    FOR_RANGES(i) sums[k] += ((const double *)x)[i] * ((const double *)y)[i];
}

static void ref_sum_squares(pada_device *d, const void *x, const pada_range *ranges, int n_ranges,
                            double *sums)
{
    ref_dot(d, x, x, ranges, n_ranges, sums);
}

/* One element, by the rules of update.h. */
static void move(double *w, double slope, double *s0, double *s1, const pada_update *u, int64_t t)
{
    switch (u->rule) {
    case PADA_RULE_SGD:
        *s0 = u->momentum * *s0 + slope;
        *w -= u->lr * (u->nesterov ? slope + u->momentum * *s0 : *s0);
        break;
    case PADA_RULE_RMSPROP:
        *s0 += (1 - u->decay) * (slope * slope - *s0);
        *s1 = u->momentum * *s1 + u->lr * slope / sqrt(*s0 + u->epsilon);
        *w -= *s1;
        break;
    case PADA_RULE_ADAM:
        *s0 = u->momentum * *s0 + (1 - u->momentum) * slope;
        *s1 = u->decay * *s1 + (1 - u->decay) * slope * slope;
        *w -= u->lr * *s0 / pada_bias_correction(u->momentum, t) /
              (sqrt(*s1 / pada_bias_correction(u->decay, t)) + u->epsilon);
        break;
    }
}

static void ref_update(pada_device *d, const pada_update_buffers *b,
                       const pada_update_ranges *moved, const pada_update *u)
{
    const pada_range *ranges = moved->at;
    const int n_ranges = moved->n;
    double *w = b->weights, *s0 = b->states[0], *s1 = b->states[1];

    (void)d;
    FOR_RANGES(i)
    {
        const double decay = k < n_ranges - moved->n_spared ? u->weight_decay : 0;
        const double slope = u->grad_scale * ((const double *)b->grads)[i] + decay * w[i];
        move(w + i, slope, s0 + i, s1 ? s1 + i : NULL, u, moved->counts ? moved->counts[k] : 0);
    }
}

static void ref_copy(pada_device *d, void *to, const void *from, const pada_range *ranges,
                     int n_ranges)
{
    (void)d;
    FOR_RANGES(i)((double *)to)[i] = ((const double *)from)[i];
}

static void ref_axpy(pada_device *d, void *y, double a, const void *x, const pada_range *ranges,
                     int n_ranges)
{
    (void)d;
    FOR_RANGES(i)((double *)y)[i] += a * ((const double *)x)[i];
}

static void ref_blend(pada_device *d, void *y, double a, const void *x, const pada_range *ranges,
                      int n_ranges)
{
    double *to = y;

    (void)d;
    FOR_RANGES(i) to[i] = a * to[i] + (1 - a) * ((const double *)x)[i];
}

static void ref_welford(pada_device *d, void *mean, void *spread, const void *x,
                        const pada_range *ranges, const int64_t *counts, int n_ranges)
{
    double *m = mean, *s = spread;

    (void)d;
    FOR_RANGES(i)
    {
        const double off = ((const double *)x)[i] - m[i];
        m[i] += off / (double)counts[k];
        s[i] += off * (((const double *)x)[i] - m[i]);
    }
}

extern const pada_backend pada_backend_ref;
const pada_backend pada_backend_ref = {
    .name = "ref",
    .summary = "plain loops in double precision, the oracle of every other backend",
    .dtype = PADA_F64,
    .open = ref_open,
    .close = ref_close,
    .describe = ref_describe,
    .alloc = ref_alloc,
    .release = ref_release,
    .write = ref_write,
    .read = ref_read,
    .read_i32 = ref_read_i32,
    .write_i32 = ref_write_i32,
    .read_raw = ref_read_raw,
    .write_raw = ref_write_raw,
    .image_bytes = ref_image_bytes,
    .channel_bytes = ref_channel_bytes,
    .unpack = ref_unpack,
    .pack = ref_pack,
    .prepare = ref_prepare,
    .run = ref_run,
    .fill_zero = ref_fill_zero,
    .sum_squares = ref_sum_squares,
    .dot = ref_dot,
    .update = ref_update,
    .copy = ref_copy,
    .axpy = ref_axpy,
    .blend = ref_blend,
    .welford = ref_welford,
};
