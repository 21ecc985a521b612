/* cuda_run.c - runs the stages of a program on the device: single instructions over the batch with the
 * general kernels. Groups of them (cuda_match.h) are in cuda_run_node.c.
 *
 * The order of the stream is the order of the steps, so a reduction is finished right behind the
 * instruction that collects it. */
#include "backend/cuda/cuda_run.h"

typedef cuda_run run;

/* ---- where things are ---- */

static cuda_tensor at(const run *r, const pada_place *place, pada_shape shape)
{
    PADA_ASSERT(place->in != PADA_NOWHERE);
    char *data = place->in == PADA_WORK ? (char *)r->b->work + place->offset
                 : place->in == PADA_TAPS
                     ? (char *)r->b->taps + place->offset
                     : (char *)r->d->local.data + place->offset * r->q->n_images;
    return cuda_tensor_at(r->d, data, shape);
}

cuda_tensor pada_cuda_value(const run *r, pada_value v)
{
    const pada_node *node = &r->q->nodes[v];

    if (node->op == PADA_OP_INPUT) return cuda_tensor_at(r->d, r->d->images.data, node->shape);
    return at(r, &r->q->node_plans[v].value, node->shape);
}

cuda_tensor pada_cuda_grad(const run *r, pada_value v)
{
    return at(r, &r->q->node_plans[v].grad, r->q->nodes[v].shape);
}

static cuda_tensor value(const run *r, pada_value v)
{
    return pada_cuda_value(r, v);
}

static cuda_tensor grad(const run *r, pada_value v)
{
    return pada_cuda_grad(r, v);
}

/* ---- instructions ---- */

static cuda_conv_job conv_job(const run *r, const pada_node *node)
{
    const float *params = r->b->params;

    return (cuda_conv_job){
        .conv = node->conv,
        .in = r->q->nodes[node->x].shape,
        .out = node->shape,
        .n_images = r->q->n_images,
        .x = value(r, node->x),
        .weight = params + node->weight,
        .bias = node->bias >= 0 ? params + node->bias : NULL,
    };
}

static void conv_forward(const run *r, const pada_instr *instr)
{
    const cuda_conv_job job = conv_job(r, &r->q->nodes[instr->v]);

    cuda_run_note(r, pada_cuda_conv_forward(r->d->stream, &job, value(r, instr->v)),
                  "conv_forward");
}

static void conv_backward(const run *r, const pada_instr *instr, bool accumulate)
{
    const pada_node *node = &r->q->nodes[instr->v];
    const cudaStream_t stream = r->d->stream;
    const int n = r->q->n_images;
    float *grads = r->b->grads;
    cuda_conv_job job = conv_job(r, node);

    job.dz = grad(r, instr->dy);
    if (instr->term >= 0) {
        const cuda_tensor dy = job.dz, z = value(r, instr->v);
        job.dz = cuda_tensor_at(r->d, r->d->dz.data, node->shape);
        cuda_run_note(r,
                      pada_cuda_norm_grad(stream, node->shape, n, dy, z,
                                          work_at(r, r->q->term_plans[instr->term].coef),
                                          vector_of(node), job.dz),
                      "norm_grad");
    }
    job.grad_weight = grads + node->weight;
    job.partial = r->d->partial.data;
    cuda_run_note(r, pada_cuda_conv_grad_weight(stream, &job), "conv_grad_weight");
    if (node->bias >= 0)
        cuda_run_note(r,
                      pada_cuda_bias_grad(stream, job.dz, node->shape, n, r->d->partial.data,
                                          grads + node->bias),
                      "bias_grad");
    if (instr->no_grad_in) return;
    job.dx = grad(r, node->x);
    job.accumulate = accumulate;
    cuda_run_note(r, pada_cuda_conv_grad_in(stream, &job), "conv_grad_in");
}

