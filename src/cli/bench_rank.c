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
    PADA_TRY(pada_eval_farm_open(&r->farm, NULL, r->n_workers, NULL));
    return pada_eval_queue_create(
        &r->queue,
        &(pada_eval_queue_desc){.workers = r->workers, .n_workers = r->n_workers, .farm = r->farm});
}

void pada_bench_rank_deinit(pada_bench_rank *r)
{
    pada_eval_queue_destroy(r->queue);
    (void)pada_farm_close(r->farm);
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

static bool take(void *user, void *task)
{
    repeats *r = user;

    *(pada_eval_task *)task = (pada_eval_task){.path = *r->path};
    return r->n_left-- > 0;
}

static pada_status forget(void *user, const void *task, const void *result)
{
    (void)user, (void)task, (void)result;
    return PADA_OK;
}

pada_status pada_bench_rank_time(pada_bench_rank *r, const pada_path *path, int burst, double *ms)
{
    repeats user = {path, burst * r->n_workers};
    const pada_farm_source source = {.user = &user, .take = take, .keep = forget};
    const double start = pada_clock_seconds();

    pada_farm_begin(r->farm, &source);
    const pada_status own = pada_eval_queue_run(r->queue), all = pada_farm_end(r->farm);
    PADA_TRY(own);
    PADA_TRY(all);
    *ms = 1e3 * (pada_clock_seconds() - start) / burst / r->n_workers;
    return PADA_OK;
}
