/* cuda_known.c - which nodes there are kernels for, and which instructions the fused ones know. */
#include "backend/cuda/cuda_known.h"

#include "backend/cuda/cuda_kernels.h"

/* ---- what there is any kernel for ---- */

#define ACTS (PADA_ONE(PADA_ACT_NONE) | PADA_ONE(PADA_ACT_RELU) | PADA_ONE(PADA_ACT_RELU6))
#define TERMS \
    (PADA_ONE(PADA_TERM_IDENTITY) | PADA_ONE(PADA_TERM_BATCHNORM) | PADA_ONE(PADA_TERM_AVGPOOL))
#define POOLS (PADA_ONE(PADA_POOL_AVG) | PADA_ONE(PADA_POOL_MAX))
#define DROPS (PADA_ONE(PADA_DROP_ELEMENTS) | PADA_ONE(PADA_DROP_IMAGES))
#define OPS                                                                          \
    (PADA_ONE(PADA_OP_INPUT) | PADA_ONE(PADA_OP_CONV) | PADA_ONE(PADA_OP_COMBINE) |  \
     PADA_ONE(PADA_OP_GAP) | PADA_ONE(PADA_OP_LINEAR) | PADA_ONE(PADA_OP_POOL) |     \
     PADA_ONE(PADA_OP_CONCAT) | PADA_ONE(PADA_OP_CONSTANT) | PADA_ONE(PADA_OP_TAP) | \
     PADA_ONE(PADA_OP_PROBE) | PADA_ONE(PADA_OP_LOSS) | PADA_ONE(PADA_OP_DROP) |     \
     PADA_ONE(PADA_OP_GATE))

/* Those of cuda_conv.cu. */
static const pada_conv_list general_convs = {
    .kernels = PADA_ANY,
    .strides = PADA_ANY,
    .pads = PADA_ANY,
    .dilations = PADA_ANY,
    .groupings = PADA_ONE(PADA_DENSE) | PADA_ONE(PADA_DEPTHWISE) | PADA_ONE(PADA_GROUPED),
    .acts = ACTS,
    .offsets = PADA_ANY};

static pada_status check_node(const pada_program *q, const pada_node *node)
{
    char text[128];

    if (!pada_set_has(OPS, (int)node->op))
        return PADA_FAIL(PADA_EUNSUPPORTED, "the cuda backend has no operator %s",
                         pada_op_name(node->op));
    if (node->op == PADA_OP_CONV && !pada_conv_in(&general_convs, &node->conv))
        return PADA_FAIL(PADA_EUNSUPPORTED, "the cuda backend has no kernel for a %s",
                         pada_conv_text(&node->conv, text, sizeof text));
    if (node->op == PADA_OP_POOL && !pada_set_has(POOLS, (int)node->pool_kind))
        return PADA_FAIL(PADA_EUNSUPPORTED, "the cuda backend has no pools of kind %d",
                         (int)node->pool_kind);
    if ((node->op == PADA_OP_GAP || node->op == PADA_OP_POOL || node->op == PADA_OP_GATE) &&
        !pada_set_has(ACTS, (int)node->act))
        return PADA_FAIL(PADA_EUNSUPPORTED, "the cuda backend has no activation %d",
                         (int)node->act);
    if (node->op == PADA_OP_DROP && !pada_set_has(DROPS, (int)node->drop.kind))
        return PADA_FAIL(PADA_EUNSUPPORTED, "the cuda backend has no drops of kind %d",
                         (int)node->drop.kind);
    if (node->op == PADA_OP_CONCAT && node->n_terms > CUDA_MAX_PARTS)
        return PADA_FAIL(PADA_EUNSUPPORTED, "concat of %d parts; the cuda backend takes %d",
                         node->n_terms, CUDA_MAX_PARTS);
    for (int t = node->first_term; t < node->first_term + node->n_terms; t++)
        if (!pada_set_has(TERMS, (int)q->terms[t].kind))
            return PADA_FAIL(PADA_EUNSUPPORTED, "the cuda backend has no terms of kind %d",
                             (int)q->terms[t].kind);
    return PADA_OK;
}

pada_status pada_cuda_check(const pada_program *q)
{
    for (int v = 0; v < q->n_nodes; v++)
        PADA_TRY(check_node(q, &q->nodes[v]));
    return PADA_OK;
}

/* ---- node kernels ---- */

bool pada_cuda_is_node_conv(const pada_program *q, pada_value v)
{
    static const pada_conv_list list = {.kernels = PADA_ONE(1) | PADA_ONE(3),
                                        .strides = PADA_ONE(1),
                                        .pads = PADA_ONE(0) | PADA_ONE(1),
                                        .dilations = PADA_ONE(1),
                                        .groupings = PADA_ONE(PADA_DENSE),
                                        .acts = PADA_ONE(PADA_ACT_NONE) | PADA_ONE(PADA_ACT_RELU),
                                        .offsets = PADA_ONE(0)};
    const pada_node *node = &q->nodes[v];
    const pada_conv *c = &node->conv;

    return node->op == PADA_OP_CONV && node->bias < 0 && pada_conv_in(&list, c) &&
           c->c_in == c->c_out && c->pad == c->kernel / 2 && pada_cuda_node_fits(node->shape);
}

static bool is_pool(const pada_term *t, int kernel, int stride, int pad)
{
    return t->kind == PADA_TERM_AVGPOOL && t->pool.kernel == kernel && t->pool.stride == stride &&
           t->pool.pad == pad;
}

bool pada_cuda_is_node_term(const pada_term *t)
{
    return t->kind == PADA_TERM_IDENTITY || t->kind == PADA_TERM_BATCHNORM || is_pool(t, 3, 1, 1);
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
    const pada_conv_list list = {.kernels = PADA_ONE(kernel),
                                 .strides = PADA_ONE(stride),
                                 .pads = PADA_ONE(kernel / 2),
                                 .dilations = PADA_ONE(1),
                                 .groupings = PADA_ONE(PADA_DENSE),
                                 .acts = PADA_ONE(act),
                                 .offsets = PADA_ONE(0)};

    return node->op == PADA_OP_CONV && node->x != PADA_ZERO && node->bias < 0 &&
           pada_conv_in(&list, &node->conv);
}

bool pada_cuda_is_strided(const pada_program *q, pada_value v)
{
    const pada_node *node = &q->nodes[v];

    return is_plain_conv(node, 3, 2, PADA_ACT_RELU) && node->conv.c_out == 2 * node->conv.c_in &&
           pada_cuda_reduction_fits(q->nodes[node->x].shape);
}

bool pada_cuda_is_halving(const pada_term *t)
{
    return is_pool(t, 2, 2, 0);
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
