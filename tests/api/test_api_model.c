/* test_api_model.c - trained networks of include/pada.h: what they see, wrong uses, and memory that runs out. */
#include "base/scratch.h"
#include "data/make_images.h"
#include "model/small_models.h"

enum { SIDE = 16, N_PICTURES = 5, PIXELS = 3 * SIDE * SIDE };

static pada_model_about about;

/* A model of nb201, which is written to `name`. */
static const char *write_model(const char *name)
{
    const char *file = scratch_path(name);

    make_small_about(&about, &small_spaces[0], 1, true);
    about.crops = PADA_CROPS_BORDER;
    pada_engine *e = make_small_engine(&about, 5);
    CHECK_OK(pada_model_write(file, &about, e));
    pada_engine_destroy(e);
    pada_model_about_deinit(&about);
    return file;
}

static void fill_pixels(uint8_t *rgb, int n)
{
    pada_rng rng;

    pada_rng_init(&rng, 1, "pixels", 0);
    for (int i = 0; i < n; i++)
        rgb[i] = (uint8_t)pada_rng_below(&rng, 256);
}

/* What the network makes of a picture, by hand. */
static void expect_probabilities(const uint8_t *rgb, double *p)
{
    static const double mean[] = {0.5, 0.25, 0.125}, deviation[] = {0.25, 0.5, 1};
    float image[PIXELS];
    int32_t label = 0;
    double sum = 0;

    make_small_about(&about, &small_spaces[0], 1, true);
    pada_engine *e = make_small_engine(&about, 5);
    for (int c = 0; c < 3; c++)
        for (int i = 0; i < SIDE * SIDE; i++)
            image[c * SIDE * SIDE + i] = (float)((rgb[3 * i + c] / 255.0 - mean[c]) / deviation[c]);
    const pada_batch batch = {.n = 1, .images = image, .labels = &label};
    CHECK_OK(pada_engine_forward(e, &about.path, &batch, PADA_EVAL));
    pada_engine_logits(e, p);
    for (int k = 0; k < SMALL_CLASSES; k++)
        sum += p[k] = exp(p[k]);
    for (int k = 0; k < SMALL_CLASSES; k++)
        p[k] /= sum;
    pada_engine_destroy(e);
    pada_model_about_deinit(&about);
}

static void a_model_says_what_it_is(void **state)
{
    const char *file = write_model("a.safetensors");
    pada_model *model;

    (void)state;
    assert_ok(pada_model_open(&model, file, NULL));
    assert_int_equal(pada_model_classes(model), SMALL_CLASSES);
    assert_int_equal(pada_model_image_size(model), SIDE);
    assert_string_equal(pada_model_class_name(model, 1), "b");
    assert_null(pada_model_class_name(model, SMALL_CLASSES));
    assert_null(pada_model_class_name(model, -1));
    assert_string_equal(pada_model_space(model), "nb201");
    assert_int_equal(pada_model_arch(model)[0], '|');
    pada_model_close(model);
    pada_model_close(NULL);
    assert_int_equal(pada_model_classes(NULL), 0);
    assert_int_equal(pada_model_image_size(NULL), 0);
    assert_null(pada_model_class_name(NULL, 0));
    assert_null(pada_model_arch(NULL));
    assert_null(pada_model_space(NULL));
}

static void pictures_in_memory_and_in_files_are_the_same(void **state)
{
    static uint8_t rgb[N_PICTURES * PIXELS];
    float all[N_PICTURES * SMALL_CLASSES], one[SMALL_CLASSES], of_file[SMALL_CLASSES];
    double expected[SMALL_CLASSES];
    pada_model *model;

    (void)state;
    fill_pixels(rgb, sizeof rgb);
    /* Two batches and a rest. */
    assert_ok(pada_model_open(&model, write_model("b.safetensors"),
                              &(pada_net_config){.batch_size = 2, .threads = 1}));
    assert_ok(pada_model_predict(model, rgb, N_PICTURES, SIDE, SIDE, all));
    for (int i = 0; i < N_PICTURES; i++) {
        expect_probabilities(rgb + i * PIXELS, expected);
        assert_ok(pada_model_predict(model, rgb + i * PIXELS, 1, SIDE, SIDE, one));
        assert_memory_equal(one, all + i * SMALL_CLASSES, sizeof one);
        for (int k = 0; k < SMALL_CLASSES; k++)
            CHECK_CLOSE(one[k], expected[k], 1e-5);
    }
    /* Of another size, no square. */
    write_png(scratch_path("p.png"), 20, 28, (picture_format){.channels = 3}, rgb);
    assert_ok(pada_model_predict_file(model, scratch_path("p.png"), of_file));
    assert_ok(pada_model_predict(model, rgb, 1, 20, 28, one));
    assert_memory_equal(one, of_file, sizeof one);
    pada_model_close(model);
}

