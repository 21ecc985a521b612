/* test_conformance.c - every attribute of an operator changed, on every backend: right numbers, or a refusal of what is
 * unknown.
 *
 * Kernels are chosen by lists of what they take. A list that is too long computes something else without an error; these
 * are the tests that see it. */
#include "check.h"

#include <stdio.h>
#include <string.h>

#include "backends.h"
#include "ops/case_compare.h"
#include "ops/join_cases.h"
#include "ops/loss_cases.h"
#include "ops/op_changes.h"
#include "ops/oracle.h"

/* What the backends under test made of the cases. */
typedef struct tally {
    int right, wrong;
} tally;

static bool is_cpu(const pada_backend *backend)
{
    return strncmp(backend->name, "cpu", 3) == 0;
}

/* What a backend may be off. Batch norm takes the scale of a convolution away, so that gradients of weights nearly
 * cancel, and in bfloat16 another pixel of a window may be the largest; what is computed as something else is off by
 * about one. */
static double allowed_of(const pada_backend *backend)
{
    return (backend->half ? 2.5 : 5) * case_tolerance(backend);
}

/* The reference's result, where somebody wants it; results of the first cpu backend. */
typedef struct results {
    case_result want, first;
} results;

static void run_on(const graph_case *c, const pada_backend *backend, pada_device *device,
                   const char *name, results *r, tally *t)
{
    const double allowed = allowed_of(backend);
    case_result have;
    char title[192];

    snprintf(title, sizeof title, "%s, %s", backend->name, name);
    if (!r->want.logits) case_run(c, ref, oracle, CASE_TRAIN_STAGED, &r->want);
    case_run(c, backend, device, CASE_TRAIN_STAGED, &have);
    *(case_error(c, &have, &r->want, title, allowed) > allowed ? &t->wrong : &t->right) += 1;
    if (is_cpu(backend) && !r->first.logits) {
        r->first = have;
        return;
    }
    if (is_cpu(backend) && !case_same_bits(&have, &r->first))
        fail_msg("%s: other bits than the first instruction set", title);
    case_result_deinit(&have);
}

/* Runs a case everywhere: nothing is refused, and the cpu backends have the same bits. */
static void run_everywhere(const graph_case *c, const char *name, tally *t)
{
    results r = {.want = {0}};

    for (int i = 0; i < pada_backend_count(); i++) {
        const pada_backend *backend = pada_backend_get(i);
        pada_device *device;
        if (!is_tested_backend(backend) || strcmp(backend->name, "cpu") == 0) continue;
        if (is_absent_backend(backend, backend->open(&device, 1))) continue;
        if (case_is_refused(c, backend, device))
            fail_msg("%s, %s: %s", backend->name, name, pada_message());
        run_on(c, backend, device, name, &r, t);
        backend->close(device);
    }
    case_result_deinit(&r.first);
    case_result_deinit(&r.want);
}

static void run_conv(const conv_case *k, uint64_t seed, tally *t)
{
    graph_case c;
    char name[128];

    conv_case_name(k, name, sizeof name);
    conv_case_build(&c, k, seed);
    run_everywhere(&c, name, t);
    case_deinit(&c);
}

static void test_convolutions(void **state)
{
    tally t = {0};
    conv_case k;
    int n = 0;

    (void)state;
    for (; conv_change(n, &k); n++)
        run_conv(&k, (uint64_t)n, &t);
    for (int i = 0; group_grid(i, &k); i++)
        run_conv(&k, (uint64_t)i, &t);
    print_message("%d changes: %d right\n", n, t.right);
    assert_true(n > 100);
    assert_int_equal(t.wrong, 0);
}

static void test_pools(void **state)
{
    tally t = {0};
    graph_case c;
    char name[64];

    (void)state;
    for (int i = 0; pool_change(i, (uint64_t)i, &c, name, sizeof name); i++) {
        run_everywhere(&c, name, &t);
        case_deinit(&c);
    }
    assert_int_equal(t.wrong, 0);
}

/* Pools and concatenations, as they are and simplified. */
static void test_pools_and_concatenations(void **state)
{
    tally t = {0};
    graph_case c;
    char name[64];

    (void)state;
    for (int i = 0; join_case(i, &c, name, sizeof name); i++) {
        run_everywhere(&c, name, &t);
        pada_graph_simplify(c.graph);
        run_everywhere(&c, name, &t);
        case_deinit(&c);
    }
    assert_int_equal(t.wrong, 0);
    assert_true(t.right > 100);
}

