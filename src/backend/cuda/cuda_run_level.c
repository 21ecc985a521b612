/* cuda_run_level.c - steps of a program that are parts of one kind and level: fills tables of jobs and launches them. */
#include "backend/cuda/cuda_level.h"
#include "backend/cuda/cuda_run.h"

/* ---- where things are ---- */

static int64_t *sums_at(const cuda_run *r, int64_t first)
{
    return (int64_t *)r->d->fixed.data + first;
}

static double count_of(const cuda_run *r, pada_shape shape)
{
    return (double)r->q->n_images * shape.h * shape.w;
}

/* Adds the norm of term t to the view of its operand. */
static void see_norm(const cuda_run *r, int t, cuda_view *view)
{
    const cuda_moments moments = pada_cuda_moments_of(r, t);

    view->mean = moments.mean;
    view->rstd = moments.rstd;
    view->scale = params_at(r, r->q->terms[t].norm.scale);
    view->shift = params_at(r, r->q->terms[t].norm.shift);
}

/* v where it is written to: its own tensor, or channels of a concatenation. */
static cuda_view place_of(const cuda_run *r, pada_value v)
{
    const cuda_node_match *match = &r->d->match.nodes[v];
    const bool housed = match->home >= 0;
    const pada_value host = housed ? match->host : v;
    const cuda_tensor x = pada_cuda_value(r, host);

    return (cuda_view){.data = (uint16_t *)x.data + (housed ? r->q->terms[match->home].channel : 0),
                       .image = x.stride,
                       .pitch = r->q->nodes[host].shape.c};
}

/* v as an operator reads it. */
static cuda_view view_of(const cuda_run *r, pada_value v, pada_act act)
{
    const int term = r->q->nodes[v].first_term;
    const bool viewed = r->d->match.nodes[v].viewed;
    cuda_view view = place_of(r, viewed ? r->q->terms[term].x : v);

    view.act = act;
    if (viewed) see_norm(r, term, &view);
    return view;
}

/* The gradient of v as it is. */
static cuda_gradient gradient_of(const cuda_run *r, pada_value v)
{
    const cuda_tensor dy = pada_cuda_grad(r, v);

    return (cuda_gradient){
        .dy = dy.data, .dy_image = dy.stride, .dy_pitch = r->q->nodes[v].shape.c};
}

/* What it means for the operand of batch norm t. */
static void see_slope(const cuda_run *r, int t, cuda_gradient *gradient)
{
    const pada_value x = r->q->terms[t].x;
    const cuda_tensor z = pada_cuda_value(r, x);

    gradient->z = z.data;
    gradient->z_image = z.stride;
    gradient->z_pitch = r->q->nodes[x].shape.c;
    gradient->coef = work_at(r, r->q->term_plans[t].coef);
    gradient->vector = vector_of(&r->q->nodes[x]);
}

/* ---- results ---- */

static cuda_finish moments_of(const cuda_run *r, int64_t sums, pada_value v, int channel)
{
    float *mean = work_at(r, r->q->node_plans[v].stats) + channel;

    return (cuda_finish){.sums = sums_at(r, sums),
                         .count = count_of(r, r->q->nodes[v].shape),
                         .epsilon = r->q->norm_epsilon,
                         .mean = mean,
                         .rstd = mean + vector_of(&r->q->nodes[v])};
}

/* Operand t of the concatenation v. */
static cuda_result operand_to(const cuda_run *r, pada_value v, int t)
{
    const cuda_tensor y = pada_cuda_value(r, v);
    const int channel = r->q->terms[t].channel;
    cuda_result to = {
        .data = (uint16_t *)y.data + channel, .image = y.stride, .pitch = r->q->nodes[v].shape.c};

    if (r->d->match.terms[t].sums >= 0) {
        to.finishes[to.n_finishes] = moments_of(r, r->d->match.terms[t].sums, v, channel);
        to.finishes[to.n_finishes++].count = count_of(r, r->q->nodes[v].shape);
    }
    return to;
}

/* The value v, all of its channels. */
static cuda_result value_to(const cuda_run *r, pada_value v)
{
    const cuda_node_match *match = &r->d->match.nodes[v];
    const cuda_tensor y = pada_cuda_value(r, v);
    cuda_result to = {.data = y.data, .image = y.stride, .pitch = r->q->nodes[v].shape.c};

    if (match->home >= 0) return operand_to(r, match->host, match->home);
    if (match->sums >= 0) to.finishes[to.n_finishes++] = moments_of(r, match->sums, v, 0);
    return to;
}

/* The sums over dy that batch norm t needs. */
static cuda_finish norm_of(const cuda_run *r, int t)
{
    const pada_term *term = &r->q->terms[t];
    const pada_node *x = &r->q->nodes[term->x];
    const cuda_tensor z = pada_cuda_value(r, term->x);
    float *mean = work_at(r, r->q->node_plans[term->x].stats), *grads = r->b->grads;
    cuda_finish finish = {.sums = sums_at(r, r->d->match.terms[t].sums),
                          .count = count_of(r, x->shape),
                          .mean = mean,
                          .rstd = mean + vector_of(x),
                          .z = z.data,
                          .z_image = z.stride,
                          .scale = params_at(r, term->norm.scale),
                          .coef = work_at(r, r->q->term_plans[t].coef),
                          .vector = vector_of(x)};

    if (term->norm.scale >= 0) finish.grad_scale = grads + term->norm.scale;
    if (term->norm.shift >= 0) finish.grad_shift = grads + term->norm.shift;
    return finish;
}

