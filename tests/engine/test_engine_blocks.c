/* test_engine_blocks.c - weights that belong to blocks: what is shared, who is chosen, and probes. */
#include <stdlib.h>
#include <string.h>

#include "backends.h"
#include "check.h"
#include "engine/engine_blocks.h"
#include "engine/engine_inspect.h"
#include "engine/engine_results.h"
#include "engine/engine_state.h"
#include "engine/engine_weights.h"

enum { N = 4, SIDE = 8, LARGE_SIDE = 32, EDGES = 6, BLOCKS = 3 };

static float images[N * 3 * LARGE_SIDE * LARGE_SIDE];
static const int32_t labels[N] = {0, 2, 1, 1};
static int n_images = N;

/* 1<-0, 2<-0, 2<-1, 3<-0, 3<-1, 3<-2 */
static const pada_path path = {{3, 3, 2, 4, 3, 2}}, other = {{2, 3, 3, 1, 0, 3}};

static int make_images(void **state)
{
    static double pixels[N * 3 * LARGE_SIDE * LARGE_SIDE];

    (void)state;
    random_normal(pixels, N * 3 * LARGE_SIDE * LARGE_SIDE, 4);
    for (int i = 0; i < N * 3 * LARGE_SIDE * LARGE_SIDE; i++)
        images[i] = (float)pixels[i];
    return 0;
}

static pada_batch whole_batch(void)
{
    return (pada_batch){.n = n_images, .images = images, .labels = labels};
}

/* NULL: this machine lacks the instructions or the device. */
static pada_engine *make_engine(const pada_backend *backend, int channels, int side, int blocks)
{
    const pada_space_ops *ops;
    pada_space space;
    pada_engine *e;

    CHECK_OK(pada_space_find(&ops, "nb201"));
    CHECK_OK(pada_space_init(
        &space, ops,
        &(pada_space_config){
            .channels = channels, .cells = 1, .classes = 3, .image_size = side, .blocks = blocks}));
    const pada_status st = pada_engine_create(
        &e, &(pada_engine_desc){
                .space = &space, .backend = backend, .batch_size = n_images, .mode = PADA_TRAIN});
    if (is_absent_backend(backend, st)) return NULL;
    CHECK_OK(pada_engine_init_weights(e, 1));
    return e;
}

static pada_engine *make_ref(int channels, int side, int blocks)
{
    const pada_backend *ref;

    CHECK_OK(pada_backend_find(&ref, "ref"));
    return make_engine(ref, channels, side, blocks);
}

static void run(pada_engine *e, const pada_path *p)
{
    const pada_batch batch = whole_batch();

    pada_engine_zero_grad(e);
    CHECK_OK(pada_engine_forward(e, p, &batch, PADA_TRAIN));
    pada_engine_backward(e);
}

/* One block: the network of a supernet in which all edges of a cell have the same weights, and the
 * sum of their gradients. */
