/* test_npy.c - .npy files, byte for byte. */
#include "tensor/npy.h"

#include "base/scratch.h"

/* Checks the file against a header text (without padding) and the data. */
static void check(const int64_t *dims, int n_dims, const char *header, const float *data, size_t n)
{
    const char *path = scratch_path("x.npy");
    pada_file file;

    assert_ok(pada_npy_write_f32(path, data, dims, n_dims));
    assert_ok(pada_file_open(&file, path));
    assert_memory_equal(file.data, "\x93NUMPY\x01\x00", 8);
    const size_t length = file.data[8] | (size_t)file.data[9] << 8;
    assert_int_equal((10 + length) % 64, 0);
    assert_int_equal(file.bytes, 10 + length + n * sizeof *data);
    const char *text = (const char *)file.data + 10;
    assert_memory_equal(text, header, strlen(header));
    for (size_t i = strlen(header); i < length - 1; i++)
        assert_int_equal(text[i], ' ');
    assert_int_equal(text[length - 1], '\n');
    if (n > 0) assert_memory_equal(text + length, data, n * sizeof *data);
    pada_file_close(&file);
    assert_int_equal(scratch_count(), 1);
}

static void arrays_are_written_as_numpy_does(void **state)
{
    static const float data[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, -0.5f};

    (void)state;
    check((int64_t[]){3, 4}, 2, "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }", data,
          12);
    check((int64_t[]){5}, 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (5,), }", data, 5);
    check((int64_t[]){2, 3, 2}, 3, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3, 2), }",
          data, 12);
    check(NULL, 0, "{'descr': '<f4', 'fortran_order': False, 'shape': (), }", data, 1);
    check((int64_t[]){0, 10}, 2, "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 10), }",
          NULL, 0);
}

/* Any number of digits keeps the data aligned. */
static void header_is_padded_for_every_length(void **state)
{
    (void)state;
    for (int n_dims = 1; n_dims <= 32; n_dims++) {
        int64_t dims[32] = {0};
        char header[256];
        int n =
            snprintf(header, sizeof header, "{'descr': '<f4', 'fortran_order': False, 'shape': (0");
        for (int i = 1; i < n_dims; i++)
            n += snprintf(header + n, sizeof header - (size_t)n, ", 0");
        snprintf(header + n, sizeof header - (size_t)n, "%s), }", n_dims == 1 ? "," : "");
        check(dims, n_dims, header, NULL, 0);
    }
}

static void wrong_shapes_are_refused(void **state)
{
    const char *path = scratch_path("x.npy");
    char expected[1400];
    float x = 0;

    (void)state;
    snprintf(expected, sizeof expected, "%s: dimension 1 is -2", path);
    assert_fails(pada_npy_write_f32(path, &x, (int64_t[]){1, -2}, 2), PADA_EINVAL, expected);
    snprintf(expected, sizeof expected, "%s: 33 dimensions are not 0 to 32", path);
    assert_fails(pada_npy_write_f32(path, &x, (int64_t[]){1}, 33), PADA_EINVAL, expected);
    assert_int_equal(pada_npy_write_f32(path, &x, (int64_t[]){1}, -1), PADA_EINVAL);
    assert_int_equal(pada_npy_write_f32(path, &x, (int64_t[]){INT64_MAX, INT64_MAX}, 2),
                     PADA_EINVAL);
    assert_int_equal(pada_npy_write_f32(path, &x, (int64_t[]){INT64_MAX}, 1), PADA_EINVAL);
    assert_int_equal(scratch_count(), 0);
    assert_int_equal(pada_npy_write_f32(scratch_path("no/x.npy"), &x, NULL, 0), PADA_EIO);
}

static pada_status write_once(void)
{
    static const float data[6] = {1, 2, 3, 4, 5, 6};
    const pada_status st = pada_npy_write_f32(scratch_path("oom.npy"), data, (int64_t[]){2, 3}, 2);

    assert_int_equal(scratch_count(), st == PADA_OK ? 1 : 0);
    return st;
}

static void writing_survives_failing_memory(void **state)
{
    (void)state;
    assert_survives_oom(write_once(), (void)0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(arrays_are_written_as_numpy_does, scratch_clear),
        cmocka_unit_test_setup(header_is_padded_for_every_length, scratch_clear),
        cmocka_unit_test_setup(wrong_shapes_are_refused, scratch_clear),
        cmocka_unit_test_setup(writing_survives_failing_memory, scratch_clear),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
