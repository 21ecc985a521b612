/* test_probe.c - measurements at checkpoints, against what they are by definition. */
#include "probe/probe.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/scratch.h"
#include "check.h"
#include "engine/engine_results.h"
#include "engine/engine_weights.h"
#include "probe/ntk.h"
#include "probe/probe_parts.h"
#include "strategy/importance.h"
#include "train/checkpoint.h"
#include "train/tiny_engine.h"

enum { EPOCHS = 4, BATCH = 11, STEPS = 4 /* of an epoch */, IMAGES = 5 };

static tiny_data data;
static pada_space space;
static pada_recipe recipe = {
    .epochs = EPOCHS, .batch_size = BATCH, .lr = 0.1, .momentum = 0.9, .clip = 5, .augment = true};
static const pada_importance_settings settings = {
    .path = {.scope = 1, .schedule = 2, .tau_max = 0.6, .accumulate = 2},
    .data = {.schedule = 2, .tau_max = 0.6, .replacement = true, .accumulate = 1}};

/* ---- runs ---- */

typedef struct run {
    pada_engine *engine;
    pada_train_desc desc;
} run;

static run open_run(const char *backend_name, const char *method, const pada_subspace *within)
{
    const pada_backend *backend;
    run r;

    CHECK_OK(pada_backend_find(&backend, backend_name));
    r.engine = tiny_wide_engine(&space, backend, 1, BATCH, 0, 2);
    r.desc = (pada_train_desc){.engine = r.engine,
                               .data = &data.base,
                               .recipe = &recipe,
                               .settings = &settings,
                               .within = within,
                               .checkpoint_epochs = 2};
    CHECK_OK(pada_strategy_find(&r.desc.strategy, method));
    return r;
}

/* Trains into the folder of that name, unless it is there. */
static run make_run(const char *folder, const char *backend, const char *method)
{
    run r = open_run(backend, method, NULL);
    pada_train_desc desc = r.desc;

    desc.run = scratch_path(folder);
    CHECK_OK(pada_train(&desc));
    return r;
}

/* ---- checkpoints that stay ---- */

static void checkpoints_of_epochs_stay(void **state)
{
    pada_checkpoint_file *list;
    int n;

    (void)state;
    run r = make_run("kept", "cpu", "pada");
    CHECK_OK(pada_checkpoint_list(scratch_path("kept"), &list, &n));
    assert_int_equal(n, 2);
    assert_int_equal(list[0].step, 2 * STEPS);
    assert_int_equal(list[1].step, 4 * STEPS);
    pada_checkpoint_list_free(list, n);
    /* Others go as ever. */
    pada_train_desc desc = r.desc;
    desc.run = scratch_path("many");
    desc.checkpoint_steps = 1;
    CHECK_OK(pada_train(&desc));
    CHECK_OK(pada_checkpoint_list(scratch_path("many"), &list, &n));
    assert_int_equal(n, 3);
    assert_int_equal(list[0].step, 2 * STEPS);
    assert_int_equal(list[1].step, 4 * STEPS - 1);
    pada_checkpoint_list_free(list, n);
    /* Room for all of them is held from the start. */
    pada_state *content;
    int64_t without, with;
    CHECK_OK(pada_state_create(&content));
    CHECK_OK(pada_checkpoint_room(scratch_path("none"), 0, 100, content, &without));
    CHECK_OK(pada_checkpoint_room(scratch_path("none"), 10, 100, content, &with));
    assert_int_equal(with / pada_state_bytes(content), without / pada_state_bytes(content) + 10);
    pada_state_destroy(content);
    pada_engine_destroy(r.engine);
}

/* ---- rows ---- */

typedef struct rows {
    int n, n_known;
    int64_t steps[8];
    double values[8][PADA_MAX_PROBE_COLUMNS];
    int n_columns;
} rows;

static const pada_probe_kind *kind_of(const char *name)
{
    const pada_probe_kind *kind;

    CHECK_OK(pada_probe_find(&kind, name));
    return kind;
}

static void take_row(void *user, const pada_probe_row *row)
{
    rows *r = user;

    r->n_known += row->is_known;
    r->steps[r->n] = row->step;
    memcpy(r->values[r->n++], row->values, (size_t)r->n_columns * sizeof(double));
}

