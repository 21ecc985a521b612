/* test_bootstrap.c - replicates, intervals and differences against a computation by hand. */
#include "base/scratch.h"

#include <math.h>

#include "check.h"
#include "study/bootstrap.h"
#include "study/scoreboard.h"

enum { N = 200, REPLICATES = 200 };

typedef struct fixture {
    double truths[N], good[N], bad[N];
    pada_pairs *sets[2]; /* good, bad */
} fixture;

static int setup(void **state)
{
    static fixture f;
    pada_rng rng;

    pada_rng_init(&rng, 1, "test", 0);
    for (int i = 0; i < N; i++) {
        f.truths[i] = pada_rng_below(&rng, 300);
        f.good[i] = f.truths[i] + 30 * pada_rng_normal(&rng);
        f.bad[i] = f.truths[i] + 300 * pada_rng_normal(&rng);
    }
    assert_ok(pada_pairs_create(&f.sets[0], f.good, f.truths, N));
    assert_ok(pada_pairs_create(&f.sets[1], f.bad, f.truths, N));
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    fixture *f = *state;

    pada_pairs_destroy(f->sets[0]);
    pada_pairs_destroy(f->sets[1]);
    return 0;
}

static pada_bootstrap *make(const fixture *f, int replicates, uint64_t seed, int n_threads)
{
    pada_bootstrap *b;

    assert_ok(
        pada_bootstrap_create(&b, &(pada_bootstrap_desc){.sets = (const pada_pairs *const *)f->sets,
                                                         .n_sets = 2,
                                                         .replicates = replicates,
                                                         .seed = seed,
                                                         .n_threads = n_threads}));
    return b;
}

/* The metric of one replicate: draws the networks one by one and ranks the list. */
static double replicate_by_hand(const fixture *f, const double *scores, uint64_t seed,
                                int replicate, pada_metric metric)
{
    double score[N], truth[N];
    int drawn[N] = {0}, n = 0;
    pada_metrics_work *work;
    pada_metrics metrics;
    pada_pairs *pairs;
    pada_rng rng;

    pada_rng_init(&rng, seed, "bootstrap", (uint64_t)replicate);
    for (int i = 0; i < N; i++)
        drawn[pada_rng_below(&rng, N)]++;
    for (int i = 0; i < N; i++) {
        for (int c = 0; c < drawn[i]; c++) {
            score[n] = scores[i];
            truth[n++] = f->truths[i];
        }
    }
    assert_int_equal(n, N);
    assert_ok(pada_pairs_create(&pairs, score, truth, N));
    assert_ok(pada_metrics_work_create(&work, N));
    pada_metrics_compute(pairs, NULL, work, &metrics);
    pada_metrics_work_destroy(work);
    pada_pairs_destroy(pairs);
    return metrics.value[metric];
}

static void sort(double *values, int n)
{
    for (int i = 1; i < n; i++)
        for (int k = i; k > 0 && values[k] < values[k - 1]; k--) {
            const double swap = values[k];
            values[k] = values[k - 1];
            values[k - 1] = swap;
        }
}

/* 201 replicates: 2.5 and 97.5 % are the values at 5 and at 195. */
static void test_intervals(void **state)
{
    const fixture *f = *state;
    pada_bootstrap *b = make(f, REPLICATES + 1, 7, 1);
    double values[REPLICATES + 1];
    pada_interval interval;

    assert_int_equal(pada_bootstrap_replicates(b), REPLICATES + 1);
    for (int m = 0; m < PADA_N_METRICS; m++) {
        for (int r = 0; r <= REPLICATES; r++)
            values[r] = replicate_by_hand(f, f->bad, 7, r, (pada_metric)m);
        sort(values, REPLICATES + 1);
        pada_bootstrap_interval(b, 1, (pada_metric)m, &interval);
        CHECK_CLOSE(interval.low, values[5], 1e-12);
        CHECK_CLOSE(interval.high, values[195], 1e-12);
    }
    pada_bootstrap_destroy(b);
}

