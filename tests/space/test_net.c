/* test_net.c - the net builder: one walk declares, builds, measures and counts a network. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "space/nb201_cells.h"
#include "space/toy_space.h"

static pada_params *declare(const pada_space *space)
{
    pada_params *params;

    assert_int_equal(pada_params_create(&params), PADA_OK);
    assert_int_equal(pada_space_declare(space, params), PADA_OK);
    return params;
}

static void check_param(const pada_params *params, int id, const char *name, int site, int choice)
{
    const pada_param *p = pada_params_get(params, id);

    assert_string_equal(p->name, name);
    assert_int_equal(p->site, site);
    assert_int_equal(p->choice, choice);
}

static void test_the_supernet_has_every_choice_shared_ones_first(void **state)
{
    static const struct {
        const char *name;
        int site, choice;
    } wanted[] = {
        {"stem.weight", PADA_SHARED, 0}, {"stem.bias", PADA_SHARED, 0},
        {"head.weight", PADA_SHARED, 0}, {"head.bias", PADA_SHARED, 0},
        {"depth.0.first.weight", 0, 0},  {"depth.0.first.bias", 0, 0},
        {"depth.1.first.weight", 0, 1},  {"depth.1.first.bias", 0, 1},
        {"depth.1.second.weight", 0, 1}, {"depth.1.second.bias", 0, 1},
        {"edge.1.conv.weight", 1, 1},    {"edge.1.conv.bias", 1, 1},
        {"edge.2.conv.weight", 1, 2},    {"edge.2.conv.bias", 1, 2},
    };
    const int n = (int)(sizeof wanted / sizeof *wanted);
    const pada_space space = toy_space();
    pada_params *params = declare(&space);

    (void)state;
    assert_int_equal(pada_params_count(params), n);
    for (int i = 0; i < n; i++)
        check_param(params, i, wanted[i].name, wanted[i].site, wanted[i].choice);
    assert_true(pada_params_get(params, 1)->bias_before_norm);
    assert_false(pada_params_get(params, 3)->bias_before_norm);
    assert_float_equal(pada_params_get(params, 12)->bound, 1.0 / 6, 1e-15); /* 4 * 3 * 3 */
    assert_int_equal(pada_params_first(params, 0, 1), 6);
    assert_int_equal(pada_params_first(params, 1, 0), 10); /* has none: where they would be */
    assert_int_equal(pada_params_first(params, 2, 0), n);
    pada_params_destroy(params);
}

/* The weights of the convolutions of a path, by name. */
static void check_weights(const pada_space *space, const pada_params *params, const pada_path *path,
                          const char *const *names)
{
    pada_graph *graph;
    int n = 0;

    assert_int_equal(pada_graph_create(&graph, 64, 64), PADA_OK);
    pada_space_build(space, params, path, graph);
    assert_int_equal(pada_graph_status(graph), PADA_OK);
    for (int i = 0; i < graph->n_nodes; i++) {
        const pada_node *node = &graph->nodes[i];
        if (node->op != PADA_OP_CONV && node->op != PADA_OP_LINEAR) continue;
        assert_non_null(names[n]);
        const int id = pada_params_find(params, names[n++]);
        assert_true(id >= 0);
        assert_int_equal(node->weight, pada_params_get(params, id)->offset);
    }
    assert_null(names[n]);
    pada_graph_destroy(graph);
}

static void test_a_path_finds_its_parameters(void **state)
{
    const pada_space space = toy_space();
    pada_params *params = declare(&space);

    (void)state;
    check_weights(&space, params, &(pada_path){{0, 0, 2}},
                  (const char *[]){"stem.weight", "depth.0.first.weight", "head.weight", NULL});
    check_weights(&space, params, &(pada_path){{1, 1, 2}},
                  (const char *[]){"stem.weight", "depth.1.first.weight", "depth.1.second.weight",
                                   "edge.2.conv.weight", "head.weight", NULL});
    check_weights(&space, params, &(pada_path){{0, 1, 1}},
                  (const char *[]){"stem.weight", "depth.0.first.weight", "edge.1.conv.weight",
                                   "head.weight", NULL});
    pada_params_destroy(params);
}

static void test_a_slot_that_is_not_taken_uses_nothing(void **state)
{
    const pada_space space = toy_space();
    const pada_path off = {{0, 0, 2}}, on = {{0, 1, 2}};

    (void)state;
    assert_false(pada_path_takes(&space, &off, TOY_EDGE));
    assert_false(pada_path_uses(&space, &off, 1, 2));
    assert_true(pada_path_uses(&space, &off, 0, 0));
    assert_true(pada_path_uses(&space, &on, 1, 2));
    assert_false(pada_path_uses(&space, &on, 1, 1));
}

/* What is declared for one network in its final form is what its cost counts. */
static void check_final(const pada_space *space, const pada_path *path)
{
    int64_t n_weights = 0;
    pada_space final;
    pada_cost cost;

    pada_space_cost(space, path, &cost);
    pada_space_finalise(&final, space, path);
    pada_params *params = declare(&final);
    for (int i = 0; i < pada_params_count(params); i++) {
        const pada_param *p = pada_params_get(params, i);
        n_weights += p->count;
        assert_false(p->bias_before_norm);
    }
    assert_int_equal(n_weights, cost.params);
    pada_params_destroy(params);
}

