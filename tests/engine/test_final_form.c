/* test_final_form.c - one network by itself: what the supernet computes, with norms that learn. */
#include <stdlib.h>
#include <string.h>

#include "engine/engine_inspect.h"
#include "engine/engine_weights.h"
#include "space/nb201_cells.h"
#include "train/tiny_engine.h"

enum { BATCH = 6 };

static float images[BATCH * 3 * TINY_SIDE * TINY_SIDE];
static int32_t labels[BATCH];

static pada_batch random_batch(void)
{
    double pixels[sizeof images / sizeof *images];

    random_normal(pixels, sizeof images / sizeof *images, 4);
    for (size_t i = 0; i < sizeof images / sizeof *images; i++)
        images[i] = (float)pixels[i];
    for (int i = 0; i < BATCH; i++)
        labels[i] = i % TINY_CLASSES;
    return (pada_batch){.n = BATCH, .images = images, .labels = labels};
}

static pada_engine *make_engine(const pada_space *space)
{
    const pada_backend *backend;
    pada_engine *e;

    CHECK_OK(pada_backend_find(&backend, "ref"));
    CHECK_OK(pada_engine_create(&e, &(pada_engine_desc){.space = space,
                                                        .backend = backend,
                                                        .n_threads = 1,
                                                        .batch_size = BATCH,
                                                        .mode = PADA_TRAIN}));
    CHECK_OK(pada_engine_init_weights(e, 8));
    return e;
}

/* The weight of a final network has its name in the supernet, but for how the edge is called. */
static int find_in_supernet(const pada_params *params, const pada_param *p)
{
    for (int i = 0; i < pada_params_count(params); i++) {
        const pada_param *q = pada_params_get(params, i);
        if (q->site != p->site || q->choice != p->choice || q->n_dims != p->n_dims) continue;
        if (p->site == PADA_SHARED ? strcmp(p->name, q->name) == 0 : p->n_dims == 4) return i;
    }
    return -1;
}

/* Copies what both have; returns how many tensors the final network has alone: scales and shifts. */
static int copy_weights(const pada_engine *from, pada_engine *to)
{
    const pada_params *params = pada_engine_params(to);
    int n_alone = 0;

    for (int i = 0; i < pada_params_count(params); i++) {
        const pada_param *p = pada_params_get(params, i);
        const int id = find_in_supernet(pada_engine_params(from), p);
        double *values = calloc((size_t)p->count, sizeof *values);
        if (id < 0) {
            pada_engine_read_weight(to, i, values);
            for (int64_t k = 0; k < p->count; k++)
                assert_true(values[k] == (strstr(p->name, ".weight") ? 1 : 0));
            n_alone++;
        } else {
            pada_engine_read_weight(from, id, values);
            pada_engine_write_weight(to, i, values);
        }
        free(values);
    }
    return n_alone;
}

static void losses_of(pada_engine *e, const pada_path *path, const pada_batch *batch,
                      double *losses)
{
    CHECK_OK(pada_engine_forward(e, path, batch, PADA_TRAIN));
    pada_engine_backward(e);
    pada_engine_losses(e, losses);
}

/* Fresh scales are 1 and shifts 0, so that the network computes what the supernet does with it. */
static void a_fresh_final_form_computes_the_same(void **state)
{
    const pada_path path = {{3, 2, 1, 4, 3, 1}};
    const pada_space space = nb201_space(&(pada_space_config){
        .channels = 4, .cells = 2, .classes = TINY_CLASSES, .image_size = TINY_SIDE});
    double of_supernet[BATCH], of_network[BATCH];
    const pada_batch batch = random_batch();
    pada_space final;

    (void)state;
    pada_space_finalise(&final, &space, &path);
    pada_engine *supernet = make_engine(&space), *network = make_engine(&final);
    /* stem, last norm, two in each of two reductions, three convolutions in each of six cells: two of each */
    assert_int_equal(copy_weights(supernet, network), 2 * (1 + 1 + 2 * 2 + 3 * 6));
    losses_of(supernet, &path, &batch, of_supernet);
    losses_of(network, &path, &batch, of_network);
    for (int i = 0; i < BATCH; i++)
        CHECK_CLOSE(of_network[i], of_supernet[i], 1e-12);
    assert_true(pada_engine_memory_bytes(network) < pada_engine_memory_bytes(supernet));
    pada_engine_destroy(supernet);
    pada_engine_destroy(network);
}