static void compare_sharing(const pada_backend *backend, int channels, int side, double close)
{
    static double weights[64 * 64 * 9], grads[64 * 64 * 9], sums[64 * 64 * 9];
    double few[N * 3], many[N * 3];
    int n_compared = 0;
    pada_engine *shared = make_engine(backend, channels, side, 1);
    if (!shared) return;
    pada_engine *apart = make_engine(backend, channels, side, 0);
    const pada_params *mine = pada_engine_params(shared), *theirs = pada_engine_params(apart);

    assert_int_equal(pada_block_gate_first_param(mine), -1);
    for (int i = 0; i < pada_params_count(theirs); i++) {
        const pada_param *p = pada_params_get(theirs, i);
        char name[128];
        snprintf(name, sizeof name, "%s", p->name);
        if (p->site != PADA_SHARED)
            snprintf(name, sizeof name, "cells.%d.blocks.0.%s", p->site / EDGES * 2,
                     strchr(strstr(p->name, "<-"), '.') + 1);
        const int id = pada_params_find(mine, name);
        assert_true(id >= 0);
        pada_engine_read_weight(shared, id, weights);
        pada_engine_write_weight(apart, i, weights);
    }
    run(shared, &path);
    run(apart, &path);
    pada_engine_logits(shared, few);
    pada_engine_logits(apart, many);
    assert_true(relative_error(few, many, n_images * 3) < close);
    for (int i = 0; i < pada_params_count(mine); i++) {
        const pada_param *p = pada_params_get(mine, i);
        memset(sums, 0, sizeof sums);
        for (int k = 0; k < pada_params_count(theirs); k++) {
            const pada_param *q = pada_params_get(theirs, k);
            const bool same = p->site == PADA_SHARED
                                  ? strcmp(p->name, q->name) == 0
                                  : q->site >= 0 && q->site / EDGES == p->site &&
                                        q->choice == p->choice && q->n_dims == p->n_dims;
            if (!same) continue;
            pada_engine_read_grad(apart, k, grads);
            for (int64_t j = 0; j < p->count; j++)
                sums[j] += grads[j];
        }
        pada_engine_read_grad(shared, i, grads);
        if (p->bias_before_norm) continue;
        if (relative_error(grads, sums, p->count) > close)
            fail_msg("%s: the gradient of %s is off by %g", backend->name, p->name,
                     relative_error(grads, sums, p->count));
        n_compared += p->site != PADA_SHARED;
    }
    assert_int_equal(n_compared, 6); /* two convolutions in three cells */
    pada_engine_destroy(shared);
    pada_engine_destroy(apart);
}

static void one_block_is_shared_by_all_edges(void **state)
{
    const pada_backend *ref;

    (void)state;
    CHECK_OK(pada_backend_find(&ref, "ref"));
    compare_sharing(ref, 4, SIDE, 1e-10);
    for (int i = 0; i < pada_backend_count(); i++) {
        const pada_backend *backend = pada_backend_get(i);
        if (!is_tested_backend(backend)) continue;
        compare_sharing(backend, 4, SIDE, 1e-5);
        n_images = 2;
        if (backend->half) compare_sharing(backend, 16, LARGE_SIDE, 1e-5);
        n_images = N;
    }
}

/* The blocks that the gate would choose. */
static pada_path route(pada_engine *e, const pada_path *p)
{
    const pada_space *space = pada_engine_space(e);
    double logits[PADA_GATE_MAX_EDGES * BLOCKS];
    pada_block_gate *gate;
    pada_gate_cell cell;
    pada_path routed = *p;

    CHECK_OK(pada_block_gate_create(&gate, 5, BLOCKS));
    pada_engine_read_gate(e, gate);
    space->ops->gate_cell(space, p, &cell);
    pada_block_gate_forward(gate, &cell, NULL, logits);
    for (int k = 0; k < cell.n_edges; k++)
        for (int i = 1; i < BLOCKS; i++)
            if (logits[k * BLOCKS + i] > logits[k * BLOCKS + routed.choice[EDGES + cell.slot[k]]])
                routed.choice[EDGES + cell.slot[k]] = (uint8_t)i;
    pada_block_gate_destroy(gate);
    return routed;
}

