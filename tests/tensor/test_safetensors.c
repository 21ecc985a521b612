/* test_safetensors.c - round trips, hostile files, failing memory. */
#include "tensor/safetensors.h"

#include <pthread.h>

#include "base/scratch.h"
#include "base/text.h"

/* Writes a file with this header and n bytes of data, and opens it. */
static pada_status open_made(const char *header, size_t n_data)
{
    const size_t n = strlen(header);
    const char *path = scratch_path("bad.safetensors");
    pada_safetensors *st = (pada_safetensors *)&path; /* must become NULL */
    uint8_t length[8] = {(uint8_t)n, (uint8_t)(n >> 8)};
    pada_text file = {0};
    static const char zeros[256];

    pada_text_add_bytes(&file, length, sizeof length);
    pada_text_add_bytes(&file, header, n);
    pada_text_add_bytes(&file, zeros, n_data);
    scratch_write(path, file.data, file.length);
    pada_text_deinit(&file);
    const int64_t live = pada_mem_live();
    const pada_status status = pada_safetensors_open(&st, path);
    assert_int_equal(status == PADA_OK, st != NULL);
    pada_safetensors_close(st);
    assert_int_equal(pada_mem_live(), live);
    return status;
}

/* Bad data, with the name of the file and this text behind it. */
static void check_bad(const char *header, size_t n_data, const char *message)
{
    char expected[1400];

    assert_int_equal(open_made(header, n_data), PADA_EDATA);
    snprintf(expected, sizeof expected, "%s/bad.safetensors: %s", scratch_dir, message);
    assert_string_equal(pada_message(), expected);
}

#define TENSOR(name, dtype, shape, offsets) \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}"

static void every_dtype_makes_the_round_trip(void **state)
{
    static const struct {
        const char *name;
        size_t bytes;
    } types[] = {{"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E4M3", 1}, {"F8_E5M2", 1},
                 {"I16", 2},  {"U16", 2}, {"F16", 2}, {"BF16", 2},    {"I32", 4},
                 {"U32", 4},  {"F32", 4}, {"I64", 8}, {"U64", 8},     {"F64", 8}};
    enum { N = sizeof types / sizeof types[0] };
    static uint8_t data[N][48];
    pada_st_tensor tensors[N];
    pada_safetensors *st;
    const char *path = scratch_path("all.safetensors");

    (void)state;
    for (int i = 0; i < N; i++) {
        for (int k = 0; k < 48; k++)
            data[i][k] = (uint8_t)(i * 48 + k);
        tensors[i] = (pada_st_tensor){.name = types[i].name,
                                      .dtype = types[i].name,
                                      .n_dims = 2,
                                      .dims = {2, 3},
                                      .data = data[i],
                                      .bytes = 6 * types[i].bytes};
    }
    assert_ok(pada_safetensors_write(path, tensors, N, NULL, 0));
    assert_ok(pada_safetensors_open(&st, path));
    assert_int_equal(pada_safetensors_count(st), N);
    for (int i = 0; i < N; i++) {
        const pada_st_tensor *t = pada_safetensors_get(st, i);
        assert_string_equal(t->name, types[i].name);
        assert_string_equal(t->dtype, types[i].name);
        assert_int_equal(t->n_dims, 2);
        assert_int_equal(t->dims[0], 2);
        assert_int_equal(t->dims[1], 3);
        assert_int_equal(t->bytes, 6 * types[i].bytes);
        assert_memory_equal(t->data, data[i], t->bytes);
        assert_ptr_equal(pada_safetensors_find(st, types[i].name), t);
    }
    assert_null(pada_safetensors_find(st, "none"));
    assert_null(pada_safetensors_metadata(st, "none"));
    pada_safetensors_close(st);
    pada_safetensors_close(NULL);
}

