/* test_graph.c - building graphs: shapes, failures that stick, and the tensor of zeros. */
#include "check.h"

#include <string.h>

#include "base/mem.h"
#include "graph/graph.h"

enum { N_NODES = 8, N_TERMS = 6 };

static int make_graph(void **state)
{
    pada_graph *g;

    if (pada_graph_create(&g, N_NODES, N_TERMS) != PADA_OK) return -1;
    *state = g;
    return 0;
}

static int free_graph(void **state)
{
    pada_graph_destroy(*state);
    return 0;
}

static const pada_conv conv3 = {3, 8, 3, 1, 1, PADA_ACT_RELU, 1, 1, 0};

static pada_term same(pada_value x)
{
    return (pada_term){.kind = PADA_TERM_IDENTITY, .x = x};
}

static pada_term pool(pada_value x, int kernel, int stride, int pad)
{
    return (pada_term){.kind = PADA_TERM_AVGPOOL, .x = x, .pool = {kernel, stride, pad}};
}

static void check_shape(const pada_graph *g, pada_value v, int c, int h, int w)
{
    assert_true(v >= 0 && v < g->n_nodes);
    assert_int_equal(g->nodes[v].shape.c, c);
    assert_int_equal(g->nodes[v].shape.h, h);
    assert_int_equal(g->nodes[v].shape.w, w);
}

/* Three channels behind a convolution of the images, which only convolutions may read. */
static pada_value features(pada_graph *g, int h, int w)
{
    const pada_conv first = pada_conv_make(3, 3, 1, 1, 0, PADA_ACT_NONE);

    return pada_graph_conv(g, pada_graph_input(g, (pada_shape){3, h, w}), &first, 0, -1);
}

/* The graph has failed with this message, keeps the status, and takes nothing more. */
static void check_stuck(pada_graph *g, const char *message)
{
    const pada_status st = pada_graph_status(g);
    const int n_nodes = g->n_nodes;

    assert_int_equal(st, PADA_EINVAL);
    assert_string_equal(pada_message(), message);
    assert_int_equal(pada_graph_input(g, (pada_shape){3, 4, 4}), PADA_ZERO);
    assert_int_equal(pada_graph_conv(g, 0, &conv3, 0, -1), PADA_ZERO);
    assert_int_equal(pada_graph_combine(g, (pada_term[]){same(0)}, 1), PADA_ZERO);
    assert_int_equal(pada_graph_gap(g, 0, PADA_ACT_NONE), PADA_ZERO);
    assert_int_equal(pada_graph_linear(g, PADA_ZERO, 4, 0, -1), PADA_ZERO);
    assert_int_equal(pada_graph_loss(g, PADA_ZERO), PADA_ZERO);
    pada_graph_simplify(g); /* leaves it alone */
    assert_int_equal(g->n_nodes, n_nodes);
    assert_int_equal(pada_graph_status(g), PADA_EINVAL);
    assert_string_equal(pada_message(), message); /* later calls do not write another one */
    pada_graph_reset(g);
    CHECK_OK(pada_graph_status(g));
    assert_int_equal(pada_graph_input(g, (pada_shape){3, 4, 4}), 0);
}

static void test_shapes(void **state)
{
    pada_graph *g = *state;
    const pada_value x = pada_graph_input(g, (pada_shape){3, 9, 12});
    const pada_value z = pada_graph_conv(g, x, &conv3, 32, -1);
    const pada_value s =
        pada_graph_conv(g, z, &(pada_conv){8, 5, 3, 2, 1, PADA_ACT_NONE, 1, 1, 0}, 0, 7);
    const pada_value y = pada_graph_combine(g, (pada_term[]){pool(s, 2, 2, 0)}, 1);
    const pada_value f = pada_graph_gap(g, y, PADA_ACT_RELU);
    const pada_value l = pada_graph_linear(g, f, 10, 100, 160);
    const pada_value loss = pada_graph_loss(g, l);

    CHECK_OK(pada_graph_status(g));
    check_shape(g, x, 3, 9, 12);
    check_shape(g, z, 8, 9, 12);
    check_shape(g, s, 5, 5, 6);
    check_shape(g, y, 5, 2, 3);
    check_shape(g, f, 5, 1, 1);
    check_shape(g, l, 10, 1, 1);
    assert_int_equal(loss, 6);
    assert_int_equal(g->nodes[z].weight, 32);
    assert_int_equal(g->nodes[z].bias, -1);
    assert_int_equal(g->nodes[s].bias, 7);
    assert_int_equal(g->nodes[y].n_terms, 1);
}

