/* bench_turns.c - networks that are timed in turns. */
#include "cli/bench_turns.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "engine/engine_statistics.h"
#include "engine/engine_weights.h"

pada_status pada_turns_init(pada_turns *t, const pada_turns_desc *desc)
{
    const size_t pixels = 3 * (size_t)desc->image_size * (size_t)desc->image_size;
    const size_t count = (size_t)desc->batch_size * pixels;
    pada_rng rng;
    void *mem;

    *t = (pada_turns){.n = desc->n, .repeats = desc->repeats};
    PADA_TRY(pada_calloc(&mem, (size_t)t->n, sizeof *t->engines));
    t->engines = mem;
    PADA_TRY(pada_calloc(&mem, (size_t)t->n * (size_t)t->repeats, sizeof *t->ms));
    t->ms = mem;
    PADA_TRY(pada_calloc(&mem, (size_t)t->n, sizeof *t->n_warm));
    t->n_warm = mem;
    PADA_TRY(pada_calloc(&mem, count, sizeof *t->images));
    t->images = mem;
    PADA_TRY(pada_calloc(&mem, (size_t)desc->batch_size, sizeof *t->labels));
    t->labels = mem;
    pada_rng_init(&rng, desc->seed, "bench turns", 0);
    for (size_t i = 0; i < count; i++)
        t->images[i] = (float)pada_rng_normal(&rng);
    t->batch = (pada_batch){.n = desc->batch_size, .images = t->images, .labels = t->labels};
    return PADA_OK;
}

void pada_turns_deinit(pada_turns *t)
{
    for (int i = 0; t->engines && i < t->n; i++)
        pada_engine_destroy(t->engines[i]);
    pada_free(t->engines);
    pada_free(t->ms);
    pada_free(t->n_warm);
    pada_free(t->images);
    pada_free(t->labels);
}

static const pada_path *path_of(const pada_engine *e)
{
    return &pada_engine_space(e)->network;
}

pada_status pada_turns_set(pada_turns *t, int i, const pada_engine_desc *desc, int n_warm)
{
    pada_engine_desc fixed = *desc;

    PADA_ASSERT(desc->space->is_final);
    t->counts_work = desc->n_threads == 1 && !desc->backend->finish;
    t->n_warm[i] = n_warm;
    fixed.mode = PADA_EVAL;
    fixed.statistics = PADA_STATISTICS_RECALIBRATED;
    PADA_TRY(pada_engine_create(&t->engines[i], &fixed));
    PADA_TRY(pada_engine_init_weights(t->engines[i], 0));
    if (pada_engine_statistics(t->engines[i]) != PADA_STATISTICS_RECALIBRATED)
        return PADA_OK; /* it has no norms */
    return pada_engine_collect_statistics(t->engines[i], path_of(t->engines[i]), &t->batch, 1);
}

static double seconds(const pada_turns *t)
{
    return t->counts_work ? pada_clock_work_seconds() : pada_clock_seconds();
}

static pada_status run_once(pada_turns *t, int i, double *ms)
{
    const double start = seconds(t);

    PADA_TRY(pada_engine_forward(t->engines[i], path_of(t->engines[i]), &t->batch, PADA_EVAL));
    PADA_TRY(pada_engine_finish(t->engines[i]));
    *ms = 1e3 * (seconds(t) - start);
    return PADA_OK;
}

static pada_status take_turn(pada_turns *t, int i, double *ms)
{
    for (int k = 0; k < t->n_warm[i]; k++)
        PADA_TRY(run_once(t, i, ms));
    return run_once(t, i, ms);
}

pada_status pada_turns_run(pada_turns *t)
{
    double warm_up_ms;

    for (int i = 0; i < t->n; i++)
        PADA_TRY(run_once(t, i, &warm_up_ms));
    for (int r = 0; r < t->repeats; r++)
        for (int i = 0; i < t->n; i++)
            PADA_TRY(take_turn(t, i, &t->ms[(int64_t)i * t->repeats + r]));
    return PADA_OK;
}
