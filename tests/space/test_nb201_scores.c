/* test_nb201_scores.c - training-free scores of single cells and over all of them. */
#include "base/scratch.h"

#include "space/nb201_cells.h"

static double score_of(const char *name, const uint8_t choice[PADA_NB201_EDGES])
{
    const pada_space space = nb201_space(NULL);
    pada_path path = {{0}};

    memcpy(path.choice, choice, PADA_NB201_EDGES);
    for (const pada_space_score *s = space.ops->scores; s->name; s++)
        if (strcmp(s->name, name) == 0) return s->score(&space, &path);
    fail_msg("no score is called %s", name);
    return 0;
}

#define SCORE(name, ...) score_of(name, (const uint8_t[PADA_NB201_EDGES]){__VA_ARGS__})

static void test_single_cells(void **state)
{
    (void)state;
    assert_true(SCORE("macs", 3, 3, 3, 1, 3, 2) == 153272970);
    assert_true(SCORE("params", 3, 3, 3, 1, 3, 2) == 1073466);
    assert_true(SCORE("live_macs", 3, 3, 3, 1, 3, 2) == 153272970);
    /* edge 0 leads to node 1, and nothing leads on from there */
    assert_true(SCORE("macs", 3, 0, 0, 1, 0, 0) > SCORE("live_macs", 3, 0, 0, 1, 0, 0));
    assert_true(SCORE("live_macs", 3, 0, 0, 1, 0, 0) == SCORE("macs", 0, 0, 0, 1, 0, 0));

    assert_true(SCORE("conv_depth", 3, 0, 2, 0, 0, 3) == 3);  /* 0 - 1 - 2 - 3 */
    assert_true(SCORE("conv_depth", 3, 0, 1, 0, 0, 4) == 1);  /* the same way, one convolution */
    assert_true(SCORE("conv_depth", 1, 1, 1, 4, 1, 1) == 0);  /* no convolution */
    assert_true(SCORE("conv_depth", 3, 3, 3, 0, 0, 0) == -1); /* nothing reaches node 3 */
    assert_true(SCORE("conv_depth", 0, 0, 3, 0, 3, 3) == -1); /* nothing leaves node 0 */
    assert_true(SCORE("conv_depth", 0, 3, 3, 1, 3, 3) == 2);  /* not through node 1 */

    assert_true(SCORE("op_sum", 0, 1, 2, 3, 4, 3) == 9);
    assert_true(SCORE("op_sum", 3, 3, 3, 3, 3, 3) == 18);
}

/* methods.md 2.2 */
static void test_depths_of_all_cells(void **state)
{
    static const int expected[] = {341, 1642, 7122, 5520, 1000};
    int found[5] = {0};

    (void)state;
    for (int i = 0; i < N_CELLS; i++) {
        const pada_path path = cell_at(i);
        const double depth = score_of("conv_depth", path.choice);
        assert_true(depth >= -1 && depth <= 3);
        found[(int)depth + 1]++;
    }
    assert_memory_equal(found, expected, sizeof found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_single_cells),
        cmocka_unit_test(test_depths_of_all_cells),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
