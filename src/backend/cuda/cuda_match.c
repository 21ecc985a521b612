/* cuda_match.c - groups the instructions of a stage into launches of node kernels.
 *
 * Forward, a convolution is moved up to the sum that it reads. Its result must not lie in memory that is
 * reused inside the stage, where something else may be in its place that early. Backward, the planner has
 * put all contributions to a gradient side by side (backend.h, gather): those that no node kernel knows
 * run first, one by one, and the node kernel adds to them. */
#include "backend/cuda/cuda_match_parts.h"

#include <string.h>

#include "backend/cuda/cuda_kernels.h"
#include "backend/cuda/cuda_known.h"
#include "backend/cuda/cuda_level_known.h"
#include "base/mem.h"

typedef cuda_matcher matcher;

/* What has become of an instruction. */
enum { FREE, CHOSEN /* for the step that comes next */, PLACED };

/* ---- room ---- */

void pada_cuda_match_deinit(cuda_match *m)
{
    pada_free(m->steps);
    pada_free(m->members);
    pada_free(m->taken);
    pada_free(m->nodes);
    pada_free(m->terms);
    pada_free(m->parts);
    *m = (cuda_match){0};
}

static pada_status make_room(cuda_match *m, const pada_program *q)
{
    void *steps, *members, *taken, *nodes, *terms, *parts;
    /* a convolution backwards is two parts, a concatenation one for each operand */
    const size_t cap_parts = 2 * (size_t)q->n_instrs + (size_t)q->n_terms;

    if (q->n_instrs <= m->cap_instrs && q->n_nodes <= m->cap_nodes && q->n_terms <= m->cap_terms)
        return PADA_OK;
    pada_cuda_match_deinit(m);
    PADA_TRY(pada_calloc(&steps, cap_parts, sizeof *m->steps));
    m->steps = steps;
    PADA_TRY(pada_calloc(&members, cap_parts, sizeof *m->members));
    m->members = members;
    PADA_TRY(pada_calloc(&taken, (size_t)q->n_instrs, sizeof *m->taken));
    m->taken = taken;
    PADA_TRY(pada_calloc(&nodes, (size_t)q->n_nodes, sizeof *m->nodes));
    m->nodes = nodes;
    PADA_TRY(pada_calloc(&terms, (size_t)q->n_terms + 1, sizeof *m->terms));
    m->terms = terms;
    PADA_TRY(pada_calloc(&parts, cap_parts, sizeof *m->parts));
    m->parts = parts;
    m->cap_instrs = q->n_instrs;
    m->cap_nodes = q->n_nodes;
    m->cap_terms = q->n_terms;
    return PADA_OK;
}

/* ---- steps ---- */

cuda_step *pada_cuda_begin_step(const matcher *k, cuda_step_kind kind, pada_value v)
{
    cuda_match *m = k->m;
    cuda_step *step = &m->steps[m->n_steps++];

    *step = (cuda_step){
        .kind = kind, .stage = k->stage, .first = m->n_members, .v = v, .batch = m->n_batches};
    return step;
}

void pada_cuda_add_member(const matcher *k, cuda_step *step, int i)
{
    k->m->taken[i] = PLACED;
    k->m->members[k->m->n_members++] = i;
    step->count++;
}

static void add_general(const matcher *k, int i, bool accumulate)
{
    cuda_step *step = pada_cuda_begin_step(k, CUDA_STEP_INSTR, -1);

    step->accumulate = accumulate;
    pada_cuda_add_member(k, step, i);
}

static bool is_member(const matcher *k, const cuda_step *step, int i)
{
    for (int n = 0; n < step->count; n++)
        if (k->m->members[step->first + n] == i) return true;
    return false;
}

/* Weights as fragments, once per convolution. */
static void want_fragments(const matcher *k, pada_value v)
{
    cuda_node_match *node = &k->m->nodes[v];

    if (node->fragment >= 0) return;
    node->fragment = k->m->fragment_bytes;
    k->m->fragment_bytes += 2 * 2 * pada_conv_weights(&k->q->nodes[v].conv);
}

/* Partial sums of a weight gradient. They are added up when they fill the L2, or nearly so: what goes
 * through memory costs twice the time. */
