/* bench_methods.c - what PA and DA cost beside SPOS, on the same paths. */
#include "cli/bench_methods.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "cli/bench_images.h"
#include "cli/median.h"
#include "engine/engine_log.h"
#include "engine/engine_weights.h"
#include "strategy/importance.h"

enum { N_METHODS = 4, EPOCH = 1 /* the first one that draws images */ };

/* Without weight for the norms: paths and their number are those of spos. */
static const pada_importance_settings both = {.data = {.replacement = true}};

static const struct {
    const char *name;
    const void *settings;
} methods[N_METHODS] = {{"spos", NULL}, {"pa", &both.path}, {"da", &both.data}, {"pada", &both}};

typedef struct turns {
    const pada_bench_methods *what;
    pada_engine *engine;
    pada_bench_images images;
    pada_strategy_env env;
    const pada_strategy_ops *ops[N_METHODS];
    void *selves[N_METHODS];
    int32_t *order;   /* [images of an epoch] */
    int32_t *labels;  /* the same */
    pada_path *paths; /* [steps] of the last epoch of spos */
    double *ms;       /* [N_METHODS, repeats] of a step */
    double *more;     /* [repeats] scratch */
} turns;

static pada_status make_methods(turns *t)
{
    for (int i = 0; i < N_METHODS; i++) {
        PADA_TRY(pada_strategy_find(&t->ops[i], methods[i].name));
        PADA_TRY(pada_calloc(&t->selves[i], 1, t->ops[i]->state_bytes));
        PADA_TRY(t->ops[i]->init(t->selves[i], &t->env, methods[i].settings));
    }
    return PADA_OK;
}

static pada_status make_room(turns *t)
{
    const pada_bench_methods *what = t->what;
    const int batch = what->engine->batch_size, n = what->steps * batch;
    void *memory;

    PADA_TRY(pada_engine_create(&t->engine, what->engine));
    PADA_TRY(pada_engine_init_weights(t->engine, what->seed));
    PADA_TRY(pada_bench_images_init(&t->images, t->engine, batch, batch, what->seed));
    PADA_TRY(pada_calloc(&memory, (size_t)n, 2 * sizeof *t->order));
    t->order = memory;
    t->labels = t->order + n;
    for (int i = 0; i < n; i++)
        t->labels[i] = t->images.batch.labels[i % batch];
    PADA_TRY(pada_calloc(&memory, (size_t)what->steps, sizeof *t->paths));
    t->paths = memory;
    PADA_TRY(pada_calloc(&memory, (size_t)what->repeats * (N_METHODS + 1), sizeof *t->ms));
    t->ms = memory;
    t->more = t->ms + (ptrdiff_t)what->repeats * N_METHODS;
    t->env = (pada_strategy_env){.space = what->space,
                                 .params = pada_engine_params(t->engine),
                                 .labels = t->labels,
                                 .n_images = n,
                                 .n_classes = what->space->config.classes,
                                 .n_epochs = 2,
                                 .batch_size = batch,
                                 .seed = what->seed};
    return make_methods(t);
}

static void free_room(turns *t)
{
    for (int i = 0; i < N_METHODS; i++) {
        if (t->selves[i] && t->ops[i]->deinit) t->ops[i]->deinit(t->selves[i]);
        pada_free(t->selves[i]);
    }
    pada_free(t->order);
    pada_free(t->paths);
    pada_free(t->ms);
    pada_engine_destroy(t->engine);
    pada_bench_images_deinit(&t->images);
}

static double seconds(const turns *t)
{
    const pada_engine_desc *engine = t->what->engine;

    return engine->n_threads == 1 && !engine->backend->finish ? pada_clock_work_seconds()
                                                              : pada_clock_seconds();
}

/* One epoch; *ms: of a step. */
static pada_status run_epoch(turns *t, int method, double *ms)
{
    const int steps = t->what->steps, batch = t->what->engine->batch_size;
    const pada_strategy_ops *ops = t->ops[method];
    const pada_epoch epoch = {
        .index = EPOCH, .optim = {.lr = 0.05, .momentum = 0.9, .weight_decay = 2.5e-4, .clip = 5}};
    pada_draws draws = {.batch = t->images.batch};
    pada_log log;

    PADA_TRY(pada_engine_log_begin(t->engine, steps, steps, steps * batch));
    const double start = seconds(t);
    PADA_TRY(pada_strategy_begin_epoch(ops, t->selves[method], &t->env, &epoch, t->order));
    for (int step = 0; step < steps; step++) {
        draws.first = step * batch;
        draws.indices = t->order + draws.first;
        PADA_TRY(ops->step(t->selves[method], t->engine, &draws, &epoch, step));
    }
    PADA_TRY(pada_engine_log_read(t->engine, &log));
    if (ops->end_epoch) PADA_TRY(ops->end_epoch(t->selves[method], &log, &epoch, t->order));
    *ms = 1e3 * (seconds(t) - start) / steps;
    if (method == 0) memcpy(t->paths, log.paths, (size_t)steps * sizeof *t->paths);
    for (int step = 0; step < steps; step++) /* else the times mean nothing */
        PADA_ASSERT(pada_path_equal(t->what->space, &t->paths[step], &log.paths[step]));
    return PADA_OK;
}

static pada_status run_turns(turns *t)
{
    const int repeats = t->what->repeats;
    double warm;

    PADA_TRY(run_epoch(t, 0, &warm));
    for (int k = 0; k < repeats; k++)
        for (int i = 0; i < N_METHODS; i++)
            PADA_TRY(run_epoch(t, i, &t->ms[(ptrdiff_t)i * repeats + k]));
    return PADA_OK;
}

/* Medians of a step, and of what it takes more than that of spos in the same turn, in percent. */
static pada_status report(turns *t, pada_text *out)
{
    const int repeats = t->what->repeats;
    double more[N_METHODS], ms[N_METHODS];

    for (int i = 0; i < N_METHODS; i++) {
        for (int k = 0; k < repeats; k++)
            t->more[k] = 100 * (t->ms[(ptrdiff_t)i * repeats + k] / t->ms[k] - 1);
        more[i] = pada_median(t->more, repeats);
    }
    for (int i = 0; i < N_METHODS; i++) /* sorts the times, which no turn needs any more */
        ms[i] = pada_median(t->ms + (ptrdiff_t)i * repeats, repeats);
    for (int i = 0; i < N_METHODS && t->what->json; i++) {
        json_t *object = json_object();
        pada_json_set(out, object, "method", json_string(methods[i].name));
        pada_json_set(out, object, "ms", json_real(ms[i]));
        pada_json_set(out, object, "more_percent", json_real(more[i]));
        pada_json_line(out, object);
    }
    for (int i = 0; i < N_METHODS && !t->what->json; i++)
        pada_text_add(out, "%-5s %9.3f ms per step  %+.2f %%\n", methods[i].name, ms[i], more[i]);
    return out->status;
}

pada_status pada_bench_methods_run(const pada_bench_methods *b, pada_text *out)
{
    turns t = {.what = b};
    pada_status st = make_room(&t);

    if (st == PADA_OK) st = run_turns(&t);
    if (st == PADA_OK) st = report(&t, out);
    free_room(&t);
    return st;
}
