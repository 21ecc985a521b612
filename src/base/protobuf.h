/* protobuf.h - appends the fields of a protocol buffer message to a text.
 *
 *   field = varint(number << 3 | kind), then   kind 0: a varint        kind 1: 8 bytes
 *                                              kind 2: varint length, bytes (strings, messages, packed
 *                                              numbers)                kind 5: 4 bytes
 *
 * Numbers are little-endian. A message inside a message is written to a text of its own first. */
#ifndef PADA_BASE_PROTOBUF_H
#define PADA_BASE_PROTOBUF_H

#include "base/text.h"

#ifdef __cplusplus
extern "C" {
#endif

void pada_pb_int(pada_text *out, int field, int64_t value);
void pada_pb_float(pada_text *out, int field, float value);
void pada_pb_double(pada_text *out, int field, double value);
void pada_pb_bytes(pada_text *out, int field, const void *bytes, size_t n);
void pada_pb_doubles(pada_text *out, int field, const double *values, int n); /* packed */
/* The message, whose failed appends become those of `out`; gives its memory back. */
void pada_pb_message(pada_text *out, int field, pada_text *message);

/* Reads a varint of at most `n` bytes and returns how many it takes; 0: it is cut off or too long. */
int pada_pb_read_varint(const uint8_t *bytes, size_t n, uint64_t *out);

#ifdef __cplusplus
}
#endif
#endif
