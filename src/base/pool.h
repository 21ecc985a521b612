/* pool.h - threads that share the items of a loop.
 *
 * The caller works too, and a loop is over when its items are done, not when all threads have been
 * there: a thread that the system keeps waiting, because other programs use the machine, holds
 * nobody up unless it has an item. (A barrier of OpenMP waits for every thread; on a busy machine
 * short loops became ten times slower.) Threads without work spin for some microseconds and then
 * sleep. */
#ifndef PADA_BASE_POOL_H
#define PADA_BASE_POOL_H

#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pada_pool pada_pool;

/* Starts n_threads - 1 threads; n_threads >= 1. */
pada_status pada_pool_create(pada_pool **out, int n_threads);
void pada_pool_destroy(pada_pool *pool); /* NULL is fine */

/* Calls work(context, item, thread) for every item in 0 .. n_items - 1 once and returns when all
 * are done. `thread` is 0 (the caller) to n_threads - 1; two calls at the same time never have the
 * same one. Which thread gets which item is left to chance. One caller at a time; not from inside
 * `work`. */
#define PADA_POOL_MAX_ITEMS ((1 << 24) - 4096)
void pada_pool_run(pada_pool *pool, int n_items, void (*work)(void *context, int item, int thread),
                   void *context);
/* The same for work that can fail: returns the first failure, with its message in the thread of the caller.
 * The other items are worked on all the same. */
pada_status pada_pool_try(pada_pool *pool, int n_items,
                          pada_status (*work)(void *context, int item, int thread), void *context);

#ifdef __cplusplus
}
#endif
#endif
