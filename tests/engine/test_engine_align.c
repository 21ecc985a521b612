/* test_engine_align.c - features that are kept, and gradients that pull towards them. */
#include <stdlib.h>
#include <string.h>

#include "backends.h"
#include "check.h"
#include "engine/engine.h"
#include "engine/engine_align.h"
#include "engine/engine_inspect.h"
#include "engine/engine_weights.h"

enum { N = 5, SIDE = 8, LARGE_SIDE = 32 };

static float images[N * 3 * LARGE_SIDE * LARGE_SIDE];
static const int32_t labels[N] = {0, 2, 1, 1, 0};
static pada_space space;
static int n_images = N; /* of the batches */

static const pada_path child = {{3, 2, 1, 4, 3, 1}}, other = {{2, 3, 4, 1, 0, 3}},
                       skips = {{0, 0, 0, 1, 0, 0}}, dead = {{3, 3, 3, 0, 0, 0}};

static void make_space(int channels, int cells, int side)
{
    const pada_space_ops *ops;

    CHECK_OK(pada_space_find(&ops, "nb201"));
    CHECK_OK(pada_space_init(
        &space, ops,
        &(pada_space_config){
            .channels = channels, .cells = cells, .classes = 3, .image_size = side}));
}

static int open_space(void **state)
{
    static double pixels[N * 3 * LARGE_SIDE * LARGE_SIDE];

    (void)state;
    make_space(3, 2, SIDE);
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
static pada_engine *make_engine(const pada_backend *backend)
{
    pada_engine *e;
    const pada_status st = pada_engine_create(
        &e, &(pada_engine_desc){
                .space = &space, .backend = backend, .batch_size = N, .mode = PADA_TRAIN});

    if (is_absent_backend(backend, st)) return NULL;
    CHECK_OK(pada_engine_init_weights(e, 1));
    return e;
}

static pada_engine *make_ref(void)
{
    const pada_backend *ref;

    CHECK_OK(pada_backend_find(&ref, "ref"));
    return make_engine(ref);
}

static int64_t n_weights(const pada_engine *e)
{
    return pada_params_elements(pada_engine_params(e));
}

/* All gradients since zero_grad; freed by the caller. */
static double *read_grads(const pada_engine *e)
{
    const pada_params *params = pada_engine_params(e);
    double *grads = calloc((size_t)n_weights(e), sizeof *grads);

    for (int i = 0; i < pada_params_count(params); i++)
        pada_engine_read_grad(e, i, grads + pada_params_get(params, i)->offset);
    return grads;
}

static double *plain_grads(pada_engine *e, const pada_path *path)
{
    const pada_batch batch = whole_batch();

    pada_engine_zero_grad(e);
    CHECK_OK(pada_engine_forward(e, path, &batch, PADA_TRAIN));
    pada_engine_backward(e);
    return read_grads(e);
}

static double *aligned_grads(pada_engine *e, const pada_path *path, double factor,
                             double *distances)
{
    const pada_batch batch = whole_batch();

    pada_engine_zero_grad(e);
    CHECK_OK(pada_engine_forward_aligned(e, path, &batch, factor));
    pada_engine_backward(e);
    pada_engine_distances(e, distances);
    return read_grads(e);
}

static void keep(pada_engine *e, const pada_path *path)
{
    const pada_batch batch = whole_batch();

    CHECK_OK(pada_engine_keep_taps(e, path, &batch));
}

/* ---- every backend ---- */

/* Against the reference, for anchors and paths of all kinds. */
static void compare_backends(int n_pairs, bool only_half)
{
    const pada_path *const pairs[][2] = {
        {&child, &other}, {&other, &child}, {&child, &dead}, {&dead, &child}, {&skips, &child}};
    pada_engine *ref = make_ref();

    for (int i = 0; i < pada_backend_count(); i++) {
        const pada_backend *backend = pada_backend_get(i);
        pada_engine *e;
        if (!is_tested_backend(backend) || (only_half && !backend->half)) continue;
        if (!(e = make_engine(backend))) continue;
        for (int k = 0; k < n_pairs; k++) {
            const double close = backend->half ? 0.05 : 1e-5, near = backend->half ? 0.4 : 1e-4;
            double distances[N], want[N];
            keep(e, pairs[k][0]);
            keep(ref, pairs[k][0]);
            double *grads = aligned_grads(e, pairs[k][1], 2, distances);
            double *ref_grads = aligned_grads(ref, pairs[k][1], 2, want);
            for (int n = 0; n < n_images; n++)
                assert_true(want[n] > 0.01);
            if (relative_error(distances, want, n_images) > close)
                fail_msg("%s, pair %d: distances %g", backend->name, k,
                         relative_error(distances, want, n_images));
            if (relative_distance(grads, ref_grads, n_weights(e)) > near)
                fail_msg("%s, pair %d: gradients %g", backend->name, k,
                         relative_distance(grads, ref_grads, n_weights(e)));
            free(grads);
            free(ref_grads);
        }
        pada_engine_destroy(e);
    }
    pada_engine_destroy(ref);
}

static void test_backends_agree(void **state)
{
    (void)state;
    compare_backends(5, false);
    make_space(16, 1, LARGE_SIDE); /* what node kernels are for */
    n_images = 2;
    compare_backends(2, true);
    n_images = N;
    make_space(3, 2, SIDE);
}

/* A path has no distance from itself, and then the gradient is that of the loss alone. */
static void test_nothing_to_align(void **state)
{
    (void)state;
    for (int i = 0; i < pada_backend_count(); i++) {
        const pada_backend *backend = pada_backend_get(i);
        double distances[N];
        pada_engine *e;
        if (!is_tested_backend(backend) || !(e = make_engine(backend))) continue;
        double *plain = plain_grads(e, &child);
        keep(e, &child);
        double *same = aligned_grads(e, &child, 3, distances);
        for (int n = 0; n < N; n++)
            CHECK_CLOSE(distances[n], 0, backend->half ? 0.01 : 1e-9);
        assert_true(relative_distance(same, plain, n_weights(e)) < (backend->half ? 0.4 : 1e-4));
        /* Passes without taps are what they were, to the bit. */
        double *again = plain_grads(e, &child);
        assert_memory_equal(again, plain, (size_t)n_weights(e) * sizeof *plain);
        free(plain);
        free(same);
        free(again);
        pada_engine_destroy(e);
    }
}

/* ---- the reference ---- */

static double objective(pada_engine *e, double factor)
{
    const pada_batch batch = whole_batch();
    double losses[N], distances[N], sum = 0;

    CHECK_OK(pada_engine_forward_aligned(e, &child, &batch, factor));
    pada_engine_losses(e, losses);
    pada_engine_distances(e, distances);
    for (int n = 0; n < N; n++)
        sum += losses[n] + factor * distances[n];
    return sum / N;
}

/* Central differences of the objective with what was kept held fixed: weights that both paths use
 * have no gradient through the anchor, and weights of the anchor alone have none at all. */
static void test_gradient(void **state)
{
    const double factor = 1.5, step = 1e-6;
    pada_engine *e = make_ref();
    const pada_params *params = pada_engine_params(e);
    double distances[N], *weights = calloc((size_t)n_weights(e), sizeof *weights);
    double pull = 0;
    int n_zero = 0;

    (void)state;
    keep(e, &other);
    double *plain = plain_grads(e, &child), *grads = aligned_grads(e, &child, factor, distances);
    for (int i = 0; i < pada_params_count(params); i++) {
        const pada_param *p = pada_params_get(params, i);
        const double *grad = grads + p->offset;
        if (p->site != PADA_SHARED && p->choice != child.choice[p->site % 6]) {
            for (int64_t k = 0; k < p->count; k++)
                assert_true(grad[k] == 0);
            n_zero += p->choice == other.choice[p->site % 6];
            continue;
        }
        if (p->bias_before_norm) continue;
        pada_engine_read_weight(e, i, weights);
        for (int64_t k = 0; k < p->count; k += 1 + p->count / 3) {
            const double centre = weights[k];
            weights[k] = centre + step;
            pada_engine_write_weight(e, i, weights);
            const double above = objective(e, factor);
            weights[k] = centre - step;
            pada_engine_write_weight(e, i, weights);
            const double below = objective(e, factor);
            weights[k] = centre;
            pada_engine_write_weight(e, i, weights);
            CHECK_CLOSE(grad[k], (above - below) / (2 * step), 2e-6 * (1 + fabs(grad[k])));
            pull = fmax(pull, fabs(grad[k] - plain[p->offset + k]));
        }
    }
    assert_true(pull > 1e-2); /* of the alignment, not of the loss alone */
    assert_true(n_zero > 4);
    free(weights);
    free(plain);
    free(grads);
    pada_engine_destroy(e);
}

/* The distance from a path through which nothing flows is the mean square of the features. */
static void test_zeros(void **state)
{
    double from_dead[N], from_child[N];
    pada_engine *e = make_ref();

    (void)state;
    keep(e, &dead);
    free(aligned_grads(e, &child, 1, from_dead));
    keep(e, &child);
    double *plain = plain_grads(e, &dead), *aligned = aligned_grads(e, &dead, 1, from_child);
    for (int n = 0; n < N; n++)
        CHECK_CLOSE(from_dead[n], from_child[n], 1e-12);
    assert_memory_equal(plain, aligned, (size_t)n_weights(e) * sizeof *plain);
    free(plain);
    free(aligned);
    pada_engine_destroy(e);
}

/* Factor, weights of images and scale of the gradient multiply. */
static void test_factors(void **state)
{
    static const float weights[N] = {2, 0, 1, 0.5f, 3};
    double distances[N];
    pada_engine *e = make_ref();
    pada_batch batch = whole_batch();

    (void)state;
    keep(e, &other);
    double *one = aligned_grads(e, &child, 1, distances),
           *two = aligned_grads(e, &child, 2, distances), *plain = plain_grads(e, &child);
    for (int64_t i = 0; i < n_weights(e); i++)
        CHECK_CLOSE(two[i] - one[i], one[i] - plain[i], 1e-12);
    batch.weights = weights;
    batch.grad_scale = 0.5;
    pada_engine_zero_grad(e);
    CHECK_OK(pada_engine_forward_aligned(e, &child, &batch, 1));
    pada_engine_backward(e);
    double *weighted = read_grads(e), *sum = calloc((size_t)n_weights(e), sizeof *sum);
    for (int n = 0; n < N; n++) { /* one image at a time has weight */
        float alone[N] = {0};
        alone[n] = 0.5f * weights[n];
        batch.weights = alone;
        batch.grad_scale = 1;
        pada_engine_zero_grad(e);
        CHECK_OK(pada_engine_forward_aligned(e, &child, &batch, 1));
        pada_engine_backward(e);
        double *part = read_grads(e);
        for (int64_t i = 0; i < n_weights(e); i++)
            sum[i] += part[i];
        free(part);
    }
    assert_true(relative_error(weighted, sum, n_weights(e)) < 1e-10);
    free(one);
    free(two);
    free(plain);
    free(weighted);
    free(sum);
    pada_engine_destroy(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_backends_agree), cmocka_unit_test(test_nothing_to_align),
        cmocka_unit_test(test_gradient),       cmocka_unit_test(test_zeros),
        cmocka_unit_test(test_factors),
    };
    return cmocka_run_group_tests(tests, open_space, NULL);
}
