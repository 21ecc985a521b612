/* test_engine_ema.c - the average of the weights: against a plain loop, swapped in, in checkpoints. */
#include <stdlib.h>
#include <string.h>

#include "backends.h"
#include "base/scratch.h"
#include "engine/engine_ema.h"
#include "engine/engine_results.h"
#include "engine/engine_statistics.h"
#include "engine/engine_weights.h"
#include "tensor/state.h"
#include "train/tiny_engine.h"

enum { N = 8, MOST = 1 << 15 };

static const double decay = 0.8;
static const pada_path paths[] = {{{3, 1, 4, 2, 0, 3}}, {{2, 2, 2, 2, 2, 2}}, {{3, 3, 1, 1, 4, 2}}};
static float images[N * 3 * TINY_SIDE * TINY_SIDE];
static int32_t labels[N];

static int64_t total(const pada_engine *e)
{
    return pada_params_elements(pada_engine_params(e));
}

static void read_weights(const pada_engine *e, double *to)
{
    for (int i = 0; i < pada_params_count(pada_engine_params(e)); i++)
        pada_engine_read_weight(e, i, to + pada_params_get(pada_engine_params(e), i)->offset);
}

static void forward(pada_engine *e, const pada_path *path, pada_mode mode)
{
    CHECK_OK(pada_engine_forward(e, path, &(pada_batch){.n = N, .images = images, .labels = labels},
                                 mode));
}

static void step(pada_engine *e, int i)
{
    const pada_optim optim = {.lr = 0.1, .momentum = 0.9, .weight_decay = 0.01};
    pada_step_stats stats;

    pada_engine_zero_grad(e);
    forward(e, &paths[i % 3], PADA_TRAIN);
    pada_engine_backward(e);
    CHECK_OK(pada_engine_step(e, &optim, &stats));
}

/* Logits with the weights, or with the average. */
static void evaluate(pada_engine *e, bool averaged, double *logits)
{
    if (averaged) pada_engine_ema_swap(e);
    forward(e, &paths[0], PADA_EVAL);
    pada_engine_logits(e, logits);
    if (averaged) pada_engine_ema_swap(e);
}

static void check_backend(const pada_backend *backend)
{
    static double average[MOST], w[MOST];
    double plain[N * TINY_CLASSES], averaged[N * TINY_CLASSES], want[N * TINY_CLASSES];
    pada_space space;
    pada_engine *e = tiny_engine(&space, backend, 2, N);

    assert_true(total(e) <= MOST);
    CHECK_OK(pada_engine_init_weights(e, 3));
    CHECK_OK(pada_engine_ema_begin(e, decay));
    read_weights(e, average);
    for (int i = 0; i < 5; i++) {
        step(e, i);
        read_weights(e, w);
        for (int64_t k = 0; k < total(e); k++)
            average[k] = decay * average[k] + (1 - decay) * w[k];
    }
    evaluate(e, false, plain);
    evaluate(e, true, averaged);
    assert_memory_not_equal(plain, averaged, sizeof plain);
    pada_engine_ema_swap(e);
    read_weights(e, w);
    pada_engine_ema_swap(e);
    for (int64_t k = 0; k < total(e); k++)
        CHECK_CLOSE(w[k], average[k], backend->dtype == PADA_F64 ? 1e-15 : 2e-6);
    evaluate(e, false, want); /* and back */
    assert_memory_equal(plain, want, sizeof plain);

    CHECK_OK(pada_engine_init_weights(e, 4)); /* it starts anew */
    evaluate(e, false, plain);
    evaluate(e, true, averaged);
    assert_memory_equal(plain, averaged, sizeof plain);
    pada_engine_destroy(e);
}

static void average_is_that_of_a_plain_loop(void **state)
{
    const pada_backend *ref;

    (void)state;
    CHECK_OK(pada_backend_find(&ref, "ref"));
    check_backend(ref);
    for (int i = 0; i < pada_backend_count(); i++) {
        const pada_backend *backend = pada_backend_get(i);
        if (!is_tested_backend(backend) || !is_present_backend(backend)) continue;
        check_backend(backend);
    }
}