static pada_status probe(const run *r, const char *folder, const char *kind,
                         const pada_probe_settings *how, rows *out)
{
    *out = (rows){.n = 0};
    while (kind_of(kind)->columns[out->n_columns].name)
        out->n_columns++;
    return pada_probe_run(&(pada_probe_desc){.kind = kind_of(kind),
                                             .settings = how,
                                             .training = &r->desc,
                                             .run = scratch_path(folder),
                                             .user = out,
                                             .row = take_row});
}

static double value_of(const rows *r, int row, const char *kind, const char *name)
{
    const pada_probe_column *columns = kind_of(kind)->columns;

    for (int i = 0; columns[i].name; i++)
        if (strcmp(columns[i].name, name) == 0) return r->values[row][i];
    fail_msg("no column %s", name);
    return NAN;
}

static void check_same(const rows *a, const rows *b)
{
    assert_int_equal(a->n, b->n);
    for (int i = 0; i < a->n; i++)
        for (int c = 0; c < a->n_columns; c++)
            if (isfinite(a->values[i][c]) || isfinite(b->values[i][c]))
                assert_true(a->values[i][c] == b->values[i][c]);
}

/* Rows repeat to the bit, are measured once, and belong to their settings. */
static void rows_are_measured_once(void **state)
{
    static const char *const kinds[] = {"variance", "bounds", "trainability"};
    const pada_probe_settings how = {.draws = 16, .exact = 4, .paths = 2, .images = IMAGES};
    pada_probe_settings other = how;
    rows first, again, more;

    (void)state;
    run r = make_run("once", "cpu", "pada");
    run fresh = make_run("twice", "cpu", "pada");
    other.seed = 1;
    for (int i = 0; i < 3; i++) {
        CHECK_OK(probe(&r, "once", kinds[i], &how, &first));
        assert_int_equal(first.n, 2);
        assert_int_equal(first.n_known, 0);
        assert_int_equal(first.steps[0], 2 * STEPS);
        CHECK_OK(probe(&r, "once", kinds[i], &how, &again));
        assert_int_equal(again.n_known, 2);
        check_same(&first, &again);
        CHECK_OK(probe(&fresh, "twice", kinds[i], &how, &again));
        assert_int_equal(again.n_known, 0);
        check_same(&first, &again);
        CHECK_OK(probe(&r, "once", kinds[i], &other, &more));
        assert_int_equal(more.n_known, 0);
    }
    pada_engine_destroy(r.engine);
    pada_engine_destroy(fresh.engine);
}

/* Half of a last line is cut off; anything else that is no row is refused, and stays. */
static void damaged_files(void **state)
{
    const pada_probe_settings how = {.paths = 1, .images = 3};
    char text[8192];
    pada_file file = {0};
    rows out;

    (void)state;
    run r = make_run("damaged", "cpu", "pada");
    CHECK_OK(probe(&r, "damaged", "bounds", &how, &out));
    char path[1200];
    snprintf(path, sizeof path, "%s", scratch_path("damaged/probes/bounds.csv"));
    CHECK_OK(pada_file_load(&file, path));
    assert_true(file.bytes < sizeof text);
    memcpy(text, file.data, file.bytes);
    const size_t n = file.bytes;
    pada_file_close(&file);
    CHECK_OK(pada_file_replace(path, text, n - 9));
    CHECK_OK(probe(&r, "damaged", "bounds", &how, &out));
    assert_int_equal(out.n_known, 1);
    CHECK_OK(pada_file_load(&file, path));
    assert_int_equal(file.bytes, n);
    assert_memory_equal(file.data, text, n);
    pada_file_close(&file);
    text[n - 20] = 'x';
    CHECK_OK(pada_file_replace(path, text, n));
    assert_int_equal(probe(&r, "damaged", "bounds", &how, &out), PADA_EDATA);
    CHECK_OK(pada_file_replace(path, "epoch,step\n1,2\n", 15));
    assert_int_equal(probe(&r, "damaged", "bounds", &how, &out), PADA_EDATA);
    pada_engine_destroy(r.engine);
}

