/* test_sumnas.c - SUMNAS: the outer gradient, where inner steps start, and their momentum. */
#include <string.h>

#include "engine/engine_log.h"
#include "engine/engine_weights.h"
#include "strategy/small_run.h"

#define PLAIN "--sumnas-inner-momentum 0 --sumnas-inner-clip 0 "

/* What plain SGD of the outer step with rate 1 moved the weights by in step `number`. */
static double *movement(small_run *r, int64_t number, pada_path *paths, int *n_passes)
{
    const int64_t count = pada_params_elements(r->env.params);
    double *before = small_run_weights(r);
    const pada_path *seen = small_run_step(r, 0, number, n_passes);

    memcpy(paths, seen, (size_t)*n_passes * sizeof *paths);
    double *moved = small_run_weights(r);
    for (int64_t i = 0; i < count; i++)
        moved[i] = before[i] - moved[i];
    free(before);
    return moved;
}

/* One inner step without momentum: the way is the gradient. */
static void one_inner_step_is_the_mean_gradient(void **state)
{
    pada_path paths[16];
    small_run r;
    int n;

    (void)state;
    small_run_open(&r, "sumnas", PLAIN "--sumnas-inner-steps 1 --sumnas-inner-lr 0.03");
    double *want = calloc((size_t)pada_params_elements(r.env.params), sizeof *want);
    double *moved = movement(&r, 0, paths, &n);
    assert_int_equal(n, SMALL_CHOICES);
    CHECK_OK(pada_engine_init_weights(r.engine, 3));
    for (int k = 0; k < n; k++)
        small_run_add_grad(&r, &paths[k], 0.03 / SMALL_CHOICES, want);
    assert_true(relative_error(moved, want, pada_params_elements(r.env.params)) < 1e-12);
    free(moved), free(want);
    small_run_close(&r);
}

/* Two inner steps with momentum, path by path on an engine of its own. */
static void inner_steps_start_from_the_same_weights(void **state)
{
    const pada_optim inner = {.lr = 0.05, .momentum = 0.9, .clip = 5};
    pada_path paths[16];
    small_run r, other;
    int n;

    (void)state;
    small_run_open(&r, "sumnas", "");
    small_run_open(&other, "sumnas", "");
    const int64_t count = pada_params_elements(r.env.params);
    double *want = calloc((size_t)count, sizeof *want), *moved = movement(&r, 0, paths, &n);
    assert_int_equal(n, 2 * SMALL_CHOICES);
    assert_int_equal(r.ops->passes(r.self), n);
    double *start = small_run_weights(&other);
    for (int k = 0; k < n; k += 2) {
        pada_step_stats stats;
        assert_true(pada_path_equal(&r.space, &paths[k], &paths[k + 1]));
        CHECK_OK(pada_engine_init_weights(other.engine, 3)); /* also without momentum */
        for (int i = 0; i < 2; i++) {
            pada_engine_zero_grad(other.engine);
            CHECK_OK(pada_engine_forward(other.engine, &paths[k], &r.draws.batch, PADA_TRAIN));
            pada_engine_backward(other.engine);
            CHECK_OK(pada_engine_inner_step(other.engine, &inner, &stats));
        }
        double *end = small_run_weights(&other);
        for (int64_t i = 0; i < count; i++)
            want[i] += (start[i] - end[i]) / SMALL_CHOICES;
        free(end);
    }
    assert_true(relative_error(moved, want, count) < 1e-12);
    free(moved), free(want), free(start);
    small_run_close(&r);
    small_run_close(&other);
}

/* An outer rate of zero leaves no trace, bit for bit; its momentum and decay are the outer ones. */
static void restoring_is_exact(void **state)
{
    static const char *const flags[] = {"", "--sumnas-as-released"};

    (void)state;
    for (int f = 0; f < 2; f++) {
        small_run r;
        int n;
        small_run_open(&r, "sumnas", flags[f]);
        const uint64_t before = pada_engine_weights_hash(r.engine);
        r.optim.lr = 0;
        for (int i = 0; i < 3; i++)
            small_run_step(&r, 0, i, &n);
        assert_true(pada_engine_weights_hash(r.engine) == before);
        small_run_close(&r);
    }
}

/* Repeats step 0 from the same weights: only momentum that was kept can make a difference. */
static void only_released_momentum_goes_on(void **state)
{
    static const char *const flags[] = {"", "--sumnas-as-released"};

    (void)state;
    for (int f = 0; f < 2; f++) {
        pada_path paths[16];
        small_run r;
        int n;
        small_run_open(&r, "sumnas", flags[f]);
        const int64_t count = pada_params_elements(r.env.params);
        double *first = movement(&r, 0, paths, &n);
        for (int i = 0; i < pada_params_count(r.env.params); i++) { /* back by hand */
            const pada_param *p = pada_params_get(r.env.params, i);
            double *w = calloc((size_t)p->count, sizeof *w);
            pada_engine_read_weight(r.engine, i, w);
            for (int64_t k = 0; k < p->count; k++)
                w[k] += first[p->offset + k];
            pada_engine_write_weight(r.engine, i, w);
            free(w);
        }
        double *again = movement(&r, 0, paths, &n);
        const double apart = relative_error(again, first, count);
        if (f == 0 ? apart > 1e-12 : apart < 0.1) fail_msg("%s: apart by %g", flags[f], apart);
        free(first), free(again);
        small_run_close(&r);
    }
}

