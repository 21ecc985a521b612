/* cuda_run_node.c - steps of a program that are one launch of a node kernel, and what they need before and
 * behind: sums set to zero, weights as fragments, weight gradients added up. */
#include "backend/cuda/cuda_run.h"

static int64_t *sums_at(const cuda_run *r, int64_t first)
{
    return first < 0 ? NULL : (int64_t *)r->d->fixed.data + first;
}

static char *fragments_of(const cuda_run *r, pada_value conv, bool transposed)
{
    const int64_t bytes = 2 * pada_conv_weights(&r->q->nodes[conv].conv);

    return (char *)r->d->fragments.data + r->d->match.nodes[conv].fragment +
           (transposed ? bytes : 0);
}

static int taps_of(const pada_node *conv)
{
    return conv->conv.kernel * conv->conv.kernel;
}

/* Moments of v: sums where a node kernel makes them, else what the general kernels left. */
static cuda_moments moments_of(const cuda_run *r, pada_value v)
{
    const float *mean = work_at(r, r->q->node_plans[v].stats);

    return (cuda_moments){sums_at(r, r->d->match.nodes[v].moments), mean,
                          mean + vector_of(&r->q->nodes[v]), r->q->norm_epsilon};
}

cuda_moments pada_cuda_moments_of(const cuda_run *r, int t)
{
    const pada_value x = r->q->terms[t].x;

    if (!pada_norm_is_fixed(r->q, t)) return moments_of(r, x);
    const float *mean = work_at(r, r->q->term_plans[t].stats);
    return (cuda_moments){NULL, mean, mean + vector_of(&r->q->nodes[x]), r->q->norm_epsilon};
}

static cuda_slopes slopes_of(const cuda_run *r, int term)
{
    const pada_value x = r->q->terms[term].x;

    return (cuda_slopes){.moments = moments_of(r, x),
                         .sums = sums_at(r, r->d->match.terms[term].slopes),
                         .scale = params_at(r, r->q->terms[term].norm.scale),
                         .coef = work_at(r, r->q->term_plans[term].coef),
                         .vector = vector_of(&r->q->nodes[x])};
}

/* ---- before and behind ---- */

static void clear_sums(const cuda_run *r, int64_t first, int64_t end)
{
    if (first == end) return;
    cuda_run_note(r,
                  cudaMemsetAsync(sums_at(r, first), 0, (size_t)(end - first) * sizeof(int64_t),
                                  r->d->stream),
                  "clear sums");
}

static void pack_weights(const cuda_run *r)
{
    cuda_weight_jobs jobs = {.n = 0};

    for (int v = 0; v <= r->q->n_nodes; v++) {
        if (jobs.n == CUDA_MAX_WEIGHTS || (v == r->q->n_nodes && jobs.n > 0)) {
            cuda_run_note(
                r, pada_cuda_pack_weights(r->d->stream, r->b->params, &jobs, r->d->fragments.data),
                "pack_weights");
            jobs.n = 0;
        }
        if (v == r->q->n_nodes || r->d->match.nodes[v].fragment < 0) continue;
        const pada_node *node = &r->q->nodes[v];
        jobs.at[jobs.n++] = (cuda_weight_job){node->weight, r->d->match.nodes[v].fragment,
                                              node->conv.c_in, node->conv.c_out, taps_of(node)};
    }
}

void pada_cuda_begin_nodes(const cuda_run *r, int first, int count)
{
    const cuda_match *m = &r->d->match;
    const int back = r->q->n_forward;

    if (first == 0) {
        clear_sums(r, 0, m->n_sums);
        r->d->slopes_clean = true;
        m->levels ? pada_cuda_pack_level_weights(r) : pack_weights(r);
    }
    if (first <= back && back < first + count) {
        if (!r->d->slopes_clean) clear_sums(r, m->n_forward_sums, m->n_sums);
        r->d->slopes_clean = false;
        r->d->batch = 0;
    }
}

void pada_cuda_add_up(const cuda_run *r, int batch)
{
    cuda_reduce_jobs jobs = {.n = 0};

    for (int v = 0; v <= r->q->n_nodes; v++) {
        if (jobs.n == CUDA_MAX_WEIGHTS || (v == r->q->n_nodes && jobs.n > 0)) {
            cuda_run_note(r, pada_cuda_reduce_weights(r->d->stream, &jobs, r->b->grads),
                          "reduce_weights");
            jobs.n = 0;
        }
        if (v == r->q->n_nodes) break;
        const cuda_node_match *at = &r->d->match.nodes[v];
        const pada_node *node = &r->q->nodes[v];
        if (at->n_partials == 0 || at->batch != batch) continue;
        jobs.at[jobs.n++] = (cuda_reduce_job){
            .partial = (float *)r->d->shares.data + at->partial,
            .weight = node->weight,
            .c_in = node->conv.c_in / node->conv.groups,
            .c_out = node->conv.c_out,
            .taps = taps_of(node),
            .blocks = at->n_partials,
            .plain = at->plain,
        };
    }
}

