/* test_evaluate.c - batches, counts and logits of an evaluation against a computation by hand. */
#include "base/scratch.h"

#include <math.h>

#include "check.h"
#include "data/batch_maker.h"
#include "engine/engine_results.h"
#include "engine/engine_weights.h"
#include "study/evaluate.h"
#include "study/judgement.h"

#define N_CLASSES 10

typedef struct fixture {
    pada_space space;
    pada_dataset *data;
    pada_engine *engine;
} fixture;

static const pada_path full = {{3, 1, 2, 4, 3, 1}};
static const pada_path dead = {{0}};

static pada_engine *make_engine(const pada_space *space, int batch_size)
{
    pada_engine_desc desc = {
        .space = space, .n_threads = 1, .batch_size = batch_size, .mode = PADA_EVAL};
    pada_engine *e;

    assert_ok(pada_backend_find(&desc.backend, "cpu"));
    assert_ok(pada_engine_create(&e, &desc));
    assert_ok(pada_engine_init_weights(e, 7));
    return e;
}

static void init_space(pada_space *space, int classes, int image_size)
{
    const pada_space_config config = {
        .channels = 4, .cells = 1, .classes = classes, .image_size = image_size};
    const pada_space_ops *ops;

    assert_ok(pada_space_find(&ops, "nb201"));
    assert_ok(pada_space_init(space, ops, &config));
}

static int setup(void **state)
{
    static fixture f;

    assert_ok(pada_dataset_open(
        &f.data,
        &(pada_dataset_desc){.where = "builtin", .splits = PADA_SPLIT_BIT(PADA_SPLIT_TEST)}));
    init_space(&f.space, N_CLASSES, 16);
    f.engine = make_engine(&f.space, 16);
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    fixture *f = *state;

    pada_engine_destroy(f->engine);
    pada_dataset_close(f->data);
    return 0;
}

static pada_evaluator *make_evaluator(const fixture *f, int limit, int batch_size)
{
    pada_evaluator *ev;

    assert_ok(pada_evaluator_create(&ev, &(pada_evaluator_desc){.data = f->data,
                                                                .split = PADA_SPLIT_TEST,
                                                                .limit = limit,
                                                                .batch_size = batch_size}));
    return ev;
}

/* What the evaluation must give, from its logits alone. */
static pada_evaluation count_by_hand(const fixture *f, const float *logits, int n)
{
    pada_evaluation sums = {.n_images = n};

    for (int i = 0; i < n; i++, logits += N_CLASSES) {
        const int label = f->data->ops->label(f->data, PADA_SPLIT_TEST, i);
        int above = 0;
        double total = 0;
        for (int k = 0; k < N_CLASSES; k++) {
            above += logits[k] > logits[label];
            total += exp(logits[k]);
        }
        sums.top1 += above < 1;
        sums.top5 += above < 5;
        sums.loss += (log(total) - logits[label]) / n;
    }
    return sums;
}

static void test_counts(void **state)
{
    static float logits[100 * N_CLASSES];
    const fixture *f = *state;
    pada_evaluator *ev = make_evaluator(f, 100, 16);
    pada_evaluation result;

    assert_int_equal(pada_evaluator_n_images(ev), 100);
    assert_int_equal(pada_evaluator_batch_size(ev), 16);
    assert_ok(pada_evaluator_run(ev, f->engine, &full, logits, &result));
    const pada_evaluation expected = count_by_hand(f, logits, 100);
    assert_int_equal(result.n_images, 100);
    assert_int_equal(result.top1, expected.top1);
    assert_int_equal(result.top5, expected.top5);
    assert_in_range(result.top5, 1,
                    99); /* neither nothing nor everything: a count that can be wrong */
    CHECK_CLOSE(result.loss, expected.loss, 1e-5);
    pada_evaluator_destroy(ev);
}