static void test_wrong_conv_sticks(void **state)
{
    pada_graph *g = *state;
    static const pada_conv wide = {3, 8, 7, 1, 0, PADA_ACT_NONE, 1, 1, 0},
                           padded = {3, 8, 3, 1, 3, PADA_ACT_NONE, 1, 1, 0},
                           shifted = {3, 8, 3, 1, 1, PADA_ACT_NONE, 1, 1, 1},
                           behind = {3, 8, 1, 2, 0, PADA_ACT_NONE, 1, 1, 6};

    pada_graph_conv(g, pada_graph_input(g, (pada_shape){4, 9, 9}), &conv3, 0, -1);
    check_stuck(g, "conv of 3 channels reads a tensor of 4");
    pada_graph_reset(g);
    pada_graph_conv(g, pada_graph_input(g, (pada_shape){3, 6, 9}), &wide, 0, -1);
    check_stuck(g, "conv kernel 7 is larger than its 6x9 input");
    pada_graph_reset(g);
    pada_graph_conv(g, pada_graph_input(g, (pada_shape){3, 6, 9}), &padded, 0, -1);
    check_stuck(g, "conv with kernel 3, stride 1, pad 3, dilation 1");
    pada_graph_reset(g);
    pada_graph_conv(g, pada_graph_input(g, (pada_shape){3, 6, 9}), &shifted, 0, -1);
    check_stuck(g, "conv with offset 1 and pad 1");
    pada_graph_reset(g);
    pada_graph_conv(g, pada_graph_input(g, (pada_shape){3, 6, 9}), &behind, 0, -1);
    check_stuck(g, "conv kernel 1 is larger than its 0x3 input");
}

static void test_pool_and_concat(void **state)
{
    static const pada_pool window = {3, 2, 1}, wide = {7, 1, 0};
    pada_graph *g = *state;
    pada_value x = features(g, 9, 8);

    const pada_value p = pada_graph_pool(g, x, &window, PADA_POOL_MAX, PADA_ACT_NONE);
    assert_true(pada_shape_equal(g->nodes[p].shape, (pada_shape){3, 5, 4}));
    const pada_value q = pada_graph_pool(g, x, &window, PADA_POOL_AVG, PADA_ACT_RELU);
    const pada_value c =
        pada_graph_concat(g, (const pada_value[]){p, PADA_ZERO, q}, (const int[]){9, 2, 9}, 3);
    assert_true(pada_shape_equal(g->nodes[c].shape, (pada_shape){8, 5, 4}));
    assert_int_equal(g->nodes[c].n_terms, 2);
    assert_int_equal(g->terms[g->nodes[c].first_term + 1].channel, 5);
    /* one part is itself, and nothing but zeros is zero */
    assert_int_equal(pada_graph_concat(g, &p, (const int[]){0}, 1), p);
    assert_int_equal(
        pada_graph_concat(g, (const pada_value[]){PADA_ZERO, PADA_ZERO}, (const int[]){2, 3}, 2),
        PADA_ZERO);
    assert_int_equal(pada_graph_pool(g, PADA_ZERO, &window, PADA_POOL_MAX, PADA_ACT_NONE),
                     PADA_ZERO);
    CHECK_OK(pada_graph_status(g));
    pada_graph_concat(g, (const pada_value[]){x, p}, (const int[]){0, 0}, 2);
    check_stuck(g, "sum of 3x9x8 and 3x5x4");
    pada_graph_reset(g);
    x = features(g, 6, 9);
    pada_graph_pool(g, x, &wide, PADA_POOL_MAX, PADA_ACT_NONE);
    check_stuck(g, "pool kernel 7 is larger than its 6x9 input");
}

static void test_wrong_sum_sticks(void **state)
{
    pada_graph *g = *state;
    pada_value x = features(g, 9, 9);

    assert_int_equal(pada_graph_combine(g, (pada_term[]){same(x), pool(x, 2, 2, 0)}, 2), PADA_ZERO);
    check_stuck(g, "sum of 3x9x9 and 3x4x4");
    pada_graph_reset(g);
    x = features(g, 9, 9);
    const pada_value z = pada_graph_conv(g, x, &conv3, 0, -1);
    assert_int_equal(pada_graph_combine(g, (pada_term[]){same(z), same(x)}, 2), PADA_ZERO);
    check_stuck(g, "sum of 8x9x9 and 3x9x9");
    pada_graph_reset(g);
    x = features(g, 3, 9);
    assert_int_equal(pada_graph_combine(g, (pada_term[]){pool(x, 5, 1, 0)}, 1), PADA_ZERO);
    check_stuck(g, "pool kernel 5 is larger than its 3x9 input");
    pada_graph_reset(g);
    x = features(g, 9, 9);
    assert_int_equal(pada_graph_combine(g, (pada_term[]){pool(x, 2, 0, 0)}, 1), PADA_ZERO);
    check_stuck(g, "pool with kernel 2, stride 0, pad 0");
}

