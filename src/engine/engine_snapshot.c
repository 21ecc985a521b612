/* engine_snapshot.c - weights and momentum put aside, and what becomes of the difference. */
#include "base/mem.h"
#include "engine/engine_state.h"

static pada_range whole_buffer(const pada_engine *e)
{
    return (pada_range){0, pada_params_elements(e->params)};
}

/* A buffer with the map of the parameters, made when it is first needed. */
static pada_status make_buffer(pada_engine *e, void **buffer)
{
    return *buffer ? PADA_OK : e->backend->alloc(e->device, buffer, e->buffer_bytes);
}

pada_status pada_engine_snapshot(pada_engine *e)
{
    const pada_range all = whole_buffer(e);

    PADA_TRY(make_buffer(e, &e->saved_weights));
    PADA_TRY(make_buffer(e, &e->saved_velocity));
    e->backend->copy(e->device, e->saved_weights, e->weights, &all, 1);
    if (e->velocity) e->backend->copy(e->device, e->saved_velocity, e->velocity, &all, 1);
    for (int i = 0; i < e->n_groups; i++)
        e->groups[i].saved = e->groups[i].sampled;
    return PADA_OK;
}

void pada_engine_restore_weights(pada_engine *e)
{
    const pada_range all = whole_buffer(e);

    PADA_ASSERT(e->saved_weights && e->saved_velocity);
    e->backend->copy(e->device, e->weights, e->saved_weights, &all, 1);
    pada__weights_changed(e);
}

void pada_engine_restore(pada_engine *e)
{
    const pada_range all = whole_buffer(e);

    pada_engine_restore_weights(e);
    if (e->velocity) e->backend->copy(e->device, e->velocity, e->saved_velocity, &all, 1);
    for (int i = 0; i < e->n_groups; i++)
        e->groups[i].sampled = e->groups[i].saved;
}

/* ---- differences ---- */

pada_status pada_engine_add_difference(pada_engine *e, double factor)
{
    int n = 0;

    PADA_ASSERT(e->saved_weights && e->mode == PADA_TRAIN);
    PADA_TRY(make_buffer(e, &e->differences));
    pada_engine_zero_grad(e);
    /* A step moves nothing that was never sampled. */
    for (int i = 0; i < e->n_groups; i++) {
        param_group *g = &e->groups[i];
        if (!g->sampled) continue;
        g->differs = true;
        e->moved[n++] = g->range;
    }
    /* Subtracted before it is scaled: the two are close, so nothing is lost. */
    e->backend->copy(e->device, e->grads, e->saved_weights, e->moved, n);
    e->backend->axpy(e->device, e->grads, -1, e->weights, e->moved, n);
    e->backend->axpy(e->device, e->differences, factor, e->grads, e->moved, n);
    e->backend->fill_zero(e->device, e->grads, e->moved, n);
    return PADA_OK;
}

void pada_engine_take_differences(pada_engine *e)
{
    int n = 0;

    PADA_ASSERT(e->differences);
    pada_engine_zero_grad(e);
    for (int i = 0; i < e->n_groups; i++) {
        param_group *g = &e->groups[i];
        if (!g->differs) continue;
        g->differs = false;
        g->active = g->sampled = true;
        e->moved[n++] = g->range;
    }
    e->backend->copy(e->device, e->grads, e->differences, e->moved, n);
    e->backend->fill_zero(e->device, e->differences, e->moved, n);
}

/* ---- momentum ---- */

void pada_engine_zero_momentum(pada_engine *e)
{
    const pada_range all = whole_buffer(e);

    PADA_ASSERT(e->mode == PADA_TRAIN);
    e->backend->fill_zero(e->device, e->velocity, &all, 1);
}

pada_status pada_engine_swap_momentum(pada_engine *e)
{
    PADA_ASSERT(e->mode == PADA_TRAIN);
    PADA_TRY(make_buffer(e, &e->other_velocity));
    void *velocity = e->velocity;
    e->velocity = e->other_velocity;
    e->other_velocity = velocity;
    return PADA_OK;
}

void pada__snapshot_forget(pada_engine *e)
{
    const pada_range all = whole_buffer(e);

    e->backend->release(e->device, e->other_velocity);
    e->other_velocity = NULL;
    if (e->differences) e->backend->fill_zero(e->device, e->differences, &all, 1);
    for (int i = 0; i < e->n_groups; i++)
        e->groups[i].differs = false;
}
