/* test_metrics.c - every metric against its definition, written as plain double loops over copies. */
#include "base/scratch.h"

#include <math.h>

#include "check.h"
#include "study/metrics.h"

enum { MAX_N = 300, MAX_COPIES = 4 };

/* A sample written out: one entry per copy, in order of networks. */
typedef struct expanded {
    int n;
    double score[MAX_N * MAX_COPIES], truth[MAX_N * MAX_COPIES];
} expanded;

static double *value_of(pada_metrics *m, pada_metric metric)
{
    return &m->value[metric];
}

static int sign(double x)
{
    return (x > 0) - (x < 0);
}

/* Over the copies for which `in` is set; NULL: all. */
static double slow_tau(const expanded *x, const bool *in)
{
    int64_t sum = 0, untied_scores = 0, untied_truths = 0;

    for (int i = 0; i < x->n; i++) {
        for (int j = 0; j < i; j++) {
            if (in && (!in[i] || !in[j])) continue;
            const int a = sign(x->score[i] - x->score[j]), b = sign(x->truth[i] - x->truth[j]);
            sum += a * b;
            untied_scores += a != 0;
            untied_truths += b != 0;
        }
    }
    return (double)sum / sqrt((double)untied_scores * (double)untied_truths);
}

static double mean_rank(const double *values, int n, int i)
{
    double rank = 0.5;

    for (int j = 0; j < n; j++)
        rank += values[j] < values[i] ? 1 : values[j] == values[i] ? 0.5 : 0;
    return rank;
}

static double slow_spearman(const expanded *x)
{
    const double mean = (x->n + 1) / 2.0;
    double xy = 0, xx = 0, yy = 0;

    for (int i = 0; i < x->n; i++) {
        const double a = mean_rank(x->score, x->n, i) - mean;
        const double b = mean_rank(x->truth, x->n, i) - mean;
        xy += a * b;
        xx += a * a;
        yy += b * b;
    }
    return xy / sqrt(xx * yy);
}

/* Copies that are better than i; of equal ones the earlier. */
static int n_before(const double *values, int n, int i)
{
    int before = 0;

    for (int j = 0; j < n; j++)
        before += values[j] > values[i] || (values[j] == values[i] && j < i);
    return before;
}

static double chance_of_top(const double *values, int n, int i, int k)
{
    int above = 0, same = 0;

    for (int j = 0; j < n; j++) {
        above += values[j] > values[i];
        same += values[j] == values[i];
    }
    return fmax(0, fmin(1, (double)(k - above) / same));
}

static int percent_of(int n, int percent)
{
    return n * percent / 100 > 0 ? n * percent / 100 : 1;
}

static double slow_best_rank(const expanded *x, int k)
{
    int best = x->n;

    for (int i = 0; i < x->n; i++) {
        int higher = 0;
        for (int j = 0; j < x->n; j++)
            higher += x->truth[j] > x->truth[i];
        if (n_before(x->score, x->n, i) < k && higher + 1 < best) best = higher + 1;
    }
    return best;
}

static double slow_regret(const expanded *x)
{
    double best_score = -INFINITY, best_truth = -INFINITY, sum = 0;
    int n = 0;

    for (int i = 0; i < x->n; i++) {
        best_score = fmax(best_score, x->score[i]);
        best_truth = fmax(best_truth, x->truth[i]);
    }
    for (int i = 0; i < x->n; i++) {
        if (x->score[i] != best_score) continue;
        sum += best_truth - x->truth[i];
        n++;
    }
    return sum / n;
}

static double slow_tau_top(const expanded *x, int percent)
{
    bool in[MAX_N * MAX_COPIES];
    double threshold = NAN;

    for (int i = 0; i < x->n; i++)
        if (n_before(x->truth, x->n, i) == percent_of(x->n, percent) - 1) threshold = x->truth[i];
    for (int i = 0; i < x->n; i++)
        in[i] = x->truth[i] >= threshold;
    return slow_tau(x, in);
}

