/* strategy.h - how a supernet is trained: which paths, which images, which steps.
 *
 * A strategy is one file (strategy_spos.c, ...) and one line in strategies.def. It composes the
 * verbs of the engine; epochs, batches, learning rates, checkpoints and metrics are the trainer's.
 * Random numbers come from streams named by step and epoch, so a strategy has no random state; what
 * else it remembers from one step to the next it lists in `visit`. */
#ifndef PADA_STRATEGY_STRATEGY_H
#define PADA_STRATEGY_STRATEGY_H

#include "base/option.h"
#include "data/loader.h"
#include "engine/engine.h"
#include "engine/engine_log.h"
#include "sampler/path_sampler.h"
#include "tensor/state.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a strategy works on; borrowed for its whole life. */
typedef struct pada_strategy_env {
    const pada_space *space;
    const pada_subspace *within; /* the choices that are trained; NULL: all */
    const pada_params *params;
    const pada_dataset *data;
    bool on_device;        /* the engine holds the training images: batches are picks */
    const int32_t *labels; /* [n_images] of the training images */
    int n_images, n_classes;
    int n_held_out; /* images of the training split that no step trains on: numbers from n_images on */
    const int32_t *images; /* [n_images + n_held_out] the image that a number means */
    int n_epochs, batch_size;
    int accumulate; /* batches of a step, of which the last one of an epoch may have fewer; 0: 1 */
    bool is_cut;    /* training passes cut batches into shards (engine.h) */
    int n_threads;  /* that make batches; 0: the machine's default */
    uint64_t seed;
} pada_strategy_env;

int pada_strategy_batches(const pada_strategy_env *env); /* of a step: at least 1 */
int pada_strategy_steps(const pada_strategy_env *env);   /* of an epoch that trains */

/* The epoch that a call belongs to. */
typedef struct pada_epoch {
    int index;
    int64_t first_step; /* of the whole run */
    pada_optim optim;
    int phase;   /* whose supernet it is about */
    bool probes; /* its steps are probes */
    bool last;   /* of the phase */
} pada_epoch;

/* What a strategy draws from now, for metrics. Borrowed. */
typedef struct pada_distributions {
    const pada_path_sampler *paths;
    const double *images; /* [n_images], sum 1; NULL: every image once */
} pada_distributions;

/* A default of another table that a method replaces: `name` is that of an option of the recipe. */
typedef struct pada_strategy_default {
    const char *name, *value; /* as a user would type it; NULL ends a table */
} pada_strategy_default;

#define PADA_FRESH (-1) /* parent of a phase that starts from fresh weights */

/* One supernet of a run. Momentum starts at zero, and weights as if none had been sampled yet. */
typedef struct pada_phase {
    int parent;   /* an earlier phase, whose last weights it starts from; or PADA_FRESH */
    int n_epochs; /* that train it */
    int n_probes; /* steps after those which only look at it */
    int lr_first,
        lr_epochs; /* the place of its first epoch in a schedule, and the length of that */
    bool final;    /* networks of its sub-space are judged with its weights */
} pada_phase;

/* Methods that train several supernets, one after the other. How many there are and what they are
 * follows from the settings; the sub-space of a phase is known when the phase begins. Those of the
 * final phases have no network in common and together all of them. */
typedef struct pada_phase_ops {
    int (*count)(const void *self);
    void (*get)(const void *self, int phase, pada_phase *out);
    /* One that is not known, of a phase that a damaged checkpoint is in, is PADA_EDATA. */
    pada_status (*subspace)(const void *self, int phase, pada_subspace *out);
    /* The most passes of a probe, and a probe: it runs training passes and moves nothing. Both NULL:
     * there are none. */
    int (*probe_passes)(const void *self);
    pada_status (*probe)(void *self, pada_engine *e, const pada_draws *draws,
                         const pada_epoch *epoch, int64_t step);
} pada_phase_ops;