/* ---- forward ---- */

static void add_terms(const cuda_run *r, cuda_node_forward_job *job, const pada_node *node)
{
    for (int t = node->first_term; t < node->first_term + node->n_terms; t++) {
        const pada_term *from = &r->q->terms[t];
        cuda_node_term term = {.kind = from->kind, .x = pada_cuda_value(r, from->x).data};
        if (term.kind == PADA_TERM_BATCHNORM) {
            term.moments = pada_cuda_moments_of(r, t);
            term.scale = params_at(r, from->norm.scale);
            term.shift = params_at(r, from->norm.shift);
        }
        job->terms[job->n_terms++] = term;
    }
    /* A pool comes last, because the first term is loaded early. */
    for (int k = 1; k < job->n_terms && job->terms[0].kind == PADA_TERM_AVGPOOL; k++) {
        const cuda_node_term first = job->terms[0];
        job->terms[0] = job->terms[k];
        job->terms[k] = first;
    }
}

static cuda_node_conv conv_of(const cuda_run *r, pada_value z)
{
    return (cuda_node_conv){taps_of(&r->q->nodes[z]), fragments_of(r, z, false),
                            pada_cuda_value(r, z).data, sums_at(r, r->d->match.nodes[z].moments)};
}

static void finish_moments(const cuda_run *r, pada_value v)
{
    const pada_node *node = &r->q->nodes[v];
    const cuda_moments m = moments_of(r, v);

    if (!m.sums || !r->d->match.nodes[v].finish) return;
    cuda_run_note(r,
                  pada_cuda_finish_moments(r->d->stream, m.sums, m.epsilon, node->shape,
                                           r->q->n_images, (float *)m.mean, (float *)m.rstd),
                  "finish_moments");
}

static cuda_node_forward_job forward_job(const cuda_run *r, pada_value v)
{
    return (cuda_node_forward_job){.shape = r->q->nodes[v].shape,
                                   .n_images = r->q->n_images,
                                   .few = r->q->n_images <= CUDA_FEW_IMAGES};
}

static cuda_node_term as_it_is(const cuda_run *r, pada_value x)
{
    return (cuda_node_term){.kind = PADA_TERM_IDENTITY, .x = pada_cuda_value(r, x).data};
}

void pada_cuda_run_node_forward(const cuda_run *r, const cuda_step *step)
{
    const int *members = r->d->match.members + step->first;
    cuda_node_forward_job job = forward_job(r, step->v);
    int first = 0;

    if (r->q->instrs[members[0]].code == PADA_CODE_COMBINE_FWD) {
        first = 1;
        add_terms(r, &job, &r->q->nodes[step->v]);
        job.sums = sums_at(r, r->d->match.nodes[step->v].moments);
        if (!step->no_store) job.y = pada_cuda_value(r, step->v).data;
    } else {
        job.terms[job.n_terms++] = as_it_is(r, step->v);
    }
    for (int k = first; k < step->count; k++) {
        const pada_value z = r->q->instrs[members[k]].v;
        const pada_node *node = &r->q->nodes[z];
        job.relu = node->conv.act == PADA_ACT_RELU;
        job.convs[job.n_convs++] = conv_of(r, z);
    }
    cuda_run_note(r, pada_cuda_node_forward(r->d->stream, &job), "node_forward");
    for (int k = 0; k < step->count; k++)
        finish_moments(r, r->q->instrs[members[k]].v);
}

void pada_cuda_run_sums(const cuda_run *r, pada_value v)
{
    cuda_node_forward_job job = forward_job(r, v);

    job.terms[job.n_terms++] = as_it_is(r, v);
    job.sums = sums_at(r, r->d->match.nodes[v].moments);
    cuda_run_note(r, pada_cuda_node_forward(r->d->stream, &job), "sums");
    finish_moments(r, v);
}

/* ---- backward ---- */

/* What a CONV_BWD reads and writes besides the input and its gradient. */
static cuda_node_back_conv back_conv(const cuda_run *r, const pada_instr *instr)
{
    cuda_node_back_conv conv = {
        .taps = taps_of(&r->q->nodes[instr->v]),
        .dy = pada_cuda_grad(r, instr->dy).data,
        .partial = (float *)r->d->shares.data + r->d->match.nodes[instr->v].partial,
    };

    if (r->d->match.nodes[instr->v].fragment >= 0) conv.weight = fragments_of(r, instr->v, true);
    if (instr->term >= 0) {
        conv.z = pada_cuda_value(r, instr->v).data;
        conv.slopes = slopes_of(r, instr->term);
    }
    return conv;
}

