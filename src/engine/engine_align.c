/* engine_align.c - passes whose features are kept, and passes that are pulled towards them. */
#include "engine/engine_state.h"

/* Room for the taps of a full batch, and for whatever any path needs to keep and compare them. */
static pada_status make_room(pada_engine *e)
{
    const int64_t size = pada_dtype_bytes(e->backend->dtype);
    const forward_options options = {.taps = true};
    pada_path path;

    if (e->taps) return PADA_OK;
    for (int i = 0; pada_space_extreme(&e->space, i, &path); i++) {
        PADA_TRY(pada__plan_path(e, &path, e->batch_size, PADA_EVAL, &options));
        PADA_TRY(pada__plan_path(e, &path, e->batch_size, PADA_TRAIN, &options));
    }
    if (!e->results.align)
        PADA_TRY(e->backend->alloc(e->device, &e->results.align, e->batch_size * size));
    const int64_t bytes = pada__program(e)->taps_bytes;
    if (bytes == 0)
        return PADA_FAIL(PADA_EUNSUPPORTED, "space %s has nothing to align", e->space.ops->name);
    PADA_TRY(e->backend->alloc(e->device, &e->taps, bytes));
    e->taps_bytes = bytes;
    return PADA_OK;
}

pada_status pada_engine_keep_taps(pada_engine *e, const pada_path *path, const pada_batch *batch)
{
    PADA_ASSERT(e->mode == PADA_TRAIN);
    if (e->shards.n > 0)
        return PADA_FAIL(PADA_EUNSUPPORTED,
                         "--norm local: features are compared over a whole batch");
    PADA_TRY(make_room(e));
    PADA_TRY(pada__forward(e, path, batch, PADA_EVAL, &(forward_options){.taps = true}));
    e->n_kept = batch->n;
    return PADA_OK;
}

pada_status pada_engine_forward_aligned(pada_engine *e, const pada_path *path,
                                        const pada_batch *batch, double factor)
{
    PADA_ASSERT(e->taps && e->n_kept == batch->n);
    return pada__forward(e, path, batch, PADA_TRAIN,
                         &(forward_options){.taps = true, .align = factor});
}