void pada_cuda_want_partial(const matcher *k, pada_value v, int blocks)
{
    cuda_match *m = k->m;

    m->nodes[v].blocks = blocks;
    m->nodes[v].batch = m->n_batches;
    m->batch_floats += pada_conv_weights(&k->q->nodes[v].conv) * blocks;
}

/* Before the next step: whether the partial sums so far are enough. */
void pada_cuda_end_batch(const matcher *k)
{
    if (k->m->batch_floats * (int64_t)sizeof(float) < CUDA_PARTIAL_BYTES) return;
    k->m->batch_floats = 0;
    k->m->n_batches++;
}

int64_t pada_cuda_take_sums(const matcher *k, int channels)
{
    const int64_t first = k->m->n_sums;

    k->m->n_sums += cuda_sums_count(channels);
    return first;
}

static void add_group(const matcher *k, cuda_step_kind kind, int i, int count)
{
    cuda_step *step = pada_cuda_begin_step(k, kind, -1);

    for (int n = 0; n < count; n++)
        pada_cuda_add_member(k, step, i + n);
}

static void want_moments(const matcher *k, const pada_instr *instr)
{
    if (instr->stats)
        k->m->nodes[instr->v].moments = pada_cuda_take_sums(k, k->q->nodes[instr->v].shape.c);
}

/* ---- forward ---- */

static bool reads(const pada_program *q, const pada_instr *instr, pada_value v)
{
    const pada_node *node = &q->nodes[instr->v];

    if (node->x == v) return true;
    for (int t = node->first_term; t < node->first_term + node->n_terms; t++)
        if (q->terms[t].x == v) return true;
    return false;
}

/* Adds the convolutions of v among the instructions [i, end) that may run now, all with one activation. */
static void add_convs(const matcher *k, cuda_step *step, int i, int end)
{
    const pada_program *q = k->q;
    int n = 0;
    pada_act act = PADA_ACT_NONE;

    for (; i < end && n < CUDA_NODE_CONVS; i++) {
        const pada_value z = q->instrs[i].v;
        if (k->m->taken[i] || q->instrs[i].code != PADA_CODE_CONV_FWD || q->nodes[z].x != step->v)
            continue;
        if (!pada_cuda_is_node_conv(q, z) || (n > 0 && q->nodes[z].conv.act != act)) continue;
        if (step->count > 0 && q->node_plans[z].value.in != PADA_WORK) continue;
        act = q->nodes[z].conv.act;
        pada_cuda_add_member(k, step, i);
        want_fragments(k, z);
        want_moments(k, &q->instrs[i]);
        n++;
    }
}

/* Whether v is of no use behind the step: it lives in this stage only, and nobody else reads it. */
static bool is_only_here(const matcher *k, const cuda_step *step, int i, int end)
{
    if (k->q->node_plans[step->v].value.in != PADA_LOCAL) return false;
    for (; i < end; i++)
        if (!is_member(k, step, i) && reads(k->q, &k->q->instrs[i], step->v)) return false;
    return true;
}

static void match_forward(const matcher *k)
{
    const pada_program *q = k->q;
    const int begin = q->stages[k->stage].first, end = begin + q->stages[k->stage].count;

    for (int i = begin; i < end; i++) {
        const pada_instr *instr = &q->instrs[i];
        if (k->m->taken[i]) continue;
        if (k->tiles && instr->code == PADA_CODE_COMBINE_FWD &&
            pada_cuda_is_node_combine(q, instr->v)) {
            cuda_step *step = pada_cuda_begin_step(k, CUDA_STEP_NODE_FORWARD, instr->v);
            pada_cuda_add_member(k, step, i);
            want_moments(k, instr);
            add_convs(k, step, i + 1, end);
            step->no_store = !instr->stats && is_only_here(k, step, i + 1, end);
        } else if (k->tiles && instr->code == PADA_CODE_CONV_FWD &&
                   pada_cuda_is_node_conv(q, instr->v)) {
            cuda_step *step = pada_cuda_begin_step(k, CUDA_STEP_NODE_FORWARD, q->nodes[instr->v].x);
            step->no_store = true;
            add_convs(k, step, i, end);
        } else if (k->tiles && pada_cuda_is_reduction(q, i, end)) {
            add_group(k, CUDA_STEP_REDUCTION_FORWARD, i, 3);
            for (int n = 0; n < 3; n += 2) {
                want_fragments(k, q->instrs[i + n].v);
                want_moments(k, &q->instrs[i + n]);
            }
        } else if (k->tiles && instr->code == PADA_CODE_CONV_FWD &&
                   pada_cuda_is_stem(q, instr->v)) {
            add_group(k, CUDA_STEP_STEM_FORWARD, i, 1);
            want_moments(k, instr);
        } else if (pada_cuda_is_head_forward(q, i, end)) {
            add_group(k, CUDA_STEP_HEAD_FORWARD, i, 3);
        } else {
            add_general(k, i, false);
            if (k->tiles && instr->code == PADA_CODE_CONV_FWD &&
                pada_cuda_node_fits(q->nodes[instr->v].shape))
                want_moments(k, instr);
        }
    }
}

