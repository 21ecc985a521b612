/* engine_ema.c - a moving average of the weights. */
#include "engine/engine_ema.h"

#include "engine/engine_state.h"

static pada_range all_of(const pada_params *map)
{
    return (pada_range){0, pada_params_elements(map)};
}

void pada__ema_restart(pada_engine *e)
{
    const pada_range weights = all_of(e->params), statistics = all_of(e->statistics_map);

    if (e->ema.average) e->backend->copy(e->device, e->ema.average, e->weights, &weights, 1);
    if (e->ema.statistics)
        e->backend->copy(e->device, e->ema.statistics, e->statistics_buffer, &statistics, 1);
}

/* Room for the average of the running statistics, which belong to the weights. */
static pada_status make_statistics(pada_engine *e)
{
    const int64_t bytes =
        pada_params_elements(e->statistics_map) * pada_dtype_bytes(e->backend->dtype);

    if (e->wanted_statistics != PADA_STATISTICS_RUNNING || e->ema.statistics) return PADA_OK;
    return e->backend->alloc(e->device, &e->ema.statistics, bytes);
}

pada_status pada_engine_ema_begin(pada_engine *e, double decay)
{
    PADA_ASSERT(e->mode == PADA_TRAIN && decay > 0 && decay < 1 && !e->ema.is_swapped);
    PADA_TRY(make_statistics(e));
    if (!e->ema.average) PADA_TRY(e->backend->alloc(e->device, &e->ema.average, e->buffer_bytes));
    e->ema.decay = decay;
    pada__ema_restart(e);
    return PADA_OK;
}

static void swap(void **a, void **b)
{
    void *old = *a;

    *a = *b;
    *b = old;
}

void pada_engine_ema_swap(pada_engine *e)
{
    if (!e->ema.average) return;
    swap(&e->weights, &e->ema.average);
    if (e->ema.statistics) swap(&e->statistics_buffer, &e->ema.statistics);
    e->ema.is_swapped = !e->ema.is_swapped;
    pada__weights_changed(e);
}

void pada__ema_add(pada_engine *e)
{
    const pada_range statistics = all_of(e->statistics_map);

    PADA_ASSERT(!e->ema.is_swapped);
    if (!e->ema.average) return;
    for (int i = 0; i < e->n_groups; i++) /* all of them: several ranges are shared by threads */
        e->moved[i] = e->groups[i].range;
    e->backend->blend(e->device, e->ema.average, e->ema.decay, e->weights, e->moved, e->n_groups);
    if (e->ema.statistics)
        e->backend->blend(e->device, e->ema.statistics, e->ema.decay, e->statistics_buffer,
                          &statistics, 1);
}

void pada__ema_visit(pada_engine *e, pada_state *s, float *floats)
{
    PADA_ASSERT(!e->ema.is_swapped);
    if (!e->ema.average) return;
    pada__visit_buffer(e, s, PADA_EMA_PREFIX, e->ema.average, floats);
    if (e->ema.statistics && e->statistics == PADA_STATISTICS_RUNNING)
        pada__visit_map(e, s, PADA_EMA_PREFIX, e->statistics_map, e->ema.statistics, floats);
}
