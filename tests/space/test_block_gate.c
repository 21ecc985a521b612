/* test_block_gate.c - the gate of CLOSE: its formulas, and its gradient by finite differences. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "space/block_gate.h"

enum { OPS = 5, BLOCKS = 3, HIDDEN_NUMBERS = PADA_GATE_HIDDEN_LAYERS * PADA_GATE_HIDDEN };

/* 0 -> 1 -> 2 -> 3 and 0 -> 3. */
static const pada_gate_cell cell = {
    .n_nodes = 4, .n_edges = 4, .from = {0, 1, 0, 2}, .to = {1, 2, 3, 3}, .op = {3, 1, 2, 3}};

static pada_block_gate *make_gate(void)
{
    pada_block_gate *gate;

    CHECK_OK(pada_block_gate_create(&gate, OPS, BLOCKS));
    for (int i = 0; i < PADA_GATE_TENSORS; i++) {
        const int64_t n = pada_block_gate_count(gate, i);
        double *w = pada_block_gate_weights(gate, i);
        random_normal(w, n, (uint64_t)i);
        for (int64_t k = 0; k < n; k++)
            w[k] *= 0.15;
    }
    return gate;
}

/* What is read or written as one piece: the tensors lie as the parameters do. */
static void test_map(void **state)
{
    pada_block_gate *gate = make_gate();
    pada_params *params;
    int id;

    (void)state;
    CHECK_OK(pada_params_create(&params));
    CHECK_OK(pada_params_add(
        params, &(pada_param){.name = "x", .dims = {5}, .n_dims = 1, .site = PADA_SHARED}, &id));
    CHECK_OK(pada_block_gate_declare(params, OPS, BLOCKS));
    const int first = pada_block_gate_first_param(params);
    const pada_range range = pada_block_gate_range(params);
    assert_int_equal(first, 1);
    for (int i = 0; i < PADA_GATE_TENSORS; i++) {
        const pada_param *p = pada_params_get(params, first + i);
        assert_int_equal(p->count, pada_block_gate_count(gate, i));
        assert_int_equal(p->offset - range.first,
                         pada_block_gate_weights(gate, i) - pada_block_gate_weights(gate, 0));
        assert_int_equal(p->offset - range.first,
                         pada_block_gate_grads(gate, i) - pada_block_gate_grads(gate, 0));
        assert_true(p->offset + p->count <= range.first + range.count);
    }
    pada_params_destroy(params);
    pada_block_gate_destroy(gate);
}

static double objective(pada_block_gate *gate, const double *mask, const double *factors)
{
    double logits[4 * BLOCKS], sum = 0;

    pada_block_gate_forward(gate, &cell, mask, logits);
    for (int i = 0; i < 4 * BLOCKS; i++)
        sum += factors[i] * logits[i];
    return sum;
}

static void check_gradient(const double *mask)
{
    static const double factors[4 * BLOCKS] = {1, -2, 0.5, 3, 0, -1, 2, 1, -0.7, 1, 0.3, -2};
    const double step = 1e-5;
    pada_block_gate *gate = make_gate();
    double largest[PADA_GATE_TENSORS] = {0};

    objective(gate, mask, factors);
    pada_block_gate_zero_grads(gate);
    pada_block_gate_backward(gate, factors);
    for (int i = 0; i < PADA_GATE_TENSORS; i++) {
        const int64_t n = pada_block_gate_count(gate, i);
        double *w = pada_block_gate_weights(gate, i);
        const double *grads = pada_block_gate_grads(gate, i);
        for (int64_t k = 0; k < n; k += 1 + n / 13) {
            const double centre = w[k];
            w[k] = centre + step;
            const double above = objective(gate, mask, factors);
            w[k] = centre - step;
            const double below = objective(gate, mask, factors);
            w[k] = centre;
            CHECK_CLOSE(grads[k], (above - below) / (2 * step), 1e-7 * (1 + fabs(grads[k])));
            largest[i] = fmax(largest[i], fabs(grads[k]));
        }
    }
    /* Every tensor has a part in it, but for what flows along edges in the first layers: only node 0 keeps
     * anything, and the way from there has three edges. */
    for (int i = 0; i < PADA_GATE_TENSORS; i++) {
        const bool early = i == 5 || i == 6 || i == 8 || i == 9;
        if ((largest[i] > 1e-6) == early) fail_msg("tensor %d: gradient %g", i, largest[i]);
    }
    pada_block_gate_destroy(gate);
}

