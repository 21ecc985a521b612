/* plan.c - stages, gradients and places in memory for the graph of one path.
 *
 * Invariants of a program:
 *   P1  an instruction stands in the earliest stage where its operands are ready: in the same stage as an operand
 *       of the same image, one stage after a reduction over the batch that it reads;
 *   P2  inside a stage instructions stand in an order in which every image can run them one after the other;
 *   P3  the first contribution to a gradient stores, later ones add;
 *   P4  tensors whose places overlap are never alive at the same time.
 *
 * For a backend that gathers, P1 has an exception: a contribution to a gradient stands in the stage where that gradient
 * becomes complete, next to the other contributions, so that one kernel can make all of them. The contribution of a
 * tap stands there for every backend: it could be made long before, and a gradient would live from then on. */
#include "graph/plan.h"

#include <string.h>

#include "base/mem.h"

/* A tensor waiting for its place: alive from instruction `first` to `last`, both included. */
typedef struct span {
    int first, last;
    int next_start, next_end; /* in the lists of tensors that start, or end, at the same time */
} span;

typedef struct hole {
    int64_t offset, bytes;
} hole;

struct pada_plan {
    pada_program program;
    int cap_nodes, cap_instrs;
    int *ready;         /* [node] stage in which the value, later the gradient, is complete */
    int *reader;        /* [node] the only combine that reads it, or -1 */
    int *stage;         /* [instr] before sorting */
    int *order;         /* [instr] */
    int *stage_of;      /* [instr] after sorting */
    int *starts, *ends; /* [time] list heads */
    /* What reads each value: a list per node of terms t and, as n_terms + v, of other nodes v. */
    int *uses, *next_use;
    int *owner; /* [term] the combine it belongs to */
    pada_instr *unsorted;
    span *spans; /* [2 * node]: values, then gradients */
    hole *holes;
    int n_holes;
};

pada_status pada_plan_create(pada_plan **out, int cap_nodes, int cap_terms)
{
    pada_plan *p;
    void *mem;
    pada_status st;
    /* Per node: one forward and at most three backward instructions; or one per term. */
    const int cap_instrs = 4 * cap_nodes + cap_terms;

    *out = NULL;
    PADA_TRY(pada_calloc(&mem, 1, sizeof *p));
    p = mem;
    p->cap_nodes = cap_nodes;
    p->cap_instrs = cap_instrs;
    const struct {
        void **field;
        int n;
        size_t size;
    } arrays[] = {
        {(void **)&p->program.node_plans, cap_nodes, sizeof(pada_node_plan)},
        {(void **)&p->program.term_plans, cap_terms, sizeof(pada_term_plan)},
        {(void **)&p->program.instrs, cap_instrs, sizeof(pada_instr)},
        {(void **)&p->program.stages, cap_instrs, sizeof(pada_stage)},
        {(void **)&p->ready, cap_nodes, sizeof(int)},
        {(void **)&p->reader, cap_nodes, sizeof(int)},
        {(void **)&p->stage, cap_instrs, sizeof(int)},
        {(void **)&p->order, cap_instrs + 1, sizeof(int)},
        {(void **)&p->stage_of, cap_instrs, sizeof(int)},
        {(void **)&p->starts, cap_instrs, sizeof(int)},
        {(void **)&p->ends, cap_instrs, sizeof(int)},
        {(void **)&p->uses, cap_nodes, sizeof(int)},
        {(void **)&p->next_use, cap_nodes + cap_terms, sizeof(int)},
        {(void **)&p->owner, cap_terms, sizeof(int)},
        {(void **)&p->unsorted, cap_instrs, sizeof(pada_instr)},
        {(void **)&p->spans, 2 * cap_nodes, sizeof(span)},
        {(void **)&p->holes, 2 * cap_nodes + 2, sizeof(hole)},
    };
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        if ((st = pada_calloc(&mem, (size_t)arrays[i].n, arrays[i].size)) != PADA_OK) {
            pada_plan_destroy(p);
            return st;
        }
        *arrays[i].field = mem;
    }
    *out = p;
    return PADA_OK;
}

