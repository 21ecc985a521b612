/* cpu_run.c - runs the stages of a program on CPU threads, image by image. */
#include <math.h>
#include <string.h>

#include "backend/cpu/cpu_device.h"
#include "base/elementary.h"

/* ---- one group of images ---- */

typedef struct run {
    pada_device *d;
    const pada_program *q;
    const pada_bindings *b;
} run;

/* A group of images in the hands of one thread. */
typedef struct group {
    const run *r;
    int first, n; /* images */
    int size;     /* images a full group has */
    int chunk;
    float *local, *scratch, *accumulators;
} group;

static float *work_at(const run *r, int64_t offset)
{
    return (float *)((char *)r->b->work + offset);
}

static cpu_tensor at(const group *g, const pada_place *place)
{
    const int64_t stride = place->image_bytes / (int64_t)sizeof(float);

    PADA_ASSERT(place->in != PADA_NOWHERE);
    if (place->in == PADA_LOCAL)
        return (cpu_tensor){g->local + place->offset / (int64_t)sizeof(float) * g->size, stride};
    if (place->in == PADA_TAPS)
        return (cpu_tensor){(float *)((char *)g->r->b->taps + place->offset) + g->first * stride,
                            stride};
    return (cpu_tensor){work_at(g->r, place->offset) + g->first * stride, stride};
}

static cpu_tensor value(const group *g, pada_value v)
{
    return at(g, &g->r->q->node_plans[v].value);
}

static cpu_tensor grad(const group *g, pada_value v)
{
    return at(g, &g->r->q->node_plans[v].grad);
}

static float *partials(const group *g, const cpu_layer *layer)
{
    return g->r->d->partials.data + g->chunk * g->r->d->chunk_floats + layer->partial;
}

static void run_conv(const group *g, const pada_instr *instr, const cpu_layer *layer)
{
    const run *r = g->r;
    const pada_node *node = &r->q->nodes[instr->v];
    const bool planar = r->q->nodes[node->x].op == PADA_OP_INPUT;
    const float *params = r->b->params;
    cpu_conv_job job = {
        .conv = &node->conv,
        .in = r->q->nodes[node->x].shape,
        .out = node->shape,
        .n_images = g->n,
        .planar = planar,
        .same_x = layer->same_x,
        .weight = r->d->packed.data + layer->packed,
        .bias = node->bias >= 0 ? params + node->bias : NULL,
        .scratch = g->scratch,
    };

    if (planar) {
        const int64_t stride = pada_shape_count(job.in);
        job.x = (cpu_tensor){(float *)r->b->images + g->first * stride, stride};
    } else {
        job.x = value(g, node->x);
    }
    if (instr->code == PADA_CODE_CONV_FWD) {
        job.z = value(g, instr->v);
        layer->kernel->forward(&job);
        return;
    }
    job.dy = grad(g, instr->dy);
    if (instr->term >= 0) {
        job.z = value(g, instr->v);
        job.coef = work_at(r, r->q->term_plans[instr->term].coef);
    }
    if (!instr->no_grad_in) job.dx = grad(g, node->x);
    job.accumulate = instr->accumulate;
    job.grad_weight = g->accumulators + layer->accumulator;
    if (node->bias >= 0)
        job.grad_bias = partials(g, layer) + cpu_round_up(layer->weights, CPU_UNIT);
    layer->kernel->backward(&job);
}

static void run_combine(const group *g, const pada_instr *instr)
{
    const run *r = g->r;
    const pada_node *node = &r->q->nodes[instr->v];
    const bool forward = instr->code == PADA_CODE_COMBINE_FWD;
    const int64_t vector = cpu_vector_floats(node->shape.c);
    cpu_term terms[CPU_MAX_TERMS];
    int n_terms = 0;

    for (int k = 0; k < node->n_terms; k++) {
        const int t = node->first_term + k;
        const pada_term *term = &r->q->terms[t];
        const pada_term_plan *plan = &r->q->term_plans[t];
        const bool norm = term->kind == PADA_TERM_BATCHNORM;
        cpu_term *to = &terms[n_terms];
        if (!forward && (plan->lazy || norm != instr->norms)) continue;
        *to = (cpu_term){.kind = term->kind, .pool = term->pool, .in = r->q->nodes[term->x].shape};
        if (forward || norm) to->x = value(g, term->x);
        if (forward && norm) {
            to->mean = work_at(r, plan->stats);
            to->factor = to->mean + vector;
            if (term->norm.shift >= 0) to->shift = (const float *)r->b->params + term->norm.shift;
        }
        if (!forward) {
            to->dx = grad(g, term->x);
            to->accumulate = plan->accumulate;
            if (norm) to->coef = work_at(r, plan->coef);
        }
        n_terms++;
    }
    if (forward)
        r->d->k->combine(terms, n_terms, node->shape, g->n, value(g, instr->v), g->scratch);
    else
        r->d->k->combine_grad(terms, n_terms, node->shape, g->n, grad(g, instr->v), g->scratch);
}

