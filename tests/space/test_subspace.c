/* test_subspace.c - parts of a space: what is in them, what is not one. */
#include "check.h"
#include "space/nb201_cells.h"
#include "space/subspace.h"

static void membership_is_slot_by_slot(void **state)
{
    const pada_space space = nb201_space(NULL);
    pada_subspace all, part;
    int n = 0;

    (void)state;
    pada_subspace_init(&all, &space);
    part = all;
    part.allowed[0] = 1u << 2 | 1u << 4;
    part.allowed[5] = 1u << 0;
    assert_int_equal(pada_subspace_choices(&all, 0), 5);
    assert_int_equal(pada_subspace_choices(&part, 0), 2);
    assert_int_equal(pada_subspace_choices(&part, 5), 1);
    for (int i = 0; i < N_CELLS; i++) {
        const pada_path path = cell_at(i);
        const bool want = (path.choice[0] == 2 || path.choice[0] == 4) && path.choice[5] == 0;
        assert_true(pada_subspace_has(&all, &space, &path));
        assert_true(pada_subspace_has(&part, &space, &path) == want);
        n += want;
    }
    assert_int_equal(n, 2 * 625);
}

static void parts_meet_where_every_slot_does(void **state)
{
    const pada_space space = nb201_space(NULL);
    pada_subspace all, a, b;

    (void)state;
    pada_subspace_init(&all, &space);
    a = b = all;
    a.allowed[1] = 1u << 0 | 1u << 1;
    b.allowed[1] = 1u << 1 | 1u << 2;
    assert_true(pada_subspace_meets(&a, &b, &space));
    assert_true(pada_subspace_meets(&a, &all, &space));
    b.allowed[1] = 1u << 2;
    assert_false(pada_subspace_meets(&a, &b, &space));
}

static void wrong_parts_are_noticed(void **state)
{
    const pada_space space = nb201_space(NULL);
    pada_subspace part;

    (void)state;
    pada_subspace_init(&part, &space);
    assert_true(pada_subspace_is_valid(&part, &space));
    for (int slot = 0; slot < space.ops->n_slots; slot++) {
        part.allowed[slot] = 1u << 5; /* there are five */
        assert_false(pada_subspace_is_valid(&part, &space));
        part.allowed[slot] = 0;
        assert_false(pada_subspace_is_valid(&part, &space));
        part.allowed[slot] = 1u << 4;
        assert_true(pada_subspace_is_valid(&part, &space));
    }
}

static void parts_are_described(void **state)
{
    const pada_space space = nb201_space(NULL);
    pada_text text = {0};
    pada_subspace part;

    (void)state;
    pada_subspace_init(&part, &space);
    pada_subspace_describe(&part, &space, &text);
    assert_string_equal(pada_text_str(&text), "all");
    part.allowed[0] = 1u << 0 | 1u << 3;
    part.allowed[4] = 1u << 1;
    pada_text_deinit(&text);
    text = (pada_text){0};
    pada_subspace_describe(&part, &space, &text);
    assert_string_equal(pada_text_str(&text), "slot 0: none|nor_conv_3x3, slot 4: skip_connect");
    pada_text_deinit(&text);
}

static pada_space space_of(const char *name)
{
    const pada_space_ops *ops;
    pada_space space;

    assert_int_equal(pada_space_find(&ops, name), PADA_OK);
    assert_int_equal(pada_space_init(&space, ops, &(pada_space_config){0}), PADA_OK);
    return space;
}

/* Operators by name, in every slot that has operators. */
static void parts_have_names(void **state)
{
    const pada_space cells = nb201_space(NULL), darts = space_of("darts"),
                     chain = space_of("proxyless");
    pada_subspace part;
    int n_whole = 0, n_narrow = 0;

    (void)state;
    CHECK_OK(pada_subspace_parse(&part, &cells, "nor_conv_3x3,none", "--ops"));
    for (int slot = 0; slot < cells.ops->n_slots; slot++)
        assert_int_equal(part.allowed[slot], 1u << 0 | 1u << 3);
    CHECK_OK(pada_subspace_parse(&part, &darts, "skip_connect", "--ops"));
    for (int slot = 0; slot < darts.ops->n_slots; slot++) {
        const int all = darts.ops->n_choices(&darts, slot);
        n_narrow += pada_subspace_choices(&part, slot) == 1;
        n_whole += pada_subspace_choices(&part, slot) == all; /* which inputs a node reads */
    }
    assert_int_equal(n_narrow, 28);
    assert_int_equal(n_narrow + n_whole, darts.ops->n_slots);
    assert_int_equal(pada_subspace_parse(&part, &cells, "nor_conv_3x3,nor_conv_2x2", "--ops"),
                     PADA_EINVAL);
    assert_string_equal(pada_message(),
                        "--ops: unknown operator 'nor_conv_2x2'; did you mean 'nor_conv_1x1'?");
    assert_int_equal(pada_subspace_parse(&part, &cells, "", "--ops"), PADA_EINVAL);
    assert_int_equal(pada_subspace_parse(&part, &cells, "none,", "--ops"), PADA_EINVAL);
    assert_int_equal(pada_subspace_parse(&part, &cells, ",none", "--ops"), PADA_EINVAL);
    assert_int_equal(pada_subspace_parse(&part, &chain, "identity", "--ops"), PADA_EINVAL);
    assert_string_equal(pada_message(), "--ops: slot 0 of space proxyless has none of identity");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(membership_is_slot_by_slot),
        cmocka_unit_test(parts_meet_where_every_slot_does),
        cmocka_unit_test(wrong_parts_are_noticed),
        cmocka_unit_test(parts_are_described),
        cmocka_unit_test(parts_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
