/* test_simplify.c - simplified graphs: what is left of them, and that they compute the same. */
#include "check.h"

#include <string.h>

#include "ops/graph_case.h"
#include "ops/join_cases.h"
#include "ops/op_cases.h"

static const pada_backend *ref;
static pada_device *device;

static int open_ref(void **state)
{
    (void)state;
    return pada_backend_find(&ref, "ref") == PADA_OK && ref->open(&device, 1) == PADA_OK ? 0 : -1;
}

static int close_ref(void **state)
{
    (void)state;
    ref->close(device);
    return 0;
}

static const pada_conv conv3 = {0, 5, 3, 1, 1, PADA_ACT_NONE, 1, 1, 0};

static pada_value stem(graph_case *c)
{
    return case_sum1(c, case_norm(case_conv(c, c->images_value, conv3, false)));
}

/* S1 to S3 of graph_simplify.c, with the operands in front of their readers. */
static void check_invariants(const pada_graph *g)
{
    int readers[CASE_MAX_NODES] = {0}, identity[CASE_MAX_NODES] = {0};

    for (int v = 0; v < g->n_nodes; v++) {
        const pada_node *node = &g->nodes[v];
        const pada_operands operands = pada_op_get(node->op)->operands;
        assert_true(node->x < v);
        if (node->x != PADA_ZERO) readers[node->x]++;
        if (node->op == PADA_OP_PROBE) assert_int_equal(node->x, v - 1);
        if (operands != PADA_OPERANDS_TERMS && operands != PADA_OPERANDS_BOTH) continue;
        assert_true(node->n_terms > 0 && node->first_term + node->n_terms <= g->n_terms);
        for (int t = node->first_term; t < node->first_term + node->n_terms; t++) {
            assert_true(g->terms[t].x >= 0 && g->terms[t].x < v);
            readers[g->terms[t].x]++;
            identity[g->terms[t].x] +=
                node->op == PADA_OP_COMBINE && g->terms[t].kind == PADA_TERM_IDENTITY;
        }
        assert_false(node->op == PADA_OP_COMBINE && node->n_terms == 1 &&
                     g->terms[node->first_term].kind == PADA_TERM_IDENTITY);
    }
    for (int v = 0; v < g->n_nodes; v++) {
        assert_true(readers[v] > 0 || g->nodes[v].op == PADA_OP_LOSS ||
                    g->nodes[v].op == PADA_OP_TAP || g->nodes[v].op == PADA_OP_PROBE);
        if (g->nodes[v].op == PADA_OP_COMBINE) assert_false(readers[v] == 1 && identity[v] == 1);
    }
}

static int count(const pada_graph *g, pada_op op)
{
    int n = 0;

    for (int v = 0; v < g->n_nodes; v++)
        n += g->nodes[v].op == op;
    return n;
}

static void check_close(const double *a, const double *b, int64_t n, const char *name)
{
    if (!(relative_error(a, b, n) <= 1e-12)) fail_msg("%s: the simplified graph differs", name);
}

/* Runs the graph as it is and simplified. Without dead code both also have the same gradients. */
static void check_same(graph_case *c, bool dead_code, const char *name)
{
    case_result as_is, simple;

    case_run(c, ref, device, dead_code ? CASE_EVAL : CASE_TRAIN, &as_is);
    pada_graph_simplify(c->graph);
    check_invariants(c->graph);
    case_run(c, ref, device, CASE_TRAIN, &simple);
    check_close(simple.logits, as_is.logits, (int64_t)c->n_images * c->classes, name);
    check_close(simple.loss, as_is.loss, c->n_images, name);
    for (int t = 0; t < c->n_tensors && !dead_code; t++) {
        const pada_range range = c->tensors[t].range;
        for (int64_t i = range.first; i < range.first + range.count; i++)
            if (!(fabs(simple.grads[i] - as_is.grads[i]) <= 1e-12))
                fail_msg("%s: gradient %g simplified, %g as it is", name, simple.grads[i],
                         as_is.grads[i]);
    }
    case_result_deinit(&as_is);
    case_result_deinit(&simple);
}

static void test_every_case(void **state)
{
    (void)state;
    for (int i = 0; i < n_sum_cases; i++) {
        graph_case c;
        case_init(&c, (pada_shape){3, 6, 5}, 2, (uint64_t)i);
        sum_cases[i].build(&c);
        check_same(&c, strcmp(sum_cases[i].name, "linear of nothing") == 0, sum_cases[i].name);
        case_deinit(&c);
    }
}

static void test_pools_and_concatenations(void **state)
{
    graph_case c;
    char name[64];

    (void)state;
    for (int i = 0; join_case(i, &c, name, sizeof name); i++) {
        check_same(&c, false, name);
        case_deinit(&c);
    }
}

static void test_dead_code(void **state)
{
    case_result r;
    graph_case c;

    (void)state;
    case_init(&c, (pada_shape){3, 6, 5}, 2, 1);
    const pada_value y = stem(&c);
    const pada_value dead = case_conv(&c, y, conv3, true); /* and what reads it */
    case_sum2(&c, case_norm(dead), case_pool(y, 3, 1, 1));
    const int n_live = c.n_tensors;
    case_conv(&c, c.images_value, conv3, false);
    case_readout(&c, case_sum2(&c, case_same(y), case_pool(y, 3, 1, 1)));
    check_same(&c, true, "dead code");
    assert_int_equal(count(c.graph, PADA_OP_CONV), 2);
    assert_int_equal(count(c.graph, PADA_OP_COMBINE), 2);
    assert_int_equal(c.graph->n_terms, 3);
    /* What is dead has no gradient. */
    case_run(&c, ref, device, CASE_TRAIN, &r);
    for (int t = 1; t <= n_live; t++)
        for (int64_t i = 0; i < c.tensors[t].range.count; i++)
            assert_true(r.grads[c.tensors[t].range.first + i] == 0);
    assert_true(r.grads[0] != 0);
    case_result_deinit(&r);
    case_deinit(&c);
}

