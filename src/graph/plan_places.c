/* plan_places.c - places in memory for what the instructions of a plan read and write.
 *
 * Tensors inside a stage live for instructions, those that later stages read for whole stages; places of what is no
 * longer alive are used again (P4 of plan.c). */
#include <string.h>

#include "graph/plan_parts.h"

/* ---- what an instruction touches ---- */

static void touch(span *s, int i)
{
    if (s->first < 0) s->first = i;
    s->last = i;
}

/* A contribution to the gradient of x; true if it is not the first one. */
static bool contribute(pada_plan *p, pada_value x, int i)
{
    span *grad = &p->spans[p->program.n_nodes + x];
    const bool accumulate = grad->first >= 0;

    touch(grad, i);
    return accumulate;
}

static void touch_forward(pada_plan *p, int i, bool train)
{
    const pada_program *q = &p->program;
    const pada_value v = q->instrs[i].v;
    const pada_node *node = &q->nodes[v];
    span *values = p->spans, *grads = p->spans + q->n_nodes;

    for (int t = node->first_term; t < node->first_term + node->n_terms; t++)
        touch(&values[q->terms[t].x], i);
    if (node->x != PADA_ZERO) touch(&values[node->x], i);
    if (pada_op_get(node->op)->role == PADA_ROLE_VALUE) touch(&values[v], i);
    if (node->op == PADA_OP_LOSS && train) touch(&grads[node->x], i);
}

/* From the gradient of v, or of the sum it feeds, to that of x. */
static void touch_operand(pada_plan *p, int i)
{
    const pada_program *q = &p->program;
    pada_instr *instr = &q->instrs[i];
    const pada_node *node = &q->nodes[instr->v];
    const pada_op_info *op = pada_op_get(node->op);
    span *values = p->spans, *grads = p->spans + q->n_nodes;

    if (op->role == PADA_ROLE_VALUE) touch(&grads[instr->dy], i);
    if (instr->term >= 0) touch(&values[instr->v], i);
    if (node->x == PADA_ZERO) return;
    if (op->reads != PADA_READS_NONE) touch(&values[node->x], i);
    if (!instr->no_grad_in) instr->accumulate = contribute(p, node->x, i);
}

/* From the gradient of v to those of its terms that this instruction is for. */
static void touch_terms(pada_plan *p, int i)
{
    const pada_program *q = &p->program;
    const pada_instr *instr = &q->instrs[i];
    const pada_node *node = &q->nodes[instr->v];
    const bool reads = pada_op_get(node->op)->reads == PADA_READS_X;

    touch(&p->spans[q->n_nodes + instr->v], i);
    for (int t = node->first_term; reads && t < node->first_term + node->n_terms; t++)
        touch(&p->spans[q->terms[t].x], i);
    for (int t = node->first_term; t < node->first_term + node->n_terms; t++) {
        const bool norm = q->terms[t].kind == PADA_TERM_BATCHNORM;
        if (q->term_plans[t].lazy || norm != instr->norms) continue;
        if (instr->term >= 0 && instr->term != t) continue;
        if (norm) touch(&p->spans[q->terms[t].x], i);
        q->term_plans[t].accumulate = contribute(p, q->terms[t].x, i);
    }
}

static void touch_norm_sums(pada_plan *p, int i)
{
    const pada_program *q = &p->program;
    const pada_instr *instr = &q->instrs[i];
    const pada_node *node = &q->nodes[instr->v];

    touch(&p->spans[q->n_nodes + instr->dy], i);
    for (int t = node->first_term; t < node->first_term + node->n_terms; t++)
        if (q->terms[t].kind == PADA_TERM_BATCHNORM) touch(&p->spans[q->terms[t].x], i);
}

/* Extends the spans of all tensors that instruction i reads or writes, and decides store or add
 * (P3). */
static void touch_all(pada_plan *p, int i, bool train)
{
    const pada_program *q = &p->program;
    const pada_instr *instr = &q->instrs[i];

    if (p->stage_of[i] < q->n_forward)
        touch_forward(p, i, train);
    else if (instr->code == PADA_CODE_NORM_SUMS)
        touch_norm_sums(p, i);
    else if (pada_op_get(q->nodes[instr->v].op)->operands == PADA_OPERANDS_TERMS)
        touch_terms(p, i);
    else
        touch_operand(p, i);
}

/* Operands of a concatenation may be written to where it wants them: it lives as long as all of them. */
static void house_operands(pada_plan *p)
{
    const pada_program *q = &p->program;

    for (int v = 0; v < q->n_nodes; v++) {
        const pada_node *node = &q->nodes[v];
        span *all = &p->spans[v];
        if (node->op != PADA_OP_CONCAT || all->first < 0) continue;
        for (int t = node->first_term; t < node->first_term + node->n_terms; t++) {
            const span *one = &p->spans[q->terms[t].x];
            if (one->first < 0) continue;
            if (one->first < all->first) all->first = one->first;
            if (one->last > all->last) all->last = one->last;
        }
    }
}

