/* engine_visit.c - the state of an engine in a checkpoint. */
#include <stdio.h>

#include "base/mem.h"
#include "engine/engine_state.h"

/* One parameter of a buffer: read from the backend and saved, or loaded and written to it. `floats`
 * is room for its elements. */
static void visit_param(pada_engine *e, pada_state *s, const char *name, void *buffer,
                        const pada_param *p, float *floats)
{
    const bool is_f32 = e->backend->dtype == PADA_F32;
    const pada_range range = {p->offset, p->count};

    if (!pada_state_loading(s)) {
        e->backend->read(e->device, buffer, range, e->staging);
        for (int64_t i = 0; is_f32 && i < p->count; i++)
            floats[i] = (float)e->staging[i];
    }
    pada_state_tensor(s, name, is_f32 ? PADA_STATE_F32 : PADA_STATE_F64, p->dims, p->n_dims,
                      is_f32 ? (void *)floats : (void *)e->staging);
    if (pada_state_loading(s)) {
        for (int64_t i = 0; is_f32 && i < p->count; i++)
            e->staging[i] = floats[i];
        e->backend->write(e->device, buffer, range, e->staging);
    }
}

void pada__visit_map(pada_engine *e, pada_state *s, const char *prefix, const pada_params *map,
                     void *buffer, float *floats)
{
    for (int i = 0; i < pada_params_count(map); i++) {
        const pada_param *p = pada_params_get(map, i);
        char name[sizeof p->name + 32];
        snprintf(name, sizeof name, "%s%s", prefix, p->name);
        visit_param(e, s, name, buffer, p, floats);
    }
}

void pada__visit_buffer(pada_engine *e, pada_state *s, const char *prefix, void *buffer,
                        float *floats)
{
    pada__visit_map(e, s, prefix, e->params, buffer, floats);
}

/* Running statistics, where they are kept. A checkpoint without them is of a run that has none, and goes on so. */
static void visit_statistics(pada_engine *e, pada_state *s, float *floats)
{
    uint8_t n = 1;

    if (pada_state_loading(s) && e->wanted_statistics == PADA_STATISTICS_RUNNING)
        e->statistics = pada_state_count(s, "engine/statistics") > 0 ? PADA_STATISTICS_RUNNING
                                                                     : PADA_STATISTICS_BATCH;
    if (e->statistics != PADA_STATISTICS_RUNNING) return;
    pada_state_array(s, "engine/statistics", PADA_STATE_U8, &n, 1);
    pada__visit_map(e, s, "", e->statistics_map, e->statistics_buffer, floats);
}

static void visit_sampled(pada_engine *e, pada_state *s, uint8_t *flags)
{
    for (int i = 0; i < e->n_groups; i++)
        flags[i] = e->groups[i].sampled;
    pada_state_array(s, "engine/sampled", PADA_STATE_U8, flags, e->n_groups);
    for (int i = 0; i < e->n_groups; i++)
        e->groups[i].sampled = flags[i] != 0;
}

void pada_engine_visit(pada_engine *e, pada_state *s)
{
    int64_t most = e->n_groups;
    void *scratch;

    PADA_ASSERT(e->mode == PADA_TRAIN);
    for (int i = 0; i < pada_params_count(e->params); i++) {
        const int64_t count = pada_params_get(e->params, i)->count;
        if (count > most) most = count;
    }
    most += pada_params_elements(e->statistics_map);
    const pada_status st = pada_calloc(&scratch, (size_t)most, sizeof(float));
    if (st != PADA_OK) {
        pada_state_reject(s, st);
        return;
    }
    pada__visit_buffer(e, s, "", e->weights, scratch);
    if (pada_state_loading(s)) pada__weights_changed(e);
    pada__states_visit(e, s, scratch);
    visit_sampled(e, s, scratch);
    visit_statistics(e, s, scratch);
    pada__log_visit(e, s);
    pada__ema_visit(e, s, scratch);
    if (e->variance.mean) {
        pada__visit_buffer(e, s, PADA_STATE_PREFIX "variance/mean/", e->variance.mean, scratch);
        pada__visit_buffer(e, s, PADA_STATE_PREFIX "variance/spread/", e->variance.spread, scratch);
        pada_state_array(s, "variance/counts", PADA_STATE_I64, e->variance.counts, e->n_groups);
    }
    pada_free(scratch);
}
