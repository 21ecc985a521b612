/* test_export_c.c - networks exported to C, compiled without warnings, compute what the engine does. */
#include "model/export_compare.h"

enum { N_NETWORKS = 3, N_LOGITS = SMALL_BATCH * SMALL_CLASSES };

static const pada_net_options folded = {.fold_norms = true}, plain = {.fold_norms = false};

static void export_c(const pada_model_about *about, const pada_engine *e,
                     const pada_net_options *options, const char *weights_file)
{
    const pada_export *format;
    pada_net_list net;

    CHECK_OK(pada_export_find(&format, "c"));
    CHECK_OK(pada_net_list_init(&net, about, e, options));
    CHECK_OK(format->write(&(pada_export_desc){.about = about,
                                               .engine = e,
                                               .net = &net,
                                               .normalises = options->normalise,
                                               .file = scratch_path("net.c"),
                                               .weights_file = weights_file,
                                               .name = "net"}));
    pada_net_list_deinit(&net);
}

/* Compiles what was exported and runs it on the batch of small_logits. */
static void run_c(const char *compiler, const float *images, const char *weights_file,
                  double *logits)
{
    static int n_libraries;
    float floats[N_LOGITS];
    char name[32];

    snprintf(name, sizeof name, "net%d.so", n_libraries++); /* libraries are kept by name */
    void *library = compile_and_open(compiler, scratch_path(name));
    predict_function *predict = (predict_function *)dlsym(library, "net_predict");
    assert_non_null(predict);
    if (weights_file) {
        load_function *load = (load_function *)dlsym(library, "net_load");
        assert_non_null(load);
        assert_int_equal(predict(images, 1, floats), -1);
        assert_int_equal(load(scratch_path("nowhere")), -1);
        assert_int_equal(load(weights_file), 0);
    }
    assert_int_equal(predict(images, SMALL_BATCH, floats), 0);
    for (int i = 0; i < N_LOGITS; i++)
        logits[i] = floats[i];
    dlclose(library);
}

static void check(const pada_model_about *about, const pada_net_options *options,
                  const char *compiler, const char *weights_file)
{
    double want[N_LOGITS], have[N_LOGITS];
    pada_engine *e = make_small_engine(about, 5);

    export_c(about, e, options, weights_file);
    small_logits(e, about, want);
    const pada_batch batch = small_batch(about->space.config.image_size, SMALL_BATCH, 3);
    run_c(compiler, batch.images, weights_file, have);
    const double error = relative_error(have, want, N_LOGITS);
    if (!(error < 1e-4)) fail_msg("%s: apart by %g", about->space.ops->name, error);
    pada_engine_destroy(e);
}

static const char *weights_path(void)
{
    static char file[1200];

    snprintf(file, sizeof file, "%s", scratch_path("net.bin"));
    return file;
}

static void every_space_computes_the_same(void **state)
{
    (void)state;
    for (int i = 0; i < N_SMALL_SPACES; i++)
        for (int k = 0; k < N_NETWORKS; k++) {
            pada_model_about about;
            make_small_about(&about, &small_spaces[i], k, k % 2 == 0);
            check(&about, k == 1 ? &plain : &folded, "cc", weights_path());
            pada_model_about_deinit(&about);
        }
}

/* Nothing flows from the images to the logits, or nothing but shifts. */
static void dead_networks_are_constants(void **state)
{
    static const pada_path dead = {{0, 0, 0, 0, 0, 0}}, shifts = {{0, 3, 3, 1, 2, 1}};

    (void)state;
    for (int i = 0; i < 4; i++) {
        pada_model_about about;
        make_small_about(&about, &small_spaces[0], 0, false);
        about.path = i < 2 ? dead : shifts;
        const pada_space space = about.space;
        if (i % 2 == 0) pada_space_finalise(&about.space, &space, &about.path);
        check(&about, &folded, "cc", NULL);
        pada_model_about_deinit(&about);
    }
}

/* Takes pixels / 255 and gives what the engine gives for (pixels / 255 - mean) / deviation. */
static void networks_can_normalise(void **state)
{
    const pada_net_options options = {.fold_norms = true, .normalise = true};
    double want[N_LOGITS], have[N_LOGITS];
    pada_model_about about;

    (void)state;
    make_small_about(&about, &small_spaces[0], 2, true);
    pada_engine *e = make_small_engine(&about, 5);
    small_logits(e, &about, want);
    export_c(&about, e, &options, NULL);
    const int side = about.space.config.image_size;
    float *images = (float *)small_batch(side, SMALL_BATCH, 3).images;
    for (int i = 0; i < SMALL_BATCH * 3 * side * side; i++) {
        const int c = i / (side * side) % 3;
        images[i] = (float)(images[i] * about.card.deviation[c] + about.card.mean[c]);
    }
    run_c("cc", images, NULL, have);
    assert_true(relative_error(have, want, N_LOGITS) < 1e-4);
    pada_engine_destroy(e);
    pada_model_about_deinit(&about);
}

static void clang_takes_it_too(void **state)
{
    pada_model_about about;

    (void)state;
    if (system("clang --version > /dev/null 2>&1") != 0) skip();
    make_small_about(&about, &small_spaces[3], 1, true);
    check(&about, &folded, "clang", weights_path());
    pada_model_about_deinit(&about);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_space_computes_the_same),
        cmocka_unit_test(dead_networks_are_constants),
        cmocka_unit_test(networks_can_normalise),
        cmocka_unit_test(clang_takes_it_too),
    };

    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
