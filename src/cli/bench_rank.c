/* bench_rank.c - timing evaluations as a ranking makes them: several networks in flight. */
#include "cli/bench_rank.h"

#include "base/clock.h"
#include "engine/engine_weights.h"

static pada_status make_engine(pada_engine **out, const pada_bench_rank_desc *desc)
{
    PADA_TRY(pada_engine_create(out, desc->others));
    return pada_engine_init_weights(*out, desc->seed);
}

pada_status pada_bench_rank_init(pada_bench_rank *r, const pada_bench_rank_desc *desc)
{
    const pada_evaluator_desc evaluator = {
        .data = desc->data, .split = PADA_SPLIT_TRAIN, .batch_size = desc->others->batch_size};

    PADA_ASSERT(desc->n_workers >= 1 && desc->n_workers <= PADA_MAX_IN_FLIGHT);
    r->n_workers = desc->n_workers;
    r->workers[0].engine = desc->engine;
    for (int i = 0; i < r->n_workers; i++) {
        if (i > 0) PADA_TRY(make_engine(&r->workers[i].engine, desc));
        PADA_TRY(pada_evaluator_create(&r->workers[i].evaluator, &evaluator));
    }
    return pada_pool_create(&r->pool, r->n_workers);
}

void pada_bench_rank_deinit(pada_bench_rank *r)
{
    pada_pool_destroy(r->pool);
    for (int i = 0; i < r->n_workers; i++) {
        pada_evaluator_destroy(r->workers[i].evaluator);
        if (i > 0) pada_engine_destroy(r->workers[i].engine);
    }
}

typedef struct evaluation_job {
    const pada_bench_rank *rank;
    const pada_path *path;
    int burst;
} evaluation_job;

static pada_status evaluate(void *context, int worker, int thread)
{
    const evaluation_job *job = context;
    const pada_ranking_worker *w = &job->rank->workers[worker];
    pada_evaluation ignored;

    (void)thread;
    for (int i = 0; i < job->burst; i++)
        PADA_TRY(pada_evaluator_run(w->evaluator, w->engine, job->path, NULL, &ignored));
    return PADA_OK;
}

pada_status pada_bench_rank_time(pada_bench_rank *r, const pada_path *path, int burst, double *ms)
{
    evaluation_job job = {r, path, burst};
    const double start = pada_clock_seconds();

    PADA_TRY(pada_pool_try(r->pool, r->n_workers, evaluate, &job));
    *ms = 1e3 * (pada_clock_seconds() - start) / burst / r->n_workers;
    return PADA_OK;
}
