/* block_graph.c - one block of a network as a network of its own. */
#include "study/block_graph.h"

#include "base/mem.h"

static void want(const pada_graph *g, const pada_node *node, bool *is_wanted)
{
    const pada_operands operands = pada_op_get(node->op)->operands;

    if (operands != PADA_OPERANDS_TERMS && node->x != PADA_ZERO && node->op != PADA_OP_CONSTANT)
        is_wanted[node->x] = true;
    for (int i = 0; i < node->n_terms; i++)
        is_wanted[g->terms[node->first_term + i].x] = true;
}

/* Appends a node of the whole graph, whose operands have been copied. */
static pada_value copy_node(const pada_graph *g, pada_value v, const int *copy_of, pada_graph *out)
{
    pada_node node = g->nodes[v];
    const pada_operands operands = pada_op_get(node.op)->operands;

    PADA_ASSERT(out->n_nodes < out->cap_nodes && out->n_terms + node.n_terms <= out->cap_terms);
    if (operands != PADA_OPERANDS_TERMS && node.x != PADA_ZERO && node.op != PADA_OP_CONSTANT)
        node.x = copy_of[node.x];
    for (int i = 0; i < node.n_terms; i++) {
        pada_term term = g->terms[node.first_term + i];
        term.x = copy_of[term.x];
        out->terms[out->n_terms + i] = term;
    }
    node.first_term = out->n_terms;
    out->n_terms += node.n_terms;
    out->nodes[out->n_nodes] = node;
    return out->n_nodes++;
}

/* The values between the ends that the output needs. */
static pada_status find_wanted(const pada_block_graph *block, bool *is_wanted)
{
    const pada_graph *g = block->whole;

    is_wanted[block->to] = true;
    for (int v = block->to; v > block->from; v--)
        if (is_wanted[v]) want(g, &g->nodes[v], is_wanted);
    for (int v = 0; v < block->from; v++)
        if (is_wanted[v])
            return PADA_FAIL(PADA_EUNSUPPORTED, "a block reads more than the block before it");
    return PADA_OK;
}

/* What every graph ends with; it reads zeros. */
static pada_status add_head(const pada_graph *g, pada_graph *out)
{
    for (int v = 0; v < g->n_nodes; v++)
        if (g->nodes[v].op == PADA_OP_LOSS) {
            const pada_node *logits = &g->nodes[g->nodes[v].x];
            PADA_ASSERT(logits->op == PADA_OP_LINEAR);
            pada_graph_loss(out, pada_graph_linear(out, PADA_ZERO, logits->shape.c, logits->weight,
                                                   logits->bias));
        }
    return pada_graph_status(out);
}

static pada_status fill(const pada_block_graph *block, bool *is_wanted, int *copy_of,
                        pada_graph *out)
{
    const pada_graph *g = block->whole;
    const pada_shape x = g->nodes[block->from].shape;
    const int c_read = x.c + block->c_beside;
    const pada_conv select = pada_conv_make(c_read, x.c, 1, 1, 0, PADA_ACT_NONE);

    PADA_TRY(find_wanted(block, is_wanted));
    const pada_value images = pada_graph_input(out, (pada_shape){c_read, x.h, x.w});
    copy_of[block->from] = pada_graph_conv(out, images, &select, block->weights, -1);
    PADA_TRY(pada_graph_status(out));
    for (int v = block->from + 1; v <= block->to; v++)
        if (is_wanted[v]) copy_of[v] = copy_node(g, v, copy_of, out);
    pada_graph_tap(out, copy_of[block->to], g->nodes[block->to].shape);
    return add_head(g, out);
}

pada_status pada_block_graph_build(const pada_block_graph *block, pada_graph *out)
{
    const size_t n = (size_t)block->whole->n_nodes;
    void *is_wanted, *copy_of;

    PADA_TRY(pada_calloc(&is_wanted, n, sizeof(bool)));
    pada_status st = pada_calloc(&copy_of, n, sizeof(int));
    if (st == PADA_OK) {
        pada_graph_reset(out);
        out->taps = true;
        out->norm_epsilon = block->whole->norm_epsilon;
        st = fill(block, is_wanted, copy_of, out);
        pada_free(copy_of);
    }
    pada_free(is_wanted);
    return st;
}
