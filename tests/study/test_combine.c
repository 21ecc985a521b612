/* test_combine.c - scores of several runs and a prior, by hand. */
#include "base/scratch.h"

#include "check.h"
#include "study/combine.h"

#define STEP 0.5e-9 /* that scores are rounded by */

static void test_shares(void **state)
{
    static const double values[] = {3, 1, 2, 2, 7}; /* 1: 0.1; 2: 0.4; 3: 0.7; 7: 0.9 */
    static const double one[] = {5, 5};
    pada_shares *shares;

    (void)state;
    assert_ok(pada_shares_create(&shares, values, 5));
    CHECK_CLOSE(pada_share_of(shares, 1), 0.1, 1e-15);
    CHECK_CLOSE(pada_share_of(shares, 2), 0.4, 1e-15);
    CHECK_CLOSE(pada_share_of(shares, 3), 0.7, 1e-15);
    CHECK_CLOSE(pada_share_of(shares, 7), 0.9, 1e-15);
    CHECK_CLOSE(pada_share_of(shares, 2.5), 0.55, 1e-15);
    CHECK_CLOSE(pada_share_of(shares, 4), 0.75, 1e-15);
    CHECK_CLOSE(pada_share_of(shares, 10), 0.9 + 3 * 0.8 / 6, 1e-15); /* the slope of all */
    CHECK_CLOSE(pada_share_of(shares, -1), 0.1 - 2 * 0.8 / 6, 1e-15);
    pada_shares_destroy(shares);

    assert_ok(pada_shares_create(&shares, one, 2)); /* nothing can be told apart */
    CHECK_CLOSE(pada_share_of(shares, 5), 0.5, 0);
    CHECK_CLOSE(pada_share_of(shares, 9), 0.5, 0);
    pada_shares_destroy(shares);
}

/* Two runs of four networks; shares of the first 0.125, 0.375, 0.625, 0.875, of the second 0.875, 0.5, 0.5, 0.125. */
static const double first[] = {10, 20, 30, 40}, second[] = {4, 2, 2, 0};
static const double *const runs[] = {first, second};
static const double costs[] = {1, 2, 4, 3};

static double mean_of(pada_combine combine, double a, double b)
{
    const double values[] = {a, b};
    pada_mixer *mixer;

    assert_ok(pada_mixer_create(
        &mixer, &(pada_mixer_desc){.combine = combine, .n_runs = 2, .n = 4, .runs = runs}));
    const double mean = pada_mixer_mean(mixer, values);
    CHECK_CLOSE(pada_mixer_score(mixer, mean, 100), mean, 0); /* there is no prior */
    pada_mixer_destroy(mixer);
    return mean;
}

static void test_units(void **state)
{
    (void)state;
    CHECK_CLOSE(mean_of(PADA_COMBINE_ACCURACY, 10, 4), 7, 0);
    CHECK_CLOSE(mean_of(PADA_COMBINE_RANK, 10, 4), 0.5, 1e-15);
    CHECK_CLOSE(mean_of(PADA_COMBINE_RANK, 30, 2), 0.5625, 1e-15);
    /* deviations sqrt(125) and sqrt(2) from the means 25 and 2 */
    CHECK_CLOSE(mean_of(PADA_COMBINE_CALIBRATED, 40, 4), (15 / sqrt(125) + 2 / sqrt(2)) / 2, STEP);
    /* sums of the same shares in another order */
    assert_true(mean_of(PADA_COMBINE_RANK, 10, 4) == mean_of(PADA_COMBINE_RANK, 40, 0));
}

/* The mean decides what share a network has, whatever the unit; the prior adds its own share. */
static void test_prior(void **state)
{
    pada_mixer *mixer;

    (void)state;
    assert_ok(pada_mixer_create(&mixer, &(pada_mixer_desc){.combine = PADA_COMBINE_ACCURACY,
                                                           .n_runs = 1,
                                                           .n = 4,
                                                           .runs = runs,
                                                           .prior = costs,
                                                           .weight = 0.4}));
    for (int i = 0; i < 4; i++) {
        static const double share[] = {0.125, 0.375, 0.625, 0.875};
        static const double of_cost[] = {0.125, 0.375, 0.875, 0.625};
        const double mean = pada_mixer_mean(mixer, &first[i]);
        CHECK_CLOSE(mean, first[i], 0);
        CHECK_CLOSE(pada_mixer_score(mixer, mean, costs[i]), share[i] + 0.4 * of_cost[i], STEP);
    }
    pada_mixer_destroy(mixer);
}

/* A run in which all are equal says nothing, and divides by nothing. */
static void test_flat_run(void **state)
{
    static const double flat[] = {3, 3, 3, 3};
    const double *const with_flat[] = {flat};

    (void)state;
    for (int combine = 0; combine <= PADA_COMBINE_CALIBRATED; combine++) {
        pada_mixer *mixer;
        assert_ok(pada_mixer_create(&mixer, &(pada_mixer_desc){.combine = (pada_combine)combine,
                                                               .n_runs = 1,
                                                               .n = 4,
                                                               .runs = with_flat,
                                                               .prior = costs,
                                                               .weight = 1}));
        const double mean = pada_mixer_mean(mixer, &flat[0]);
        CHECK_CLOSE(pada_mixer_score(mixer, mean, 4), 0.5 + 0.875, 1e-15);
        pada_mixer_destroy(mixer);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_shares), cmocka_unit_test(test_units),
                                       cmocka_unit_test(test_prior),
                                       cmocka_unit_test(test_flat_run)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
