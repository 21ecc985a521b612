/* engine_snapshot.h - going back to earlier weights, and steps made of several.
 *
 * Weights, momentum and which parameters have been sampled, to and from a second set of buffers,
 * made by the first snapshot. What weights have moved since then can be added up and become the
 * gradient of a step (Reptile):
 *
 *   pada_engine_snapshot(e);
 *   for each path: inner steps; pada_engine_add_difference(e, factor); pada_engine_restore(e);
 *   pada_engine_take_differences(e);
 *   pada_engine_step(e, &sgd, &stats); */
#ifndef PADA_ENGINE_ENGINE_SNAPSHOT_H
#define PADA_ENGINE_ENGINE_SNAPSHOT_H

#include "engine/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

pada_status pada_engine_snapshot(pada_engine *e);
void pada_engine_restore(pada_engine *e);
/* The weights alone: momentum and what has been sampled stay. */
void pada_engine_restore_weights(pada_engine *e);
/* Adds factor * (snapshot - weights) to the differences, whose buffer the first call makes.
 * Gradients become zero. */
pada_status pada_engine_add_difference(pada_engine *e, double factor);
/* The gradients become the differences, and those zero. */
void pada_engine_take_differences(pada_engine *e);
void pada_engine_zero_momentum(pada_engine *e);
/* Exchanges the momentum with another one, which the first call makes of zeros. Checkpoints have
 * both from then on, until the weights are made afresh. */
pada_status pada_engine_swap_momentum(pada_engine *e);

#ifdef __cplusplus
}
#endif
#endif
