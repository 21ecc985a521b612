/* training.h - the training of a supernet by options, in a run folder: what `pada train` does, without its words.
 *
 *   pada_training_prepare    looks at the words: options depend on space and method
 *   pada_training_bind       binds the options, which somebody parses
 *   pada_training_run        trains to the end
 *   pada_training_close      before the options are destroyed, pada_training_deinit after it
 *
 * Close and deinit accept half-made ones, and zeros. */
#ifndef PADA_RUN_TRAINING_H
#define PADA_RUN_TRAINING_H

#include "run/space_args.h"
#include "run/train_args.h"
#include "run/training_host.h"

/* Zero-initialise. The values of the options first; the rest is there while it runs. */
typedef struct pada_training {
    const char *method, *data_name, *out;
    const char *ops;            /* the operators that are trained; NULL: all */
    pada_space_args space_args; /* to be prepared by the caller */
    pada_data_args data_args;
    pada_engine_args engine_args;
    pada_recipe recipe;
    pada_train_args train_args;
    pada_together_args together_args;
    int64_t checkpoint_steps, checkpoint_epochs;

    const pada_strategy_ops *strategy; /* of `method`, known before the options are bound */
    void *settings;                    /* of the strategy */
    char *found_data; /* where the images of a run are, if its configuration does not say it */
    pada_dataset *data;
    pada_space space;
    pada_subspace within; /* of `ops` */
    pada_engine *engine;  /* has the weights at the end */
    pada_run_lock lock;
} pada_training;

pada_status pada_training_prepare(pada_training *t, int argc, const char *const *argv);
pada_status pada_training_bind(pada_training *t, pada_options *options);
/* A stop is PADA_ESTOPPED, with a checkpoint written. */
pada_status pada_training_run(pada_training *t, const pada_options *options,
                              const pada_training_host *host);
/* Opens everything that the training of a run folder has, by its config.yaml, on an engine of `args` and with the images at
 * `data` (NULL: where they were), without touching the folder. *config owns the strings, also after a failure; `describe` is
 * for whoever looks at its checkpoints. */
pada_status pada_training_reopen(pada_training *t, pada_options **config, const char *run,
                                 const pada_engine_args *args, const char *data,
                                 const pada_training_host *host);
pada_train_desc pada_training_describe(const pada_training *t);
void pada_training_close(pada_training *t);
void pada_training_deinit(pada_training *t);

#endif
