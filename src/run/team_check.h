/* team_check.h - whether all processes of a team were given the same to work on. */
#ifndef PADA_RUN_TEAM_CHECK_H
#define PADA_RUN_TEAM_CHECK_H

#include "base/option.h"
#include "data/data_card.h"
#include "dist/same.h"
#include "engine/engine.h"

/* Compares the build, the options, what computes, the images and the weights (0: there are none yet) with those of process 0. Others
 * are PADA_EDATA, options PADA_EINVAL, in all processes. */
pada_status pada_team_check(pada_team *team, const pada_options *options, const pada_engine *e,
                            const pada_data_card *images, uint64_t weights);

/* The same for work that has no engine in these processes: the build, the options, and n further things, at most
 * PADA_SAME_MOST - 2. */
pada_status pada_team_check_call(pada_team *team, const pada_options *options,
                                 const pada_same *more, int n);

#endif