static void test_gradient(void **state)
{
    double *mask = calloc(4 * HIDDEN_NUMBERS, sizeof *mask);

    (void)state;
    check_gradient(NULL);
    for (int i = 0; i < 4 * HIDDEN_NUMBERS; i++)
        mask[i] = i % 7 == 0 ? 0 : 1.25;
    check_gradient(mask);
    free(mask);
}

/* The encoder alone, from its formula: with one edge and weights that are easy to follow. */
static void test_formula(void **state)
{
    const pada_gate_cell one = {.n_nodes = 2, .n_edges = 1, .from = {0}, .to = {1}, .op = {4}};
    double logits[BLOCKS], s = 2, y = 0;
    pada_block_gate *gate;

    (void)state;
    CHECK_OK(pada_block_gate_create(&gate, OPS, BLOCKS));
    /* number 0 of every layer; the others stay zero */
    pada_block_gate_weights(gate, 0)[4 * 48] = 0.3;
    pada_block_gate_weights(gate, 1)[0] = 1;
    pada_block_gate_weights(gate, 2)[0] = 2;  /* in: y[0] = 2 */
    pada_block_gate_weights(gate, 3)[1] = 99; /* bias of another number */
    for (int k = 0; k < 5; k++) {
        pada_block_gate_weights(gate, 4 + 3 * k)[0] = 0.5;
        pada_block_gate_weights(gate, 5 + 3 * k)[0] = 2;
        pada_block_gate_weights(gate, 6 + 3 * k)[0] = -0.1;
    }
    for (int k = 0; k < 5; k++) {
        const double a = 1 / (1 + exp(-(2 * 0.3 - 0.1)));
        s *= 0.5;  /* W y[0], which y[0] keeps */
        y = a * s; /* y[1]: what it had does not stay */
    }
    pada_block_gate_weights(gate, 19)[0] = 3;   /* from y[0] */
    pada_block_gate_weights(gate, 19)[128] = 5; /* from y[1] */
    pada_block_gate_weights(gate, 21)[0] = 1;
    pada_block_gate_weights(gate, 23)[0] = 1;
    pada_block_gate_weights(gate, 25)[0] = -1;
    pada_block_gate_weights(gate, 26)[1] = 0.25;
    pada_block_gate_forward(gate, &one, NULL, logits);
    CHECK_CLOSE(logits[0], -(3 * s + 5 * y), 1e-12);
    CHECK_CLOSE(logits[1], 0.25, 0);
    CHECK_CLOSE(logits[2], 0, 0);
    pada_block_gate_destroy(gate);
}

/* Sizes of the gate of CLOSE; the first values are those of PyTorch's linear layers, and embeddings with
 * variance 1. */
static void test_parameters(void **state)
{
    static const struct {
        int tensor, rows, columns, fan_in;
    } want[] = {
        {2, 96, 48, 48},     {3, 96, 1, 48},     {4, 128, 96, 96},       {5, 128, 48, 48},
        {6, 128, 1, 48},     {7, 128, 128, 128}, {16, 128, 128, 128},    {17, 128, 48, 48},
        {19, 200, 256, 256}, {20, 200, 1, 256},  {21, 200, 200, 200},    {22, 200, 1, 200},
        {23, 200, 200, 200}, {24, 200, 1, 200},  {25, BLOCKS, 200, 200}, {26, BLOCKS, 1, 200},
    };
    pada_params *params;
    pada_block_gate *gate;

    (void)state;
    CHECK_OK(pada_params_create(&params));
    assert_int_equal(pada_block_gate_first_param(params), -1);
    CHECK_OK(pada_block_gate_declare(params, OPS, BLOCKS));
    CHECK_OK(pada_block_gate_create(&gate, OPS, BLOCKS));
    assert_int_equal(pada_block_gate_first_param(params), 0);
    assert_int_equal(pada_params_count(params), PADA_GATE_TENSORS);
    for (int i = 0; i < PADA_GATE_TENSORS; i++)
        assert_int_equal(pada_params_get(params, i)->count, pada_block_gate_count(gate, i));
    assert_string_equal(pada_params_get(params, 25)->name, "gate.mlp.3.weight");
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        const pada_param *p = pada_params_get(params, want[i].tensor);
        assert_int_equal(p->dims[0], want[i].rows);
        assert_int_equal(p->dims[1], want[i].columns);
        CHECK_CLOSE(p->bound, 1 / sqrt(want[i].fan_in), 1e-15);
    }
    for (int i = 0; i < 2; i++)
        CHECK_CLOSE(pada_params_get(params, i)->bound, sqrt(3), 1e-15);
    pada_block_gate_destroy(gate);
    pada_params_destroy(params);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_map),
        cmocka_unit_test(test_gradient),
        cmocka_unit_test(test_formula),
        cmocka_unit_test(test_parameters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