/* ---- backward ---- */

pada_value pada_cuda_receiver(const pada_program *q, const pada_instr *instr)
{
    if (instr->code == PADA_CODE_NORM_SUMS) return instr->dy;
    if (instr->code == PADA_CODE_COMBINE_BWD || instr->code == PADA_CODE_CONCAT_BWD ||
        instr->code == PADA_CODE_GATE_BWD)
        return q->terms[instr->term].x;
    return q->nodes[instr->v].x;
}

/* Whether the node kernel for the gradient of x takes this instruction. */
static bool is_node_part(const matcher *k, const pada_instr *instr, pada_act act, int n_convs,
                         int n_flows, int n_norms)
{
    const pada_program *q = k->q;

    switch (instr->code) {
    case PADA_CODE_NORM_SUMS: return true;
    case PADA_CODE_COMBINE_BWD: /* one flow is left for what others contribute */
        return (!instr->norms || n_norms == 0) && pada_cuda_is_node_term(&q->terms[instr->term]) &&
               n_flows < CUDA_NODE_CONVS - 1;
    case PADA_CODE_CONV_BWD:
        return pada_cuda_is_node_conv(q, instr->v) && n_convs < CUDA_NODE_CONVS &&
               (n_convs == 0 || q->nodes[instr->v].conv.act == act);
    default: return false;
    }
}

static void add_back_conv(const matcher *k, pada_value v)
{
    want_fragments(k, v);
    pada_cuda_want_partial(k, v, pada_cuda_node_partials(k->q->nodes[v].shape, k->q->n_images));
}

/* The sums of batch norm t of a probe of y, where y has the same one; or -1. */
static int64_t sums_of_same(const matcher *k, pada_value y, int t)
{
    const pada_node *node = &k->q->nodes[y];

    for (int own = node->first_term; own < node->first_term + node->n_terms; own++)
        if (k->q->terms[own].x == k->q->terms[t].x) return k->m->terms[own].slopes;
    return -1;
}

/* Those of a sum come before those of its probe. */
static void add_norm_sums(const matcher *k, const pada_instr *instr)
{
    const pada_node *node = &k->q->nodes[instr->v];

    for (int t = node->first_term; t < node->first_term + node->n_terms; t++) {
        cuda_term_match *term = &k->m->terms[t];
        if (k->q->terms[t].kind != PADA_TERM_BATCHNORM) continue;
        if (instr->v != instr->dy) term->slopes = sums_of_same(k, instr->dy, t);
        term->known = term->slopes >= 0;
        if (!term->known) term->slopes = pada_cuda_take_sums(k, node->shape.c);
    }
}

/* A convolution between stages, whose kernel stores the gradient of x: that with stride 2 together with the means,
 * or that of the means. Whether it is there, and nothing besides but what comes later. */
