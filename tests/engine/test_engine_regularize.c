/* test_engine_regularize.c - what training passes do that evaluation does not: smoothed labels. */
#include <string.h>

#include "backends.h"
#include "engine/engine_inspect.h"
#include "engine/engine_regularize.h"
#include "engine/engine_results.h"
#include "engine/engine_weights.h"
#include "train/tiny_engine.h"

enum { N = 8 };

static float images[N * 3 * TINY_SIDE * TINY_SIDE];
static int32_t labels[N];

static pada_batch batch(void)
{
    return (pada_batch){.n = N, .images = images, .labels = labels};
}

static double tolerance(const pada_backend *backend)
{
    return backend->dtype == PADA_F64 ? 1e-12 : 1e-6;
}

/* Runs a test on `ref` and on every backend that is tested. */
static void on_every_backend(void (*test)(const pada_backend *backend))
{
    const pada_backend *ref;

    CHECK_OK(pada_backend_find(&ref, "ref"));
    test(ref);
    for (int i = 0; i < pada_backend_count(); i++) {
        const pada_backend *backend = pada_backend_get(i);
        if (is_tested_backend(backend) && is_present_backend(backend)) test(backend);
    }
}

/* ---- smoothed labels ---- */

/* Losses and norms of the last pass are those of its logits. */
static void check_losses(const pada_engine *e, double smoothing)
{
    double logits[N * TINY_CLASSES], losses[N], norms[N];

    pada_engine_logits(e, logits);
    pada_engine_losses(e, losses);
    pada_engine_norms(e, norms);
    for (int n = 0; n < N; n++) {
        const double *l = logits + n * TINY_CLASSES;
        double sum = 0, loss = 0, squares = 0;
        for (int c = 0; c < TINY_CLASSES; c++)
            sum += exp(l[c]);
        for (int c = 0; c < TINY_CLASSES; c++) {
            const double target = (c == labels[n]) * (1 - smoothing) + smoothing / TINY_CLASSES;
            loss -= target * (l[c] - log(sum));
            squares += (exp(l[c]) / sum - target) * (exp(l[c]) / sum - target);
        }
        CHECK_CLOSE(losses[n], loss, tolerance(pada_engine_backend(e)) * (1 + loss));
        CHECK_CLOSE(norms[n], sqrt(squares), tolerance(pada_engine_backend(e)));
    }
}

static void smooth(const pada_backend *backend)
{
    const pada_path path = {{3, 1, 4, 2, 0, 3}};
    const pada_batch b = batch();
    double mean[2];
    pada_results_view view;
    pada_space space;
    pada_engine *e = tiny_engine(&space, backend, 2, N);

    CHECK_OK(pada_engine_init_weights(e, 3));
    for (int i = 0; i < 2; i++) {
        CHECK_OK(pada_engine_forward(e, &path, &b, PADA_TRAIN));
        check_losses(e, i * 0.25);
        CHECK_OK(pada_engine_results(e, &view));
        mean[i] = view.loss;
        CHECK_OK(pada_engine_forward(e, &path, &b, PADA_EVAL));
        check_losses(e, 0);
        pada_engine_smooth_labels(e, 0.25);
    }
    assert_true(mean[0] != mean[1]);
    pada_engine_smooth_labels(e, 0);
    CHECK_OK(pada_engine_forward(e, &path, &b, PADA_TRAIN));
    CHECK_OK(pada_engine_results(e, &view));
    assert_true(view.loss == mean[0]);
    pada_engine_destroy(e);
}

static void training_smooths_labels_and_evaluation_does_not(void **state)
{
    (void)state;
    on_every_backend(smooth);
}

static int open_all(void **state)
{
    static tiny_data data;

    (void)state;
    tiny_data_init(&data);
    pada_dataset_fill(&data.base, PADA_SPLIT_TRAIN, 0, N, images, labels);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(training_smooths_labels_and_evaluation_does_not),
    };
    return cmocka_run_group_tests(tests, open_all, NULL);
}