static void run_norm_sums(const group *g, const pada_instr *instr)
{
    const run *r = g->r;
    const pada_node *node = &r->q->nodes[instr->v];
    const int64_t vector = cpu_vector_floats(node->shape.c);
    const cpu_tensor dy = grad(g, instr->dy);

    for (int n = 0; n < g->n; n++) {
        const float *x[CPU_MAX_TERMS], *mean[CPU_MAX_TERMS];
        int count = 0;
        for (int k = 0; k < node->n_terms; k++) {
            const pada_term *term = &r->q->terms[node->first_term + k];
            if (term->kind != PADA_TERM_BATCHNORM) continue;
            const cpu_tensor from = value(g, term->x);
            x[count] = from.data + n * from.stride;
            mean[count++] = work_at(r, r->q->node_plans[term->x].stats);
        }
        r->d->k->norm_sums(dy.data + n * dy.stride, x, mean, count, node->shape,
                           work_at(r, instr->partial) +
                               (g->first + n) * (1 + node->n_terms) * vector);
    }
}

static void run_gap(const group *g, const pada_instr *instr)
{
    const pada_node *node = &g->r->q->nodes[instr->v];
    const pada_shape in = g->r->q->nodes[node->x].shape;
    const cpu_kernels *k = g->r->d->k;
    const cpu_tensor x = value(g, node->x);

    for (int n = 0; n < g->n; n++) {
        if (instr->code == PADA_CODE_GAP_FWD) {
            const cpu_tensor f = value(g, instr->v);
            k->gap(x.data + n * x.stride, in, node->act, f.data + n * f.stride);
        } else {
            const cpu_tensor df = grad(g, instr->v), dx = grad(g, node->x);
            k->gap_grad(x.data + n * x.stride, in, node->act, df.data + n * df.stride,
                        instr->accumulate, dx.data + n * dx.stride);
        }
    }
}

static void run_pool(const group *g, const pada_instr *instr)
{
    const pada_node *node = &g->r->q->nodes[instr->v];
    const bool forward = instr->code == PADA_CODE_POOL_FWD;
    const cpu_tensor x = value(g, node->x), y = forward ? value(g, instr->v) : grad(g, instr->v);
    const cpu_tensor dx = forward ? (cpu_tensor){0} : grad(g, node->x);
    cpu_pool_job job = {.pool = node->pool,
                        .kind = node->pool_kind,
                        .act = node->act,
                        .in = g->r->q->nodes[node->x].shape,
                        .out = node->shape,
                        .accumulate = instr->accumulate};

    for (int n = 0; n < g->n; n++) {
        job.x = x.data + n * x.stride;
        if (forward) {
            job.y = y.data + n * y.stride;
            g->r->d->k->pool(&job);
        } else {
            job.dy = y.data + n * y.stride;
            job.dx = dx.data + n * dx.stride;
            g->r->d->k->pool_grad(&job);
        }
    }
}

/* Whether the parts of a concatenation leave channels of it out, which are zero then, as padding is. */
static bool has_gaps(const pada_program *q, const pada_node *node, int64_t stride)
{
    int64_t channels = 0;

    for (int t = node->first_term; t < node->first_term + node->n_terms; t++)
        channels += q->nodes[q->terms[t].x].shape.c;
    return channels * node->shape.h * node->shape.w != stride;
}