static void empty_tensors_scalars_and_metadata_make_the_round_trip(void **state)
{
    static const float one = 1.5f;
    static const uint8_t bytes[3] = {1, 2, 3};
    const pada_st_tensor tensors[] = {
        {.name = "z.empty", .dtype = "F32", .n_dims = 2, .dims = {0, 7}},
        {.name = "scalar", .dtype = "F32", .data = &one, .bytes = 4},
        {.name = "a.empty", .dtype = "I64", .n_dims = 1, .dims = {0}},
        {.name = "cells.0.edges.1<-0.2.\"op\"\\\n",
         .dtype = "U8",
         .n_dims = 8,
         .dims = {1, 1, 1, 3, 1, 1, 1, 1},
         .data = bytes,
         .bytes = 3},
        {.name = "last.empty", .dtype = "F64", .n_dims = 1, .dims = {0}},
    };
    static const char *const metadata[][2] = {{"format", "pt"}, {"epoch", "ü \"5\"\n"}, {"", ""}};
    pada_safetensors *st;
    const char *path = scratch_path("odd.safetensors");

    (void)state;
    assert_ok(pada_safetensors_write(path, tensors, 5, metadata, 3));
    assert_ok(pada_safetensors_open(&st, path));
    assert_int_equal(pada_safetensors_count(st), 5);
    for (int i = 0; i < 5; i++) {
        const pada_st_tensor *t = pada_safetensors_find(st, tensors[i].name);
        assert_non_null(t);
        assert_string_equal(t->dtype, tensors[i].dtype);
        assert_int_equal(t->n_dims, tensors[i].n_dims);
        for (int k = 0; k < t->n_dims; k++)
            assert_int_equal(t->dims[k], tensors[i].dims[k]);
        assert_int_equal(t->bytes, tensors[i].bytes);
        if (t->bytes > 0) assert_memory_equal(t->data, tensors[i].data, t->bytes);
    }
    for (int i = 0; i < 3; i++)
        assert_string_equal(pada_safetensors_metadata(st, metadata[i][0]), metadata[i][1]);
    assert_null(pada_safetensors_metadata(st, "other"));
    pada_safetensors_close(st);
}

static void file_is_laid_out_byte_for_byte(void **state)
{
    static const uint8_t bytes[2] = {0xab, 0xcd};
    static const char *const metadata[][2] = {{"k", "v"}};
    const pada_st_tensor tensor = {
        .name = "t", .dtype = "U8", .n_dims = 1, .dims = {2}, .data = bytes, .bytes = 2};
    const char *path = scratch_path("exact.safetensors");
    char expected[8 + 80 + 2];

    (void)state;
    assert_ok(pada_safetensors_write(path, &tensor, 1, metadata, 1));
    memset(expected, ' ', sizeof expected);
    memcpy(expected, "\x50\0\0\0\0\0\0\0", 8);
    const char *json = "{\"__metadata__\":{\"k\":\"v\"},"
                       "\"t\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}";
    memcpy(expected + 8, json, strlen(json));
    memcpy(expected + 88, bytes, 2);
    assert_file_holds(path, expected, sizeof expected);
}

static void data_start_at_a_multiple_of_8(void **state)
{
    char name[32] = "";
    const float x = 1;

    (void)state;
    for (int i = 0; i < 17; i++) {
        const char *path = scratch_path("pad.safetensors");
        pada_file file;
        name[i] = 'n';
        const pada_st_tensor t = {.name = name, .dtype = "F32", .data = &x, .bytes = 4};
        assert_ok(pada_safetensors_write(path, &t, 1, NULL, 0));
        assert_ok(pada_file_open(&file, path));
        assert_int_equal((file.bytes - 4) % 8, 0);
        assert_int_equal(file.data[0] + 8, file.bytes - 4);
        pada_file_close(&file);
    }
}

static void file_without_tensors_is_fine(void **state)
{
    pada_safetensors *st;
    const char *path = scratch_path("none.safetensors");

    (void)state;
    assert_ok(pada_safetensors_write(path, NULL, 0, NULL, 0));
    assert_ok(pada_safetensors_open(&st, path));
    assert_int_equal(pada_safetensors_count(st), 0);
    assert_null(pada_safetensors_find(st, "x"));
    pada_safetensors_close(st);
}

static void order_is_that_of_the_data(void **state)
{
    pada_safetensors *st;
    const char *header =
        "{" TENSOR("b", "U8", "[1]", "[3,4]") "," TENSOR("a", "U8", "[3]", "[0,3]") "}   ";

    (void)state;
    assert_int_equal(open_made(header, 4), PADA_OK);
    assert_ok(pada_safetensors_open(&st, scratch_path("bad.safetensors")));
    assert_string_equal(pada_safetensors_get(st, 0)->name, "a");
    assert_string_equal(pada_safetensors_get(st, 1)->name, "b");
    pada_safetensors_close(st);
}

static void missing_file_is_enoent(void **state)
{
    pada_safetensors *st;

    (void)state;
    assert_int_equal(pada_safetensors_open(&st, scratch_path("missing")), PADA_ENOENT);
    assert_null(st);
}

