/* trained.h - a trained network, ready to run, from a name:
 *
 *   FILE.safetensors   a model (model_file.h)
 *   RUN                a folder with best.safetensors or last.safetensors; or the run of --method single, whose newest
 *                      checkpoint has the weights */
#ifndef PADA_RUN_TRAINED_H
#define PADA_RUN_TRAINED_H

#include "model/model_file.h"
#include "run/engine_args.h"

/* Zero-initialise; close accepts that and half-made ones. */
typedef struct pada_trained {
    pada_model_about about;
    pada_engine *engine;
} pada_trained;

/* Whether a word is a run folder with a supernet, which is no model. */
bool pada_is_supernet(const char *where);
/* Opens a model that can run batches of this size. A supernet is PADA_EINVAL. */
pada_status pada_trained_open(pada_trained *model, const char *where, const pada_engine_args *args,
                              int batch_size);
void pada_trained_close(pada_trained *model);

#endif