static void test_differences(void **state)
{
    const fixture *f = *state;
    pada_bootstrap *b = make(f, REPLICATES + 1, 7, 1);
    double values[REPLICATES + 1];
    pada_difference better, worse, none;

    for (int r = 0; r <= REPLICATES; r++)
        values[r] = replicate_by_hand(f, f->good, 7, r, PADA_METRIC_TAU_B) -
                    replicate_by_hand(f, f->bad, 7, r, PADA_METRIC_TAU_B);
    sort(values, REPLICATES + 1);
    pada_bootstrap_difference(b, 0, 1, PADA_METRIC_TAU_B, &better);
    CHECK_CLOSE(better.interval.low, values[5], 1e-12);
    CHECK_CLOSE(better.interval.high, values[195], 1e-12);
    assert_true(values[0] > 0); /* none crosses zero, so p is as small as it gets */
    CHECK_CLOSE(better.p, 1.0 / (REPLICATES + 1), 1e-15);
    pada_bootstrap_difference(b, 1, 0, PADA_METRIC_TAU_B, &worse);
    CHECK_CLOSE(worse.interval.low, -better.interval.high, 1e-12);
    CHECK_CLOSE(worse.p, better.p, 0);
    pada_bootstrap_difference(b, 1, 1, PADA_METRIC_TAU_B, &none);
    CHECK_CLOSE(none.interval.low, 0, 0);
    CHECK_CLOSE(none.interval.high, 0, 0);
    CHECK_CLOSE(none.p, 1, 0);
    pada_bootstrap_destroy(b);
}

/* Two sets of scores of the same kind: p is twice the share on the rarer side. */
static void test_p_value(void **state)
{
    fixture f = *(const fixture *)*state;
    int n_not_above = 0, n_not_below = 0;
    pada_difference difference;
    pada_pairs *other;

    for (int i = 0; i < N; i++)
        f.good[i] = f.bad[i] + 150 * sin(i);
    assert_ok(pada_pairs_create(&other, f.good, f.truths, N));
    f.sets[0] = other;
    pada_bootstrap *b = make(&f, REPLICATES, 3, 1);
    for (int r = 0; r < REPLICATES; r++) {
        const double apart = replicate_by_hand(&f, f.good, 3, r, PADA_METRIC_SPEARMAN) -
                             replicate_by_hand(&f, f.bad, 3, r, PADA_METRIC_SPEARMAN);
        n_not_above += apart <= 0;
        n_not_below += apart >= 0;
    }
    const int rarer = n_not_above < n_not_below ? n_not_above : n_not_below;
    assert_in_range(rarer, 1, REPLICATES / 2 - 1); /* some on both sides */
    pada_bootstrap_difference(b, 0, 1, PADA_METRIC_SPEARMAN, &difference);
    CHECK_CLOSE(difference.p, 2.0 * rarer / REPLICATES, 1e-15);
    pada_bootstrap_destroy(b);
    pada_pairs_destroy(other);
}

static void test_threads_and_seeds(void **state)
{
    const fixture *f = *state;
    pada_bootstrap *one = make(f, REPLICATES, 7, 1), *three = make(f, REPLICATES, 7, 3);
    pada_bootstrap *other = make(f, REPLICATES, 8, 3);
    int n_other = 0;

    for (int m = 0; m < PADA_N_METRICS; m++) {
        pada_interval a, b, c;
        pada_bootstrap_interval(one, 0, (pada_metric)m, &a);
        pada_bootstrap_interval(three, 0, (pada_metric)m, &b);
        pada_bootstrap_interval(other, 0, (pada_metric)m, &c);
        assert_memory_equal(&a, &b, sizeof a);
        n_other += a.low != c.low;
    }
    assert_true(n_other > 3);
    pada_bootstrap_destroy(one);
    pada_bootstrap_destroy(three);
    pada_bootstrap_destroy(other);
}