static bool match_reduction(const matcher *k, int begin, int end)
{
    const pada_program *q = k->q;
    int conv = -1, means = -1, others = 0;

    for (int i = begin; i < end; i++) {
        const pada_instr *instr = &q->instrs[i];
        if (instr->code == PADA_CODE_NORM_SUMS || instr->code == PADA_CODE_ALIGN_BWD) continue;
        if (conv < 0 && instr->code == PADA_CODE_CONV_BWD && !instr->no_grad_in &&
            (pada_cuda_is_strided(q, instr->v) || pada_cuda_is_point(q, instr->v)))
            conv = i;
        else if (means < 0 && instr->code == PADA_CODE_COMBINE_BWD && !instr->norms &&
                 pada_cuda_is_halving(&q->terms[instr->term]))
            means = i;
        else
            others++;
    }
    if (conv < 0 || others > 0 || (means >= 0 && !pada_cuda_is_strided(q, q->instrs[conv].v)))
        return false;
    add_group(k, CUDA_STEP_REDUCTION_BACKWARD, conv, 1);
    if (means >= 0) pada_cuda_add_member(k, &k->m->steps[k->m->n_steps - 1], means);
    want_fragments(k, q->instrs[conv].v);
    pada_cuda_want_partial(k, q->instrs[conv].v, q->n_images);
    return true;
}

/* The instructions [begin, end), all for the gradient of x; n_done: contributions that were made before. */
static void match_gradient(const matcher *k, pada_value x, int begin, int end, int n_done)
{
    const pada_program *q = k->q;
    int n_convs = 0, n_flows = 0, n_norms = 0, n_parts = 0;
    pada_act act = PADA_ACT_NONE;

    pada_cuda_end_batch(k);
    if (k->tiles && match_reduction(k, begin, end)) n_done++;
    for (int i = begin; i < end && k->tiles && pada_cuda_node_fits(q->nodes[x].shape); i++) {
        const pada_instr *instr = &q->instrs[i];
        if (k->m->taken[i] || !is_node_part(k, instr, act, n_convs, n_flows, n_norms)) continue;
        if (instr->code == PADA_CODE_CONV_BWD) {
            act = q->nodes[instr->v].conv.act;
            add_back_conv(k, instr->v);
            n_convs++;
        } else if (instr->code == PADA_CODE_NORM_SUMS) {
            add_norm_sums(k, instr);
        } else {
            n_norms += instr->norms;
            n_flows++;
        }
        k->m->taken[i] = CHOSEN;
        n_parts++;
    }
    for (int i = begin; i < end; i++)
        if (!k->m->taken[i] && q->instrs[i].code != PADA_CODE_NORM_SUMS)
            add_general(k, i, n_done++ > 0);
    if (n_parts > 0) {
        const bool has_grad = q->nodes[x].op != PADA_OP_INPUT;
        cuda_step *step = pada_cuda_begin_step(k, CUDA_STEP_NODE_BACKWARD, x);
        step->accumulate = has_grad && n_done > 0;
        step->no_store = !has_grad || (n_convs == 0 && n_flows == 0);
        for (int i = begin; i < end; i++)
            if (k->m->taken[i] == CHOSEN) pada_cuda_add_member(k, step, i);
    }
    for (int i = begin; i < end; i++) /* of the complete gradient */
        if (!k->m->taken[i] && q->instrs[i].code == PADA_CODE_NORM_SUMS) add_general(k, i, false);
}

static void match_backward(const matcher *k)
{
    const pada_program *q = k->q;
    const int begin = q->stages[k->stage].first, end = begin + q->stages[k->stage].count;

    for (int i = begin, next; i < end; i = next) {
        const bool head = pada_cuda_is_head_backward(q, i, end);
        if (head) {
            add_group(k, CUDA_STEP_HEAD_BACKWARD, i, 2);
            i++;
        }
        const pada_value x = pada_cuda_receiver(q, &q->instrs[i]);
        for (next = i + 1;
             next < end && x != PADA_ZERO && pada_cuda_receiver(q, &q->instrs[next]) == x;)
            next++;
        if (q->instrs[i].code == PADA_CODE_CONV_BWD && q->instrs[i].no_grad_in && next == i + 1 &&
            k->tiles && pada_cuda_is_stem(q, q->instrs[i].v)) {
            pada_cuda_end_batch(k);
            add_group(k, CUDA_STEP_STEM_BACKWARD, i, 1);
            pada_cuda_want_partial(k, q->instrs[i].v, q->n_images);
            k->m->nodes[q->instrs[i].v].plain = true;
        } else if (x == PADA_ZERO) {
            add_general(k, i, false);
        } else {
            match_gradient(k, x, head ? i + 1 : i, next, head);
        }
    }
}