static void add_back_conv(const cuda_run *r, cuda_node_backward_job *job, const pada_instr *instr)
{
    const pada_node *node = &r->q->nodes[instr->v];

    job->relu = node->conv.act == PADA_ACT_RELU;
    job->y = pada_cuda_value(r, node->x).data;
    job->convs[job->n_convs++] = back_conv(r, instr);
}

/* The gradient of a sum that read step->v through this term. */
static cuda_node_flow flow_of(const cuda_run *r, const pada_instr *instr)
{
    const pada_term *term = &r->q->terms[instr->term];
    cuda_node_flow flow = {.pool = term->kind == PADA_TERM_AVGPOOL,
                           .dy = pada_cuda_grad(r, instr->v).data};

    if (instr->norms) {
        flow.z = pada_cuda_value(r, term->x).data;
        flow.slopes = slopes_of(r, instr->term);
    }
    return flow;
}

static void launch_slopes(const cuda_run *r, cuda_slope_jobs *jobs)
{
    if (jobs->n == 0) return;
    cuda_run_note(r, pada_cuda_finish_slopes(r->d->stream, jobs), "finish_slopes");
    jobs->n = 0;
}

/* For term t of a node; the caller says what is wanted. */
static cuda_slope_job *add_slopes(const cuda_run *r, cuda_slope_jobs *jobs, const pada_node *node,
                                  int t)
{
    if (jobs->n == CUDA_MAX_SLOPES) launch_slopes(r, jobs);
    cuda_slope_job *job = &jobs->at[jobs->n++];
    *job = (cuda_slope_job){
        .slopes = slopes_of(r, t),
        .channels = node->shape.c,
        .count = (double)r->q->n_images * node->shape.h * node->shape.w,
    };
    return job;
}

static void add_coef(const cuda_run *r, cuda_slope_jobs *jobs, const pada_node *node, int t)
{
    cuda_slope_job *job = add_slopes(r, jobs, node, t);

    job->coef = (float *)job->slopes.coef;
}

/* Scales and shifts belong to one batch norm each, so that no two jobs of a launch add to the same numbers. */
static void add_norm_gradients(const cuda_run *r, cuda_slope_jobs *jobs, const pada_node *node,
                               int t)
{
    const pada_norm *norm = &r->q->terms[t].norm;
    cuda_slope_job *job = add_slopes(r, jobs, node, t);
    float *grads = r->b->grads;

    if (norm->scale >= 0) job->grad_scale = grads + norm->scale;
    if (norm->shift >= 0) job->grad_shift = grads + norm->shift;
}

void pada_cuda_finish_norms(const cuda_run *r)
{
    cuda_slope_jobs jobs = {.n = 0};

    for (int v = 0; v < r->q->n_nodes; v++) {
        const pada_node *node = &r->q->nodes[v];
        for (int t = node->first_term; t < node->first_term + node->n_terms; t++) {
            if (r->d->match.terms[t].slopes < 0) continue;
            if (node->op == PADA_OP_PROBE)
                add_coef(r, &jobs, node, t);
            else if (pada_norm_is_affine(&r->q->terms[t].norm))
                add_norm_gradients(r, &jobs, node, t);
        }
    }
    launch_slopes(r, &jobs);
}

/* For the general kernels behind a node. */
static void finish_slopes(const cuda_run *r, const pada_node *node)
{
    cuda_slope_jobs jobs = {.n = 0};

    for (int t = node->first_term; t < node->first_term + node->n_terms; t++)
        if (r->d->match.terms[t].slopes >= 0 && r->d->match.terms[t].finish)
            add_coef(r, &jobs, node, t);
    launch_slopes(r, &jobs);
}

static void launch_backward(const cuda_run *r, const cuda_node_backward_job *job)
{
    cuda_run_note(r, pada_cuda_node_backward(r->d->stream, job), "node_backward");
}

/* The batch norms of a sum, or of its probe. When there are too many of them for the launch, the gradient is
 * complete behind it, and another one looks at it. */
