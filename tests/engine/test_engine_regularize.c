/* test_engine_regularize.c - what training passes do that evaluation does not: smoothed labels,
 * auxiliary heads, dropout and drop path. */
#include <string.h>

#include "backend/drop_mask.h"
#include "backends.h"
#include "base/scratch.h"
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

/* A stem, an auxiliary head, a 1x1 or 3x3 convolution that may be dropped beside a residual connection, and dropout. */
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

static int n_walks;

static void walk(const pada_space *space, pada_builder *b)
{
    const pada_feature x = conv_norm(b, pada_build_images(b), 3, "stem");
    pada_feature y = x;

    n_walks++;
    if (has_auxiliary) {
        pada_build_auxiliary_begin(b);
        y = pada_build_gap(b, conv_norm(b, x, 1, "auxiliary"), PADA_ACT_RELU);
        y = pada_build_linear(b, y, space->config.classes, "auxiliary.classifier");
        pada_build_auxiliary_end(b, y, auxiliary_weight);
    }
    for (int choice = -1; pada_build_choose(b, 0, 0, &choice);)
        y = conv_norm(b, x, choice == 0 ? 1 : 3, choice_label(space, 0, choice));
    y = pada_build_drop(b, y, PADA_DROP_IMAGES, 1);
    const pada_term terms[] = {{.kind = PADA_TERM_IDENTITY, .x = x.value},
                               {.kind = PADA_TERM_IDENTITY, .x = y.value}};
    y = pada_build_gap(b, pada_build_sum(b, x.shape, terms, 2), PADA_ACT_RELU);
    y = pada_build_drop(b, y, PADA_DROP_ELEMENTS, 1);
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

/* ---- dropout and drop path ---- */

static const pada_path conv3 = {{1}};

static void train_logits(pada_engine *e, const pada_drop_step *drops, double *logits)
{
    const pada_batch b = batch();

    pada_engine_set_drops(e, drops);
    CHECK_OK(pada_engine_forward(e, &conv3, &b, PADA_TRAIN));
    pada_engine_logits(e, logits);
}

static double largest_difference(const double *a, const double *b, int n)
{
    double most = 0;

    for (int i = 0; i < n; i++)
        most = fmax(most, fabs(a[i] - b[i]));
    return most;
}

/* Rates of zero, and evaluation whatever the rates: the same bits as without drops. */
static void drop_nothing(const pada_backend *backend)
{
    const pada_drop_step none = {.seed = 1}, some = {.seed = 1, .dropout = 0.5, .drop_path = 0.5};
    double plain[N * TINY_CLASSES], logits[N * TINY_CLASSES];
    const pada_batch b = batch();
    pada_space space;
    pada_engine *e = branch_engine(backend, &space);

    CHECK_OK(pada_engine_forward(e, &conv3, &b, PADA_TRAIN));
    pada_engine_logits(e, plain);
    train_logits(e, &none, logits);
    assert_memory_equal(logits, plain, sizeof plain);
    train_logits(e, &some, logits);
    assert_memory_not_equal(logits, plain, sizeof plain);
    CHECK_OK(pada_engine_forward(e, &conv3, &b, PADA_EVAL));
    pada_engine_logits(e, logits);
    assert_memory_equal(logits, plain, sizeof plain);
    pada_engine_destroy(e);
}

static void nothing_is_dropped_without_rates(void **state)
{
    (void)state;
    on_every_backend(drop_nothing);
}

/* Other masks would be far off. */
static void drop_as_ref(const pada_backend *backend)
{
    const double allowed = backend->dtype == PADA_F64 ? 0 : backend->half ? 0.02 : 1e-5;
    double want[N * TINY_CLASSES], have[N * TINY_CLASSES], other[N * TINY_CLASSES];
    const pada_backend *ref;
    pada_space space;

    CHECK_OK(pada_backend_find(&ref, "ref"));
    pada_engine *e = branch_engine(backend, &space), *oracle = branch_engine(ref, &space);
    for (int64_t step = 0; step < 3; step++) {
        const pada_drop_step drops = {9, step, step == 1 ? 0 : 0.4, step == 2 ? 0 : 0.5, (int)step};
        pada_drop_step next = drops;
        next.step += 3;
        train_logits(oracle, &drops, want);
        train_logits(oracle, &next, other);
        train_logits(e, &drops, have);
        assert_true(largest_difference(have, want, N * TINY_CLASSES) <= allowed);
        assert_true(largest_difference(other, want, N * TINY_CLASSES) > 0.05);
    }
    pada_engine_destroy(e);
    pada_engine_destroy(oracle);
}

static void masks_are_those_of_every_backend(void **state)
{
    (void)state;
    on_every_backend(drop_as_ref);
}

static double loss_with(pada_engine *e, int param, double *values, int i, double value)
{
    const pada_batch b = batch();
    const double centre = values[i];
    pada_results_view view;

    values[i] = value;
    pada_engine_write_weight(e, param, values);
    CHECK_OK(pada_engine_forward(e, &conv3, &b, PADA_TRAIN));
    CHECK_OK(pada_engine_results(e, &view));
    values[i] = centre;
    pada_engine_write_weight(e, param, values);
    return view.loss;
}

/* With the masks of one step, on `ref`. */
static void gradients_are_differences(void **state)
{
    static const char *const names[] = {"stem.conv.weight", "3x3.conv.weight", "classifier.weight",
                                        "classifier.bias"};
    const pada_drop_step drops = {.seed = 2, .step = 7, .dropout = 0.4, .drop_path = 0.5};
    const pada_batch b = batch();
    const pada_backend *ref;
    pada_space space;

    (void)state;
    CHECK_OK(pada_backend_find(&ref, "ref"));
    auxiliary_weight = 0;
    pada_engine *e = branch_engine(ref, &space);
    pada_engine_set_drops(e, &drops);
    pada_engine_zero_grad(e);
    CHECK_OK(pada_engine_forward(e, &conv3, &b, PADA_TRAIN));
    pada_engine_backward(e);
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        double values[1024], grads[1024];
        const int id = pada_params_find(pada_engine_params(e), names[k]);
        assert_true(id >= 0);
        pada_engine_read_weight(e, id, values);
        pada_engine_read_grad(e, id, grads);
        for (int i = 0; i < pada_params_get(pada_engine_params(e), id)->count; i += 7) {
            const double step = 1e-6, above = loss_with(e, id, values, i, values[i] + step),
                         below = loss_with(e, id, values, i, values[i] - step);
            CHECK_CLOSE(grads[i], (above - below) / (2 * step), 1e-7);
        }
    }
    pada_engine_destroy(e);
    auxiliary_weight = 0.4;
}