/* A contribution to the gradient of x, through an activation of it. */
static cuda_result grad_to(const cuda_run *r, const cuda_level_part *part, pada_value x,
                           pada_act act)
{
    const pada_node *node = &r->q->nodes[x];
    const cuda_tensor dx = pada_cuda_grad(r, x);
    cuda_result to = {.data = dx.data,
                      .image = dx.stride,
                      .pitch = node->shape.c,
                      .accumulate = part->accumulate};

    if (act != PADA_ACT_NONE) to.at = view_of(r, x, act);
    if (part->norms < 0) return to;
    for (int t = node->first_term; t < node->first_term + node->n_terms; t++)
        if (r->q->terms[t].kind == PADA_TERM_BATCHNORM)
            to.finishes[to.n_finishes++] = norm_of(r, t);
    return to;
}

/* ---- convolutions ---- */

static cuda_level_conv conv_job(const cuda_run *r, const cuda_level_part *part)
{
    const pada_instr *instr = &r->q->instrs[r->d->match.members[part->first]];
    const pada_node *node = &r->q->nodes[instr->v];
    const cuda_node_match *match = &r->d->match.nodes[instr->v];
    cuda_level_conv job = {.conv = node->conv,
                           .in = r->q->nodes[node->x].shape,
                           .out = node->shape,
                           .n_images = r->q->n_images,
                           .weight = params_at(r, node->weight),
                           .x = view_of(r, node->x, node->conv.act)};

    if (match->fragment >= 0) {
        const bool transposed = part->kind == CUDA_PART_DENSE_GRAD_IN;
        job.fragment = (char *)r->d->fragments.data + match->fragment +
                       (transposed ? pada_cuda_dense_pack_half(&node->conv) : 0);
    }
    if (instr->code == PADA_CODE_CONV_FWD) {
        job.to = value_to(r, instr->v);
        return job;
    }
    job.dz = gradient_of(r, instr->dy);
    if (instr->term >= 0) see_slope(r, instr->term, &job.dz);
    if (part->kind != CUDA_PART_DENSE_GRAD_IN) {
        job.partial = (float *)r->d->shares.data + match->partial;
        job.splits = match->blocks;
    }
    if (part->kind != CUDA_PART_DENSE_WEIGHTS && !instr->no_grad_in)
        job.to = grad_to(r, part, node->x, node->conv.act);
    return job;
}

static cudaError_t launch_convs(const cuda_run *r, cuda_part_kind kind,
                                const cuda_level_convs *jobs)
{
    const cudaStream_t stream = r->d->stream;

    switch (kind) {
    case CUDA_PART_DEPTH_FORWARD: return pada_cuda_level_depth_forward(stream, jobs);
    case CUDA_PART_DENSE_FORWARD: return pada_cuda_level_dense_forward(stream, jobs);
    case CUDA_PART_DEPTH_BACK: return pada_cuda_level_depth_back(stream, jobs);
    case CUDA_PART_DENSE_GRAD_IN: return pada_cuda_level_dense_grad_in(stream, jobs);
    default: return pada_cuda_level_dense_weights(stream, jobs);
    }
}

static void run_convs(const cuda_run *r, const cuda_level_part *parts, int n, bool beside)
{
    cuda_level_convs jobs = {.n = 0, .beside = beside};

    for (int k = 0; k < n; k++) {
        jobs.at[jobs.n++] = conv_job(r, &parts[k]);
        if (jobs.n < CUDA_LEVEL_CONVS && k + 1 < n) continue;
        cuda_run_note(r, launch_convs(r, parts[0].kind, &jobs), "convolutions of a level");
        jobs.n = 0;
        jobs.beside = true;
    }
}

/* ---- sums ---- */

static cuda_level_term term_job(const cuda_run *r, int t)
{
    const pada_term *term = &r->q->terms[t];
    cuda_level_term job = {.x = view_of(r, term->x, PADA_ACT_NONE),
                           .pooled = term->kind == PADA_TERM_AVGPOOL,
                           .pool = term->pool,
                           .from = r->q->nodes[term->x].shape};

    if (term->kind == PADA_TERM_BATCHNORM) see_norm(r, t, &job.x);
    return job;
}

/* What a sum or a concatenation gives back to one of its operands. */
static cuda_level_term flow_job(const cuda_run *r, const pada_instr *instr)
{
    const pada_term *term = &r->q->terms[instr->term];
    cuda_level_term job = {.dz = gradient_of(r, instr->v)};

    if (instr->code == PADA_CODE_CONCAT_BWD) {
        job.dz.dy = (const uint16_t *)job.dz.dy + term->channel;
    } else if (term->kind == PADA_TERM_BATCHNORM) {
        see_slope(r, instr->term, &job.dz);
    } else if (term->kind == PADA_TERM_AVGPOOL) {
        job.pooled = true;
        job.pool = term->pool;
        job.from = r->q->nodes[instr->v].shape;
    }
    return job;
}