/* 10 images in batches of 4: the third batch has two, with its own batch-norm statistics. */
static void test_batches(void **state)
{
    const fixture *f = *state;
    pada_evaluator *ev = make_evaluator(f, 10, 4);
    static float images[4 * 768];
    float logits[10 * N_CLASSES];
    double by_hand[4 * N_CLASSES];
    int32_t labels[4];
    pada_evaluation result;

    assert_ok(pada_evaluator_run(ev, f->engine, &full, logits, &result));
    for (int first = 0; first < 10; first += 4) {
        const int n = first == 8 ? 2 : 4;
        const pada_batch batch = {.n = n, .images = images, .labels = labels};
        pada_dataset_fill(f->data, PADA_SPLIT_TEST, first, n, images, labels);
        assert_ok(pada_engine_forward(f->engine, &full, &batch, PADA_EVAL));
        pada_engine_logits(f->engine, by_hand);
        for (int k = 0; k < n * N_CLASSES; k++)
            CHECK_CLOSE(logits[first * N_CLASSES + k], (float)by_hand[k], 0);
    }
    pada_evaluator_destroy(ev);
}

/* Logits of the first 20 images in batches of 8, of themselves or of their mirror images. */
static void read_view(const fixture *f, bool mirrored, double *logits)
{
    static float images[8 * 768];
    int32_t labels[8];

    for (int first = 0; first < 20; first += 8) {
        const int n = first == 16 ? 4 : 8;
        const pada_batch batch = {.n = n, .images = images, .labels = labels};
        pada_dataset_fill(f->data, PADA_SPLIT_TEST, first, n, images, labels);
        for (float *row = images; mirrored && row < images + n * 768; row += 16)
            for (int x = 0; x < 8; x++) {
                const float pixel = row[x];
                row[x] = row[15 - x];
                row[15 - x] = pixel;
            }
        assert_ok(pada_engine_forward(f->engine, &full, &batch, PADA_EVAL));
        pada_engine_logits(f->engine, logits + first * N_CLASSES);
    }
}

static double margin_by_hand(const fixture *f, const float *logits, int n)
{
    double margin = 0;

    for (int i = 0; i < n; i++, logits += N_CLASSES) {
        const int label = f->data->ops->label(f->data, PADA_SPLIT_TEST, i);
        double total = 0, other = 0;
        for (int k = 0; k < N_CLASSES; k++) {
            total += exp(logits[k]);
            if (k != label) other = fmax(other, exp(logits[k]));
        }
        margin += (exp(logits[label]) - other) / total / n;
    }
    return margin;
}

/* Two views are judged by their mean logits, and margins come with either. */
static void test_views(void **state)
{
    static double views[2][20 * N_CLASSES];
    static float logits[20 * N_CLASSES], plain[20 * N_CLASSES];
    const fixture *f = *state;
    pada_evaluation result, usual;
    pada_text said = {0};
    pada_evaluator *ev;

    read_view(f, false, views[0]);
    read_view(f, true, views[1]);
    for (int n_views = 1; n_views <= 2; n_views++) {
        assert_ok(pada_evaluator_create(&ev, &(pada_evaluator_desc){.data = f->data,
                                                                    .split = PADA_SPLIT_TEST,
                                                                    .limit = 20,
                                                                    .batch_size = 8,
                                                                    .views = n_views,
                                                                    .margins = true}));
        assert_int_equal(pada_evaluator_views(ev), n_views);
        assert_ok(pada_evaluator_run(ev, f->engine, &full, logits, &result));
        for (int k = 0; k < 20 * N_CLASSES; k++)
            CHECK_CLOSE(logits[k],
                        (float)(n_views == 1 ? views[0][k] : (views[0][k] + views[1][k]) / 2), 0);
        const pada_evaluation expected = count_by_hand(f, logits, 20);
        assert_int_equal(result.n_images, 20);
        assert_int_equal(result.top1, expected.top1);
        assert_int_equal(result.top5, expected.top5);
        CHECK_CLOSE(result.loss, expected.loss, 1e-6);
        CHECK_CLOSE(pada_evaluator_margin(ev), margin_by_hand(f, logits, 20), 1e-6);
        pada_evaluator_describe(ev, &said);
        pada_evaluator_destroy(ev);
    }
    assert_non_null(strstr(pada_text_str(&said), ", with margins"));
    assert_non_null(strstr(pada_text_str(&said), ", 2 views, with margins"));
    pada_text_deinit(&said);

    /* one view without margins is what the backend counts */
    ev = make_evaluator(f, 20, 8);
    assert_ok(pada_evaluator_run(ev, f->engine, &full, plain, &usual));
    CHECK_CLOSE(plain[7], (float)views[0][7], 0);
    pada_evaluator_destroy(ev);
}