/* A step moves scales and shifts. */
static void norms_learn(void **state)
{
    const pada_path path = {{3, 2, 1, 4, 3, 1}};
    const pada_space space = nb201_space(&(pada_space_config){
        .channels = 4, .cells = 1, .classes = TINY_CLASSES, .image_size = TINY_SIDE});
    const pada_batch batch = random_batch();
    double losses[BATCH], scales[4], shifts[4];
    pada_step_stats stats;
    pada_space final;

    (void)state;
    pada_space_finalise(&final, &space, &path);
    pada_engine *e = make_engine(&final);
    const pada_params *params = pada_engine_params(e);
    pada_engine_zero_grad(e);
    losses_of(e, &path, &batch, losses);
    CHECK_OK(pada_engine_step(e, &(pada_optim){.lr = 0.1}, &stats));
    pada_engine_read_weight(e, pada_params_find(params, "cells.0.layers.4.op.2.weight"), scales);
    pada_engine_read_weight(e, pada_params_find(params, "cells.0.layers.4.op.2.bias"), shifts);
    for (int i = 0; i < 4; i++)
        assert_true(scales[i] != 1 && shifts[i] != 0);
    pada_engine_destroy(e);
}

/* A node that nothing flows into: what convolutions make of its zeros are their shifts, which learn; scales do not. */
static void norms_of_zeros_are_their_shifts(void **state)
{
    const pada_path path = {{0, 3, 3, 1, 2, 1}};
    const pada_space space = nb201_space(&(pada_space_config){
        .channels = 4, .cells = 1, .classes = TINY_CLASSES, .image_size = TINY_SIDE});
    const pada_batch batch = random_batch();
    double of_supernet[BATCH], of_network[BATCH], again[BATCH], scales[4], shifts[4];
    pada_step_stats stats;
    pada_space final;

    (void)state;
    pada_space_finalise(&final, &space, &path);
    pada_engine *supernet = make_engine(&space), *e = make_engine(&final);
    const pada_params *params = pada_engine_params(e);
    copy_weights(supernet, e);
    losses_of(supernet, &path, &batch, of_supernet);
    pada_engine_zero_grad(e);
    losses_of(e, &path, &batch, of_network);
    for (int i = 0; i < BATCH; i++)
        CHECK_CLOSE(of_network[i], of_supernet[i], 1e-12);
    CHECK_OK(pada_engine_step(e, &(pada_optim){.lr = 0.1}, &stats));
    pada_engine_read_weight(e, pada_params_find(params, "cells.0.layers.2.op.2.weight"), scales);
    pada_engine_read_weight(e, pada_params_find(params, "cells.0.layers.2.op.2.bias"), shifts);
    for (int i = 0; i < 4; i++)
        assert_true(scales[i] == 1 && shifts[i] != 0);
    losses_of(e, &path, &batch, of_network);
    for (int i = 0; i < 4; i++)
        shifts[i] += 0.5 * (i + 1);
    pada_engine_write_weight(e, pada_params_find(params, "cells.0.layers.2.op.2.bias"), shifts);
    losses_of(e, &path, &batch, again);
    for (int i = 0; i < BATCH; i++)
        assert_true(fabs(again[i] - of_network[i]) > 1e-6);
    pada_engine_destroy(supernet);
    pada_engine_destroy(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fresh_final_form_computes_the_same),
        cmocka_unit_test(norms_learn),
        cmocka_unit_test(norms_of_zeros_are_their_shifts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