static void evaluation_takes_the_highest_logit(void **state)
{
    const pada_batch batch = whole_batch();
    pada_engine *e = make_ref(4, SIDE, BLOCKS);
    const int gate = pada_block_gate_first_param(pada_engine_params(e));
    double own[N * 3], want[N * 3], biases[BLOCKS];
    pada_block_gate *grads;
    bool seen[BLOCKS] = {false};

    (void)state;
    for (int i = 0; i < 8; i++) { /* other weights of the gate each time */
        const pada_path *p = i % 2 ? &path : &other;
        double *w = calloc(BLOCKS * PADA_GATE_HIDDEN, sizeof *w);
        random_normal(w, BLOCKS * PADA_GATE_HIDDEN, (uint64_t)i);
        pada_engine_write_weight(e, gate + PADA_GATE_OUT_WEIGHT, w);
        free(w);
        const pada_path routed = route(e, p);
        for (int k = 0; k < EDGES; k++)
            seen[routed.choice[EDGES + k]] = true;
        CHECK_OK(pada_engine_forward_routed(e, &routed, &batch, 0));
        pada_engine_logits(e, want);
        for (int again = 0; again < 2; again++) {
            CHECK_OK(pada_engine_forward(e, p, &batch, PADA_EVAL));
            pada_engine_logits(e, own);
            assert_memory_equal(own, want, sizeof own);
        }
    }
    assert_true(seen[0] && seen[1] && seen[2]);
    /* A step moves the gate, too. */
    CHECK_OK(pada_block_gate_create(&grads, 5, BLOCKS));
    pada_block_gate_grads(grads, PADA_GATE_OUT_BIAS)[2] = 1e6;
    run(e, &path);
    pada_engine_write_gate_grad(e, grads);
    pada_block_gate_destroy(grads);
    CHECK_OK(pada_engine_step(e, &(pada_optim){.lr = -1}, &(pada_step_stats){0}));
    pada_engine_read_weight(e, gate + PADA_GATE_OUT_BIAS, biases);
    assert_true(biases[2] > 9e5);
    const pada_path moved = route(e, &path);
    assert_int_equal(moved.choice[EDGES], 2);
    CHECK_OK(pada_engine_forward_routed(e, &moved, &batch, 0));
    pada_engine_logits(e, want);
    CHECK_OK(pada_engine_forward(e, &path, &batch, PADA_EVAL));
    pada_engine_logits(e, own);
    assert_memory_equal(own, want, sizeof own);
    pada_engine_destroy(e);
}

/* Paths that compute the same run the same blocks, whatever their dead edges are. */
static void dead_edges_have_no_say(void **state)
{
    /* 3<-1 reads a node without input, 2<-0 feeds one that nobody reads */
    const pada_path live = {{0, 0, 0, 3, 0, 0}}, same = {{0, 2, 0, 3, 3, 0}};
    const pada_batch batch = whole_batch();
    pada_engine *e = make_ref(4, SIDE, BLOCKS);
    const int out = pada_block_gate_first_param(pada_engine_params(e)) + PADA_GATE_OUT_WEIGHT;
    double a[N * 3], b[N * 3], w[BLOCKS * PADA_GATE_HIDDEN];

    (void)state;
    for (int i = 0; i < 20; i++) {
        random_normal(w, BLOCKS * PADA_GATE_HIDDEN, (uint64_t)i);
        pada_engine_write_weight(e, out, w);
        CHECK_OK(pada_engine_forward(e, &live, &batch, PADA_EVAL));
        pada_engine_logits(e, a);
        CHECK_OK(pada_engine_forward(e, &same, &batch, PADA_EVAL));
        pada_engine_logits(e, b);
        assert_memory_equal(a, b, sizeof a);
    }
    pada_engine_destroy(e);
}

/* ---- probes ---- */

static void probe(pada_engine *e, const pada_path *routed, int n, double *derivatives)
{
    const pada_batch batch = whole_batch();

    pada_engine_zero_grad(e);
    CHECK_OK(pada_engine_forward_routed(e, routed, &batch, n));
    pada_engine_backward(e);
    pada_engine_probes(e, derivatives);
}

static double *read_grads(const pada_engine *e)
{
    const pada_params *params = pada_engine_params(e);
    double *grads = calloc((size_t)pada_params_elements(params), sizeof *grads);

    for (int i = 0; i < pada_params_count(params); i++)
        pada_engine_read_grad(e, i, grads + pada_params_get(params, i)->offset);
    return grads;
}