static void refusals(void **state)
{
    const pada_probe_settings many = {.paths = 1, .images = BATCH + 1};
    const pada_probe_kind *kind;
    rows out;

    (void)state;
    run r = make_run("refused", "cpu", "pada");
    assert_int_equal(probe(&r, "refused", "bounds", &many, &out), PADA_EINVAL);
    assert_int_equal(probe(&r, "empty", "bounds", &many, &out), PADA_ENOENT);
    assert_int_equal(pada_probe_find(&kind, "varaince"), PADA_EINVAL);
    assert_non_null(strstr(pada_message(), "variance"));
    /* A checkpoint of another method has not what this one remembers. */
    CHECK_OK(pada_strategy_find(&r.desc.strategy, "spos"));
    assert_int_equal(probe(&r, "refused", "trainability", &many, &out), PADA_EDATA);
    CHECK_OK(pada_strategy_find(&r.desc.strategy, "gm"));
    assert_int_equal(probe(&r, "refused", "trainability", &many, &out), PADA_EINVAL);
    pada_engine_destroy(r.engine);
}

/* ---- variance ---- */

/* Weights take the bias away that there is without them. */
static void weights_take_the_bias_away(void **state)
{
    static const char *const names[] = {"paths", "images", "both"};
    const pada_probe_settings how = {.draws = 512, .exact = 8};
    char name[64], error[64];
    rows out;

    (void)state;
    run r = make_run("biased", "cpu", "pada");
    CHECK_OK(probe(&r, "biased", "variance", &how, &out));
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "%s_weighted_bias", names[i]);
        snprintf(error, sizeof error, "%s_weighted_bias_se", names[i]);
        const double bias = value_of(&out, 1, "variance", name);
        const double se = value_of(&out, 1, "variance", error);
        if (!(fabs(bias) < 4 * se)) fail_msg("%s: %g +- %g", name, bias, se);
    }
    assert_true(value_of(&out, 1, "variance", "paths_bias") >
                4 * value_of(&out, 1, "variance", "paths_bias_se"));
    pada_engine_destroy(r.engine);
}

/* SPOS draws uniformly: nothing differs, and there are no images of its own. */
static void uniform_is_uniform(void **state)
{
    static const char *const same[] = {"paths_variance", "paths_weighted_variance",
                                       "exact_run_variance", "exact_plain_variance"};
    const pada_probe_settings how = {.draws = 64, .exact = 8};
    rows out;

    (void)state;
    run r = make_run("uniform", "cpu", "spos");
    CHECK_OK(probe(&r, "uniform", "variance", &how, &out));
    for (int i = 0; i < 4; i++)
        CHECK_CLOSE(value_of(&out, 1, "variance", same[i]), 1, 1e-9);
    CHECK_CLOSE(value_of(&out, 1, "variance", "paths_bias"), 0, 1e-9);
    assert_true(isnan(value_of(&out, 1, "variance", "images_variance")));
    pada_engine_destroy(r.engine);
}

enum { SET = 6, TRIALS = 200 };

/* Sum of |g|^2 / p over N^2, less |mean g|^2, over |mean g|^2. */
static double variance_of(const double *norms, const double *p, double unit)
{
    double sum = 0;

    for (int i = 0; i < SET; i++)
        sum += norms[i] * norms[i] / p[i] / (SET * SET);
    return (sum - unit) / unit;
}

static double uniform_variance, best_variance; /* of the probe */

/* Equation 8: p ~ |g| has what the probe says, and no other p has less. */
static pada_status check_theorem(void *user, const pada_moment *m)
{
    const int64_t n = pada_params_elements(m->env->params);
    double *gradient = calloc((size_t)(2 * n), sizeof *gradient), *mean = gradient + n;
    double norms[SET], p[SET], total = 0, unit = 0;
    int32_t order[TINY_TRAIN];
    pada_path_sampler uniform;
    pada_path paths[SET];
    pada_batch batch;
    int64_t step = 0;
    pada_rng rng;

    (void)user;
    pada_path_sampler_init(&uniform, m->env->space);
    CHECK_OK(pada__probe_batch(m, 0, BATCH, order, &batch));
    for (int i = 0; i < SET; i++) {
        double square;
        assert_true(pada__probe_new_path(&uniform, 0, &step, paths, i, &paths[i]));
        CHECK_OK(pada__probe_gradient(m, &paths[i], &batch, gradient, &square));
        norms[i] = sqrt(square);
        total += norms[i];
        for (int64_t k = 0; k < n; k++)
            mean[k] += gradient[k] / SET;
    }
    for (int64_t k = 0; k < n; k++)
        unit += mean[k] * mean[k];
    for (int i = 0; i < SET; i++)
        p[i] = norms[i] / total;
    const double best = variance_of(norms, p, unit);
    double flat[SET];
    for (int i = 0; i < SET; i++)
        flat[i] = 1.0 / SET;
    CHECK_CLOSE(variance_of(norms, flat, unit) / uniform_variance, 1, 1e-9);
    CHECK_CLOSE(best / (best_variance * uniform_variance), 1, 1e-9);
    pada_rng_init(&rng, 3, "trials", 0);
    for (int trial = 0; trial < TRIALS; trial++) {
        double other[SET], sum = 0;
        for (int i = 0; i < SET; i++)
            sum += other[i] = p[i] * (0.5 + pada_rng_uniform(&rng));
        for (int i = 0; i < SET; i++)
            other[i] /= sum;
        assert_true(variance_of(norms, other, unit) >= best);
    }
    free(gradient);
    return PADA_OK;
}

