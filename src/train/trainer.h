/* trainer.h - the loop: epochs, batches, checkpoints, metrics.
 *
 * A run is a function of its description. It may be stopped after any step, or die, and is continued
 * by calling pada_train again with the same description: it resumes from the newest checkpoint and
 * ends with the same bits. Nothing is written, nor a folder made, before everything has been checked. A folder whose images
 * were others is PADA_EDATA; one without room for the checkpoints PADA_EIO, before the first step. */
#ifndef PADA_TRAIN_TRAINER_H
#define PADA_TRAIN_TRAINER_H

#include <signal.h>

#include "data/dataset.h"
#include "engine/engine.h"
#include "strategy/strategy.h"
#include "train/epoch_metrics.h"
#include "train/keeper.h"
#include "train/recipe.h"
#include "train/run_config.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where a run stands. */
typedef struct pada_progress {
    int epoch, n_epochs;
    int phase, n_phases; /* the supernet that is trained, and how many there are */
    int step, n_steps;   /* of the epoch; `step` are done */
    double loss, top1; /* means over the epoch so far, top1 in percent; NaN before the first step */
    double seconds;    /* in this process */
    double seconds_left; /* by the steps of this process; NaN before the first */
    int64_t images;      /* through the network in this process, in all passes */
} pada_progress;

/* What the caller wants to hear; every function may be NULL. */
typedef struct pada_train_listener {
    void *context;
    /* between two calls of `step`, each of which waits for the device; 0: after every step */
    double step_seconds;
    void (*step)(void *context, const pada_progress *progress);
    /* at the end of an epoch, before the strategy learns from it: what it drew from */
    void (*distributions)(void *context, const pada_distributions *drawn_from, int n_images);
    void (*epoch)(void *context, const pada_progress *progress, const pada_epoch_metrics *metrics);
    /* before the first step of a supernet, in runs with several: its sub-space */
    void (*phase)(void *context, const pada_progress *progress, const pada_subspace *part);
    void (*message)(void *context, const char *text); /* one line, without newline */
    void (*resumed)(void *context,
                    const char *text); /* where a run resumes; NULL: a message, too */
} pada_train_listener;

typedef struct pada_train_desc {
    pada_engine *engine; /* mode PADA_TRAIN, room for the batch size; its weights are overwritten */
    const pada_dataset *data; /* the training split open, and with `validate` val or test */
    const pada_recipe *recipe;
    const pada_strategy_ops *strategy;
    const void *settings; /* of the strategy */
    const pada_subspace
        *within; /* the choices that are trained, where the strategy narrows; NULL: all */
    const char *
        weights; /* safetensors file that a training with one phase begins with; NULL: fresh ones */
    const char *run;     /* run folder; NULL: nothing is stored (one supernet only) */
    pada_run_lock *lock; /* taken for it, and left to the caller; NULL: the caller has it */
    const char *config;  /* RUN/config.yaml: stored, or compared (run_config.h); or NULL */
    const char *start;   /* JSON of this start, added to RUN/env.json; or NULL */
    /* Processes that train together, each with such a description: the first one writes the folder, the others read
     * checkpoints in it. NULL: this one alone. */
    pada_team *team;
    bool
        tells_traffic; /* of a team: messages about who has done what, and at the end about its messages */
    int shards; /* of a batch, each of which is normalised by itself (engine.h); 0: batches are whole */
    const char *
        build; /* what must be the same in all processes of a team, besides `config` and the images; or NULL */
    /* of the one network: what validates better than ever is kept (keeper.h); NULL: not. Needs `run` and `validate`. */
    const pada_model_about *best;
    double checkpoint_seconds;         /* between checkpoints; 0: only at the end */
    int64_t checkpoint_steps;          /* also every so many steps; 0: not */
    int64_t checkpoint_epochs;         /* also every so many epochs, and those stay; 0: not */
    double max_seconds;                /* stop then; 0: never */
    const volatile sig_atomic_t *stop; /* stop as soon as it is not 0; may be NULL */
    pada_train_listener listener;
} pada_train_desc;

/* What pada_train would refuse before it writes anything, for callers that make its folder themselves. */
pada_status pada_train_check(const pada_train_desc *desc);
/* Trains to the end. A stop is PADA_ESTOPPED, with a checkpoint written if there is a run folder. */
pada_status pada_train(const pada_train_desc *desc);

#ifdef __cplusplus
}
#endif
#endif