static void run_concat(const group *g, const pada_instr *instr)
{
    const pada_program *q = g->r->q;
    const pada_node *node = &q->nodes[instr->v];
    const bool forward = instr->code == PADA_CODE_CONCAT_FWD;
    const cpu_tensor y = forward ? value(g, instr->v) : grad(g, instr->v);
    const bool clear = forward && has_gaps(q, node, y.stride);

    for (int n = 0; n < g->n; n++) {
        float *whole = y.data + n * y.stride;
        if (clear) memset(whole, 0, (size_t)y.stride * sizeof *whole);
        for (int t = node->first_term; t < node->first_term + node->n_terms; t++) {
            const pada_value x = q->terms[t].x;
            const int first = q->terms[t].channel, count = q->nodes[x].shape.c;
            const cpu_tensor part = forward ? value(g, x) : grad(g, x);
            float *at = part.data + n * part.stride;
            if (forward)
                g->r->d->k->join(at, count, node->shape, first, whole);
            else
                g->r->d->k->part(whole, node->shape, first, count, q->term_plans[t].accumulate, at);
        }
    }
}

static void run_gate(const group *g, const pada_instr *instr)
{
    const pada_program *q = g->r->q;
    const pada_node *node = &q->nodes[instr->v];
    const bool forward = instr->code == PADA_CODE_GATE_FWD;
    const int tx = node->first_term, ts = tx + 1;
    const cpu_tensor x = value(g, q->terms[tx].x), s = value(g, q->terms[ts].x);
    const cpu_tensor y = forward ? value(g, instr->v) : grad(g, instr->v);
    const cpu_tensor dx = forward ? (cpu_tensor){0} : grad(g, q->terms[tx].x);
    const cpu_tensor ds = forward ? (cpu_tensor){0} : grad(g, q->terms[ts].x);

    for (int n = 0; n < g->n; n++) {
        cpu_gate_job job = {.act = node->act,
                            .shape = node->shape,
                            .x = x.data + n * x.stride,
                            .s = s.data + n * s.stride};
        if (forward) {
            job.y = y.data + n * y.stride;
            g->r->d->k->gate(&job);
            continue;
        }
        job.dy = y.data + n * y.stride;
        job.dx = dx.data + n * dx.stride;
        job.ds = ds.data + n * ds.stride;
        job.add_x = q->term_plans[tx].accumulate;
        job.add_s = q->term_plans[ts].accumulate;
        g->r->d->k->gate_grad(&job);
    }
}

static void run_constant(const group *g, const pada_instr *instr, const cpu_layer *layer)
{
    const pada_node *node = &g->r->q->nodes[instr->v];
    const bool forward = instr->code == PADA_CODE_CONSTANT_FWD;
    const cpu_tensor y = forward ? value(g, instr->v) : grad(g, instr->v);

    for (int n = 0; n < g->n; n++)
        if (forward)
            g->r->d->k->spread((const float *)g->r->b->params + node->bias, node->shape,
                               y.data + n * y.stride);
        else
            g->r->d->k->add_pixels(y.data + n * y.stride, node->shape, partials(g, layer));
}

static void run_drop(const group *g, const pada_instr *instr)
{
    const run *r = g->r;
    const pada_node *node = &r->q->nodes[instr->v];
    const bool forward = instr->code == PADA_CODE_DROP_FWD;
    const cpu_tensor x = forward ? value(g, node->x) : grad(g, instr->v);
    const cpu_tensor y = forward ? value(g, instr->v) : grad(g, node->x);

    for (int n = 0; n < g->n; n++)
        pada_cpu_drop(&(cpu_drop_job){.drops = &r->b->drops,
                                      .drop = node->drop,
                                      .image = g->first + n,
                                      .width = r->d->k->width,
                                      .shape = node->shape,
                                      .x = x.data + n * x.stride,
                                      .y = y.data + n * y.stride,
                                      .accumulate = instr->accumulate});
}