void pada_plan_destroy(pada_plan *p)
{
    if (!p) return;
    pada_free(p->program.node_plans);
    pada_free(p->program.term_plans);
    pada_free(p->program.instrs);
    pada_free(p->program.stages);
    pada_free(p->ready);
    pada_free(p->reader);
    pada_free(p->stage);
    pada_free(p->order);
    pada_free(p->stage_of);
    pada_free(p->starts);
    pada_free(p->ends);
    pada_free(p->uses);
    pada_free(p->next_use);
    pada_free(p->owner);
    pada_free(p->unsorted);
    pada_free(p->spans);
    pada_free(p->holes);
    pada_free(p);
}

const pada_program *pada_plan_program(const pada_plan *p)
{
    return &p->program;
}

static int max(int a, int b)
{
    return a > b ? a : b;
}

static void emit(pada_plan *p, int stage, pada_instr instr)
{
    PADA_ASSERT(p->program.n_instrs < p->cap_instrs);
    p->unsorted[p->program.n_instrs] = instr;
    p->stage[p->program.n_instrs++] = stage;
}

/* ---- instructions ---- */

static int has_norm(const pada_program *q, const pada_node *node)
{
    for (int i = 0; i < node->n_terms; i++)
        if (q->terms[node->first_term + i].kind == PADA_TERM_BATCHNORM) return 1;
    return 0;
}

static void emit_forward(pada_plan *p, bool train)
{
    const pada_code codes[PADA_N_OPS] = {
        [PADA_OP_CONV] = PADA_CODE_CONV_FWD,
        [PADA_OP_COMBINE] = PADA_CODE_COMBINE_FWD,
        [PADA_OP_GAP] = PADA_CODE_GAP_FWD,
        [PADA_OP_LINEAR] = PADA_CODE_LINEAR_FWD,
        [PADA_OP_LOSS] = PADA_CODE_LOSS_FWD,
        [PADA_OP_TAP] = train ? PADA_CODE_ALIGN_FWD : PADA_CODE_TAP_KEEP,
    };
    pada_program *q = &p->program;

    for (int v = 0; v < q->n_nodes; v++)
        q->node_plans[v] = (pada_node_plan){.stats = -1};
    for (int t = 0; t < q->n_terms; t++)
        if (q->terms[t].kind == PADA_TERM_BATCHNORM) q->node_plans[q->terms[t].x].stats = 0;

    for (int v = 0; v < q->n_nodes; v++) {
        const pada_node *node = &q->nodes[v];
        int stage = 0;
        if (node->op == PADA_OP_COMBINE)
            for (int i = 0; i < node->n_terms; i++) {
                const pada_term *term = &q->terms[node->first_term + i];
                stage = max(stage, p->ready[term->x] + (term->kind == PADA_TERM_BATCHNORM));
            }
        else if (node->x != PADA_ZERO)
            stage = p->ready[node->x];
        p->ready[v] = stage;
        q->n_forward = max(q->n_forward, stage + 1);
        if (node->op == PADA_OP_INPUT || node->op == PADA_OP_PROBE) continue;
        emit(p, stage,
             (pada_instr){.code = codes[node->op],
                          .v = v,
                          .stats = q->node_plans[v].stats == 0,
                          .dy = v,
                          .term = -1});
    }
}

enum { NO_READER = -2, OTHER_READER = -1 };

static bool has_gradient(const pada_plan *p, int v)
{
    return p->reader[v] != NO_READER;
}

/* The only reader of each value, if that is a pointwise term of a combine. A convolution that has
 * one leaves its gradient to be formed from the combine's when it is needed. A value that nobody
 * reads but probes, and what is read by such values only, has no gradient. */
static void find_readers(pada_plan *p)
{
    const pada_program *q = &p->program;

    for (int v = 0; v < q->n_nodes; v++)
        p->reader[v] = NO_READER;
    for (int v = q->n_nodes - 1; v >= 0; v--) {
        const pada_node *node = &q->nodes[v];
        if (!has_gradient(p, v) && node->op != PADA_OP_LOSS && node->op != PADA_OP_TAP) continue;
        for (int i = 0; i < node->n_terms; i++) {
            const pada_term *term = &q->terms[node->first_term + i];
            const int pointwise = term->kind != PADA_TERM_AVGPOOL;
            p->reader[term->x] = pointwise && p->reader[term->x] == NO_READER ? v : OTHER_READER;
        }
        if (node->op != PADA_OP_COMBINE && node->x != PADA_ZERO) p->reader[node->x] = OTHER_READER;
    }
}

