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
#include "data/dataset.h"
#include "optim/sgd.h"
#include "space/space.h"
#include "tensor/state.h"

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

/* NaN where a log was begun and the backend has clip_sgd: the numbers are in the log then. */
typedef struct pada_step_stats {
    double grad_norm;   /* before clipping */
    double clip_factor; /* 1: not clipped */
} pada_step_stats;

pada_status pada_engine_create(pada_engine **out, const pada_engine_desc *desc);
void pada_engine_destroy(pada_engine *e);

const pada_params *pada_engine_params(const pada_engine *e);
const pada_space *pada_engine_space(const pada_engine *e);
const pada_backend *pada_engine_backend(const pada_engine *e);
const char *pada_engine_describe(const pada_engine *e); /* instruction set or device, threads */
/* buffers of the engine: parameters and work */
int64_t pada_engine_memory_bytes(const pada_engine *e);

/* Fresh weights: uniform(-bound, bound) from the stream (seed, "init", parameter). Momentum becomes
 * zero. */
pada_status pada_engine_init_weights(pada_engine *e, uint64_t seed);
/* Weights from or to a safetensors file, by parameter name. Every parameter must be there with its
 * shape, as finite F32 or F64 numbers; further tensors are an error, but for those of checkpoints
 * (tensor/state.h), which are ignored. On failure the weights are
 * unchanged. */
pada_status pada_engine_load_weights(pada_engine *e, const char *path);
pada_status pada_engine_save_weights(const pada_engine *e, const char *path);
/* The same tensors, float32, into a state that is being saved. */
pada_status pada_engine_export_weights(const pada_engine *e, pada_state *state);
/* of the float32 bytes, in buffer order */
uint64_t pada_engine_weights_hash(const pada_engine *e);

/* Takes the images of a split to where the engine computes, if it is not the host's memory; batches
 * may then be picks. A second call for the same images does nothing; the data set must outlive the
 * engine. */
pada_status pada_engine_hold(pada_engine *e, const pada_dataset *data, pada_split split);
/* Whether it has them. False on backends that read the host's memory. */
bool pada_engine_holds(const pada_engine *e, const pada_dataset *data, pada_split split);

/* PADA_EINVAL if the network has other classes or reads images of another size. */
pada_status pada_engine_check_data(const pada_engine *e, const pada_dataset *data);
/* Runs a path on a batch. Images have the space's size; labels out of range are PADA_EDATA. */
pada_status pada_engine_forward(pada_engine *e, const pada_path *path, const pada_batch *batch,
                                pada_mode mode);
/* Adds the gradient of grad_scale * mean(weight * loss) of the last forward pass (mode PADA_TRAIN)
 * to the gradients. */
void pada_engine_backward(pada_engine *e);
void pada_engine_zero_grad(pada_engine *e);
/* One SGD step over what backward has collected since zero_grad. A gradient that is not finite changes
 * nothing and is PADA_ENUMERIC, here or (see pada_step_stats) in pada_engine_log_read. */
pada_status pada_engine_step(pada_engine *e, const pada_sgd *sgd, pada_step_stats *stats);
/* The same as a part of a larger step: neither the log nor the variance counts it. */
pada_status pada_engine_inner_step(pada_engine *e, const pada_sgd *sgd, pada_step_stats *stats);

/* Waits for everything above, which a device does behind the caller's back. A failure on the device
 * is PADA_EDEVICE; the other functions that return a status report it sooner or later, too. */
pada_status pada_engine_finish(pada_engine *e);

/* Of the last forward pass. A loss that is not finite is PADA_ENUMERIC. */
pada_status pada_engine_results(const pada_engine *e, pada_results_view *view);
void pada_engine_losses(const pada_engine *e, double *losses); /* [n] */
void pada_engine_norms(const pada_engine *e, double *norms);   /* [n] ||p - onehot|| */
void pada_engine_logits(const pada_engine *e, double *logits); /* [n, classes] */

/* The sums over several passes of mode PADA_EVAL: between begin, which makes room for so many images (more are an
 * assert), and end, which is where the host waits. */
pada_status pada_engine_tally_begin(pada_engine *e, int n_images);
pada_status pada_engine_tally_end(pada_engine *e, pada_results_view *view);

/* Copies one parameter, or its gradient, out of the engine: `count` doubles. */
void pada_engine_read_weight(const pada_engine *e, int param, double *to);
void pada_engine_read_grad(const pada_engine *e, int param, double *to);
void pada_engine_write_weight(pada_engine *e, int param, const double *from);

/* L2 norms of the gradients of (site, choice), 0 where the last paths did not use it. */
double pada_engine_grad_norm(pada_engine *e, int site, int choice);

/* ---- alignment ----
 *
 * A path can be pulled towards another one: the loss of an image gets
 *
 *   factor * mean over taps and elements of (value - kept value)^2
 *
 * where taps are values that the space marks, such as the outputs of cells, and those kept are
 * constants.
 *
 *   pada_engine_keep_taps(e, anchor, batch);
 *   pada_engine_forward_aligned(e, path, batch, factor);
 *   pada_engine_backward(e); */

/* A forward pass in mode PADA_EVAL that keeps the values of its taps until the next one. The first
 * call makes room. */
pada_status pada_engine_keep_taps(pada_engine *e, const pada_path *path, const pada_batch *batch);
/* pada_engine_forward in mode PADA_TRAIN, on as many images as were kept. Results and log have the
 * loss without the distance. */
pada_status pada_engine_forward_aligned(pada_engine *e, const pada_path *path,
                                        const pada_batch *batch, double factor);