static void run_linear(const group *g, const pada_instr *instr, const cpu_layer *layer)
{
    const run *r = g->r;
    const pada_node *node = &r->q->nodes[instr->v];
    const float *params = r->b->params;
    const bool forward = instr->code == PADA_CODE_LINEAR_FWD, fed = node->x != PADA_ZERO;
    const int in = fed ? r->q->nodes[node->x].shape.c : 0, out = node->shape.c;
    const cpu_tensor y = forward ? value(g, instr->v) : grad(g, instr->v);

    for (int n = 0; n < g->n; n++) {
        float *row = y.data + n * y.stride;
        const cpu_tensor from = fed ? value(g, node->x) : (cpu_tensor){0};
        const float *x = fed ? from.data + n * from.stride : NULL, *w = params + node->weight;
        if (forward) {
            for (int o = 0; o < out; o++) {
                double sum = node->bias >= 0 ? params[node->bias + o] : 0;
                for (int i = 0; i < in; i++)
                    sum += (double)w[(int64_t)o * in + i] * x[i];
                row[o] = (float)sum;
            }
            continue;
        }
        float *gw = partials(g, layer), *gb = gw + cpu_round_up(layer->weights, CPU_UNIT);
        for (int o = 0; o < out; o++)
            gb[o] += row[o];
        if (!fed) continue;
        const cpu_tensor to = grad(g, node->x);
        float *dx = to.data + n * to.stride;
        if (!instr->accumulate) memset(dx, 0, (size_t)to.stride * sizeof *dx);
        for (int o = 0; o < out; o++)
            for (int i = 0; i < in; i++) {
                gw[(int64_t)o * in + i] += row[o] * x[i];
                dx[i] += row[o] * w[(int64_t)o * in + i];
            }
    }
}

/* The factor of an image's loss in the gradient. */
static double loss_scale(const run *r, int n)
{
    return r->b->grad_scale * (r->b->weights ? r->b->weights[n] : 1.0) / r->q->n_images;
}

/* Channels of padding are zero in every value, so that whole blocks can be copied. */
static void run_tap(const group *g, const pada_instr *instr)
{
    const run *r = g->r;
    const pada_node *node = &r->q->nodes[instr->v];
    const bool fed = node->x != PADA_ZERO;
    const cpu_tensor kept = value(g, instr->v), x = fed ? value(g, node->x) : (cpu_tensor){0};
    const double share = 1 / ((double)pada_shape_count(node->shape) * r->q->n_taps);
    const int64_t count =
        cpu_round_up(node->shape.c, r->d->k->width) * node->shape.h * node->shape.w;

    for (int k = 0; k < g->n; k++) {
        const float *from = fed ? x.data + k * x.stride : NULL;
        float *at = kept.data + k * kept.stride;
        if (instr->code == PADA_CODE_TAP_KEEP && fed) {
            memcpy(at, from, (size_t)count * sizeof *at);
        } else if (instr->code == PADA_CODE_TAP_KEEP) {
            memset(at, 0, (size_t)count * sizeof *at);
        } else if (instr->code == PADA_CODE_ALIGN_FWD) {
            float *result = (float *)r->b->results.align + g->first + k;
            const double sum = r->d->k->distance(from, at, node->shape);
            *result = (instr->accumulate ? *result : 0) + (float)(share * sum);
        } else {
            const cpu_tensor to = grad(g, node->x);
            const double factor = 2 * r->b->align * loss_scale(r, g->first + k) * share;
            r->d->k->scaled_difference(from, at, count, (float)factor, instr->accumulate,
                                       to.data + k * to.stride);
        }
    }
}

static void run_loss(const group *g, const pada_instr *instr)
{
    const run *r = g->r;
    const pada_value logits = r->q->nodes[instr->v].x;
    const int classes = r->q->nodes[logits].shape.c;
    const bool train = r->q->node_plans[logits].grad.in != PADA_NOWHERE;
    const cpu_tensor from = value(g, logits), to = train ? grad(g, logits) : (cpu_tensor){0};
    const pada_loss *what = &r->q->nodes[instr->v].loss;
    const double sharp = 1 - what->smoothing, even = what->smoothing / classes;

    for (int k = 0; k < g->n; k++) {
        const int n = g->first + k, label = r->b->labels[n];
        const float *l = from.data + k * from.stride;
        const double scale = loss_scale(r, n) * what->weight;
        double top = l[0], sum = 0, rest = 0, squares = 0;
        int rank = 0;
        for (int c = 1; c < classes; c++)
            if (l[c] > top) top = l[c];
        for (int c = 0; c < classes; c++)
            sum += pada_exp(l[c] - top);
        for (int c = 0; c < classes; c++) {
            const double d = pada_exp(l[c] - top) / sum - (even + (c == label ? sharp : 0));
            squares += d * d;
            if (train) to.data[k * to.stride + c] = (float)(scale * d);
            rank += c < label ? l[c] >= l[label] : l[c] > l[label];
        }
        if (what->is_auxiliary) continue;
        for (int c = 0; c < classes && even > 0; c++)
            rest += l[c] - top;
        ((float *)r->b->results.loss)[n] =
            (float)(pada_ln(sum) - sharp * (l[label] - top) - even * rest);
        ((float *)r->b->results.norm)[n] = (float)sqrt(squares);
        r->b->results.rank[n] = rank;
    }
}

