/* test_conformance.c - every attribute of an operator changed, on every backend: right numbers or a refusal.
 *
 * Kernels are chosen by lists of what they take. A list that is too long computes something else without an error; these
 * are the tests that see it. */
#include "check.h"

#include <stdio.h>
#include <string.h>

#include "backends.h"
#include "ops/case_compare.h"
#include "ops/join_cases.h"
#include "ops/op_changes.h"
#include "ops/oracle.h"

/* What the backends under test made of the cases. */
typedef struct tally {
    int right, wrong, refused;
} tally;

static bool is_cpu(const pada_backend *backend)
{
    return strncmp(backend->name, "cpu", 3) == 0;
}

/* What a backend may be off. Batch norm takes the scale of a convolution away, so that gradients of weights nearly
 * cancel; what is computed as something else is off by about one. */
static double allowed_of(const pada_backend *backend)
{
    return backend->half ? case_tolerance(backend) : 5 * case_tolerance(backend);
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

/* Runs a case everywhere. The cpu backends refuse nothing and have the same bits; the others refuse only what
 * they `may`. */
static void run_everywhere(const graph_case *c, const char *name, bool may, tally *t)
{
    results r = {.want = {0}};

    for (int i = 0; i < pada_backend_count(); i++) {
        const pada_backend *backend = pada_backend_get(i);
        pada_device *device;
        if (!is_tested_backend(backend) || strcmp(backend->name, "cpu") == 0) continue;
        if (is_absent_backend(backend, backend->open(&device, 1))) continue;
        if (!case_is_refused(c, backend, device))
            run_on(c, backend, device, name, &r, t);
        else if (is_cpu(backend) || !may)
            fail_msg("%s, %s: %s", backend->name, name, pada_message());
        else
            t->refused++;
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
    run_everywhere(&c, name, k->conv.groups > 1 || k->conv.dilation > 1, t);
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
    print_message("%d changes: %d right, %d refused\n", n, t.right, t.refused);
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
        run_everywhere(&c, name, false, &t);
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
        run_everywhere(&c, name, true, &t);
        pada_graph_simplify(c.graph);
        run_everywhere(&c, name, true, &t);
        case_deinit(&c);
    }
    assert_int_equal(t.wrong, 0);
    assert_true(t.right + t.refused > 100);
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
        run_everywhere(&c, "three activations", false, &t);
        case_deinit(&c);
    }
    assert_int_equal(t.wrong, 0);
}

/* An activation that no kernel knows, a kind of term, a kind of pool. */
enum { UNKNOWN_ACT = 3, UNKNOWN_TERM = 3, UNKNOWN_POOL = 2 };

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

static void test_unknown_is_refused(void **state)
{
    void (*const builds[])(graph_case *) = {unknown_conv, unknown_point, unknown_mean,
                                            unknown_term, unknown_pool,  unknown_pool_act};
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
        cmocka_unit_test(test_activations_of_one_value),
        cmocka_unit_test(test_unknown_is_refused),
    };
    return cmocka_run_group_tests(tests, open_ref, close_ref);
}
