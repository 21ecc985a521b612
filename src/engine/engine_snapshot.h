/* engine_snapshot.h - going back to earlier weights, and steps made of several.
 *
 * Weights, states of the optimiser and which parameters have been sampled, to and from a second set of
 * buffers, made by the first snapshot. What weights have moved since then can be added up and become the
 * gradient of a step (Reptile):
 *
 *   pada_engine_snapshot(e);
 *   for each path: inner steps; pada_engine_add_difference(e, factor); pada_engine_restore(e);
 *   pada_engine_take_differences(e);
 *   pada_engine_step(e, &optim, &stats); */
#ifndef PADA_ENGINE_ENGINE_SNAPSHOT_H
#define PADA_ENGINE_ENGINE_SNAPSHOT_H

#include "engine/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

pada_status pada_engine_snapshot(pada_engine *e);
void pada_engine_restore(pada_engine *e);
/* The weights alone: states and what has been sampled stay. */
void pada_engine_restore_weights(pada_engine *e);
/* Adds factor * (snapshot - weights) to the differences, whose buffer the first call makes.
 * Gradients become zero. */
pada_status pada_engine_add_difference(pada_engine *e, double factor);
/* The gradients become the differences, and those zero. */
void pada_engine_take_differences(pada_engine *e);
/* The states of the optimiser, such as momentum, as they were before the first step. */
void pada_engine_reset_states(pada_engine *e);
/* Exchanges them with another set, which the first call makes. Checkpoints have both from then on, until
 * the weights are made afresh. */
pada_status pada_engine_swap_states(pada_engine *e);

#ifdef __cplusplus
}
#endif
#endif