static void run_moments(const group *g, const pada_instr *instr)
{
    const run *r = g->r;
    const pada_shape shape = r->q->nodes[instr->v].shape;
    const int64_t vector = cpu_vector_floats(shape.c);
    const cpu_tensor x = value(g, instr->v);

    for (int n = 0; n < g->n; n++)
        r->d->k->moments(x.data + n * x.stride, shape,
                         work_at(r, instr->partial) + (g->first + n) * 3 * vector);
}

static void run_instr(const group *g, int i)
{
    const pada_instr *instr = &g->r->q->instrs[i];
    const cpu_layer *layer = &g->r->d->layers[i];

    switch (instr->code) {
    case PADA_CODE_CONV_FWD:
    case PADA_CODE_CONV_BWD: run_conv(g, instr, layer); break;
    case PADA_CODE_COMBINE_FWD:
    case PADA_CODE_COMBINE_BWD: run_combine(g, instr); break;
    case PADA_CODE_NORM_SUMS: run_norm_sums(g, instr); break;
    case PADA_CODE_POOL_FWD:
    case PADA_CODE_POOL_BWD: run_pool(g, instr); break;
    case PADA_CODE_CONCAT_FWD:
    case PADA_CODE_CONCAT_BWD: run_concat(g, instr); break;
    case PADA_CODE_DROP_FWD:
    case PADA_CODE_DROP_BWD: run_drop(g, instr); break;
    case PADA_CODE_CONSTANT_FWD:
    case PADA_CODE_CONSTANT_BWD: run_constant(g, instr, layer); break;
    case PADA_CODE_GATE_FWD:
    case PADA_CODE_GATE_BWD: run_gate(g, instr); break;
    case PADA_CODE_GAP_FWD:
    case PADA_CODE_GAP_BWD: run_gap(g, instr); break;
    case PADA_CODE_LINEAR_FWD:
    case PADA_CODE_LINEAR_BWD: run_linear(g, instr, layer); break;
    case PADA_CODE_LOSS_FWD: run_loss(g, instr); break;
    case PADA_CODE_TAP_KEEP:
    case PADA_CODE_ALIGN_FWD:
    case PADA_CODE_ALIGN_BWD: run_tap(g, instr); break;
    }
    if (instr->stats) run_moments(g, instr);
}

/* ---- stages ---- */

/* A run of consecutive images that one thread takes: a chunk where weight gradients are collected,
 * otherwise a group, which balances better. */
typedef struct portion {
    int first, end; /* images */
    int chunk;
} portion;

static void clear_gradients(const group *g, const pada_stage *stage)
{
    const pada_device *d = g->r->d;

    for (int i = stage->first; i < stage->first + stage->count; i++) {
        const cpu_layer *layer = &d->layers[i];
        const pada_node *node = &g->r->q->nodes[g->r->q->instrs[i].v];
        if (!pada_cpu_is_layer_grad(&g->r->q->instrs[i])) continue;
        float *weights = partials(g, layer),
              *bias = weights + cpu_round_up(layer->weights, CPU_UNIT);
        if (layer->kernel)
            memset(g->accumulators + layer->accumulator, 0,
                   (size_t)layer->kernel->accumulator_floats(&node->conv) * sizeof(float));
        else
            memset(weights, 0, (size_t)layer->weights * sizeof(float));
        memset(bias, 0, (size_t)cpu_vector_floats(node->shape.c) * sizeof(float));
    }
}

static void unpack_gradients(const group *g, const pada_stage *stage)
{
    const pada_device *d = g->r->d;

    for (int i = stage->first; i < stage->first + stage->count; i++)
        if (pada_cpu_is_layer_grad(&g->r->q->instrs[i]) && d->layers[i].kernel)
            d->layers[i].kernel->unpack_grad(&g->r->q->nodes[g->r->q->instrs[i].v].conv,
                                             g->accumulators + d->layers[i].accumulator,
                                             partials(g, &d->layers[i]));
}

/* All instructions of a stage on a portion, its groups of `size` front to back, or `back` to front.
 */
