/* test_accumulate.c - steps of several batches: the gradient is the mean over their images, and what a method draws,
 * learns and remembers belongs to steps, not to batches. */
#include "strategy/small_run.h"

enum { STEPS = 3 };

/* Step `number` on two batches of the same images, half the gradient from each. */
static void step_twice(small_run *r, int64_t number)
{
    int n_passes;

    r->draws.batch.grad_scale = 0.5;
    r->draws.more = true;
    small_run_step(r, 0, number, &n_passes);
    r->draws.joins = true;
    r->draws.more = false;
    small_run_step(r, 0, number, &n_passes);
    r->draws.joins = false;
}

/* Twice the same batch is the batch: the same paths, weights and norms, from twice as many passes. */
static void check_method(const char *method, const char *flags)
{
    static max_align_t settings[64];
    small_run once, twice;
    pada_log want, have;
    int n_passes;

    small_run_open(&once, method, flags);
    small_run_open(&twice, method, flags);
    twice.env.accumulate = 2; /* known before the method begins */
    CHECK_OK(method_settings(twice.ops, flags, settings, sizeof settings));
    small_run_use(&twice, method, settings);
    once.optim.clip = twice.optim.clip = 0.5;
    for (int i = 0; i < STEPS; i++) {
        small_run_step(&once, 0, i, &n_passes);
        step_twice(&twice, i);
    }
    CHECK_OK(pada_engine_log_read(once.engine, &want));
    CHECK_OK(pada_engine_log_read(twice.engine, &have));
    assert_int_equal(have.n_steps, STEPS);
    assert_int_equal(have.n_passes, 2 * want.n_passes);
    assert_int_equal(have.n_images, 2 * want.n_images);
    for (int i = 0; i < STEPS; i++) {
        CHECK_CLOSE(have.grad_norms[i], want.grad_norms[i], 1e-10);
        CHECK_CLOSE(have.clip_factors[i], want.clip_factors[i], 1e-10);
    }
    for (int i = 0; i < STEPS * want.n_sites; i++)
        CHECK_CLOSE(have.site_norms[i], want.site_norms[i], 1e-10);
    for (int i = 0; i < SMALL_BATCH; i++) /* of images: not scaled */
        CHECK_CLOSE(have.norms[i], want.norms[i], 1e-12);
    double *weights = small_run_weights(&twice), *want_weights = small_run_weights(&once);
    for (int64_t i = 0; i < pada_params_elements(once.env.params); i++)
        CHECK_CLOSE(weights[i], want_weights[i], 1e-10);
    free(weights);
    free(want_weights);
    small_run_close(&once);
    small_run_close(&twice);
}

static void twice_the_same_batch(void **state)
{
    (void)state;
    check_method("spos", "");
    check_method("spos_depth", "");
    check_method("spos_macs", "");
    check_method("pada", "");
    check_method("pa", "--path-update step --path-schedule const"); /* learns after every step */
    check_method("pa", "--path-reweight true");
    check_method("fairnas", "");
    check_method("nsas", "--nsas-archive 3");
    check_method("magic_t", "");
    check_method("conv_anneal", "");
    check_method("uniform_replacement", "");
}

/* Two batches of different sizes: every image has the same part in the gradient. */
static void mean_over_all_images(void **state)
{
    enum { FEW = 1 };
    const double shares[2] = {(double)SMALL_BATCH / (SMALL_BATCH + FEW),
                              (double)FEW / (SMALL_BATCH + FEW)};
    small_run r;
    int n_passes;

    (void)state;
    small_run_open(&r, "spos", "");
    double *before = small_run_weights(&r);
    double *grad = calloc((size_t)pada_params_elements(r.env.params), sizeof *grad);
    const pada_path path = *small_run_step(&r, 0, 0, &n_passes);
    small_run_set_weights(&r, before);
    for (int k = 0; k < 2; k++) {
        r.draws.batch.n = k == 0 ? SMALL_BATCH : FEW;
        r.draws.batch.grad_scale = 0;
        small_run_add_grad(&r, &path, shares[k], grad);
    }
    for (int k = 0; k < 2; k++) {
        r.draws.batch.n = k == 0 ? SMALL_BATCH : FEW;
        r.draws.batch.grad_scale = shares[k];
        r.draws.joins = k == 1;
        r.draws.more = k == 0;
        small_run_step(&r, 0, 0, &n_passes);
    }
    double *after = small_run_weights(&r);
    double largest = 0;
    for (int64_t i = 0; i < pada_params_elements(r.env.params); i++) {
        CHECK_CLOSE(after[i], before[i] - grad[i], 1e-12);
        largest = fmax(largest, fabs(grad[i]));
    }
    assert_true(largest > 1e-3);
    free(before);
    free(after);
    free(grad);
    small_run_close(&r);
}

static void steps_of_an_epoch(void **state)
{
    const pada_strategy_env plain = {.n_images = 44, .batch_size = 4},
                            several = {.n_images = 44, .batch_size = 4, .accumulate = 3};

    (void)state;
    assert_int_equal(pada_strategy_batches(&plain), 1);
    assert_int_equal(pada_strategy_steps(&plain), 11);
    assert_int_equal(pada_strategy_batches(&several), 3);
    assert_int_equal(pada_strategy_steps(&several), 4); /* 12, 12, 12, 8 images */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(twice_the_same_batch),
        cmocka_unit_test(mean_over_all_images),
        cmocka_unit_test(steps_of_an_epoch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
