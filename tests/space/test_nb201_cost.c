/* test_nb201_cost.c - multiply-adds and parameters against known networks and against the graph. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "graph/graph.h"
#include "space/nb201_cells.h"

static pada_cost cost_of(const pada_space *space, const pada_path *path)
{
    pada_cost cost;

    pada_space_cost(space, path, &cost);
    return cost;
}

static void test_known_networks(void **state)
{
    static const struct {
        uint8_t choice[PADA_NB201_EDGES];
        int64_t params, macs;
    } known[] = {
        {{3, 3, 3, 3, 3, 3}, 1531546, 220119690}, {{2, 2, 2, 2, 2, 2}, 241306, 31376010},
        {{1, 1, 1, 1, 1, 1}, 73306, 7783050},     {{4, 4, 4, 4, 4, 4}, 73306, 7783050},
        {{0, 0, 0, 0, 0, 0}, 73306, 7783050},     {{4, 2, 1, 2, 1, 1}, 129306, 15647370},
        {{3, 3, 3, 1, 3, 2}, 1073466, 153272970},
    };
    const pada_space space = nb201_space(NULL);

    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        pada_path path = {{0}};
        for (int edge = 0; edge < PADA_NB201_EDGES; edge++)
            path.choice[edge] = known[i].choice[edge];
        const pada_cost cost = cost_of(&space, &path);
        assert_int_equal(cost.params, known[i].params);
        assert_int_equal(cost.macs, known[i].macs);
    }
}

static void test_sums_over_the_space(void **state)
{
    static bool seen[N_CELLS];
    const pada_space space = nb201_space(NULL);
    int64_t all = 0, distinct = 0;

    (void)state;
    for (int i = 0; i < N_CELLS; i++) {
        const pada_path path = cell_at(i);
        pada_path form;

        all += cost_of(&space, &path).macs;
        pada_nb201_canonical(&path, &form);
        if (!seen[cell_number(&form)]) distinct += cost_of(&space, &form).macs;
        seen[cell_number(&form)] = true;
    }
    /* Each edge is conv3x3 and conv1x1 in a fifth of the cells. */
    assert_int_equal(all, 15625 * INT64_C(7783050) + 6 * 3125 * (INT64_C(35389440) + 3932160));
    assert_int_equal((all + 50000000) / 100000000, 8589);      /* 858.9 G */
    assert_int_equal((distinct + 50000000) / 100000000, 5630); /* 563.0 G */
}

static void test_image_size_and_classes_scale_as_they_must(void **state)
{
    const pada_space cifar = nb201_space(NULL);
    const pada_space imagenet16 =
        nb201_space(&(pada_space_config){.classes = 120, .image_size = 16});
    const int64_t linear = 65 * 10, linear120 = 65 * 120;

    (void)state;
    for (int i = 0; i < N_CELLS; i += 7) {
        const pada_path path = cell_at(i);
        const pada_cost a = cost_of(&cifar, &path), b = cost_of(&imagenet16, &path);

        assert_int_equal(b.macs - linear120, (a.macs - linear) / 4);
        assert_int_equal(b.params - linear120, a.params - linear);
    }
}

/* What the operators of the path's graph count themselves. */
static pada_cost count_graph(const pada_graph *g)
{
    pada_cost cost = {0, 0};

    for (int i = 0; i < g->n_nodes; i++) {
        const pada_node *node = &g->nodes[i];

        if (node->op == PADA_OP_CONV) {
            cost.macs += pada_conv_macs(&node->conv, node->shape);
            cost.params += pada_conv_weights(&node->conv);
        } else if (node->op == PADA_OP_LINEAR) {
            const int64_t n = pada_linear_macs(g->nodes[node->x].shape.c, node->shape.c);
            cost.macs += n;
            cost.params += n;
        }
        for (int t = 0; t < node->n_terms; t++)
            if (node->op == PADA_OP_COMBINE &&
                g->terms[node->first_term + t].kind == PADA_TERM_BATCHNORM)
                cost.params += 2 * node->shape.c;
    }
    return cost;
}

/* In cells without dead edges the graph holds the whole stand-alone network: its convolutions have
 * no bias, and each batch norm stands for a scale and a shift. */
static void test_cost_is_that_of_the_graph(void **state)
{
    static const pada_space_config configs[] = {
        {.channels = 4, .cells = 1, .classes = 3, .image_size = 8},
        {.channels = 5, .cells = 2, .classes = 2, .image_size = 4},
        {.channels = 16, .cells = 5, .classes = 10, .image_size = 32},
    };
    int n_compared = 0;

    (void)state;
    for (size_t c = 0; c < sizeof configs / sizeof configs[0]; c++) {
        const pada_space space = nb201_space(&configs[c]);
        pada_params *params;
        pada_graph *graph;

        assert_int_equal(pada_params_create(&params), PADA_OK);
        assert_int_equal(pada_space_declare(&space, params), PADA_OK);
        assert_int_equal(pada_graph_create(&graph, 512, 512), PADA_OK);
        for (int i = 0; i < N_CELLS; i += c == 2 ? 11 : 1) {
            const pada_path path = cell_at(i);
            pada_path form;

            pada_nb201_canonical(&path, &form);
            if (i == 0 || !pada_path_equal(&space, &path, &form)) continue;
            pada_graph_reset(graph);
            pada_space_build(&space, params, &path, graph);
            assert_int_equal(pada_graph_status(graph), PADA_OK);
            const pada_cost a = cost_of(&space, &path), b = count_graph(graph);
            assert_int_equal(a.macs, b.macs);
            assert_int_equal(a.params, b.params);
            n_compared++;
        }
        pada_graph_destroy(graph);
        pada_params_destroy(params);
    }
    assert_true(n_compared > 2 * 9000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_networks),
        cmocka_unit_test(test_sums_over_the_space),
        cmocka_unit_test(test_image_size_and_classes_scale_as_they_must),
        cmocka_unit_test(test_cost_is_that_of_the_graph),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
