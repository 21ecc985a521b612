/* engine_regularize.h - what training passes do that evaluation does not.
 *
 * Auxiliary heads, which a network has by itself, are trained without a call. */
#ifndef PADA_ENGINE_ENGINE_REGULARIZE_H
#define PADA_ENGINE_ENGINE_REGULARIZE_H

#include "engine/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Training passes from now on have smoothed labels (pada_loss): their losses, their gradients and the norms in the
 * log. Until then they have not, and evaluation never has. */
void pada_engine_smooth_labels(pada_engine *e, double smoothing);

/* What a step drops: rates in [0, 1), and what names its masks. Passes over one batch have the same masks. */
typedef struct pada_drop_step {
    uint64_t seed;
    int64_t step; /* of the run: one that resumes drops what it would have dropped */
    double dropout, drop_path;
    int batch; /* of the step, from 0 */
} pada_drop_step;

/* Training passes from now on drop this, wherever the network has drops; until then nothing. A rate that is no longer
 * zero, or zero again, plans a path anew; others do not. */
void pada_engine_set_drops(pada_engine *e, const pada_drop_step *drops);

#ifdef __cplusplus
}
#endif
#endif