static void networks_are_exported(void **state)
{
    pada_model *model, *again;

    (void)state;
    assert_ok(pada_model_open(&model, write_model("c.safetensors"), NULL));
    assert_ok(pada_model_export(model, "onnx", scratch_path("c.onnx"), NULL));
    assert_true(pada_path_exists(scratch_path("c.onnx")));
    assert_ok(pada_model_export(model, "c", scratch_path("9c.c"),
                                &(pada_export_config){.normalise = 1, .keep_norms = 1}));
    assert_true(pada_path_exists(scratch_path("9c.c")));
    assert_ok(pada_model_export(model, "safetensors", scratch_path("d.safetensors"), NULL));
    assert_ok(pada_model_open(&again, scratch_path("d.safetensors"), NULL));
    assert_string_equal(pada_model_arch(again), pada_model_arch(model));
    pada_model_close(again);
    assert_int_equal(pada_model_export(model, "onyx", scratch_path("x"), NULL), PADA_EINVAL);
    assert_int_equal(
        pada_model_export(model, "c", scratch_path("x"), &(pada_export_config){.name = "1a"}),
        PADA_EINVAL);
    assert_int_equal(pada_model_export(model, "onnx", "/nowhere/x.onnx", NULL), PADA_EIO);
    assert_int_equal(pada_model_export(model, NULL, "x", NULL), PADA_EINVAL);
    assert_int_equal(pada_model_export(NULL, "onnx", "x", NULL), PADA_EINVAL);
    assert_false(pada_path_exists(scratch_path("x")));
    pada_model_close(model);
}

static void models_are_evaluated(void **state)
{
    pada_evaluation found = {.n_images = 7};
    pada_images *images;
    pada_model *model;

    (void)state;
    assert_ok(pada_model_open(&model, write_model("g.safetensors"), NULL));
    assert_ok(pada_images_open(&images, "builtin", PADA_SPLIT_TEST, 0));
    assert_int_equal(pada_model_evaluate(model, images, 3, &found), PADA_EDATA); /* other classes */
    assert_non_null(strstr(pada_message(), "the model"));
    assert_int_equal(pada_model_evaluate(NULL, images, 3, &found), PADA_EINVAL);
    assert_int_equal(pada_model_evaluate(model, NULL, 3, &found), PADA_EINVAL);
    assert_int_equal(pada_model_evaluate(model, images, 3, NULL), PADA_EINVAL);
    assert_int_equal(found.n_images, 7);
    pada_images_close(images);
    pada_model_close(model);
}

static void wrong_uses_are_refused(void **state)
{
    const char *file = write_model("e.safetensors");
    float p[SMALL_CLASSES] = {7};
    const uint8_t rgb[3] = {0};
    pada_model *model;

    (void)state;
    assert_int_equal(pada_model_open(NULL, file, NULL), PADA_EINVAL);
    assert_int_equal(pada_model_open(&model, NULL, NULL), PADA_EINVAL);
    assert_int_equal(pada_model_open(&model, "/nowhere", NULL), PADA_ENOENT);
    assert_null(model);
    scratch_write(scratch_path("no.safetensors"), "no model", 8);
    assert_int_equal(pada_model_open(&model, scratch_path("no.safetensors"), NULL), PADA_EDATA);
    assert_int_equal(pada_model_open(&model, file, &(pada_net_config){.threads = -1}), PADA_EINVAL);
    assert_int_equal(pada_model_open(&model, file, &(pada_net_config){.backend = "null"}),
                     PADA_EINVAL);
    assert_ok(pada_model_open(&model, file, NULL));
    assert_int_equal(pada_model_predict(model, rgb, 0, 1, 1, p), PADA_EINVAL);
    assert_int_equal(pada_model_predict(model, rgb, 1, 0, 1, p), PADA_EINVAL);
    assert_int_equal(pada_model_predict(model, rgb, 1, 1, 1 << 30, p), PADA_EINVAL);
    assert_int_equal(pada_model_predict(model, NULL, 1, 1, 1, p), PADA_EINVAL);
    assert_int_equal(pada_model_predict(NULL, rgb, 1, 1, 1, p), PADA_EINVAL);
    assert_int_equal(pada_model_predict_file(model, "/nowhere.png", p), PADA_ENOENT);
    assert_int_equal(pada_model_predict_file(model, scratch_path("no.safetensors"), p), PADA_EDATA);
    assert_int_equal(pada_model_predict_file(model, NULL, p), PADA_EINVAL);
    assert_true(p[0] == 7);
    assert_ok(pada_model_predict(model, rgb, 1, 1, 1, p));
    pada_model_close(model);
}

static pada_status use_all(const char *file, const uint8_t *rgb)
{
    float p[SMALL_CLASSES];
    pada_model *model;

    PADA_TRY(pada_model_open(&model, file, &(pada_net_config){.batch_size = 1, .threads = 1}));
    pada_status st = pada_model_predict(model, rgb, 1, SIDE, SIDE, p);
    if (st == PADA_OK) st = pada_model_export(model, "onnx", scratch_path("oom.onnx"), NULL);
    pada_model_close(model);
    return st;
}

static void every_allocation_may_fail(void **state)
{
    const char *file = write_model("oom.safetensors");
    static uint8_t rgb[PIXELS];

    (void)state;
    assert_ok(use_all(file, rgb)); /* what is made once, is made */
    assert_survives_oom(use_all(file, rgb), (void)0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_says_what_it_is),
        cmocka_unit_test(pictures_in_memory_and_in_files_are_the_same),
        cmocka_unit_test(networks_are_exported),
        cmocka_unit_test(models_are_evaluated),
        cmocka_unit_test(wrong_uses_are_refused),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
