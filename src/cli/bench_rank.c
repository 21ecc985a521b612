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
    return pada_eval_queue_create(&r->queue, r->workers, r->n_workers);
}

void pada_bench_rank_deinit(pada_bench_rank *r)
{
    pada_eval_queue_destroy(r->queue);
    for (int i = 0; i < r->n_workers; i++) {
        pada_evaluator_destroy(r->workers[i].evaluator);
        if (i > 0) pada_engine_destroy(r->workers[i].engine);
    }
}

/* The same network again and again. */
typedef struct repeats {
    const pada_path *path;
    int n_left;
} repeats;

static const pada_path *take(void *user, int *job)
{
    repeats *r = user;

    *job = 0;
    return r->n_left-- > 0 ? r->path : NULL;
}

static pada_status forget(void *user, int job, const pada_evaluation *found)
{
    (void)user, (void)job, (void)found;
    return PADA_OK;
}

pada_status pada_bench_rank_time(pada_bench_rank *r, const pada_path *path, int burst, double *ms)
{
    repeats user = {path, burst * r->n_workers};
    const pada_eval_jobs jobs = {.user = &user, .take = take, .keep = forget};
    const double start = pada_clock_seconds();

    PADA_TRY(pada_eval_queue_run(r->queue, &jobs));
    *ms = 1e3 * (pada_clock_seconds() - start) / burst / r->n_workers;
    return PADA_OK;
}
