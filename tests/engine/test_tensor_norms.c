/* test_tensor_norms.c - the norm of a choice with several weight tensors: one of all of them, or the sum of theirs. */
#include <stdlib.h>

#include "backends.h"
#include "check.h"
#include "engine/engine_inspect.h"
#include "engine/engine_log.h"
#include "engine/engine_weights.h"
#include "space/toy_space.h"

enum { N = 4, SIDE = 8, PIXELS = 3 * SIDE * SIDE };

/* Site 0 has two convolutions, site 1 one of them; each with a bias in front of a norm, whose gradient is zero. */
static const pada_path path = {{1, 1, 2}};
static const int32_t labels[N] = {3, 1, 4, 1};
static float images[N * PIXELS];

/* NULL: this machine lacks the instructions or the device. */
static pada_engine *make_engine(const pada_backend *backend, const pada_space *space)
{
    pada_engine *e;
    const pada_status st = pada_engine_create(&e, &(pada_engine_desc){.space = space,
                                                                      .backend = backend,
                                                                      .n_threads = 2,
                                                                      .batch_size = N,
                                                                      .mode = PADA_TRAIN});

    if (is_absent_backend(backend, st)) return NULL;
    return e;
}

static double norm_of(const pada_engine *e, const char *name)
{
    const int id = pada_params_find(pada_engine_params(e), name);
    double grad[4 * 4 * 9], squares = 0;

    assert_true(id >= 0 && pada_params_get(pada_engine_params(e), id)->count <= 4 * 4 * 9);
    pada_engine_read_grad(e, id, grad);
    for (int64_t i = 0; i < pada_params_get(pada_engine_params(e), id)->count; i++)
        squares += grad[i] * grad[i];
    return sqrt(squares);
}

/* Two steps; the norms of the second, and the weights after it. */
static void train(pada_engine *e, bool by_tensor, double by_hand[3], pada_log *log)
{
    const pada_batch batch = {.n = N, .images = images, .labels = labels};
    const pada_optim optim = {.lr = 0.1, .momentum = 0.9, .clip = 0.1};
    pada_step_stats stats;

    CHECK_OK(pada_engine_init_weights(e, 1));
    pada_engine_log_by_tensor(e, by_tensor);
    CHECK_OK(pada_engine_log_begin(e, 2, 2, 2 * N));
    for (int i = 0; i < 2; i++) {
        pada_engine_zero_grad(e);
        CHECK_OK(pada_engine_forward(e, &path, &batch, PADA_TRAIN));
        pada_engine_backward(e);
        by_hand[0] = norm_of(e, "depth.1.first.weight");
        by_hand[1] = norm_of(e, "depth.1.second.weight");
        by_hand[2] = norm_of(e, "edge.2.conv.weight");
        CHECK_OK(pada_engine_step(e, &optim, &stats));
    }
    CHECK_OK(pada_engine_log_read(e, log));
    assert_int_equal(log->n_sites, 2);
}

static void sums_and_one_norm(void **state)
{
    const pada_space space = toy_space();

    (void)state;
    for (int i = 0; i < pada_backend_count(); i++) {
        const pada_backend *backend = pada_backend_get(i);
        const double near = backend->dtype == PADA_F64 ? 1e-12 : 1e-5;
        double by_hand[3], whole_norm, clip;
        pada_engine *e;
        pada_log log;
        if (!is_tested_backend(backend) || !(e = make_engine(backend, &space))) continue;
        train(e, false, by_hand, &log);
        assert_true(by_hand[0] > 1e-4 && by_hand[1] > 1e-4 && by_hand[2] > 1e-4);
        CHECK_CLOSE(log.site_norms[2], sqrt(by_hand[0] * by_hand[0] + by_hand[1] * by_hand[1]),
                    near);
        CHECK_CLOSE(log.site_norms[3], by_hand[2], near);
        whole_norm = log.grad_norms[1];
        clip = log.clip_factors[1];
        assert_true(clip < 1);
        train(e, true, by_hand, &log);
        CHECK_CLOSE(log.site_norms[2], by_hand[0] + by_hand[1], near);
        CHECK_CLOSE(log.site_norms[3], by_hand[2], near);
        /* what clips is the norm of everything either way */
        CHECK_CLOSE(log.grad_norms[1], whole_norm, near);
        CHECK_CLOSE(log.clip_factors[1], clip, near);
        train(e, false, by_hand, &log); /* and back */
        assert_true(log.grad_norms[1] == whole_norm);
        pada_engine_destroy(e);
    }
}

static int make_images(void **state)
{
    static double numbers[N * PIXELS];

    (void)state;
    random_normal(numbers, N * PIXELS, 7);
    for (int i = 0; i < N * PIXELS; i++)
        images[i] = (float)numbers[i];
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sums_and_one_norm)};
    return cmocka_run_group_tests(tests, make_images, NULL);
}