/* Rates grow with the steps. */
static void drop_step(pada_engine *e, uint64_t seed, int64_t step)
{
    const pada_drop_step drops = {seed, step, 0.2, 0.1 + 0.05 * (double)step, 0};
    const pada_optim optim = {.lr = 0.1, .momentum = 0.9};
    const pada_batch b = batch();
    pada_step_stats stats;

    pada_engine_set_drops(e, &drops);
    pada_engine_zero_grad(e);
    CHECK_OK(pada_engine_forward(e, &conv3, &b, PADA_TRAIN));
    pada_engine_backward(e);
    CHECK_OK(pada_engine_step(e, &optim, &stats));
}

/* Masks belong to the number of a step, not to what an engine has done before; and no step plans anew. */
static void resumed_steps_drop_the_same(void **state)
{
    const char *file = scratch_path("drops.safetensors");
    const pada_backend *cpu;
    pada_state *saved, *loaded;
    pada_space space;

    (void)state;
    CHECK_OK(pada_backend_find(&cpu, "cpu"));
    pada_engine *whole = branch_engine(cpu, &space), *parts = branch_engine(cpu, &space);
    pada_engine *other = branch_engine(cpu, &space);
    drop_step(whole, 1, 0);
    CHECK_OK(pada_state_create(&saved));
    pada_engine_visit(whole, saved);
    CHECK_OK(pada_state_write(saved, file));
    pada_state_destroy(saved);
    const int before = n_walks;
    for (int64_t step = 1; step < 4; step++)
        drop_step(whole, 1, step);
    assert_int_equal(n_walks, before);
    CHECK_OK(pada_state_open(&loaded, file));
    pada_engine_visit(parts, loaded);
    CHECK_OK(pada_state_status(loaded));
    pada_state_destroy(loaded);
    for (int64_t step = 1; step < 4; step++)
        drop_step(parts, 1, step);
    assert_true(pada_engine_weights_hash(parts) == pada_engine_weights_hash(whole));
    for (int64_t step = 0; step < 4; step++)
        drop_step(other, 2, step);
    assert_true(pada_engine_weights_hash(other) != pada_engine_weights_hash(whole));
    pada_engine_destroy(whole);
    pada_engine_destroy(parts);
    pada_engine_destroy(other);
}

