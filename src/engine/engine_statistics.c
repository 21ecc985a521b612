/* engine_statistics.c - running statistics of batch norms: what training keeps, or what is collected for a path. */
#include "engine/engine_statistics.h"

#include <string.h>

#include "engine/engine_state.h"

static const double momentum = 0.1; /* of training, as in PyTorch */

const char *pada_statistics_name(pada_statistics statistics)
{
    static const char *const names[] = {"batch", "running", "recalibrated"};

    return names[statistics];
}

pada_statistics pada_engine_statistics(const pada_engine *e)
{
    return e->statistics;
}

const pada_params *pada_engine_statistics_map(const pada_engine *e)
{
    return e->statistics_map;
}

/* ---- the buffer ---- */

pada_status pada__statistics_create(pada_engine *e)
{
    PADA_TRY(pada_params_create(&e->statistics_map));
    PADA_TRY(pada_space_declare_statistics(&e->space, e->statistics_map));
    /* a network without batch norms has none to keep */
    if (pada_params_count(e->statistics_map) == 0)
        e->wanted_statistics = e->statistics = PADA_STATISTICS_BATCH;
    if (e->wanted_statistics == PADA_STATISTICS_BATCH) return PADA_OK;
    /* the slots that run a block see different values, and would move the same statistics */
    if (e->space.config.blocks > 0)
        return PADA_FAIL(PADA_EINVAL, "no %s statistics where slots share blocks of weights",
                         pada_statistics_name(e->wanted_statistics));
    return e->backend->alloc(e->device, &e->statistics_buffer,
                             pada_params_elements(e->statistics_map) *
                                 pada_dtype_bytes(e->backend->dtype));
}

void pada__statistics_free(pada_engine *e)
{
    if (e->statistics_buffer) e->backend->release(e->device, e->statistics_buffer);
    e->statistics_buffer = NULL;
}

static bool ends_with(const char *text, const char *end)
{
    const size_t n = strlen(text), n_end = strlen(end);

    return n >= n_end && strcmp(text + n - n_end, end) == 0;
}

void pada__statistics_reset(pada_engine *e)
{
    /* Fresh weights that are not trained here are evaluated by the batch. */
    e->statistics = e->wanted_statistics == PADA_STATISTICS_RUNNING && e->mode == PADA_EVAL
                        ? PADA_STATISTICS_BATCH
                        : e->wanted_statistics;
    if (!e->statistics_buffer) return;
    for (int i = 0; i < pada_params_count(e->statistics_map); i++) {
        const pada_param *p = pada_params_get(e->statistics_map, i);
        for (int64_t k = 0; k < p->count; k++)
            e->staging[k] = p->centre;
        e->backend->write(e->device, e->statistics_buffer, (pada_range){p->offset, p->count},
                          e->staging);
    }
}

bool pada__statistics_have(const pada_engine *e, const char *name)
{
    /* PyTorch counts batches, which nobody needs to know. */
    return pada_params_find(e->statistics_map, name) >= 0 ||
           ends_with(name, ".num_batches_tracked");
}

void pada_engine_read_statistic(const pada_engine *e, int id, double *to)
{
    const pada_param *p = pada_params_get(e->statistics_map, id);

    PADA_ASSERT(e->statistics_buffer);
    e->backend->read(e->device, e->statistics_buffer, (pada_range){p->offset, p->count}, to);
}

uint64_t pada_engine_statistics_hash(const pada_engine *e)
{
    if (e->statistics != PADA_STATISTICS_RUNNING) return 0;
    return pada__hash_buffer(e, e->statistics_buffer, e->statistics_map);
}

/* ---- passes ---- */

bool pada__statistics_are_read(const pada_engine *e, pada_mode mode, const forward_options *options)
{
    return e->statistics != PADA_STATISTICS_BATCH && mode == PADA_EVAL && options->share == 0;
}

void pada__statistics_bind(const pada_engine *e, pada_mode mode, const forward_options *options,
                           pada_bindings *bindings)
{
    const bool is_kept = mode == PADA_EVAL || e->statistics == PADA_STATISTICS_RUNNING;

    if (e->statistics == PADA_STATISTICS_BATCH || !is_kept) return;
    bindings->statistics = e->statistics_buffer;
    bindings->momentum = mode == PADA_TRAIN ? momentum : options->share;
}

pada_status pada_engine_collect_statistics(pada_engine *e, const pada_path *path,
                                           const pada_batch *batch, double share)
{
    PADA_ASSERT(e->statistics == PADA_STATISTICS_RECALIBRATED && share > 0 && share <= 1);
    return pada__forward(e, path, batch, PADA_EVAL, &(forward_options){.share = share});
}
