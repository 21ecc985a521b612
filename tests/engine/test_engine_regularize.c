/* test_engine_regularize.c - what training passes do that evaluation does not: smoothed labels,
 * auxiliary heads. */
#include <string.h>

#include "backends.h"
#include "engine/engine_inspect.h"
#include "engine/engine_regularize.h"
#include "engine/engine_results.h"
#include "engine/engine_weights.h"
#include "space/net.h"
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

/* ---- auxiliary heads ---- */

/* A stem, an auxiliary head, and a 1x1 or 3x3 convolution with a residual connection. */
static int n_choices(const pada_space *space, int slot)
{
    (void)space, (void)slot;
    return 2;
}

static const char *choice_label(const pada_space *space, int slot, int choice)
{
    (void)space, (void)slot;
    return choice == 0 ? "1x1" : "3x3";
}

static int n_sites(const pada_space *space)
{
    (void)space;
    return 1;
}

static int site_slot(const pada_space *space, int site)
{
    (void)space;
    return site;
}

static pada_feature conv_norm(pada_builder *b, pada_feature x, int kernel, const char *name)
{
    const pada_conv conv = pada_conv_make(x.shape.c, 5, kernel, 1, kernel / 2, PADA_ACT_NONE);
    const int mark = pada_build_enter(b, "%s", name);
    const pada_feature z = pada_build_conv(b, x, &conv, PADA_BIAS_NONE, "conv");
    pada_term norm;

    pada_build_norm(b, z, "norm", &norm);
    pada_build_leave(b, mark);
    return pada_build_sum(b, z.shape, &norm, 1);
}

static bool has_auxiliary = true;
static double auxiliary_weight = 0.4;

static void walk(const pada_space *space, pada_builder *b)
{
    const pada_feature x = conv_norm(b, pada_build_images(b), 3, "stem");
    pada_feature y = x;

    if (has_auxiliary) {
        pada_build_auxiliary_begin(b);
        y = pada_build_gap(b, conv_norm(b, x, 1, "auxiliary"), PADA_ACT_RELU);
        y = pada_build_linear(b, y, space->config.classes, "auxiliary.classifier");
        pada_build_auxiliary_end(b, y, auxiliary_weight);
    }
    for (int choice = -1; pada_build_choose(b, 0, 0, &choice);)
        y = conv_norm(b, x, choice == 0 ? 1 : 3, choice_label(space, 0, choice));
    const pada_term terms[] = {{.kind = PADA_TERM_IDENTITY, .x = x.value},
                               {.kind = PADA_TERM_IDENTITY, .x = y.value}};
    y = pada_build_gap(b, pada_build_sum(b, x.shape, terms, 2), PADA_ACT_RELU);
    pada_build_loss(b, pada_build_linear(b, y, space->config.classes, "classifier"));
}

static const pada_space_ops branch_ops = {
    .name = "branch",
    .n_slots = 1,
    .defaults = {.classes = TINY_CLASSES, .image_size = TINY_SIDE},
    .n_choices = n_choices,
    .choice_label = choice_label,
    .n_sites = n_sites,
    .site_slot = site_slot,
    .walk = walk,
};

static pada_engine *branch_engine(const pada_backend *backend, pada_space *space)
{
    pada_engine *e;

    CHECK_OK(pada_space_init(space, &branch_ops, NULL));
    CHECK_OK(pada_engine_create(&e, &(pada_engine_desc){.space = space,
                                                        .backend = backend,
                                                        .n_threads = 2,
                                                        .batch_size = N,
                                                        .mode = PADA_TRAIN}));
    CHECK_OK(pada_engine_init_weights(e, 3));
    return e;
}

static double grad_of(const pada_engine *e, const char *name)
{
    double grads[1024] = {0}, sum = 0;
    const int id = pada_params_find(pada_engine_params(e), name);

    assert_true(id >= 0);
    pada_engine_read_grad(e, id, grads);
    for (int i = 0; i < 1024; i++)
        sum += fabs(grads[i]);
    return sum;
}

/* It learns and makes others learn in training, by its weight; evaluation and the results do not know of it. */
static void train_auxiliary(const pada_backend *backend)
{
    const pada_path path = {{1}};
    const pada_batch b = batch();
    double losses[2][2][N], stem[2], last[2], own[2];
    pada_space space;

    for (int i = 0; i < 2; i++) {
        auxiliary_weight = i * 0.4;
        pada_engine *e = branch_engine(backend, &space);
        pada_engine_zero_grad(e);
        CHECK_OK(pada_engine_forward(e, &path, &b, PADA_TRAIN));
        pada_engine_losses(e, losses[i][0]);
        pada_engine_backward(e);
        stem[i] = grad_of(e, "stem.conv.weight");
        last[i] = grad_of(e, "classifier.weight");
        own[i] = grad_of(e, "auxiliary.conv.weight");
        CHECK_OK(pada_engine_forward(e, &path, &b, PADA_EVAL));
        pada_engine_losses(e, losses[i][1]);
        pada_engine_destroy(e);
    }
    assert_memory_equal(losses[0], losses[1], sizeof losses[0]);
    assert_memory_equal(losses[0][0], losses[0][1], sizeof losses[0][0]);
    assert_true(own[0] == 0 && own[1] > 0);
    assert_true(last[0] == last[1]);
    assert_true(stem[0] != stem[1]);
}

static void auxiliary_heads_are_trained(void **state)
{
    (void)state;
    on_every_backend(train_auxiliary);
}

static void auxiliary_heads_cost_nothing(void **state)
{
    const pada_path path = {{1}};
    pada_cost cost[2];
    pada_space space;

    (void)state;
    for (int with = 0; with < 2; with++) {
        has_auxiliary = with;
        CHECK_OK(pada_space_init(&space, &branch_ops, NULL));
        pada_space_cost(&space, &path, &cost[with]);
    }
    has_auxiliary = true;
    assert_true(cost[0].macs == cost[1].macs && cost[0].params == cost[1].params);
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
        cmocka_unit_test(auxiliary_heads_are_trained),
        cmocka_unit_test(auxiliary_heads_cost_nothing),
    };
    return cmocka_run_group_tests(tests, open_all, NULL);
}