/* The distance, without the factor, of each image of the last pass, which was aligned: [n]. */
void pada_engine_distances(const pada_engine *e, double *distances);

/* ---- blocks ----
 *
 * Where weights belong to blocks (pada_space_config), every pass above asks the gate, whose weights
 * are parameters like others, which block a slot runs. Who trains the gate chooses the blocks:
 *
 *   pada_engine_read_gate(e, gate);                  the logits of a path, by block_gate.h
 *   pada_engine_forward_routed(e, path, batch, n);   with the blocks in the path
 *   pada_engine_backward(e);
 *   pada_engine_probes(e, derivatives);              by the factors that blocks have in their sums
 *   pada_engine_write_gate_grad(e, gate);
 *
 * The host waits for the device in the first and the fourth of them, once each. */

/* The weights of the gate as they are now. */
void pada_engine_read_gate(const pada_engine *e, pada_block_gate *gate);
/* pada_engine_forward in mode PADA_TRAIN with the blocks that the path says. The first n_probes
 * blocks are computed at every slot with parameters and probed. */
pada_status pada_engine_forward_routed(pada_engine *e, const pada_path *path,
                                       const pada_batch *batch, int n_probes);
/* What the probes of the last backward pass say, over all sites: [slot, block], zero where there was
 * none. */
void pada_engine_probes(const pada_engine *e, double *derivatives);
/* The gradients of the gate, which no pass has a part in, become those of `gate`. */
void pada_engine_write_gate_grad(pada_engine *e, pada_block_gate *gate);

/* ---- gradients put aside ----
 *
 * Of several paths at the same weights, to be compared (gradient matching). */
#define PADA_MAX_KEPT 16

/* Keeps a copy of the gradients as number `k`; the first call for a number makes its buffer. */
pada_status pada_engine_keep_grad(pada_engine *e, int k);
/* Inner products of the kept gradients 0 to n - 1, products[i * n + k], over the parameters of a path
 * but for those of slot `without` (-1: all of them); not where weights belong to blocks. One that is
 * not finite is PADA_ENUMERIC. */
pada_status pada_engine_grad_products(pada_engine *e, const pada_path *path, int without, int n,
                                      double *products);

/* ---- the log of an epoch ----
 *
 * What the training passes and steps since pada_engine_log_begin left behind. Strategies and
 * metrics read it when an epoch is over, so that a device need not be waited for at every step. */
typedef struct pada_log {
    int n_images, n_passes, n_steps, n_sites; /* images: of all passes together */
    const double *losses, *norms;             /* [n_images] of the training passes, in order */
    const int32_t *ranks;                     /* [n_images] 0: the label has the highest score */
    const pada_path *paths;                   /* [n_passes] */
    const double *grad_norms, *clip_factors;  /* [n_steps] */
    /* [n_steps, n_sites] L2 norms of the gradients at each site, of all choices that the passes of
     * the step had there, before clipping; 0 where none has parameters */
    const double *site_norms;
    double macs; /* multiply-adds of all forward passes so far, those of evaluations too */
} pada_log;

/* Empties the log and makes room for so many steps, training passes in them and images through
 * those passes; more are an assert. Without a call nothing is logged. */
pada_status pada_engine_log_begin(pada_engine *e, int n_steps, int n_passes, int n_images);
/* Borrowed until the next step. On a backend that has clip_sgd this is where the host learns what
 * happened: a gradient in it that was not finite is PADA_ENUMERIC. */
pada_status pada_engine_log_read(pada_engine *e, pada_log *log);

/* ---- the variance of gradients ----
 *
 * Of every scalar parameter over the steps in which its choice was sampled (Welford, before
 * clipping), averaged over the parameters that were sampled at all. */
typedef struct pada_variance {
    double candidates; /* parameters that belong to choices; NaN: none was sampled */
    double all;
} pada_variance;

/* Starts anew; from here on every step is recorded. Costs two more parameter buffers. */
pada_status pada_engine_variance_begin(pada_engine *e);
void pada_engine_variance_read(const pada_engine *e, pada_variance *variance);

/* ---- checkpoints ---- */

/* Everything that later steps depend on: weights (by parameter name), momenta, which parameters
 * have been sampled, the log and the variance as far as they were begun. Between steps only. Loading
 * needs an engine of the same space on a backend with the same element type. */
void pada_engine_visit(pada_engine *e, pada_state *state);

/* ---- going back, and steps made of several ----
 *
 * Weights, momentum and which parameters have been sampled, to and from a second set of buffers,
 * made by the first snapshot. What weights have moved since then can be added up and become the
 * gradient of a step (Reptile):
 *
 *   pada_engine_snapshot(e);
 *   for each path: inner steps; pada_engine_add_difference(e, factor); pada_engine_restore(e);
 *   pada_engine_take_differences(e);
 *   pada_engine_step(e, &sgd, &stats); */
pada_status pada_engine_snapshot(pada_engine *e);
void pada_engine_restore(pada_engine *e);
/* The weights alone: momentum and what has been sampled stay. */
void pada_engine_restore_weights(pada_engine *e);
/* Adds factor * (snapshot - weights) to the differences, whose buffer the first call makes.
 * Gradients become zero. */
pada_status pada_engine_add_difference(pada_engine *e, double factor);
/* The gradients become the differences, and those zero. */
void pada_engine_take_differences(pada_engine *e);
void pada_engine_zero_momentum(pada_engine *e);
/* Exchanges the momentum with another one, which the first call makes of zeros. Checkpoints have
 * both from then on, until the weights are made afresh. */
pada_status pada_engine_swap_momentum(pada_engine *e);

#ifdef __cplusplus
}
#endif
#endif