static void test_images_are_for_convolutions(void **state)
{
    pada_graph *g = *state;
    pada_value x = pada_graph_input(g, (pada_shape){3, 9, 9});

    assert_int_equal(pada_graph_combine(g, (pada_term[]){same(x)}, 1), PADA_ZERO);
    check_stuck(g, "images are read by something else than a convolution");
    pada_graph_reset(g);
    x = pada_graph_input(g, (pada_shape){3, 9, 9});
    assert_int_equal(pada_graph_gap(g, x, PADA_ACT_RELU), PADA_ZERO);
    check_stuck(g, "images are read by something else than a convolution");
}

static void test_too_much_sticks(void **state)
{
    pada_graph *g = *state;
    const pada_value x = pada_graph_input(g, (pada_shape){3, 9, 9});
    pada_term terms[N_TERMS + 1];

    for (int i = 1; i < N_NODES; i++)
        assert_int_equal(pada_graph_conv(g, x, &conv3, 0, -1), i);
    CHECK_OK(pada_graph_status(g)); /* full, not wrong */
    assert_int_equal(pada_graph_conv(g, x, &conv3, 0, -1), PADA_ZERO);
    check_stuck(g, "graph has more than 8 nodes");

    pada_graph_reset(g);
    for (int i = 0; i <= N_TERMS; i++)
        terms[i] = same(1);
    assert_int_equal(features(g, 9, 9), 1);
    assert_int_equal(pada_graph_combine(g, terms, N_TERMS), 2);
    CHECK_OK(pada_graph_status(g));
    assert_int_equal(pada_graph_combine(g, terms, 1), PADA_ZERO);
    check_stuck(g, "graph has more than 6 terms");
}

/* Convolutions, pools and batch norms of zeros are zeros; a sum leaves them out; a classifier takes
 * them. */
static void test_zero(void **state)
{
    pada_graph *g = *state;
    const pada_term norm = pada_norm_term(PADA_ZERO);

    assert_int_equal(pada_graph_conv(g, PADA_ZERO, &conv3, 0, -1), PADA_ZERO);
    assert_int_equal(pada_graph_gap(g, PADA_ZERO, PADA_ACT_RELU), PADA_ZERO);
    assert_int_equal(pada_graph_combine(g, NULL, 0), PADA_ZERO);
    assert_int_equal(
        pada_graph_combine(g, (pada_term[]){same(PADA_ZERO), norm, pool(PADA_ZERO, 3, 1, 1)}, 3),
        PADA_ZERO);
    assert_int_equal(g->n_nodes + g->n_terms, 0);
    CHECK_OK(pada_graph_status(g));

    const pada_value x = features(g, 9, 9);
    const pada_value y = pada_graph_combine(g, (pada_term[]){norm, same(x), same(PADA_ZERO)}, 3);
    assert_int_equal(g->nodes[y].n_terms, 1);
    assert_int_equal(g->terms[g->nodes[y].first_term].x, x);
    const pada_value l = pada_graph_linear(g, PADA_ZERO, 10, 0, 64);
    check_shape(g, l, 10, 1, 1);
    assert_int_equal(g->nodes[l].x, PADA_ZERO);
    assert_true(pada_graph_loss(g, l) > l);
    CHECK_OK(pada_graph_status(g));
}

/* A batch norm with a shift makes something of zeros, and no two may share what has a gradient. */
static void test_affine_norms(void **state)
{
    pada_graph *g = *state;
    const pada_value x = features(g, 9, 9);
    pada_term a = pada_norm_term(x), b = pada_norm_term(x);

    a.norm.scale = 32;
    a.norm.shift = b.norm.shift = 48;
    assert_true(pada_graph_combine(g, (pada_term[]){a, pada_norm_term(x)}, 2) > x);
    CHECK_OK(pada_graph_status(g));
    assert_int_equal(pada_graph_combine(g, &b, 1), PADA_ZERO);
    check_stuck(g, "two batch norms have the same scale or shift");
    pada_graph_reset(g);
    a.x = PADA_ZERO;
    assert_int_equal(pada_graph_combine(g, &a, 1), PADA_ZERO);
    check_stuck(g, "a batch norm with scale or shift reads zeros");
}

