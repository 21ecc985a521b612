/* bootstrap.h - how much metrics depend on which networks were looked at.
 *
 * A replicate draws n of the n networks with replacement, from the stream (seed, "bootstrap",
 * replicate), and computes all metrics of that sample; metrics.h says what copies of one network
 * do. The same draws serve several sets of scores, so their differences are paired. Intervals are
 * percentiles, 2.5 and 97.5, of the replicates. They say nothing about the seed of a training, and
 * those of best_rank and regret, which hang on a few networks, are rough.
 *
 * Results do not depend on the number of threads. */
#ifndef PADA_STUDY_BOOTSTRAP_H
#define PADA_STUDY_BOOTSTRAP_H

#include <stdint.h>

#include "base/status.h"
#include "study/metrics.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pada_bootstrap_desc {
    const pada_pairs *const *sets; /* [n_sets], of the same networks in the same order; borrowed
                                      for the call */
    int n_sets;
    int replicates; /* 0: none; then there are no intervals */
    uint64_t seed;
    int n_threads; /* 0: the machine's default */
} pada_bootstrap_desc;

/* Lowest and highest value that is plausible; NaN where no replicate had one. Replicates in which
 * the metric is not defined are left out. */
typedef struct pada_interval {
    double low, high;
} pada_interval;

/* One set of scores against another. */
typedef struct pada_difference {
    pada_interval interval;
    /* Two-sided: twice the share of the replicates on the rarer side of zero, those at zero being
     * on both; at least 1 / replicates, at most 1. NaN without replicates. */
    double p;
} pada_difference;

/* The metrics of all replicates. */
typedef struct pada_bootstrap pada_bootstrap;

pada_status pada_bootstrap_create(pada_bootstrap **out, const pada_bootstrap_desc *desc);
void pada_bootstrap_destroy(pada_bootstrap *b); /* NULL is fine */

int pada_bootstrap_replicates(const pada_bootstrap *b);
void pada_bootstrap_interval(pada_bootstrap *b, int set, pada_metric metric, pada_interval *out);
/* Of metric(set) - metric(other). */
void pada_bootstrap_difference(pada_bootstrap *b, int set, int other, pada_metric metric,
                               pada_difference *out);

#ifdef __cplusplus
}
#endif
#endif