static void combine_forward(const run *r, const pada_instr *instr)
{
    const pada_node *node = &r->q->nodes[instr->v];
    const cuda_tensor y = value(r, instr->v);

    for (int first = 0; first < node->n_terms; first += CUDA_MAX_TERMS) {
        cuda_term terms[CUDA_MAX_TERMS];
        int n = 0;
        for (int k = first; k < node->n_terms && n < CUDA_MAX_TERMS; k++) {
            const pada_term *term = &r->q->terms[node->first_term + k];
            terms[n] = (cuda_term){.kind = term->kind,
                                   .pool = term->pool,
                                   .in = r->q->nodes[term->x].shape,
                                   .x = value(r, term->x)};
            if (term->kind == PADA_TERM_BATCHNORM) {
                const cuda_moments moments = pada_cuda_moments_of(r, node->first_term + k);
                terms[n].mean = moments.mean;
                terms[n].rstd = moments.rstd;
                terms[n].scale = params_at(r, term->norm.scale);
                terms[n].shift = params_at(r, term->norm.shift);
            }
            n++;
        }
        cuda_run_note(
            r, pada_cuda_combine(r->d->stream, terms, n, node->shape, r->q->n_images, first > 0, y),
            "combine");
    }
}

/* The gradient of one term. */
static void combine_backward(const run *r, const pada_instr *instr, bool accumulate)
{
    const pada_node *node = &r->q->nodes[instr->v];

    const pada_term *term = &r->q->terms[instr->term];
    cuda_term job = {.kind = term->kind,
                     .pool = term->pool,
                     .in = r->q->nodes[term->x].shape,
                     .dx = grad(r, term->x),
                     .accumulate = accumulate,
                     .vector = vector_of(node)};

    if (instr->norms) {
        job.x = value(r, term->x);
        job.coef = work_at(r, r->q->term_plans[instr->term].coef);
    }
    cuda_run_note(
        r,
        pada_cuda_combine_grad(r->d->stream, &job, node->shape, r->q->n_images, grad(r, instr->v)),
        "combine_grad");
}

static void norm_sums(const run *r, const pada_instr *instr)
{
    const pada_node *node = &r->q->nodes[instr->v];
    float *grads = r->b->grads;

    for (int t = node->first_term; t < node->first_term + node->n_terms; t++) {
        const pada_value x = r->q->terms[t].x;
        const pada_norm *norm = &r->q->terms[t].norm;
        if (r->q->terms[t].kind != PADA_TERM_BATCHNORM) continue;
        cuda_norm_job job = {.mean = work_at(r, r->q->node_plans[x].stats),
                             .scale = params_at(r, norm->scale),
                             .coef = work_at(r, r->q->term_plans[t].coef),
                             .vector = vector_of(node)};
        job.rstd = job.mean + job.vector;
        if (norm->scale >= 0) job.grad_scale = grads + norm->scale;
        if (norm->shift >= 0) job.grad_shift = grads + norm->shift;
        cuda_run_note(r,
                      pada_cuda_norm_coef(r->d->stream, grad(r, instr->dy), value(r, x),
                                          node->shape, r->q->n_images, r->d->partial.data, &job),
                      "norm_coef");
    }
}

static void gap(const run *r, const pada_instr *instr, bool accumulate)
{
    const pada_node *node = &r->q->nodes[instr->v];
    const pada_shape in = r->q->nodes[node->x].shape;
    const cuda_tensor x = value(r, node->x);

    if (instr->code == PADA_CODE_GAP_FWD)
        cuda_run_note(
            r, pada_cuda_gap(r->d->stream, x, in, node->act, r->q->n_images, value(r, instr->v)),
            "gap");
    else
        cuda_run_note(r,
                      pada_cuda_gap_grad(r->d->stream, x, in, node->act, r->q->n_images,
                                         grad(r, instr->v), accumulate, grad(r, node->x)),
                      "gap_grad");
}

