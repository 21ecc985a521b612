/* engine_route.c - spaces with blocks: which block of weights each slot of a path runs. */
#include "base/mem.h"
#include "engine/engine_state.h"

pada_status pada__route_create(pada_engine *e)
{
    const pada_space *space = &e->space;
    void *memory;

    e->gate_first = pada_block_gate_first_param(e->params);
    if (e->gate_first < 0) return PADA_OK;
    PADA_TRY(
        pada_block_gate_create(&e->gate, space->ops->n_choices(space, 0), space->config.blocks));
    /* three channel vectors, of the widest convolution of a site, for every term of a probe */
    int64_t widest = 0;
    for (int i = 0; i < pada_params_count(e->params); i++) {
        const pada_param *p = pada_params_get(e->params, i);
        if (p->site != PADA_SHARED && p->dims[0] > widest) widest = p->dims[0];
    }
    widest =
        e->backend->channel_bytes(e->device, (int)widest) / pada_dtype_bytes(e->backend->dtype);
    PADA_TRY(pada_calloc(&memory, 3 * (size_t)(widest * space->ops->n_slots * space->config.blocks),
                         sizeof *e->probe_room));
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
    for (int i = 0; i < PADA_GATE_TENSORS; i++)
        pada_engine_read_weight(e, e->gate_first + i, pada_block_gate_weights(gate, i));
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
    const pada_program *q = pada_plan_program(e->plan);
    const int n = e->space.ops->n_slots * e->space.config.blocks;
    double terms[PADA_MAX_SLOTS * PADA_MAX_BLOCKS];

    for (int i = 0; i < n; i++)
        derivatives[i] = 0;
    for (int v = 0; v < q->n_nodes; v++) {
        if (q->nodes[v].op != PADA_OP_PROBE) continue;
        pada_program_probe(q, v, e->backend, e->device, e->work, e->probe_room, terms);
        for (int k = 0; k < q->nodes[v].n_terms; k++)
            derivatives[q->terms[q->nodes[v].first_term + k].mark] += terms[k];
    }
}

void pada_engine_add_grad(pada_engine *e, int param, const double *grad)
{
    const pada_param *p = pada_params_get(e->params, param);
    const pada_range range = {p->offset, p->count};

    PADA_ASSERT(p->site == PADA_SHARED && e->grads);
    e->backend->read(e->device, e->grads, range, e->staging);
    for (int64_t i = 0; i < p->count; i++)
        e->staging[i] += grad[i];
    e->backend->write(e->device, e->grads, range, e->staging);
}
