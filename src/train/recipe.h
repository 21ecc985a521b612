/* recipe.h - the numbers of a training run that do not belong to a strategy or a space. */
#ifndef PADA_TRAIN_RECIPE_H
#define PADA_TRAIN_RECIPE_H

#include "base/option.h"
#include "data/changes.h"
#include "optim/optim.h"
#include "optim/schedule.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pada_recipe {
    int64_t epochs, batch_size;
    int64_t accumulate; /* batches of a step; 0: 1 */
    double lr, lr_min;
    int lr_schedule;                                                    /* pada_schedule_kind */
    double lr_warmup_epochs, lr_warmup, lr_decay_epochs, lr_decay_rate; /* pada_schedule */
    int optimizer;                                                      /* of pada_optimizers */
    double momentum, weight_decay, clip;
    bool no_decay_norms;          /* no weight decay of vectors (pada_optim) */
    double square_decay, epsilon; /* 0: what the optimiser says */
    double label_smoothing;       /* of training; 0: none */
    double dropout, drop_path;    /* rates; 0: none */
    int drop_path_schedule;       /* pada_drop_schedule */
    double ema; /* decay of the average of the weights that evaluations take; 0: none */
    bool nesterov;
    int opt_mode; /* pada_optim_mode */
    bool augment;
    const char *color_jitter; /* as pada_jitter_parse reads it; NULL: none */
    int flip_order;           /* pada_flip_order */
    int auto_augment;         /* pada_policy */
    int64_t cutout;           /* pixels; 0: none */
    double random_erasing;    /* probability */
    uint64_t seed;
    double hold_out;        /* share of the training images that no step trains on */
    bool variance;          /* measure the variance of gradients */
    int64_t validate;       /* test images that every epoch is tried on; 0: none */
    int64_t validate_every; /* only every so many epochs, and the last one; 0: 1 */
} pada_recipe;

typedef enum pada_drop_schedule {
    PADA_DROP_RAMP,    /* drop_path * e / E in epoch e of E, as in DARTS */
    PADA_DROP_CONSTANT /* in all epochs, as in timm */
} pada_drop_schedule;

/* Of a supernet. The defaults are those of the official PA&DA code on NAS-Bench-201. */
extern const pada_opt pada_recipe_options[];
/* Of one network. The defaults are those that NAS-Bench-201 was made with; what only a supernet has
 * stays zero. */
extern const pada_opt pada_standalone_options[];
/* Of one network in its final form, which is regularised and watched as well; the defaults are the same, but for those
 * of a recipe (recipe_book.h). */
extern const pada_opt pada_retrain_options[];

/* Those that are about changes of images, but for the jitter, alone. */
extern const pada_opt pada_changes_options[];

/* What is done to training images. Text that is no jitter, and changes without augmentation, are PADA_EINVAL. */
pada_status pada_recipe_changes(const pada_recipe *recipe, pada_changes *out);

/* The step of an epoch of a schedule of n_epochs: learning rates change once per epoch. */
pada_optim pada_recipe_optim(const pada_recipe *recipe, int epoch, int n_epochs);
/* The rate of drop path in it. */
double pada_recipe_drop_path(const pada_recipe *recipe, int epoch, int n_epochs);

#ifdef __cplusplus
}
#endif
#endif