static void constant(const run *r, const pada_instr *instr)
{
    const pada_node *node = &r->q->nodes[instr->v];
    const float *params = r->b->params;
    float *grads = r->b->grads;

    if (instr->code == PADA_CODE_CONSTANT_FWD)
        cuda_run_note(r,
                      pada_cuda_constant(r->d->stream, params + node->bias, node->shape,
                                         r->q->n_images, value(r, instr->v)),
                      "constant");
    else
        cuda_run_note(r,
                      pada_cuda_bias_grad(r->d->stream, grad(r, instr->v), node->shape,
                                          r->q->n_images, r->d->partial.data, grads + node->bias),
                      "bias_grad");
}

static void pool(const run *r, const pada_instr *instr, bool accumulate)
{
    const pada_node *node = &r->q->nodes[instr->v];
    const bool forward = instr->code == PADA_CODE_POOL_FWD;
    cuda_pool_job job = {.pool = node->pool,
                         .kind = node->pool_kind,
                         .act = node->act,
                         .in = r->q->nodes[node->x].shape,
                         .out = node->shape,
                         .n_images = r->q->n_images,
                         .x = value(r, node->x),
                         .y = forward ? value(r, instr->v) : grad(r, instr->v),
                         .accumulate = accumulate};

    if (forward) {
        cuda_run_note(r, pada_cuda_pool(r->d->stream, &job), "pool");
        return;
    }
    job.dx = grad(r, node->x);
    cuda_run_note(r, pada_cuda_pool_grad(r->d->stream, &job), "pool_grad");
}

/* All parts forward; the gradient of one of them. */
static void concat(const run *r, const pada_instr *instr, bool accumulate)
{
    const pada_node *node = &r->q->nodes[instr->v];
    cuda_concat_job job = {.n_parts = 0};

    for (int t = node->first_term; t < node->first_term + node->n_terms; t++) {
        const pada_term *term = &r->q->terms[t];
        if (instr->term >= 0 && instr->term != t) continue;
        job.parts[job.n_parts++] =
            (cuda_part){.x = instr->term >= 0 ? grad(r, term->x) : value(r, term->x),
                        .first = term->channel,
                        .channels = r->q->nodes[term->x].shape.c};
    }
    if (instr->code == PADA_CODE_CONCAT_FWD)
        cuda_run_note(
            r,
            pada_cuda_concat(r->d->stream, &job, node->shape, r->q->n_images, value(r, instr->v)),
            "concat");
    else
        cuda_run_note(r,
                      pada_cuda_concat_grad(r->d->stream, &job.parts[0], node->shape,
                                            r->q->n_images, grad(r, instr->v), accumulate),
                      "concat_grad");
}

/* The gradient of x or that of s. */
static void gate(const run *r, const pada_instr *instr, bool accumulate)
{
    const pada_node *node = &r->q->nodes[instr->v];
    const pada_value x = r->q->terms[node->first_term].x, s = r->q->terms[node->first_term + 1].x;
    const bool forward = instr->code == PADA_CODE_GATE_FWD;
    cuda_gate_job job = {.act = node->act,
                         .shape = node->shape,
                         .n_images = r->q->n_images,
                         .x = value(r, x),
                         .s = value(r, s),
                         .y = forward ? value(r, instr->v) : grad(r, instr->v),
                         .accumulate = accumulate};

    if (forward) {
        cuda_run_note(r, pada_cuda_gate(r->d->stream, &job), "gate");
        return;
    }
    job.to = grad(r, r->q->terms[instr->term].x);
    if (instr->term == node->first_term)
        cuda_run_note(r, pada_cuda_gate_grad(r->d->stream, &job), "gate_grad");
    else
        cuda_run_note(r, pada_cuda_gate_factor_grad(r->d->stream, &job), "gate_factor_grad");
}