static void compare_backends(int channels, int side, bool only_half)
{
    pada_path routed = path;
    pada_engine *ref = make_ref(channels, side, BLOCKS);
    double want[EDGES * BLOCKS], have[EDGES * BLOCKS];

    routed.choice[EDGES + 0] = 1;
    routed.choice[EDGES + 1] = 1; /* the same weights twice */
    routed.choice[EDGES + 5] = 2;
    probe(ref, &routed, BLOCKS, want);
    for (int edge = 0; edge < EDGES; edge++)
        for (int i = 0; i < BLOCKS; i++) /* edge 3 has a pool */
            assert_true((fabs(want[edge * BLOCKS + i]) > 1e-6) == (edge != 3));
    double *ref_grads = read_grads(ref);
    for (int i = 0; i < pada_backend_count(); i++) {
        const pada_backend *backend = pada_backend_get(i);
        const double close = backend->half ? 0.4 : 1e-4;
        pada_engine *e;
        if (!is_tested_backend(backend) || (only_half && !backend->half)) continue;
        if (!(e = make_engine(backend, channels, side, BLOCKS))) continue;
        probe(e, &routed, BLOCKS, have);
        double *grads = read_grads(e);
        if (relative_distance(have, want, EDGES * BLOCKS) > close ||
            relative_distance(grads, ref_grads, pada_params_elements(pada_engine_params(e))) >
                close)
            fail_msg(
                "%s: probes are off by %g, gradients by %g", backend->name,
                relative_distance(have, want, EDGES * BLOCKS),
                relative_distance(grads, ref_grads, pada_params_elements(pada_engine_params(e))));
        free(grads);
        pada_engine_destroy(e);
    }
    free(ref_grads);
    pada_engine_destroy(ref);
}

static void backends_agree(void **state)
{
    (void)state;
    compare_backends(4, SIDE, false);
    n_images = 2;
    compare_backends(16, LARGE_SIDE, true); /* what node kernels are for */
    n_images = N;
}

/* Blocks with the same weights have the same derivatives, whichever of them an edge runs; also where three
 * convolutions end in one sum. */
static void compare_alike(const pada_backend *backend, int channels, int side)
{
    static double weights[64 * 64 * 9];
    pada_path routed = {{3, 3, 2, 3, 2, 3, 0, 1, 2, 2, 1, 0}};
    double derivatives[EDGES * BLOCKS];
    pada_engine *e = make_engine(backend, channels, side, BLOCKS);

    if (!e) return;
    const pada_params *params = pada_engine_params(e);
    for (int i = 0; i < pada_params_count(params); i++) {
        const pada_param *p = pada_params_get(params, i);
        if (p->site == PADA_SHARED || p->site % BLOCKS == 0) continue;
        pada_engine_read_weight(e, i - 4, weights); /* of the block before */
        pada_engine_write_weight(e, i, weights);
    }
    probe(e, &routed, BLOCKS, derivatives);
    for (int k = 0; k < EDGES * BLOCKS; k++) {
        const double first = derivatives[k / BLOCKS * BLOCKS];
        assert_true(fabs(first) > 1e-6);
        CHECK_CLOSE(derivatives[k], first, 1e-6 * fabs(first));
    }
    pada_engine_destroy(e);
}

static void equal_blocks_have_equal_derivatives(void **state)
{
    (void)state;
    for (int i = 0; i < pada_backend_count(); i++) {
        const pada_backend *backend = pada_backend_get(i);
        if (!is_tested_backend(backend)) continue;
        compare_alike(backend, 4, SIDE);
        n_images = 2;
        if (backend->half) compare_alike(backend, 16, LARGE_SIDE);
        n_images = N;
    }
}

