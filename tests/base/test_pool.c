/* test_pool.c - every item once, never two at a time with the same thread number. */
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
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
