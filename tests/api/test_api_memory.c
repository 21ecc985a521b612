/* test_api_memory.c - include/pada.h when memory runs out: a status, no handle, nothing lost. */
#include "base/scratch.h"
#include "pada.h"

enum { N_IMAGES = 8, MAX_TRIES = 2000 };

/* What a run folder says. */
static pada_status use_run(const char *run)
{
    pada_space *space = NULL;
    pada_images *images = NULL;

    pada_status st = pada_run_space(&space, run);
    if (st == PADA_OK) st = pada_run_images(&images, run, NULL);
    pada_images_close(images);
    pada_space_close(space);
    return st;
}

/* What a program does from the first call to the last; *pixels and *logits are large enough. */
static pada_status use_all(float *pixels, float *logits)
{
    pada_space_config sizes = {.channels = 4, .cells = 1};
    const pada_path path = {{3, 1, 4, 1, 2, 3}};
    pada_images *images = NULL;
    pada_space *space = NULL;
    pada_net *net = NULL;
    pada_evaluation result;
    int32_t labels[N_IMAGES];
    char text[4096];
    pada_status st;

    if ((st = pada_images_open(&images, "builtin", PADA_SPLIT_TEST, 0)) != PADA_OK) goto out;
    sizes.classes = pada_images_classes(images);
    sizes.image_size = pada_images_size(images);
    if ((st = pada_space_open(&space, "nb201", &sizes)) != PADA_OK) goto out;
    if ((st = pada_path_format(space, &path, NULL, text, sizeof text)) != PADA_OK) goto out;
    if ((st = pada_space_options(space, text, sizeof text)) != PADA_OK) goto out;
    if ((st = pada_path_drawing(space, &path, "svg", text, sizeof text, NULL)) != PADA_OK) goto out;
    st = pada_net_create(&net, space, &(pada_net_config){.batch_size = N_IMAGES, .threads = 1});
    if (st != PADA_OK) goto out;
    if ((st = pada_net_evaluate(net, &path, images, N_IMAGES, &result)) != PADA_OK) goto out;
    if ((st = pada_images_read(images, 0, N_IMAGES, pixels, labels)) != PADA_OK) goto out;
    if ((st = pada_net_predict(net, &path, pixels, N_IMAGES, logits)) != PADA_OK) goto out;
    st = use_run(scratch_path(""));
out:
    pada_net_destroy(net);
    pada_space_close(space);
    pada_images_close(images);
    return st;
}

static void every_allocation_may_fail(void **state)
{
    static const char config[] = "space: nb201\nchannels: 4\ncells: 1\ndata: builtin\n";
    float *pixels = calloc(N_IMAGES * 3 * 64 * 64, sizeof *pixels);
    float *logits = calloc(N_IMAGES * 100, sizeof *logits);
    int n = 0;

    (void)state;
    assert_true(pixels && logits);
    scratch_write(scratch_path("config.yaml"), config, sizeof config - 1);
    assert_int_equal(use_all(pixels, logits), PADA_OK);
    const int64_t live = pada_mem_live();
    for (;; n++) {
        assert_true(n < MAX_TRIES);
        pada_mem_fail_after(n);
        const pada_status st = use_all(pixels, logits);
        pada_mem_fail_after(-1);
        assert_int_equal(pada_mem_live(), live);
        if (st == PADA_OK) break;
        assert_int_equal(st, PADA_ENOMEM);
    }
    assert_true(n > 10);
    free(pixels);
    free(logits);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_allocation_may_fail)};
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