static cuda_linear_job linear_job(const run *r, const pada_instr *instr)
{
    const pada_node *node = &r->q->nodes[instr->v];
    const bool forward = instr->code == PADA_CODE_LINEAR_FWD, fed = node->x != PADA_ZERO;
    const float *params = r->b->params;
    float *grads = r->b->grads;
    cuda_linear_job job = {.n_in = fed ? r->q->nodes[node->x].shape.c : 0,
                           .n_out = node->shape.c,
                           .n_images = r->q->n_images,
                           .y = forward ? value(r, instr->v) : grad(r, instr->v),
                           .weight = params + node->weight,
                           .bias = node->bias >= 0 ? params + node->bias : NULL};

    if (fed) job.x = value(r, node->x);
    if (forward) return job;
    if (fed) job.dx = grad(r, node->x);
    job.grad_weight = grads + node->weight;
    if (node->bias >= 0) job.grad_bias = grads + node->bias;
    return job;
}

static void linear(const run *r, const pada_instr *instr, bool accumulate)
{
    cuda_linear_job job = linear_job(r, instr);

    job.accumulate = accumulate;
    if (instr->code == PADA_CODE_LINEAR_FWD)
        cuda_run_note(r, pada_cuda_linear(r->d->stream, &job), "linear");
    else
        cuda_run_note(r, pada_cuda_linear_grad(r->d->stream, &job), "linear_grad");
}

static cuda_loss_job loss_job(const run *r, const pada_instr *instr)
{
    const pada_loss *what = &r->q->nodes[instr->v].loss;
    const pada_value logits = r->q->nodes[instr->v].x;
    cuda_loss_job job = {.classes = r->q->nodes[logits].shape.c,
                         .n_images = r->q->n_images,
                         .logits = value(r, logits),
                         .labels = r->d->labels.data,
                         .weights = r->b->weights ? r->d->weights.data : NULL,
                         .smoothing = what->smoothing,
                         .grad_scale = r->b->grad_scale * what->weight,
                         .loss = what->is_auxiliary ? NULL : r->b->results.loss,
                         .norm = r->b->results.norm,
                         .rank = r->b->results.rank};

    if (r->q->node_plans[logits].grad.in != PADA_NOWHERE) job.grad = grad(r, logits);
    return job;
}

static void loss(const run *r, const pada_instr *instr)
{
    const cuda_loss_job job = loss_job(r, instr);

    cuda_run_note(r, pada_cuda_loss(r->d->stream, &job), "loss");
}

/* All three at once; `pooled` is the GAP. */
static cuda_head_job head_job(const run *r, pada_value pooled, const pada_instr *linear_instr)
{
    const pada_node *node = &r->q->nodes[pooled];

    return (cuda_head_job){.in = r->q->nodes[node->x].shape,
                           .act = node->act,
                           .n_images = r->q->n_images,
                           .x = value(r, node->x),
                           .features = value(r, pooled),
                           .linear = linear_job(r, linear_instr)};
}

static void head_forward(const run *r, const cuda_step *step)
{
    const int *members = r->d->match.members + step->first;
    const pada_instr *instrs = r->q->instrs;
    cuda_head_job job = head_job(r, instrs[members[0]].v, &instrs[members[1]]);

    job.loss = loss_job(r, &instrs[members[2]]);
    cuda_run_note(r, pada_cuda_head_forward(r->d->stream, &job), "head_forward");
}

static void head_backward(const run *r, const cuda_step *step)
{
    const int *members = r->d->match.members + step->first;
    const pada_value pooled = r->q->instrs[members[1]].v;
    cuda_head_job job = head_job(r, pooled, &r->q->instrs[members[0]]);

    job.dx = grad(r, r->q->nodes[pooled].x);
    cuda_run_note(r, pada_cuda_head_backward(r->d->stream, &job), "head_backward");
}