/* ---- places of partial sums ---- */

static bool is_added_up(const matcher *k, pada_value v, int batch)
{
    return k->m->nodes[v].blocks > 0 && k->m->nodes[v].batch == batch;
}

/* Those of one batch lie one behind the other; those of convolutions with the same weights side by side, so that
 * one of them stands for all. */
static void place_partials(const matcher *k, int batch)
{
    const pada_node *nodes = k->q->nodes;
    cuda_node_match *at = k->m->nodes;
    int64_t end = 0;

    for (int v = 0; v < k->q->n_nodes; v++) {
        if (!is_added_up(k, v, batch) || at[v].partial >= 0) continue;
        for (int u = v; u < k->q->n_nodes; u++) {
            if (!is_added_up(k, u, batch) || nodes[u].weight != nodes[v].weight) continue;
            at[u].partial = end;
            at[v].n_partials += at[u].blocks;
            end += pada_conv_weights(&nodes[u].conv) * at[u].blocks;
        }
    }
    if (end > k->m->partial_floats) k->m->partial_floats = end;
}

/* ---- what general kernels need from node kernels ---- */

static void mark_finishes(const matcher *k)
{
    const pada_program *q = k->q;
    cuda_match *m = k->m;

    for (int s = 0; s < m->n_steps; s++) {
        if (m->steps[s].kind != CUDA_STEP_INSTR) continue;
        const pada_instr *instr = &q->instrs[m->members[m->steps[s].first]];
        const pada_node *node = &q->nodes[instr->v];
        if (instr->code == PADA_CODE_CONV_BWD && instr->term >= 0)
            m->terms[instr->term].finish = true;
        if (instr->code == PADA_CODE_COMBINE_BWD && instr->norms)
            m->terms[instr->term].finish = true;
        if (instr->code != PADA_CODE_COMBINE_FWD && instr->code != PADA_CODE_NORM_SUMS) continue;
        for (int t = node->first_term; t < node->first_term + node->n_terms; t++)
            if (q->terms[t].kind == PADA_TERM_BATCHNORM) m->nodes[q->terms[t].x].finish = true;
    }
}

pada_status pada_cuda_match(cuda_match *m, const pada_program *q, bool tiles)
{
    PADA_TRY(make_room(m, q));
    m->n_steps = m->n_members = m->n_parts = 0;
    m->levels = tiles && pada_cuda_wants_levels(q);
    m->n_forward_sums = m->n_sums = m->fragment_bytes = 0;
    m->batch_floats = m->partial_floats = 0;
    m->n_batches = 0;
    for (int v = 0; v < q->n_nodes; v++)
        m->nodes[v] = (cuda_node_match){.moments = -1,
                                        .sums = -1,
                                        .fragment = -1,
                                        .partial = -1,
                                        .home = -1,
                                        .ready = {-1, -1},
                                        .complete = {-1, -1}};
    for (int t = 0; t < q->n_terms; t++)
        m->terms[t] = (cuda_term_match){.slopes = -1, .sums = -1};
    memset(m->taken, 0, (size_t)q->n_instrs * sizeof *m->taken);
    if (m->levels) pada_cuda_choose_views(&(matcher){m, q, tiles, 0});
    for (int s = 0; s < q->n_stages; s++) {
        const matcher k = {m, q, tiles, s};
        if (m->levels)
            pada_cuda_match_level_stage(&k);
        else if (s < q->n_forward)
            match_forward(&k);
        else
            match_backward(&k);
        if (s == q->n_forward - 1) m->n_forward_sums = m->n_sums;
    }
    for (int batch = 0; batch <= m->n_batches; batch++)
        place_partials(&(matcher){m, q, tiles, 0}, batch);
    mark_finishes(&(matcher){m, q, tiles, 0});
    PADA_ASSERT(m->levels || m->n_members == q->n_instrs);
    return PADA_OK;
}
