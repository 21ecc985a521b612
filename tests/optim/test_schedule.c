/* test_schedule.c - learning-rate schedules at known points. */
#include "check.h"

#include "optim/schedule.h"

static void test_cosine(void **state)
{
    const pada_schedule s = {.kind = PADA_SCHEDULE_COSINE, .first = 0.1, .last = 0.02};

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
    const pada_schedule s = {.kind = PADA_SCHEDULE_LINEAR, .first = 0.5, .last = 0.1};

    (void)state;
    CHECK_CLOSE(pada_schedule_lr(&s, 0, 80), 0.5, 0);
    CHECK_CLOSE(pada_schedule_lr(&s, 20, 80), 0.4, 1e-15);
    CHECK_CLOSE(pada_schedule_lr(&s, 60, 80), 0.2, 1e-15);
    CHECK_CLOSE(pada_schedule_lr(&s, 80, 80), 0.1, 1e-15);
    CHECK_CLOSE(pada_schedule_lr(&s, 81, 80), 0.1, 1e-15);
}

static void test_constant(void **state)
{
    const pada_schedule s = {.kind = PADA_SCHEDULE_CONSTANT, .first = 0.3, .last = 0.1};

    (void)state;
    CHECK_CLOSE(pada_schedule_lr(&s, 0, 80), 0.3, 0);
    CHECK_CLOSE(pada_schedule_lr(&s, 50, 80), 0.3, 0);
}

/* timm's, with the numbers of spaces.md B.3: warm-up, then a decay that has counted its epochs. */
static void test_step(void **state)
{
    const pada_schedule s = {.kind = PADA_SCHEDULE_STEP,
                             .first = 0.16,
                             .warmup_epochs = 3,
                             .warmup_first = 1e-6,
                             .decay_epochs = 2.4,
                             .decay_rate = 0.97};
    static const struct {
        int epoch;
        double lr, close;
    } known[] = {{0, 1e-6, 0},
                 {1, 0.053334, 1e-9},
                 {2, 0.106667, 1e-9},
                 {3, 0.1552, 1e-15},
                 {4, 0.1552, 1e-15},
                 {5, 0.150544, 1e-15},
                 {7, 0.150544, 1e-15},
                 {8, 0.14602768, 1e-15},
                 {24, 0.11798786, 1e-8},
                 {100, 0.045894547, 1e-9},
                 {449, 5.3756909e-4, 1e-11}};

    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        CHECK_CLOSE(pada_schedule_lr(&s, known[i].epoch, 450), known[i].lr, known[i].close);
    pada_schedule bounded = s;
    bounded.last = 0.1;
    CHECK_CLOSE(pada_schedule_lr(&bounded, 449, 450), 0.1, 0);
}

/* Warm-up works with every kind, and does not move what comes after it. */
static void test_warmup(void **state)
{
    const pada_schedule plain = {.kind = PADA_SCHEDULE_COSINE, .first = 0.1, .last = 0.02};
    pada_schedule s = plain;

    (void)state;
    s.warmup_epochs = 4;
    s.warmup_first = 0.02;
    CHECK_CLOSE(pada_schedule_lr(&s, 0, 80), 0.02, 0);
    CHECK_CLOSE(pada_schedule_lr(&s, 3, 80), 0.08, 1e-15);
    for (int epoch = 4; epoch < 81; epoch++)
        CHECK_CLOSE(pada_schedule_lr(&s, epoch, 80), pada_schedule_lr(&plain, epoch, 80), 0);
}

/* A run of no epochs is at its end. */
static void test_empty_run(void **state)
{
    const pada_schedule cosine = {.kind = PADA_SCHEDULE_COSINE, .first = 0.3, .last = 0.1};
    const pada_schedule linear = {.kind = PADA_SCHEDULE_LINEAR, .first = 0.3, .last = 0.1};

    (void)state;
    CHECK_CLOSE(pada_schedule_lr(&cosine, 0, 0), 0.1, 1e-15);
    CHECK_CLOSE(pada_schedule_lr(&linear, 0, 0), 0.1, 1e-15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cosine),   cmocka_unit_test(test_linear),
        cmocka_unit_test(test_constant), cmocka_unit_test(test_step),
        cmocka_unit_test(test_warmup),   cmocka_unit_test(test_empty_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
