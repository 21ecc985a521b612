/* engine_inspect.c - numbers inside an engine that nothing but tests looks at. */
#include "engine/engine_inspect.h"

#include <math.h>

#include "engine/engine_state.h"

void pada_engine_losses(const pada_engine *e, double *losses)
{
    e->backend->read(e->device, e->bindings.results.loss, (pada_range){0, e->last_n}, losses);
}

void pada_engine_norms(const pada_engine *e, double *norms)
{
    e->backend->read(e->device, e->bindings.results.norm, (pada_range){0, e->last_n}, norms);
}

void pada_engine_distances(const pada_engine *e, double *distances)
{
    e->backend->read(e->device, e->results.align, (pada_range){0, e->last_n}, distances);
}

void pada_engine_read_grad(const pada_engine *e, int param, double *to)
{
    const pada_param *p = pada_params_get(e->params, param);

    PADA_ASSERT(e->mode == PADA_TRAIN);
    e->backend->read(e->device, e->grads, (pada_range){p->offset, p->count}, to);
}

double pada_engine_grad_norm(pada_engine *e, int site, int choice)
{
    const int group = e->group_of[site * e->most_choices + choice];
    double squares = 0;

    if (group < 0 || !e->groups[group].active) return 0;
    e->backend->sum_squares(e->device, e->grads, &e->groups[group].range, 1, &squares);
    return sqrt(squares);
}
