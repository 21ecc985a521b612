/* graph.c - building the graph of one path. */
#include "graph/graph.h"

#include "base/mem.h"

struct pada_owned {
    int64_t offset, round;
};

static pada_status make(pada_graph **out, int cap_nodes, int cap_terms)
{
    pada_graph *g;
    void *mem;
    pada_status st;

    *out = NULL;
    PADA_TRY(pada_calloc(&mem, 1, sizeof *g));
    g = mem;
    if ((st = pada_calloc(&mem, (size_t)cap_nodes, sizeof *g->nodes)) != PADA_OK) goto fail;
    g->nodes = mem;
    if ((st = pada_calloc(&mem, (size_t)cap_terms, sizeof *g->terms)) != PADA_OK) goto fail;
    g->terms = mem;
    g->cap_nodes = cap_nodes;
    g->cap_terms = cap_terms;
    *out = g;
    return PADA_OK;
fail:
    pada_graph_destroy(g);
    return st;
}

pada_status pada_graph_create(pada_graph **out, int cap_nodes, int cap_terms)
{
    void *mem;
    pada_status st;

    PADA_TRY(make(out, cap_nodes, cap_terms));
    if ((st = make(&(*out)->spare, cap_nodes, cap_terms)) != PADA_OK) goto fail;
    if ((st = pada_calloc(&mem, 3 * (size_t)cap_nodes, sizeof(int))) != PADA_OK) goto fail;
    (*out)->scratch = mem;
    int cap = 2;
    while (cap < 2 * (cap_nodes + 2 * cap_terms + 2)) /* half full, with the one that is too many */
        cap *= 2;
    if ((st = pada_calloc(&mem, (size_t)cap, sizeof *(*out)->owned)) != PADA_OK) goto fail;
    (*out)->owned = mem;
    (*out)->cap_owned = cap;
    (*out)->round = 1;
    (*out)->norm_epsilon = PADA_NORM_EPSILON;
    return PADA_OK;
fail:
    pada_graph_destroy(*out);
    *out = NULL;
    return st;
}

void pada_graph_destroy(pada_graph *g)
{
    if (!g) return;
    pada_graph_destroy(g->spare);
    pada_free(g->scratch);
    pada_free(g->owned);
    pada_free(g->nodes);
    pada_free(g->terms);
    pada_free(g);
}

void pada_graph_reset(pada_graph *g)
{
    g->n_nodes = g->n_terms = g->n_drops = 0;
    g->status = PADA_OK;
    g->round++;
}

/* Appends a node; PADA_ZERO once the graph has failed. */
static pada_value push(pada_graph *g, const pada_node *node)
{
    if (g->status != PADA_OK) return PADA_ZERO;
    if (g->n_nodes == g->cap_nodes) {
        g->status = PADA_FAIL(PADA_EINVAL, "graph has more than %d nodes", g->cap_nodes);
        return PADA_ZERO;
    }
    g->nodes[g->n_nodes] = *node;
    return g->n_nodes++;
}

static int is_operand(const pada_graph *g, pada_value v)
{
    return v >= 0 && v < g->n_nodes && pada_op_get(g->nodes[v].op)->role == PADA_ROLE_VALUE;
}

/* Images are read by convolutions only; backends do not bring them into their own layout. */
static pada_status refuse_images(const pada_graph *g, pada_value v)
{
    if (g->nodes[v].op != PADA_OP_INPUT) return PADA_OK;
    return PADA_FAIL(PADA_EINVAL, "images are read by something else than a convolution");
}

pada_value pada_graph_input(pada_graph *g, pada_shape shape)
{
    return push(g, &(pada_node){.op = PADA_OP_INPUT, .shape = shape, .x = PADA_ZERO});
}

/* Appends a node that reads x, which is not zero; its shape comes from the table of operators. */
static pada_value push_reader(pada_graph *g, pada_node *node)
{
    if (g->status != PADA_OK) return PADA_ZERO;
    PADA_ASSERT(is_operand(g, node->x));
    if (node->op != PADA_OP_CONV) g->status = refuse_images(g, node->x);
    if (g->status == PADA_OK)
        g->status = pada_node_shape(node, g->nodes[node->x].shape, &node->shape);
    return push(g, node);
}

pada_value pada_graph_conv(pada_graph *g, pada_value x, const pada_conv *conv, int64_t weight,
                           int64_t bias)
{
    pada_node node = {.op = PADA_OP_CONV, .x = x, .conv = *conv, .weight = weight, .bias = bias};

    return x == PADA_ZERO ? PADA_ZERO : push_reader(g, &node);
}

/* Shape of what a term adds. */
static pada_status term_shape(const pada_graph *g, const pada_term *term, pada_shape *out)
{
    *out = g->nodes[term->x].shape;
    return term->kind == PADA_TERM_AVGPOOL ? pada_pool_shape(&term->pool, *out, out) : PADA_OK;
}

