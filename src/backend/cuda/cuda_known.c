/* cuda_known.c - which instructions the fused kernels know. */
#include "backend/cuda/cuda_known.h"

#include "backend/cuda/cuda_kernels.h"

bool pada_cuda_is_node_conv(const pada_program *q, pada_value v)
{
    const pada_node *node = &q->nodes[v];
    const pada_conv *c = &node->conv;

    return node->op == PADA_OP_CONV && node->bias < 0 && c->stride == 1 && c->c_in == c->c_out &&
           c->act != PADA_ACT_RELU6 && (c->kernel == 3 || c->kernel == 1) &&
           c->pad == c->kernel / 2 && pada_cuda_node_fits(q->nodes[v].shape);
}

bool pada_cuda_is_node_term(const pada_term *t)
{
    if (t->kind == PADA_TERM_BATCHNORM) return !pada_norm_is_affine(&t->norm);
    return t->kind != PADA_TERM_AVGPOOL ||
           (t->pool.kernel == 3 && t->pool.stride == 1 && t->pool.pad == 1);
}

bool pada_cuda_is_node_norms(const pada_program *q, pada_value v)
{
    const pada_node *node = &q->nodes[v];

    for (int t = node->first_term; t < node->first_term + node->n_terms; t++)
        if (q->terms[t].kind == PADA_TERM_BATCHNORM && !pada_cuda_is_node_term(&q->terms[t]))
            return false;
    return true;
}

bool pada_cuda_is_node_combine(const pada_program *q, pada_value v)
{
    const pada_node *node = &q->nodes[v];

    if (!pada_cuda_node_fits(q->nodes[v].shape) || node->n_terms < 1 ||
        node->n_terms > CUDA_NODE_TERMS)
        return false;
    for (int t = node->first_term; t < node->first_term + node->n_terms; t++)
        if (!pada_cuda_is_node_term(&q->terms[t])) return false;
    return true;
}

static bool is_plain_conv(const pada_node *node, int kernel, int stride, pada_act act)
{
    return node->op == PADA_OP_CONV && node->x != PADA_ZERO && node->bias < 0 &&
           node->conv.kernel == kernel && node->conv.stride == stride &&
           node->conv.pad == kernel / 2 && node->conv.act == act;
}

bool pada_cuda_is_strided(const pada_program *q, pada_value v)
{
    const pada_node *node = &q->nodes[v];

    return is_plain_conv(node, 3, 2, PADA_ACT_RELU) && node->conv.c_out == 2 * node->conv.c_in &&
           pada_cuda_reduction_fits(q->nodes[node->x].shape);
}

bool pada_cuda_is_halving(const pada_term *t)
{
    return t->kind == PADA_TERM_AVGPOOL && t->pool.kernel == 2 && t->pool.stride == 2 &&
           t->pool.pad == 0;
}

/* The 2x2 means beside it. */
static bool is_pooled(const pada_program *q, pada_value v)
{
    const pada_node *node = &q->nodes[v];

    return node->op == PADA_OP_COMBINE && node->n_terms == 1 &&
           pada_cuda_is_halving(&q->terms[node->first_term]) &&
           pada_cuda_reduction_fits(q->nodes[q->terms[node->first_term].x].shape);
}

bool pada_cuda_is_point(const pada_program *q, pada_value v)
{
    const pada_node *node = &q->nodes[v];

    return is_plain_conv(node, 1, 1, PADA_ACT_NONE) && node->conv.c_out == 2 * node->conv.c_in &&
           is_pooled(q, node->x);
}

bool pada_cuda_is_reduction(const pada_program *q, int i, int end)
{
    const pada_instr *at = &q->instrs[i];

    if (i + 3 > end || at[0].code != PADA_CODE_CONV_FWD || at[1].code != PADA_CODE_COMBINE_FWD ||
        at[2].code != PADA_CODE_CONV_FWD)
        return false;
    return pada_cuda_is_strided(q, at[0].v) && is_pooled(q, at[1].v) &&
           pada_cuda_is_point(q, at[2].v) && !at[1].stats && q->nodes[at[2].v].x == at[1].v &&
           q->terms[q->nodes[at[1].v].first_term].x == q->nodes[at[0].v].x;
}

bool pada_cuda_is_stem(const pada_program *q, pada_value v)
{
    const pada_node *node = &q->nodes[v];

    return node->op == PADA_OP_CONV && node->x != PADA_ZERO && node->bias < 0 &&
           q->nodes[node->x].op == PADA_OP_INPUT &&
           pada_cuda_stem_fits(&node->conv, q->nodes[node->x].shape);
}

static bool is_head(const pada_program *q, pada_value gap, pada_value linear)
{
    const pada_node *nodes = q->nodes;

    return nodes[linear].x == gap && nodes[gap].x != PADA_ZERO &&
           pada_cuda_head_fits(nodes[nodes[gap].x].shape, nodes[linear].shape.c);
}

bool pada_cuda_is_head_forward(const pada_program *q, int i, int end)
{
    const pada_instr *at = &q->instrs[i];

    return i + 3 <= end && at[0].code == PADA_CODE_GAP_FWD && at[1].code == PADA_CODE_LINEAR_FWD &&
           at[2].code == PADA_CODE_LOSS_FWD && q->nodes[at[2].v].x == at[1].v &&
           is_head(q, at[0].v, at[1].v);
}

bool pada_cuda_is_head_backward(const pada_program *q, int i, int end)
{
    const pada_instr *at = &q->instrs[i];

    return i + 2 <= end && at[0].code == PADA_CODE_LINEAR_BWD && at[1].code == PADA_CODE_GAP_BWD &&
           !at[0].accumulate && !at[1].accumulate && is_head(q, at[1].v, at[0].v);
}
