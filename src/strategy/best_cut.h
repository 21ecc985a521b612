/* best_cut.h - a few things in two groups of nearly the same size, those alike together. */
#ifndef PADA_STRATEGY_BEST_CUT_H
#define PADA_STRATEGY_BEST_CUT_H

#include "base/status.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PADA_MAX_CUT 16

/* Splits 2 to PADA_MAX_CUT things by distances[i * n + k], of which those with i > k are read, into
 * groups of n / 2 and n - n / 2. The sum of the distances inside the groups is as small as possible; of
 * equal ones the group with the smaller number wins. *group: bit i of those n / 2. Returns the sum of
 * the distances between the groups: what the split takes away. */
double pada_best_cut(const double *distances, int n, uint32_t *group);

#ifdef __cplusplus
}
#endif
#endif
