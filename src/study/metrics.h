/* metrics.h - how well scores rank networks whose true quality is known.
 *
 * All metrics are of n pairs (score, truth); more is better in both. They work on multisets: every
 * network has a number of copies, 1 in the data themselves, 0, 1, 2, .. in a bootstrap sample. N is
 * the number of copies together. What is chosen where there is a choice:
 *
 *   tau_b             Kendall's, ties discounted. Copies of one network are tied with each other in
 *                     score and truth; such pairs drop out of the numerator and of both factors of
 *                     the denominator, so only pairs of different networks count.
 *   spearman          Pearson's correlation of ranks; tied ones have the mean of their ranks.
 *   p_at_top5         |K best by score and K best by truth| / K, K = 5 % of N rounded down, but at
 *                     least 1. Ties: the lower index is better. Copies of a network follow each
 *                     other in both rankings.
 *   p_at_top5_expected  its expectation when the ties of both rankings are broken at random,
 *                     independently; computed, not simulated.
 *   best_rank_top5    the best true rank among the K best by score, K as above, ties as above. A
 *   best_rank_10      rank is 1 + the number of truths that are higher. The same for K = 10, or N.
 *   regret            the best truth minus that of the network with the best score; the mean over
 *                     those that share the best score.
 *   tau_top50 .. 5    tau_b among those with at least the K-th best truth, K = 50, 20, 10, 5 % of N
 *                     rounded down, at least 1; all that share the K-th best truth are in.
 *
 * What does not exist is NaN: tau_b and spearman where all scores or all truths are the same, so
 * also of one network. The others always exist. All take O(n log n). */
#ifndef PADA_STUDY_METRICS_H
#define PADA_STUDY_METRICS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum pada_metric {
    PADA_METRIC_TAU_B,
    PADA_METRIC_SPEARMAN,
    PADA_METRIC_P_TOP5,
    PADA_METRIC_P_TOP5_EXPECTED,
    PADA_METRIC_BEST_RANK_TOP5,
    PADA_METRIC_BEST_RANK_10,
    PADA_METRIC_REGRET,
    PADA_METRIC_TAU_TOP50,
    PADA_METRIC_TAU_TOP20,
    PADA_METRIC_TAU_TOP10,
    PADA_METRIC_TAU_TOP5,
    PADA_N_METRICS
} pada_metric;

typedef struct pada_metric_info {
    const char *key;     /* in JSON: "tau_b" */
    const char *label;   /* for people, at most 12 characters */
    const char *heading; /* of a column, at most 9 */
    int decimals;        /* that are worth printing */
    bool less_is_better;
    int percent;         /* of the networks that it looks at: K is that many, at least 1; 0: all */
    const char *meaning; /* one line for people */
} pada_metric_info;

extern const pada_metric_info pada_metric_table[PADA_N_METRICS];

typedef struct pada_metrics {
    double value[PADA_N_METRICS]; /* NaN: not defined */
} pada_metrics;

/* Networks with scores and truths, sorted once for any number of samples. Read-only afterwards. */
typedef struct pada_pairs pada_pairs;

/* Copies what it needs. n is at least 1; the index of a network breaks ties. NaN is a bug of the
 * caller (asserted). */
pada_status pada_pairs_create(pada_pairs **out, const double *scores, const double *truths, int n);
void pada_pairs_destroy(pada_pairs *pairs); /* NULL is fine */
int pada_pairs_count(const pada_pairs *pairs);

/* The room for one computation: one for every thread. */
typedef struct pada_metrics_work pada_metrics_work;
pada_status pada_metrics_work_create(pada_metrics_work **out, int n);
void pada_metrics_work_destroy(pada_metrics_work *work); /* NULL is fine */

/* All metrics of a sample. `copies`: [n], not all 0; NULL is one of each. `work` has been made for
 * at least as many networks. Allocates nothing. */
void pada_metrics_compute(const pada_pairs *pairs, const int32_t *copies, pada_metrics_work *work,
                          pada_metrics *out);

#ifdef __cplusplus
}
#endif
#endif
