/* test_mem.c - allocation, alignment, counting, fault injection. */
#include <limits.h>
#include <pthread.h>

#include "base/scratch.h"

static bool is_zero(const void *memory, size_t n)
{
    const unsigned char *p = memory;

    for (size_t i = 0; i < n; i++)
        if (p[i]) return false;
    return true;
}

static void calloc_gives_zeroed_memory(void **state)
{
    void *p;

    (void)state;
    assert_ok(pada_calloc(&p, 100, 7));
    assert_true(is_zero(p, 700));
    pada_free(p);
}

static void calloc_of_nothing_gives_a_pointer(void **state)
{
    void *p;

    (void)state;
    assert_ok(pada_calloc(&p, 0, 8));
    assert_non_null(p);
    pada_free(p);
    assert_ok(pada_alloc_aligned(&p, 0));
    assert_non_null(p);
    pada_free(p);
}

static void sizes_that_overflow_are_refused(void **state)
{
    void *p = &p;

    (void)state;
    assert_int_equal(pada_calloc(&p, SIZE_MAX / 2, 3), PADA_ENOMEM);
    assert_null(p);
    assert_int_equal(pada_calloc(&p, SIZE_MAX, SIZE_MAX), PADA_ENOMEM);
    assert_int_equal(pada_alloc_aligned(&p, SIZE_MAX), PADA_ENOMEM);
    assert_null(p);
}

static void size_mul_knows_its_limits(void **state)
{
    size_t n;

    (void)state;
    assert_true(pada_size_mul(0, SIZE_MAX, &n) && n == 0);
    assert_true(pada_size_mul(SIZE_MAX, 0, &n) && n == 0);
    assert_true(pada_size_mul(SIZE_MAX, 1, &n) && n == SIZE_MAX);
    assert_true(pada_size_mul(SIZE_MAX / 3, 3, &n) && n == SIZE_MAX / 3 * 3);
    assert_false(pada_size_mul(SIZE_MAX / 2 + 1, 2, &n));
    assert_false(pada_size_mul(2, SIZE_MAX / 2 + 1, &n));
}

static void aligned_blocks_are_aligned_and_zero(void **state)
{
    static const size_t sizes[] = {1, 63, 64, 65, 100000, (2u << 20) - 1, 2u << 20, (5u << 20) + 3};

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        void *p;
        assert_ok(pada_alloc_aligned(&p, sizes[i]));
        const uintptr_t align = sizes[i] >= (2u << 20) ? 2u << 20 : PADA_ALIGN;
        assert_int_equal((uintptr_t)p % align, 0);
        assert_true(is_zero(p, sizes[i]));
        memset(p, 0xff, sizes[i]);
        pada_free(p);
    }
}

static void strdup_copies(void **state)
{
    char text[] = "edge", *copy;

    (void)state;
    assert_ok(pada_strdup(&copy, text));
    text[0] = 'x';
    assert_string_equal(copy, "edge");
    pada_free(copy);
}

static void grow_keeps_the_contents_and_zeroes_the_rest(void **state)
{
    void *items = NULL;
    int cap = 0;

    (void)state;
    for (int i = 0; i < 1000; i++) {
        assert_ok(pada_grow(&items, &cap, i + 1, sizeof(int)));
        assert_true(cap > i);
        assert_int_equal(((int *)items)[i], 0);
        ((int *)items)[i] = i;
    }
    for (int i = 0; i < 1000; i++)
        assert_int_equal(((int *)items)[i], i);
    pada_free(items);
}

static void grow_is_amortised(void **state)
{
    void *items = NULL;
    int cap = 0;

    (void)state;
    const int64_t before = pada_mem_count();
    for (int i = 0; i < 100000; i++)
        assert_ok(pada_grow(&items, &cap, i + 1, 1));
    assert_true(pada_mem_count() - before < 20);
    pada_free(items);
}

static void failed_grow_changes_nothing(void **state)
{
    void *items = NULL;
    int cap = 0;

    (void)state;
    assert_ok(pada_grow(&items, &cap, 4, sizeof(int)));
    ((int *)items)[3] = 42;
    void *const old = items;
    const int old_cap = cap;
    pada_mem_fail_after(0);
    assert_int_equal(pada_grow(&items, &cap, cap + 1, sizeof(int)), PADA_ENOMEM);
    assert_int_equal(pada_grow(&items, &cap, INT_MAX, SIZE_MAX / 4), PADA_ENOMEM);
    assert_ptr_equal(items, old);
    assert_int_equal(cap, old_cap);
    assert_int_equal(((int *)items)[3], 42);
    pada_free(items);
}

static void counters_follow_allocations(void **state)
{
    void *a, *b;

    (void)state;
    const int64_t live = pada_mem_live(), total = pada_mem_count();
    assert_ok(pada_calloc(&a, 1, 1));
    assert_ok(pada_alloc_aligned(&b, 1));
    assert_int_equal(pada_mem_live(), live + 2);
    pada_free(a);
    pada_free(b);
    pada_free(NULL);
    assert_int_equal(pada_mem_live(), live);
    assert_int_equal(pada_mem_count(), total + 2);
}

static void injection_fails_the_nth_allocation_once(void **state)
{
    (void)state;
    for (int n = 0; n < 5; n++) {
        pada_mem_fail_after(n);
        for (int i = 0; i < 10; i++) {
            void *p;
            const int64_t live = pada_mem_live(), total = pada_mem_count();
            const pada_status st = i % 2 ? pada_calloc(&p, 1, 3) : pada_alloc_aligned(&p, 3);
            assert_int_equal(st, i == n ? PADA_ENOMEM : PADA_OK);
            assert_int_equal(pada_mem_live(), live + (i != n));
            assert_int_equal(pada_mem_count(), total + (i != n));
            if (i == n) assert_null(p);
            pada_free(p);
        }
    }
    pada_mem_fail_after(3);
    pada_mem_fail_after(-1);
    for (int i = 0; i < 10; i++) {
        void *p;
        assert_ok(pada_calloc(&p, 1, 1));
        pada_free(p);
    }
}

static void *allocate_many(void *user)
{
    int *n_failed = user;

    for (int i = 0; i < 2000; i++) {
        void *p;
        if (pada_calloc(&p, 1, 16) != PADA_OK) ++*n_failed;
        pada_free(p);
    }
    return NULL;
}

static void one_thread_sees_the_injected_failure(void **state)
{
    pthread_t threads[4];
    int n_failed[4] = {0};

    (void)state;
    const int64_t live = pada_mem_live();
    pada_mem_fail_after(3000);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, allocate_many, &n_failed[i]), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(n_failed[0] + n_failed[1] + n_failed[2] + n_failed[3], 1);
    assert_int_equal(pada_mem_live(), live);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calloc_gives_zeroed_memory),
        cmocka_unit_test(calloc_of_nothing_gives_a_pointer),
        cmocka_unit_test(sizes_that_overflow_are_refused),
        cmocka_unit_test(size_mul_knows_its_limits),
        cmocka_unit_test(aligned_blocks_are_aligned_and_zero),
        cmocka_unit_test(strdup_copies),
        cmocka_unit_test(grow_keeps_the_contents_and_zeroes_the_rest),
        cmocka_unit_test(grow_is_amortised),
        cmocka_unit_test(failed_grow_changes_nothing),
        cmocka_unit_test(counters_follow_allocations),
        cmocka_unit_test(injection_fails_the_nth_allocation_once),
        cmocka_unit_test(one_thread_sees_the_injected_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