/* The gradients of the operands of v are complete in this stage or later; ready[v] is final. */
static void spread_ready(pada_plan *p, int v)
{
    pada_program *q = &p->program;
    const pada_node *node = &q->nodes[v];
    const int s = p->ready[v];

    for (int t = node->first_term; t < node->first_term + node->n_terms; t++)
        q->term_plans[t] = (pada_term_plan){.coef = -1};
    if (!has_gradient(p, v)) return;
    if (node->op == PADA_OP_COMBINE) {
        for (int i = 0; i < node->n_terms; i++) {
            const int t = node->first_term + i, x = q->terms[t].x;
            const int norm = q->terms[t].kind == PADA_TERM_BATCHNORM;
            q->term_plans[t].lazy = q->nodes[x].op == PADA_OP_CONV && p->reader[x] == v;
            p->ready[x] = max(p->ready[x], s + norm);
        }
    } else if (node->op != PADA_OP_LOSS && node->op != PADA_OP_INPUT && node->x != PADA_ZERO) {
        p->ready[node->x] = max(p->ready[node->x], s);
    }
}

/* The instruction that takes the gradient of v, which is no combine, on to its operand. */
static void emit_operand(pada_plan *p, int stage, int v)
{
    const pada_program *q = &p->program;
    const pada_node *node = &q->nodes[v];
    pada_instr instr = {.v = v, .dy = v, .term = -1};

    if (node->op == PADA_OP_LINEAR) {
        instr.code = PADA_CODE_LINEAR_BWD;
    } else if (node->op == PADA_OP_GAP) {
        instr.code = PADA_CODE_GAP_BWD;
    } else if (node->op == PADA_OP_TAP) {
        instr.code = PADA_CODE_ALIGN_BWD;
    } else {
        const int combine = p->reader[v];
        instr.code = PADA_CODE_CONV_BWD;
        instr.no_grad_in = q->nodes[node->x].op == PADA_OP_INPUT;
        if (combine >= 0) {
            instr.dy = combine;
            for (int i = 0; i < q->nodes[combine].n_terms; i++) {
                const int t = q->nodes[combine].first_term + i;
                if (q->terms[t].x == v && q->terms[t].kind == PADA_TERM_BATCHNORM) instr.term = t;
            }
        }
    }
    emit(p, stage, instr);
}

static bool has_operand_instr(const pada_plan *p, int v)
{
    const pada_node *node = &p->program.nodes[v];

    if (node->op == PADA_OP_TAP) return node->x != PADA_ZERO;
    return (node->op == PADA_OP_LINEAR || node->op == PADA_OP_GAP || node->op == PADA_OP_CONV) &&
           has_gradient(p, v);
}

static bool is_probed(const pada_program *q, int x)
{
    if (x + 1 == q->n_nodes || q->nodes[x + 1].op != PADA_OP_PROBE) return false;
    PADA_ASSERT(q->nodes[x + 1].x == x);
    return true;
}

/* The sums over the complete gradient of x: for its own batch norms, and for those of its probe, which
 * stands behind it. */
static void emit_norm_sums(pada_plan *p, int stage, int x)
{
    const pada_program *q = &p->program;
    pada_instr instr = {.code = PADA_CODE_NORM_SUMS, .v = x, .dy = x, .term = -1};

    if (has_norm(q, &q->nodes[x])) emit(p, stage, instr);
    if (!is_probed(q, x)) return;
    instr.v = x + 1;
    emit(p, stage, instr);
}

/* Emits the backward instructions of node v, whose gradient is complete in stage ready[v]. */
static void emit_backward(pada_plan *p, int v)
{
    const pada_program *q = &p->program;
    const pada_node *node = &q->nodes[v];
    const int s = p->ready[v];
    pada_instr instr = {.code = PADA_CODE_COMBINE_BWD, .v = v, .dy = v, .term = -1};
    int now = 0, later = 0;

    /* A tap waits for nothing: it contributes last, so that the gradient does not live longer. */
    if (has_operand_instr(p, v))
        emit_operand(p, node->op == PADA_OP_TAP ? p->ready[node->x] : s, v);
    if (node->op != PADA_OP_COMBINE || !has_gradient(p, v)) return;
    for (int t = node->first_term; t < node->first_term + node->n_terms; t++)
        if (!q->term_plans[t].lazy) q->terms[t].kind == PADA_TERM_BATCHNORM ? later++ : now++;
    emit_norm_sums(p, s, v);
    if (now) emit(p, s, instr);
    instr.norms = true;
    if (later) emit(p, s + 1, instr);
}

