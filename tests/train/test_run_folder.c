/* test_run_folder.c - the newest checkpoint that can be read, and what a run has cost. */
#include "base/scratch.h"

#include <math.h>

#include "tensor/state.h"
#include "train/checkpoint.h"
#include "train/run_cost.h"

static void write_checkpoint(const char *name)
{
    float value = 1;
    pada_state *content;
    char path[600];

    snprintf(path, sizeof path, "ckpt/%s", name);
    assert_ok(pada_make_dirs(scratch_path("ckpt")));
    assert_ok(pada_state_create(&content));
    pada_state_tensor(content, "w", PADA_STATE_F32, (const int[]){1}, 1, &value);
    assert_ok(pada_state_write(content, scratch_path(path)));
    pada_state_destroy(content);
}

static void assert_newest(const char *name)
{
    char expected[1200];
    pada_text path = {0};

    assert_ok(pada_checkpoint_newest(scratch_dir, &path));
    snprintf(expected, sizeof expected, "%s/ckpt/%s", scratch_dir, name);
    assert_string_equal(pada_text_str(&path), expected);
    pada_text_deinit(&path);
}

static void test_highest_number(void **state)
{
    (void)state;
    write_checkpoint("00000009.safetensors");
    assert_newest("00000009.safetensors");
    write_checkpoint("00000100.safetensors");
    write_checkpoint("00000020.safetensors");
    assert_newest("00000100.safetensors");
    write_checkpoint("99999999.safetensors");
    write_checkpoint("123456789.safetensors"); /* longer than eight digits */
    assert_newest("123456789.safetensors");
    /* Files of other names do not count. */
    write_checkpoint("999999999.safetensors.tmp.17");
    write_checkpoint("best.safetensors");
    write_checkpoint("9999999999x.safetensors");
    write_checkpoint(".safetensors");
    assert_newest("123456789.safetensors");
}

static void test_damaged_ones(void **state)
{
    pada_text path = {0};

    (void)state;
    write_checkpoint("00000001.safetensors");
    write_checkpoint("00000002.safetensors");
    scratch_write(scratch_path("ckpt/00000003.safetensors"), "", 0);
    scratch_write(scratch_path("ckpt/00000004.safetensors"), "garbage garbage", 15);
    assert_newest("00000002.safetensors");
    scratch_write(scratch_path("ckpt/00000001.safetensors"), "x", 1);
    scratch_write(scratch_path("ckpt/00000002.safetensors"), "x", 1);
    assert_int_equal(pada_checkpoint_newest(scratch_dir, &path), PADA_EDATA);
    assert_non_null(strstr(pada_message(), "00000001.safetensors"));
    assert_int_equal(path.length, 0);
}

static void test_nothing_there(void **state)
{
    pada_text path = {0};

    (void)state;
    assert_int_equal(pada_checkpoint_newest(scratch_path("none"), &path), PADA_ENOENT);
    assert_non_null(strstr(pada_message(), "/none: no checkpoint in this folder"));
    assert_int_equal(pada_checkpoint_newest(scratch_dir, &path), PADA_ENOENT);
    assert_ok(pada_make_dirs(scratch_path("ckpt")));
    assert_int_equal(pada_checkpoint_newest(scratch_dir, &path), PADA_ENOENT);
    assert_non_null(strstr(pada_message(), ": no checkpoint in this folder"));
    pada_text_deinit(&path);
}

static pada_status read_cost(const char *text, bool *found, pada_run_cost *cost)
{
    scratch_write(scratch_path("metrics.csv"), text, strlen(text));
    return pada_run_cost_read(scratch_dir, found, cost);
}

static void test_cost(void **state)
{
    pada_run_cost cost;
    bool found;

    (void)state;
    assert_ok(pada_run_cost_read(scratch_dir, &found, &cost));
    assert_false(found);
    assert_ok(read_cost("epoch,seconds,loss\n1,2.5,nan\n2,3,1.5\n3,0.25,x\n", &found, &cost));
    assert_true(found);
    assert_int_equal(cost.epochs, 3);
    assert_true(cost.seconds == 5.75);
    assert_true(isnan(cost.passes) && isnan(cost.images) && isnan(cost.gmacs));
    /* Rows without steps of the optimiser cost time and are no epochs. */
    assert_ok(read_cost("epoch,steps,seconds\n0,8,1\n1,8,2\n2,16,4\n3,24,8\n", &found, &cost));
    assert_int_equal(cost.epochs, 3);
    assert_true(cost.seconds == 15);
    assert_ok(
        read_cost("gmacs,seconds,x,images,passes\n0.5,1,,256,1\n0.25,1,,512,2\n", &found, &cost));
    assert_true(cost.gmacs == 0.75 && cost.images == 768 && cost.passes == 3);
    assert_int_equal(read_cost("seconds,gmacs\n1,\n", &found, &cost), PADA_EDATA);
    assert_non_null(strstr(pada_message(), "metrics.csv:2: gmacs: ''"));
    assert_int_equal(read_cost("seconds,steps\n1,x\n", &found, &cost), PADA_EDATA);
    assert_non_null(strstr(pada_message(), "metrics.csv:2: steps: 'x'"));
    assert_int_equal(read_cost("", &found, &cost), PADA_EDATA);
    assert_int_equal(read_cost("epoch,loss\n1,2\n", &found, &cost), PADA_EDATA);
    assert_int_equal(read_cost("epoch,seconds\n1,2\n2\n", &found, &cost), PADA_EDATA);
    assert_int_equal(read_cost("epoch,seconds\n1,nan\n", &found, &cost), PADA_EDATA);
    assert_non_null(strstr(pada_message(), "metrics.csv:2: seconds: 'nan'"));
    assert_false(found);
}

static pada_status newest_afresh(void)
{
    pada_text path = {0};
    const pada_status st = pada_checkpoint_newest(scratch_dir, &path);

    /* Not an older one because there was no memory for the newest. */
    if (st == PADA_OK) assert_non_null(strstr(pada_text_str(&path), "00000002"));
    pada_text_deinit(&path);
    return st;
}

static void test_oom(void **state)
{
    pada_run_cost cost;
    bool found;

    (void)state;
    write_checkpoint("00000001.safetensors");
    write_checkpoint("00000002.safetensors");
    assert_survives_oom(newest_afresh(), (void)0);
    scratch_write(scratch_path("metrics.csv"), "seconds\n1\n", 10);
    assert_survives_oom(pada_run_cost_read(scratch_dir, &found, &cost), (void)0);
}

int main(void)
{
#define unit(f) cmocka_unit_test_setup(f, scratch_clear)
    const struct CMUnitTest tests[] = {
        unit(test_highest_number), unit(test_damaged_ones), unit(test_nothing_there),
        unit(test_cost),           unit(test_oom),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
