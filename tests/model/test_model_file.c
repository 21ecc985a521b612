/* test_model_file.c - what is written is what is read: the same network, the same numbers. */
#include <stdlib.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/scratch.h"
#include "model/small_models.h"

static const char *model_path(void)
{
    return scratch_path("model.safetensors");
}

static pada_engine *load(const pada_model_about *about)
{
    const pada_backend *backend;
    pada_engine *e;

    CHECK_OK(pada_backend_find(&backend, "cpu"));
    CHECK_OK(pada_model_load(
        &e, about,
        &(pada_engine_desc){.backend = backend, .n_threads = 1, .batch_size = SMALL_BATCH},
        model_path()));
    return e;
}

static void check_round_trip(const small_space *small, int i, bool is_final)
{
    double want[SMALL_BATCH * SMALL_CLASSES], have[SMALL_BATCH * SMALL_CLASSES];
    pada_model_about about, again;

    make_small_about(&about, small, i, is_final);
    pada_engine *e = make_small_engine(&about, 5);
    small_logits(e, &about, want);
    CHECK_OK(pada_model_write(model_path(), &about, e));
    pada_engine_destroy(e);

    CHECK_OK(pada_model_read(&again, model_path()));
    assert_true(again.space.ops == about.space.ops && again.space.is_final == is_final);
    assert_memory_equal(&again.space.settings, &about.space.settings, sizeof again.space.settings);
    assert_true(pada_path_equal(&again.space, &again.path, &about.path));
    assert_true(again.eval_crop == 0.75 && again.top1 == 62.5 && again.card.mean[1] == 0.25);
    assert_string_equal(pada_data_card_class(&again.card, 6), "g \"h\"");
    assert_string_equal(again.program, "pada test");
    e = load(&again);
    small_logits(e, &again, have);
    /* statistics went through float32 */
    assert_true(relative_error(have, want, SMALL_BATCH * SMALL_CLASSES) < 1e-5);
    pada_engine_destroy(e);
    pada_model_about_deinit(&again);
    pada_model_about_deinit(&about);
}

static void every_space_comes_back(void **state)
{
    (void)state;
    for (int i = 0; i < 2 * N_SMALL_SPACES; i++)
        check_round_trip(&small_spaces[i / 2], i, i % 2 == 0);
}

/* A network of a supernet is smaller than the supernet. */
static void others_weights_are_left_out(void **state)
{
    pada_model_about about;
    pada_safetensors *file;

    (void)state;
    make_small_about(&about, &small_spaces[0], 1, false);
    pada_engine *e = make_small_engine(&about, 5);
    CHECK_OK(pada_model_write(model_path(), &about, e));
    CHECK_OK(pada_safetensors_open(&file, model_path()));
    const pada_params *params = pada_engine_params(e);
    for (int i = 0; i < pada_params_count(params); i++) {
        const pada_param *p = pada_params_get(params, i);
        const bool is_used =
            p->site == PADA_SHARED || pada_path_uses(&about.space, &about.path, p->site, p->choice);
        assert_int_equal(pada_safetensors_find(file, p->name) != NULL, is_used);
    }
    pada_safetensors_close(file);
    pada_engine_destroy(e);
    pada_model_about_deinit(&about);
}

/* Fresh weights that nothing was collected for are no model. */
static void statistics_are_needed(void **state)
{
    pada_model_about about;
    const pada_backend *backend;
    pada_engine *e;

    (void)state;
    make_small_about(&about, &small_spaces[0], 1, true);
    CHECK_OK(pada_backend_find(&backend, "cpu"));
    CHECK_OK(pada_engine_create(
        &e, &(pada_engine_desc){.space = &about.space, .backend = backend, .batch_size = 1}));
    CHECK_OK(pada_engine_init_weights(e, 5));
    assert_int_equal(pada_model_write(scratch_path("none"), &about, e), PADA_EINVAL);
    assert_false(pada_path_exists(scratch_path("none")));
    pada_engine_destroy(e);
    pada_model_about_deinit(&about);
}

/* Metadata of a good file, one pair of which is replaced; NULL: left out. */
static void check_refused(const char *key, const char *value)
{
    static const char *const good[][2] = {
        {"pada_model", "1"},
        {"form", "search"},
        {"space", "--space macro --classes 7 --image-size 16"},
        {"arch", "01201201"},
        {"data",
         "{\"format\": 1, \"name\": \"x\", \"n_classes\": 7, \"classes\": null, \"image_size\": 16, "
         "\"mean\": [0,0,0], \"deviation\": [1,1,1], \"splits\": {}}"},
        {"resize", "pad"},
        {"crops", "border"},
        {"eval_crop", "0.5"}};
    enum { N = sizeof good / sizeof good[0] };
    const char *pairs[N][2];
    pada_model_about about;
    int n = 0;

    for (int i = 0; i < N; i++) {
        const bool is_it = key && strcmp(good[i][0], key) == 0;
        if (is_it && !value) continue;
        pairs[n][0] = good[i][0];
        pairs[n++][1] = is_it ? value : good[i][1];
    }
    const float one = 1;
    const pada_st_tensor tensor = {
        .name = "x", .dtype = "F32", .n_dims = 1, .dims = {1}, .data = &one, .bytes = 4};
    CHECK_OK(pada_safetensors_write(model_path(), &tensor, 1, (const char *const(*)[2])pairs, n));
    assert_int_equal(pada_model_read(&about, model_path()), key ? PADA_EDATA : PADA_OK);
    if (key) assert_non_null(strstr(pada_message(), model_path()));
    pada_model_about_deinit(&about);
}

static void wrong_metadata_are_refused(void **state)
{
    (void)state;
    check_refused(NULL, NULL);
    for (int i = 0; i < 8; i++) {
        static const char *const keys[] = {"pada_model", "form",   "space", "arch",
                                           "data",       "resize", "crops", "eval_crop"};
        check_refused(keys[i], NULL);
        check_refused(keys[i], "");
        check_refused(keys[i], "2");
    }
    check_refused("space", "--space macro --classes 8 --image-size 16");
    check_refused("space", "--space nowhere");
    check_refused("space", "--space macro --classes 7 --image-size 16 word");
    check_refused("arch", "0120120");
    check_refused("form", "finale");
}

static void models_are_found(void **state)
{
    pada_text file = {0};

    (void)state;
    CHECK_OK(pada_make_dirs(scratch_path("run")));
    assert_int_equal(pada_model_find(&file, scratch_path("run")), PADA_ENOENT);
    assert_int_equal(pada_model_find(&file, scratch_path("nothing")), PADA_ENOENT);
    CHECK_OK(pada_file_replace(scratch_path("run/last.safetensors"), "x", 1));
    CHECK_OK(pada_model_find(&file, scratch_path("run")));
    assert_string_equal(file.data, scratch_path("run/last.safetensors"));
    pada_text_deinit(&file);
    CHECK_OK(pada_file_replace(scratch_path("run/best.safetensors"), "x", 1));
    CHECK_OK(pada_model_find(&file, scratch_path("run")));
    assert_string_equal(file.data, scratch_path("run/best.safetensors"));
    pada_text_deinit(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_space_comes_back), cmocka_unit_test(others_weights_are_left_out),
        cmocka_unit_test(statistics_are_needed),  cmocka_unit_test(wrong_metadata_are_refused),
        cmocka_unit_test(models_are_found),
    };

    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
