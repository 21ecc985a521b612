/* path_sampler.h - random paths: a distribution over the choices of every slot.
 *
 * Slots are drawn independently. The uniform distribution is one of many, so a strategy whose
 * distribution happens to be uniform draws the same paths as one that never changes it. */
#ifndef PADA_SAMPLER_PATH_SAMPLER_H
#define PADA_SAMPLER_PATH_SAMPLER_H

#include "space/subspace.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pada_path_sampler {
    const pada_space *space;                    /* borrowed */
    pada_subspace within;                       /* what there is to draw */
    double p[PADA_MAX_SLOTS][PADA_MAX_CHOICES]; /* [slot][choice]; each slot adds up to 1 */
} pada_path_sampler;

/* Every choice equally likely. */
void pada_path_sampler_init(pada_path_sampler *sampler, const pada_space *space);
/* The same for the choices of a valid part of the space only; the others are never drawn. */
void pada_path_sampler_restrict(pada_path_sampler *sampler, const pada_subspace *within);

/* The path of one training step: stream (seed, "path", step), a number per slot. With `skip_dead`,
 * paths through which nothing flows are drawn again. */
void pada_path_sampler_draw(const pada_path_sampler *sampler, uint64_t seed, int64_t step,
                            bool skip_dead, pada_path *path);

/* The probability of a path under the uniform distribution, of the part of the space, over that under
 * the sampler's. */
double pada_path_sampler_ratio(const pada_path_sampler *sampler, const pada_path *path);

/* Entropy of the choice of a slot over its largest value in the part of the space, averaged over the
 * slots: 1 is uniform. */
double pada_path_sampler_entropy(const pada_path_sampler *sampler);

#ifdef __cplusplus
}
#endif
#endif