static void drop(const run *r, const pada_instr *instr, bool accumulate)
{
    const pada_node *node = &r->q->nodes[instr->v];
    const bool forward = instr->code == PADA_CODE_DROP_FWD;
    const cuda_drop_job job = {.drops = r->b->drops,
                               .drop = node->drop,
                               .shape = node->shape,
                               .n_images = r->q->n_images,
                               .x = forward ? value(r, node->x) : grad(r, instr->v),
                               .y = forward ? value(r, instr->v) : grad(r, node->x),
                               .accumulate = accumulate};

    cuda_run_note(r, pada_cuda_drop(r->d->stream, &job), "drop");
}

static void tap(const run *r, const pada_instr *instr, bool accumulate)
{
    const pada_node *node = &r->q->nodes[instr->v];
    cuda_align_job job = {.shape = node->shape,
                          .n_images = r->q->n_images,
                          .kept = value(r, instr->v),
                          .accumulate = accumulate,
                          .share = 1 / ((double)pada_shape_count(node->shape) * r->q->n_taps),
                          .distance = r->b->results.align,
                          .scale = r->b->align * r->b->grad_scale,
                          .weights = r->b->weights ? r->d->weights.data : NULL};

    if (node->x != PADA_ZERO) job.x = value(r, node->x);
    if (instr->code == PADA_CODE_TAP_KEEP) {
        cuda_run_note(r, pada_cuda_tap_keep(r->d->stream, &job), "tap_keep");
    } else if (instr->code == PADA_CODE_ALIGN_FWD) {
        job.accumulate = instr->accumulate;
        cuda_run_note(r, pada_cuda_align(r->d->stream, &job), "align");
    } else {
        job.dx = grad(r, node->x);
        cuda_run_note(r, pada_cuda_align_grad(r->d->stream, &job), "align_grad");
    }
}

static void moments(const run *r, pada_value v)
{
    const pada_node *node = &r->q->nodes[v];
    float *mean = work_at(r, r->q->node_plans[v].stats);

    if (r->d->match.nodes[v].moments >= 0) {
        pada_cuda_run_sums(r, v);
        return;
    }
    cuda_run_note(r,
                  pada_cuda_moments(r->d->stream, value(r, v), node->shape, r->q->n_images,
                                    r->q->norm_epsilon, r->d->partial.data, mean,
                                    mean + vector_of(node)),
                  "moments");
}

static void run_instr(const run *r, const pada_instr *instr, bool accumulate)
{
    switch (instr->code) {
    case PADA_CODE_CONV_FWD: conv_forward(r, instr); break;
    case PADA_CODE_CONV_BWD: conv_backward(r, instr, accumulate); break;
    case PADA_CODE_COMBINE_FWD: combine_forward(r, instr); break;
    case PADA_CODE_COMBINE_BWD: combine_backward(r, instr, accumulate); break;
    case PADA_CODE_NORM_SUMS: norm_sums(r, instr); break;
    case PADA_CODE_GAP_FWD:
    case PADA_CODE_GAP_BWD: gap(r, instr, accumulate); break;
    case PADA_CODE_CONSTANT_FWD:
    case PADA_CODE_CONSTANT_BWD: constant(r, instr); break;
    case PADA_CODE_GATE_FWD:
    case PADA_CODE_GATE_BWD: gate(r, instr, accumulate); break;
    case PADA_CODE_LINEAR_FWD:
    case PADA_CODE_LINEAR_BWD: linear(r, instr, accumulate); break;
    case PADA_CODE_LOSS_FWD: loss(r, instr); break;
    case PADA_CODE_DROP_FWD:
    case PADA_CODE_DROP_BWD: drop(r, instr, accumulate); break;
    case PADA_CODE_TAP_KEEP:
    case PADA_CODE_ALIGN_FWD:
    case PADA_CODE_ALIGN_BWD: tap(r, instr, accumulate); break;
    case PADA_CODE_POOL_FWD:
    case PADA_CODE_POOL_BWD: pool(r, instr, accumulate); break;
    case PADA_CODE_CONCAT_FWD:
    case PADA_CODE_CONCAT_BWD: concat(r, instr, accumulate); break;
    }
    if (instr->stats) moments(r, instr->v);
}

