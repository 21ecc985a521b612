/* fair_paths.h - groups of paths in which every choice of every slot occurs exactly once.
 *
 * Each slot gets a random permutation of its choices; path k takes the k-th of every slot. A choice
 * is as likely as any other in every path, and over the group all are treated alike (FairNAS). */
#ifndef PADA_SAMPLER_FAIR_PATHS_H
#define PADA_SAMPLER_FAIR_PATHS_H

#include "space/space.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How many paths a group has: the number of choices of a slot. Slots that differ in it, or that a path may
 * leave unused, are PADA_EINVAL: there are no such groups. */
pada_status pada_fair_paths_count(const pada_space *space, int *n);

/* Group number `index`: paths[n], from the stream (seed, "fair", index). */
void pada_fair_paths_draw(const pada_space *space, uint64_t seed, int64_t index, pada_path *paths);

#ifdef __cplusplus
}
#endif
#endif
