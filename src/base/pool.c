/* pool.c - threads that share the items of a loop.
 *
 * A loop is published by storing its ticket: how many items it has and which one is next, in one
 * word, so that taking an item (adding one) tells at once whether there was one to take:
 *
 *   ticket   [ loop number, 16 bits | items, 24 bits | next, 24 bits ]
 *
 * Who took an item below the number of items knows that the loop cannot end before it is done, so
 * `work` and `context` are those of that loop. A thread that comes late takes a number beyond the
 * items and goes away. The loop number only makes two tickets differ. */
#include "base/pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

enum { FIELD_BITS = 24, SPINS = 2000 /* some microseconds */ };
#define FIELD ((UINT64_C(1) << FIELD_BITS) - 1)

typedef struct worker {
    pada_pool *pool;
    int number; /* 1 .. n_threads - 1 */
    pthread_t thread;
} worker;

struct pada_pool {
    int n_workers; /* that run */
    worker *workers;
    void (*work)(void *context, int item, int thread);
    void *context;
    uint64_t loop; /* number of the last one */
    /* On lines of their own: all threads write them. */
    _Alignas(PADA_ALIGN) _Atomic uint64_t ticket;
    _Alignas(PADA_ALIGN) _Atomic int done; /* items of the loop */
    _Alignas(PADA_ALIGN) _Atomic int n_asleep;
    _Atomic bool caller_asleep, quit;
    pthread_mutex_t lock; /* of going to sleep */
    pthread_cond_t new_loop, loop_done;
};

static inline void pause_a_little(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

static bool has_items(uint64_t ticket)
{
    return (ticket & FIELD) < (ticket >> FIELD_BITS & FIELD);
}

/* Takes items until there are none. */
static void take_items(pada_pool *pool, int thread)
{
    while (has_items(atomic_load_explicit(&pool->ticket, memory_order_relaxed))) {
        const uint64_t ticket = atomic_fetch_add(&pool->ticket, 1);
        const int n_items = (int)(ticket >> FIELD_BITS & FIELD);
        if (!has_items(ticket)) return;
        pool->work(pool->context, (int)(ticket & FIELD), thread);
        if (atomic_fetch_add(&pool->done, 1) + 1 < n_items) continue;
        if (!atomic_load(&pool->caller_asleep)) continue;
        pthread_mutex_lock(&pool->lock);
        pthread_cond_signal(&pool->loop_done);
        pthread_mutex_unlock(&pool->lock);
    }
}

static bool must_wait(pada_pool *pool)
{
    return !has_items(atomic_load(&pool->ticket)) && !atomic_load(&pool->quit);
}

static void *run_worker(void *argument)
{
    const worker *self = argument;
    pada_pool *pool = self->pool;

    while (!atomic_load(&pool->quit)) {
        take_items(pool, self->number);
        for (int i = 0; i < SPINS && must_wait(pool); i++)
            pause_a_little();
        if (!must_wait(pool)) continue;
        pthread_mutex_lock(&pool->lock);
        atomic_fetch_add(&pool->n_asleep, 1);
        while (must_wait(pool))
            pthread_cond_wait(&pool->new_loop, &pool->lock);
        atomic_fetch_sub(&pool->n_asleep, 1);
        pthread_mutex_unlock(&pool->lock);
    }
    return NULL;
}

static void wake_workers(pada_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    pthread_cond_broadcast(&pool->new_loop);
    pthread_mutex_unlock(&pool->lock);
}

/* The last items are with other threads. */
static void wait_for_items(pada_pool *pool, int n_items)
{
    for (int i = 0; i < SPINS && atomic_load(&pool->done) < n_items; i++)
        pause_a_little();
    if (atomic_load(&pool->done) == n_items) return;
    pthread_mutex_lock(&pool->lock);
    atomic_store(&pool->caller_asleep, true);
    while (atomic_load(&pool->done) < n_items)
        pthread_cond_wait(&pool->loop_done, &pool->lock);
    atomic_store(&pool->caller_asleep, false);
    pthread_mutex_unlock(&pool->lock);
}

void pada_pool_run(pada_pool *pool, int n_items, void (*work)(void *, int, int), void *context)
{
    PADA_ASSERT(n_items >= 0 && n_items <= PADA_POOL_MAX_ITEMS);
    if (pool->n_workers == 0 || n_items < 2) {
        for (int i = 0; i < n_items; i++)
            work(context, i, 0);
        return;
    }
    pool->work = work;
    pool->context = context;
    pool->loop++;
    atomic_store(&pool->done, 0);
    atomic_store(&pool->ticket, pool->loop << (2 * FIELD_BITS) | (uint64_t)n_items << FIELD_BITS);
    if (atomic_load(&pool->n_asleep) > 0) wake_workers(pool);
    take_items(pool, 0);
    wait_for_items(pool, n_items);
}

/* A loop of pada_pool_try. */
typedef struct attempt {
    pada_status (*work)(void *context, int item, int thread);
    void *context;
    pthread_mutex_t lock; /* of the first failure */
    pada_status status;
    char message[PADA_MESSAGE_BYTES];
} attempt;

static void try_item(void *context, int item, int thread)
{
    attempt *a = context;
    const pada_status st = a->work(a->context, item, thread);

    if (st == PADA_OK) return;
    pthread_mutex_lock(&a->lock);
    if (a->status == PADA_OK) {
        a->status = st;
        snprintf(a->message, sizeof a->message, "%s", pada_message());
    }
    pthread_mutex_unlock(&a->lock);
}

pada_status pada_pool_try(pada_pool *pool, int n_items, pada_status (*work)(void *, int, int),
                          void *context)
{
    attempt a = {.work = work, .context = context, .status = PADA_OK};

    pthread_mutex_init(&a.lock, NULL);
    pada_pool_run(pool, n_items, try_item, &a);
    pthread_mutex_destroy(&a.lock);
    return a.status == PADA_OK ? PADA_OK : PADA_FAIL(a.status, "%s", a.message);
}

pada_status pada_pool_create(pada_pool **out, int n_threads)
{
    void *memory;

    *out = NULL;
    PADA_ASSERT(n_threads >= 1);
    PADA_TRY(pada_alloc_aligned(&memory, sizeof **out));
    pada_pool *pool = memory;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->new_loop, NULL);
    pthread_cond_init(&pool->loop_done, NULL);
    const pada_status st = pada_calloc(&memory, (size_t)n_threads, sizeof *pool->workers);
    if (st != PADA_OK) {
        pada_pool_destroy(pool);
        return st;
    }
    pool->workers = memory;
    for (int i = 0; i + 1 < n_threads; i++) {
        worker *w = &pool->workers[i];
        *w = (worker){.pool = pool, .number = i + 1};
        const int reason = pthread_create(&w->thread, NULL, run_worker, w);
        if (reason != 0) {
            pada_pool_destroy(pool);
            return PADA_FAIL(PADA_ENOMEM, "thread %d of %d: %s", i + 1, n_threads,
                             strerror(reason));
        }
        pool->n_workers++;
    }
    *out = pool;
    return PADA_OK;
}

void pada_pool_destroy(pada_pool *pool)
{
    if (!pool) return;
    atomic_store(&pool->quit, true);
    wake_workers(pool);
    for (int i = 0; i < pool->n_workers; i++)
        pthread_join(pool->workers[i].thread, NULL);
    pthread_cond_destroy(&pool->new_loop);
    pthread_cond_destroy(&pool->loop_done);
    pthread_mutex_destroy(&pool->lock);
    pada_free(pool->workers);
    pada_free(pool);
}
