/* graph_simplify.c - exact simplifications of a graph before it is planned.
 *
 * Invariants of the result:
 *   S1  every node reaches the loss or a tap, or is a probe of one that does, or is read by one;
 *   S2  no combine is a single identity;
 *   S3  a combine whose only reader is an identity term has been moved into that reader. */
#include <string.h>

#include "graph/graph.h"

/* Bookkeeping per node of the old graph. */
typedef struct book {
    int *alias; /* the value that stands for it: itself, or the operand of a single identity */
    /* readers among live nodes; -1 for a sum that is to be inlined into its one reader */
    int *uses;
    int *to; /* index in the new graph */
} book;

static bool is_sink(const pada_node *node)
{
    return pada_op_get(node->op)->role == PADA_ROLE_SINK;
}

static bool is_guest(const pada_node *node)
{
    return pada_op_get(node->op)->role == PADA_ROLE_GUEST;
}

/* A probe is wanted if its sum is. Whatever else reads the sum stands behind the probe. */
static bool is_wanted_guest(const pada_graph *g, const book *b, int v)
{
    return is_guest(&g->nodes[v]) && b->uses[b->alias[g->nodes[v].x]] > 0;
}

/* Counts the readers of every value that a sink needs, last node first. */
static void count_uses(const pada_graph *g, book *b)
{
    memset(b->uses, 0, (size_t)g->n_nodes * sizeof *b->uses);
    for (int v = g->n_nodes - 1; v >= 0; v--) {
        const pada_node *node = &g->nodes[v];
        if (b->alias[v] != v || (!is_sink(node) && !is_wanted_guest(g, b, v) && b->uses[v] == 0))
            continue;
        for (int i = 0; i < node->n_terms; i++)
            b->uses[b->alias[g->terms[node->first_term + i].x]]++;
        if (node->x != PADA_ZERO) b->uses[b->alias[node->x]]++;
        if (is_guest(node)) b->uses[v] = 1; /* it stays */
    }
}

/* Appends the terms of a sum to the new graph, those of inlined operands in their place. */
static void emit_terms(const pada_graph *g, const book *b, const pada_node *node, pada_graph *out)
{
    for (int i = 0; i < node->n_terms; i++) {
        pada_term term = g->terms[node->first_term + i];
        const int x = b->alias[term.x];
        if (term.kind == PADA_TERM_IDENTITY && b->uses[x] == -1) {
            emit_terms(g, b, &g->nodes[x], out);
            continue;
        }
        term.x = b->to[x];
        out->terms[out->n_terms++] = term;
    }
}

void pada_graph_simplify(pada_graph *g)
{
    pada_graph *out = g->spare;
    book b = {g->scratch, g->scratch + g->cap_nodes, g->scratch + 2 * g->cap_nodes};

    if (g->status != PADA_OK) return;
    for (int v = 0; v < g->n_nodes; v++) {
        const pada_node *node = &g->nodes[v];
        const pada_term *only = &g->terms[node->first_term];
        const int is_alias =
            node->op == PADA_OP_COMBINE && node->n_terms == 1 && only->kind == PADA_TERM_IDENTITY;
        b.alias[v] = is_alias ? b.alias[only->x] : v;
    }
    count_uses(g, &b);
    for (int v = 0; v < g->n_nodes; v++) {
        if (g->nodes[v].op != PADA_OP_COMBINE || b.uses[v] == 0 || b.alias[v] != v) continue;
        for (int i = 0; i < g->nodes[v].n_terms; i++) {
            const pada_term *term = &g->terms[g->nodes[v].first_term + i];
            const int x = b.alias[term->x];
            if (term->kind == PADA_TERM_IDENTITY && g->nodes[x].op == PADA_OP_COMBINE &&
                b.uses[x] == 1)
                b.uses[x] = -1;
        }
    }

    pada_graph_reset(out);
    for (int v = 0; v < g->n_nodes; v++) {
        pada_node node = g->nodes[v];
        if (b.alias[v] != v || b.uses[v] == -1 || (b.uses[v] == 0 && !is_sink(&node))) continue;
        if (node.n_terms > 0) {
            const int first = out->n_terms;
            emit_terms(g, &b, &g->nodes[v], out);
            node.first_term = first;
            node.n_terms = out->n_terms - first;
        }
        if (node.x != PADA_ZERO) node.x = b.to[b.alias[node.x]];
        b.to[v] = out->n_nodes;
        out->nodes[out->n_nodes++] = node;
    }

    /* The two graphs swap their arrays; `spare` keeps the old ones as room for the next time. */
    pada_node *nodes = g->nodes;
    pada_term *terms = g->terms;
    g->nodes = out->nodes;
    g->terms = out->terms;
    g->n_nodes = out->n_nodes;
    g->n_terms = out->n_terms;
    out->nodes = nodes;
    out->terms = terms;
}
