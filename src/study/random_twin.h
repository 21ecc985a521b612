/* random_twin.h - a random network that costs as much as a given one: what a search has to beat. */
#ifndef PADA_STUDY_RANDOM_TWIN_H
#define PADA_STUDY_RANDOM_TWIN_H

#include "study/cost_limits.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Draws a network, each equally likely as it is written, whose canonical form, *out, is another one than that of
 * `network`, has as many multiply-adds but for `share` (0.05: 5 %) of them, and keeps the limits, of which that of
 * multiply-adds must be known. *found false: a thousand draws had none. Fails as pada_cost_limits_create does. */
pada_status pada_random_twin(const pada_space *space, const pada_cost_limit limits[PADA_COST_KINDS],
                             const pada_path *network, double share, uint64_t seed, bool *found,
                             pada_path *out);

#ifdef __cplusplus
}
#endif
#endif
