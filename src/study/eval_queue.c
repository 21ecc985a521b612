/* eval_queue.c - many evaluations, several of them in flight. */
#include "study/eval_queue.h"

#include "base/mem.h"
#include "base/pool.h"

struct pada_eval_queue {
    pada_eval_queue_desc desc;
    pada_pool *pool; /* a thread for each worker */
};

int pada_eval_in_flight(const pada_backend *backend, int asked, int n_networks)
{
    const int wanted = asked > 0 ? asked : pada_backend_in_flight(backend);

    return wanted < n_networks ? wanted : n_networks;
}

pada_status pada_eval_farm_open(pada_farm **out, pada_team *team, int n_workers,
                                const volatile sig_atomic_t *stop)
{
    return pada_farm_open(out, &(pada_farm_desc){.team = team,
                                                 .task_bytes = sizeof(pada_eval_task),
                                                 .result_bytes = sizeof(pada_eval_result),
                                                 .ahead = n_workers,
                                                 .stop = stop});
}

pada_status pada_eval_queue_create(pada_eval_queue **out, const pada_eval_queue_desc *desc)
{
    void *memory;

    PADA_ASSERT(desc->n_workers >= 1 && desc->farm);
    *out = NULL;
    PADA_TRY(pada_calloc(&memory, 1, sizeof **out));
    pada_eval_queue *q = memory;
    q->desc = *desc;
    const pada_status st = pada_pool_create(&q->pool, desc->n_workers);
    if (st != PADA_OK) {
        pada_free(q);
        return st;
    }
    *out = q;
    return PADA_OK;
}

void pada_eval_queue_destroy(pada_eval_queue *q)
{
    if (!q) return;
    pada_pool_destroy(q->pool);
    pada_free(q);
}

static pada_status evaluate(const pada_eval_queue_desc *desc, int worker,
                            const pada_eval_task *task, pada_eval_result *found)
{
    const pada_eval_worker *w = &desc->workers[worker];

    pada_evaluation counted;

    if (desc->enter) PADA_TRY(desc->enter(desc->user, task, worker, w->engine));
    PADA_TRY(pada_evaluator_run(w->evaluator, w->engine, &task->path, NULL, &counted));
    *found = (pada_eval_result){.top1 = counted.top1, .loss = counted.loss};
    if (pada_evaluator_has_margins(w->evaluator))
        found->margin = pada_evaluator_margin(w->evaluator);
    return PADA_OK;
}

/* Evaluates networks until none is left for this worker. */
static pada_status work(void *context, int worker, int thread)
{
    const pada_eval_queue *q = context;
    pada_eval_result found;
    pada_eval_task task;

    (void)thread;
    const pada_status ready = pada_engine_adopt(q->desc.workers[worker].engine);
    if (ready != PADA_OK) return pada_farm_fail(q->desc.farm, ready);
    while (pada_farm_take(q->desc.farm, &task)) {
        const pada_status st = evaluate(&q->desc, worker, &task, &found);
        if (st != PADA_OK) return pada_farm_fail(q->desc.farm, st);
        PADA_TRY(pada_farm_keep(q->desc.farm, &task, &found));
    }
    return PADA_OK;
}

pada_status pada_eval_queue_run(pada_eval_queue *q)
{
    return pada_pool_try(q->pool, q->desc.n_workers, work, q);
}