/* ---- stages ---- */

/* Brings the batch to the device. */
static void send_batch(const run *r)
{
    pada_device *d = r->d;
    const int64_t n = r->q->n_images;

    for (int v = 0; v < r->q->n_nodes; v++) {
        const pada_shape shape = r->q->nodes[v].shape;
        if (r->q->nodes[v].op != PADA_OP_INPUT) continue;
        if (!r->b->images) {
            pada_cuda_send(d, d->picks.data, r->b->picks, n * (int64_t)sizeof(pada_pick));
            cuda_run_note(r,
                          pada_cuda_gather(d->stream, r->b->held,
                                           (const uint8_t *)r->b->held + cuda_levels_bytes(shape),
                                           d->picks.data, shape, (int)n, value(r, v)),
                          "gather");
            continue;
        }
        pada_cuda_send(d, d->planar.data, r->b->images,
                       n * pada_shape_count(shape) * (int64_t)sizeof(float));
        cuda_run_note(r, pada_cuda_import(d->stream, d->planar.data, shape, (int)n, value(r, v)),
                      "import");
    }
    pada_cuda_send(d, d->labels.data, r->b->labels, n * (int64_t)sizeof(int32_t));
    if (r->b->weights)
        pada_cuda_send(d, d->weights.data, r->b->weights, n * (int64_t)sizeof(float));
}

static void run_step(const run *r, const cuda_step *step)
{
    switch (step->kind) {
    case CUDA_STEP_INSTR:
        run_instr(r, &r->q->instrs[r->d->match.members[step->first]], step->accumulate);
        break;
    case CUDA_STEP_NODE_FORWARD: pada_cuda_run_node_forward(r, step); break;
    case CUDA_STEP_NODE_BACKWARD: pada_cuda_run_node_backward(r, step); break;
    case CUDA_STEP_REDUCTION_FORWARD: pada_cuda_run_reduction_forward(r, step); break;
    case CUDA_STEP_REDUCTION_BACKWARD: pada_cuda_run_reduction_backward(r, step); break;
    case CUDA_STEP_STEM_FORWARD:
    case CUDA_STEP_STEM_BACKWARD: pada_cuda_run_stem(r, step); break;
    case CUDA_STEP_HEAD_FORWARD: head_forward(r, step); break;
    case CUDA_STEP_HEAD_BACKWARD: head_backward(r, step); break;
    case CUDA_STEP_LEVEL: pada_cuda_run_level(r, step); break;
    }
}

void pada_cuda_run(pada_device *d, const pada_program *q, const pada_bindings *b, int first,
                   int count)
{
    const run r = {d, q, b};
    const cuda_match *m = &d->match;

    d->before.stage = -1;
    if (d->failure.error == cudaSuccess && count > 0) pada_cuda_begin_nodes(&r, first, count);
    if (first == 0 && d->failure.error == cudaSuccess) {
        send_batch(&r);
        pada_cuda_begin_statistics(&r);
    }
    for (int s = 0; s < m->n_steps; s++) {
        const cuda_step *step = &m->steps[s];
        if (step->stage < first || step->stage >= first + count) continue;
        if (d->failure.error != cudaSuccess) return;
        if (step->batch > d->batch) {
            pada_cuda_add_up(&r, d->batch++);
            d->before.stage = -1;
        }
        if (step->kind != CUDA_STEP_LEVEL) d->before.stage = -1;
        run_step(&r, step);
    }
    if (d->failure.error != cudaSuccess) return;
    if (first < q->n_forward && first + count >= q->n_forward) pada_cuda_end_statistics(&r);
    if (first + count < q->n_stages) return;
    pada_cuda_add_up(&r, d->batch);
    pada_cuda_finish_norms(&r);
}
