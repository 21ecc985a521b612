/* test_fairnas.c - FairNAS: fair groups of paths, and their gradients in one step. */
#include <string.h>

#include "engine/engine_inspect.h"
#include "engine/engine_log.h"
#include "engine/engine_weights.h"
#include "sampler/fair_paths.h"
#include "strategy/small_run.h"

/* Every choice of every slot exactly once. */
static void check_fair(const pada_path *paths, int n)
{
    assert_int_equal(n, SMALL_CHOICES);
    for (int slot = 0; slot < SMALL_SLOTS; slot++) {
        int seen = 0;
        for (int k = 0; k < n; k++)
            seen |= 1 << paths[k].choice[slot];
        assert_int_equal(seen, (1 << SMALL_CHOICES) - 1);
    }
}

static void every_choice_once_per_step(void **state)
{
    pada_path all[12][SMALL_CHOICES];
    int differ_in_order = 0, n;
    small_run r;

    (void)state;
    small_run_open(&r, "fairnas", "");
    assert_int_equal(r.ops->passes(r.self), SMALL_CHOICES);
    for (int i = 0; i < 12; i++) {
        const pada_path *paths = small_run_step(&r, i / 4 * 4, i, &n);
        check_fair(paths, n);
        memcpy(all[i], paths, sizeof all[i]);
        for (int k = 0; k < i; k++)
            assert_memory_not_equal(all[i], all[k], sizeof all[i]); /* fresh in every step */
        for (int k = 0; k < n; k++) /* slots have permutations of their own */
            differ_in_order += paths[k].choice[0] != paths[k].choice[1];
    }
    assert_true(differ_in_order > 20);
    small_run_close(&r);
}

static void released_groups_last_an_epoch(void **state)
{
    pada_path all[12][SMALL_CHOICES];
    small_run r;
    int n;

    (void)state;
    small_run_open(&r, "fairnas", "--fairnas-as-released");
    for (int i = 0; i < 12; i++) {
        const pada_path *paths = small_run_step(&r, i / 4 * 4, i, &n);
        check_fair(paths, n);
        memcpy(all[i], paths, sizeof all[i]);
        if (i % 4 > 0) assert_memory_equal(all[i], all[i - 1], sizeof all[i]);
        if (i % 4 == 0 && i > 0) assert_memory_not_equal(all[i], all[i - 1], sizeof all[i]);
    }
    small_run_close(&r);
}

/* Choices are equally likely in every path of the group, not only over the group. */
static void first_paths_are_uniform(void **state)
{
    int count[SMALL_SLOTS][SMALL_CHOICES] = {{0}};
    pada_path paths[SMALL_CHOICES];
    small_run r;

    (void)state;
    small_run_open(&r, "fairnas", "");
    for (int i = 0; i < 20000; i++) {
        pada_fair_paths_draw(&r.space, 1, i, paths);
        for (int slot = 0; slot < SMALL_SLOTS; slot++)
            count[slot][paths[0].choice[slot]]++;
    }
    for (int slot = 0; slot < SMALL_SLOTS; slot++)
        for (int c = 0; c < SMALL_CHOICES; c++)
            CHECK_CLOSE(count[slot][c] / 20000.0, 0.2, 0.015); /* five deviations */
    small_run_close(&r);
}

static void gradients_are_summed(void **state)
{
    small_run r;
    int n;

    (void)state;
    small_run_open(&r, "fairnas", "");
    const int64_t count = pada_params_elements(r.env.params);
    double *before = small_run_weights(&r), *want = calloc((size_t)count, sizeof *want);
    pada_path paths[SMALL_CHOICES];
    memcpy(paths, small_run_step(&r, 0, 0, &n), sizeof paths);
    double *moved = small_run_weights(&r);
    for (int64_t i = 0; i < count; i++)
        moved[i] = before[i] - moved[i];
    CHECK_OK(pada_engine_init_weights(r.engine, 3));
    for (int k = 0; k < n; k++)
        small_run_add_grad(&r, &paths[k], 1, want);
    assert_true(relative_error(moved, want, count) < 1e-12);
    free(before), free(moved), free(want);
    small_run_close(&r);
}

/* The log has every pass and its images, but one step. */
static void passes_are_logged(void **state)
{
    pada_log log;
    small_run r;
    int n;

    (void)state;
    small_run_open(&r, "fairnas", "");
    small_run_step(&r, 0, 0, &n);
    r.draws.batch.n = 3;
    small_run_step(&r, 0, 1, &n);
    pada_engine_log_read(r.engine, &log);
    assert_int_equal(log.n_steps, 2);
    assert_int_equal(log.n_passes, 2 * SMALL_CHOICES);
    assert_int_equal(log.n_images, SMALL_CHOICES * (SMALL_BATCH + 3));
    /* Both convolutions of a site have gradients; its norm is that of both. */
    double squares = 0;
    for (int c = 0; c < SMALL_CHOICES; c++)
        squares += pow(pada_engine_grad_norm(r.engine, 0, c), 2);
    assert_true(squares > 0);
    CHECK_CLOSE(log.site_norms[log.n_sites], sqrt(squares), 1e-12);
    small_run_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_choice_once_per_step),
        cmocka_unit_test(released_groups_last_an_epoch),
        cmocka_unit_test(first_paths_are_uniform),
        cmocka_unit_test(gradients_are_summed),
        cmocka_unit_test(passes_are_logged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
