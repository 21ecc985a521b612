/* protobuf.c - appends the fields of a protocol buffer message to a text. */
#include "base/protobuf.h"

#include <string.h>

enum { VARINT = 0, EIGHT_BYTES = 1, LENGTH = 2, FOUR_BYTES = 5 };

static void add_varint(pada_text *out, uint64_t x)
{
    uint8_t bytes[10];
    int n = 0;

    for (; x >= 0x80; x >>= 7)
        bytes[n++] = (uint8_t)(x | 0x80);
    bytes[n++] = (uint8_t)x;
    pada_text_add_bytes(out, bytes, (size_t)n);
}

static void add_key(pada_text *out, int field, int kind)
{
    add_varint(out, (uint64_t)field << 3 | (uint64_t)kind);
}

static void add_little_endian(pada_text *out, uint64_t bits, int n)
{
    uint8_t bytes[8];

    for (int i = 0; i < n; i++)
        bytes[i] = (uint8_t)(bits >> (8 * i));
    pada_text_add_bytes(out, bytes, (size_t)n);
}

static void add_double(pada_text *out, double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    add_little_endian(out, bits, 8);
}

void pada_pb_int(pada_text *out, int field, int64_t value)
{
    add_key(out, field, VARINT);
    add_varint(out, (uint64_t)value);
}

void pada_pb_float(pada_text *out, int field, float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    add_key(out, field, FOUR_BYTES);
    add_little_endian(out, bits, 4);
}

void pada_pb_double(pada_text *out, int field, double value)
{
    add_key(out, field, EIGHT_BYTES);
    add_double(out, value);
}

void pada_pb_bytes(pada_text *out, int field, const void *bytes, size_t n)
{
    add_key(out, field, LENGTH);
    add_varint(out, n);
    pada_text_add_bytes(out, bytes, n);
}

void pada_pb_doubles(pada_text *out, int field, const double *values, int n)
{
    add_key(out, field, LENGTH);
    add_varint(out, (uint64_t)n * 8);
    for (int i = 0; i < n; i++)
        add_double(out, values[i]);
}

void pada_pb_message(pada_text *out, int field, pada_text *message)
{
    if (message->status == PADA_OK)
        pada_pb_bytes(out, field, pada_text_str(message), message->length);
    else if (out->status == PADA_OK)
        out->status = message->status;
    pada_text_deinit(message);
}

int pada_pb_read_varint(const uint8_t *bytes, size_t n, uint64_t *out)
{
    *out = 0;
    for (size_t i = 0; i < n && i < 10; i++) {
        *out |= (uint64_t)(bytes[i] & 0x7f) << (7 * i);
        if (bytes[i] < 0x80) return (int)i + 1;
    }
    return 0;
}