static void test_the_final_form_is_one_network_with_affine_norms(void **state)
{
    const pada_space space = toy_space();
    pada_space final;

    (void)state;
    pada_space_finalise(&final, &space, &(pada_path){{0, 1, 1}});
    pada_params *params = declare(&final);
    assert_int_equal(pada_params_count(params), 11);
    check_param(params, 0, "stem.weight", PADA_SHARED, 0);
    check_param(params, 1, "stem_norm.weight", PADA_SHARED, 0);
    check_param(params, 2, "stem_norm.bias", PADA_SHARED, 0);
    check_param(params, 5, "depth.0.first.weight", 0, 0);
    check_param(params, 6, "depth.0.first_norm.weight", 0, 0);
    check_param(params, 10, "edge.1.norm.bias", 1, 1);
    assert_true(pada_params_get(params, 1)->centre == 1 && pada_params_get(params, 1)->bound == 0);
    assert_true(pada_params_get(params, 2)->centre == 0 && pada_params_get(params, 2)->bound == 0);
    pada_params_destroy(params);
    for (uint8_t i = 0; i < 12; i++)
        check_final(&space,
                    &(pada_path){{(uint8_t)(i / 6), (uint8_t)(i / 3 % 2), (uint8_t)(i % 3)}});
}

static void test_costs(void **state)
{
    const pada_space space = toy_space();
    pada_cost cost;

    (void)state;
    pada_space_cost(&space, &(pada_path){{0, 0, 2}}, &cost);
    assert_int_equal(cost.macs, 64 * (27 * 4 + 16) + 40);
    assert_int_equal(cost.params, 27 * 4 + 8 + 16 + 8 + 50);
    pada_space_cost(&space, &(pada_path){{1, 1, 2}}, &cost);
    assert_int_equal(cost.macs, 64 * (27 * 4 + 2 * 16 + 9 * 16) + 40);
    assert_int_equal(cost.params, 27 * 4 + 2 * 16 + 9 * 16 + 4 * 8 + 50);
}

static void test_room_is_that_of_the_largest_path(void **state)
{
    const pada_space space = toy_space();
    pada_params *params = declare(&space);
    pada_net_room room;
    pada_graph *graph;

    (void)state;
    assert_int_equal(pada_space_measure(&space, &room), PADA_OK);
    assert_int_equal(pada_graph_create(&graph, room.nodes, room.terms), PADA_OK);
    graph->taps = true;
    pada_space_build(&space, params, &(pada_path){{1, 1, 2}}, graph);
    assert_int_equal(pada_graph_status(graph), PADA_OK);
    assert_int_equal(graph->n_nodes, room.nodes);
    assert_int_equal(graph->n_terms, room.terms);
    pada_graph_destroy(graph);
    pada_params_destroy(params);
}

static void check_extreme(const pada_space *space, int i, pada_path wanted)
{
    pada_path path;

    assert_true(pada_space_extreme(space, i, &path));
    assert_true(pada_path_equal(space, &path, &wanted));
}

static void test_extreme_paths_have_the_same_choice_everywhere(void **state)
{
    const pada_space space = toy_space();
    pada_space final;
    pada_path path;

    (void)state;
    check_extreme(&space, 0, (pada_path){{0, 0, 0}});
    check_extreme(&space, 1, (pada_path){{1, 1, 1}});
    check_extreme(&space, 2, (pada_path){{1, 1, 2}});
    assert_false(pada_space_extreme(&space, 3, &path));
    pada_space_finalise(&final, &space, &(pada_path){{0, 1, 2}});
    check_extreme(&final, 0, (pada_path){{0, 1, 2}});
    assert_false(pada_space_extreme(&final, 1, &path));
}

static void test_a_size_that_a_space_does_not_have_is_refused(void **state)
{
    pada_space space;

    (void)state;
    assert_int_equal(pada_space_init(&space, &toy_ops, &(pada_space_config){.channels = 4}),
                     PADA_EINVAL);
    assert_string_equal(pada_message(), "space toy has no option channels");
}

/* ---- NAS-Bench-201 ---- */

static void test_nb201_alone_has_the_names_of_pytorch(void **state)
{
    static const char *const there[] = {
        "stem.0.weight",
        "stem.1.weight",
        "cells.0.layers.1.op.1.weight",
        "cells.0.layers.1.op.2.bias",
        "cells.2.conv_a.op.1.weight",
        "cells.2.conv_b.op.2.weight",
        "cells.2.downsample.1.weight",
        "cells.7.layers.5.op.1.weight",
        "lastact.0.weight",
        "classifier.bias",
    };
    static const char *const absent[] = {
        "cells.0.layers.0.op.1.weight", "cells.0.layers.1.op.1.bias", "cells.2.downsample.2.weight",
        "cells.8.layers.5.op.1.weight"};
    const pada_space space = nb201_space(&(pada_space_config){.channels = 4, .cells = 2});
    pada_space final;

    (void)state;
    pada_space_finalise(&final, &space, &(pada_path){{0, 2, 1, 4, 0, 3}});
    pada_params *params = declare(&final);
    for (size_t i = 0; i < sizeof there / sizeof *there; i++)
        if (pada_params_find(params, there[i]) < 0) fail_msg("%s is not declared", there[i]);
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
        if (pada_params_find(params, absent[i]) >= 0) fail_msg("%s is declared", absent[i]);
    assert_int_equal(pada_params_get(params, 1)->centre, 1);
    pada_params_destroy(params);
}

