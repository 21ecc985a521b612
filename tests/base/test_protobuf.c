/* test_protobuf.c - the bytes of protocol buffer fields, and CRC-32C, against published values. */
#include "base/crc32c.h"
#include "base/protobuf.h"
#include "base/scratch.h"

static void check_bytes(pada_text *out, const void *expected, size_t n)
{
    assert_int_equal(out->status, PADA_OK);
    assert_int_equal(out->length, n);
    assert_memory_equal(out->data, expected, n);
    pada_text_deinit(out);
}

/* The examples of the encoding's documentation, and the ends of the range. */
static void test_fields(void **state)
{
    pada_text out = {0}, inner = {0};

    (void)state;
    pada_pb_int(&out, 1, 150);
    check_bytes(&out, "\x08\x96\x01", 3);
    pada_pb_int(&out, 1, 0);
    check_bytes(&out, "\x08\x00", 2);
    pada_pb_int(&out, 1, -1);
    check_bytes(&out, "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11);
    pada_pb_bytes(&out, 2, "testing", 7);
    check_bytes(&out, "\x12\x07testing", 9);
    pada_pb_int(&inner, 1, 150);
    pada_pb_message(&out, 3, &inner);
    assert_null(inner.data);
    check_bytes(&out, "\x1a\x03\x08\x96\x01", 5);
    pada_pb_double(&out, 16, 1);
    check_bytes(&out, "\x81\x01\x00\x00\x00\x00\x00\x00\xf0\x3f", 10);
    pada_pb_float(&out, 2, -2);
    check_bytes(&out, "\x15\x00\x00\x00\xc0", 5);
    pada_pb_doubles(&out, 6, (double[]){1, -1}, 2);
    check_bytes(&out, "\x32\x10\x00\x00\x00\x00\x00\x00\xf0\x3f\x00\x00\x00\x00\x00\x00\xf0\xbf",
                18);
}

static void test_read_varint(void **state)
{
    uint64_t x;

    (void)state;
    assert_int_equal(pada_pb_read_varint((const uint8_t *)"\x96\x01", 2, &x), 2);
    assert_int_equal(x, 150);
    assert_int_equal(pada_pb_read_varint((const uint8_t *)"\x96\x01", 1, &x), 0);
    assert_int_equal(pada_pb_read_varint(NULL, 0, &x), 0);
    assert_int_equal(
        pada_pb_read_varint((const uint8_t *)"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10, &x),
        10);
    assert_true(x == UINT64_MAX);
    assert_int_equal(pada_pb_read_varint(
                         (const uint8_t *)"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11, &x),
                     0);
}

/* The check value of the polynomial, and the examples of RFC 3720, B.4. */
static void test_crc32c(void **state)
{
    uint8_t bytes[32] = {0};

    (void)state;
    assert_true(pada_crc32c("123456789", 9) == 0xe3069283);
    assert_true(pada_crc32c("", 0) == 0);
    assert_true(pada_crc32c(bytes, 32) == 0x8a9136aa);
    memset(bytes, 0xff, sizeof bytes);
    assert_true(pada_crc32c(bytes, 32) == 0x62a8ab43);
    for (int i = 0; i < 32; i++)
        bytes[i] = (uint8_t)i;
    assert_true(pada_crc32c(bytes, 32) == 0x46dd794e);
}

static pada_status write_nested(void)
{
    pada_text inner = {0}, out = {0};

    pada_pb_int(&inner, 1, 1);
    pada_pb_message(&out, 1, &inner);
    const pada_status st = out.status;
    pada_text_deinit(&out);
    return st;
}

static void test_out_of_memory(void **state)
{
    (void)state;
    assert_survives_oom(write_nested(), );
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_read_varint),
        cmocka_unit_test(test_crc32c),
        cmocka_unit_test(test_out_of_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
