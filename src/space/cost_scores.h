/* cost_scores.h - baselines of rankings that every space has: what a network costs. */
#ifndef PADA_SPACE_COST_SCORES_H
#define PADA_SPACE_COST_SCORES_H

#include "space/space.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Of the stand-alone network, for pada_space_score. */
double pada_score_macs(const pada_space *space, const pada_path *path);
double pada_score_params(const pada_space *space, const pada_path *path);

#ifdef __cplusplus
}
#endif
#endif
