/* print.h - output that several commands share. */
#ifndef PADA_CLI_PRINT_H
#define PADA_CLI_PRINT_H

#include <jansson.h>

#include "base/text.h"

/* A line of JSON is made by json_object(), any number of pada_json_set and one pada_json_line. The
 * jansson values may be NULL, its way to say out of memory: PADA_ENOMEM in out->status. */

/* Takes the value over. `out` is the text the line will be appended to. */
void pada_json_set(pada_text *out, json_t *object, const char *key, json_t *value);

/* The same for the last element of an array. */
void pada_json_append(pada_text *out, json_t *array, json_t *value);

/* A number that may be more than a JSON integer of jansson holds: then rounded. */
json_t *pada_json_count(uint64_t n);

/* Appends the object as one line, keys in order of insertion, and drops the reference. Numbers have as
 * few digits as read back equal. */
void pada_json_line(pada_text *out, json_t *object);

/* Appends a count for people, right-aligned: 4415620 is "4.42M". */
void pada_add_count(pada_text *out, int64_t count, int width);

#endif