/* Outer momentum is apart from the inner one: it adds 0.9 times the first step to the second. */
static void outer_momentum_is_its_own(void **state)
{
    static const char *const flags[] = {"", "--sumnas-as-released"};

    (void)state;
    for (int f = 0; f < 2; f++) {
        double *first[2], *second[2];
        int64_t count = 0;
        for (int with = 0; with < 2; with++) {
            pada_path paths[16];
            small_run r;
            int n;
            small_run_open(&r, "sumnas", flags[f]);
            r.optim.momentum = with ? 0.9 : 0;
            first[with] = movement(&r, 0, paths, &n);
            second[with] = movement(&r, 1, paths, &n);
            count = pada_params_elements(r.env.params);
            small_run_close(&r);
        }
        assert_true(relative_error(first[1], first[0], count) == 0);
        for (int64_t i = 0; i < count; i++)
            second[0][i] += 0.9 * first[0][i];
        assert_true(relative_error(second[1], second[0], count) < 1e-12);
        for (int with = 0; with < 2; with++)
            free(first[with]), free(second[with]);
    }
}

static void released_groups_last_an_epoch(void **state)
{
    pada_path first[16], second[16];
    small_run r;
    int n;

    (void)state;
    small_run_open(&r, "sumnas", "--sumnas-as-released");
    free(movement(&r, 0, first, &n));
    free(movement(&r, 1, second, &n));
    assert_memory_equal(first, second, (size_t)n * sizeof *first);
    small_run_close(&r);
    small_run_open(&r, "sumnas", "");
    free(movement(&r, 0, first, &n));
    free(movement(&r, 1, second, &n));
    assert_memory_not_equal(first, second, (size_t)n * sizeof *first);
    small_run_close(&r);
}

/* Half-way a cosine is at a half. */
static void inner_rates_can_be_annealed(void **state)
{
    static const char *const flags[] = {PLAIN "--sumnas-inner-steps 1",
                                        PLAIN "--sumnas-inner-steps 1 --sumnas-anneal-inner"};
    double *moved[2];
    int64_t count = 0;

    (void)state;
    for (int f = 0; f < 2; f++) {
        small_run r;
        small_run_open(&r, "sumnas", flags[f]);
        const pada_epoch epoch = {.index = 5, .optim = {.lr = 1}}; /* of 10 */
        double *before = small_run_weights(&r);
        CHECK_OK(r.ops->step(r.self, r.engine, &r.draws, &epoch, 0));
        moved[f] = small_run_weights(&r);
        count = pada_params_elements(r.env.params);
        for (int64_t i = 0; i < count; i++)
            moved[f][i] = (before[i] - moved[f][i]) * (f == 0 ? 0.5 : 1);
        free(before);
        small_run_close(&r);
    }
    assert_true(relative_error(moved[1], moved[0], count) < 1e-12);
    free(moved[0]), free(moved[1]);
}

/* The log has one step, with the norm of the outer gradient. */
static void the_outer_step_is_logged(void **state)
{
    pada_path paths[16];
    double squares = 0;
    pada_log log;
    small_run r;
    int n;

    (void)state;
    small_run_open(&r, "sumnas", "");
    double *moved = movement(&r, 0, paths, &n);
    pada_engine_log_read(r.engine, &log);
    assert_int_equal(log.n_steps, 1);
    assert_int_equal(log.n_passes, 2 * SMALL_CHOICES);
    for (int64_t i = 0; i < pada_params_elements(r.env.params); i++)
        squares += moved[i] * moved[i];
    CHECK_CLOSE(log.grad_norms[0], sqrt(squares), 1e-12);
    free(moved);
    small_run_close(&r);
}

static void contradictions_are_refused(void **state)
{
    max_align_t settings[64];
    small_run r;

    (void)state;
    small_run_open(&r, "sumnas", "");
    CHECK_OK(method_settings(r.ops, "--sumnas-as-released --sumnas-anneal-inner", settings,
                             sizeof settings));
    assert_int_equal(r.ops->init(r.self, &r.env, settings), PADA_EINVAL);
    small_run_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_inner_step_is_the_mean_gradient),
        cmocka_unit_test(inner_steps_start_from_the_same_weights),
        cmocka_unit_test(restoring_is_exact),
        cmocka_unit_test(only_released_momentum_goes_on),
        cmocka_unit_test(outer_momentum_is_its_own),
        cmocka_unit_test(released_groups_last_an_epoch),
        cmocka_unit_test(inner_rates_can_be_annealed),
        cmocka_unit_test(the_outer_step_is_logged),
        cmocka_unit_test(contradictions_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
