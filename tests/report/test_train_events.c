/* test_train_events.c - an epoch as events: tags, the likeliest path, and no memory at any place. What
 * TensorBoard makes of it is looked at by tests/cli/test_events.sh. */
#include <math.h>

#include "base/scratch.h"
#include "report/train_events.h"

enum { N_IMAGES = 100 };

static pada_space space;
static pada_path_sampler sampler;
static double images[N_IMAGES];

static int setup(void **state)
{
    const pada_space_ops *ops;

    if (pada_space_find(&ops, "nb201") != PADA_OK) return -1;
    if (pada_space_init(&space, ops, &(pada_space_config){0}) != PADA_OK) return -1;
    for (int i = 0; i < N_IMAGES; i++)
        images[i] = 1.0 / N_IMAGES;
    return scratch_setup(state);
}

/* Ten epochs are enough for a drawing. */
static pada_status tell(bool is_uniform)
{
    pada_train_events events = {0};
    pada_epoch_metrics metrics = {0};
    pada_status st;

    pada_path_sampler_init(&sampler, &space);
    if (!is_uniform) sampler.p[2][3] = 0.6;
    pada_epoch_metrics_add(&metrics, 9, "epoch");
    pada_epoch_metrics_add(&metrics, 1.5, "loss");
    pada_epoch_metrics_add(&metrics, NAN, "val_loss");
    pada_epoch_metrics_add(&metrics, 0.2, "p_none");
    pada_epoch_metrics_add(&metrics, 7, "images");
    pada_train_events_distributions(&events, &(pada_distributions){&sampler, images}, N_IMAGES);
    st = pada_train_events_epoch(&events, scratch_dir, &metrics);
    pada_train_events_deinit(&events);
    return st;
}

static bool file_has(const char *text)
{
    DIR *dir = opendir(scratch_dir);
    pada_file file = {0};
    bool found = false;

    assert_non_null(dir);
    for (const struct dirent *e; (e = readdir(dir)) != NULL;)
        if (strncmp(e->d_name, "events", 6) == 0)
            assert_ok(pada_file_open(&file, scratch_path(e->d_name)));
    closedir(dir);
    for (size_t i = 0; i + strlen(text) <= file.bytes && !found; i++)
        found = memcmp(file.data + i, text, strlen(text)) == 0;
    pada_file_close(&file);
    return found;
}

static void test_tags(void **state)
{
    (void)state;
    assert_ok(tell(true));
    assert_true(file_has("training/loss"));
    assert_true(file_has("paths/p_none"));
    assert_true(file_has("cost/images"));
    assert_true(file_has("paths/probability"));
    assert_true(file_has("images/weight"));
    assert_false(file_has("val_loss")); /* not a number */
    assert_false(file_has("epoch"));
    assert_false(file_has("paths/likeliest"));
    assert_ok(tell(false));
    assert_true(file_has("paths/likeliest"));
    assert_true(file_has("nor_conv_3x3(node 1)")); /* as text */
}

static void test_out_of_memory(void **state)
{
    (void)state;
    assert_survives_oom(tell(false), );
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_tags, scratch_clear),
        cmocka_unit_test_setup(test_out_of_memory, scratch_clear),
    };

    return cmocka_run_group_tests(tests, setup, scratch_teardown);
}