static void slow_metrics(const expanded *x, pada_metrics *out)
{
    const int k = percent_of(x->n, 5);
    double hits = 0, expected = 0;

    for (int i = 0; i < x->n; i++) {
        hits += n_before(x->score, x->n, i) < k && n_before(x->truth, x->n, i) < k;
        expected += chance_of_top(x->score, x->n, i, k) * chance_of_top(x->truth, x->n, i, k);
    }
    *value_of(out, PADA_METRIC_TAU_B) = slow_tau(x, NULL);
    *value_of(out, PADA_METRIC_SPEARMAN) = slow_spearman(x);
    *value_of(out, PADA_METRIC_P_TOP5) = hits / k;
    *value_of(out, PADA_METRIC_P_TOP5_EXPECTED) = expected / k;
    *value_of(out, PADA_METRIC_BEST_RANK_TOP5) = slow_best_rank(x, k);
    *value_of(out, PADA_METRIC_BEST_RANK_10) = slow_best_rank(x, 10);
    *value_of(out, PADA_METRIC_REGRET) = slow_regret(x);
    *value_of(out, PADA_METRIC_TAU_TOP50) = slow_tau_top(x, 50);
    *value_of(out, PADA_METRIC_TAU_TOP20) = slow_tau_top(x, 20);
    *value_of(out, PADA_METRIC_TAU_TOP10) = slow_tau_top(x, 10);
    *value_of(out, PADA_METRIC_TAU_TOP5) = slow_tau_top(x, 5);
}

static void compute(const double *scores, const double *truths, const int32_t *copies, int n,
                    pada_metrics *out)
{
    pada_metrics_work *work;
    pada_metrics again;
    pada_pairs *pairs;

    assert_ok(pada_pairs_create(&pairs, scores, truths, n));
    assert_ok(pada_metrics_work_create(&work, n));
    assert_int_equal(pada_pairs_count(pairs), n);
    pada_metrics_compute(pairs, copies, work, out);
    pada_metrics_compute(pairs, copies, work, &again); /* the work space is as clean as before */
    assert_memory_equal(out, &again, sizeof again);
    pada_metrics_work_destroy(work);
    pada_pairs_destroy(pairs);
}

static void check_against_definitions(const double *scores, const double *truths,
                                      const int32_t *copies, int n)
{
    static expanded x;
    pada_metrics fast, slow;

    x.n = 0;
    for (int i = 0; i < n; i++) {
        for (int c = copies ? copies[i] : 1; c > 0; c--) {
            x.score[x.n] = scores[i];
            x.truth[x.n++] = truths[i];
        }
    }
    compute(scores, truths, copies, n, &fast);
    slow_metrics(&x, &slow);
    for (int m = 0; m < PADA_N_METRICS; m++) {
        if (isnan(slow.value[m]) && isnan(fast.value[m])) continue;
        if (!(fabs(fast.value[m] - slow.value[m]) <= 1e-12))
            fail_msg("%s of %d: %.17g, by definition %.17g", pada_metric_table[m].key, x.n,
                     fast.value[m], slow.value[m]);
    }
}

/* Scores that follow the truth a little. `levels` different truths, and scores. */
static void random_pairs(pada_rng *rng, int n, int levels, double *scores, double *truths)
{
    for (int i = 0; i < n; i++) {
        const uint32_t quality = pada_rng_below(rng, (uint32_t)levels);
        truths[i] = quality * 0.25 - 3;
        scores[i] = pada_rng_below(rng, 2) ? quality : pada_rng_below(rng, (uint32_t)levels);
    }
}