static void test_nb201_alone_has_what_its_cost_counts(void **state)
{
    const pada_space space =
        nb201_space(&(pada_space_config){.channels = 4, .cells = 2, .blocks = 2});

    (void)state;
    for (int i = 0; i < N_CELLS; i += 97) {
        const pada_path path = cell_at(i);
        check_final(&space, &path);
    }
}

/* The largest graphs of all cells, with taps, those of all boundaries, and all probes. */
static void check_nb201_room(int blocks)
{
    const pada_space space = nb201_space(
        &(pada_space_config){.channels = 1, .cells = 2, .image_size = 4, .blocks = blocks});
    pada_params *params = declare(&space);
    int most_nodes = 0, most_terms = 0;
    pada_net_room room;
    pada_graph *graph;

    assert_int_equal(pada_space_measure(&space, &room), PADA_OK);
    assert_int_equal(pada_graph_create(&graph, room.nodes, room.terms), PADA_OK);
    for (int i = 0; i < N_CELLS; i++) {
        const pada_path path = cell_at(i);
        pada_graph_reset(graph);
        graph->taps = graph->boundaries = true;
        graph->probes = blocks;
        pada_space_build(&space, params, &path, graph);
        assert_int_equal(pada_graph_status(graph), PADA_OK);
        if (graph->n_nodes > most_nodes) most_nodes = graph->n_nodes;
        if (graph->n_terms > most_terms) most_terms = graph->n_terms;
    }
    /* without blocks a node of a cell has room for a probe that is not there */
    assert_int_equal(most_nodes, room.nodes - (blocks == 0 ? 3 * 2 * 3 : 0));
    assert_int_equal(most_terms, room.terms);
    pada_graph_destroy(graph);
    pada_params_destroy(params);
}

static void test_nb201_room_is_that_of_the_largest_cell(void **state)
{
    (void)state;
    check_nb201_room(0);
    check_nb201_room(1);
    check_nb201_room(3);
}

/* ---- what is wrong ---- */

static void walk_with_long_names(const pada_space *space, pada_builder *b)
{
    const int mark = pada_build_enter(b, "%090d", 1);

    (void)space;
    toy_conv_norm(b, pada_build_images(b), 3, "stem", "norm");
    pada_build_leave(b, mark);
}

static void walk_with_a_large_kernel(const pada_space *space, pada_builder *b)
{
    const pada_conv conv = pada_conv_make(3, 4, 9, 1, 0, PADA_ACT_NONE);

    (void)space;
    pada_build_conv(b, pada_build_images(b), &conv, PADA_BIAS_NONE, "stem");
}

static void test_names_that_are_too_long_are_refused(void **state)
{
    pada_space_ops ops = toy_ops;
    pada_params *params;
    pada_space space;

    (void)state;
    ops.walk = walk_with_long_names;
    assert_int_equal(pada_space_init(&space, &ops, NULL), PADA_OK);
    assert_int_equal(pada_params_create(&params), PADA_OK);
    assert_int_equal(pada_space_declare(&space, params), PADA_EINVAL);
    assert_non_null(strstr(pada_message(), "too long"));
    assert_int_equal(pada_params_count(params), 0);
    pada_params_destroy(params);
}

static void test_a_network_that_does_not_exist_is_refused_at_once(void **state)
{
    pada_space_ops ops = toy_ops;
    pada_space space;

    (void)state;
    ops.walk = walk_with_a_large_kernel;
    assert_int_equal(pada_space_init(&space, &ops, NULL), PADA_EINVAL);
    assert_non_null(strstr(pada_message(), "larger than its 8x8 input"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_supernet_has_every_choice_shared_ones_first),
        cmocka_unit_test(test_a_path_finds_its_parameters),
        cmocka_unit_test(test_a_slot_that_is_not_taken_uses_nothing),
        cmocka_unit_test(test_the_final_form_is_one_network_with_affine_norms),
        cmocka_unit_test(test_costs),
        cmocka_unit_test(test_room_is_that_of_the_largest_path),
        cmocka_unit_test(test_extreme_paths_have_the_same_choice_everywhere),
        cmocka_unit_test(test_a_size_that_a_space_does_not_have_is_refused),
        cmocka_unit_test(test_nb201_alone_has_the_names_of_pytorch),
        cmocka_unit_test(test_nb201_alone_has_what_its_cost_counts),
        cmocka_unit_test(test_nb201_room_is_that_of_the_largest_cell),
        cmocka_unit_test(test_names_that_are_too_long_are_refused),
        cmocka_unit_test(test_a_network_that_does_not_exist_is_refused_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