static void truncated_files_are_refused_at_every_length(void **state)
{
    static const float data[4] = {1, 2, 3, 4};
    static const char *const metadata[][2] = {{"k", "v"}};
    const pada_st_tensor tensors[] = {
        {.name = "a", .dtype = "F32", .n_dims = 1, .dims = {4}, .data = data, .bytes = 16},
        {.name = "b", .dtype = "F32", .n_dims = 1, .dims = {2}, .data = data, .bytes = 8},
    };
    const char *path = scratch_path("whole"), *cut = scratch_path("cut");
    pada_safetensors *st;
    pada_file file;

    (void)state;
    assert_ok(pada_safetensors_write(path, tensors, 2, metadata, 1));
    assert_ok(pada_file_open(&file, path));
    for (size_t n = 0; n < file.bytes; n++) {
        scratch_write(cut, file.data, n);
        assert_int_equal(pada_safetensors_open(&st, cut), PADA_EDATA);
        assert_int_equal(strncmp(pada_message(), cut, strlen(cut)), 0);
        assert_null(st);
    }
    pada_file_close(&file);
}

/* Whatever one wrong byte does, it must not crash, leak or read outside the file. */
static void any_wrong_byte_is_survived(void **state)
{
    static const float data[2] = {1, 2};
    const pada_st_tensor tensor = {
        .name = "a", .dtype = "F32", .n_dims = 1, .dims = {2}, .data = data, .bytes = 8};
    static const uint8_t bytes[] = {0, 0xff, '"', '{', '}', '[', '-', '9', ',', ' '};
    const char *path = scratch_path("whole"), *bad = scratch_path("bad");
    pada_file file;
    uint8_t copy[512];

    (void)state;
    assert_ok(pada_safetensors_write(path, &tensor, 1, NULL, 0));
    assert_ok(pada_file_open(&file, path));
    const size_t n = file.bytes;
    assert_true(n <= sizeof copy);
    memcpy(copy, file.data, n);
    pada_file_close(&file);
    const int64_t live = pada_mem_live();
    for (size_t i = 0; i < n - 8; i++) {
        for (size_t k = 0; k < sizeof bytes; k++) {
            pada_safetensors *st;
            const uint8_t old = copy[i];
            copy[i] = bytes[k];
            scratch_write(bad, copy, n);
            copy[i] = old;
            const pada_status status = pada_safetensors_open(&st, bad);
            assert_true(status == PADA_OK || status == PADA_EDATA);
            pada_safetensors_close(st);
            assert_int_equal(pada_mem_live(), live);
        }
    }
}

static void header_length_is_checked(void **state)
{
    static const struct {
        const char *bytes;
        const char *length;
    } cases[] = {
        {"\xff\xff\xff\xff\xff\xff\xff\xff", "18446744073709551615"},
        {"\xf8\xff\xff\xff\xff\xff\xff\xff", "18446744073709551608"},
        {"\x00\x00\x00\x00\x00\x00\x00\x80", "9223372036854775808"},
        {"\x03\x00\x00\x00\x00\x00\x00\x00", "3"},
    };
    const char *path = scratch_path("bad.safetensors");

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        pada_safetensors *st;
        char file[10] = "12345678{}", expected[1400];
        memcpy(file, cases[i].bytes, 8);
        scratch_write(path, file, sizeof file);
        snprintf(expected, sizeof expected, "%s: header length %s in a file of 10 bytes", path,
                 cases[i].length);
        assert_fails(pada_safetensors_open(&st, path), PADA_EDATA, expected);
    }
}

static void header_must_be_a_json_object(void **state)
{
    (void)state;
    check_bad("", 0, "the header does not begin with '{'");
    check_bad(" {}", 0, "the header does not begin with '{'");
    check_bad("[]", 0, "the header does not begin with '{'");
    check_bad("{", 0, "header byte 1: string or '}' expected near end of file");
    assert_int_equal(open_made("{]", 0), PADA_EDATA);
    assert_int_equal(open_made("{} x", 0), PADA_EDATA);
    assert_int_equal(open_made("{\"a\":nan}", 0), PADA_EDATA);
    assert_int_equal(open_made("{\"\\u0000\":{}}", 0), PADA_EDATA);
    assert_int_equal(open_made("{\"\xff\":{}}", 0), PADA_EDATA);
    check_bad("{\"a\":3}", 0, "tensor 'a' is not an object");
    check_bad("{\"a\":null}", 0, "tensor 'a' is not an object");
    assert_int_equal(open_made("{}", 0), PADA_OK);
}