/* The cells of all stages have a part. */
static void probes_are_summed_over_cells(void **state)
{
    double derivatives[EDGES * BLOCKS], sums[EDGES * BLOCKS] = {0}, a[16], b[16];
    pada_engine *e = make_ref(4, SIDE, BLOCKS);
    int n_probes = 0;

    (void)state;
    probe(e, &path, BLOCKS, derivatives);
    const pada_program *q = pada__program(e);
    for (int v = 0; v < q->n_nodes; v++) {
        const pada_node *node = &q->nodes[v];
        const int64_t stride = e->backend->channel_bytes(e->device, node->shape.c);
        if (node->op != PADA_OP_PROBE) continue;
        for (int t = node->first_term; t < node->first_term + node->n_terms; t++) {
            const int64_t at = q->term_plans[t].coef;
            e->backend->read(e->device, e->work,
                             (pada_range){at / (int64_t)sizeof(double), node->shape.c}, a);
            e->backend->read(e->device, e->work,
                             (pada_range){(at + stride) / (int64_t)sizeof(double), node->shape.c},
                             b);
            for (int c = 0; c < node->shape.c; c++)
                sums[q->terms[t].mark] -=
                    b[c] * q->n_images * node->shape.h * node->shape.w / (a[c] * a[c]);
        }
        n_probes++;
    }
    assert_int_equal(n_probes, 9); /* three sums in three cells */
    for (int k = 0; k < EDGES * BLOCKS; k++)
        CHECK_CLOSE(derivatives[k], sums[k], 1e-13);
    pada_engine_destroy(e);
}

/* A probe changes neither the network nor its gradients, and blocks that do not run have none. */
static void probes_only_look(void **state)
{
    double derivatives[EDGES * BLOCKS], few[EDGES * BLOCKS];
    pada_engine *e = make_ref(4, SIDE, BLOCKS);
    const pada_params *params = pada_engine_params(e);
    const pada_batch batch = whole_batch();
    pada_path routed = path;
    int n_idle = 0;

    (void)state;
    for (int k = 0; k < EDGES; k++)
        routed.choice[EDGES + k] = (uint8_t)(k % 2);
    pada_engine_zero_grad(e);
    CHECK_OK(pada_engine_forward_routed(e, &routed, &batch, 0));
    pada_engine_backward(e);
    double *plain = read_grads(e);
    probe(e, &routed, BLOCKS, derivatives);
    double *probed = read_grads(e);
    assert_true(relative_distance(probed, plain, pada_params_elements(params)) < 1e-10);
    for (int i = 0; i < pada_params_count(params); i++) {
        const pada_param *p = pada_params_get(params, i);
        if (p->site == PADA_SHARED || p->site % BLOCKS != 2) continue;
        for (int64_t k = 0; k < p->count; k++)
            assert_true(probed[p->offset + k] == 0);
        assert_true(pada_engine_grad_norm(e, p->site, p->choice) == 0);
        n_idle++;
    }
    assert_int_equal(n_idle, 12);
    /* Fewer blocks: the same numbers for those. */
    probe(e, &routed, 2, few);
    for (int k = 0; k < EDGES * BLOCKS; k++)
        CHECK_CLOSE(few[k], k % BLOCKS < 2 ? derivatives[k] : 0, 1e-12);
    free(plain);
    free(probed);
    pada_engine_destroy(e);
}

static void wrong_numbers_of_blocks(void **state)
{
    const pada_space_ops *ops;
    pada_space space;

    (void)state;
    CHECK_OK(pada_space_find(&ops, "nb201"));
    assert_int_equal(
        pada_space_init(&space, ops, &(pada_space_config){.blocks = PADA_MAX_BLOCKS + 1}),
        PADA_EINVAL);
    assert_int_equal(pada_space_init(&space, ops, &(pada_space_config){.blocks = -1}), PADA_EINVAL);
    pada_space_ops none = *ops;
    none.gate_cell = NULL;
    assert_int_equal(pada_space_init(&space, &none, &(pada_space_config){.blocks = 1}),
                     PADA_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_block_is_shared_by_all_edges),
        cmocka_unit_test(evaluation_takes_the_highest_logit),
        cmocka_unit_test(dead_edges_have_no_say),
        cmocka_unit_test(backends_agree),
        cmocka_unit_test(equal_blocks_have_equal_derivatives),
        cmocka_unit_test(probes_are_summed_over_cells),
        cmocka_unit_test(probes_only_look),
        cmocka_unit_test(wrong_numbers_of_blocks),
    };
    return cmocka_run_group_tests(tests, make_images, NULL);
}
