/* test_run_folder.c - the papers of a run, the newest checkpoint that can be read, and what a run has
 * cost. */
#include "base/scratch.h"

#include <math.h>

#include "base/room.h"
#include "tensor/state.h"
#include "train/checkpoint.h"
#include "train/run_config.h"
#include "train/run_cost.h"
#include "train/run_starts.h"

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

    assert_ok(pada_checkpoint_newest(scratch_dir, &path, NULL));
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
    assert_int_equal(pada_checkpoint_newest(scratch_dir, &path, NULL), PADA_EDATA);
    assert_non_null(strstr(pada_message(), "00000001.safetensors"));
    assert_int_equal(path.length, 0);
}

/* Whoever reads is told about each that was passed over. */
static void test_damage_is_told(void **state)
{
    pada_text path = {0}, notes = {0};

    (void)state;
    write_checkpoint("00000002.safetensors");
    assert_ok(pada_checkpoint_newest(scratch_dir, &path, &notes));
    assert_int_equal(notes.length, 0);
    pada_text_deinit(&path);
    scratch_write(scratch_path("ckpt/00000003.safetensors"), "", 0);
    scratch_write(scratch_path("ckpt/00000004.safetensors"), "garbage garbage", 15);
    assert_ok(pada_checkpoint_newest(scratch_dir, &path, &notes));
    const char *second = strchr(notes.data, '\n') + 1;
    assert_non_null(strstr(notes.data, "00000004.safetensors: "));
    assert_non_null(strstr(second, "00000003.safetensors: "));
    assert_non_null(strstr(second, "; the checkpoint before it is used\n"));
    pada_text_deinit(&path);
    pada_text_deinit(&notes);
}

/* Two are kept while a third is written. */
static void test_room_for_checkpoints(void **state)
{
    pada_state *content;
    int64_t first, second, third, fourth;
    float values[1000] = {0};

    (void)state;
    assert_ok(pada_state_create(&content));
    pada_state_tensor(content, "w", PADA_STATE_F32, (const int[]){1000}, 1, values);
    assert_ok(pada_checkpoint_room(scratch_dir, 0, 0, content, &first));
    write_checkpoint("00000001.safetensors");
    assert_ok(pada_checkpoint_room(scratch_dir, 0, 0, content, &second));
    write_checkpoint("00000002.safetensors");
    assert_ok(pada_checkpoint_room(scratch_dir, 0, 0, content, &third));
    write_checkpoint("00000003.safetensors");
    assert_ok(pada_checkpoint_room(scratch_dir, 0, 0, content, &fourth));
    assert_true(third >= 4000 && third < 20000);
    assert_true(first == 3 * third && second == 2 * third && fourth == third);
    pada_state_destroy(content);
}

static void test_room_is_held(void **state)
{
    pada_room room = {0};

    (void)state;
    assert_ok(pada_room_hold(&room, scratch_dir, 0));
    assert_int_equal(room.fd, 0);
    assert_ok(pada_room_hold(&room, scratch_dir, 100000));
    assert_int_not_equal(room.fd, 0);
    assert_int_equal(lseek(room.fd - 1, 0, SEEK_END), 100000);
    assert_int_equal(scratch_count(), 0); /* it has no name */
    pada_room_release(&room);
    pada_room_release(&room);
    /* No file is that large. */
    assert_int_equal(pada_room_hold(&room, scratch_dir, INT64_MAX), PADA_EIO);
    assert_non_null(strstr(pada_message(), ": no room for 9223372036854775807 bytes: "));
    assert_int_equal(room.fd, 0);
    assert_int_equal(scratch_count(), 0);
}

static pada_status store(const char *config, const char *start)
{
    return pada_run_store(scratch_dir, &(pada_run_papers){.config = config, .start = start});
}

