/* validation.h - images that no step trains on, after every epoch: a number to watch. */
#ifndef PADA_TRAIN_VALIDATION_H
#define PADA_TRAIN_VALIDATION_H

#include "data/loader.h"
#include "engine/engine.h"
#include "space/subspace.h"
#include "train/epoch_metrics.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Zero-initialise: then there is none. deinit accepts that and half-made ones. */
typedef struct pada_validation {
    pada_loader *loader; /* of the images, which are not augmented; owned. NULL: there are none */
    int32_t *order;      /* [n], owned */
    int n;
    int n_guessed; /* of the n images, those of the most frequent class: what a guess gets right */
    uint64_t seed;
    const pada_path *network; /* that is trained, borrowed; NULL: a supernet */
} pada_validation;

/* The first n images (or as many as there are) of val, on which networks are chosen; where there is
 * no val, of test, as the papers do it. */
pada_status pada_validation_init(pada_validation *what, pada_engine *e, const pada_dataset *data,
                                 int64_t n, int batch_size, uint64_t seed);
void pada_validation_deinit(pada_validation *what);

/* Adds val_loss, val_top1 and val_networks: of the one network that is trained, or the mean over
 * the batches, each on a uniformly random path of the sub-space, as the official code logs it.
 * Nothing depends on them. With `last`, top-1 that a guess may reach by luck (two deviations) is the
 * warning `chance`. */
pada_status pada_validate(const pada_validation *what, pada_engine *e, const pada_subspace *within,
                          int64_t epoch, bool last, pada_epoch_metrics *metrics);

/* The same columns without values, for an epoch that is not validated. */
void pada_validation_skip(pada_epoch_metrics *metrics);

#ifdef __cplusplus
}
#endif
#endif
