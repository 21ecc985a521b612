/* engine_states.c - the states of the optimiser: fresh ones, another set of them, checkpoints.
 *
 * A set has one parameter-shaped buffer for every state of the optimiser and, where that counts, how often
 * each group was moved. */
#include <stdio.h>

#include "engine/engine_state.h"

/* ---- one set ---- */

/* Every element of a buffer becomes one number. */
static void fill(pada_engine *e, void *buffer, double number)
{
    const pada_range all = {0, pada_params_elements(e->params)};

    if (number == 0) {
        e->backend->fill_zero(e->device, buffer, &all, 1);
        return;
    }
    for (int i = 0; i < pada_params_count(e->params); i++) {
        const pada_param *p = pada_params_get(e->params, i);
        for (int64_t k = 0; k < p->count; k++)
            e->staging[k] = number;
        e->backend->write(e->device, buffer, (pada_range){p->offset, p->count}, e->staging);
    }
}

pada_status pada__states_alloc(pada_engine *e, optim_states *set)
{
    for (int i = 0; i < e->optimizer->n_states; i++) {
        if (set->at[i]) continue;
        PADA_TRY(e->backend->alloc(e->device, &set->at[i], e->buffer_bytes));
        if (e->optimizer->states[i].first != 0) /* else it is */
            fill(e, set->at[i], e->optimizer->states[i].first);
    }
    return PADA_OK;
}

void pada__states_release(pada_engine *e, optim_states *set)
{
    for (int i = 0; i < PADA_MAX_STATES; i++) {
        e->backend->release(e->device, set->at[i]);
        set->at[i] = NULL;
    }
}

void pada__states_reset(pada_engine *e, const optim_states *set)
{
    for (int i = 0; i < e->optimizer->n_states; i++)
        if (set->at[i]) fill(e, set->at[i], e->optimizer->states[i].first);
}

void pada__states_copy(pada_engine *e, const optim_states *to, const optim_states *from)
{
    const pada_range all = {0, pada_params_elements(e->params)};

    for (int i = 0; i < e->optimizer->n_states; i++)
        if (from->at[i]) e->backend->copy(e->device, to->at[i], from->at[i], &all, 1);
}

int pada__states_count(const pada_engine *e, const optim_states *set)
{
    return set->at[0] ? e->optimizer->n_states : 0;
}

/* ---- verbs ---- */

void pada_engine_reset_states(pada_engine *e)
{
    PADA_ASSERT(e->mode == PADA_TRAIN);
    pada__states_reset(e, &e->states);
    for (int i = 0; i < e->n_groups; i++)
        e->groups[i].moves = 0;
}

/* The other set, made of fresh states when it is first needed. */
static pada_status make_other(pada_engine *e)
{
    if (e->other_states.at[0]) return PADA_OK;
    const pada_status st = pada__states_alloc(e, &e->other_states);
    if (st != PADA_OK) {
        pada__states_release(e, &e->other_states);
        return st;
    }
    for (int i = 0; i < e->n_groups; i++)
        e->groups[i].other_moves = 0;
    return PADA_OK;
}

pada_status pada_engine_swap_states(pada_engine *e)
{
    PADA_ASSERT(e->mode == PADA_TRAIN);
    PADA_TRY(make_other(e));
    const optim_states states = e->states;
    e->states = e->other_states;
    e->other_states = states;
    for (int i = 0; i < e->n_groups; i++) {
        param_group *g = &e->groups[i];
        const int64_t moves = g->moves;
        g->moves = g->other_moves;
        g->other_moves = moves;
    }
    return PADA_OK;
}

/* ---- checkpoints ---- */

static void visit_set(pada_engine *e, pada_state *s, const char *kind, const optim_states *set,
                      float *floats)
{
    for (int i = 0; i < e->optimizer->n_states; i++) {
        char prefix[64];
        snprintf(prefix, sizeof prefix, PADA_STATE_PREFIX "%s%s/", kind,
                 e->optimizer->states[i].name);
        pada__visit_buffer(e, s, prefix, set->at[i], floats);
    }
}

static void visit_moves(pada_engine *e, pada_state *s)
{
    for (int i = 0; i < e->n_groups; i++)
        e->moves[i] = e->groups[i].moves;
    pada_state_array(s, "engine/moves", PADA_STATE_I64, e->moves, e->n_groups);
    for (int i = 0; i < e->n_groups; i++) {
        e->groups[i].moves = e->moves[i];
        e->moves[i] = e->groups[i].other_moves;
    }
    pada_state_array(s, "engine/other_moves", PADA_STATE_I64, e->moves, e->n_groups);
    for (int i = 0; i < e->n_groups; i++)
        e->groups[i].other_moves = e->moves[i];
}

void pada__states_visit(pada_engine *e, pada_state *s, float *floats)
{
    int32_t n_sets = e->other_states.at[0] ? 2 : 1;

    visit_set(e, s, "", &e->states, floats);
    /* the name is older than optimisers without momentum */
    pada_state_array(s, "engine/momenta", PADA_STATE_I32, &n_sets, 1);
    if (n_sets != 1 && n_sets != 2) {
        pada_state_reject(s, PADA_FAIL(PADA_EDATA, "a checkpoint with %d momenta", (int)n_sets));
        return;
    }
    if (n_sets == 2) {
        const pada_status st = make_other(e);
        if (st != PADA_OK) {
            pada_state_reject(s, st);
            return;
        }
        visit_set(e, s, "other_", &e->other_states, floats);
    }
    if (e->optimizer->counts) visit_moves(e, s);
}
