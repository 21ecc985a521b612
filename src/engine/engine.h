/* engine.h - the verbs on one supernet: forward, backward, step, and what they leave behind.
 *
 * An engine owns the weights and gradients of a supernet and the states of its optimiser on one backend,
 * and the memory to run any of its paths on batches up to a given size. A training step is
 *
 *   pada_engine_zero_grad(e);
 *   for each path of the step: pada_engine_forward(e, path, batch, PADA_TRAIN); pada_engine_backward(e);
 *   pada_engine_step(e, &optim, &stats);
 *
 * Nothing is allocated in a step. What else an engine can do has a header for each purpose:
 *
 *   engine_weights.h    fresh weights, files, hashes       engine_results.h   losses and accuracies
 *   engine_log.h        the record of an epoch             engine_variance.h  of the gradients
 *   engine_snapshot.h   going back, steps made of several  engine_gradients.h put aside, compared
 *   engine_align.h      paths pulled towards another one   engine_blocks.h    gated blocks of weights
 *   engine_ema.h        an average of the weights          engine_inspect.h   for tests
 *   engine_regularize.h what only training passes do */
#ifndef PADA_ENGINE_ENGINE_H
#define PADA_ENGINE_ENGINE_H

#include "backend/backend.h"
#include "data/batch.h"
#include "data/dataset.h"
#include "optim/optim.h"
#include "space/space.h"
#include "tensor/state.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pada_engine pada_engine;

typedef enum pada_mode { PADA_EVAL, PADA_TRAIN } pada_mode;

/* What batch norms are normalised by in evaluation; in training it is always the batch. */
typedef enum pada_statistics {
    PADA_STATISTICS_BATCH,
    /* Mean and variance that training keeps: a tenth of the batch's and the rest of the earlier ones, as PyTorch
     * does. They belong to the weights, in files and checkpoints. Files that have none are of other trainings: such
     * weights, and fresh ones in an engine that does not train, are evaluated by the batch. */
    PADA_STATISTICS_RUNNING,
    /* Those that pada_engine_collect_statistics has made for the path, which belong to no file. */
    PADA_STATISTICS_RECALIBRATED
} pada_statistics;

typedef struct pada_engine_desc {
    const pada_space *space; /* copied */
    const pada_backend *backend;
    int n_threads;                   /* 0: the machine's default */
    int batch_size;                  /* largest batch */
    pada_mode mode;                  /* PADA_EVAL engines have no gradients and need less memory */
    const pada_optimizer *optimizer; /* NULL: the first of the table */
    /* others than those of the batch are PADA_EINVAL where slots share blocks of weights */
    pada_statistics statistics;
} pada_engine_desc;

/* NaN where a log was begun and the backend has clip_update: the numbers are in the log then. */
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
int pada_engine_threads(
    const pada_engine *e); /* as it was created with; 0: the machine's default */
/* buffers of the engine: parameters and work */
int64_t pada_engine_memory_bytes(const pada_engine *e);

/* Takes the images of a split to where the engine computes, if it is not the host's memory; batches
 * may then be picks. A second call for the same images does nothing; the data set must outlive the
 * engine. */
pada_status pada_engine_hold(pada_engine *e, const pada_dataset *data, pada_split split);
/* Whether it has them. False on backends that read the host's memory. */
bool pada_engine_holds(const pada_engine *e, const pada_dataset *data, pada_split split);

/* From now on the processes of a team, which make the same calls, work on every batch together; NULL, 0 ends it. The engine
 * never closes a team.
 *
 * shards 0: they divide the images of all passes and end with the bits of one process (backend.h); a backend that cannot
 * is PADA_EUNSUPPORTED.
 * shards > 0, with or without a team: training passes cut their batch into so many shards, of which every process has equally
 * many. Batch norms are over the images of a shard, running statistics those of the first one; gradients and
 * results are the same for any number of processes. Other passes are not divided: everybody makes them. A gate that learns from
 * the sums of norms, and passes that compare features, are PADA_EUNSUPPORTED; a number that is no power of two, or larger
 * than PADA_MAX_SHARDS, or no multiple of the processes, is PADA_EINVAL. Of a batch with fewer images some shards are
 * empty. */
enum { PADA_MAX_SHARDS = 64 };
pada_status pada_engine_divide(pada_engine *e, pada_team *team, int shards);
/* The images [*first, *end) of a batch of n that this process reads, in training passes and in others; labels it reads of
 * all. For loaders. */
void pada_engine_train_share(const void *engine, int n, int *first, int *end);
void pada_engine_eval_share(const void *engine, int n, int *first, int *end);

/* PADA_EINVAL if the network has other classes or reads images of another size. */
pada_status pada_engine_check_data(const pada_engine *e, const pada_dataset *data);
/* Runs a path on a batch. Images have the space's size; labels out of range are PADA_EDATA. */
pada_status pada_engine_forward(pada_engine *e, const pada_path *path, const pada_batch *batch,
                                pada_mode mode);
/* Adds the gradient of grad_scale * mean(weight * loss) of the last forward pass (mode PADA_TRAIN)
 * to the gradients. */
void pada_engine_backward(pada_engine *e);
void pada_engine_zero_grad(pada_engine *e);
/* One step of the optimiser over what backward has collected since zero_grad. A gradient that is not finite changes
 * nothing and is PADA_ENUMERIC, here or (see pada_step_stats) in pada_engine_log_read. */
pada_status pada_engine_step(pada_engine *e, const pada_optim *optim, pada_step_stats *stats);
/* The same as a part of a larger step: neither the log nor the variance counts it. */
pada_status pada_engine_inner_step(pada_engine *e, const pada_optim *optim, pada_step_stats *stats);

/* Waits for everything above, which a device does behind the caller's back. A failure on the device
 * is PADA_EDEVICE; the other functions that return a status report it sooner or later, too. */
pada_status pada_engine_finish(pada_engine *e);
/* To be called first in a thread that uses the engine and did not make it. One thread at a time. */
pada_status pada_engine_adopt(pada_engine *e);

/* Everything that later steps depend on: weights (by parameter name), states of the optimiser,
 * which parameters have been sampled, the log and the variance as far as they were begun. Between steps only. Loading
 * needs an engine of the same space on a backend with the same element type. */
void pada_engine_visit(pada_engine *e, pada_state *state);

#ifdef __cplusplus
}
#endif
#endif