/* How many starts env.json has, and the backend of the last one. */
static void assert_starts(size_t n, const char *backend)
{
    json_t *starts;

    assert_ok(pada_run_starts_open(&starts, scratch_path("env.json")));
    assert_int_equal(json_array_size(starts), n);
    const json_t *last = json_array_get(starts, n - 1);
    assert_string_equal(json_string_value(json_object_get(last, "backend")), backend);
    json_decref(starts);
}

static void test_starts_are_kept(void **state)
{
    (void)state;
    assert_ok(store("backend: auto\n", "{\"backend\": \"cpu\"}"));
    assert_starts(1, "cpu");
    assert_ok(store("backend: auto\n", "{\"backend\": \"cpu\"}"));
    /* Instruction sets give the same bits; whatever the option was called. */
    assert_ok(store("backend: cpu-avx2\n", "{\"backend\": \"cpu-avx2\"}"));
    assert_starts(3, "cpu-avx2");
    assert_int_equal(store("backend: auto\n", "{\"backend\": \"cuda\"}"), PADA_EINVAL);
    assert_non_null(strstr(pada_message(),
                           "computed by the backend cpu and cannot resume with cuda, "
                           "whose bits differ; give --backend cpu"));
    assert_starts(3, "cpu-avx2"); /* nothing was written */
}

static void test_precision_is_kept(void **state)
{
    (void)state;
    assert_ok(store(NULL, "{\"backend\": \"cuda-fp32\"}"));
    assert_int_equal(store(NULL, "{\"backend\": \"cuda\"}"), PADA_EINVAL);
    assert_ok(store(NULL, "{\"backend\": \"cuda-fp32\"}"));
}

/* pada 0.1 kept the newest start alone, with the instruction set for a backend. */
static void test_old_starts(void **state)
{
    static const char old[] = "{\"pada\": \"0.1.0\", \"backend\": \"avx2, 2 threads\"}\n";
    json_t *starts;

    (void)state;
    scratch_write(scratch_path("config.yaml"), "backend: auto\n", 14);
    scratch_write(scratch_path("env.json"), old, strlen(old));
    assert_int_equal(store("backend: ref\n", "{\"backend\": \"ref\"}"), PADA_EINVAL);
    assert_ok(store("backend: auto\n", "{\"backend\": \"cpu\"}"));
    assert_starts(2, "cpu");
    assert_ok(pada_run_starts_open(&starts, scratch_path("env.json")));
    const json_t *first = json_array_get(starts, 0);
    assert_string_equal(json_string_value(json_object_get(first, "device")), "avx2, 2 threads");
    assert_null(json_object_get(first, "backend"));
    json_decref(starts);
}

static void test_bad_starts(void **state)
{
    static const char *const bad[] = {"[]",
                                      "{\"format\": 1}",
                                      "{\"format\": 0, \"starts\": []}",
                                      "{\"starts\": []}",
                                      "{\"format\": 1, \"starts\": {}}",
                                      "",
                                      "{"};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        scratch_write(scratch_path("env.json"), bad[i], strlen(bad[i]));
        assert_int_equal(store(NULL, "{\"backend\": \"cpu\"}"), PADA_EDATA);
        assert_non_null(strstr(pada_message(), "/env.json"));
    }
    scratch_write(scratch_path("env.json"), "{\"format\": 2}", 13);
    assert_int_equal(store(NULL, "{\"backend\": \"cpu\"}"), PADA_EDATA);
    assert_non_null(strstr(pada_message(), "format 2 is of a newer pada; this one knows 1"));
}

static void test_foreign_folders(void **state)
{
    (void)state;
    assert_ok(pada_run_check_folder(scratch_path("none"), NULL));
    assert_ok(pada_run_check_folder(scratch_dir, NULL));
    scratch_write(scratch_path(".hidden"), "", 0);
    scratch_write(scratch_path("config.yaml.tmp.77"), "", 0);
    assert_ok(pada_run_check_folder(scratch_dir, NULL));
    scratch_write(scratch_path("config.yml"), "", 0);
    assert_int_equal(pada_run_check_folder(scratch_dir, NULL), PADA_EINVAL);
    assert_non_null(strstr(pada_message(), ": no run folder, and not empty: it has 'config.yml'"));
    scratch_write(scratch_path("config.yaml"), "", 0);
    assert_ok(pada_run_check_folder(scratch_dir, NULL));
}