/* Auxiliary losses come first, each loss has logits of its own, and there is one loss. */
static void test_wrong_losses_stick(void **state)
{
    pada_graph *g = *state;

    for (int i = 0; i < 3; i++) {
        pada_graph_reset(g);
        g->auxiliary = true;
        const pada_value f = pada_graph_gap(g, features(g, 9, 9), PADA_ACT_NONE);
        const pada_value a = pada_graph_linear(g, f, 10, 0, -1);
        const pada_value b = pada_graph_linear(g, f, 10, 0, -1);
        pada_graph_auxiliary_loss(g, a, 0.4);
        CHECK_OK(pada_graph_status(g));
        pada_graph_loss(g, i == 0 ? a : b);
        if (i == 0) {
            check_stuck(g, "two losses of the same logits");
            continue;
        }
        CHECK_OK(pada_graph_status(g));
        if (i == 1)
            pada_graph_loss(g, b);
        else
            pada_graph_auxiliary_loss(g, b, 0.4);
        check_stuck(g, "a second loss behind the loss");
    }
    pada_graph_reset(g);
    g->auxiliary = false; /* nothing is added */
    const pada_value f = pada_graph_gap(g, features(g, 9, 9), PADA_ACT_NONE);
    const pada_value l = pada_graph_linear(g, f, 10, 0, -1);
    pada_graph_auxiliary_loss(g, l, 0.4);
    assert_int_equal(g->n_nodes, l + 1);
}

/* Drops are numbered as they are asked for, those that are not added among them. */
static void test_drops(void **state)
{
    pada_graph *g = *state;

    for (int i = 0; i < 2; i++) {
        pada_graph_reset(g);
        g->drops = PADA_ONE(PADA_DROP_IMAGES);
        const pada_value x = features(g, 9, 9);
        assert_int_equal(pada_graph_drop(g, x, PADA_DROP_ELEMENTS, 1), x);
        assert_int_equal(pada_graph_drop(g, PADA_ZERO, PADA_DROP_IMAGES, 1), PADA_ZERO);
        for (int k = 0; k < 2; k++) {
            const pada_value y = pada_graph_drop(g, x, PADA_DROP_IMAGES, 1);
            assert_int_equal(y, x + 1 + k);
            assert_int_equal(g->nodes[y].drop.mask, 2 + k);
            assert_true(pada_shape_equal(g->nodes[y].shape, g->nodes[x].shape));
        }
        CHECK_OK(pada_graph_status(g));
    }
    g->drops = 0;
}

static void test_nothing_is_allocated(void **state)
{
    pada_graph *g = *state;
    const int64_t before = pada_mem_count();

    for (int i = 0; i < 3; i++) {
        pada_graph_reset(g);
        const pada_value x = features(g, 9, 9);
        const pada_value y = pada_graph_combine(g, (pada_term[]){same(x)}, 1);
        pada_graph_loss(g, pada_graph_linear(g, pada_graph_gap(g, y, PADA_ACT_NONE), 10, 0, -1));
        pada_graph_simplify(g);
        CHECK_OK(pada_graph_status(g));
    }
    assert_int_equal(pada_mem_count(), before);
}

static void test_out_of_memory(void **state)
{
    const int64_t live = pada_mem_live();
    pada_graph *g = NULL;

    (void)state;
    for (int n = 0;; n++) {
        pada_mem_fail_after(n);
        const pada_status st = pada_graph_create(&g, 4, 4);
        pada_mem_fail_after(-1);
        if (st == PADA_OK) {
            assert_true(n >= 3);
            break;
        }
        assert_int_equal(st, PADA_ENOMEM);
        assert_null(g);
        assert_int_equal(pada_mem_live(), live);
    }
    pada_graph_destroy(g);
    pada_graph_destroy(NULL);
    assert_int_equal(pada_mem_live(), live);
}

#define GRAPH_TEST(test) cmocka_unit_test_setup_teardown(test, make_graph, free_graph)

int main(void)
{
    const struct CMUnitTest tests[] = {
        GRAPH_TEST(test_shapes),
        GRAPH_TEST(test_wrong_conv_sticks),
        GRAPH_TEST(test_wrong_sum_sticks),
        GRAPH_TEST(test_pool_and_concat),
        GRAPH_TEST(test_images_are_for_convolutions),
        GRAPH_TEST(test_wrong_losses_stick),
        GRAPH_TEST(test_drops),
        GRAPH_TEST(test_too_much_sticks),
        GRAPH_TEST(test_zero),
        GRAPH_TEST(test_affine_norms),
        GRAPH_TEST(test_nothing_is_allocated),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
