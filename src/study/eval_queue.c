/* eval_queue.c - many evaluations, several of them in flight. */
#include "study/eval_queue.h"

#include <pthread.h>

#include "base/mem.h"
#include "base/pool.h"

struct pada_eval_queue {
    const pada_eval_worker *workers; /* borrowed */
    int n_workers;
    pada_pool *pool; /* a thread for each */

    /* Of a run. The lock is for take, keep and has_failed. */
    const pada_eval_jobs *jobs;
    pthread_mutex_t lock;
    bool has_failed;
};

int pada_eval_in_flight(const pada_backend *backend, int asked, int n_networks)
{
    const int wanted = asked > 0 ? asked : pada_backend_in_flight(backend);

    return wanted < n_networks ? wanted : n_networks;
}

pada_status pada_eval_queue_create(pada_eval_queue **out, const pada_eval_worker *workers,
                                   int n_workers)
{
    void *memory;

    PADA_ASSERT(n_workers >= 1);
    *out = NULL;
    PADA_TRY(pada_calloc(&memory, 1, sizeof **out));
    pada_eval_queue *q = memory;
    q->workers = workers;
    q->n_workers = n_workers;
    const pada_status st = pada_pool_create(&q->pool, n_workers);
    if (st != PADA_OK) {
        pada_free(q);
        return st;
    }
    pthread_mutex_init(&q->lock, NULL); /* fails for attributes only */
    *out = q;
    return PADA_OK;
}

void pada_eval_queue_destroy(pada_eval_queue *q)
{
    if (!q) return;
    pada_pool_destroy(q->pool);
    pthread_mutex_destroy(&q->lock);
    pada_free(q);
}

/* The part that workers do at the same time. */
static pada_status evaluate(const pada_eval_queue *q, int worker, int job, const pada_path *path,
                            pada_evaluation *found)
{
    const pada_eval_worker *w = &q->workers[worker];

    if (q->jobs->enter) PADA_TRY(q->jobs->enter(q->jobs->user, job, worker, w->engine));
    return pada_evaluator_run(w->evaluator, w->engine, path, NULL, found);
}

/* Evaluates networks until none is left for this worker. */
static pada_status work(void *context, int worker, int thread)
{
    pada_eval_queue *q = context;
    const pada_eval_jobs *jobs = q->jobs;
    pada_status st = PADA_OK;
    const pada_path *path;
    pada_evaluation found;
    int job;

    (void)thread;
    pthread_mutex_lock(&q->lock);
    while (!q->has_failed && (path = jobs->take(jobs->user, &job))) {
        pthread_mutex_unlock(&q->lock);
        st = evaluate(q, worker, job, path, &found);
        pthread_mutex_lock(&q->lock);
        if (q->has_failed) break; /* nothing is kept behind what may be half a line */
        if (st == PADA_OK) st = jobs->keep(jobs->user, job, &found);
        q->has_failed = st != PADA_OK;
    }
    pthread_mutex_unlock(&q->lock);
    return st;
}

pada_status pada_eval_queue_run(pada_eval_queue *q, const pada_eval_jobs *jobs)
{
    q->jobs = jobs;
    q->has_failed = false;
    return pada_pool_try(q->pool, q->n_workers, work, q);
}