static void test_auxiliary_losses(void **state)
{
    tally t = {0};
    graph_case c;
    char name[64];

    (void)state;
    for (int i = 0; auxiliary_case(i, THE_LOSS | AUXILIARY_LOSS, &c, name, sizeof name); i++) {
        run_everywhere(&c, name, &t);
        case_deinit(&c);
    }
    assert_int_equal(t.wrong, 0);
    assert_true(t.right > 0);
}

static void test_drops(void **state)
{
    tally t = {0};
    graph_case c;
    char name[64];

    (void)state;
    for (int i = 0; drop_case(i, &c, name, sizeof name); i++) {
        run_everywhere(&c, name, &t);
        case_deinit(&c);
    }
    assert_int_equal(t.wrong, 0);
    assert_true(t.right > 0);
}

/* Convolutions of one value that only differ in their activation: what one prepares is not for the next. */
static void test_activations_of_one_value(void **state)
{
    tally t = {0};
    graph_case c;

    (void)state;
    for (int kernel = 1; kernel <= 3; kernel += 2) {
        pada_term terms[3];
        case_init(&c, (pada_shape){64, 8, 8}, 2, 5);
        const pada_value x = case_probe(&c, 10);
        for (int i = 0; i < 3; i++)
            terms[i] = case_norm(
                case_conv(&c, x, pada_conv_make(0, 64, kernel, 1, kernel / 2, (pada_act)i), false));
        case_readout(&c, case_sum(&c, terms, 3));
        run_everywhere(&c, "three activations", &t);
        case_deinit(&c);
    }
    assert_int_equal(t.wrong, 0);
}

/* ---- published values: what PyTorch makes of 1, 2, .. or 0, 1, .. in one channel ---- */

typedef struct published {
    const char *name;
    int size;                /* of the images */
    double first;            /* number of the first pixel */
    int kernel, stride, pad; /* of a convolution with weights 1, 2, .. or of a pool */
    int dilation, offset;    /* of a convolution */
    enum { CONV, AVERAGE, LARGEST } what;
    int n;
    double values[16];
} published;

static const published published_cases[] = {
    {"average, stride 1",
     4,
     1,
     3,
     1,
     1,
     0,
     0,
     AVERAGE,
     16,
     {3.5, 4, 5, 5.5, 5.5, 6, 7, 7.5, 9.5, 10, 11, 11.5, 11.5, 12, 13, 13.5}},
    {"average, stride 2", 4, 1, 3, 2, 1, 0, 0, AVERAGE, 4, {3.5, 5, 9.5, 11}},
    {"largest, stride 2", 4, 1, 3, 2, 1, 0, 0, LARGEST, 4, {6, 8, 14, 16}},
    {"average before a second head", 8, 0, 5, 3, 0, 0, 0, AVERAGE, 4, {18, 21, 42, 45}},
    {"3x3, dilation 2",
     4,
     1,
     3,
     1,
     2,
     2,
     0,
     CONV,
     16,
     {194, 222, 170, 194, 306, 334, 266, 290, 122, 138, 98, 110, 186, 202, 146, 158}},
    {"3x3, dilation 2, stride 2", 4, 1, 3, 2, 2, 2, 0, CONV, 4, {194, 170, 122, 98}},
    {"5x5, dilation 2",
     4,
     1,
     5,
     1,
     4,
     2,
     0,
     CONV,
     16,
     {426, 490, 402, 462, 682, 746, 642, 702, 306, 350, 282, 322, 482, 526, 442, 482}},
    {"factorised reduction, first half", 4, 1, 1, 2, 0, 1, 0, CONV, 4, {1, 3, 9, 11}},
    {"factorised reduction, second half", 4, 1, 1, 2, 0, 1, 1, CONV, 4, {6, 8, 14, 16}},
};

/* In the first of two equal channels, so that a convolution can be depthwise. */
static pada_value build_published(graph_case *c, const published *p)
{
    const pada_pool window = {p->kernel, p->stride, p->pad};
    const int taps = p->kernel * p->kernel;
    pada_conv conv = pada_conv_make(2, 2, p->kernel, p->stride, p->pad, PADA_ACT_NONE);

    case_init(c, (pada_shape){2, p->size, p->size}, 1, 1);
    for (int i = 0; i < 2 * p->size * p->size; i++)
        c->images[i] = (float)(p->first + i % (p->size * p->size));
    const pada_value x = case_probe(c, 1);
    if (p->what != CONV)
        return pada_graph_pool(c->graph, x, &window,
                               p->what == AVERAGE ? PADA_POOL_AVG : PADA_POOL_MAX, PADA_ACT_NONE);
    conv.groups = 2;
    conv.dilation = p->dilation;
    conv.offset = p->offset;
    const pada_value y = case_conv(c, x, conv, false);
    for (int i = 0; i < 2 * taps; i++)
        c->params[c->graph->nodes[y].weight + i] = 1 + i % taps;
    return y;
}

