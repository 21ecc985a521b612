/* test_engine_variance.c - the variance of gradients, from the gradients themselves. */
#include <math.h>
#include <stdlib.h>

#include "backends.h"
#include "engine/engine_inspect.h"
#include "engine/engine_variance.h"
#include "engine/engine_weights.h"
#include "engine/uses.h"
#include "train/tiny_engine.h"

enum { BATCH = 6, STEPS = 5, PIXELS = 3 * TINY_SIDE * TINY_SIDE };

/* Choices that are sampled once, several times and never; a dead cell among them. */
static const pada_path paths[STEPS] = {{{3, 2, 1, 4, 3, 1}},
                                       {{3, 3, 3, 1, 0, 2}},
                                       {{0, 0, 0, 0, 0, 0}},
                                       {{3, 1, 2, 4, 3, 1}},
                                       {{1, 3, 2, 1, 1, 2}}};

static void run_step(pada_engine *e, const pada_path *path, int number, double *grads)
{
    const pada_params *params = pada_engine_params(e);
    const pada_optim optim = {.lr = 0.1, .momentum = 0.9, .clip = 0.01}; /* far below the norms */
    pada_step_stats stats;
    float images[BATCH * PIXELS];
    int32_t labels[BATCH];
    pada_rng rng;

    pada_rng_init(&rng, 4, "variance", (uint64_t)number);
    for (int i = 0; i < BATCH * PIXELS; i++)
        images[i] = (float)pada_rng_normal(&rng);
    for (int i = 0; i < BATCH; i++)
        labels[i] = (i + number) % TINY_CLASSES;
    pada_engine_zero_grad(e);
    CHECK_OK(pada_engine_forward(
        e, path, &(pada_batch){.n = BATCH, .images = images, .labels = labels}, PADA_TRAIN));
    pada_engine_backward(e);
    for (int i = 0; i < pada_params_count(params); i++)
        pada_engine_read_grad(e, i, grads + pada_params_get(params, i)->offset);
    CHECK_OK(pada_engine_step(e, &optim, &stats));
}

/* Both passes over the kept gradients: means, then squares. */
static pada_variance by_hand(const pada_engine *e, double **grads)
{
    const pada_params *params = pada_engine_params(e);
    double sums[2] = {0, 0};
    int64_t elements[2] = {0, 0};

    for (int i = 0; i < pada_params_count(params); i++) {
        const pada_param *p = pada_params_get(params, i);
        int n = 0;
        for (int s = 0; s < STEPS; s++)
            n += uses(e, p, &paths[s]);
        if (n == 0) continue;
        for (int64_t k = p->offset; k < p->offset + p->count; k++) {
            double mean = 0, square = 0;
            for (int s = 0; s < STEPS; s++)
                if (uses(e, p, &paths[s])) mean += grads[s][k] / n;
            for (int s = 0; s < STEPS; s++)
                if (uses(e, p, &paths[s])) square += pow(grads[s][k] - mean, 2);
            sums[p->site != PADA_SHARED] += square / n;
        }
        elements[p->site != PADA_SHARED] += p->count;
    }
    return (pada_variance){.candidates = sums[1] / (double)elements[1],
                           .all = (sums[0] + sums[1]) / (double)(elements[0] + elements[1])};
}

static void check_backend(const pada_backend *backend, double tolerance)
{
    const pada_path skips = {{1, 1, 1, 1, 1, 1}};
    double *grads[STEPS];
    pada_variance got;
    pada_space space;
    pada_engine *e = tiny_engine(&space, backend, 2, BATCH);
    const int64_t elements = pada_params_elements(pada_engine_params(e));

    CHECK_OK(pada_engine_init_weights(e, 3));
    for (int s = 0; s < STEPS; s++)
        grads[s] = calloc((size_t)elements, sizeof **grads);
    run_step(e, &paths[1], 9, grads[0]); /* before it begins */
    for (int again = 0; again < 2; again++) {
        CHECK_OK(pada_engine_variance_begin(e));
        for (int s = 0; s < STEPS; s++)
            run_step(e, &paths[s], s, grads[s]);
        const pada_variance want = by_hand(e, grads);
        pada_engine_variance_read(e, &got);
        assert_true(want.all > 0 && want.candidates > 0 && want.all != want.candidates);
        CHECK_CLOSE(got.candidates, want.candidates, tolerance * want.candidates);
        CHECK_CLOSE(got.all, want.all, tolerance * want.all);
    }
    /* One step has no variance, and no choice with parameters is in it. */
    CHECK_OK(pada_engine_variance_begin(e));
    run_step(e, &skips, 0, grads[0]);
    pada_engine_variance_read(e, &got);
    assert_true(isnan(got.candidates));
    CHECK_CLOSE(got.all, 0, 0);
    for (int s = 0; s < STEPS; s++)
        free(grads[s]);
    pada_engine_destroy(e);
}

static void variance_is_that_of_the_gradients(void **state)
{
    (void)state;
    for (int i = 0; i < pada_backend_count(); i++) {
        const pada_backend *backend = pada_backend_get(i);
        const bool is_ref = strcmp(backend->name, "ref") == 0;
        if (!is_ref && !is_tested_backend(backend)) continue;
        if (!is_present_backend(backend)) continue;
        check_backend(backend, is_ref ? 1e-10 : 1e-4);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(variance_is_that_of_the_gradients)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