/* With running statistics evaluations read them: those of the average are averaged, too. */
static void statistics_are_averaged(void **state)
{
    static double average[MOST], now[MOST];
    const pada_space_ops *ops;
    const pada_backend *ref;
    pada_space space;
    pada_engine *e;
    int n = 0;

    (void)state;
    CHECK_OK(pada_space_find(&ops, "nb201"));
    CHECK_OK(pada_backend_find(&ref, "ref"));
    CHECK_OK(pada_space_init(
        &space, ops,
        &(pada_space_config){
            .channels = 4, .cells = 1, .classes = TINY_CLASSES, .image_size = TINY_SIDE}));
    CHECK_OK(pada_engine_create(&e, &(pada_engine_desc){.space = &space,
                                                        .backend = ref,
                                                        .batch_size = N,
                                                        .mode = PADA_TRAIN,
                                                        .statistics = PADA_STATISTICS_RUNNING}));
    CHECK_OK(pada_engine_init_weights(e, 3));
    CHECK_OK(pada_engine_ema_begin(e, decay));
    const pada_params *map = pada_engine_statistics_map(e);
    for (int i = 0; i < pada_params_count(map); i++, n = (int)pada_params_elements(map))
        pada_engine_read_statistic(e, i, average + pada_params_get(map, i)->offset);
    assert_in_range(n, 1, MOST);
    for (int i = 0; i < 3; i++) {
        step(e, i);
        for (int k = 0; k < pada_params_count(map); k++)
            pada_engine_read_statistic(e, k, now + pada_params_get(map, k)->offset);
        for (int k = 0; k < n; k++)
            average[k] = decay * average[k] + (1 - decay) * now[k];
    }
    pada_engine_ema_swap(e);
    for (int k = 0; k < pada_params_count(map); k++)
        pada_engine_read_statistic(e, k, now + pada_params_get(map, k)->offset);
    pada_engine_ema_swap(e);
    for (int i = 0; i < pada_params_count(map); i++) {
        const pada_param *p = pada_params_get(map, i);
        for (int64_t k = p->offset; k < p->offset + p->count; k++)
            CHECK_CLOSE(now[k], average[k], 1e-13 * (1 + fabs(average[k])));
    }
    pada_engine_destroy(e);
}

/* A checkpoint has weights and average; who only wants to evaluate gets the average. */
static void checkpoints_have_it(void **state)
{
    const char *file = scratch_path("state.safetensors");
    double averaged[2][N * TINY_CLASSES], weights[N * TINY_CLASSES];
    const pada_backend *cpu;
    pada_state *saved, *loaded;
    pada_space space;

    (void)state;
    CHECK_OK(pada_backend_find(&cpu, "cpu"));
    pada_engine *e = tiny_engine(&space, cpu, 2, N), *other = tiny_engine(&space, cpu, 2, N);
    CHECK_OK(pada_engine_init_weights(e, 3));
    CHECK_OK(pada_engine_ema_begin(e, decay));
    step(e, 0);
    CHECK_OK(pada_state_create(&saved));
    pada_engine_visit(e, saved);
    CHECK_OK(pada_state_write(saved, file));
    pada_state_destroy(saved);

    CHECK_OK(pada_engine_load_weights(other, file));
    evaluate(e, true, averaged[0]);
    evaluate(other, false, weights);
    assert_memory_equal(averaged[0], weights, sizeof weights);

    CHECK_OK(pada_engine_ema_begin(other, decay));
    CHECK_OK(pada_state_open(&loaded, file));
    pada_engine_visit(other, loaded);
    CHECK_OK(pada_state_status(loaded));
    pada_state_destroy(loaded);
    for (int i = 1; i < 3; i++) { /* both go on in the same way */
        step(e, i);
        step(other, i);
    }
    evaluate(e, true, averaged[0]);
    evaluate(other, true, averaged[1]);
    assert_memory_equal(averaged[0], averaged[1], sizeof averaged[0]);
    assert_true(pada_engine_weights_hash(e) == pada_engine_weights_hash(other));
    pada_engine_destroy(e);
    pada_engine_destroy(other);
}

static int open_all(void **state)
{
    static tiny_data data;

    tiny_data_init(&data);
    pada_dataset_fill(&data.base, PADA_SPLIT_TRAIN, 0, N, images, labels);
    return scratch_setup(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(average_is_that_of_a_plain_loop),
        cmocka_unit_test(statistics_are_averaged),
        cmocka_unit_test(checkpoints_have_it),
    };
    return cmocka_run_group_tests(tests, open_all, scratch_teardown);
}
