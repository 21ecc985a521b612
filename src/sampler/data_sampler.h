/* data_sampler.h - which images an epoch trains on, and in which order.
 *
 * An epoch has as many draws as the split has images. Its random numbers are the stream (seed,
 * "data", epoch), so the order depends on nothing else. */
#ifndef PADA_SAMPLER_DATA_SAMPLER_H
#define PADA_SAMPLER_DATA_SAMPLER_H

#include "sampler/alias.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Every image once, in random order: order[n]. */
void pada_data_permute(uint64_t seed, int epoch, int32_t *order, int n);

/* n draws with replacement, image i with probability weights[i] / sum. `alias` is room for n items.
 */
pada_status pada_data_draw(pada_alias *alias, const double *weights, uint64_t seed, int epoch,
                           int32_t *order, int n);

/* What a distribution over n items does; the sum of p is 1. */
double pada_data_entropy(const double *p, int n); /* over log n: 1 is uniform */
double pada_data_effective_share(const double *p,
                                 int n); /* effective sample size 1 / sum p^2, over n */

#ifdef __cplusplus
}
#endif
#endif