typedef struct pada_strategy_ops {
    const char *name;
    const char *summary; /* one line */
    /* Settings: a struct of settings_bytes, filled by the options that bind_settings binds. NULL:
     * there are none. */
    size_t settings_bytes;
    pada_status (*bind_settings)(void *settings, pada_options *options);
    const pada_strategy_default *defaults; /* NULL: those of the recipe are its own */
    pada_statistics statistics;            /* that the engine should have */
    bool narrows;                          /* can train a part of the choices (env.within) */

    size_t state_bytes;
    /* `self` is zeroed memory of state_bytes; settings are copied. deinit is called also after a
     * failed init. */
    pada_status (*init)(void *self, const pada_strategy_env *env, const void *settings);
    void (*deinit)(void *self); /* NULL: nothing to give back */
    /* Chooses the images of the epoch: order[n_images]. NULL: every image once, in random order. */
    pada_status (*begin_epoch)(void *self, const pada_epoch *epoch, int32_t *order);
    /* The epoch from which the learning-rate schedule of this one counts, both of the phase; NULL: 0. */
    int (*schedule_start)(const void *self, int epoch);
    /* The most training passes that a step of the run makes over each of its batches; NULL: 1. */
    int (*passes)(const void *self);
    /* Whether it wants the log of the engine by tensor (engine_log.h); NULL: no. */
    bool (*by_tensor)(const void *self);
    /* One step of the optimiser on one batch; `step` counts over the whole run. Where a step has several batches it is
     * called for each of them, with draws->joins and draws->more and the share of the batch as grad_scale; all of
     * them belong to the same paths. */
    pada_status (*step)(void *self, pada_engine *e, const pada_draws *draws,
                        const pada_epoch *epoch, int64_t step);
    /* Learns from the log of the epoch; with one pass per batch, order[i] is the image of log entry
     * i. NULL: does not. */
    pada_status (*end_epoch)(void *self, const pada_log *log, const pada_epoch *epoch,
                             const int32_t *order);
    void (*visit)(void *self, pada_state *state); /* NULL: nothing to remember */
    void (*distributions)(const void *self, const pada_epoch *epoch, pada_distributions *out);
    /* The one network that is trained, borrowed; NULL: it is a supernet. */
    const pada_path *(*network)(const void *self);
    const pada_phase_ops *phases; /* NULL: one supernet, trained in all epochs */
} pada_strategy_ops;

/* Finds a strategy by name; an unknown one is PADA_EINVAL and offers the nearest name. */
pada_status pada_strategy_find(const pada_strategy_ops **out, const char *name);
int pada_strategy_count(void);
const pada_strategy_ops *pada_strategy_get(int i);

/* Begins an epoch: its images are those that the strategy chooses, or all in random order. */
pada_status pada_strategy_begin_epoch(const pada_strategy_ops *ops, void *self,
                                      const pada_strategy_env *env, const pada_epoch *epoch,
                                      int32_t *order);

/* Around the passes of a step. Gradients are cleared before the first of its batches; the optimiser moves the weights
 * behind the last. */
void pada_strategy_begin_step(pada_engine *e, const pada_draws *draws);
pada_status pada_strategy_end_step(pada_engine *e, const pada_draws *draws,
                                   const pada_optim *optim);
/* For methods whose steps cannot be made of several batches: PADA_EINVAL saying why, where they would be. */
pada_status pada_strategy_check_batches(const pada_strategy_env *env, const char *why);

/* Adds the gradient of one path on the batch to the gradients, times grad_scale, that of the batch and the factors
 * `weights` of the losses (NULL: none). */
pada_status pada_strategy_add_path(pada_engine *e, const pada_path *path, const pada_draws *draws,
                                   const float *weights, double grad_scale);

/* Every choice that is trained equally likely. */
void pada_strategy_init_sampler(pada_path_sampler *sampler, const pada_strategy_env *env);

/* A path in a checkpoint; one that the space does not have is rejected. */
void pada_strategy_visit_path(const pada_space *space, const char *name, pada_path *path,
                              pada_state *state);

/* PADA_EINVAL where the weights of a site belong to no single slot: for methods that need to know. */
pada_status pada_strategy_check_sites(const pada_space *space);

/* The step of every strategy that trains one path at a time. `weights` are factors of the losses
 * in the gradient, or NULL. */
pada_status pada_strategy_single_path(pada_engine *e, const pada_path *path,
                                      const pada_draws *draws, const float *weights,
                                      double grad_scale, const pada_optim *optim);

#ifdef __cplusplus
}
#endif
#endif
