/* score_groups.h - how well scores rank inside the parts of a set of networks: those that one supernet of
 * several judges, say. Parts that rank well by themselves may rank badly together, when the scores of
 * one are all higher than those of another. */
#ifndef PADA_STUDY_SCORE_GROUPS_H
#define PADA_STUDY_SCORE_GROUPS_H

#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pada_score_group {
    int n;
    double tau_b;                  /* NaN: not defined, as in metrics.h */
    double mean_score, mean_truth; /* NaN: no networks */
} pada_score_group;

/* groups[k] is about the networks i with group_of[i] == k, 0 to n_groups - 1. */
pada_status pada_score_groups_compute(const double *scores, const double *truths,
                                      const int *group_of, int n, pada_score_group *groups,
                                      int n_groups);

#ifdef __cplusplus
}
#endif
#endif
