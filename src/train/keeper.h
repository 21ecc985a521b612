/* keeper.h - the weights of a run that validated best, kept as a model file. */
#ifndef PADA_TRAIN_KEEPER_H
#define PADA_TRAIN_KEEPER_H

#include "model/model_file.h"
#include "tensor/state.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PADA_BEST_FILE "best.safetensors" /* in the run folder; pada_model_find knows it */
#define PADA_LAST_FILE "last.safetensors"

/* Zero-initialise: then nothing has been kept yet. */
typedef struct pada_keeper {
    int64_t n_validated;
    double top1; /* percent: the best of so many validations */
} pada_keeper;

/* For checkpoints. */
void pada_keeper_visit(pada_keeper *keeper, pada_state *state);

/* Writes RUN/best.safetensors unless top1 was more before. Few validation images often say the same of many epochs: of
 * equal ones the last is kept. NaN is no validation. A run that resumes from an earlier checkpoint writes the same files
 * again. */
pada_status pada_keeper_offer(pada_keeper *keeper, const char *run, const pada_model_about *about,
                              const pada_engine *e, double top1);

#ifdef __cplusplus
}
#endif
#endif
