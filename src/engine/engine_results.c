/* engine_results.c - what passes say about their images: the last one, or many evaluations at once. */
#include <math.h>

#include "base/mem.h"
#include "engine/engine_state.h"

/* ---- room ---- */

pada_status pada__results_alloc(pada_engine *e, pada_results *results, int64_t n)
{
    const int64_t bytes = n * pada_dtype_bytes(e->backend->dtype);
    void *memory;

    PADA_TRY(e->backend->alloc(e->device, &results->loss, bytes));
    PADA_TRY(e->backend->alloc(e->device, &results->norm, bytes));
    PADA_TRY(e->backend->alloc(e->device, &memory, n * (int64_t)sizeof(int32_t)));
    results->rank = memory;
    return PADA_OK;
}

void pada__results_free(pada_engine *e, pada_results *results, int64_t n)
{
    void *buffers[] = {results->loss, results->norm, results->rank};
    const char *first = results->loss, *last = e->bindings.results.loss;

    if (last && first && last >= first && last < first + n * pada_dtype_bytes(e->backend->dtype)) {
        e->bindings.results = e->results;
        e->last_n = 0;
    }
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        if (buffers[i]) e->backend->release(e->device, buffers[i]);
    *results = (pada_results){0};
}

pada_results pada__results_from(const pada_engine *e, const pada_results *results, int64_t first)
{
    const int64_t bytes = first * pada_dtype_bytes(e->backend->dtype);

    return (pada_results){.loss = (char *)results->loss + bytes,
                          .norm = (char *)results->norm + bytes,
                          .rank = results->rank + first,
                          .align = e->results.align};
}

/* ---- the last pass ---- */

/* `losses` and `ranks` are room for n numbers each, and may be the same. */
static pada_status read_results(const pada_engine *e, const pada_results *from, int n,
                                double *losses, int32_t *ranks, pada_results_view *view)
{
    const pada_range all = {0, n};
    double sum = 0;

    *view = (pada_results_view){.n = n};
    e->backend->read(e->device, from->loss, all, losses);
    for (int i = 0; i < n; i++)
        sum += losses[i];
    e->backend->read_i32(e->device, from->rank, all, ranks);
    PADA_TRY(pada_backend_finish(e->backend, e->device));
    for (int i = 0; i < n; i++) {
        view->top1 += ranks[i] < 1;
        view->top5 += ranks[i] < 5;
    }
    view->loss = sum / n;
    if (!isfinite(view->loss)) return PADA_FAIL(PADA_ENUMERIC, "loss is %g", view->loss);
    return PADA_OK;
}

pada_status pada_engine_results(const pada_engine *e, pada_results_view *view)
{
    return read_results(e, &e->bindings.results, e->last_n, e->staging, (int32_t *)e->staging,
                        view);
}

void pada_engine_logits(const pada_engine *e, double *logits)
{
    const pada_program *program = pada__program(e);
    const pada_node *loss = &program->nodes[program->n_nodes - 1];
    const pada_place *place = &program->node_plans[loss->x].value;

    e->backend->unpack(e->device, (const char *)e->work + place->offset, e->last_n, loss->shape,
                       logits);
}

/* ---- many evaluations ---- */

void pada__tally_free(pada_engine *e)
{
    pada__results_free(e, &e->tally.results, e->tally.cap);
    pada_free(e->tally.losses);
    e->tally = (engine_tally){0};
}

static pada_status make_room(pada_engine *e, int n_images)
{
    engine_tally *tally = &e->tally;
    void *memory;

    PADA_TRY(pada__results_alloc(e, &tally->results, n_images));
    PADA_TRY(pada_calloc(&memory, (size_t)n_images, sizeof *tally->losses));
    tally->losses = memory;
    tally->cap = n_images;
    return PADA_OK;
}

pada_status pada_engine_tally_begin(pada_engine *e, int n_images)
{
    pada_status st = PADA_OK;

    PADA_ASSERT(n_images > 0);
    if (n_images > e->tally.cap) {
        pada__tally_free(e);
        if ((st = make_room(e, n_images)) != PADA_OK) pada__tally_free(e);
    }
    e->tally.n = 0;
    e->tally.open = st == PADA_OK;
    return st;
}

pada_results pada__tally_results(pada_engine *e, int n)
{
    const int first = e->tally.n;

    if (!e->tally.open) return e->results;
    PADA_ASSERT(first + n <= e->tally.cap);
    e->tally.n += n;
    return pada__results_from(e, &e->tally.results, first);
}

pada_status pada_engine_tally_end(pada_engine *e, pada_results_view *view)
{
    engine_tally *tally = &e->tally;

    PADA_ASSERT(tally->open);
    tally->open = false;
    *view = (pada_results_view){0};
    if (tally->n == 0) return PADA_OK;
    return read_results(e, &tally->results, tally->n, tally->losses, (int32_t *)tally->losses,
                        view);
}