/* Gradients of scales, shifts and constants are added up one by one, several at a time, so that no two of them may share
 * an offset. */
static pada_status own(pada_graph *g, int64_t offset)
{
    const uint64_t mask = (uint64_t)g->cap_owned - 1;
    uint64_t at = (uint64_t)offset * UINT64_C(0x9e3779b97f4a7c15) >> 20 & mask;

    if (offset < 0) return PADA_OK;
    while (g->owned[at].round == g->round) {
        if (g->owned[at].offset == offset)
            return PADA_FAIL(PADA_EINVAL, "two batch norms have the same scale or shift");
        at = (at + 1) & mask;
    }
    g->owned[at] = (struct pada_owned){offset, g->round};
    return PADA_OK;
}

static pada_status check_norm(pada_graph *g, const pada_term *term)
{
    const pada_norm *norm = &term->norm;

    if (term->kind != PADA_TERM_BATCHNORM) return PADA_OK;
    /* what a term that was not made by pada_norm_term has */
    PADA_ASSERT(norm->scale < 0 || norm->scale != norm->shift);
    PADA_ASSERT((norm->mean < 0) == (norm->variance < 0));
    if (!pada_norm_is_affine(norm)) return PADA_OK;
    if (term->x == PADA_ZERO)
        return PADA_FAIL(PADA_EINVAL, "a batch norm with scale or shift reads zeros");
    PADA_TRY(own(g, norm->scale));
    return own(g, norm->shift);
}

/* Appends the terms that are not zero to those of the node, whose shape they have or give. */
static void add_terms(pada_graph *g, pada_node *node, const pada_term *terms, int n_terms)
{
    for (int i = 0; i < n_terms && g->status == PADA_OK; i++) {
        pada_shape shape;
        if ((g->status = check_norm(g, &terms[i])) != PADA_OK) break;
        if (terms[i].x == PADA_ZERO) continue;
        PADA_ASSERT(is_operand(g, terms[i].x));
        if ((g->status = refuse_images(g, terms[i].x)) != PADA_OK) break;
        if ((g->status = term_shape(g, &terms[i], &shape)) != PADA_OK) break;
        if (g->n_terms == g->cap_terms) {
            g->status = PADA_FAIL(PADA_EINVAL, "graph has more than %d terms", g->cap_terms);
            break;
        }
        if (pada_shape_count(node->shape) == 0) node->shape = shape;
        if (!pada_shape_equal(shape, node->shape)) {
            g->status = PADA_FAIL(PADA_EINVAL, "sum of %dx%dx%d and %dx%dx%d", node->shape.c,
                                  node->shape.h, node->shape.w, shape.c, shape.h, shape.w);
            break;
        }
        g->terms[g->n_terms++] = terms[i];
        /* A probe looks at batch norms that the network may not have; it leaves no statistics. */
        if (node->op == PADA_OP_PROBE) g->terms[g->n_terms - 1].norm = pada_norm_term(0).norm;
        node->n_terms++;
    }
}

pada_value pada_graph_combine(pada_graph *g, const pada_term *terms, int n_terms)
{
    pada_node node = {.op = PADA_OP_COMBINE, .x = PADA_ZERO, .first_term = g->n_terms};

    add_terms(g, &node, terms, n_terms);
    return node.n_terms == 0 ? PADA_ZERO : push(g, &node);
}

void pada_graph_probe(pada_graph *g, pada_value y, const pada_term *terms, int n_terms)
{
    pada_node node = {.op = PADA_OP_PROBE, .x = y, .first_term = g->n_terms};

    if (g->status != PADA_OK || y == PADA_ZERO) return;
    for (int i = 0; i < n_terms; i++)
        PADA_ASSERT(terms[i].kind == PADA_TERM_BATCHNORM && !pada_norm_is_affine(&terms[i].norm));
    node.shape = g->nodes[y].shape;
    add_terms(g, &node, terms, n_terms);
    if (node.n_terms == 0) return;
    PADA_ASSERT(y == g->n_nodes - 1 && g->nodes[y].op == PADA_OP_COMBINE);
    /* a sum that simplifying takes away has no place to be probed at */
    PADA_ASSERT(g->nodes[y].n_terms > 1 ||
                g->terms[g->nodes[y].first_term].kind != PADA_TERM_IDENTITY);
    push(g, &node);
}

pada_value pada_graph_gap(pada_graph *g, pada_value x, pada_act act)
{
    pada_node node = {.op = PADA_OP_GAP, .x = x, .act = act};

    return x == PADA_ZERO ? PADA_ZERO : push_reader(g, &node);
}

pada_value pada_graph_pool(pada_graph *g, pada_value x, const pada_pool *pool, pada_pool_kind kind,
                           pada_act act)
{
    pada_node node = {.op = PADA_OP_POOL, .x = x, .pool = *pool, .pool_kind = kind, .act = act};

    return x == PADA_ZERO ? PADA_ZERO : push_reader(g, &node);
}

