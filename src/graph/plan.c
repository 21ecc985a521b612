/* plan.c - stages and gradients for the graph of one path; plan_places.c finds their places in memory.
 *
 * Invariants of a program, the last two of which are made there:
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
#include "graph/plan_parts.h"

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

/* The stage in which all operands are there: a batch norm waits for the moments of its own. */
static int forward_stage(const pada_plan *p, const pada_node *node)
{
    const pada_program *q = &p->program;
    int stage = node->x == PADA_ZERO ? 0 : p->ready[node->x];

    for (int t = node->first_term; t < node->first_term + node->n_terms; t++)
        stage = max(stage, p->ready[q->terms[t].x] + (q->terms[t].kind == PADA_TERM_BATCHNORM));
    return stage;
}

static void emit_forward(pada_plan *p, bool train)
{
    pada_program *q = &p->program;

    for (int v = 0; v < q->n_nodes; v++)
        q->node_plans[v] = (pada_node_plan){.stats = -1};
    for (int t = 0; t < q->n_terms; t++)
        if (q->terms[t].kind == PADA_TERM_BATCHNORM && !pada_norm_is_fixed(q, t))
            q->node_plans[q->terms[t].x].stats = 0;

    for (int v = 0; v < q->n_nodes; v++) {
        const pada_op_info *op = pada_op_get(q->nodes[v].op);
        const int code = train ? op->train : op->eval;
        const int stage = forward_stage(p, &q->nodes[v]);
        p->ready[v] = stage;
        /* drops, which only training has, would leave their readers without a value */
        PADA_ASSERT(q->nodes[v].op != PADA_OP_DROP || train);
        if (code < 0) continue;
        q->n_forward = max(q->n_forward, stage + 1);
        emit(p, stage,
             (pada_instr){.code = (pada_code)code,
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
        if (!has_gradient(p, v) && pada_op_get(node->op)->role != PADA_ROLE_SINK) continue;
        for (int i = 0; i < node->n_terms; i++) {
            const pada_term *term = &q->terms[node->first_term + i];
            const bool pointwise =
                node->op == PADA_OP_COMBINE &&
                (term->kind == PADA_TERM_IDENTITY || term->kind == PADA_TERM_BATCHNORM);
            p->reader[term->x] = pointwise && p->reader[term->x] == NO_READER ? v : OTHER_READER;
        }
        if (node->x != PADA_ZERO) p->reader[node->x] = OTHER_READER;
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
    for (int t = node->first_term; t < node->first_term + node->n_terms; t++) {
        const int x = q->terms[t].x, norm = q->terms[t].kind == PADA_TERM_BATCHNORM;
        q->term_plans[t].lazy =
            pada_op_get(q->nodes[x].op)->reads == PADA_READS_LAZY && p->reader[x] == v;
        p->ready[x] = max(p->ready[x], s + norm);
    }
    if (node->x != PADA_ZERO) p->ready[node->x] = max(p->ready[node->x], s);
}

/* Whether an instruction takes the gradient of v on to x. */
static bool has_operand_instr(const pada_plan *p, int v)
{
    const pada_node *node = &p->program.nodes[v];
    const pada_op_info *op = pada_op_get(node->op);

    if (op->operands != PADA_OPERANDS_X || op->backward < 0) return false;
    return op->role == PADA_ROLE_SINK ? node->x != PADA_ZERO : has_gradient(p, v);
}

/* The instruction that takes the gradient of v on to x. */
static void emit_operand(pada_plan *p, int stage, int v)
{
    const pada_program *q = &p->program;
    const pada_node *node = &q->nodes[v];
    const pada_op_info *op = pada_op_get(node->op);
    const int sum = op->reads == PADA_READS_LAZY ? p->reader[v] : OTHER_READER;
    pada_instr instr = {.code = (pada_code)op->backward, .v = v, .dy = v, .term = -1};

    instr.no_grad_in = node->x != PADA_ZERO && q->nodes[node->x].op == PADA_OP_INPUT;
    if (sum >= 0) {
        instr.dy = sum;
        for (int i = 0; i < q->nodes[sum].n_terms; i++) {
            const int t = q->nodes[sum].first_term + i;
            if (q->terms[t].x == v && q->terms[t].kind == PADA_TERM_BATCHNORM) instr.term = t;
        }
    }
    emit(p, stage, instr);
}

bool pada__plan_is_probed(const pada_program *q, int x)
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
    if (!pada__plan_is_probed(q, x)) return;
    instr.v = x + 1;
    emit(p, stage, instr);
}

/* Emits the backward instructions of node v, whose gradient is complete in stage ready[v]. */
static void emit_backward(pada_plan *p, int v)
{
    const pada_program *q = &p->program;
    const pada_node *node = &q->nodes[v];
    const int s = p->ready[v];
    const pada_op_info *op = pada_op_get(node->op);
    pada_instr instr = {.v = v, .dy = v, .term = -1};
    int now = 0, later = 0;

    /* A tap waits for nothing: it contributes last, so that the gradient does not live longer. */
    if (has_operand_instr(p, v))
        emit_operand(p, op->role == PADA_ROLE_SINK ? p->ready[node->x] : s, v);
    if (op->operands != PADA_OPERANDS_TERMS || !has_gradient(p, v)) return;
    instr.code = (pada_code)op->backward;
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
                 (pada_instr){.code = (pada_code)pada_op_get(q->nodes[p->owner[use]].op)->backward,
                              .v = p->owner[use],
                              .dy = p->owner[use],
                              .term = use,
                              .norms = q->terms[use].kind == PADA_TERM_BATCHNORM});
        }
    if (node->x == PADA_ZERO && has_operand_instr(p, x)) emit_operand(p, s, x);
    if (has_gradient(p, x)) emit_norm_sums(p, s, x);
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

void pada_plan_build(pada_plan *p, const pada_graph *graph, const pada_backend *backend,
                     const pada_device *device, int n_images, bool train)
{
    pada_program *q = &p->program;

    PADA_ASSERT(graph->status == PADA_OK && graph->n_nodes <= p->cap_nodes && n_images > 0);
    PADA_ASSERT(!(graph->fixed_norms && train));
    q->nodes = graph->nodes;
    q->terms = graph->terms;
    q->n_nodes = graph->n_nodes;
    q->n_terms = graph->n_terms;
    q->n_images = n_images;
    q->fixed_norms = graph->fixed_norms;
    q->norm_epsilon = graph->norm_epsilon;
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
    pada__plan_places(p, backend, device, train);
}
