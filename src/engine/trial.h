/* trial.h - a network with fresh weights, run as scores without training want it.
 *
 * An engine trains one supernet. A trial takes one network after the other in its final form, lets the caller change
 * its graph (leave norms out, keep values by taps, cut a block out of it), and runs that once, forward and backward.
 *
 *   pada_trial_take(t, &final);
 *   pada_trial_init_weights(t, seed, 1, false);
 *   pada_trial_build(t, t->graph, false);                  then change the graph
 *   pada_trial_plan(t, t->graph, batch.n, true);
 *   pada_trial_forward(t, &batch, 0);
 *   pada_trial_backward(t, NULL);
 *   pada_trial_weight_grad_norm(t, i); .. */
#ifndef PADA_ENGINE_TRIAL_H
#define PADA_ENGINE_TRIAL_H

#include "backend/backend.h"
#include "data/batch.h"
#include "graph/plan.h"
#include "space/space.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is not said to be set by callers is to be read only. */
typedef struct pada_trial {
    const pada_backend *backend;
    pada_device *device;
    pada_space space; /* of the network that was taken */
    pada_params *params;
    pada_graph *graph, *part; /* room for two graphs, which the caller fills */
    int64_t extra;            /* offset of further weights behind those of the network */
    /* ---- private ---- */
    pada_plan *plan;
    int cap_nodes, cap_terms;
    int64_t n_weights; /* elements of the next two, those behind `extra` included */
    void *weights, *grads;
    void *work, *taps;
    int64_t work_bytes, taps_bytes;
    pada_results results;
    int n_images, cap_images; /* of the program; of the results */
    double *staging;
    int64_t cap_staging;
    pada_bindings bindings;
} pada_trial;

/* n_threads 0: the machine's default. */
pada_status pada_trial_create(pada_trial **out, const pada_backend *backend, int n_threads);
void pada_trial_destroy(pada_trial *trial); /* NULL is fine */

/* A network in its final form. */
pada_status pada_trial_take(pada_trial *trial, const pada_space *space);
/* Makes room for `count` further weights, zeros, behind those of the network: their offset is `extra`. What weights
 * there were is lost. */
pada_status pada_trial_reserve(pada_trial *trial, int64_t count);
/* The initial values of the network (pada_params_draw) times `scale`; without their signs, where `absolute`. Scales of
 * batch norms stay ones. */
pada_status pada_trial_init_weights(pada_trial *trial, uint64_t seed, double scale, bool absolute);
void pada_trial_write_weights(pada_trial *trial, int64_t offset, int64_t count, const double *from);

/* Fills a graph with the network; with taps at the ends of blocks that the space marks. Not simplified. */
pada_status pada_trial_build(pada_trial *trial, pada_graph *graph, bool taps);
/* Simplifies a graph and makes it the one that runs. Batch norms take the statistics of the batch. Gradients become
 * zeros. */
pada_status pada_trial_plan(pada_trial *trial, pada_graph *graph, int n_images, bool train);
/* The batch must have as many images as were planned for, as numbers, of the size that the graph reads. `align`:
 * see pada_bindings. */
void pada_trial_forward(pada_trial *trial, const pada_batch *batch, double align);
/* The gradient of the loss; with `seed` [n, classes] that of the sum of seed * logits instead. */
void pada_trial_backward(pada_trial *trial, const double *seed);

/* Taps of the program in their order: kept by a forward pass without training, compared by one with it. All are of
 * n_images images, [n, c, h, w]. */
int pada_trial_n_taps(const pada_trial *trial);
pada_shape pada_trial_tap_shape(const pada_trial *trial, int tap);
void pada_trial_read_tap(const pada_trial *trial, int tap, double *to);
void pada_trial_write_tap(pada_trial *trial, int tap, const double *from);

/* L2 norm of the gradient of a tensor, and what it and the weights are. */
double pada_trial_grad_norm(pada_trial *trial, int param);
void pada_trial_read_grads(const pada_trial *trial, int64_t offset, int64_t count, double *to);
void pada_trial_read_weights(const pada_trial *trial, int64_t offset, int64_t count, double *to);

#ifdef __cplusplus
}
#endif
#endif
