/* text.h - strict parsing of numbers, nearest names, and a growing string. */
#ifndef PADA_BASE_TEXT_H
#define PADA_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The whole text must be one number in range; "", "12x", " 1", "1e999" and NaN are failures
 * (PADA_EINVAL, message "`what` ..."). Integers take an optional suffix k, M, G (1e3, 1e6, 1e9). */
pada_status pada_parse_int(const char *text, const char *what, int64_t min, int64_t max,
                           int64_t *out);
pada_status pada_parse_u64(const char *text, const char *what, uint64_t *out);
pada_status pada_parse_double(const char *text, const char *what, double min, double max,
                              double *out);
pada_status pada_parse_bool(const char *text, const char *what,
                            bool *out); /* true false yes no on off 1 0 */

/* The fewest significant digits, 15 to 17, with which "%.*g" prints a number that reads back as x. 15
 * give every shorter decimal fraction as it was written: 14.2, not 14.199999999999999. */
int pada_shortest_digits(double x);

/* The candidate with the smallest edit distance to `text` (adjacent swaps count one), or NULL if
 * none is near enough to be a likely mistyping. */
const char *pada_nearest(const char *text, const char *const *candidates, int n);

/* Fails with "`lead` 'name'" and what would have been right: the nearest of the names, or all of
 * them. `lead` is e.g. "unknown space". */
pada_status pada_fail_unknown(pada_status status, const char *lead, const char *name,
                              const char *const *names, int n);

/* Decodes one UTF-8 sequence and returns its bytes; 0 for a wrong one: cut off, longer than needed, a
 * surrogate, too large. */
int pada_utf8_decode(const char *text, uint32_t *code);

/* A growing, always terminated string. Zero-initialise; a failed append sticks in `status` and
 * later appends do nothing, so a writer checks once at the end. */
typedef struct pada_text {
    char *data; /* NULL while empty */
    size_t length, cap;
    pada_status status;
} pada_text;

void pada_text_add(pada_text *text, const char *format, ...) PADA_PRINTF(2, 3);
void pada_text_add_bytes(pada_text *text, const void *bytes, size_t n);
void pada_text_add_double(pada_text *text, double x); /* with pada_shortest_digits */
const char *pada_text_str(const pada_text *text);     /* "" while empty */
void pada_text_deinit(pada_text *text);

#ifdef __cplusplus
}
#endif
#endif
