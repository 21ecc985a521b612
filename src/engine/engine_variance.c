/* engine_variance.c - how much the gradient of each parameter varies over the steps that use it. */
#include <math.h>

#include "base/mem.h"
#include "engine/engine_state.h"

void pada__variance_free(pada_engine *e)
{
    if (e->device) {
        e->backend->release(e->device, e->variance.mean);
        e->backend->release(e->device, e->variance.spread);
    }
    pada_free(e->variance.counts);
    pada_free(e->variance.range_counts);
    e->variance = (engine_variance){0};
}

static pada_status make_room(pada_engine *e)
{
    engine_variance *v = &e->variance;
    void *memory;

    PADA_TRY(e->backend->alloc(e->device, &v->mean, e->buffer_bytes));
    PADA_TRY(e->backend->alloc(e->device, &v->spread, e->buffer_bytes));
    PADA_TRY(pada_calloc(&memory, (size_t)e->n_groups, sizeof *v->counts));
    v->counts = memory;
    PADA_TRY(pada_calloc(&memory, (size_t)e->n_groups, sizeof *v->range_counts));
    v->range_counts = memory;
    return PADA_OK;
}

pada_status pada_engine_variance_begin(pada_engine *e)
{
    const pada_range all = {0, pada_params_elements(e->params)};

    PADA_ASSERT(e->mode == PADA_TRAIN);
    if (!e->variance.mean) {
        const pada_status st = make_room(e);
        if (st != PADA_OK) {
            pada__variance_free(e);
            return st;
        }
    }
    e->backend->fill_zero(e->device, e->variance.mean, &all, 1);
    e->backend->fill_zero(e->device, e->variance.spread, &all, 1);
    for (int i = 0; i < e->n_groups; i++)
        e->variance.counts[i] = 0;
    return PADA_OK;
}

void pada__variance_add(pada_engine *e, int n_active)
{
    engine_variance *v = &e->variance;
    int k = 0;

    if (!v->mean) return;
    for (int i = 0; i < e->n_groups; i++)
        if (e->groups[i].active) v->range_counts[k++] = ++v->counts[i];
    PADA_ASSERT(k == n_active);
    e->backend->welford(e->device, v->mean, v->spread, e->grads, e->active, v->range_counts, k);
}

/* The group that a parameter belongs to. Shared ones come first, a group each, in their order. */
static int group_of(const pada_engine *e, int param)
{
    const pada_param *p = pada_params_get(e->params, param);

    return p->site == PADA_SHARED ? param : e->group_of[p->site * e->most_choices + p->choice];
}

void pada_engine_variance_read(const pada_engine *e, pada_variance *out)
{
    const engine_variance *v = &e->variance;
    double sums[2] = {0, 0}; /* shared, candidates */
    int64_t elements[2] = {0, 0};

    PADA_ASSERT(v->mean);
    for (int i = 0; i < pada_params_count(e->params); i++) {
        const pada_param *p = pada_params_get(e->params, i);
        const int64_t count = v->counts[group_of(e, i)];
        const int candidate = p->site != PADA_SHARED;
        double sum = 0;
        if (count == 0) continue;
        e->backend->read(e->device, v->spread, (pada_range){p->offset, p->count}, e->staging);
        for (int64_t k = 0; k < p->count; k++)
            sum += e->staging[k];
        sums[candidate] += sum / (double)count;
        elements[candidate] += p->count;
    }
    const int64_t all = elements[0] + elements[1];
    out->candidates = elements[1] > 0 ? sums[1] / (double)elements[1] : NAN;
    out->all = all > 0 ? (sums[0] + sums[1]) / (double)all : NAN;
}
