/* combine.h - one score of several: the mean of what runs say, and a prior that knows nothing of them.
 *
 * Accuracies of different runs are brought into one unit first. What a value is worth there depends on a sample of
 * networks, by which a mixer is made: in a ranking the ranked networks themselves, in a search random ones.
 *
 *   accuracy     the value itself
 *   rank         its share: how much of the sample is worse, equal ones counting half
 *   calibrated   deviations of the sample from its mean
 *
 * With a prior the score is the share of that mean, plus a weight times the share of the prior: both are parts
 * of the sample, so that a weight means the same whatever the unit.
 *
 * Scores and means are rounded to nine decimals, so that sums of the same shares tie. */
#ifndef PADA_STUDY_COMBINE_H
#define PADA_STUDY_COMBINE_H

#include <stdbool.h>

#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- shares ---- */

typedef struct pada_shares pada_shares;

/* Copies n >= 1 finite values. */
pada_status pada_shares_create(pada_shares **out, const double *values, int n);
void pada_shares_destroy(pada_shares *shares); /* NULL is fine */

/* Of any value. Between those of the sample it is interpolated; beyond the best and the worst it goes on with the
 * mean slope of the sample, below 0 and above 1: better is more everywhere. */
double pada_share_of(const pada_shares *shares, double value);

/* ---- the mixer ---- */

typedef enum pada_combine {
    PADA_COMBINE_ACCURACY,
    PADA_COMBINE_RANK,
    PADA_COMBINE_CALIBRATED
} pada_combine;

#define PADA_COMBINE_CHOICES "accuracy|rank|calibrated" /* in this order */

/* Everything is borrowed for the call. */
typedef struct pada_mixer_desc {
    pada_combine combine;
    int n_runs, n;             /* of the sample; both at least 1 */
    const double *const *runs; /* [n_runs][n] */
    const double *prior;       /* [n]; NULL: none */
    double weight;             /* of the prior */
    bool finds_weight;         /* in its place, by prior_weight.h; of two runs or more */
} pada_mixer_desc;

typedef struct pada_mixer pada_mixer;

pada_status pada_mixer_create(pada_mixer **out, const pada_mixer_desc *desc);
void pada_mixer_destroy(pada_mixer *mixer);        /* NULL is fine */
double pada_mixer_weight(const pada_mixer *mixer); /* of the prior */

/* What the runs say about a network, [n_runs], in the common unit. */
double pada_mixer_mean(const pada_mixer *mixer, const double *values);
/* That and, where there is one, the prior. */
double pada_mixer_score(const pada_mixer *mixer, double mean, double prior);

#ifdef __cplusplus
}
#endif
#endif
