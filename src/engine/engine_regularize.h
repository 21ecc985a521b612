/* engine_regularize.h - what training passes do that evaluation does not. */
#ifndef PADA_ENGINE_ENGINE_REGULARIZE_H
#define PADA_ENGINE_ENGINE_REGULARIZE_H

#include "engine/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Training passes from now on have smoothed labels (pada_loss): their losses, their gradients and the norms in the
 * log. Until then they have not, and evaluation never has. */
void pada_engine_smooth_labels(pada_engine *e, double smoothing);

#ifdef __cplusplus
}
#endif
#endif