static void run_portion(const run *r, const pada_stage *stage, portion p, int size, bool back,
                        int thread)
{
    const pada_device *d = r->d;
    const int n_groups = (p.end - p.first + size - 1) / size;
    group g = {.r = r,
               .size = size,
               .chunk = p.chunk,
               .local = d->threads.data + thread * d->thread_floats};

    g.scratch = g.local + d->local_floats;
    g.accumulators = g.scratch + d->scratch_floats;
    clear_gradients(&g, stage);
    for (int k = 0; k < n_groups; k++) {
        g.first = p.first + (back ? n_groups - 1 - k : k) * size;
        g.n = p.end - g.first < size ? p.end - g.first : size;
        for (int i = stage->first; i < stage->first + stage->count; i++)
            run_instr(&g, i);
    }
    unpack_gradients(&g, stage);
}

static bool has_gradients(const pada_program *q, const pada_stage *stage)
{
    for (int i = stage->first; i < stage->first + stage->count; i++)
        if (pada_cpu_is_layer_grad(&q->instrs[i])) return true;
    return false;
}

/* A loop of the pool over the images or the instructions of one stage. */
typedef struct loop {
    const run *r;
    const pada_stage *stage; /* NULL: all stages of the run */
    int first;               /* instruction of item 0 */
    cpu_share share;
    int group;      /* images that run together */
    int n_portions; /* chunks, or groups */
    bool by_chunk;
    bool back; /* from the last image to the first */
} loop;

static void pack_item(void *context, int item, int thread)
{
    const loop *l = context;
    const run *r = l->r;
    const pada_instr *instr = &r->q->instrs[l->first + item];
    const pada_node *node = &r->q->nodes[instr->v];
    const cpu_layer *layer = &r->d->layers[l->first + item];

    (void)thread;
    if (instr->code != PADA_CODE_CONV_FWD && instr->code != PADA_CODE_CONV_BWD) return;
    layer->kernel->pack(&node->conv, (const float *)r->b->params + node->weight,
                        instr->code == PADA_CODE_CONV_BWD, r->d->packed.data + layer->packed);
}

static void portion_item(void *context, int item, int thread)
{
    const loop *l = context;
    const int k = l->back ? l->n_portions - 1 - item : item;
    const int chunk = l->share.first_chunk + k, first = l->share.first + k * l->group;
    portion p;

    if (l->by_chunk)
        p = (portion){cpu_share_chunk(&l->share, chunk), cpu_share_chunk(&l->share, chunk + 1),
                      chunk};
    else
        p = (portion){first, k < l->n_portions - 1 ? first + l->group : l->share.end, 0};
    run_portion(l->r, l->stage, p, l->group, l->back, thread);
}

static void run_stage(const run *r, int s)
{
    const pada_stage *stage = &r->q->stages[s];
    loop l = {.r = r,
              .stage = stage,
              .first = stage->first,
              .share = pada_cpu_share(r->d, r->q->n_images),
              .group = pada_cpu_group_size(r->q, stage),
              /* What the stage before wrote last is still in cache. */
              .back = s % 2 == 1,
              .by_chunk = has_gradients(r->q, stage)};

    const int n_images = l.share.end - l.share.first;
    l.n_portions =
        l.by_chunk ? l.share.end_chunk - l.share.first_chunk : (n_images + l.group - 1) / l.group;
    pada_pool_run(r->d->pool, l.n_portions, portion_item, &l);
    pada_cpu_finish_stage(r->d, r->q, r->b, stage, &l.share);
}

/* What all processes are to have after stage s. */
static void join_pass(const run *r, int s)
{
    const cpu_share share = pada_cpu_share(r->d, r->q->n_images);

    if (s + 1 == r->q->n_forward) pada_cpu_join_results(r->d, r->q, r->b);
    if (s + 1 == r->q->n_stages && s >= r->q->n_forward)
        pada_cpu_finish_backward(r->d, r->q, r->b, &share);
}

void pada_cpu_run(pada_device *d, const pada_program *q, const pada_bindings *b, int first,
                  int count)
{
    const run r = {d, q, b};
    const pada_stage *last = &q->stages[first + count - 1];
    loop pack = {.r = &r, .first = q->stages[first].first};

    if (first == 0) pada_cpu_set_fixed_norms(q, b);
    pada_pool_run(d->pool, last->first + last->count - pack.first, pack_item, &pack);
    for (int s = first; s < first + count; s++) {
        run_stage(&r, s);
        if (d->team) join_pass(&r, s);
    }
}
