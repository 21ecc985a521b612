/* engine_snapshot.c - weights and states of the optimiser put aside, and what becomes of the difference. */
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
    PADA_TRY(pada__states_alloc(e, &e->saved_states));
    e->backend->copy(e->device, e->saved_weights, e->weights, &all, 1);
    pada__states_copy(e, &e->saved_states, &e->states);
    for (int i = 0; i < e->n_groups; i++) {
        e->groups[i].saved = e->groups[i].sampled;
        e->groups[i].saved_moves = e->groups[i].moves;
    }
    return PADA_OK;
}

void pada_engine_restore_weights(pada_engine *e)
{
    const pada_range all = whole_buffer(e);

    PADA_ASSERT(e->saved_weights);
    e->backend->copy(e->device, e->weights, e->saved_weights, &all, 1);
    pada__weights_changed(e);
}

void pada_engine_restore(pada_engine *e)
{
    pada_engine_restore_weights(e);
    if (e->mode == PADA_TRAIN) pada__states_copy(e, &e->states, &e->saved_states);
    for (int i = 0; i < e->n_groups; i++) {
        e->groups[i].sampled = e->groups[i].saved;
        e->groups[i].moves = e->groups[i].saved_moves;
    }
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

void pada__snapshot_forget(pada_engine *e)
{
    const pada_range all = whole_buffer(e);

    pada__states_release(e, &e->other_states);
    if (e->differences) e->backend->fill_zero(e->device, e->differences, &all, 1);
    for (int i = 0; i < e->n_groups; i++)
        e->groups[i].differs = false;
}