static void the_theorem_holds(void **state)
{
    const pada_probe_settings how = {.draws = 16, .exact = SET};
    static const char *const worse[] = {"exact_sum_variance", "exact_run_variance"};
    pada_checkpoint_file *list;
    rows out;
    int n;

    (void)state;
    run r = make_run("theorem", "cpu", "pada");
    CHECK_OK(probe(&r, "theorem", "variance", &how, &out));
    best_variance = value_of(&out, 1, "variance", "exact_best_variance");
    uniform_variance = value_of(&out, 1, "variance", "exact_uniform_variance");
    assert_true(best_variance < 1);
    for (int i = 0; i < 2; i++)
        assert_true(value_of(&out, 1, "variance", worse[i]) > best_variance);
    CHECK_OK(pada_checkpoint_list(scratch_path("theorem"), &list, &n));
    CHECK_OK(pada_moment_visit(&r.desc, pada_text_str(&list[1].path), check_theorem, NULL));
    pada_checkpoint_list_free(list, n);
    pada_engine_destroy(r.engine);
}

/* ---- bounds ---- */

/* What images add to the gradient of a batch, by themselves, is that gradient. */
static pada_status check_summands(void *user, const pada_moment *m)
{
    const pada_path path = {{3, 2, 1, 3, 0, 2}};
    const int64_t n = pada_params_elements(m->env->params);
    double *gradient = calloc((size_t)(3 * n), sizeof *gradient);
    double *sum = gradient + n, *whole = gradient + 2 * n, square;
    int32_t order[TINY_TRAIN];
    float weights[IMAGES];
    pada_batch batch;

    (void)user;
    CHECK_OK(pada__probe_batch(m, 0, IMAGES, order, &batch));
    CHECK_OK(pada__probe_gradient(m, &path, &batch, whole, &square));
    for (int i = 0; i < IMAGES; i++) {
        pada_batch one = batch;
        for (int k = 0; k < IMAGES; k++)
            weights[k] = k == i ? IMAGES : 0;
        one.weights = weights;
        CHECK_OK(pada__probe_gradient(m, &path, &one, gradient, &square));
        assert_true(square > 0);
        for (int64_t k = 0; k < n; k++)
            sum[k] += gradient[k] / IMAGES;
    }
    assert_true(relative_distance(sum, whole, n) < 1e-12);
    free(gradient);
    return PADA_OK;
}

static void images_are_summands(void **state)
{
    const pada_probe_settings how = {.paths = 3, .images = IMAGES};
    pada_checkpoint_file *list;
    rows out;
    int n;

    (void)state;
    run r = make_run("bounds", "ref", "pada");
    CHECK_OK(pada_checkpoint_list(scratch_path("bounds"), &list, &n));
    CHECK_OK(pada_moment_visit(&r.desc, pada_text_str(&list[0].path), check_summands, NULL));
    pada_checkpoint_list_free(list, n);
    CHECK_OK(probe(&r, "bounds", "bounds", &how, &out));
    assert_in_range((int)(100 * fabs(value_of(&out, 0, "bounds", "pearson"))), 0, 100);
    assert_true(value_of(&out, 0, "bounds", "best_variance") <= 1);
    assert_true(value_of(&out, 0, "bounds", "best_variance") <=
                value_of(&out, 0, "bounds", "bound_variance"));
    assert_true(value_of(&out, 0, "bounds", "ratio_least") > 0);
    pada_engine_destroy(r.engine);
}

/* ---- trainability ---- */

