/* engine_ema.c - a moving average of the weights. */
#include "engine/engine_ema.h"

#include "engine/engine_state.h"

void pada__ema_restart(pada_engine *e)
{
    const pada_range all = {0, pada_params_elements(e->params)};

    if (e->ema.average) e->backend->copy(e->device, e->ema.average, e->weights, &all, 1);
}

pada_status pada_engine_ema_begin(pada_engine *e, double decay)
{
    PADA_ASSERT(e->mode == PADA_TRAIN && decay > 0 && decay < 1 && !e->ema.is_swapped);
    if (!e->ema.average) PADA_TRY(e->backend->alloc(e->device, &e->ema.average, e->buffer_bytes));
    e->ema.decay = decay;
    pada__ema_restart(e);
    return PADA_OK;
}

void pada_engine_ema_swap(pada_engine *e)
{
    void *weights = e->weights;

    if (!e->ema.average) return;
    e->weights = e->ema.average;
    e->ema.average = weights;
    e->ema.is_swapped = !e->ema.is_swapped;
    pada__weights_changed(e);
}

void pada__ema_add(pada_engine *e)
{
    PADA_ASSERT(!e->ema.is_swapped);
    if (!e->ema.average) return;
    for (int i = 0; i < e->n_groups; i++) /* all of them: several ranges are shared by threads */
        e->moved[i] = e->groups[i].range;
    e->backend->blend(e->device, e->ema.average, e->ema.decay, e->weights, e->moved, e->n_groups);
}

void pada__ema_visit(pada_engine *e, pada_state *s, float *floats)
{
    PADA_ASSERT(!e->ema.is_swapped);
    if (e->ema.average) pada__visit_buffer(e, s, PADA_EMA_PREFIX, e->ema.average, floats);
}
