/* engine_statistics.h - what batch norms are normalised by in evaluation (pada_statistics of engine.h). */
#ifndef PADA_ENGINE_ENGINE_STATISTICS_H
#define PADA_ENGINE_ENGINE_STATISTICS_H

#include "engine/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What evaluations of the weights that are there now are normalised by. */
pada_statistics pada_engine_statistics(const pada_engine *e);
/* A name for people and files: "batch", "running", "recalibrated". */
const char *pada_statistics_name(pada_statistics statistics);
/* Of the running statistics, as of the weights; 0: there are none. */
uint64_t pada_engine_statistics_hash(const pada_engine *e);
/* Copies one mean or variance out of the engine, which has them. */
const pada_params *pada_engine_statistics_map(const pada_engine *e);
void pada_engine_read_statistic(const pada_engine *e, int id, double *to);
/* For PADA_STATISTICS_RECALIBRATED: runs the path on a batch, normalised by it, and moves the statistics by `share`
 * towards those of the batch; 1: they become these. The results of the pass mean nothing. */
pada_status pada_engine_collect_statistics(pada_engine *e, const pada_path *path,
                                           const pada_batch *batch, double share);

#ifdef __cplusplus
}
#endif
#endif