static void deep_nesting_is_refused(void **state)
{
    pada_text text = {0};

    (void)state;
    pada_text_add(&text, "{\"a\":");
    for (int i = 0; i < 60000; i++)
        pada_text_add_bytes(&text, "[", 1);
    assert_int_equal(open_made(pada_text_str(&text), 0), PADA_EDATA);
    pada_text_deinit(&text);
}

static void doubled_names_are_refused(void **state)
{
    (void)state;
    assert_int_equal(
        open_made("{" TENSOR("a", "U8", "[1]", "[0,1]") "," TENSOR("a", "U8", "[1]", "[1,2]") "}",
                  2),
        PADA_EDATA);
    assert_non_null(strstr(pada_message(), "duplicate object key near '\"a\"'"));
    assert_int_equal(
        open_made(
            "{\"a\":{\"dtype\":\"U8\",\"dtype\":\"I8\",\"shape\":[1],\"data_offsets\":[0,1]}}", 1),
        PADA_EDATA);
}

static void members_must_be_there_and_of_their_type(void **state)
{
    (void)state;
    check_bad("{\"a\":{}}", 0, "tensor 'a' has no dtype");
    check_bad("{\"a\":{\"dtype\":3}}", 0, "tensor 'a' has no dtype");
    check_bad("{\"a\":{\"dtype\":\"U8\"}}", 0, "tensor 'a' has no shape");
    check_bad("{\"a\":{\"dtype\":\"U8\",\"shape\":{}}}", 0, "tensor 'a' has no shape");
    check_bad("{\"a\":{\"dtype\":\"U8\",\"shape\":[]}}", 0,
              "tensor 'a': data_offsets are not two whole numbers");
    check_bad("{" TENSOR("a", "U8", "[1]", "[0]") "}", 1,
              "tensor 'a': data_offsets are not two whole numbers");
    check_bad("{" TENSOR("a", "U8", "[1]", "[0,1,2]") "}", 1,
              "tensor 'a': data_offsets are not two whole numbers");
    check_bad("{" TENSOR("a", "U8", "[1]", "[0,1.0]") "}", 1,
              "tensor 'a': data_offsets are not two whole numbers");
    check_bad("{" TENSOR("a", "U8", "[1]", "[0,\"1\"]") "}", 1,
              "tensor 'a': data_offsets are not two whole numbers");
    check_bad("{" TENSOR("a", "U8", "[1]", "{}") "}", 1,
              "tensor 'a': data_offsets are not two whole numbers");
}

static void dtypes_and_dims_are_checked(void **state)
{
    (void)state;
    check_bad("{" TENSOR("a", "F31", "[1]", "[0,4]") "}", 4, "tensor 'a': unknown dtype 'F31'");
    check_bad("{" TENSOR("a", "f32", "[1]", "[0,4]") "}", 4, "tensor 'a': unknown dtype 'f32'");
    check_bad("{" TENSOR("a", "", "[1]", "[0,4]") "}", 4, "tensor 'a': unknown dtype ''");
    check_bad("{" TENSOR("a", "U8", "[-1]", "[0,1]") "}", 1, "tensor 'a': dimension 0 is -1");
    check_bad("{" TENSOR("a", "U8", "[2,-1,-1]", "[0,2]") "}", 2, "tensor 'a': dimension 1 is -1");
    check_bad("{" TENSOR("a", "U8", "[1.5]", "[0,1]") "}", 1,
              "tensor 'a': dimension 0 is not a whole number");
    check_bad("{" TENSOR("a", "U8", "[true]", "[0,1]") "}", 1,
              "tensor 'a': dimension 0 is not a whole number");
    check_bad("{" TENSOR("a", "U8", "[1,1,1,1,1,1,1,1,1]", "[0,1]") "}", 1,
              "tensor 'a' has 9 dimensions, more than 8");
    check_bad("{" TENSOR("a", "U8", "[4294967296,4294967296]", "[0,0]") "}", 0,
              "tensor 'a': the shape overflows");
    check_bad("{" TENSOR("a", "F64", "[9223372036854775807]", "[0,8]") "}", 8,
              "tensor 'a': the shape overflows");
    check_bad("{" TENSOR("a", "F32", "[4611686018427387904,4]", "[0,0]") "}", 0,
              "tensor 'a': the shape overflows");
    check_bad("{" TENSOR("a", "F32", "[2,3]", "[0,20]") "}", 20,
              "tensor 'a': 20 bytes of data for a shape of 24 bytes");
    check_bad("{" TENSOR("a", "F32", "[]", "[0,0]") "}", 0,
              "tensor 'a': 0 bytes of data for a shape of 4 bytes");
    assert_int_equal(open_made("{" TENSOR("a", "U8", "[9223372036854775808]", "[0,1]") "}", 1),
                     PADA_EDATA);
    assert_non_null(strstr(pada_message(), "too big integer"));
}