static void test_definitions(void **state)
{
    static const int sizes[] = {1, 2, 3, 7, 19, 20, 39, 40, 41, 100, MAX_N};
    static const int levels[] = {1, 2, 5, 40, 100000};
    double scores[MAX_N], truths[MAX_N];
    int32_t copies[MAX_N];
    pada_rng rng;

    (void)state;
    pada_rng_init(&rng, 3, "test", 0);
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        for (size_t l = 0; l < sizeof levels / sizeof levels[0]; l++) {
            const int n = sizes[s];
            for (int repeat = 0; repeat < (n < 50 ? 20 : 3); repeat++) {
                random_pairs(&rng, n, levels[l], scores, truths);
                check_against_definitions(scores, truths, NULL, n);
                for (int i = 0; i < n; i++)
                    copies[i] = (int32_t)pada_rng_below(&rng, MAX_COPIES + 1);
                copies[n - 1] = 1; /* not none at all */
                check_against_definitions(scores, truths, copies, n);
            }
        }
    }
}

/* The expectation over random ties, by breaking ties at random many times. */
static void test_random_ties(void **state)
{
    enum { N = 60, REPEATS = 20000 };
    double scores[N], truths[N], broken_scores[N], broken_truths[N], sum = 0;
    pada_metrics metrics, broken;
    pada_rng rng;

    (void)state;
    pada_rng_init(&rng, 5, "test", 0);
    for (int i = 0; i < N; i++) {
        truths[i] = i / 5;
        scores[i] = (i + 20) / 7; /* groups of other sizes: both boundaries are inside a tie */
    }
    compute(scores, truths, NULL, N, &metrics);
    for (int repeat = 0; repeat < REPEATS; repeat++) {
        for (int i = 0; i < N; i++) {
            broken_scores[i] = scores[i] + 0.5 * pada_rng_uniform(&rng);
            broken_truths[i] = truths[i] + 0.5 * pada_rng_uniform(&rng);
        }
        compute(broken_scores, broken_truths, NULL, N, &broken);
        sum += *value_of(&broken, PADA_METRIC_P_TOP5);
    }
    CHECK_CLOSE(*value_of(&metrics, PADA_METRIC_P_TOP5_EXPECTED), sum / REPEATS, 0.007);
    assert_in_range((int)(1000 * sum / REPEATS), 300, 700); /* neither never nor always */
}

/* A case small enough to be done in the head. */
static void test_by_hand(void **state)
{
    const double truths[] = {90, 80, 80, 70}, scores[] = {2, 3, 1, 3};
    pada_metrics m;

    (void)state;
    compute(scores, truths, NULL, 4, &m);
    /* pairs: 01 - 02 + 03 - 12 tied 13 tied 23 -: 1 - 3; five untied scores, five untied truths */
    CHECK_CLOSE(*value_of(&m, PADA_METRIC_TAU_B), -2.0 / 5, 1e-15);
    CHECK_CLOSE(*value_of(&m, PADA_METRIC_P_TOP5), 0, 0);
    CHECK_CLOSE(*value_of(&m, PADA_METRIC_P_TOP5_EXPECTED), 0, 0);
    CHECK_CLOSE(*value_of(&m, PADA_METRIC_BEST_RANK_TOP5), 2, 0); /* of network 1, not of 3 */
    CHECK_CLOSE(*value_of(&m, PADA_METRIC_BEST_RANK_10), 1, 0);
    CHECK_CLOSE(*value_of(&m, PADA_METRIC_REGRET), 90 - (80 + 70) / 2.0, 0);
    assert_true(isnan(*value_of(&m, PADA_METRIC_TAU_TOP5)));     /* one network */
    CHECK_CLOSE(*value_of(&m, PADA_METRIC_TAU_TOP50), 0, 1e-15); /* three: 01 - 02 + */
}

