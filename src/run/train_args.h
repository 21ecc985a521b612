/* train_args.h - what the commands that train share: options of this start, and the engine. */
#ifndef PADA_RUN_TRAIN_ARGS_H
#define PADA_RUN_TRAIN_ARGS_H

#include "run/engine_args.h"
#include "train/recipe.h"

typedef struct pada_train_args {
    double max_seconds, checkpoint_seconds; /* 0: no limit; 0: only at the end */
    bool quiet;
} pada_train_args;

typedef enum pada_norm_scope { PADA_NORM_EXACT, PADA_NORM_LOCAL } pada_norm_scope;

/* Of commands whose processes train together. */
typedef struct pada_together_args {
    int norm;       /* pada_norm_scope */
    int64_t shards; /* with local norms, how many; else 0 */
} pada_together_args;

extern const pada_opt pada_together_options[]; /* --norm --shards */
extern const pada_opt pada_train_options[];    /* --max-seconds --checkpoint-seconds --quiet */

/* Makes an engine for the optimiser and the batches of a recipe that also takes batches of `batch_size`.
 * args->backend becomes the backend that `auto` stands for, which belongs to a run. A batch larger
 * than the training images, and changes of images that cannot be, are PADA_EINVAL, before memory is asked for. Where slots share blocks of weights,
 * statistics are those of the batch. */
pada_status pada_training_engine(pada_engine **out, pada_engine_args *args, const pada_space *space,
                                 pada_statistics statistics, const pada_dataset *data,
                                 const pada_recipe *recipe, int batch_size);

#endif