/* Of equal logits the first class is in front, as in backends. */
static void test_judged_logits(void **state)
{
    static const double logits[] = {1, 3, 3, -2};

    (void)state;
    assert_int_equal(pada_judge_logits(logits, 4, 1).n_above, 0);
    assert_int_equal(pada_judge_logits(logits, 4, 2).n_above, 1);
    assert_int_equal(pada_judge_logits(logits, 4, 3).n_above, 3);
    CHECK_CLOSE(pada_judge_logits(logits, 4, 1).margin, 0, 0);
    const double total = exp(1) + 2 * exp(3) + exp(-2);
    CHECK_CLOSE(pada_judge_logits(logits, 4, 0).margin, (exp(1) - exp(3)) / total, 1e-12);
    CHECK_CLOSE(pada_judge_logits(logits, 4, 0).loss, log(total) - 1, 1e-12);
    CHECK_CLOSE(pada_judgement_value(PADA_BY_ACCURACY, 70, 2, 0.5), 70, 0);
    CHECK_CLOSE(pada_judgement_value(PADA_BY_LOSS, 70, 2, 0.5), -2, 0);
    CHECK_CLOSE(pada_judgement_value(PADA_BY_MARGIN, 70, 2, 0.5), 50, 0);
}

/* Where the engine holds the images, it is told to mirror them. */
static void test_mirrored_picks(void **state)
{
    const fixture *f = *state;
    pada_batch_maker maker;

    assert_ok(pada_batch_maker_init(&maker, f->data, PADA_SPLIT_TEST, true, 2));
    assert_ok(pada_batch_maker_put(&maker, 0, 5, NULL));
    assert_ok(pada_batch_maker_put_mirrored(&maker, 1, 5));
    assert_int_equal(maker.picks[0].flip, 0);
    assert_int_equal(maker.picks[1].flip, 1);
    assert_int_equal(maker.picks[1].image, 5);
    assert_int_equal(maker.labels[1], maker.labels[0]);
    pada_batch_maker_deinit(&maker);
}

static void test_limits(void **state)
{
    const fixture *f = *state;
    pada_evaluator_desc desc = {.data = f->data, .split = PADA_SPLIT_TEST, .batch_size = 512};
    pada_evaluator *ev;

    assert_ok(pada_evaluator_create(&ev, &desc)); /* 0: all */
    assert_int_equal(pada_evaluator_n_images(ev), 1000);
    assert_int_equal(pada_evaluator_batch_size(ev), 512);
    pada_evaluator_destroy(ev);

    desc.limit = 3; /* no room is made for images that do not come */
    assert_ok(pada_evaluator_create(&ev, &desc));
    assert_int_equal(pada_evaluator_n_images(ev), 3);
    assert_int_equal(pada_evaluator_batch_size(ev), 3);
    pada_evaluator_destroy(ev);

    desc.limit = 1001;
    assert_fails(pada_evaluator_create(&ev, &desc), PADA_EINVAL,
                 "limit 1001 is not in 1 to 1000, the test images of builtin");
    assert_null(ev);
    desc.limit = -1;
    assert_fails(pada_evaluator_create(&ev, &desc), PADA_EINVAL,
                 "limit -1 is not in 1 to 1000, the test images of builtin");
    desc = (pada_evaluator_desc){.data = f->data, .split = PADA_SPLIT_TEST};
    assert_fails(pada_evaluator_create(&ev, &desc), PADA_EINVAL, "batch size 0 is not positive");
    pada_evaluator_destroy(NULL);
}

/* Engines that do not fit the data. */
static void test_wrong_engines(void **state)
{
    const fixture *f = *state;
    pada_evaluator *ev = make_evaluator(f, 20, 17);
    pada_evaluation result;
    pada_space space;
    pada_engine *e;

    assert_fails(pada_evaluator_run(ev, f->engine, &full, NULL, &result), PADA_EINVAL,
                 "batch of 17 images; the engine takes 1 to 16");
    init_space(&space, 100, 16);
    e = make_engine(&space, 17);
    assert_fails(pada_evaluator_run(ev, e, &full, NULL, &result), PADA_EINVAL,
                 "the network has 100 classes, builtin has 10");
    pada_engine_destroy(e);
    init_space(&space, N_CLASSES, 32);
    e = make_engine(&space, 17);
    assert_fails(pada_evaluator_run(ev, e, &full, NULL, &result), PADA_EINVAL,
                 "the network reads images of 32x32, those of builtin are 16x16");
    pada_engine_destroy(e);
    pada_evaluator_destroy(ev);
}

