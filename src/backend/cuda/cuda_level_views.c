/* cuda_level_views.c - which values of a program that runs by levels have no tensor of their own. */
#include "backend/cuda/cuda_level_known.h"
#include "backend/cuda/cuda_match_parts.h"

/* Calls of `visit` for every operand v of every node u, as term t or, -1, as x. */
typedef void (*visitor)(const cuda_matcher *k, pada_value u, int t, pada_value v);

static void visit_operands(const cuda_matcher *k, visitor visit)
{
    const pada_program *q = k->q;

    for (int u = 0; u < q->n_nodes; u++) {
        const pada_node *node = &q->nodes[u];
        if (node->x != PADA_ZERO) visit(k, u, -1, node->x);
        for (int t = node->first_term; t < node->first_term + node->n_terms; t++)
            if (q->terms[t].x != PADA_ZERO) visit(k, u, t, q->terms[t].x);
    }
}

/* Four channels of a pixel are moved at once; what is only viewed has to be written first. */
static void choose_home(const cuda_matcher *k, pada_value u, int t, pada_value v)
{
    const pada_program *q = k->q;
    const bool even = t >= 0 && q->terms[t].channel % 4 == 0 && q->nodes[u].shape.c % 4 == 0;

    if (!even || k->m->nodes[v].home >= 0 || k->m->nodes[v].viewed ||
        !pada_cuda_is_level_concat(q, u) || !pada_cuda_is_level_node(q, v) ||
        q->nodes[v].op == PADA_OP_CONCAT)
        return;
    k->m->nodes[v].home = t;
    k->m->nodes[v].host = u;
}

/* Every reader must know views. Without a gradient what stands in front of the norm may be gone in later stages. */
static void check_reader(const cuda_matcher *k, pada_value u, int t, pada_value v)
{
    cuda_node_match *nodes = k->m->nodes;
    const bool may_be_gone =
        k->q->node_plans[v].grad.in == PADA_NOWHERE && nodes[u].ready.stage != nodes[v].ready.stage;

    (void)t;
    if (may_be_gone || !pada_cuda_is_level_node(k->q, u)) nodes[v].viewed = false;
}

/* Likewise. A norm wants its operand in the form of the gradient that it leaves. */
static void check_home(const cuda_matcher *k, pada_value u, int t, pada_value v)
{
    const bool norm =
        t >= 0 && k->q->terms[t].kind == PADA_TERM_BATCHNORM && k->q->nodes[u].op != PADA_OP_CONCAT;

    if (norm || !pada_cuda_is_level_node(k->q, u)) k->m->nodes[v].home = -1;
}

void pada_cuda_choose_views(const cuda_matcher *k)
{
    const pada_program *q = k->q;
    cuda_node_match *nodes = k->m->nodes;

    for (int s = 0; s < q->n_forward; s++)
        for (int i = q->stages[s].first; i < q->stages[s].first + q->stages[s].count; i++) {
            const pada_value v = q->instrs[i].v;
            const pada_node *node = &q->nodes[v];
            nodes[v].ready = (cuda_when){s, -1};
            nodes[v].viewed = q->instrs[i].code == PADA_CODE_COMBINE_FWD && node->n_terms == 1 &&
                              pada_cuda_is_level_sum(q, v) && !q->instrs[i].stats &&
                              q->terms[node->first_term].kind == PADA_TERM_BATCHNORM;
        }
    visit_operands(k, check_reader);
    visit_operands(k, choose_home);
    visit_operands(k, check_home);
    for (int v = 0; v < q->n_nodes; v++)
        nodes[v].ready = (cuda_when){-1, -1};
}