static void add_norms(const cuda_run *r, cuda_node_backward_job *job, const pada_instr *instr)
{
    const pada_node *node = &r->q->nodes[instr->v];

    for (int t = node->first_term; t < node->first_term + node->n_terms; t++) {
        const cuda_term_match *term = &r->d->match.terms[t];
        if (r->q->terms[t].kind != PADA_TERM_BATCHNORM || term->known) continue;
        if (job->n_norms == CUDA_NODE_TERMS) {
            launch_backward(r, job);
            *job = (cuda_node_backward_job){.shape = node->shape,
                                            .n_images = r->q->n_images,
                                            .n_flows = 1,
                                            .flows = {{.dy = pada_cuda_grad(r, instr->dy).data}}};
        }
        job->norms[job->n_norms++] =
            (cuda_node_norm){pada_cuda_value(r, r->q->terms[t].x).data, sums_at(r, term->slopes)};
    }
}

/* The members that look at the complete gradient are the last ones. */
void pada_cuda_run_node_backward(const cuda_run *r, const cuda_step *step)
{
    const pada_node *node = &r->q->nodes[step->v];
    const int *members = r->d->match.members + step->first;
    cuda_node_backward_job job = {.shape = node->shape, .n_images = r->q->n_images};

    if (!step->no_store) job.dy = pada_cuda_grad(r, step->v).data;
    if (step->accumulate)
        job.flows[job.n_flows++] = (cuda_node_flow){.dy = pada_cuda_grad(r, step->v).data};
    for (int k = 0; k < step->count; k++) {
        const pada_instr *instr = &r->q->instrs[members[k]];
        if (instr->code == PADA_CODE_NORM_SUMS)
            add_norms(r, &job, instr);
        else if (instr->code == PADA_CODE_CONV_BWD)
            add_back_conv(r, &job, instr);
        else
            job.flows[job.n_flows++] = flow_of(r, instr);
    }
    launch_backward(r, &job);
    finish_slopes(r, node);
}

/* ---- between stages ---- */

void pada_cuda_run_reduction_forward(const cuda_run *r, const cuda_step *step)
{
    const int *members = r->d->match.members + step->first;
    const pada_value strided = r->q->instrs[members[0]].v, pooled = r->q->instrs[members[1]].v;
    const pada_value point = r->q->instrs[members[2]].v, y = r->q->nodes[strided].x;
    const cuda_reduction_forward_job job = {.shape = r->q->nodes[y].shape,
                                            .n_images = r->q->n_images,
                                            .y = pada_cuda_value(r, y).data,
                                            .strided = conv_of(r, strided),
                                            .pooled = pada_cuda_value(r, pooled).data,
                                            .point = conv_of(r, point)};

    cuda_run_note(r, pada_cuda_reduction_forward(r->d->stream, &job), "reduction_forward");
    finish_moments(r, strided);
    finish_moments(r, point);
}

void pada_cuda_run_reduction_backward(const cuda_run *r, const cuda_step *step)
{
    const int *members = r->d->match.members + step->first;
    const pada_instr *conv = &r->q->instrs[members[0]];
    const pada_value x = r->q->nodes[conv->v].x;
    cuda_reduction_backward_job job = {.shape = r->q->nodes[x].shape,
                                       .n_images = r->q->n_images,
                                       .conv = back_conv(r, conv),
                                       .x = pada_cuda_value(r, x).data,
                                       .dx = pada_cuda_grad(r, x).data};

    if (job.conv.taps == 1) job.shape = r->q->nodes[r->q->terms[r->q->nodes[x].first_term].x].shape;
    if (step->count > 1) job.pooled = pada_cuda_grad(r, r->q->instrs[members[1]].v).data;
    cuda_run_note(r, pada_cuda_reduction_backward(r->d->stream, &job), "reduction_backward");
}

/* ---- the stem ---- */

void pada_cuda_run_stem(const cuda_run *r, const cuda_step *step)
{
    const pada_instr *instr = &r->q->instrs[r->d->match.members[step->first]];
    const pada_node *node = &r->q->nodes[instr->v];
    cuda_stem_job job = {.n_images = r->q->n_images,
                         .x = pada_cuda_value(r, node->x).data,
                         .weight = (const float *)r->b->params + node->weight,
                         .z = pada_cuda_value(r, instr->v).data};

    if (step->kind == CUDA_STEP_STEM_FORWARD) {
        job.sums = sums_at(r, r->d->match.nodes[instr->v].moments);
        cuda_run_note(r, pada_cuda_stem_forward(r->d->stream, &job), "stem_forward");
        finish_moments(r, instr->v);
        return;
    }
    const cuda_node_back_conv conv = back_conv(r, instr);
    job.dy = conv.dy;
    job.slopes = conv.slopes;
    job.partial = conv.partial;
    cuda_run_note(r, pada_cuda_stem_backward(r->d->stream, &job), "stem_backward");
}
