/* json.h - JSON with jansson on pada's memory.
 *
 * jansson's allocator is global to the process. It is replaced once, before our first use, so that
 * fault injection and leak counts cover it; blocks that somebody allocated with jansson before that
 * are still freed correctly, because pada_free ends in free. Not every failed allocation inside
 * jansson shows in its error code, so the allocator leaves a mark. */
#ifndef PADA_BASE_JSON_H
#define PADA_BASE_JSON_H

#include <jansson.h>
#include <stdbool.h>

#include "base/text.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Begins a use of jansson on this thread; afterwards `ran_out` says whether memory was refused, and then
 * its results are not to be trusted. */
void pada_json_begin(void);
bool pada_json_ran_out(void);

/* Reads a file that holds one JSON value, owned by the caller (json_decref). Missing is PADA_ENOENT; what is no
 * JSON, or has a key twice, is PADA_EDATA with "file:line" in the message. */
pada_status pada_json_open(json_t **out, const char *path);
/* The same for a text; `origin` stands for the file in messages. */
pada_status pada_json_parse(json_t **out, const char *text, size_t bytes, const char *origin);
/* Appends the text of a value; `flags` are jansson's. */
pada_status pada_json_print(const json_t *value, size_t flags, pada_text *out);
/* The same on one line, numbers with as few digits as read back equal. A failure, also of a value that is NULL
 * for want of memory, is in out->status, too. */
pada_status pada_json_print_line(json_t *value, pada_text *out);
/* What to return where jansson says NULL or -1 for want of memory. */
pada_status pada_json_out_of_memory(void);

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

#ifdef __cplusplus
}
#endif
#endif
