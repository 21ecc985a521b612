/* moment.h - a run as it was at one of its checkpoints, opened to be looked at.
 *
 * Engine, images and strategy stand where the run would go on from. Nothing is written, and nothing that is done to
 * them reaches the run. */
#ifndef PADA_TRAIN_MOMENT_H
#define PADA_TRAIN_MOMENT_H

#include "train/trainer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Everything is borrowed. */
typedef struct pada_moment {
    const pada_train_desc *desc;
    const pada_strategy_env *env;
    pada_engine *engine; /* the weights of the checkpoint; gradients are zero */
    pada_loader *loader; /* of the training images, augmented as in training */
    pada_distributions
        drawn_from; /* of the next epoch; behind the last one, if there were another */
    int epoch;      /* epochs that are done */
    int64_t step;
} pada_moment;

/* Goes to a checkpoint of the run that `desc` describes, whose folder is not used, and calls `use`. A method
 * with several supernets is PADA_EINVAL, a file that is no checkpoint of such a run PADA_EDATA. */
pada_status pada_moment_visit(const pada_train_desc *desc, const char *checkpoint,
                              pada_status (*use)(void *user, const pada_moment *moment),
                              void *user);

#ifdef __cplusplus
}
#endif
#endif