/* Masks are what the rate says on average, and different for whatever they depend on. */
static void masks_keep_the_mean(void **state)
{
    enum { COUNT = 20000 };
    const double rates[PADA_N_DROPS] = {0.3, 0.3};
    const pada_drop here = {PADA_DROP_ELEMENTS, 0, 1}, there = {PADA_DROP_ELEMENTS, 1, 1};
    const pada_drop half = {PADA_DROP_ELEMENTS, 0, 0.5};
    pada_drops drops, next_step, next_seed, next_batch;
    double sums[5] = {0};
    int equal[5] = {0};

    (void)state;
    pada_drops_make(&drops, 5, 17, rates);
    pada_drops_make(&next_step, 5, 18, rates);
    pada_drops_make(&next_seed, 6, 17, rates);
    next_batch = drops;
    next_batch.batch = 1;
    for (int i = 0; i < COUNT; i++) {
        const double factor = pada_drop_factor(&drops, &here, 3, i);
        assert_true(factor == 0 || factor == 1 / (1 - 0.3));
        sums[i % 4] += factor;
        equal[0] += factor == pada_drop_factor(&next_step, &here, 3, i);
        equal[1] += factor == pada_drop_factor(&next_seed, &here, 3, i);
        equal[2] += factor == pada_drop_factor(&drops, &there, 3, i);
        equal[3] += factor == pada_drop_factor(&drops, &here, 4, i);
        equal[4] += factor == pada_drop_factor(&next_batch, &here, 3, i);
        sums[4] += pada_drop_factor(&drops, &half, 3, i) == 0;
    }
    CHECK_CLOSE(sums[4] / COUNT, 0.15, 4 * 0.0025);
    CHECK_CLOSE((double)equal[4] / COUNT, 0.7 * 0.7 + 0.3 * 0.3, 4 * 0.0035);
    /* 4 deviations: sqrt(0.3 / 0.7 / 5000) of a mean, sqrt(0.58 * 0.42 / 20000) of a share */
    for (int k = 0; k < 4; k++) {
        CHECK_CLOSE(sums[k] / (COUNT / 4), 1, 4 * 0.00926);
        CHECK_CLOSE((double)equal[k] / COUNT, 0.7 * 0.7 + 0.3 * 0.3, 4 * 0.0035);
    }
    /* what runs so far have dropped must not change */
    uint32_t bits = 0;
    for (int i = 0; i < 32; i++)
        bits |= (uint32_t)(pada_drop_factor(&drops, &here, 3, i) == 0) << i;
    assert_int_equal(bits, 0x400c0000);
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
        cmocka_unit_test(training_smooths_labels_and_evaluation_does_not),
        cmocka_unit_test(auxiliary_heads_are_trained),
        cmocka_unit_test(auxiliary_heads_cost_nothing),
        cmocka_unit_test(nothing_is_dropped_without_rates),
        cmocka_unit_test(masks_are_those_of_every_backend),
        cmocka_unit_test(gradients_are_differences),
        cmocka_unit_test(resumed_steps_drop_the_same),
        cmocka_unit_test(masks_keep_the_mean),
    };
    return cmocka_run_group_tests(tests, open_all, scratch_teardown);
}
