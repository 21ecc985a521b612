/* trial.c - a network with fresh weights, run as scores without training want it. */
#include "engine/trial.h"

#include <math.h>

#include "base/mem.h"

/* ---- room ---- */

static int64_t element_bytes(const pada_trial *t)
{
    return pada_dtype_bytes(t->backend->dtype);
}

/* Replaces a buffer of the backend that is too small; its contents are not kept. */
static pada_status make_room(const pada_trial *t, void **buffer, int64_t *have, int64_t need)
{
    void *memory;

    if (need <= *have) return PADA_OK;
    PADA_TRY(t->backend->alloc(t->device, &memory, need));
    t->backend->release(t->device, *buffer);
    *buffer = memory;
    *have = need;
    return PADA_OK;
}

static int64_t aligned(int64_t count)
{
    return (count + PADA_PARAM_ALIGN - 1) / PADA_PARAM_ALIGN * PADA_PARAM_ALIGN;
}

static pada_status make_weights(pada_trial *t, int64_t count)
{
    int64_t bytes = t->n_weights * element_bytes(t), same = bytes;

    if (count <= t->n_weights) return PADA_OK;
    PADA_TRY(make_room(t, &t->weights, &bytes, count * element_bytes(t)));
    t->n_weights = 0; /* until both are there */
    PADA_TRY(make_room(t, &t->grads, &same, count * element_bytes(t)));
    t->n_weights = count;
    return PADA_OK;
}

static pada_status make_graphs(pada_trial *t, const pada_net_room *room)
{
    /* every value may be kept, and a block may have an input and a head of its own */
    const int nodes = 2 * room->nodes + 8, terms = room->terms + 8;

    if (nodes <= t->cap_nodes && terms <= t->cap_terms) return PADA_OK;
    pada_graph_destroy(t->graph);
    pada_graph_destroy(t->part);
    pada_plan_destroy(t->plan);
    t->graph = t->part = NULL;
    t->plan = NULL;
    t->cap_nodes = t->cap_terms = 0;
    PADA_TRY(pada_graph_create(&t->graph, nodes, terms));
    PADA_TRY(pada_graph_create(&t->part, nodes, terms));
    PADA_TRY(pada_plan_create(&t->plan, nodes, terms));
    t->cap_nodes = nodes;
    t->cap_terms = terms;
    return PADA_OK;
}

static pada_status make_results(pada_trial *t, int n)
{
    void *memory,
        *buffers[] = {t->results.loss, t->results.norm, t->results.align, t->results.rank};

    if (n <= t->cap_images) return PADA_OK;
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        t->backend->release(t->device, buffers[i]);
    t->results = (pada_results){0};
    t->cap_images = 0;
    PADA_TRY(t->backend->alloc(t->device, &t->results.loss, n * element_bytes(t)));
    PADA_TRY(t->backend->alloc(t->device, &t->results.norm, n * element_bytes(t)));
    PADA_TRY(t->backend->alloc(t->device, &t->results.align, n * element_bytes(t)));
    PADA_TRY(t->backend->alloc(t->device, &memory, n * (int64_t)sizeof(int32_t)));
    t->results.rank = memory;
    t->cap_images = n;
    return PADA_OK;
}

pada_status pada_trial_create(pada_trial **out, const pada_backend *backend, int n_threads)
{
    void *mem;

    *out = NULL;
    PADA_TRY(pada_calloc(&mem, 1, sizeof **out));
    pada_trial *t = mem;
    t->backend = backend;
    const pada_status st = backend->open(&t->device, n_threads);
    if (st != PADA_OK) {
        pada_free(t);
        return st;
    }
    *out = t;
    return PADA_OK;
}

void pada_trial_destroy(pada_trial *t)
{
    if (!t) return;
    void *buffers[] = {t->weights,      t->grads,         t->work,         t->taps,
                       t->results.loss, t->results.align, t->results.norm, t->results.rank};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        t->backend->release(t->device, buffers[i]);
    pada_plan_destroy(t->plan);
    pada_graph_destroy(t->graph);
    pada_graph_destroy(t->part);
    pada_params_destroy(t->params);
    t->backend->close(t->device);
    pada_free(t->staging);
    pada_free(t);
}

/* ---- the network ---- */

pada_status pada_trial_take(pada_trial *t, const pada_space *space)
{
    pada_net_room room;
    int64_t largest;
    void *mem;

    PADA_ASSERT(space->is_final);
    t->space = *space;
    pada_params_destroy(t->params);
    t->params = NULL;
    PADA_TRY(pada_params_create(&t->params));
    PADA_TRY(pada_space_declare(space, t->params));
    PADA_TRY(pada_space_measure(space, &room));
    PADA_TRY(make_graphs(t, &room));
    t->extra = pada_params_elements(t->params);
    largest = pada_params_largest(t->params);
    if (largest > t->cap_staging) {
        PADA_TRY(pada_calloc(&mem, (size_t)largest, sizeof *t->staging));
        pada_free(t->staging);
        t->staging = mem;
        t->cap_staging = largest;
    }
    return make_weights(t, t->extra);
}

pada_status pada_trial_reserve(pada_trial *t, int64_t count)
{
    const pada_range range = {t->extra, aligned(count)};

    PADA_TRY(make_weights(t, t->extra + aligned(count)));
    t->backend->fill_zero(t->device, t->weights, &range, 1);
    return PADA_OK;
}