static void offsets_are_checked(void **state)
{
    (void)state;
    check_bad("{" TENSOR("a", "U8", "[1]", "[1,0]") "}", 1,
              "tensor 'a': data_offsets [1, 0] in 1 bytes of data");
    check_bad("{" TENSOR("a", "U8", "[1]", "[-1,0]") "}", 1,
              "tensor 'a': data_offsets [-1, 0] in 1 bytes of data");
    check_bad("{" TENSOR("a", "U8", "[2]", "[0,2]") "}", 1,
              "tensor 'a': data_offsets [0, 2] in 1 bytes of data");
    check_bad(
        "{" TENSOR("a", "U8", "[1]", "[9223372036854775806,9223372036854775807]") "}", 1,
        "tensor 'a': data_offsets [9223372036854775806, 9223372036854775807] in 1 bytes of data");
    check_bad("{" TENSOR("a", "U8", "[2]", "[0,2]") "," TENSOR("b", "U8", "[2]", "[1,3]") "}", 3,
              "tensor 'b' at 1 overlaps one that ends at 2");
    check_bad("{" TENSOR("a", "U8", "[2]", "[0,2]") "," TENSOR("b", "U8", "[2]", "[0,2]") "}", 2,
              "tensor 'b' at 0 overlaps one that ends at 2");
    check_bad("{" TENSOR("a", "U8", "[1]", "[0,1]") "," TENSOR("b", "U8", "[1]", "[2,3]") "}", 3,
              "1 bytes before tensor 'b' belong to no tensor");
    check_bad("{" TENSOR("a", "U8", "[1]", "[1,2]") "}", 2,
              "1 bytes before tensor 'a' belong to no tensor");
    check_bad("{" TENSOR("a", "U8", "[1]", "[0,1]") "}", 4, "the last 3 bytes belong to no tensor");
    check_bad("{}", 1, "the last 1 bytes belong to no tensor");
    check_bad("{" TENSOR("a", "U8", "[4]", "[0,4]") "," TENSOR("e", "U8", "[0]", "[2,2]") "}", 4,
              "tensor 'e' at 2 overlaps one that ends at 4");
}

static void metadata_must_be_strings(void **state)
{
    (void)state;
    check_bad("{\"__metadata__\":3}", 0, "__metadata__ is not an object");
    check_bad("{\"__metadata__\":{\"epoch\":3}}", 0, "metadata 'epoch' is not a string");
    assert_int_equal(open_made("{\"__metadata__\":{}}", 0), PADA_OK);
}

/* A newline in a name must not make a message of two lines. */
static void messages_stay_one_line(void **state)
{
    (void)state;
    check_bad("{\"a\\nb\":3}", 0, "tensor 'a?b' is not an object");
}

static void check_refused(const pada_st_tensor *tensors, int n, const char *message)
{
    const char *path = scratch_path("refused");
    char expected[1400];

    snprintf(expected, sizeof expected, "%s: %s", path, message);
    const int64_t live = pada_mem_live();
    assert_fails(pada_safetensors_write(path, tensors, n, NULL, 0), PADA_EINVAL, expected);
    assert_int_equal(pada_mem_live(), live);
    assert_false(pada_path_exists(path));
}