static void test_degenerate(void **state)
{
    const double same[] = {5, 5, 5}, up[] = {1, 2, 3}, down[] = {-1, -2, -3};
    pada_metrics m;

    (void)state;
    compute(same, up, NULL, 3, &m);
    assert_true(isnan(*value_of(&m, PADA_METRIC_TAU_B)));
    assert_true(isnan(*value_of(&m, PADA_METRIC_SPEARMAN)));
    CHECK_CLOSE(*value_of(&m, PADA_METRIC_P_TOP5), 0, 0); /* network 0 is not 2 */
    CHECK_CLOSE(*value_of(&m, PADA_METRIC_P_TOP5_EXPECTED), 1.0 / 3, 1e-15);
    CHECK_CLOSE(*value_of(&m, PADA_METRIC_REGRET), 1, 1e-15);
    compute(up, same, NULL, 3, &m);
    assert_true(isnan(*value_of(&m, PADA_METRIC_TAU_B)));
    assert_true(isnan(*value_of(&m, PADA_METRIC_SPEARMAN)));
    CHECK_CLOSE(*value_of(&m, PADA_METRIC_P_TOP5_EXPECTED), 1.0 / 3, 1e-15);
    CHECK_CLOSE(*value_of(&m, PADA_METRIC_BEST_RANK_TOP5), 1, 0);
    CHECK_CLOSE(*value_of(&m, PADA_METRIC_REGRET), 0, 0);
    compute(up, up, NULL, 3, &m);
    CHECK_CLOSE(*value_of(&m, PADA_METRIC_TAU_B), 1, 0);
    CHECK_CLOSE(*value_of(&m, PADA_METRIC_SPEARMAN), 1, 0);
    compute(down, up, NULL, 3, &m);
    CHECK_CLOSE(*value_of(&m, PADA_METRIC_TAU_B), -1, 0);
    CHECK_CLOSE(*value_of(&m, PADA_METRIC_SPEARMAN), -1, 0);
    CHECK_CLOSE(*value_of(&m, PADA_METRIC_REGRET), 2, 0);

    compute(up, up, NULL, 1, &m);
    for (int i = 0; i < PADA_N_METRICS; i++)
        assert_int_equal(isnan(m.value[i]),
                         strstr(pada_metric_table[i].key, "tau") || i == PADA_METRIC_SPEARMAN);
    CHECK_CLOSE(*value_of(&m, PADA_METRIC_P_TOP5), 1, 0);
    CHECK_CLOSE(*value_of(&m, PADA_METRIC_BEST_RANK_10), 1, 0);
    CHECK_CLOSE(*value_of(&m, PADA_METRIC_REGRET), 0, 0);
}

/* Doubling every network changes neither tau-b nor Spearman's. */
static void test_copies_are_no_ties(void **state)
{
    enum { N = 50 };
    double scores[N], truths[N];
    int32_t copies[N];
    pada_metrics once, twice;
    pada_rng rng;

    (void)state;
    pada_rng_init(&rng, 9, "test", 0);
    random_pairs(&rng, N, 10, scores, truths);
    for (int i = 0; i < N; i++)
        copies[i] = 2;
    compute(scores, truths, NULL, N, &once);
    compute(scores, truths, copies, N, &twice);
    CHECK_CLOSE(*value_of(&twice, PADA_METRIC_TAU_B), *value_of(&once, PADA_METRIC_TAU_B), 1e-15);
    CHECK_CLOSE(*value_of(&twice, PADA_METRIC_SPEARMAN), *value_of(&once, PADA_METRIC_SPEARMAN),
                1e-15);
}

static pada_status compute_afresh(void)
{
    static const double values[] = {1, 3, 2};
    pada_metrics_work *work = NULL;
    pada_pairs *pairs = NULL;
    pada_metrics metrics;
    pada_status st;

    if ((st = pada_pairs_create(&pairs, values, values, 3)) != PADA_OK) goto out;
    if ((st = pada_metrics_work_create(&work, 3)) != PADA_OK) goto out;
    pada_metrics_compute(pairs, NULL, work, &metrics);
out:
    pada_metrics_work_destroy(work);
    pada_pairs_destroy(pairs);
    return st;
}

static void test_oom(void **state)
{
    (void)state;
    assert_survives_oom(compute_afresh(), (void)0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_definitions),
        cmocka_unit_test(test_random_ties),
        cmocka_unit_test(test_by_hand),
        cmocka_unit_test(test_degenerate),
        cmocka_unit_test(test_copies_are_no_ties),
        cmocka_unit_test(test_oom),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