/* Lists what reads each value, for gather_backward. */
static void list_uses(pada_plan *p)
{
    const pada_program *q = &p->program;

    for (int v = 0; v < q->n_nodes; v++)
        p->uses[v] = -1;
    for (int v = 0; v < q->n_nodes; v++) {
        const pada_node *node = &q->nodes[v];
        if (has_operand_instr(p, v) && node->x != PADA_ZERO) {
            p->next_use[q->n_terms + v] = p->uses[node->x];
            p->uses[node->x] = q->n_terms + v;
        }
        if (!has_gradient(p, v)) continue;
        for (int t = node->first_term; t < node->first_term + node->n_terms; t++) {
            p->owner[t] = v;
            p->next_use[t] = p->uses[q->terms[t].x];
            p->uses[q->terms[t].x] = t;
        }
    }
}

/* Emits all contributions to the gradient of x in the stage where it becomes complete, and then
 * what needs it as a whole. */
static void gather_backward(pada_plan *p, int x)
{
    const pada_program *q = &p->program;
    const pada_node *node = &q->nodes[x];
    const int s = p->ready[x];

    for (int use = p->uses[x]; use >= 0; use = p->next_use[use])
        if (use >= q->n_terms) {
            const int v =
                use - q->n_terms; /* without a gradient of x there is nothing to wait for */
            emit_operand(p, node->op == PADA_OP_INPUT ? p->ready[v] : s, v);
        } else if (!q->term_plans[use].lazy && node->op != PADA_OP_INPUT) {
            emit(p, s,
                 (pada_instr){.code = PADA_CODE_COMBINE_BWD,
                              .v = p->owner[use],
                              .dy = p->owner[use],
                              .term = use,
                              .norms = q->terms[use].kind == PADA_TERM_BATCHNORM});
        }
    if (node->op == PADA_OP_LINEAR && node->x == PADA_ZERO) emit_operand(p, s, x);
    if (node->op == PADA_OP_COMBINE && has_gradient(p, x)) emit_norm_sums(p, s, x);
}

static void sort_into_stages(pada_plan *p)
{
    pada_program *q = &p->program;
    int n_stages = q->n_forward;

    for (int i = 0; i < q->n_instrs; i++)
        n_stages = max(n_stages, p->stage[i] + 1);
    q->n_stages = n_stages;
    memset(q->stages, 0, (size_t)n_stages * sizeof *q->stages);
    for (int i = 0; i < q->n_instrs; i++)
        q->stages[p->stage[i]].count++;
    for (int s = 1; s < n_stages; s++)
        q->stages[s].first = q->stages[s - 1].first + q->stages[s - 1].count;
    for (int s = 0; s < n_stages; s++)
        p->order[s] = q->stages[s].first;
    for (int i = 0; i < q->n_instrs; i++) { /* stable, so P2 holds */
        const int to = p->order[p->stage[i]]++;
        q->instrs[to] = p->unsorted[i];
        p->stage_of[to] = p->stage[i];
    }
}

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

/* Extends the spans of all tensors that instruction i reads or writes, and decides store or add
 * (P3). */
