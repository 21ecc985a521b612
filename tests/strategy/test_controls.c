/* test_controls.c - the controls for PA and DA: a schedule without norms, draws without importance. */
#include <string.h>

#include "strategy/small_run.h"

enum { DRAWS = 20000, IMAGES = 1000, EPOCHS = 100 };

/* Epoch 0, 5 and 9 of ten: choices with parameters have 0.4 + 0.6 e / 10, each the same share. */
static void convolutions_follow_the_schedule(void **state)
{
    static const int epochs[] = {0, 5, 9};
    small_run r;

    (void)state;
    small_run_open_on(&r, "null", "conv_anneal", "");
    for (int i = 0; i < 3; i++) {
        const double conv = 0.2 + 0.03 * epochs[i], other = (1 - 2 * conv) / 3;
        double share[SMALL_SLOTS][SMALL_CHOICES] = {{0}};
        int32_t order[SMALL_BATCH];
        pada_distributions told;
        int n;
        r.epoch = epochs[i];
        CHECK_OK(r.ops->begin_epoch(r.self, &(pada_epoch){.index = epochs[i]}, order));
        for (int step = 0; step < DRAWS; step++) {
            const pada_path *path = small_run_step(&r, 0, step, &n);
            assert_int_equal(n, 1);
            for (int slot = 0; slot < SMALL_SLOTS; slot++)
                share[slot][path->choice[slot]] += 1.0 / DRAWS;
        }
        r.ops->distributions(r.self, &(pada_epoch){.index = epochs[i]}, &told);
        for (int slot = 0; slot < SMALL_SLOTS; slot++)
            for (int c = 0; c < SMALL_CHOICES; c++) {
                const double want = c == 2 || c == 3 ? conv : other; /* 1x1 and 3x3 */
                CHECK_CLOSE(told.paths->p[slot][c], want, 1e-15);
                CHECK_CLOSE(share[slot][c], want, 5 * sqrt(want * (1 - want) / DRAWS));
            }
    }
    small_run_close(&r);
}

/* Backwards it begins with choices that have parameters; or it stands still. */
static void schedules_run_backwards(void **state)
{
    static const struct {
        const char *flags;
        double conv[3];
    } cases[] = {{"--path-schedule dec", {0.5, 0.35, 0.23}},
                 {"--path-schedule const", {0.5, 0.5, 0.5}}};
    static const int epochs[] = {0, 5, 9};
    int32_t order[SMALL_BATCH];
    pada_distributions told;
    small_run r;

    (void)state;
    for (int k = 0; k < 2; k++) {
        small_run_open_on(&r, "null", "conv_anneal", cases[k].flags);
        for (int i = 0; i < 3; i++) {
            CHECK_OK(r.ops->begin_epoch(r.self, &(pada_epoch){.index = epochs[i]}, order));
            r.ops->distributions(r.self, &(pada_epoch){.index = epochs[i]}, &told);
            CHECK_CLOSE(told.paths->p[4][3], cases[k].conv[i], 1e-12);
            CHECK_CLOSE(told.paths->p[4][0], (1 - 2 * cases[k].conv[i]) / 3, 1e-12);
        }
        small_run_close(&r);
    }
}

/* With replacement, all images equally likely: an epoch misses 1/e of them. The first one has all. */
static void images_come_back(void **state)
{
    static int32_t order[IMAGES], again[IMAGES];
    static int counts[IMAGES];
    double chi = 0;
    small_run r;

    (void)state;
    small_run_open_on(&r, "null", "spos", "");
    r.env.n_images = IMAGES;
    small_run_use(&r, "uniform_replacement", NULL);
    for (int epoch = 0; epoch <= EPOCHS; epoch++) {
        static bool seen[IMAGES];
        int n_seen = 0;
        memset(seen, 0, sizeof seen);
        CHECK_OK(r.ops->begin_epoch(r.self, &(pada_epoch){.index = epoch}, order));
        for (int i = 0; i < IMAGES; i++) {
            assert_in_range(order[i], 0, IMAGES - 1);
            n_seen += !seen[order[i]];
            seen[order[i]] = true;
            if (epoch > 0) counts[order[i]]++;
        }
        CHECK_CLOSE(n_seen, epoch == 0 ? IMAGES : IMAGES * (1 - exp(-1)), epoch == 0 ? 0 : 60);
    }
    for (int i = 0; i < IMAGES; i++)
        chi += (counts[i] - EPOCHS) * (counts[i] - EPOCHS) / (double)EPOCHS;
    CHECK_CLOSE(chi, IMAGES - 1, 6 * sqrt(2.0 * IMAGES));
    CHECK_OK(r.ops->begin_epoch(r.self, &(pada_epoch){.index = EPOCHS}, again));
    assert_memory_equal(order, again, sizeof order);
    small_run_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convolutions_follow_the_schedule),
        cmocka_unit_test(schedules_run_backwards),
        cmocka_unit_test(images_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
