/* engine_gradients.c - gradients put aside, and their inner products. */
#include <math.h>

#include "engine/engine_state.h"

void pada__kept_grads_free(pada_engine *e)
{
    for (int k = 0; k < PADA_MAX_KEPT; k++)
        e->backend->release(e->device, e->kept_grads[k]);
}

int pada__kept_grads_count(const pada_engine *e)
{
    int n = 0;

    for (int k = 0; k < PADA_MAX_KEPT; k++)
        n += e->kept_grads[k] != NULL;
    return n;
}

pada_status pada_engine_keep_grad(pada_engine *e, int k)
{
    const pada_range all = {0, pada_params_elements(e->params)};

    PADA_ASSERT(e->mode == PADA_TRAIN && k >= 0 && k < PADA_MAX_KEPT);
    if (!e->kept_grads[k])
        PADA_TRY(e->backend->alloc(e->device, &e->kept_grads[k], e->buffer_bytes));
    /* All of it: what this gradient does not have is zero, whatever was kept before. */
    e->backend->copy(e->device, e->kept_grads[k], e->grads, &all, 1);
    return PADA_OK;
}

/* The ranges of a path but for those of a slot, in buffer order. */
static int list_path_ranges(const pada_engine *e, const pada_path *path, int without,
                            pada_range *ranges)
{
    int n = 0;

    for (int i = 0; i < e->n_groups; i++) {
        const param_group *g = &e->groups[i];
        if (g->site != PADA_SHARED && (e->space.ops->site_slot(&e->space, g->site) == without ||
                                       !pada_path_uses(&e->space, path, g->site, g->choice)))
            continue;
        ranges[n++] = g->range;
    }
    return n;
}

pada_status pada_engine_grad_products(pada_engine *e, const pada_path *path, int without, int n,
                                      double *products)
{
    const int n_ranges = list_path_ranges(e, path, without, e->moved);

    PADA_ASSERT(e->space.config.blocks == 0);
    for (int i = 0; i < n; i++)
        for (int k = 0; k <= i; k++) {
            double sum = 0;
            PADA_ASSERT(e->kept_grads[i] && e->kept_grads[k]);
            e->backend->dot(e->device, e->kept_grads[i], e->kept_grads[k], e->moved, n_ranges,
                            e->sums);
            for (int r = 0; r < n_ranges; r++)
                sum += e->sums[r];
            products[i * n + k] = products[k * n + i] = sum;
        }
    PADA_TRY(pada_backend_finish(e->backend, e->device)); /* the real reason, if any */
    for (int i = 0; i < n * n; i++)
        if (!isfinite(products[i]))
            return PADA_FAIL(PADA_ENUMERIC, "the inner product of gradients %d and %d is %g", i / n,
                             i % n, products[i]);
    return PADA_OK;
}
