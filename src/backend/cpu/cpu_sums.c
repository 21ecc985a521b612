/* cpu_sums.c - what has to be added up over the batch: at the end of a stage, and what a team keeps for the end of a
 * pass. */
#include <string.h>

#include "backend/cpu/cpu_device.h"

/* Elements of a weight gradient added up in one go, so that the chunks' parts stay in L1. */
enum { REDUCE_SLICE = 512 };

/* The instructions [first, end) of a program that has run on a share of the batch. */
typedef struct ended {
    pada_device *d;
    const pada_program *q;
    const pada_bindings *b;
    const cpu_share *share;
    int first, end;
} ended;

/* Of the sums over the batch: in this order, since spreads are around the means. */
typedef enum phase { PHASE_SUMS, PHASE_SPREADS, PHASE_FINISH } phase;

bool pada_cpu_is_layer_grad(const pada_instr *instr)
{
    return instr->code == PADA_CODE_CONV_BWD || instr->code == PADA_CODE_LINEAR_BWD ||
           instr->code == PADA_CODE_CONSTANT_BWD;
}

int64_t pada_cpu_count_sums(const pada_program *q, const pada_instr *instr)
{
    const pada_node *node = &q->nodes[instr->v];
    int n_norms = 0;

    if (instr->code != PADA_CODE_NORM_SUMS) return instr->stats ? node->shape.c : 0;
    for (int t = node->first_term; t < node->first_term + node->n_terms; t++)
        n_norms += q->terms[t].kind == PADA_TERM_BATCHNORM;
    return (int64_t)(1 + n_norms) * node->shape.c;
}

/* ---- gradients of weights ---- */

static void add_vector(float *restrict to, const float *restrict from, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        to[i] += from[i];
}

/* The chunks' gradients of elements [first, end) of a tensor, added as a binary tree (cpu_norm.c). */
static const float *sum_partials(const ended *e, int64_t partial, int64_t first, int64_t end)
{
    const int64_t chunk = e->d->chunk_floats;
    const int n_chunks = e->share->end_chunk - e->share->first_chunk;
    float *parts = e->d->partials.data + e->share->first_chunk * chunk + partial + first;

    for (int step = 1; step < n_chunks; step *= 2)
        for (int i = 0; i < n_chunks; i += 2 * step)
            add_vector(parts + i * chunk, parts + (i + step) * chunk, end - first);
    return parts;
}

/* Does with the own sums of n elements of instruction i what is to be done: they are the gradient, or a part that is
 * kept until the end of the pass. `offset` is where they are among those of the instruction. */
static void put_sums(const ended *e, int i, int64_t offset, int64_t first, int64_t end, float *grad)
{
    const cpu_layer *layer = &e->d->layers[i];
    const float *sums = sum_partials(e, layer->partial + offset, first, end);

    if (e->d->team)
        memcpy(e->d->kept.data + layer->kept + offset + first, sums,
               (size_t)(end - first) * sizeof *sums);
    else
        add_vector(grad + first, sums, end - first);
}

/* Slice `slice` of the gradients of instruction i; false if it has fewer slices. */
static bool reduce_slice(const ended *e, int i, int slice)
{
    const pada_node *node = &e->q->nodes[e->q->instrs[i].v];
    const int64_t weights = e->d->layers[i].weights, first = (int64_t)slice * REDUCE_SLICE;
    const int64_t end = first + REDUCE_SLICE < weights ? first + REDUCE_SLICE : weights;
    float *grads = e->b->grads;

    if (slice == 0 && node->bias >= 0)
        put_sums(e, i, cpu_round_up(weights, CPU_UNIT), 0, node->shape.c, grads + node->bias);
    if (first >= weights) return false;
    put_sums(e, i, 0, first, end, grads + node->weight);
    return true;
}

/* Adds to the gradient what was kept of instruction i and is now of the whole batch. */
static void add_kept(const ended *e, int i)
{
    const pada_node *node = &e->q->nodes[e->q->instrs[i].v];
    const cpu_layer *layer = &e->d->layers[i];
    const float *kept = e->d->kept.data + layer->kept;
    float *grads = e->b->grads;

    if (node->bias >= 0)
        add_vector(grads + node->bias, kept + cpu_round_up(layer->weights, CPU_UNIT),
                   node->shape.c);
    if (layer->weights > 0) add_vector(grads + node->weight, kept, layer->weights);
}