pada_status pada_trial_init_weights(pada_trial *t, uint64_t seed, double scale, bool absolute)
{
    for (int i = 0; i < pada_params_count(t->params); i++) {
        const pada_param *p = pada_params_get(t->params, i);
        const double factor = p->n_dims > 1 ? scale : 1;

        pada_params_draw(t->params, i, seed, t->staging);
        for (int64_t k = 0; k < p->count; k++)
            t->staging[k] = (absolute ? fabs(t->staging[k]) : t->staging[k]) * factor;
        pada_trial_write_weights(t, p->offset, p->count, t->staging);
    }
    return PADA_OK;
}

void pada_trial_write_weights(pada_trial *t, int64_t offset, int64_t count, const double *from)
{
    t->backend->write(t->device, t->weights, (pada_range){offset, count}, from);
}

pada_status pada_trial_build(pada_trial *t, pada_graph *graph, bool taps)
{
    pada_graph_reset(graph);
    graph->taps = graph->boundaries = taps;
    graph->probes = 0;
    graph->statistics = NULL;
    graph->fixed_norms = false;
    graph->label_smoothing = 0;
    graph->auxiliary = false;
    graph->drops = 0;
    pada_space_build(&t->space, t->params, &t->space.network, graph);
    return pada_graph_status(graph);
}

/* ---- running ---- */

pada_status pada_trial_plan(pada_trial *t, pada_graph *graph, int n_images, bool train)
{
    const pada_range all = {0, t->n_weights};

    PADA_TRY(pada_graph_status(graph));
    pada_graph_simplify(graph);
    pada_plan_build(t->plan, graph, t->backend, t->device, n_images, train);
    const pada_program *program = pada_plan_program(t->plan);
    PADA_TRY(make_room(t, &t->work, &t->work_bytes, program->work_bytes));
    PADA_TRY(make_room(t, &t->taps, &t->taps_bytes, program->taps_bytes));
    PADA_TRY(make_results(t, n_images));
    if (train) t->backend->fill_zero(t->device, t->grads, &all, 1);
    t->n_images = n_images;
    return t->backend->prepare(t->device, program);
}

void pada_trial_forward(pada_trial *t, const pada_batch *batch, double align)
{
    const pada_program *program = pada_plan_program(t->plan);

    PADA_ASSERT(batch->n == t->n_images && batch->images);
    t->bindings = (pada_bindings){.params = t->weights,
                                  .grads = t->grads,
                                  .work = t->work,
                                  .images = batch->images,
                                  .labels = batch->labels,
                                  .grad_scale = 1,
                                  .taps = t->taps,
                                  .align = align,
                                  .results = t->results};
    t->backend->run(t->device, program, &t->bindings, 0, program->n_forward);
}

/* Where a value lies, or the gradient of one. */
static void *address(const pada_trial *t, const pada_place *place)
{
    PADA_ASSERT(place->in == PADA_WORK || place->in == PADA_TAPS);
    return (char *)(place->in == PADA_TAPS ? t->taps : t->work) + place->offset;
}

/* The gradient of the logits is there before the backward part begins: it can be replaced. */
static void seed_logits(pada_trial *t, const pada_program *program, const double *seed)
{
    for (int v = 0; v < program->n_nodes; v++) {
        const pada_node *node = &program->nodes[v];
        if (node->op != PADA_OP_LOSS) continue;
        t->backend->pack(t->device, address(t, &program->node_plans[node->x].grad), t->n_images,
                         node->shape, seed);
    }
}

void pada_trial_backward(pada_trial *t, const double *seed)
{
    const pada_program *program = pada_plan_program(t->plan);

    if (seed) seed_logits(t, program, seed);
    t->backend->run(t->device, program, &t->bindings, program->n_forward,
                    program->n_stages - program->n_forward);
}

/* ---- what is left behind ---- */

int pada_trial_n_taps(const pada_trial *t)
{
    return pada_plan_program(t->plan)->n_taps;
}

static int find_tap(const pada_trial *t, int tap)
{
    const pada_program *program = pada_plan_program(t->plan);
    int v = -1;

    for (int k = -1; k < tap;)
        k += program->nodes[++v].op == PADA_OP_TAP;
    return v;
}

pada_shape pada_trial_tap_shape(const pada_trial *t, int tap)
{
    return pada_plan_program(t->plan)->nodes[find_tap(t, tap)].shape;
}

void pada_trial_read_tap(const pada_trial *t, int tap, double *to)
{
    const pada_program *program = pada_plan_program(t->plan);
    const int v = find_tap(t, tap);

    t->backend->unpack(t->device, address(t, &program->node_plans[v].value), t->n_images,
                       program->nodes[v].shape, to);
}

void pada_trial_write_tap(pada_trial *t, int tap, const double *from)
{
    const pada_program *program = pada_plan_program(t->plan);
    const int v = find_tap(t, tap);

    t->backend->pack(t->device, address(t, &program->node_plans[v].value), t->n_images,
                     program->nodes[v].shape, from);
}

double pada_trial_grad_norm(pada_trial *t, int param)
{
    const pada_param *p = pada_params_get(t->params, param);
    const pada_range range = {p->offset, p->count};
    double squares;

    t->backend->sum_squares(t->device, t->grads, &range, 1, &squares);
    return sqrt(squares);
}

void pada_trial_read_grads(const pada_trial *t, int64_t offset, int64_t count, double *to)
{
    t->backend->read(t->device, t->grads, (pada_range){offset, count}, to);
}

void pada_trial_read_weights(const pada_trial *t, int64_t offset, int64_t count, double *to)
{
    t->backend->read(t->device, t->weights, (pada_range){offset, count}, to);
}
