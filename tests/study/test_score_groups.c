/* test_score_groups.c - tau and means of parts of a set of networks, by hand. */
#include "base/scratch.h"

#include <math.h>

#include "check.h"
#include "study/score_groups.h"

/* Two groups that rank well by themselves and badly together, one with ties, a single network, none. */
static void test_groups(void **state)
{
    static const double scores[] = {1, 10, 2, 11, 3, 12, 5, 7, 5};
    static const double truths[] = {71, 61, 72, 62, 73, 63, 50, 40, 51};
    static const int group_of[] = {0, 1, 0, 1, 0, 1, 2, 4, 2};
    pada_score_group groups[5];

    (void)state;
    assert_ok(pada_score_groups_compute(scores, truths, group_of, 9, groups, 5));
    for (int k = 0; k < 2; k++) {
        assert_int_equal(groups[k].n, 3);
        CHECK_CLOSE(groups[k].tau_b, 1, 0);
        CHECK_CLOSE(groups[k].mean_score, k ? 11 : 2, 0);
        CHECK_CLOSE(groups[k].mean_truth, k ? 62 : 72, 0);
    }
    assert_int_equal(groups[2].n, 2);
    assert_true(isnan(groups[2].tau_b)); /* all scores are the same */
    CHECK_CLOSE(groups[2].mean_truth, 50.5, 0);
    assert_int_equal(groups[3].n, 0);
    assert_true(isnan(groups[3].tau_b) && isnan(groups[3].mean_score));
    assert_int_equal(groups[4].n, 1);
    assert_true(isnan(groups[4].tau_b));
    CHECK_CLOSE(groups[4].mean_score, 7, 0);

    static const int all[9] = {0};
    assert_ok(pada_score_groups_compute(scores, truths, all, 6, groups, 1));
    CHECK_CLOSE(groups[0].tau_b, (6 - 9) / 15.0, 1e-15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_groups)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