static void test_published_values(void **state)
{
    tally t = {0};
    graph_case c;
    case_result r;

    (void)state;
    for (size_t k = 0; k < sizeof published_cases / sizeof *published_cases; k++) {
        const published *p = &published_cases[k];
        const pada_value y = build_published(&c, p);
        case_readout(&c, case_sum1(&c, case_norm(y))); /* large logits would hide errors */
        case_run(&c, ref, oracle, CASE_TRAIN_STAGED, &r);
        assert_non_null(r.values[y]);
        assert_int_equal(r.counts[y], 2 * p->n);
        for (int i = 0; i < 2 * p->n; i++)
            CHECK_CLOSE(r.values[y][i], p->values[i % p->n], 1e-12);
        run_everywhere(&c, p->name, &t);
        case_result_deinit(&r);
        case_deinit(&c);
    }
    assert_int_equal(t.wrong, 0);
}

/* An activation that no kernel knows, a kind of term, of pool, of drop. */
enum { UNKNOWN_ACT = 3, UNKNOWN_TERM = 3, UNKNOWN_POOL = 2, UNKNOWN_DROP = PADA_N_DROPS };

static void unknown_conv(graph_case *c)
{
    const pada_conv conv = pada_conv_make(0, 64, 3, 1, 1, (pada_act)UNKNOWN_ACT);

    case_readout(c, case_sum1(c, case_norm(case_conv(c, case_probe(c, 1), conv, false))));
}

static void unknown_point(graph_case *c)
{
    const pada_conv conv = pada_conv_make(0, 64, 1, 1, 0, (pada_act)UNKNOWN_ACT);

    case_readout(c, case_sum1(c, case_norm(case_conv(c, case_probe(c, 1), conv, false))));
}

static void unknown_mean(graph_case *c)
{
    case_head(c, case_probe(c, 1), (pada_act)UNKNOWN_ACT);
}

static void unknown_term(graph_case *c)
{
    case_readout(
        c, case_sum1(c, (pada_term){.kind = (pada_term_kind)UNKNOWN_TERM, .x = case_probe(c, 1)}));
}

static void unknown_pool(graph_case *c)
{
    const pada_pool window = {3, 1, 1};

    case_readout(c, pada_graph_pool(c->graph, case_probe(c, 1), &window,
                                    (pada_pool_kind)UNKNOWN_POOL, PADA_ACT_NONE));
}

static void unknown_pool_act(graph_case *c)
{
    const pada_pool window = {3, 1, 1};

    case_readout(c, pada_graph_pool(c->graph, case_probe(c, 1), &window, PADA_POOL_MAX,
                                    (pada_act)UNKNOWN_ACT));
}

static void unknown_drop(graph_case *c)
{
    c->graph->drops = PADA_ANY;
    case_readout(c, pada_graph_drop(c->graph, case_probe(c, 1), (pada_drop_kind)UNKNOWN_DROP, 1));
}

static void unknown_gate(graph_case *c)
{
    const pada_value x = case_probe(c, 1), s = pada_graph_gap(c->graph, x, PADA_ACT_NONE);

    case_readout(c, pada_graph_gate(c->graph, x, (pada_act)UNKNOWN_ACT, s));
}

static void test_unknown_is_refused(void **state)
{
    void (*const builds[])(graph_case *) = {unknown_conv, unknown_point, unknown_mean,
                                            unknown_term, unknown_pool,  unknown_pool_act,
                                            unknown_drop, unknown_gate};
    graph_case c;

    (void)state;
    for (size_t k = 0; k < sizeof builds / sizeof *builds; k++) {
        case_init(&c, (pada_shape){64, 8, 8}, 2, 1);
        builds[k](&c);
        for (int i = 0; i < pada_backend_count(); i++) {
            const pada_backend *backend = pada_backend_get(i);
            pada_device *device;
            if (!is_tested_backend(backend)) continue;
            if (is_absent_backend(backend, backend->open(&device, 1))) continue;
            if (!case_is_refused(&c, backend, device))
                fail_msg("%s takes unknown network %d", backend->name, (int)k);
            backend->close(device);
        }
        case_deinit(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_convolutions),
        cmocka_unit_test(test_pools),
        cmocka_unit_test(test_pools_and_concatenations),
        cmocka_unit_test(test_auxiliary_losses),
        cmocka_unit_test(test_drops),
        cmocka_unit_test(test_activations_of_one_value),
        cmocka_unit_test(test_published_values),
        cmocka_unit_test(test_unknown_is_refused),
    };
    return cmocka_run_group_tests(tests, open_ref, close_ref);
}
