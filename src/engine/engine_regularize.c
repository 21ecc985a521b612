/* engine_regularize.c - what training passes do that evaluation does not. */
#include "engine/engine_regularize.h"

#include "engine/engine_state.h"

void pada_engine_smooth_labels(pada_engine *e, double smoothing)
{
    PADA_ASSERT(smoothing >= 0 && smoothing <= 1);
    e->label_smoothing = smoothing;
}

void pada_engine_set_drops(pada_engine *e, const pada_drop_step *drops)
{
    const double rates[PADA_N_DROPS] = {
        [PADA_DROP_ELEMENTS] = drops->dropout, [PADA_DROP_IMAGES] = drops->drop_path};

    pada_drops_make(&e->drops, drops->seed, drops->step, rates);
    e->drops.batch = (uint32_t)drops->batch;
    e->dropped = 0;
    for (int i = 0; i < PADA_N_DROPS; i++)
        if (rates[i] > 0) e->dropped |= PADA_ONE(i);
}