/* Nothing reaches the classifier but its bias: all images get the same scores. */
static void test_dead_cell(void **state)
{
    const fixture *f = *state;
    pada_evaluator *ev = make_evaluator(f, 20, 8);
    float logits[20 * N_CLASSES];
    pada_evaluation result;

    assert_ok(pada_evaluator_run(ev, f->engine, &dead, logits, &result));
    for (int i = 1; i < 20; i++)
        assert_memory_equal(&logits[i * N_CLASSES], logits, N_CLASSES * sizeof *logits);
    assert_int_equal(result.top1, 2); /* one class of ten, two images each */
    pada_evaluator_destroy(ev);
}

/* The same bits again, also after another path; and without memory, once there is room. */
static void test_repeats(void **state)
{
    const fixture *f = *state;
    pada_evaluator *ev = make_evaluator(f, 20, 8);
    float first[20 * N_CLASSES], again[20 * N_CLASSES];
    pada_evaluation a, b;

    assert_ok(pada_evaluator_run(ev, f->engine, &full, first, &a));
    assert_ok(pada_evaluator_run(ev, f->engine, &dead, NULL, &b));
    const int64_t allocations = pada_mem_count();
    assert_ok(pada_evaluator_run(ev, f->engine, &full, again, &b));
    assert_int_equal(pada_mem_count(), allocations);
    assert_memory_equal(first, again, sizeof first);
    assert_int_equal(a.top1, b.top1);
    CHECK_CLOSE(a.loss, b.loss, 0);
    pada_evaluator_destroy(ev);
}

static void test_not_finite(void **state)
{
    const fixture *f = *state;
    pada_evaluator *ev = make_evaluator(f, 20, 8);
    pada_engine *e = make_engine(&f->space, 8);
    const int bias = pada_params_find(pada_engine_params(e), "classifier.bias");
    const double values[N_CLASSES] = {NAN};
    pada_evaluation result;

    assert_true(bias >= 0);
    pada_engine_write_weight(e, bias, values);
    assert_int_equal(pada_evaluator_run(ev, e, &full, NULL, &result), PADA_ENUMERIC);
    assert_int_equal(result.n_images, 0);
    pada_engine_destroy(e);
    pada_evaluator_destroy(ev);
}

/* From nothing to a result, with every allocation failing once. */
static pada_status evaluate_afresh(const fixture *f)
{
    const pada_evaluator_desc desc = {
        .data = f->data, .split = PADA_SPLIT_TEST, .limit = 6, .batch_size = 4, .views = 2};
    pada_engine_desc engine = {
        .space = &f->space, .n_threads = 1, .batch_size = 4, .mode = PADA_EVAL};
    pada_evaluator *ev = NULL;
    pada_engine *e = NULL;
    pada_evaluation result;
    pada_status st;

    if ((st = pada_backend_find(&engine.backend, "cpu")) != PADA_OK) goto out;
    if ((st = pada_evaluator_create(&ev, &desc)) != PADA_OK) goto out;
    if ((st = pada_engine_create(&e, &engine)) != PADA_OK) goto out;
    st = pada_evaluator_run(ev, e, &full, NULL, &result);
out:
    pada_engine_destroy(e);
    pada_evaluator_destroy(ev);
    return st;
}

static void test_oom(void **state)
{
    assert_survives_oom(evaluate_afresh(*state), (void)0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_batches),
        cmocka_unit_test(test_views),
        cmocka_unit_test(test_judged_logits),
        cmocka_unit_test(test_mirrored_picks),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_wrong_engines),
        cmocka_unit_test(test_dead_cell),
        cmocka_unit_test(test_repeats),
        cmocka_unit_test(test_not_finite),
        cmocka_unit_test(test_oom),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
