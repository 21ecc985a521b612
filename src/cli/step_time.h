/* step_time.h - how long training steps take here. */
#ifndef PADA_CLI_STEP_TIME_H
#define PADA_CLI_STEP_TIME_H

#include "engine/engine.h"

/* Milliseconds of a step with a path and a batch of an engine made for training, as the mean of `burst` in a row that are
 * waited for together. */
pada_status pada_step_time(pada_engine *e, const pada_path *path, const pada_batch *batch,
                           int burst, double *ms);

/* Milliseconds of a step, the mean over n paths and the shortest of a few with each, on random images: what others do on
 * the machine should not count. The engine is made and given back. */
pada_status pada_step_time_mean(const pada_engine_desc *desc, const pada_path *paths, int n,
                                uint64_t seed, double *ms);

#endif
