/* test_emulated_failures.c - a device that fails behind the caller's back: the first failure stays, and
 * every verb of the engine that returns a status says so. */
#include "check.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "engine/engine.h"
#include "engine/engine_inspect.h"
#include "engine/engine_log.h"
#include "engine/engine_results.h"
#include "engine/engine_snapshot.h"
#include "engine/engine_weights.h"
#include "strategy/importance.h"

enum { N = 2, SIZE = 8, PIXELS = 3 * SIZE * SIZE };

static float images[N * PIXELS];
static const int32_t labels[N];
static const pada_batch batch = {.n = N, .images = images, .labels = labels};
static const pada_path path = {{3, 1, 4, 2, 0, 3}};

static pada_engine *make_engine(void)
{
    const pada_space_config config = {.channels = 4, .cells = 1, .image_size = SIZE};
    const pada_space_ops *ops;
    const pada_backend *backend;
    pada_space space;
    pada_engine *e;

    for (int i = 0; i < N * PIXELS; i++)
        images[i] = (float)(i % 7) - 3;
    CHECK_OK(pada_space_find(&ops, "nb201"));
    CHECK_OK(pada_space_init(&space, ops, &config));
    CHECK_OK(pada_backend_find(&backend, "auto"));
    assert_string_equal(backend->name, "cuda"); /* it is there, so auto takes it */
    CHECK_OK(pada_engine_create(
        &e, &(pada_engine_desc){
                .space = &space, .backend = backend, .batch_size = N, .mode = PADA_TRAIN}));
    CHECK_OK(pada_engine_init_weights(e, 1));
    return e;
}

static void check_device_failure(pada_status status, const char *what)
{
    if (status != PADA_EDEVICE || !strstr(pada_message(), what))
        fail_msg("status %d: %s", (int)status, pada_message());
}

/* The batch does not arrive; copies work again afterwards, which must not hide it. */
static void test_failure_stays(void **state)
{
    const char *file = "/tmp/pada-emulated-failure.safetensors";
    const pada_optim optim = {.lr = 0.1};
    pada_engine *e = make_engine();
    pada_results_view view;
    pada_step_stats stats;
    double losses[N];

    (void)state;
    setenv("CUDA_EMULATE_FAIL", "1", 1);
    CHECK_OK(pada_engine_forward(e, &path, &batch, PADA_TRAIN)); /* not known yet */
    unsetenv("CUDA_EMULATE_FAIL");
    pada_engine_backward(e);
    pada_engine_losses(e, losses);
    assert_true(isnan(losses[0]) && isnan(losses[N - 1]));
    for (int k = 0; k < 2; k++) {
        check_device_failure(pada_engine_results(e, &view),
                             "copy to the device: an illegal memory");
        check_device_failure(pada_engine_step(e, &optim, &stats), "copy to the device");
        check_device_failure(pada_engine_finish(e), "copy to the device");
        check_device_failure(pada_engine_snapshot(e), "copy to the device");
        check_device_failure(pada_engine_forward(e, &path, &batch, PADA_EVAL),
                             "copy to the device");
        check_device_failure(pada_engine_save_weights(e, file), "copy to the device");
        assert_int_not_equal(access(file, F_OK), 0); /* no file full of NaN */
    }
    pada_engine_destroy(e);
}

static void test_failure_on_the_way_back(void **state)
{
    pada_engine *e = make_engine();
    pada_results_view view;

    (void)state;
    CHECK_OK(pada_engine_forward(e, &path, &batch, PADA_EVAL));
    CHECK_OK(pada_engine_results(e, &view));
    setenv("CUDA_EMULATE_FAIL", "1", 1);
    check_device_failure(pada_engine_results(e, &view), "copy from the device");
    unsetenv("CUDA_EMULATE_FAIL");
    pada_engine_destroy(e);
}

/* With a log, norms stay on the device: a step over a gradient that is not finite changes nothing, and the log
 * says so when it is read, again and again. */
