/* cuda_level_known.c - what kernels of levels know. */
#include "backend/cuda/cuda_level_known.h"

#include "backend/cuda/cuda_known.h"
#include "backend/cuda/cuda_level.h"

/* As pada_cuda_reduce_weights wants it. */
static bool is_added_by_fours(const pada_conv *conv)
{
    return pada_conv_weights(conv) % 4 == 0;
}

bool pada_cuda_is_level_depth(const pada_program *q, pada_value v)
{
    const pada_node *node = &q->nodes[v];

    return node->op == PADA_OP_CONV && node->bias < 0 && node->x != PADA_ZERO &&
           pada_cuda_level_depth_fits(&node->conv) && is_added_by_fours(&node->conv) &&
           pada_cuda_is_paired(node->shape) && pada_cuda_is_paired(q->nodes[node->x].shape);
}

bool pada_cuda_is_level_dense(const pada_program *q, pada_value v)
{
    const pada_node *node = &q->nodes[v];

    if (node->op != PADA_OP_CONV || node->bias >= 0 || node->x == PADA_ZERO ||
        !pada_cuda_level_dense_fits(&node->conv) || !is_added_by_fours(&node->conv) ||
        !pada_cuda_is_paired(node->shape))
        return false;
    const pada_node *x = &q->nodes[node->x];
    if (node->conv.c_in < 8)
        return x->op == PADA_OP_INPUT && node->conv.act == PADA_ACT_NONE &&
               x->shape.h * x->shape.w > 1;
    return x->op != PADA_OP_INPUT && pada_cuda_is_paired(x->shape);
}

static bool is_level_conv(const pada_program *q, pada_value v)
{
    return pada_cuda_is_level_depth(q, v) || pada_cuda_is_level_dense(q, v);
}

bool pada_cuda_is_level_pool(const pada_program *q, pada_value v)
{
    const pada_node *node = &q->nodes[v];

    return node->op == PADA_OP_POOL && pada_cuda_is_paired(node->shape) &&
           q->nodes[node->x].op != PADA_OP_INPUT && pada_cuda_is_paired(q->nodes[node->x].shape);
}

bool pada_cuda_is_level_sum(const pada_program *q, pada_value v)
{
    const pada_node *node = &q->nodes[v];

    if (node->op != PADA_OP_COMBINE || !pada_cuda_is_paired(node->shape) || node->n_terms < 1 ||
        node->n_terms > CUDA_LEVEL_TERMS)
        return false;
    for (int t = node->first_term; t < node->first_term + node->n_terms; t++)
        if (!pada_cuda_is_paired(q->nodes[q->terms[t].x].shape) ||
            q->nodes[q->terms[t].x].op == PADA_OP_INPUT)
            return false;
    return true;
}

bool pada_cuda_is_level_concat(const pada_program *q, pada_value v)
{
    const pada_node *node = &q->nodes[v];
    int channels = 0;

    if (node->op != PADA_OP_CONCAT || !pada_cuda_is_paired(node->shape)) return false;
    for (int t = node->first_term; t < node->first_term + node->n_terms; t++) {
        const pada_node *x = &q->nodes[q->terms[t].x];
        if (x->shape.c % 2 != 0 || q->terms[t].channel % 2 != 0 || x->op == PADA_OP_INPUT)
            return false;
        channels += x->shape.c;
    }
    return channels == node->shape.c;
}

bool pada_cuda_is_level_node(const pada_program *q, pada_value v)
{
    return is_level_conv(q, v) || pada_cuda_is_level_pool(q, v) || pada_cuda_is_level_sum(q, v) ||
           pada_cuda_is_level_concat(q, v);
}

/* Whether there are faster kernels for a convolution: those of nodes, or of what stands between them. */
static bool is_of_nodes(const pada_program *q, pada_value v)
{
    return pada_cuda_is_node_conv(q, v) || pada_cuda_is_strided(q, v) || pada_cuda_is_point(q, v) ||
           pada_cuda_is_stem(q, v);
}

bool pada_cuda_wants_levels(const pada_program *q)
{
    bool depth = false, of_levels = false, of_nodes = false;

    for (int v = 0; v < q->n_nodes; v++) {
        if (q->nodes[v].op != PADA_OP_CONV) continue;
        depth = depth || pada_cuda_is_level_depth(q, v);
        of_levels = of_levels || is_level_conv(q, v);
        of_nodes = of_nodes || is_of_nodes(q, v);
    }
    return depth || (of_levels && !of_nodes);
}
