/* small_run.h - a strategy on a small supernet in double precision, step by step. */
#ifndef PADA_TESTS_STRATEGY_SMALL_RUN_H
#define PADA_TESTS_STRATEGY_SMALL_RUN_H

#include <stdlib.h>

#include "check.h"
#include "engine/engine_inspect.h"
#include "engine/engine_log.h"
#include "engine/engine_weights.h"
#include "strategy/method_flags.h"

enum { SMALL_BATCH = 4, SMALL_SIDE = 4, SMALL_STEPS = 64, SMALL_SLOTS = 6, SMALL_CHOICES = 5 };

typedef struct small_run {
    pada_space space;
    pada_engine *engine;
    pada_strategy_env env;
    const pada_strategy_ops *ops;
    void *self;
    pada_optim optim; /* of the next steps */
    int epoch;        /* theirs, too */
    pada_draws draws;
    float images[SMALL_BATCH * 3 * SMALL_SIDE * SMALL_SIDE];
    int32_t labels[SMALL_BATCH];
} small_run;

static inline void small_run_begin_log(small_run *r)
{
    CHECK_OK(pada_engine_log_begin(r->engine, SMALL_STEPS, SMALL_STEPS * 16,
                                   SMALL_STEPS * 16 * SMALL_BATCH));
}

/* This method in place of that of the run. For settings with texts, which do not outlive flags. */
static inline void small_run_use(small_run *r, const char *method, const void *settings)
{
    if (r->ops && r->ops->deinit) r->ops->deinit(r->self);
    free(r->self);
    CHECK_OK(pada_strategy_find(&r->ops, method));
    r->self = calloc(1, r->ops->state_bytes);
    CHECK_OK(r->ops->init(r->self, &r->env, settings));
}

/* Plain gradient descent, so that a step is the gradient. Backend null only plans: for tests of what
 * is drawn. */
static inline void small_run_open_on(small_run *r, const char *backend_name, const char *method,
                                     const char *flags)
{
    static max_align_t settings[64];
    const pada_strategy_ops *ops;
    const pada_space_ops *space;
    const pada_backend *backend;
    double pixels[SMALL_BATCH * 3 * SMALL_SIDE * SMALL_SIDE];

    *r = (small_run){.optim = {.lr = 1}};
    CHECK_OK(pada_space_find(&space, "nb201"));
    CHECK_OK(pada_space_init(
        &r->space, space,
        &(pada_space_config){.channels = 2, .cells = 1, .classes = 3, .image_size = SMALL_SIDE}));
    CHECK_OK(pada_backend_find(&backend, backend_name));
    CHECK_OK(pada_engine_create(&r->engine, &(pada_engine_desc){.space = &r->space,
                                                                .backend = backend,
                                                                .batch_size = SMALL_BATCH,
                                                                .mode = PADA_TRAIN}));
    CHECK_OK(pada_engine_init_weights(r->engine, 3));
    random_normal(pixels, SMALL_BATCH * 3 * SMALL_SIDE * SMALL_SIDE, 5);
    for (int i = 0; i < SMALL_BATCH * 3 * SMALL_SIDE * SMALL_SIDE; i++)
        r->images[i] = (float)pixels[i];
    for (int i = 0; i < SMALL_BATCH; i++)
        r->labels[i] = i % 3;
    r->draws.batch = (pada_batch){.n = SMALL_BATCH, .images = r->images, .labels = r->labels};
    r->env = (pada_strategy_env){.space = &r->space,
                                 .params = pada_engine_params(r->engine),
                                 .labels = r->labels,
                                 .n_images = SMALL_BATCH,
                                 .n_classes = 3,
                                 .n_epochs = 10,
                                 .batch_size = SMALL_BATCH,
                                 .seed = 11};
    CHECK_OK(pada_strategy_find(&ops, method));
    CHECK_OK(method_settings(ops, flags, settings, sizeof settings));
    small_run_use(r, method, settings);
    small_run_begin_log(r);
}

static inline void small_run_open(small_run *r, const char *method, const char *flags)
{
    small_run_open_on(r, "ref", method, flags);
}

static inline void small_run_close(small_run *r)
{
    if (r->ops->deinit) r->ops->deinit(r->self);
    free(r->self);
    pada_engine_destroy(r->engine);
}

/* Step `number` of the run, in an epoch that began with step `first`; gives the paths of its passes.
 */
static inline const pada_path *small_run_step(small_run *r, int64_t first, int64_t number,
                                              int *n_passes)
{
    const pada_epoch epoch = {.index = r->epoch, .first_step = first, .optim = r->optim};
    pada_log log;

    pada_engine_log_read(r->engine, &log);
    if (log.n_steps == SMALL_STEPS) {
        small_run_begin_log(r);
        log.n_passes = 0;
    }
    const int before = log.n_passes;
    CHECK_OK(r->ops->step(r->self, r->engine, &r->draws, &epoch, number));
    pada_engine_log_read(r->engine, &log);
    *n_passes = log.n_passes - before;
    return log.paths + before;
}

/* All parameters, one after the other; freed by the caller. */
static inline double *small_run_weights(const small_run *r)
{
    double *all = calloc((size_t)pada_params_elements(r->env.params), sizeof *all);

    for (int i = 0; i < pada_params_count(r->env.params); i++)
        pada_engine_read_weight(r->engine, i, all + pada_params_get(r->env.params, i)->offset);
    return all;
}

static inline void small_run_set_weights(small_run *r, const double *all)
{
    for (int i = 0; i < pada_params_count(r->env.params); i++)
        pada_engine_write_weight(r->engine, i, all + pada_params_get(r->env.params, i)->offset);
}

/* Adds `factor` times the gradient of a path at the weights of now. */
static inline void small_run_add_grad(small_run *r, const pada_path *path, double factor,
                                      double *sum)
{
    const int64_t n = pada_params_elements(r->env.params);
    double *grad = calloc((size_t)n, sizeof *grad);

    pada_engine_zero_grad(r->engine);
    CHECK_OK(pada_engine_forward(r->engine, path, &r->draws.batch, PADA_TRAIN));
    pada_engine_backward(r->engine);
    for (int i = 0; i < pada_params_count(r->env.params); i++)
        pada_engine_read_grad(r->engine, i, grad + pada_params_get(r->env.params, i)->offset);
    for (int64_t i = 0; i < n; i++)
        sum[i] += factor * grad[i];
    pada_engine_zero_grad(r->engine);
    free(grad);
}

#endif
