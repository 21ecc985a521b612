/* engine_ema.h - a moving average of the weights: another network, often a better one.
 *
 * After every step average = decay * average + (1 - decay) * weights, and the same of running
 * statistics. Training goes on with the weights;
 * evaluations may take the average:
 *
 *   pada_engine_ema_swap(e);
 *   forward passes in mode PADA_EVAL
 *   pada_engine_ema_swap(e); */
#ifndef PADA_ENGINE_ENGINE_EMA_H
#define PADA_ENGINE_ENGINE_EMA_H

#include "engine/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Starts with the weights and running statistics of now, and again whenever they are made afresh or loaded. Checkpoints have the
 * average from then on. */
pada_status pada_engine_ema_begin(pada_engine *e, double decay);
/* Exchanges weights and average; does nothing where there is none. In between there must be no step and no
 * checkpoint (asserted). */
void pada_engine_ema_swap(pada_engine *e);

#ifdef __cplusplus
}
#endif
#endif