static void test_undefined(void **state)
{
    fixture f = *(const fixture *)*state;
    const double same[N] = {0};
    pada_difference difference;
    pada_interval interval;
    pada_pairs *flat;

    assert_ok(pada_pairs_create(&flat, same, f.truths, N));
    f.sets[1] = flat;
    pada_bootstrap *b = make(&f, 20, 7, 2);
    pada_bootstrap_interval(b, 1, PADA_METRIC_TAU_B, &interval);
    assert_true(isnan(interval.low) && isnan(interval.high));
    pada_bootstrap_difference(b, 0, 1, PADA_METRIC_TAU_B, &difference);
    assert_true(isnan(difference.p) && isnan(difference.interval.low));
    pada_bootstrap_interval(b, 1, PADA_METRIC_REGRET, &interval);
    assert_false(isnan(interval.low));
    pada_bootstrap_destroy(b);

    b = make(&f, 0, 7, 2);
    pada_bootstrap_interval(b, 0, PADA_METRIC_TAU_B, &interval);
    assert_true(isnan(interval.low) && isnan(interval.high));
    pada_bootstrap_difference(b, 0, 1, PADA_METRIC_REGRET, &difference);
    assert_true(isnan(difference.p));
    pada_bootstrap_destroy(b);
    pada_pairs_destroy(flat);
}

/* Of three networks one in nine samples holds only one, which has no tau-b. */
static void test_sometimes_undefined(void **state)
{
    static const double values[] = {1, 2, 3};
    pada_interval interval;
    pada_bootstrap *b;
    pada_pairs *set;

    (void)state;
    assert_ok(pada_pairs_create(&set, values, values, 3));
    assert_ok(
        pada_bootstrap_create(&b, &(pada_bootstrap_desc){.sets = (const pada_pairs *const[]){set},
                                                         .n_sets = 1,
                                                         .replicates = REPLICATES,
                                                         .n_threads = 1}));
    pada_bootstrap_interval(b, 0, PADA_METRIC_TAU_B, &interval);
    CHECK_CLOSE(interval.low, 1, 0);
    CHECK_CLOSE(interval.high, 1, 0);
    pada_bootstrap_destroy(b);
    pada_pairs_destroy(set);
}

static pada_status bootstrap_afresh(const fixture *f)
{
    pada_bootstrap *b;
    const pada_status st =
        pada_bootstrap_create(&b, &(pada_bootstrap_desc){.sets = (const pada_pairs *const *)f->sets,
                                                         .n_sets = 2,
                                                         .replicates = 5,
                                                         .n_threads = 2});
    pada_bootstrap_destroy(b);
    return st;
}

static pada_status make_scoreboard(pada_scoreboard *board, const fixture *f)
{
    const double *const scores[] = {f->good, f->bad};
    const pada_status st = pada_scoreboard_init(board, &(pada_scoreboard_desc){.truths = f->truths,
                                                                               .scores = scores,
                                                                               .n = N,
                                                                               .n_sets = 2,
                                                                               .replicates = 5,
                                                                               .seed = 7,
                                                                               .n_threads = 2});
    if (st != PADA_OK) pada_scoreboard_deinit(board);
    return st;
}

/* The same numbers as from its parts. */
static void test_scoreboard(void **state)
{
    const fixture *f = *state;
    pada_bootstrap *b = make(f, 5, 7, 1);
    pada_metrics_work *work;
    pada_scoreboard board;
    pada_metrics metrics;
    pada_interval x, y;

    assert_ok(make_scoreboard(&board, f));
    assert_ok(pada_metrics_work_create(&work, N));
    assert_int_equal(board.n, N);
    for (int set = 0; set < 2; set++) {
        pada_metrics_compute(f->sets[set], NULL, work, &metrics);
        assert_memory_equal(&board.metrics[set], &metrics, sizeof metrics);
        pada_bootstrap_interval(b, set, PADA_METRIC_TAU_B, &x);
        pada_bootstrap_interval(board.bootstrap, set, PADA_METRIC_TAU_B, &y);
        assert_memory_equal(&x, &y, sizeof x);
    }
    pada_metrics_work_destroy(work);
    pada_scoreboard_deinit(&board);
    pada_bootstrap_destroy(b);
}

static void test_oom(void **state)
{
    pada_scoreboard board;

    assert_survives_oom(bootstrap_afresh(*state), (void)0);
    assert_survives_oom(make_scoreboard(&board, *state), pada_scoreboard_deinit(&board));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_intervals),  cmocka_unit_test(test_differences),
        cmocka_unit_test(test_p_value),    cmocka_unit_test(test_threads_and_seeds),
        cmocka_unit_test(test_undefined),  cmocka_unit_test(test_sometimes_undefined),
        cmocka_unit_test(test_scoreboard), cmocka_unit_test(test_oom),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
