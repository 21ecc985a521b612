/* test_schedule.c - learning-rate schedules at known points. */
#include "check.h"

#include "optim/schedule.h"

static void test_cosine(void **state)
{
    const pada_schedule s = {PADA_SCHEDULE_COSINE, 0.1, 0.02};

    (void)state;
    CHECK_CLOSE(pada_schedule_lr(&s, 0, 250), 0.1, 0);
    CHECK_CLOSE(pada_schedule_lr(&s, 62.5, 250), 0.02 + 0.08 * 0.8535533905932737, 1e-15);
    CHECK_CLOSE(pada_schedule_lr(&s, 250.0 / 3, 250), 0.08, 1e-15);
    CHECK_CLOSE(pada_schedule_lr(&s, 125, 250), 0.06, 1e-15);
    CHECK_CLOSE(pada_schedule_lr(&s, 500.0 / 3, 250), 0.04, 1e-15);
    CHECK_CLOSE(pada_schedule_lr(&s, 250, 250), 0.02, 1e-15);
    CHECK_CLOSE(pada_schedule_lr(&s, 1000, 250), 0.02, 1e-15); /* does not turn back */
}

static void test_linear(void **state)
{
    const pada_schedule s = {PADA_SCHEDULE_LINEAR, 0.5, 0.1};

    (void)state;
    CHECK_CLOSE(pada_schedule_lr(&s, 0, 80), 0.5, 0);
    CHECK_CLOSE(pada_schedule_lr(&s, 20, 80), 0.4, 1e-15);
    CHECK_CLOSE(pada_schedule_lr(&s, 60, 80), 0.2, 1e-15);
    CHECK_CLOSE(pada_schedule_lr(&s, 80, 80), 0.1, 1e-15);
    CHECK_CLOSE(pada_schedule_lr(&s, 81, 80), 0.1, 1e-15);
}

static void test_constant(void **state)
{
    const pada_schedule s = {PADA_SCHEDULE_CONSTANT, 0.3, 0.1};

    (void)state;
    CHECK_CLOSE(pada_schedule_lr(&s, 0, 80), 0.3, 0);
    CHECK_CLOSE(pada_schedule_lr(&s, 50, 80), 0.3, 0);
}

/* A run of no epochs is at its end. */
static void test_empty_run(void **state)
{
    const pada_schedule cosine = {PADA_SCHEDULE_COSINE, 0.3, 0.1};
    const pada_schedule linear = {PADA_SCHEDULE_LINEAR, 0.3, 0.1};

    (void)state;
    CHECK_CLOSE(pada_schedule_lr(&cosine, 0, 0), 0.1, 1e-15);
    CHECK_CLOSE(pada_schedule_lr(&linear, 0, 0), 0.1, 1e-15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cosine),
        cmocka_unit_test(test_linear),
        cmocka_unit_test(test_constant),
        cmocka_unit_test(test_empty_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
