/* test_pool.c - every item once, never two at a time with the same thread number; failures. */
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "base/mem.h"
#include "base/pool.h"
#include "check.h"

enum { MAX_ITEMS = 300, MAX_THREADS = 8 };

typedef struct tally {
    int seen[MAX_ITEMS];
    _Atomic int busy[MAX_THREADS];
    _Atomic int clashes;
    int n_threads;
} tally;

static void count(void *context, int item, int thread)
{
    tally *t = context;

    if (thread < 0 || thread >= t->n_threads || atomic_exchange(&t->busy[thread], 1) != 0)
        atomic_fetch_add(&t->clashes, 1);
    t->seen[item]++;
    atomic_store(&t->busy[thread], 0);
}

static void every_item_is_done_once(void **state)
{
    (void)state;
    for (int n_threads = 1; n_threads <= MAX_THREADS; n_threads++) {
        pada_pool *pool;
        CHECK_OK(pada_pool_create(&pool, n_threads));
        /* Many short loops after each other, so that threads arrive late for some of them. */
        for (int round = 0; round < 3000; round++) {
            const int n = round % MAX_ITEMS;
            tally t = {.n_threads = n_threads};
            pada_pool_run(pool, n, count, &t);
            assert_int_equal(t.clashes, 0);
            for (int i = 0; i < MAX_ITEMS; i++)
                assert_int_equal(t.seen[i], i < n);
        }
        pada_pool_destroy(pool);
    }
}

static void add(void *context, int item, int thread)
{
    (void)thread;
    ((int64_t *)context)[item] += item;
}

/* What a loop wrote is there when the next one reads it, whoever ran the items. */
static void loops_see_each_other(void **state)
{
    static int64_t sums[64];
    pada_pool *pool;

    (void)state;
    memset(sums, 0, sizeof sums);
    CHECK_OK(pada_pool_create(&pool, 3));
    for (int round = 0; round < 5000; round++)
        pada_pool_run(pool, 64, add, sums);
    for (int i = 0; i < 64; i++)
        assert_int_equal(sums[i], 5000 * i);
    pada_pool_destroy(pool);
}

/* Waits for the other item, so that both have a thread; one of them fails. */
typedef struct pair {
    _Atomic int n_begun, n_ended;
    int bad_thread; /* -1: none */
} pair;

static pada_status meet(void *context, int item, int thread)
{
    pair *p = context;

    (void)item;
    atomic_fetch_add(&p->n_begun, 1);
    while (atomic_load(&p->n_begun) < 2)
        sched_yield();
    if (thread == p->bad_thread) return PADA_FAIL(PADA_EDATA, "thread %d is bad", thread);
    atomic_fetch_add(&p->n_ended, 1);
    return PADA_OK;
}

static void failures_come_back(void **state)
{
    pada_pool *pool;

    (void)state;
    CHECK_OK(pada_pool_create(&pool, 2));
    for (int bad = -1; bad < 2; bad++) {
        pair p = {.bad_thread = bad};
        char message[40];
        (void)PADA_FAIL(PADA_EIO, "an older one");
        snprintf(message, sizeof message, "thread %d is bad", bad);
        assert_int_equal(pada_pool_try(pool, 2, meet, &p), bad < 0 ? PADA_OK : PADA_EDATA);
        assert_string_equal(pada_message(), bad < 0 ? "an older one" : message);
        assert_int_equal(p.n_ended, bad < 0 ? 2 : 1);
    }
    pada_pool_destroy(pool);
}

static pada_status fail_from_five_on(void *context, int item, int thread)
{
    (void)thread;
    ++*(int *)context;
    return item < 5 ? PADA_OK : PADA_FAIL(PADA_EDATA, "item %d", item);
}

static void first_failure_stays_and_the_rest_is_done(void **state)
{
    pada_pool *pool;
    int n = 0;

    (void)state;
    CHECK_OK(pada_pool_create(&pool, 1));
    assert_int_equal(pada_pool_try(pool, 9, fail_from_five_on, &n), PADA_EDATA);
    assert_string_equal(pada_message(), "item 5");
    assert_int_equal(n, 9);
    pada_pool_destroy(pool);
}

static void out_of_memory(void **state)
{
    const int64_t live = pada_mem_live();

    (void)state;
    for (int n = 0;; n++) {
        pada_pool *pool;
        pada_mem_fail_after(n);
        const pada_status st = pada_pool_create(&pool, 3);
        pada_mem_fail_after(-1);
        if (st == PADA_OK) {
            pada_pool_destroy(pool);
            assert_int_equal(n, 2);
            break;
        }
        assert_int_equal(st, PADA_ENOMEM);
        assert_null(pool);
        assert_int_equal(pada_mem_live(), live);
    }
    assert_int_equal(pada_mem_live(), live);
    pada_pool_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_item_is_done_once),
        cmocka_unit_test(loops_see_each_other),
        cmocka_unit_test(failures_come_back),
        cmocka_unit_test(first_failure_stays_and_the_rest_is_done),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
