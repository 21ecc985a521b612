/* engine_plan.c - the programs of paths, kept as long as the same network comes again.
 *
 * Two are kept: those of the full batches and of the last, smaller one, so that a network which is
 * evaluated on many batches is planned once for each. A device is prepared for one program only;
 * going back to the other one prepares it again, which is all that an unchanged plan costs. */
#include <string.h>

#include "engine/engine_state.h"

pada_status pada__plans_create(pada_engine *e, int cap_nodes, int cap_terms)
{
    for (int i = 0; i < N_PLANS; i++) {
        PADA_TRY(pada_graph_create(&e->plans[i].graph, cap_nodes, cap_terms));
        PADA_TRY(pada_plan_create(&e->plans[i].plan, cap_nodes, cap_terms));
    }
    return PADA_OK;
}

void pada__plans_free(pada_engine *e)
{
    for (int i = 0; i < N_PLANS; i++) {
        pada_plan_destroy(e->plans[i].plan);
        pada_graph_destroy(e->plans[i].graph);
    }
}

const pada_program *pada__program(const pada_engine *e)
{
    return pada_plan_program(e->plans[e->current].plan);
}

static bool is_same(const plan_key *a, const plan_key *b)
{
    return a->n_images == b->n_images && a->mode == b->mode && a->taps == b->taps &&
           a->probes == b->probes && a->has_statistics == b->has_statistics &&
           a->fixed_norms == b->fixed_norms && a->label_smoothing == b->label_smoothing &&
           a->drops == b->drops && memcmp(&a->path, &b->path, sizeof a->path) == 0;
}

/* Builds, simplifies and plans a network. */
static pada_status make_plan(pada_engine *e, kept_plan *to, const plan_key *key)
{
    to->key.n_images = 0; /* until it is done */
    pada_graph_reset(to->graph);
    to->graph->taps = key->taps;
    to->graph->probes = key->probes;
    to->graph->statistics = key->has_statistics ? e->statistics_map : NULL;
    to->graph->fixed_norms = key->fixed_norms;
    to->graph->label_smoothing = key->label_smoothing;
    to->graph->auxiliary = key->mode == PADA_TRAIN;
    to->graph->drops = key->drops;
    pada_space_build(&e->space, e->params, &key->path, to->graph);
    PADA_TRY(pada_graph_status(to->graph));
    pada_graph_simplify(to->graph);
    pada_plan_build(to->plan, to->graph, e->backend, e->device, key->n_images,
                    key->mode == PADA_TRAIN);
    to->key = *key;
    return PADA_OK;
}

static pada_status make_work_room(pada_engine *e, int64_t bytes)
{
    void *work;

    if (bytes <= e->work_bytes) return PADA_OK;
    PADA_TRY(e->backend->alloc(e->device, &work, bytes));
    e->backend->release(e->device, e->work);
    e->work = work;
    e->work_bytes = bytes;
    return PADA_OK;
}

pada_status pada__plan_path(pada_engine *e, const pada_path *path, int n_images, pada_mode mode,
                            const forward_options *options)
{
    const plan_key key = {*path,
                          n_images,
                          mode,
                          options->taps,
                          options->probes,
                          e->statistics != PADA_STATISTICS_BATCH,
                          pada__statistics_are_read(e, mode, options),
                          mode == PADA_TRAIN ? e->label_smoothing : 0,
                          mode == PADA_TRAIN ? e->dropped : 0};
    int i = e->current;

    if (e->is_prepared && is_same(&e->plans[i].key, &key)) return PADA_OK;
    for (int k = 0; k < N_PLANS; k++)
        if (is_same(&e->plans[k].key, &key)) i = k;
    if (!is_same(&e->plans[i].key, &key)) {
        i = (e->current + 1) % N_PLANS;
        PADA_TRY(make_plan(e, &e->plans[i], &key));
    }
    e->current = i;
    e->is_prepared = false;
    PADA_TRY(make_work_room(e, pada__program(e)->work_bytes));
    PADA_TRY(e->backend->prepare(e->device, pada__program(e)));
    e->is_prepared = true;
    return PADA_OK;
}