/* ---- places ---- */

static int64_t take(pada_plan *p, int64_t bytes, int64_t *end)
{
    for (int k = 0; k < p->n_holes; k++) {
        hole *h = &p->holes[k];
        if (h->bytes < bytes) continue;
        const int64_t offset = h->offset;
        h->offset += bytes;
        h->bytes -= bytes;
        if (h->bytes == 0) {
            memmove(h, h + 1, (size_t)(p->n_holes - k - 1) * sizeof *h);
            p->n_holes--;
        }
        return offset;
    }
    /* Nothing fits: grow the buffer, using a hole that ends at its end. */
    int64_t offset = *end;
    if (p->n_holes > 0 && p->holes[p->n_holes - 1].offset + p->holes[p->n_holes - 1].bytes == *end)
        offset = p->holes[--p->n_holes].offset;
    *end = offset + bytes;
    return offset;
}

/* Puts [offset, offset + bytes) back into the sorted list of holes and joins neighbours. */
static void give(pada_plan *p, int64_t offset, int64_t bytes)
{
    int k = p->n_holes;

    while (k > 0 && p->holes[k - 1].offset > offset)
        k--;
    memmove(&p->holes[k + 1], &p->holes[k], (size_t)(p->n_holes - k) * sizeof *p->holes);
    p->holes[k] = (hole){offset, bytes};
    p->n_holes++;
    if (k + 1 < p->n_holes && offset + bytes == p->holes[k + 1].offset) {
        p->holes[k].bytes += p->holes[k + 1].bytes;
        memmove(&p->holes[k + 1], &p->holes[k + 2],
                (size_t)(p->n_holes - k - 2) * sizeof *p->holes);
        p->n_holes--;
    }
    if (k > 0 && p->holes[k - 1].offset + p->holes[k - 1].bytes == offset) {
        p->holes[k - 1].bytes += p->holes[k].bytes;
        memmove(&p->holes[k], &p->holes[k + 1], (size_t)(p->n_holes - k - 1) * sizeof *p->holes);
        p->n_holes--;
    }
}

static pada_place *place_of(pada_plan *p, int tensor)
{
    const int n = p->program.n_nodes;
    return tensor < n ? &p->program.node_plans[tensor].value
                      : &p->program.node_plans[tensor - n].grad;
}

/* Gives every tensor of one kind a place. Tensors of the work buffer live for whole stages, because
 * a stage runs image by image; those inside a stage live for instructions, unless a backend that gathers
 * runs them in another order. Returns the bytes needed. */
static int64_t place_all(pada_plan *p, int kind, int n_times, const int *time_of)
{
    const int64_t n_images = kind == PADA_WORK ? p->program.n_images : 1;
    int64_t end = 0;

    p->n_holes = 0;
    for (int t = 0; t < n_times; t++)
        p->starts[t] = p->ends[t] = -1;
    for (int k = 2 * p->program.n_nodes - 1; k >= 0; k--) {
        if (place_of(p, k)->in != (unsigned)kind) continue;
        span *s = &p->spans[k];
        const int first = time_of ? time_of[s->first] : s->first;
        const int last = time_of ? time_of[s->last] : s->last;
        s->next_start = p->starts[first];
        s->next_end = p->ends[last];
        p->starts[first] = p->ends[last] = k;
    }
    for (int t = 0; t < n_times; t++) {
        for (int k = p->starts[t]; k >= 0; k = p->spans[k].next_start) {
            pada_place *place = place_of(p, k);
            place->offset = take(p, n_images * place->image_bytes, &end);
        }
        for (int k = p->ends[t]; k >= 0; k = p->spans[k].next_end)
            give(p, place_of(p, k)->offset, n_images * place_of(p, k)->image_bytes);
    }
    return end;
}

/* A gradient whose sums are taken is kept until the end of the stage, for all images. Where a batch
 * norm of the sum itself wants them, the next stage reads it anyway; a probe has to say so. */
static void place_tensors(pada_plan *p, const pada_backend *backend, const pada_device *device,
                          bool train)
{
    pada_program *q = &p->program;

    for (int k = 0; k < 2 * q->n_nodes; k++)
        p->spans[k] = (span){-1, -1, -1, -1};
    for (int i = 0; i < q->n_instrs; i++)
        touch_all(p, i, train);
    if (backend->gather) house_operands(p);
    for (int v = 0; v < q->n_nodes; v++) {
        if (q->nodes[v].op != PADA_OP_LOSS || q->nodes[v].loss.is_auxiliary) continue;
        /* The caller reads the logits afterwards. */
        p->spans[q->nodes[v].x].last = q->n_instrs - 1;
        q->node_plans[q->nodes[v].x].value.in = PADA_WORK;
    }
    for (int k = 0; k < 2 * q->n_nodes; k++) {
        const pada_node *node = &q->nodes[k % q->n_nodes];
        pada_place *place = place_of(p, k);
        span *s = &p->spans[k];
        if (s->first < 0 || node->op == PADA_OP_INPUT) continue;
        place->image_bytes = backend->image_bytes(device, node->shape);
        const bool inside = p->stage_of[s->first] == p->stage_of[s->last];
        if (!inside || pada__plan_is_probed(q, k % q->n_nodes)) place->in = PADA_WORK;
        if (place->in == PADA_NOWHERE) place->in = PADA_LOCAL;
    }
    q->local_bytes = backend->gather ? place_all(p, PADA_LOCAL, q->n_stages, p->stage_of)
                                     : place_all(p, PADA_LOCAL, q->n_instrs, NULL);
    q->work_bytes = place_all(p, PADA_WORK, q->n_stages, p->stage_of);
}

