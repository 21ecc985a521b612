/* test_nb201_canon.c - dead edges and isomorphism over all 15,625 cells. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "space/nb201_cells.h"

/* The four ways from node 0 to node 3, as sets of edges. */
static const uint8_t routes[4] = {1 << 3, 1 << 0 | 1 << 4, 1 << 1 | 1 << 5,
                                  1 << 0 | 1 << 2 | 1 << 5};

/* Oracle: an edge lives if it lies on a route without a none. */
static pada_path live_edges(const pada_path *path)
{
    uint8_t present = 0, live = 0;
    pada_path out = {{0}};

    for (int edge = 0; edge < PADA_NB201_EDGES; edge++)
        if (path->choice[edge] != PADA_NB201_NONE) present |= (uint8_t)(1 << edge);
    for (int i = 0; i < 4; i++)
        if ((routes[i] & present) == routes[i]) live |= routes[i];
    for (int edge = 0; edge < PADA_NB201_EDGES; edge++)
        if (live >> edge & 1) out.choice[edge] = path->choice[edge];
    return out;
}

static void test_edges_are_numbered_by_target_then_source(void **state)
{
    int edge = 0;

    (void)state;
    for (int to = 1; to < PADA_NB201_NODES; to++)
        for (int from = 0; from < to; from++)
            assert_int_equal(pada_nb201_edge(to, from), edge++);
    assert_int_equal(edge, PADA_NB201_EDGES);
}

static void test_canonical_keeps_exactly_the_live_edges(void **state)
{
    (void)state;
    for (int i = 0; i < N_CELLS; i++) {
        const pada_path path = cell_at(i), expected = live_edges(&path);
        pada_path out;

        memset(&out, 0xff, sizeof out);
        pada_nb201_canonical(&path, &out);
        assert_memory_equal(&out, &expected, sizeof out); /* unused slots are 0 as well */
    }
}

static void test_canonical_works_in_place_and_once_is_enough(void **state)
{
    (void)state;
    for (int i = 0; i < N_CELLS; i++) {
        const pada_path path = cell_at(i);
        pada_path once, twice = path;

        pada_nb201_canonical(&path, &once);
        pada_nb201_canonical(&twice, &twice);
        assert_memory_equal(&twice, &once, sizeof once);
        pada_nb201_canonical(&twice, &twice);
        assert_memory_equal(&twice, &once, sizeof once);
    }
}

static void test_counts_of_canonical_forms(void **state)
{
    static bool seen[N_CELLS];
    int n_forms = 0, n_dead = 0;

    (void)state;
    for (int i = 0; i < N_CELLS; i++) {
        const pada_path path = cell_at(i);
        pada_path form;

        pada_nb201_canonical(&path, &form);
        const int number = cell_number(&form);
        n_forms += !seen[number];
        n_dead += number == 0;
        seen[number] = true;
    }
    assert_int_equal(n_forms, 9445);
    assert_int_equal(n_dead, 341); /* the cells of accuracy 10.00 in the truth table */
}

typedef char key[PADA_NB201_KEY_BYTES];

static int compare_keys(const void *a, const void *b)
{
    return strcmp(a, b);
}

static void test_there_are_6466_isomorphism_classes(void **state)
{
    static key keys[N_CELLS];
    int n_classes = 1;
    size_t longest = 0;

    (void)state;
    for (int i = 0; i < N_CELLS; i++) {
        const pada_path path = cell_at(i);

        pada_nb201_iso_key(&path, keys[i]);
        if (strlen(keys[i]) > longest) longest = strlen(keys[i]);
    }
    qsort(keys, N_CELLS, sizeof keys[0], compare_keys);
    for (int i = 1; i < N_CELLS; i++)
        n_classes += strcmp(keys[i - 1], keys[i]) != 0;
    assert_int_equal(n_classes, 6466);
    assert_int_equal(longest, 112); /* as nb201_canon.h says */
}

static void check_key(const uint8_t choice[PADA_NB201_EDGES], const char *expected)
{
    pada_path path = {{0}};
    key k;

    memcpy(path.choice, choice, PADA_NB201_EDGES);
    pada_nb201_iso_key(&path, k);
    assert_string_equal(k, expected);
}

static void test_keys_are_the_published_formulas(void **state)
{
    (void)state;
    check_key((uint8_t[]){0, 0, 0, 0, 0, 0}, "#+#+#");
    check_key((uint8_t[]){1, 1, 1, 1, 1, 1}, "0+0+0+0");
    /* Node 1 is a copy of node 0, so its edge and the direct one can change places. */
    check_key((uint8_t[]){1, 0, 0, 2, 3, 0}, "#+(0)@nor_conv_1x1+(0)@nor_conv_3x3");
    check_key((uint8_t[]){1, 0, 0, 3, 2, 0}, "#+(0)@nor_conv_1x1+(0)@nor_conv_3x3");
    /* A single zero is recognised further on, a sum of zeros is not. */
    check_key((uint8_t[]){0, 0, 0, 0, 4, 0}, "#+#+#");
    check_key((uint8_t[]){0, 0, 0, 0, 0, 4}, "#+#+(#+#)@avg_pool_3x3");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_edges_are_numbered_by_target_then_source),
        cmocka_unit_test(test_canonical_keeps_exactly_the_live_edges),
        cmocka_unit_test(test_canonical_works_in_place_and_once_is_enough),
        cmocka_unit_test(test_counts_of_canonical_forms),
        cmocka_unit_test(test_there_are_6466_isomorphism_classes),
        cmocka_unit_test(test_keys_are_the_published_formulas),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