static cuda_level_sum sum_job(const cuda_run *r, const cuda_level_part *part)
{
    const int *members = r->d->match.members + part->first;
    const pada_instr *instr = &r->q->instrs[members[0]];
    const pada_node *node = &r->q->nodes[instr->v];
    cuda_level_sum job = {.shape = node->shape, .n_images = r->q->n_images};

    if (part->term >= 0) {
        job.shape.c = r->q->nodes[r->q->terms[part->term].x].shape.c;
        job.terms[job.n_terms++] = term_job(r, part->term);
        job.to = operand_to(r, instr->v, part->term);
    } else if (instr->code == PADA_CODE_COMBINE_FWD) {
        for (int t = node->first_term; t < node->first_term + node->n_terms; t++)
            job.terms[job.n_terms++] = term_job(r, t);
        job.to = value_to(r, instr->v);
    } else {
        const pada_value x = r->q->terms[instr->term].x;
        for (int k = 0; k < part->count; k++)
            job.terms[job.n_terms++] = flow_job(r, &r->q->instrs[members[k]]);
        job.shape = r->q->nodes[x].shape;
        job.to = grad_to(r, part, x, PADA_ACT_NONE);
    }
    return job;
}

static void run_sums(const cuda_run *r, const cuda_level_part *parts, int n, bool beside)
{
    cuda_level_sums jobs = {.n = 0, .beside = beside};

    for (int k = 0; k < n; k++) {
        jobs.at[jobs.n++] = sum_job(r, &parts[k]);
        if (jobs.n < CUDA_LEVEL_SUMS && k + 1 < n) continue;
        cuda_run_note(r, pada_cuda_level_sum(r->d->stream, &jobs), "sums of a level");
        jobs.n = 0;
        jobs.beside = true;
    }
}

/* ---- pools ---- */

static cuda_level_pool pool_job(const cuda_run *r, const cuda_level_part *part)
{
    const pada_instr *instr = &r->q->instrs[r->d->match.members[part->first]];
    const pada_node *node = &r->q->nodes[instr->v];
    cuda_level_pool job = {.pool = node->pool,
                           .kind = node->pool_kind,
                           .in = r->q->nodes[node->x].shape,
                           .out = node->shape,
                           .n_images = r->q->n_images,
                           .x = view_of(r, node->x, node->act)};

    if (part->kind == CUDA_PART_POOL_FORWARD) {
        job.to = value_to(r, instr->v);
    } else {
        job.dz = gradient_of(r, instr->v);
        job.to = grad_to(r, part, node->x, node->act);
    }
    return job;
}

static void run_pools(const cuda_run *r, const cuda_level_part *parts, int n, bool beside)
{
    cuda_level_pools jobs = {.n = 0, .beside = beside};

    for (int k = 0; k < n; k++) {
        jobs.at[jobs.n++] = pool_job(r, &parts[k]);
        if (jobs.n < CUDA_LEVEL_POOLS && k + 1 < n) continue;
        cuda_run_note(r,
                      parts[0].kind == CUDA_PART_POOL_FORWARD
                          ? pada_cuda_level_pool_forward(r->d->stream, &jobs)
                          : pada_cuda_level_pool_grad(r->d->stream, &jobs),
                      "pools of a level");
        jobs.n = 0;
        jobs.beside = true;
    }
}

/* ---- steps ---- */

void pada_cuda_run_level(const cuda_run *r, const cuda_step *step)
{
    const cuda_level_part *parts = r->d->match.parts + step->first;
    const cuda_when now = {step->stage, parts[0].level}, before = r->d->before;
    const bool beside = now.stage == before.stage && now.level == before.level;

    switch (parts[0].kind) {
    case CUDA_PART_SUM: run_sums(r, parts, step->count, beside); break;
    case CUDA_PART_POOL_FORWARD:
    case CUDA_PART_POOL_GRAD: run_pools(r, parts, step->count, beside); break;
    default: run_convs(r, parts, step->count, beside);
    }
    r->d->before = now;
}

void pada_cuda_pack_level_weights(const cuda_run *r)
{
    cuda_dense_packs jobs = {.n = 0};

    for (int v = 0; v <= r->q->n_nodes; v++) {
        if (jobs.n == CUDA_MAX_PACKS || (v == r->q->n_nodes && jobs.n > 0)) {
            cuda_run_note(
                r, pada_cuda_dense_pack(r->d->stream, r->b->params, &jobs, r->d->fragments.data),
                "weights of a level");
            jobs.n = 0;
        }
        if (v == r->q->n_nodes || r->d->match.nodes[v].fragment < 0) continue;
        jobs.at[jobs.n++] = pada_cuda_dense_pack_job(&r->q->nodes[v].conv, r->q->nodes[v].weight,
                                                     r->d->match.nodes[v].fragment);
    }
}