/* Whether instruction k collects a gradient of the same weights as i. */
static bool shares_weights(const ended *e, int i, int k)
{
    const pada_program *q = e->q;

    return pada_cpu_is_layer_grad(&q->instrs[k]) &&
           q->nodes[q->instrs[k].v].weight == q->nodes[q->instrs[i].v].weight;
}

/* Several instructions may have the same weights; the first one adds up all of them. */
static void reduce_gradients(const ended *e, int i, bool were_kept)
{
    for (int k = e->first; k < i; k++)
        if (shares_weights(e, i, k)) return;
    for (int k = i; k < e->end; k++) {
        if (!shares_weights(e, i, k)) continue;
        if (were_kept)
            add_kept(e, k);
        else
            for (int slice = 0; reduce_slice(e, k, slice); slice++) {}
    }
}

/* ---- stages ---- */

static void run_phase(const ended *e, int i, phase now)
{
    const pada_instr *instr = &e->q->instrs[i];
    const int64_t offset = e->d->layers[i].sums;
    double *sums = (double *)e->d->sums.data + offset;
    double *spreads = (double *)e->d->spreads.data + offset;

    if (instr->stats && now == PHASE_SUMS) pada_cpu_add_moments(e->q, e->b, instr, e->share, sums);
    if (instr->stats && now == PHASE_SPREADS)
        pada_cpu_add_spreads(e->q, e->b, instr, e->share, sums, spreads);
    if (instr->stats && now == PHASE_FINISH)
        pada_cpu_finish_moments(e->q, e->b, instr, e->q->n_images, sums, spreads);
    if (instr->code == PADA_CODE_NORM_SUMS && now == PHASE_SUMS)
        pada_cpu_add_norm_sums(e->q, e->b, instr, e->share, sums);
    if (instr->code == PADA_CODE_NORM_SUMS && now == PHASE_FINISH)
        pada_cpu_finish_norm_sums(e->q, e->b, instr, e->q->n_images, sums);
    if (pada_cpu_is_layer_grad(instr) && now == PHASE_SUMS) reduce_gradients(e, i, false);
}

static void sums_item(void *context, int item, int thread)
{
    const ended *e = context;

    (void)thread;
    run_phase(e, e->first + item, PHASE_SUMS);
}

static void spreads_item(void *context, int item, int thread)
{
    const ended *e = context;

    (void)thread;
    run_phase(e, e->first + item, PHASE_SPREADS);
}

static void finish_item(void *context, int item, int thread)
{
    const ended *e = context;

    (void)thread;
    run_phase(e, e->first + item, PHASE_FINISH);
}

static void all_item(void *context, int item, int thread)
{
    sums_item(context, item, thread);
    spreads_item(context, item, thread);
    finish_item(context, item, thread);
}

static void kept_item(void *context, int item, int thread)
{
    const ended *e = context;

    (void)thread;
    if (pada_cpu_is_layer_grad(&e->q->instrs[e->first + item]))
        reduce_gradients(e, e->first + item, true);
}

/* Two messages for all values of a stage, or one for all of its norms: sums lie side by side. */
void pada_cpu_finish_stage(pada_device *d, const pada_program *q, const pada_bindings *b,
                           const pada_stage *stage, const cpu_share *share)
{
    ended e = {d, q, b, share, stage->first, stage->first + stage->count};
    int64_t n_sums = 0;
    bool has_moments = false;

    if (!d->team) {
        pada_pool_run(d->pool, stage->count, all_item, &e);
        return;
    }
    for (int i = e.first; i < e.end; i++) {
        n_sums += pada_cpu_count_sums(q, &q->instrs[i]);
        has_moments = has_moments || q->instrs[i].stats;
    }
    pada_pool_run(d->pool, stage->count, sums_item, &e);
    if (n_sums == 0) return;
    pada_cpu_join_doubles(d, share, (double *)d->sums.data, n_sums);
    if (has_moments) {
        pada_pool_run(d->pool, stage->count, spreads_item, &e);
        pada_cpu_join_doubles(d, share, (double *)d->spreads.data, n_sums);
    }
    pada_pool_run(d->pool, stage->count, finish_item, &e);
}

void pada_cpu_finish_backward(pada_device *d, const pada_program *q, const pada_bindings *b,
                              const cpu_share *share)
{
    const int first = q->stages[q->n_forward].first;
    ended e = {d, q, b, share, first, q->n_instrs};

    pada_cpu_join_floats(d, share, d->kept.data, d->kept_floats);
    pada_pool_run(d->pool, e.end - e.first, kept_item, &e);
}
