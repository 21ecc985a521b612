/* eval_queue.h - many evaluations, several of them in flight.
 *
 * A backend says how many networks fill it (backend.h, in_flight); each has a worker: an engine with a
 * device of its own, an evaluator, and a thread. Workers take networks from a farm (dist/farm.h), which may hand out
 * others to other processes, until it has no more. */
#ifndef PADA_STUDY_EVAL_QUEUE_H
#define PADA_STUDY_EVAL_QUEUE_H

#include "base/status.h"
#include "dist/farm.h"
#include "engine/engine.h"
#include "study/evaluate.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Evaluates one network at a time. All of a queue have the same weights and images. */
typedef struct pada_eval_worker {
    pada_engine *engine;
    pada_evaluator *evaluator;
} pada_eval_worker;

/* How many workers to make for n networks: as many as are asked for, or (0) as fill the backend; never more
 * than there are networks. */
int pada_eval_in_flight(const pada_backend *backend, int asked, int n_networks);

/* The tasks of the farm, and their results. */
typedef struct pada_eval_task {
    int number;   /* of the source */
    int supernet; /* of a family that evaluates it */
    pada_path path;
} pada_eval_task;

typedef struct pada_eval_result {
    int top1; /* images */
    double loss;
    double margin; /* 0: the evaluator has none */
} pada_eval_result;

/* Opens a farm of such tasks, with one that lies ready for each of the workers of another process. */
pada_status pada_eval_farm_open(pada_farm **out, pada_team *team, int n_workers,
                                const volatile sig_atomic_t *stop);

typedef struct pada_eval_queue pada_eval_queue;

typedef struct pada_eval_queue_desc {
    const pada_eval_worker *workers; /* [n_workers], at least 1; borrowed */
    int n_workers;
    pada_farm *farm; /* borrowed */
    /* Prepares an engine for a task, while others work; NULL: nothing to do. */
    void *user;
    pada_status (*enter)(void *user, const pada_eval_task *task, int worker, pada_engine *engine);
} pada_eval_queue_desc;

/* Starts the threads. */
pada_status pada_eval_queue_create(pada_eval_queue **out, const pada_eval_queue_desc *desc);
void pada_eval_queue_destroy(pada_eval_queue *queue); /* NULL is fine */

/* Runs until the farm has nothing more. The first failure, which is returned, ends the farm. */
pada_status pada_eval_queue_run(pada_eval_queue *queue);

#ifdef __cplusplus
}
#endif
#endif