pada_value pada_graph_concat(pada_graph *g, const pada_value *x, const int *zeros, int n)
{
    pada_node node = {.op = PADA_OP_CONCAT, .x = PADA_ZERO, .first_term = g->n_terms};
    int channels = 0;

    if (n == 1) return x[0];
    for (int i = 0; i < n && g->status == PADA_OK; i++) {
        pada_term term = {.kind = PADA_TERM_IDENTITY, .x = x[i], .channel = channels};
        if (x[i] == PADA_ZERO) {
            channels += zeros[i];
            continue;
        }
        /* parts agree in size, not in channels */
        if (node.n_terms > 0) node.shape.c = g->nodes[x[i]].shape.c;
        add_terms(g, &node, &term, 1);
        channels += g->nodes[x[i]].shape.c;
    }
    node.shape.c = channels;
    return node.n_terms == 0 ? PADA_ZERO : push(g, &node);
}

pada_value pada_graph_gate(pada_graph *g, pada_value x, pada_act act, pada_value s)
{
    pada_node node = {.op = PADA_OP_GATE, .x = PADA_ZERO, .act = act, .first_term = g->n_terms};
    const pada_term terms[] = {{.kind = PADA_TERM_IDENTITY, .x = x},
                               {.kind = PADA_TERM_IDENTITY, .x = s}};

    if (x == PADA_ZERO || g->status != PADA_OK) return PADA_ZERO;
    PADA_ASSERT(s != PADA_ZERO); /* a convolution with bias */
    add_terms(g, &node, &terms[0], 1);
    node.shape = (pada_shape){g->nodes[x].shape.c, 1, 1};
    add_terms(g, &node, &terms[1], 1);
    node.shape = g->nodes[x].shape;
    return push(g, &node);
}

pada_value pada_graph_constant(pada_graph *g, pada_shape shape, int64_t values)
{
    pada_node node = {
        .op = PADA_OP_CONSTANT, .shape = shape, .x = PADA_ZERO, .weight = values, .bias = values};

    if (g->status == PADA_OK) g->status = own(g, values);
    return push(g, &node);
}

pada_value pada_graph_linear(pada_graph *g, pada_value x, int out, int64_t weight, int64_t bias)
{
    pada_node node = {
        .op = PADA_OP_LINEAR, .x = x, .weight = weight, .bias = bias, .shape = {out, 1, 1}};

    PADA_ASSERT(g->status != PADA_OK || x == PADA_ZERO || is_operand(g, x));
    return push(g, &node);
}

/* Drops that are not added are counted as well: a mask does not depend on what else is dropped. */
pada_value pada_graph_drop(pada_graph *g, pada_value x, pada_drop_kind kind, double share)
{
    pada_node node = {.op = PADA_OP_DROP, .x = x, .drop = {kind, g->n_drops++, share}};

    if (x == PADA_ZERO || !pada_set_has(g->drops, (int)kind)) return x;
    return push_reader(g, &node);
}

void pada_graph_tap(pada_graph *g, pada_value x, pada_shape shape)
{
    pada_node node = {.op = PADA_OP_TAP, .x = x, .shape = shape};

    if (!g->taps || g->status != PADA_OK) return;
    PADA_ASSERT(x == PADA_ZERO || pada_shape_equal(g->nodes[x].shape, shape));
    if (x == PADA_ZERO)
        push(g, &node);
    else
        push_reader(g, &node);
}

/* Callers find the loss at the end of a graph. A loss stores the gradient of its logits, so that no other one may
 * have the same. */
static pada_status check_losses(const pada_graph *g, pada_value logits)
{
    for (int v = 0; v < g->n_nodes; v++) {
        const pada_node *node = &g->nodes[v];
        if (node->op != PADA_OP_LOSS) continue;
        if (!node->loss.is_auxiliary)
            return PADA_FAIL(PADA_EINVAL, "a second loss behind the loss");
        if (node->x == logits) return PADA_FAIL(PADA_EINVAL, "two losses of the same logits");
    }
    return PADA_OK;
}

static pada_value push_loss(pada_graph *g, pada_value logits, double weight, bool is_auxiliary)
{
    pada_node node = {
        .op = PADA_OP_LOSS,
        .x = logits,
        .loss = {.smoothing = g->label_smoothing, .weight = weight, .is_auxiliary = is_auxiliary}};

    if (g->status == PADA_OK) g->status = check_losses(g, logits);
    return push_reader(g, &node);
}

pada_value pada_graph_loss(pada_graph *g, pada_value logits)
{
    return push_loss(g, logits, 1, false);
}

void pada_graph_auxiliary_loss(pada_graph *g, pada_value logits, double weight)
{
    if (g->auxiliary) push_loss(g, logits, weight, true);
}

pada_status pada_graph_status(const pada_graph *g)
{
    return g->status;
}
