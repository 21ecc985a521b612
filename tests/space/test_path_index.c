/* test_path_index.c - numbers of paths: all cells, repeats, strangers, lack of memory. */
#include "base/scratch.h"

#include "space/nb201_cells.h"
#include "space/path_index.h"

static void test_numbers_follow_the_order(void **state)
{
    const pada_space space = nb201_space(NULL);
    pada_path_index *index;

    (void)state;
    assert_ok(pada_path_index_create(&index, &space, N_CELLS));
    for (int i = 0; i < N_CELLS; i++) {
        const pada_path path = cell_at(i * 2 % N_CELLS); /* all of them, in another order */
        assert_int_equal(pada_path_index_find(index, &path), -1);
        assert_int_equal(pada_path_index_add(index, &path), i);
        assert_int_equal(pada_path_index_add(index, &path), i);
        assert_int_equal(pada_path_index_count(index), i + 1);
    }
    for (int i = 0; i < N_CELLS; i++) {
        const pada_path path = cell_at(i * 2 % N_CELLS);
        assert_int_equal(pada_path_index_find(index, &path), i);
        assert_true(pada_path_equal(&space, pada_path_index_get(index, i), &path));
    }
    pada_path_index_destroy(index);
}

static void test_small_ones(void **state)
{
    const pada_space space = nb201_space(NULL);
    const pada_path path = cell_at(7);
    pada_path_index *index;

    (void)state;
    assert_ok(pada_path_index_create(&index, &space, 0));
    assert_int_equal(pada_path_index_find(index, &path), -1);
    pada_path_index_destroy(index);
    assert_survives_oom(pada_path_index_create(&index, &space, 3), pada_path_index_destroy(index));
    pada_path_index_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_follow_the_order),
        cmocka_unit_test(test_small_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