static void read_sums(const pada_moment *m, const pada_path *path, const pada_batch *batch,
                      double *sums)
{
    double logits[IMAGES * TINY_CLASSES];

    CHECK_OK(pada_engine_forward(m->engine, path, batch, PADA_EVAL)); /* statistics of the batch */
    pada_engine_logits(m->engine, logits);
    for (int i = 0; i < IMAGES; i++) {
        sums[i] = 0;
        for (int c = 0; c < TINY_CLASSES; c++)
            sums[i] += logits[i * TINY_CLASSES + c];
    }
}

/* Adds what the columns of one tensor give to K, by central differences. */
static void add_differences(const pada_moment *m, const pada_path *path, const pada_batch *batch,
                            int param, double *kernel)
{
    const pada_param *p = pada_params_get(m->env->params, param);
    double *w = calloc((size_t)p->count, sizeof *w), low[IMAGES], high[IMAGES];
    const double step = 1e-5;

    pada_engine_read_weight(m->engine, param, w);
    for (int64_t k = 0; k < p->count; k++) {
        const double was = w[k];
        w[k] = was - step;
        pada_engine_write_weight(m->engine, param, w);
        read_sums(m, path, batch, low);
        w[k] = was + step;
        pada_engine_write_weight(m->engine, param, w);
        read_sums(m, path, batch, high);
        w[k] = was;
        for (int i = 0; i < IMAGES; i++)
            for (int c = 0; c < IMAGES; c++)
                kernel[i * IMAGES + c] +=
                    (high[i] - low[i]) * (high[c] - low[c]) / (4 * step * step);
    }
    pada_engine_write_weight(m->engine, param, w);
    free(w);
}

static pada_status check_kernel(void *user, const pada_moment *m)
{
    const pada_path path = {{3, 2, 1, 4, 0, 2}};
    double kernel[IMAGES * IMAGES], want[IMAGES * IMAGES] = {0}, values[IMAGES];
    const uint64_t weights = pada_engine_weights_hash(m->engine);
    int32_t order[TINY_TRAIN];
    pada_batch batch;
    pada__ntk ntk;

    (void)user;
    CHECK_OK(pada__probe_batch(m, 0, IMAGES, order, &batch));
    CHECK_OK(pada__ntk_init(&ntk, m, IMAGES));
    CHECK_OK(pada__ntk_compute(&ntk, &path, &batch, kernel));
    assert_true(pada_engine_weights_hash(m->engine) == weights);
    pada__ntk_deinit(&ntk);
    for (int i = 0; i < pada_params_count(m->env->params); i++) {
        const pada_param *p = pada_params_get(m->env->params, i);
        if (!strstr(p->name, "weight")) continue;
        if (p->site == PADA_SHARED || pada_path_uses(m->env->space, &path, p->site, p->choice))
            add_differences(m, &path, &batch, i, want);
    }
    if (relative_distance(kernel, want, IMAGES * IMAGES) > 1e-6)
        fail_msg("off by %g", relative_distance(kernel, want, IMAGES * IMAGES));
    double kappa;
    PADA_TRY(pada__ntk_condition(kernel, IMAGES, values, &kappa));
    CHECK_CLOSE(pow(10, kappa), values[IMAGES - 1] / values[0], 1e-6 * pow(10, kappa));
    assert_true(values[0] > 0 && kappa > 0);
    return PADA_OK;
}

static void kernel_is_that_of_the_logits(void **state)
{
    pada_checkpoint_file *list;
    int n;

    (void)state;
    recipe.label_smoothing = 0.1; /* of the training, not of the kernel */
    run r = make_run("kernel", "ref", "pada");
    CHECK_OK(pada_checkpoint_list(scratch_path("kernel"), &list, &n));
    CHECK_OK(pada_moment_visit(&r.desc, pada_text_str(&list[1].path), check_kernel, NULL));
    pada_checkpoint_list_free(list, n);
    recipe.label_smoothing = 0;
    pada_engine_destroy(r.engine);
}

static int begin(void **state)
{
    tiny_data_init(&data);
    return scratch_setup(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checkpoints_of_epochs_stay),
        cmocka_unit_test(rows_are_measured_once),
        cmocka_unit_test(damaged_files),
        cmocka_unit_test(refusals),
        cmocka_unit_test(weights_take_the_bias_away),
        cmocka_unit_test(uniform_is_uniform),
        cmocka_unit_test(the_theorem_holds),
        cmocka_unit_test(images_are_summands),
        cmocka_unit_test(kernel_is_that_of_the_logits),
    };
    return cmocka_run_group_tests(tests, begin, scratch_teardown);
}