static void touch_all(pada_plan *p, int i, bool train)
{
    pada_program *q = &p->program;
    pada_instr *instr = &q->instrs[i];
    const pada_node *node = &q->nodes[instr->v];
    span *values = p->spans, *grads = p->spans + q->n_nodes;

    switch (instr->code) {
    case PADA_CODE_COMBINE_FWD:
        for (int k = 0; k < node->n_terms; k++)
            touch(&values[q->terms[node->first_term + k].x], i);
        touch(&values[instr->v], i);
        break;
    case PADA_CODE_LINEAR_FWD:
    case PADA_CODE_GAP_FWD:
    case PADA_CODE_CONV_FWD:
        if (node->x != PADA_ZERO) touch(&values[node->x], i);
        touch(&values[instr->v], i);
        break;
    case PADA_CODE_LOSS_FWD:
        touch(&values[node->x], i);
        if (train) touch(&grads[node->x], i);
        break;
    case PADA_CODE_TAP_KEEP:
    case PADA_CODE_ALIGN_FWD:
        if (node->x != PADA_ZERO) touch(&values[node->x], i);
        break;
    case PADA_CODE_ALIGN_BWD:
        touch(&values[node->x], i);
        instr->accumulate = contribute(p, node->x, i);
        break;
    case PADA_CODE_LINEAR_BWD:
    case PADA_CODE_GAP_BWD:
        touch(&grads[instr->v], i);
        if (node->x == PADA_ZERO) break;
        touch(&values[node->x], i);
        instr->accumulate = contribute(p, node->x, i);
        break;
    case PADA_CODE_NORM_SUMS:
        touch(&grads[instr->dy], i);
        for (int k = 0; k < node->n_terms; k++) {
            const pada_term *term = &q->terms[node->first_term + k];
            if (term->kind == PADA_TERM_BATCHNORM) touch(&values[term->x], i);
        }
        break;
    case PADA_CODE_COMBINE_BWD:
        touch(&grads[instr->v], i);
        for (int k = 0; k < node->n_terms; k++) {
            const int t = node->first_term + k;
            const bool norm = q->terms[t].kind == PADA_TERM_BATCHNORM;
            if (q->term_plans[t].lazy || norm != instr->norms) continue;
            if (instr->term >= 0 && instr->term != t) continue;
            if (norm) touch(&values[q->terms[t].x], i);
            q->term_plans[t].accumulate = contribute(p, q->terms[t].x, i);
        }
        break;
    case PADA_CODE_CONV_BWD:
        touch(&grads[instr->dy], i);
        if (instr->term >= 0) touch(&values[instr->v], i);
        touch(&values[node->x], i);
        if (!instr->no_grad_in) instr->accumulate = contribute(p, node->x, i);
        break;
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
 * a stage runs image by image; those inside a stage live for instructions. Returns the bytes
 * needed. */
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
    for (int k = 0; k < 2 * q->n_nodes; k++) {
        const pada_node *node = &q->nodes[k % q->n_nodes];
        pada_place *place = place_of(p, k);
        span *s = &p->spans[k];
        if (s->first < 0 || node->op == PADA_OP_INPUT) continue;
        /* The logits are read by the caller afterwards. */
        if (node->op == PADA_OP_LINEAR && k < q->n_nodes) s->last = q->n_instrs - 1;
        place->image_bytes = backend->image_bytes(device, node->shape);
        const bool inside = p->stage_of[s->first] == p->stage_of[s->last];
        place->in = inside && node->op != PADA_OP_LINEAR && !is_probed(q, k % q->n_nodes)
                        ? PADA_LOCAL
                        : PADA_WORK;
    }
    q->local_bytes = place_all(p, PADA_LOCAL, q->n_instrs, NULL);
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
            instr->partial = q->work_bytes + used;
            used += (int64_t)vectors * q->n_images * backend->channel_bytes(device, node->shape.c);
        }
        if (used > most) most = used;
    }
    q->work_bytes += most;
}

void pada_plan_build(pada_plan *p, const pada_graph *graph, const pada_backend *backend,
                     const pada_device *device, int n_images, bool train)
{
    pada_program *q = &p->program;

    PADA_ASSERT(graph->status == PADA_OK && graph->n_nodes <= p->cap_nodes && n_images > 0);
    q->nodes = graph->nodes;
    q->terms = graph->terms;
    q->n_nodes = graph->n_nodes;
    q->n_terms = graph->n_terms;
    q->n_images = n_images;
    q->n_instrs = q->n_forward = 0;
    emit_forward(p, train);
    if (train) {
        find_readers(p);
        for (int v = 0; v < q->n_nodes; v++)
            p->ready[v] = q->n_forward;
        for (int v = q->n_nodes - 1; v >= 0; v--)
            spread_ready(p, v);
        if (backend->gather) list_uses(p);
        for (int v = q->n_nodes - 1; v >= 0; v--)
            backend->gather ? gather_backward(p, v) : emit_backward(p, v);
    }
    sort_into_stages(p);
    place_tensors(p, backend, device, train);
    place_taps(p, backend, device);
    place_statistics(p, backend, device);
}
