/* test_event_file.c - event files that are torn at any byte, continued, damaged, or somebody else's. */
#include "base/scratch.h"
#include "report/event_file.h"

/* The only event file of the folder. */
static const char *event_path(void)
{
    DIR *dir = opendir(scratch_dir);
    const char *path = NULL;

    assert_non_null(dir);
    for (const struct dirent *e; (e = readdir(dir)) != NULL;)
        if (e->d_name[0] != '.') path = scratch_path(e->d_name);
    closedir(dir);
    return path;
}

static pada_status append(int first, int last)
{
    pada_event_file *file;
    pada_status st = pada_event_file_open(&file, scratch_dir);

    for (int step = first; step <= last && st == PADA_OK; step++) {
        pada_text summary = {0};
        pada_summary_scalar(&summary, "a/b", step);
        pada_summary_histogram(&summary, "h", (double[]){0, 1, (double)step}, 3);
        st = pada_event_file_append(file, step, 1000 + step, &summary);
        pada_text_deinit(&summary);
    }
    pada_event_file_close(file);
    return st;
}

/* The bytes after the version record, which has a time in it. */
static void read_steps(pada_text *out)
{
    pada_file file;

    assert_ok(pada_file_open(&file, event_path()));
    assert_true(file.bytes >= 40);
    pada_text_add_bytes(out, file.data + 40, file.bytes - 40);
    pada_file_close(&file);
}

static void assert_steps(const pada_text *expected)
{
    pada_text steps = {0};

    assert_int_equal(scratch_count(), 1);
    read_steps(&steps);
    assert_int_equal(steps.length, expected->length);
    assert_memory_equal(steps.data, expected->data, steps.length);
    pada_text_deinit(&steps);
}

/* A run that dies while it writes, at any byte, and goes on at an epoch that is there or the next. */
static void test_torn(void **state)
{
    pada_text expected = {0};

    (void)state;
    assert_ok(append(1, 3));
    read_steps(&expected);
    const size_t bytes = 40 + expected.length, step_bytes = expected.length / 3;
    for (size_t n = 0; n <= bytes; n++) {
        const size_t n_whole = n < 40 ? 0 : (n - 40) / step_bytes;
        assert_int_equal(truncate(event_path(), (off_t)n), 0);
        assert_ok(append(n % 2 ? 1 : (int)n_whole + 1, 3));
        assert_steps(&expected);
    }
    pada_text_deinit(&expected);
}

static void test_replaced_steps(void **state)
{
    pada_text expected = {0};

    (void)state;
    assert_ok(append(1, 5));
    read_steps(&expected);
    assert_ok(append(3, 4)); /* an older checkpoint: 5 has not happened yet */
    expected.length = expected.length / 5 * 4;
    assert_steps(&expected);
    assert_ok(append(1, 4));
    assert_steps(&expected);
    pada_text_deinit(&expected);
}

/* From a damaged record on nothing is kept. */
static void test_damaged(void **state)
{
    pada_text expected = {0};

    (void)state;
    assert_ok(append(1, 3));
    read_steps(&expected);
    const size_t step_bytes = expected.length / 3;
    FILE *f = fopen(event_path(), "r+b");
    assert_non_null(f);
    assert_int_equal(fseek(f, 40 + (long)step_bytes + 20, SEEK_SET), 0);
    fputc('x', f);
    fclose(f);
    assert_ok(append(3, 3));
    memmove(expected.data + step_bytes, expected.data + 2 * step_bytes, step_bytes);
    expected.length = 2 * step_bytes;
    assert_steps(&expected);
    pada_text_deinit(&expected);
}

static void test_foreign(void **state)
{
    static const char text[] =
        "this is a file that somebody else has called so, and it is not short";
    const char *path = scratch_path("events.out.tfevents.0000000001.elsewhere");

    (void)state;
    scratch_write(path, text, sizeof text);
    assert_ok(append(1, 2));
    assert_int_equal(scratch_count(), 2);
    assert_file_holds(path, text, sizeof text);
}

static void test_failures(void **state)
{
    pada_event_file *file;
    pada_text summary = {.status = PADA_ENOMEM};

    (void)state;
    assert_int_equal(pada_event_file_open(&file, scratch_path("none")), PADA_EIO);
    assert_null(file);
    assert_ok(pada_event_file_open(&file, scratch_dir));
    assert_int_equal(pada_event_file_append(file, 1, 0, &summary), PADA_ENOMEM);
    pada_event_file_close(file);
    pada_event_file_close(NULL);
}

static void test_out_of_memory(void **state)
{
    (void)state;
    assert_survives_oom(append(1, 20), );
    assert_survives_oom(append(10, 20), );
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup(f, scratch_clear)
    const struct CMUnitTest tests[] = {
        TEST(test_torn),    TEST(test_replaced_steps), TEST(test_damaged),
        TEST(test_foreign), TEST(test_failures),       TEST(test_out_of_memory),
    };

    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
