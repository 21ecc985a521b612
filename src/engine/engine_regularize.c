/* engine_regularize.c - what training passes do that evaluation does not. */
#include "engine/engine_regularize.h"

#include "engine/engine_state.h"

void pada_engine_smooth_labels(pada_engine *e, double smoothing)
{
    PADA_ASSERT(smoothing >= 0 && smoothing <= 1);
    e->label_smoothing = smoothing;
}