/* Taps lie one behind the other, so that programs with the same taps agree about their places. The
 * first comparison stores its result, the others add. */
static void place_taps(pada_plan *p, const pada_backend *backend, const pada_device *device)
{
    pada_program *q = &p->program;
    bool compared = false;

    q->n_taps = 0;
    q->taps_bytes = 0;
    for (int v = 0; v < q->n_nodes; v++) {
        if (q->nodes[v].op != PADA_OP_TAP) continue;
        const int64_t bytes = backend->image_bytes(device, q->nodes[v].shape);
        q->node_plans[v].value = (pada_place){PADA_TAPS, q->taps_bytes, bytes};
        q->taps_bytes += q->n_images * bytes;
        q->n_taps++;
    }
    for (int i = 0; i < q->n_instrs; i++) {
        if (q->instrs[i].code != PADA_CODE_ALIGN_FWD) continue;
        q->instrs[i].accumulate = compared;
        compared = true;
    }
}

/* The coefficients of the batch norms among the terms of one kind of node. */
static void place_coefs(pada_plan *p, const pada_backend *backend, const pada_device *device,
                        pada_op op)
{
    pada_program *q = &p->program;

    for (int v = 0; v < q->n_nodes; v++) {
        const pada_node *node = &q->nodes[v];
        for (int t = node->first_term; node->op == op && t < node->first_term + node->n_terms;
             t++) {
            if (q->terms[t].kind != PADA_TERM_BATCHNORM) continue;
            q->term_plans[t].coef = q->work_bytes;
            q->work_bytes += 3 * backend->channel_bytes(device, node->shape.c);
        }
    }
}

/* What forward reads of the batch norms: with a scale, or running statistics, not the same as of the value. */
static void place_factors(pada_plan *p, const pada_backend *backend, const pada_device *device)
{
    pada_program *q = &p->program;

    for (int t = 0; t < q->n_terms; t++) {
        const pada_term *term = &q->terms[t];
        if (term->kind != PADA_TERM_BATCHNORM) continue;
        q->term_plans[t].stats = q->node_plans[term->x].stats;
        if (!pada_norm_is_affine(&term->norm) && !pada_norm_is_fixed(q, t)) continue;
        q->term_plans[t].stats = q->work_bytes;
        q->work_bytes += 2 * backend->channel_bytes(device, q->nodes[term->x].shape.c);
    }
}

/* Statistics behind the tensors, then the partial sums that every stage uses anew. */
static void place_statistics(pada_plan *p, const pada_backend *backend, const pada_device *device)
{
    pada_program *q = &p->program;
    int64_t most = 0;

    for (int v = 0; v < q->n_nodes; v++) {
        if (q->node_plans[v].stats < 0) continue;
        q->node_plans[v].stats = q->work_bytes;
        q->work_bytes += 2 * backend->channel_bytes(device, q->nodes[v].shape.c);
    }
    place_factors(p, backend, device);
    place_coefs(p, backend, device, PADA_OP_COMBINE);
    q->probes = q->work_bytes;
    place_coefs(p, backend, device, PADA_OP_PROBE);
    q->probes_bytes = q->work_bytes - q->probes;
    for (int s = 0; s < q->n_stages; s++) {
        int64_t used = 0;
        for (int i = q->stages[s].first; i < q->stages[s].first + q->stages[s].count; i++) {
            pada_instr *instr = &q->instrs[i];
            const pada_node *node = &q->nodes[instr->v];
            int vectors = instr->stats ? 3 : 0;
            if (instr->code == PADA_CODE_NORM_SUMS) vectors = 1 + node->n_terms;
            if (backend->gather) vectors = 0; /* it has sums of its own, per launch */
            instr->partial = q->work_bytes + used;
            used += (int64_t)vectors * q->n_images * backend->channel_bytes(device, node->shape.c);
        }
        if (used > most) most = used;
    }
    q->work_bytes += most;
}

void pada__plan_places(pada_plan *p, const pada_backend *backend, const pada_device *device,
                       bool train)
{
    place_tensors(p, backend, device, train);
    place_taps(p, backend, device);
    place_statistics(p, backend, device);
}
