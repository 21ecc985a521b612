/* model_args.h - a trained network from a word of the command line.
 *
 *   FILE.safetensors   a model (model_file.h)
 *   RUN                a folder with best.safetensors or last.safetensors; or the run of --method single, whose newest
 *                      checkpoint has the weights */
#ifndef PADA_CLI_MODEL_ARGS_H
#define PADA_CLI_MODEL_ARGS_H

#include "cli/engine_args.h"
#include "model/model_file.h"

/* Zero-initialise; close accepts that and half-made ones. */
typedef struct pada_model {
    pada_model_about about;
    pada_engine *engine;
} pada_model;

/* Whether a word is a run folder with a supernet, which is no model. */
bool pada_is_supernet(const char *where);
/* Opens a model that can run batches of this size. A supernet is PADA_EINVAL. */
pada_status pada_model_open(pada_model *model, const char *where, const pada_engine_args *args,
                            int batch_size);
void pada_model_close(pada_model *model);

#endif