static void test_gradient_not_finite(void **state)
{
    const pada_optim optim = {.lr = 0.1, .momentum = 0.9, .weight_decay = 1e-3, .clip = 5};
    pada_engine *e = make_engine();
    pada_step_stats stats;
    pada_log log;
    double stem[4 * 27];

    (void)state;
    CHECK_OK(pada_engine_log_begin(e, 3, 3, 3 * N));
    uint64_t hash = 0;
    for (int step = 0; step < 3; step++) {
        if (step == 1) {
            CHECK_OK(pada_engine_log_read(e, &log));
            assert_true(log.n_steps == 1 && log.grad_norms[0] > 0 && log.clip_factors[0] <= 1);
            pada_engine_read_weight(e, 0, stem);
            stem[5] = NAN;
            pada_engine_write_weight(e, 0, stem);
            hash = pada_engine_weights_hash(e);
        }
        pada_engine_zero_grad(e);
        CHECK_OK(pada_engine_forward(e, &path, &batch, PADA_TRAIN));
        pada_engine_backward(e);
        CHECK_OK(pada_engine_step(e, &optim, &stats)); /* not known yet */
        assert_true(isnan(stats.grad_norm));
    }
    for (int k = 0; k < 2; k++) {
        assert_int_equal(pada_engine_log_read(e, &log), PADA_ENUMERIC);
        assert_non_null(strstr(pada_message(), "nan in step 1"));
    }
    assert_true(pada_engine_weights_hash(e) == hash);
    pada_engine_destroy(e);
}

/* Paths whose distribution follows every step: the log is read in the step, without taking memory, and what
 * it says is not lost. */
static void test_update_per_step(void **state)
{
    enum { STEPS = 6, BAD = 4, PER_STEP = 1 };
    const pada_importance_settings settings = {.path = {.update = PER_STEP, .tau_max = 1}};
    const pada_epoch epoch = {.index = 2, .optim = {.lr = 0.01, .clip = 5}};
    const int32_t indices[N] = {0};
    const pada_draws draws = {.batch = batch, .indices = indices};
    pada_engine *e = make_engine();
    const pada_strategy_env env = {.space = pada_engine_space(e),
                                   .n_images = N,
                                   .n_classes = 10,
                                   .n_epochs = 4,
                                   .labels = labels};
    pada_importance im = {0};
    pada_path_sampler before;
    double stem[4 * 27];

    (void)state;
    CHECK_OK(pada_importance_init(&im, &env, &settings));
    CHECK_OK(pada_engine_log_begin(e, STEPS, STEPS, STEPS * N));
    for (int step = 0; step < BAD; step++) {
        before = im.path.sampler;
        CHECK_OK(pada_strategy_single_path(e, &path, &draws, NULL, 1, &epoch.optim));
        const int64_t count = pada_mem_count();
        CHECK_OK(pada_path_importance_after_step(&im.path, e, &epoch));
        assert_int_equal(pada_mem_count(), count);
        assert_memory_not_equal(&before, &im.path.sampler, sizeof before);
    }
    pada_engine_read_weight(e, 0, stem);
    stem[5] = NAN;
    pada_engine_write_weight(e, 0, stem);
    before = im.path.sampler;
    assert_int_equal(pada_importance_step(&im, e, &draws, &epoch, BAD), PADA_ENUMERIC);
    assert_non_null(strstr(pada_message(), "nan in step 4 of the log"));
    assert_memory_equal(&before, &im.path.sampler, sizeof before);
    pada_importance_deinit(&im);
    pada_engine_destroy(e);
}

/* A device before bfloat16 runs float32, and says so. */
static void test_device_without_half(void **state)
{
    const pada_backend *backend;
    pada_device *device;

    (void)state;
    setenv("CUDA_EMULATE_MAJOR", "7", 1);
    CHECK_OK(pada_backend_find(&backend, "auto"));
    assert_string_equal(backend->name, "cuda-fp32");
    CHECK_OK(backend->open(&device, 0));
    backend->close(device);
    CHECK_OK(pada_backend_find(&backend, "cuda"));
    check_device_failure(backend->open(&device, 0),
                         "emulated device has compute capability 7.0 and no bfloat16, which needs "
                         "8.0; backend cuda-fp32 runs on it");
    unsetenv("CUDA_EMULATE_MAJOR");
}

/* A failure of one device is not that of the next. */
static void test_next_device_is_fine(void **state)
{
    pada_engine *e = make_engine();
    pada_results_view view;

    (void)state;
    CHECK_OK(pada_engine_forward(e, &path, &batch, PADA_EVAL));
    CHECK_OK(pada_engine_results(e, &view));
    assert_int_equal(view.n, N);
    pada_engine_destroy(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_failure_stays),       cmocka_unit_test(test_failure_on_the_way_back),
        cmocka_unit_test(test_gradient_not_finite), cmocka_unit_test(test_update_per_step),
        cmocka_unit_test(test_device_without_half), cmocka_unit_test(test_next_device_is_fine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
