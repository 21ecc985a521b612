/* test_farm.c - a farm of one process: what is handed out, put back, kept, and what a failure ends. */
#include <string.h>

#include "check.h"
#include "dist/farm.h"

enum { N_TASKS = 7 };

typedef struct field {
    int next, kept[N_TASKS], back[N_TASKS];
    int fails_at; /* the task whose result cannot be kept; -1: none */
    int n_heard, kind;
    char heard[40];
} field;

static bool take(void *user, void *task)
{
    field *f = user;

    if (f->next == N_TASKS) return false;
    *(int *)task = f->next++;
    return true;
}

static void put_back(void *user, const void *task)
{
    field *f = user;

    f->back[*(const int *)task]++;
}

static pada_status keep(void *user, const void *task, const void *result)
{
    const int i = *(const int *)task;
    field *f = user;

    if (i == f->fails_at) return PADA_FAIL(PADA_EIO, "no room for task %d", i);
    f->kept[i] += *(const int *)result;
    return PADA_OK;
}

static void hear(void *user, int kind, const char *text)
{
    field *f = user;

    f->n_heard++;
    f->kind = kind;
    (void)snprintf(f->heard, sizeof f->heard, "%s", text);
}

static pada_farm *open_farm(field *f, const volatile sig_atomic_t *stop)
{
    pada_farm *farm;

    CHECK_OK(pada_farm_open(&farm, &(pada_farm_desc){.task_bytes = sizeof(int),
                                                     .result_bytes = sizeof(int),
                                                     .ahead = 2,
                                                     .stop = stop,
                                                     .user = f,
                                                     .hear = hear}));
    return farm;
}

static void everything_is_done_once(void **state)
{
    field f = {.fails_at = -1};
    const pada_farm_source source = {&f, take, put_back, keep};
    pada_farm *farm = open_farm(&f, NULL);
    int task, result = 1;

    (void)state;
    assert_true(pada_farm_leads(farm));
    assert_false(pada_farm_take(farm, &task)); /* not begun */
    for (int round = 1; round <= 2; round++) {
        f.next = 0;
        pada_farm_begin(farm, &source);
        while (pada_farm_take(farm, &task))
            CHECK_OK(pada_farm_keep(farm, &task, &result));
        CHECK_OK(pada_farm_end(farm));
        assert_false(pada_farm_take(farm, &task));
        for (int i = 0; i < N_TASKS; i++)
            assert_int_equal(f.kept[i], round);
    }
    pada_farm_say(farm, 3, "one line");
    assert_int_equal(f.n_heard, 1);
    assert_int_equal(f.kind, 3);
    assert_string_equal(f.heard, "one line");
    CHECK_OK(pada_farm_close(farm));
    CHECK_OK(pada_farm_close(NULL));
}

static void failures_end_it(void **state)
{
    for (int at_keeping = 0; at_keeping < 2; at_keeping++) {
        field f = {.fails_at = at_keeping ? 2 : -1};
        const pada_farm_source source = {&f, take, put_back, keep};
        pada_farm *farm = open_farm(&f, NULL);
        int task, after, result = 1;

        (void)state;
        pada_farm_begin(farm, &source);
        for (int i = 0; i < 3; i++) {
            assert_true(pada_farm_take(farm, &task));
            if (i < 2) CHECK_OK(pada_farm_keep(farm, &task, &result));
        }
        assert_true(pada_farm_take(farm, &after));
        if (at_keeping)
            assert_int_equal(pada_farm_keep(farm, &task, &result), PADA_EIO);
        else
            assert_int_equal(pada_farm_fail(farm, PADA_FAIL(PADA_EDATA, "task 2 is bad")),
                             PADA_EDATA);
        (void)pada_farm_fail(farm, PADA_FAIL(PADA_ENOMEM, "a later failure"));
        CHECK_OK(pada_farm_keep(farm, &after, &result));
        assert_int_equal(f.kept[3], !at_keeping); /* nothing behind what may be half a line */
        assert_false(pada_farm_take(farm, &task));
        const pada_status st = pada_farm_end(farm);
        assert_int_equal(st, at_keeping ? PADA_EIO : PADA_EDATA);
        assert_string_equal(pada_message(), at_keeping ? "no room for task 2" : "task 2 is bad");
        assert_int_equal(pada_farm_close(farm), st);
    }
}

static void what_is_put_back_reaches_the_source(void **state)
{
    volatile sig_atomic_t stop = 0;
    field f = {.fails_at = -1};
    const pada_farm_source source = {&f, take, put_back, keep};
    pada_farm *farm = open_farm(&f, &stop);
    int task;

    (void)state;
    pada_farm_begin(farm, &source);
    assert_true(pada_farm_take(farm, &task));
    assert_int_equal(*pada_farm_stop(farm), 0);
    stop = 1;
    assert_int_not_equal(*pada_farm_stop(farm), 0);
    pada_farm_put_back(farm, &task);
    assert_int_equal(f.back[0], 1);
    CHECK_OK(pada_farm_end(farm)); /* stopping is no failure */
    CHECK_OK(pada_farm_close(farm));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_is_done_once),
        cmocka_unit_test(failures_end_it),
        cmocka_unit_test(what_is_put_back_reaches_the_source),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
