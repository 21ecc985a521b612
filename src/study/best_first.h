/* best_first.h - networks in the order of their scores. */
#ifndef PADA_STUDY_BEST_FIRST_H
#define PADA_STUDY_BEST_FIRST_H

#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* *order, owned by the caller (pada_free), lists 0 .. n - 1 by score, the highest first; of equal
 * ones the lower index. */
pada_status pada_best_first(int **order, const double *scores, int n);

/* 1 + the number of values that are higher. */
int pada_rank_of(const double *values, int n, double value);

#ifdef __cplusplus
}
#endif
#endif
