/* observatory.h - what an epoch did: results, and what the samplers drew. */
#ifndef PADA_TRAIN_OBSERVATORY_H
#define PADA_TRAIN_OBSERVATORY_H

#include "engine/engine_log.h"
#include "strategy/strategy.h"
#include "train/epoch_metrics.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An epoch that has ended, before the strategy has learned from it. Pointers are borrowed. */
typedef struct pada_observation {
    const pada_strategy_env *env;
    const pada_log *log;
    const pada_distributions *drawn_from;
    const int32_t *order; /* [n_images] */
    int32_t *counts;      /* scratch, room for n_images */
    int64_t *classes;     /* scratch, room for 2 * n_classes */
} pada_observation;

/* Adds to the metrics:
 *   loss, top1, top5 (percent; means over all passes), grad_norm (mean), clipped (share of steps)
 *   path_entropy (1: uniform), p_<label> (mean over the slots that have a choice of that label), updates_<label> (passes with
 *   it, over all slots that they use), updates_min (the least used of the choices that slots may take), dead (share of passes that trained
 *   next to nothing), gmacs (forward multiply-adds of all passes, also of evaluations that the method makes, 1e9)
 *   data_entropy, data_effective (effective sample size over images), data_coverage (share of the
 *   images drawn at least once), class_min, class_max (draws of a class over its images)
 * and warnings: coverage, effective, entropy. */
void pada_observe(const pada_observation *seen, pada_epoch_metrics *metrics);

/* What a warning means, also one of validation.h, for people. */
const char *pada_warning_text(const char *word);

#ifdef __cplusplus
}
#endif
#endif
