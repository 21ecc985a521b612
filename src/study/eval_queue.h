/* eval_queue.h - many evaluations, several of them in flight.
 *
 * A backend says how many networks fill it (backend.h, in_flight); each has a worker: an engine with a
 * device of its own, an evaluator, and a thread. Workers take networks from one queue until it is empty. */
#ifndef PADA_STUDY_EVAL_QUEUE_H
#define PADA_STUDY_EVAL_QUEUE_H

#include <stdbool.h>

#include "base/status.h"
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

typedef struct pada_eval_queue pada_eval_queue;

/* Starts the threads. The workers are borrowed. */
pada_status pada_eval_queue_create(pada_eval_queue **out, const pada_eval_worker *workers,
                                   int n_workers);
void pada_eval_queue_destroy(pada_eval_queue *queue); /* NULL is fine */

/* What is evaluated. `take` and `keep` are called one at a time, from any thread. */
typedef struct pada_eval_jobs {
    void *user;
    /* The next network, borrowed until it is kept, and a number for it; NULL: nothing more. */
    const pada_path *(*take)(void *user, int *job);
    /* Prepares an engine for a job, while others work; NULL: nothing to do. */
    pada_status (*enter)(void *user, int job, int worker, pada_engine *engine);
    pada_status (*keep)(void *user, int job, const pada_evaluation *found);
} pada_eval_jobs;

/* Runs until `take` has nothing more. After the first failure, which is returned, what is under way is ended and
 * nothing is taken or kept any more. */
pada_status pada_eval_queue_run(pada_eval_queue *queue, const pada_eval_jobs *jobs);

#ifdef __cplusplus
}
#endif
#endif
