/* prior_weight.h - how much a prior should weigh, found without a truth: from how far runs agree.
 *
 * What runs and prior have in common is taken for the truth, and everything else for errors that have nothing to do with
 * each other. In ranks of deviation 1, with k runs,
 *
 *   rho     mean correlation of two runs: the part of a run's variance that is truth
 *   kappa   mean correlation of a run with the prior
 *
 * the best linear combination of the runs' mean (also of deviation 1) and the prior has the weight
 *
 *   w = kappa (1 - rho) / (k sqrt(v) (rho - kappa^2)),    v = rho + (1 - rho) / k
 *
 * Runs that agree leave nothing to mend: w is 0. Errors that runs share, such as those of one method, look like truth and
 * make w too small. Design note 0038 has the derivation. */
#ifndef PADA_STUDY_PRIOR_WEIGHT_H
#define PADA_STUDY_PRIOR_WEIGHT_H

#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PADA_PRIOR_WEIGHT_MAX 3.0 /* where the runs are hardly heard any more */

/* From n values of each of n_runs >= 2 runs, [n_runs][n], and of the prior. At most PADA_PRIOR_WEIGHT_MAX, which it is
 * also where runs agree no more than the prior explains; negative where the prior ranks against the runs; 0 where the
 * prior, or all runs, tell no networks apart. */
pada_status pada_prior_weight(const double *const *runs, int n_runs, const double *prior, int n,
                              double *weight);
/* The same from the two correlations. */
double pada_prior_weight_of(double rho, double kappa, int n_runs);

#ifdef __cplusplus
}
#endif
#endif