/* A probe keeps nothing alive but what it looks at. */
static void test_dead_probe(void **state)
{
    (void)state;
    for (int live = 0; live < 2; live++) {
        graph_case c;
        case_init(&c, (pada_shape){3, 6, 5}, 2, 1);
        const pada_value x = stem(&c), z = case_conv(&c, x, conv3, false);
        const pada_value y = case_sum2(&c, case_same(x), case_pool(x, 3, 1, 1));
        case_probe_sum(&c, y, (pada_term[]){case_norm(z)}, 1);
        case_readout(&c, live ? y : x);
        check_same(&c, !live, "dead probe");
        assert_int_equal(count(c.graph, PADA_OP_PROBE), live);
        assert_int_equal(count(c.graph, PADA_OP_CONV), 2 + live);
        case_deinit(&c);
    }
}

/* A classifier that is fed nothing needs no input. */
static void test_dead_network(void **state)
{
    graph_case c;

    (void)state;
    case_init(&c, (pada_shape){3, 6, 5}, 2, 1);
    stem(&c);
    pada_graph_loss(c.graph, case_linear(&c, PADA_ZERO, true));
    check_same(&c, true, "dead network");
    assert_int_equal(c.graph->n_nodes, 2);
    assert_int_equal(c.graph->n_terms, 0);
    case_deinit(&c);
}

static void test_aliases(void **state)
{
    graph_case c;

    (void)state;
    case_init(&c, (pada_shape){3, 6, 5}, 2, 1);
    const pada_value y = stem(&c);
    const pada_value a = case_sum1(&c, case_same(y)), b = case_sum1(&c, case_same(a));
    const pada_value z = case_conv(&c, b, conv3, false), d = case_sum1(&c, case_same(z));
    case_readout(&c,
                 case_sum(&c, (pada_term[]){case_norm(d), case_same(b), case_pool(a, 3, 1, 1)}, 3));
    check_same(&c, false, "aliases");
    assert_int_equal(count(c.graph, PADA_OP_COMBINE), 2);
    assert_int_equal(c.graph->n_terms, 4);
    case_deinit(&c);
}

static void test_inlining(void **state)
{
    graph_case c;

    (void)state;
    case_init(&c, (pada_shape){3, 6, 5}, 2, 1);
    const pada_value y = stem(&c);
    const pada_value a = case_sum2(&c, case_norm(case_conv(&c, y, conv3, false)), case_same(y));
    const pada_value b = case_sum2(&c, case_same(a), case_pool(y, 3, 1, 1)); /* takes a in */
    const pada_value d = case_sum2(&c, case_same(b), case_same(y));          /* takes b in */
    const pada_value e = case_sum2(&c, case_same(d), case_same(d));          /* read twice: stays */
    case_readout(&c, case_sum2(&c, case_pool(e, 3, 1, 1), case_norm(e))); /* no identity: stays */
    check_same(&c, false, "inlining");
    assert_int_equal(count(c.graph, PADA_OP_COMBINE), 4);
    int most = 0;
    for (int v = 0; v < c.graph->n_nodes; v++)
        if (c.graph->nodes[v].n_terms > most) most = c.graph->nodes[v].n_terms;
    assert_int_equal(most, 4); /* norm + y + pool + y */
    case_deinit(&c);
}

static void test_twice_changes_nothing(void **state)
{
    (void)state;
    for (int i = 0; i < n_sum_cases; i++) {
        graph_case c;
        pada_node nodes[CASE_MAX_NODES];
        case_init(&c, (pada_shape){3, 6, 5}, 2, 1);
        sum_cases[i].build(&c);
        pada_graph_simplify(c.graph);
        const int n_nodes = c.graph->n_nodes, n_terms = c.graph->n_terms;
        memcpy(nodes, c.graph->nodes, (size_t)n_nodes * sizeof *nodes);
        pada_graph_simplify(c.graph);
        assert_int_equal(c.graph->n_nodes, n_nodes);
        assert_int_equal(c.graph->n_terms, n_terms);
        for (int v = 0; v < n_nodes; v++) {
            assert_int_equal(c.graph->nodes[v].op, nodes[v].op);
            assert_int_equal(c.graph->nodes[v].x, nodes[v].x);
            assert_int_equal(c.graph->nodes[v].n_terms, nodes[v].n_terms);
        }
        case_deinit(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_case),   cmocka_unit_test(test_pools_and_concatenations),
        cmocka_unit_test(test_dead_code),    cmocka_unit_test(test_dead_probe),
        cmocka_unit_test(test_dead_network), cmocka_unit_test(test_aliases),
        cmocka_unit_test(test_inlining),     cmocka_unit_test(test_twice_changes_nothing),
    };
    return cmocka_run_group_tests(tests, open_ref, close_ref);
}
