/* engine_weights.h - the weights of an engine: fresh ones, files, hashes, single parameters. */
#ifndef PADA_ENGINE_ENGINE_WEIGHTS_H
#define PADA_ENGINE_ENGINE_WEIGHTS_H

#include "engine/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Fresh weights: uniform(-bound, bound) from the stream (seed, "init", parameter). The states
 * of the optimiser start anew. */
pada_status pada_engine_init_weights(pada_engine *e, uint64_t seed);
/* Weights from or to a safetensors file, by parameter name. Every parameter must be there with its
 * shape, as finite F32 or F64 numbers; further tensors are an error, but for those of checkpoints
 * (tensor/state.h), which are ignored but for an average of the weights (engine_ema.h): that is loaded. On failure the weights are
 * unchanged. */
pada_status pada_engine_load_weights(pada_engine *e, const char *path);
/* The same of a file with the weights of one path: tensors that only others use may be missing and stay as they are. */
pada_status pada_engine_load_path(pada_engine *e, const pada_path *path, const char *file);
pada_status pada_engine_save_weights(const pada_engine *e, const char *path);
/* The same tensors, float32, into a state that is being saved. */
pada_status pada_engine_export_weights(const pada_engine *e, pada_state *state);
/* of the float32 bytes, in buffer order */
uint64_t pada_engine_weights_hash(const pada_engine *e);

/* Copies one parameter out of the engine or into it: `count` doubles. */
void pada_engine_read_weight(const pada_engine *e, int param, double *to);
void pada_engine_write_weight(pada_engine *e, int param, const double *from);

#ifdef __cplusplus
}
#endif
#endif
