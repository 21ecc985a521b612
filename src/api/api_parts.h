/* api_parts.h - what the files of the library share: handles, checks of arguments, locks. Private to api. */
#ifndef PADA_API_API_PARTS_H
#define PADA_API_API_PARTS_H

#include <pthread.h>

#include "base/status.h"
#include "data/dataset.h"
#include "engine/engine.h"
#include "run/engine_args.h"
#include "space/space.h"
#include "study/evaluate.h"

struct pada_images {
    pada_dataset *data;
    pada_split split;
};

struct pada_net {
    pada_engine *engine;
    int batch_size;
    pthread_mutex_t *lock; /* owned; held while the engine is used */
};

pada_status pada__fail_null(const char *function);
pada_status pada__check_path(const pada_space *space, const pada_path *path);

/* What a configuration, or NULL, says about engines; *batch_size is the default before, and what is wanted after. */
pada_status pada__read_config(const pada_net_config *config, pada_engine_args *args,
                              int *batch_size);

/* A lock for a handle. Destroy accepts NULL. */
pada_status pada__lock_create(pthread_mutex_t **out);
void pada__lock_destroy(pthread_mutex_t *lock);
void pada__lock_take(pthread_mutex_t *lock);
/* Returns `st`. */
pada_status pada__lock_give_back(pthread_mutex_t *lock, pada_status st);

/* Evaluations of one call, which somebody follows. Everything is borrowed but the evaluator. */
typedef struct pada__scoring {
    pada_engine *engine;
    pada_evaluator *evaluator;
    const pada_observer *observer; /* or NULL */
    int64_t n_done, n_total;
    double start; /* clock */
    pada_evaluation best;
} pada__scoring;

/* Zero-initialise; end accepts that and a failed begin. The net is this thread's until the end, which returns `st`. */
pada_status pada__scoring_begin(pada__scoring *s, pada_net *net, const pada_images *images,
                                int limit, const pada_observer *observer);
pada_status pada__scoring_end(pada__scoring *s, pada_net *net, pada_status st);
/* Evaluates a network; PADA_ESTOPPED if the observer says so afterwards. */
pada_status pada__score(pada__scoring *s, const pada_path *path, pada_evaluation *out);

#endif
