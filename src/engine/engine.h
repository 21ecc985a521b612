/* engine.h - the verbs on one supernet: forward, backward, step, and what they leave behind.
 *
 * An engine owns the weights, gradients and momentum of a supernet on one backend, and the memory
 * to run any of its paths on batches up to a given size. A training step is
 *
 *   pada_engine_zero_grad(e);
 *   for each path of the step: pada_engine_forward(e, path, batch, PADA_TRAIN); pada_engine_backward(e);
 *   pada_engine_step(e, &sgd, &stats);
 *
 * Nothing is allocated in a step. */
#ifndef PADA_ENGINE_ENGINE_H
#define PADA_ENGINE_ENGINE_H

#include "backend/backend.h"
#include "data/batch.h"
#include "optim/sgd.h"
#include "space/space.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pada_engine pada_engine;

typedef enum pada_mode { PADA_EVAL, PADA_TRAIN } pada_mode;

typedef struct pada_engine_desc {
    const pada_space *space; /* copied */
    const pada_backend *backend;
    int n_threads;  /* 0: the machine's default */
    int batch_size; /* largest batch */
    pada_mode mode; /* PADA_EVAL engines have no gradients and need less memory */
} pada_engine_desc;

/* Per-image results and sums of the last forward pass. */
typedef struct pada_results_view {
    int n;
    double loss; /* mean over the batch */
    int top1, top5;
} pada_results_view;

typedef struct pada_step_stats {
    double grad_norm;   /* before clipping */
    double clip_factor; /* 1: not clipped */
} pada_step_stats;

pada_status pada_engine_create(pada_engine **out, const pada_engine_desc *desc);
void pada_engine_destroy(pada_engine *e);

const pada_params *pada_engine_params(const pada_engine *e);
const pada_space *pada_engine_space(const pada_engine *e);
const char *pada_engine_describe(const pada_engine *e); /* backend and threads */
/* buffers of the engine: parameters and work */
int64_t pada_engine_memory_bytes(const pada_engine *e);

/* Fresh weights: uniform(-bound, bound) from the stream (seed, "init", parameter). Momentum becomes
 * zero. */
pada_status pada_engine_init_weights(pada_engine *e, uint64_t seed);
/* Weights from or to a safetensors file, by parameter name. Every parameter must be there with its
 * shape, as finite F32 or F64 numbers; further tensors are an error. On failure the weights are
 * unchanged. */
pada_status pada_engine_load_weights(pada_engine *e, const char *path);
pada_status pada_engine_save_weights(const pada_engine *e, const char *path);
/* of the float32 bytes, in buffer order */
uint64_t pada_engine_weights_hash(const pada_engine *e);

/* Runs a path on a batch. Images have the space's size; labels out of range are PADA_EDATA. */
pada_status pada_engine_forward(pada_engine *e, const pada_path *path, const pada_batch *batch,
                                pada_mode mode);
/* Adds the gradient of grad_scale * mean(weight * loss) of the last forward pass (mode PADA_TRAIN)
 * to the gradients. */
void pada_engine_backward(pada_engine *e);
void pada_engine_zero_grad(pada_engine *e);
/* One SGD step over what backward has collected since zero_grad. */
pada_status pada_engine_step(pada_engine *e, const pada_sgd *sgd, pada_step_stats *stats);

/* Of the last forward pass. A loss that is not finite is PADA_ENUMERIC. */
pada_status pada_engine_results(const pada_engine *e, pada_results_view *view);
void pada_engine_losses(const pada_engine *e, double *losses); /* [n] */
void pada_engine_norms(const pada_engine *e, double *norms);   /* [n] ||p - onehot|| */
void pada_engine_logits(const pada_engine *e, double *logits); /* [n, classes] */

/* Copies one parameter, or its gradient, out of the engine: `count` doubles. */
void pada_engine_read_weight(const pada_engine *e, int param, double *to);
void pada_engine_read_grad(const pada_engine *e, int param, double *to);
void pada_engine_write_weight(pada_engine *e, int param, const double *from);

/* L2 norms of the gradients of (site, choice), 0 where the last paths did not use it. */
double pada_engine_grad_norm(pada_engine *e, int site, int choice);

/* Weights, momentum and which parameters have been sampled, to and from a second set of buffers,
 * made by the first snapshot. */
pada_status pada_engine_snapshot(pada_engine *e);
void pada_engine_restore(pada_engine *e);

#ifdef __cplusplus
}
#endif
#endif
