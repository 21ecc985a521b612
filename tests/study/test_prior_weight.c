/* test_prior_weight.c - the weight of a prior, against scores of which the best one is known. */
#include "base/scratch.h"

#include <math.h>

#include "base/mem.h"
#include "base/rng.h"
#include "check.h"
#include "study/combine.h"
#include "study/prior_weight.h"

enum { N = 4000, MAX_RUNS = 3 };

/* Truth, runs and prior with these correlations with the truth, whose errors have nothing to do with each other. */
typedef struct world {
    double truth[N], runs[MAX_RUNS][N], prior[N];
    const double *list[MAX_RUNS];
} world;

static world *make_world(double of_run, double of_prior)
{
    static world w;
    pada_rng rng;

    pada_rng_init(&rng, 5, "world", 0);
    for (int i = 0; i < N; i++) {
        w.truth[i] = pada_rng_normal(&rng);
        w.prior[i] = of_prior * w.truth[i] + sqrt(1 - of_prior * of_prior) * pada_rng_normal(&rng);
        for (int r = 0; r < MAX_RUNS; r++)
            w.runs[r][i] = of_run * w.truth[i] + sqrt(1 - of_run * of_run) * pada_rng_normal(&rng);
    }
    for (int r = 0; r < MAX_RUNS; r++)
        w.list[r] = w.runs[r];
    return &w;
}

/* Correlation of the scores with the truth. */
static double quality(const world *w, int n_runs, double weight)
{
    double xy = 0, xx = 0, yy = 0;
    pada_mixer *mixer;

    assert_ok(pada_mixer_create(&mixer, &(pada_mixer_desc){.combine = PADA_COMBINE_RANK,
                                                           .n_runs = n_runs,
                                                           .n = N,
                                                           .runs = w->list,
                                                           .prior = w->prior,
                                                           .weight = weight}));
    for (int i = 0; i < N; i++) {
        double values[MAX_RUNS];
        for (int r = 0; r < n_runs; r++)
            values[r] = w->runs[r][i];
        const double score =
            pada_mixer_score(mixer, pada_mixer_mean(mixer, values), w->prior[i]) - (1 + weight) / 2;
        xy += score * w->truth[i];
        xx += score * score;
        yy += w->truth[i] * w->truth[i];
    }
    pada_mixer_destroy(mixer);
    return xy / sqrt(xx * yy);
}

/* The weight that is found is as good as the best of many, and close to the one that theory gives. */
static void test_known_worlds(void **state)
{
    static const struct {
        double of_run, of_prior;
        int n_runs;
    } worlds[] = {{0.8, 0.6, 2}, {0.6, 0.5, 2}, {0.9, 0.3, 2}, {0.7, 0.7, 3}, {0.8, -0.5, 2}};

    (void)state;
    for (size_t k = 0; k < sizeof worlds / sizeof *worlds; k++) {
        const world *w = make_world(worlds[k].of_run, worlds[k].of_prior);
        const int n_runs = worlds[k].n_runs;
        const double in_theory = pada_prior_weight_of(
            worlds[k].of_run * worlds[k].of_run, worlds[k].of_run * worlds[k].of_prior, n_runs);
        double found, best = -1, at = 0;

        assert_ok(pada_prior_weight(w->list, n_runs, w->prior, N, &found));
        for (double weight = -1.5; weight < 1.5; weight += 0.05)
            if (quality(w, n_runs, weight) > best) {
                best = quality(w, n_runs, weight);
                at = weight;
            }
        CHECK_CLOSE(found, in_theory, 0.15 * fabs(in_theory));
        CHECK_CLOSE(found, at, 0.1);
        assert_true(quality(w, n_runs, found) > best - 5e-4);
        assert_true(quality(w, n_runs, found) > quality(w, n_runs, 0));
    }
}

/* The formula is the solution of the normal equations of truth by the mean of the runs and the prior. */
static void test_formula(void **state)
{
    (void)state;
    for (double rho = 0.1; rho < 1; rho += 0.2)
        for (double kappa = 0.05; kappa * kappa < rho; kappa += 0.2)
            for (int k = 2; k <= 4; k++) {
                const double v = rho + (1 - rho) / k; /* variance of the mean; of the prior: 1 */
                const double determinant = v - kappa * kappa;
                const double of_mean = (rho - kappa * kappa) / determinant;
                const double of_prior = (v * kappa - kappa * rho) / determinant;
                const double expected = of_prior / (of_mean * sqrt(v));
                const double found = pada_prior_weight_of(rho, kappa, k);
                CHECK_CLOSE(found, fmin(expected, PADA_PRIOR_WEIGHT_MAX), 1e-9);
            }
}

static void test_ends(void **state)
{
    static const double a[] = {1, 2, 3, 4}, flat[] = {5, 5, 5, 5}, down[] = {4, 3, 2, 1};
    static const double other[] = {2, 1, 4, 3};
    const double *const same[] = {a, a}, *const level[] = {a, flat};
    const double *const close[] = {a, other};
    double weight;

    (void)state;
    assert_ok(pada_prior_weight(same, 2, other, 4, &weight)); /* nothing to mend */
    CHECK_CLOSE(weight, 0, 1e-12);
    assert_ok(pada_prior_weight(close, 2, flat, 4, &weight)); /* it says nothing */
    CHECK_CLOSE(weight, 0, 0);
    assert_ok(pada_prior_weight(level, 2, a, 4, &weight)); /* runs that do not agree */
    CHECK_CLOSE(weight, PADA_PRIOR_WEIGHT_MAX, 0);
    assert_ok(pada_prior_weight(close, 2, down, 4, &weight));
    assert_true(weight < 0 && weight >= -PADA_PRIOR_WEIGHT_MAX);
}

static pada_status weigh(void)
{
    const world *w = make_world(0.8, 0.6);
    double weight;

    return pada_prior_weight(w->list, 2, w->prior, 50, &weight);
}

static void test_oom(void **state)
{
    (void)state;
    assert_survives_oom(weigh(), (void)0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_known_worlds),
                                       cmocka_unit_test(test_formula), cmocka_unit_test(test_ends),
                                       cmocka_unit_test(test_oom)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
