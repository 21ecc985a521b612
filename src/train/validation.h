/* validation.h - test images on random paths after every epoch: a number to watch. */
#ifndef PADA_TRAIN_VALIDATION_H
#define PADA_TRAIN_VALIDATION_H

#include "data/loader.h"
#include "engine/engine.h"
#include "space/subspace.h"
#include "train/epoch_metrics.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pada_validation {
    pada_loader *loader;  /* of the test images, which are not augmented */
    const int32_t *order; /* [n] */
    int n;
    uint64_t seed;
} pada_validation;

/* Adds val_loss and val_top1: each batch on a uniformly random path of the sub-space, as the official
 * code logs it. Nothing depends on them. */
pada_status pada_validate(const pada_validation *what, pada_engine *e, const pada_subspace *within,
                          int64_t epoch, pada_epoch_metrics *metrics);

#ifdef __cplusplus
}
#endif
#endif
