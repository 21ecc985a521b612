/* test_parts.c - the parts of networks: their keys, that nothing is missing, and that each is a network when it is alone. */
#include <string.h>

#include "base/mem.h"
#include "space/space_checks.h"

static pada_space space_of(const char *name)
{
    const pada_space_ops *ops;
    pada_space space;

    CHECK_OK(pada_space_find(&ops, name));
    CHECK_OK(pada_space_init(&space, ops, NULL));
    return space;
}

/* ---- keys ---- */

typedef struct keys {
    pada_text text; /* one key per line */
    int n, n_slots, n_shared;
} keys;

static pada_status add_key(void *user, const pada_part *part, const pada_part_place *place)
{
    keys *k = user;

    pada_part_key(part, &k->text);
    pada_text_add(&k->text, "\n");
    k->n++;
    k->n_slots += place->slot >= 0;
    k->n_shared += place->slot < 0;
    return k->text.status;
}

static void check_keys(const char *name, const char *arch, const char *wanted)
{
    const pada_space space = space_of(name);
    const pada_path path = read_path(&space, arch, NULL);
    keys k = {.n = 0};

    CHECK_OK(pada_space_visit_parts(&space, &path, add_key, &k));
    assert_string_equal(pada_text_str(&k.text), wanted);
    pada_text_deinit(&k.text);
}

static void test_keys(void **state)
{
    (void)state;
    check_keys("macro", "01000200",
               "Conv-input:32x32x3-output:32x32x32\n"
               "downsample-input:32x32x32-output:16x16x64\n"
               "expanded_conv-input:16x16x64-output:16x16x64-expand:3-kernel:3-stride:1-idskip:1\n"
               "downsample-input:16x16x64-output:8x8x128\n"
               "expanded_conv-input:8x8x128-output:4x4x256-expand:6-kernel:5-stride:2-idskip:0\n"
               "Conv_1-input:4x4x256-output:4x4x1280\n"
               "Logits-input:4x4x1280-output:10\n");
}

/* All choices are visited without a path, and those of a path with one. */
static void test_choices(void **state)
{
    const pada_space space = space_of("nb201");
    const pada_path path = read_path(
        &space, "|nor_conv_3x3~0|+|none~0|skip_connect~1|+|none~0|none~1|avg_pool_3x3~2|", NULL);
    keys all = {.n = 0}, one = {.n = 0};

    (void)state;
    CHECK_OK(pada_space_visit_parts(&space, NULL, add_key, &all));
    assert_int_equal(all.n_shared, 4);         /* stem, two reductions, head */
    assert_int_equal(all.n_slots, 15 * 6 * 4); /* `none` is no part */
    CHECK_OK(pada_space_visit_parts(&space, &path, add_key, &one));
    assert_int_equal(one.n_shared, 4);
    assert_int_equal(one.n_slots, 15 * 3);
    pada_text_deinit(&all.text);
    pada_text_deinit(&one.text);
}

static pada_status refuse(void *user, const pada_part *part, const pada_part_place *place)
{
    int *n = user;

    (void)part, (void)place;
    return ++*n == 3 ? PADA_FAIL(PADA_EINVAL, "enough") : PADA_OK;
}

static void test_failure(void **state)
{
    const pada_space space = space_of("darts");
    int n = 0;

    (void)state;
    assert_int_equal(pada_space_visit_parts(&space, NULL, refuse, &n), PADA_EINVAL);
    assert_string_equal(pada_message(), "enough");
    assert_int_equal(n, 3);
}

/* ---- parts alone ---- */

typedef struct totals {
    const pada_space *space;
    int64_t macs; /* of the parts without what surrounds them */
} totals;

static const pada_path zeros;

static int64_t macs_of(const pada_space *space, const pada_part_place *place, pada_part_form form)
{
    pada_space alone;
    pada_cost cost;

    pada_space_isolate(&alone, space, place, form);
    pada_space_cost(&alone, &zeros, &cost);
    return cost.macs;
}

/* Of what makes the input of a part, and of what reads its output. */
static int64_t stand_in_macs(const pada_space *space, pada_shape x)
{
    const int size = space->config.image_size;

    return x.c == 3 && x.h == size ? 0 : (int64_t)3 * x.c * x.h * x.w;
}

static int64_t tail_macs(const pada_space *space, pada_shape y)
{
    return (int64_t)y.c * space->config.classes;
}

static pada_status add_macs(void *user, const pada_part *part, const pada_part_place *place)
{
    totals *t = user;
    const bool is_last = part->out.h == 0, is_first = stand_in_macs(t->space, part->in) == 0;
    const int64_t tail = is_last ? 0 : tail_macs(t->space, part->out);

    t->macs += macs_of(t->space, place, PADA_PART_ALONE) - stand_in_macs(t->space, part->in) - tail;
    if (!is_first)
        assert_int_equal(macs_of(t->space, place, PADA_PART_X_ALONE),
                         stand_in_macs(t->space, part->in) + tail_macs(t->space, part->in));
    if (!is_last)
        assert_int_equal(macs_of(t->space, place, PADA_PART_Y_ALONE),
                         stand_in_macs(t->space, part->out) + tail);
    return PADA_OK;
}

/* The parts of a network have all of its multiply-adds. */
static void test_nothing_is_missing(void **state)
{
    (void)state;
    for (int i = 0; i < pada_space_count(); i++) {
        const pada_space space = space_of(pada_space_get(i)->name);
        totals t = {.space = &space};
        pada_cost cost;
        pada_path path;
        pada_rng rng;

        pada_rng_init(&rng, 1, "test", 0);
        pada_path_random(&space, &rng, &path);
        CHECK_OK(pada_space_visit_parts(&space, &path, add_macs, &t));
        pada_space_cost(&space, &path, &cost);
        assert_int_equal(t.macs, cost.macs);
    }
}

/* Declares and builds a part that is alone. */
static pada_status build_alone(void *user, const pada_part *part, const pada_part_place *place)
{
    const pada_space *space = user;
    pada_params *params;
    pada_graph *graph;
    pada_net_room room;
    pada_space alone;

    (void)part;
    for (int form = PADA_PART_ALONE; form <= PADA_PART_Y_ALONE; form++) {
        pada_space_isolate(&alone, space, place, (pada_part_form)form);
        CHECK_OK(pada_params_create(&params));
        CHECK_OK(pada_space_declare(&alone, params));
        CHECK_OK(pada_space_measure(&alone, &room));
        CHECK_OK(pada_graph_create(&graph, room.nodes, room.terms));
        pada_space_build(&alone, params, &zeros, graph);
        CHECK_OK(pada_graph_status(graph));
        assert_int_equal(graph->nodes[graph->n_nodes - 1].op, PADA_OP_LOSS);
        assert_int_equal(graph->nodes[0].op, PADA_OP_INPUT);
        pada_graph_destroy(graph);
        pada_params_destroy(params);
    }
    return PADA_OK;
}

static void test_alone(void **state)
{
    (void)state;
    for (int i = 0; i < pada_space_count(); i++) {
        pada_space space = space_of(pada_space_get(i)->name);
        pada_path path;
        pada_rng rng;

        pada_rng_init(&rng, 2, "test", 0);
        pada_path_random(&space, &rng, &path);
        CHECK_OK(pada_space_visit_parts(&space, &path, build_alone, &space));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys),    cmocka_unit_test(test_choices),
        cmocka_unit_test(test_failure), cmocka_unit_test(test_nothing_is_missing),
        cmocka_unit_test(test_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