static void writer_refuses_what_the_reader_would(void **state)
{
    static const uint8_t data[16];
    const pada_st_tensor good = {
        .name = "a", .dtype = "U8", .n_dims = 1, .dims = {2}, .data = data, .bytes = 2};
    pada_st_tensor t[2] = {good, good};
    static const char *const doubled[][2] = {{"k", "1"}, {"k", "2"}};
    static const char *const latin1[][2] = {{"k", "\xe9"}};

    (void)state;
    check_refused(t, 2, "'a' stands twice");
    t[0].name = "__metadata__";
    check_refused(t, 1, "'__metadata__' is not a name for a tensor");
    t[0].name = "\xe9";
    check_refused(t, 1, "'\xe9' is not UTF-8");
    t[0] = good;
    t[0].dtype = "F31";
    check_refused(t, 1, "tensor 'a': unknown dtype 'F31'");
    t[0] = good;
    t[0].n_dims = 9;
    check_refused(t, 1, "tensor 'a' has 9 dimensions");
    t[0] = good;
    t[0].dims[0] = -2;
    check_refused(t, 1, "tensor 'a': the shape does not ask for 2 bytes");
    t[0] = good;
    t[0].bytes = 3;
    check_refused(t, 1, "tensor 'a': the shape does not ask for 3 bytes");
    assert_int_equal(pada_safetensors_write(scratch_path("x"), &good, 1, doubled, 2), PADA_EINVAL);
    assert_int_equal(pada_safetensors_write(scratch_path("x"), &good, 1, latin1, 1), PADA_EINVAL);
    assert_int_equal(pada_safetensors_write(scratch_path("no/x"), &good, 1, NULL, 0), PADA_EIO);
    assert_int_equal(scratch_count(), 0);
}

static pada_status write_some(const char *path)
{
    static const float data[6] = {1, 2, 3, 4, 5, 6};
    static const char *const metadata[][2] = {{"format", "pt"}, {"epoch", "3"}};
    const pada_st_tensor tensors[] = {
        {.name = "w", .dtype = "F32", .n_dims = 2, .dims = {2, 3}, .data = data, .bytes = 24},
        {.name = "b", .dtype = "F32", .n_dims = 1, .dims = {2}, .data = data, .bytes = 8},
        {.name = "s", .dtype = "F32", .data = data, .bytes = 4},
    };

    return pada_safetensors_write(path, tensors, 3, metadata, 2);
}

static pada_status write_counted(void)
{
    const pada_status status = write_some(scratch_path("oom"));

    assert_int_equal(scratch_count(), status == PADA_OK ? 1 : 0);
    return status;
}

static void writing_survives_failing_memory(void **state)
{
    (void)state;
    assert_survives_oom(write_counted(), (void)0);
}

static pada_status open_counted(pada_safetensors **st, const char *path)
{
    const pada_status status = pada_safetensors_open(st, path);

    assert_int_equal(status == PADA_OK, *st != NULL);
    return status;
}

static void reading_survives_failing_memory(void **state)
{
    pada_safetensors *st;
    const char *path = scratch_path("oom");

    (void)state;
    assert_ok(write_some(path));
    assert_survives_oom(open_counted(&st, path), pada_safetensors_close(st));
}

static void *open_often(void *path)
{
    for (int i = 0; i < 50; i++) {
        pada_safetensors *st;
        if (pada_safetensors_open(&st, path) != PADA_OK) return path;
        pada_safetensors_close(st);
    }
    return NULL;
}

static void threads_may_read_at_once(void **state)
{
    const char *path = scratch_path("threads");
    char copy[1400];
    pthread_t threads[4];

    (void)state;
    assert_ok(write_some(path));
    snprintf(copy, sizeof copy, "%s", path);
    const int64_t live = pada_mem_live();
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, open_often, copy), 0);
    for (int i = 0; i < 4; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    assert_int_equal(pada_mem_live(), live);
}

int main(void)
{
#define unit(f) cmocka_unit_test_setup(f, scratch_clear)
    const struct CMUnitTest tests[] = {
        unit(every_dtype_makes_the_round_trip),
        unit(empty_tensors_scalars_and_metadata_make_the_round_trip),
        unit(file_is_laid_out_byte_for_byte),
        unit(data_start_at_a_multiple_of_8),
        unit(file_without_tensors_is_fine),
        unit(order_is_that_of_the_data),
        unit(missing_file_is_enoent),
        unit(truncated_files_are_refused_at_every_length),
        unit(any_wrong_byte_is_survived),
        unit(header_length_is_checked),
        unit(header_must_be_a_json_object),
        unit(deep_nesting_is_refused),
        unit(doubled_names_are_refused),
        unit(members_must_be_there_and_of_their_type),
        unit(dtypes_and_dims_are_checked),
        unit(offsets_are_checked),
        unit(metadata_must_be_strings),
        unit(messages_stay_one_line),
        unit(writer_refuses_what_the_reader_would),
        unit(writing_survives_failing_memory),
        unit(reading_survives_failing_memory),
        unit(threads_may_read_at_once),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