static void test_orphans(void **state)
{
    static const char *const stay[] = {"a.tmp.", "b.tmp.12x", "c.tmp", "d.tmp.0", "999999999"};
    char mine[40];

    (void)state;
    snprintf(mine, sizeof mine, "x.tmp.%d", (int)getpid());
    scratch_write(scratch_path(mine), "", 0);
    for (size_t i = 0; i < sizeof stay / sizeof stay[0]; i++)
        scratch_write(scratch_path(stay[i]), "", 0);
    scratch_write(scratch_path("y.tmp.999999999"), "", 0); /* there is no such process */
    scratch_write(scratch_path("z.tmp.1.tmp.999999998"), "", 0);
    assert_int_equal(scratch_count(), 8);
    pada_remove_orphans(scratch_dir);
    assert_int_equal(scratch_count(), 6);
    assert_true(pada_path_exists(scratch_path(mine)));
    pada_remove_orphans(scratch_path("none"));
}

static void test_nothing_there(void **state)
{
    pada_text path = {0};

    (void)state;
    assert_int_equal(pada_checkpoint_newest(scratch_path("none"), &path, NULL), PADA_ENOENT);
    assert_non_null(strstr(pada_message(), "/none: no checkpoint in this folder"));
    assert_int_equal(pada_checkpoint_newest(scratch_dir, &path, NULL), PADA_ENOENT);
    assert_ok(pada_make_dirs(scratch_path("ckpt")));
    assert_int_equal(pada_checkpoint_newest(scratch_dir, &path, NULL), PADA_ENOENT);
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
    assert_non_null(strstr(pada_message(), "metrics.csv:2: gmacs is not a number"));
    assert_int_equal(read_cost("seconds,steps\n1,x\n", &found, &cost), PADA_EDATA);
    assert_non_null(strstr(pada_message(), "metrics.csv:2: steps is not a number"));
    assert_int_equal(read_cost("", &found, &cost), PADA_EDATA);
    assert_int_equal(read_cost("epoch,loss\n1,2\n", &found, &cost), PADA_EDATA);
    assert_int_equal(read_cost("epoch,seconds\n1,2\n2\n", &found, &cost), PADA_EDATA);
    assert_int_equal(read_cost("epoch,seconds\n1,nan\n", &found, &cost), PADA_EDATA);
    assert_non_null(strstr(pada_message(), "metrics.csv:2: seconds is not a number"));
    assert_false(found);
}

static pada_status newest_afresh(void)
{
    pada_text path = {0};
    const pada_status st = pada_checkpoint_newest(scratch_dir, &path, NULL);

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
    assert_survives_oom(store("lr: 1\n", "{\"backend\": \"cpu\"}"), (void)0);
    assert_survives_oom(pada_run_check_folder(scratch_dir, NULL), (void)0);
    scratch_write(scratch_path("metrics.csv"), "seconds\n1\n", 10);
    assert_survives_oom(pada_run_cost_read(scratch_dir, &found, &cost), (void)0);
}

int main(void)
{
#define unit(f) cmocka_unit_test_setup(f, scratch_clear)
    const struct CMUnitTest tests[] = {
        unit(test_highest_number),
        unit(test_damaged_ones),
        unit(test_damage_is_told),
        unit(test_nothing_there),
        unit(test_room_for_checkpoints),
        unit(test_room_is_held),
        unit(test_starts_are_kept),
        unit(test_precision_is_kept),
        unit(test_old_starts),
        unit(test_bad_starts),
        unit(test_foreign_folders),
        unit(test_orphans),
        unit(test_cost),
        unit(test_oom),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
