/* engine_blocks.c - spaces with blocks: which block of weights each slot of a path runs. */
#include "base/mem.h"
#include "engine/engine_state.h"

pada_status pada__route_create(pada_engine *e)
{
    const pada_space *space = &e->space;
    void *memory;

    if (pada_block_gate_first_param(e->params) < 0) return PADA_OK;
    PADA_TRY(
        pada_block_gate_create(&e->gate, space->ops->n_choices(space, 0), space->config.blocks));
    e->gate_range = pada_block_gate_range(e->params);
    /* three channel vectors, of the widest convolution of a site, for every term of a probe: a site is one
     * block of one cell */
    int64_t widest = 0;
    for (int i = 0; i < pada_params_count(e->params); i++) {
        const pada_param *p = pada_params_get(e->params, i);
        if (p->site != PADA_SHARED && p->dims[0] > widest) widest = p->dims[0];
    }
    widest =
        e->backend->channel_bytes(e->device, (int)widest) / pada_dtype_bytes(e->backend->dtype);
    const int64_t n_terms = (int64_t)space->ops->n_sites(space) * space->ops->n_slots;
    PADA_TRY(pada_calloc(&memory, (size_t)(3 * widest * n_terms), sizeof *e->probe_room));
    e->probe_room = memory;
    return PADA_OK;
}

void pada__route_free(pada_engine *e)
{
    pada_block_gate_destroy(e->gate);
    pada_free(e->probe_room);
}

void pada_engine_read_gate(const pada_engine *e, pada_block_gate *gate)
{
    e->backend->read(e->device, e->weights, e->gate_range, pada_block_gate_weights(gate, 0));
}

/* The block with the highest logit, the first of equals. */
static int best_block(const double *logits, int n)
{
    int best = 0;

    for (int i = 1; i < n; i++)
        if (logits[i] > logits[best]) best = i;
    return best;
}

void pada__route(pada_engine *e, const pada_path *path, pada_path *out)
{
    const pada_space *space = &e->space;
    const int n_blocks = space->config.blocks;
    double logits[PADA_GATE_MAX_EDGES * PADA_MAX_BLOCKS];
    pada_gate_cell cell;

    *out = *path;
    for (int slot = 0; slot < space->ops->n_slots && n_blocks > 0; slot++)
        out->choice[space->ops->n_slots + slot] = 0;
    if (!e->gate) return;
    if (!e->gate_is_read) {
        pada_engine_read_gate(e, e->gate);
        e->gate_is_read = true;
    } else if (pada_path_equal(space, path, &e->routed)) {
        *out = e->routed;
        return;
    }
    space->ops->gate_cell(space, path, &cell);
    pada_block_gate_forward(e->gate, &cell, NULL, logits);
    for (int k = 0; k < cell.n_edges; k++)
        out->choice[space->ops->n_slots + cell.slot[k]] =
            (uint8_t)best_block(logits + (int64_t)k * n_blocks, n_blocks);
    e->routed = *out;
}

void pada__weights_changed(pada_engine *e)
{
    e->gate_is_read = false;
}

pada_status pada_engine_forward_routed(pada_engine *e, const pada_path *path,
                                       const pada_batch *batch, int n_probes)
{
    PADA_ASSERT(e->space.config.blocks > 0 && n_probes <= e->space.config.blocks);
    return pada__forward(e, path, batch, PADA_TRAIN,
                         &(forward_options){.routed = true, .probes = n_probes});
}

void pada_engine_probes(const pada_engine *e, double *derivatives)
{
    const pada_program *q = pada__program(e);
    const int n = e->space.ops->n_slots * e->space.config.blocks;

    for (int i = 0; i < n; i++)
        derivatives[i] = 0;
    pada_program_probes(q, e->backend, e->device, e->work, e->probe_room, derivatives);
}

void pada_engine_write_gate_grad(pada_engine *e, pada_block_gate *gate)
{
    PADA_ASSERT(e->grads);
    e->backend->write(e->device, e->grads, e->gate_range, pada_block_gate_grads(gate, 0));
}
