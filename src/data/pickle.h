/* pickle.h - reads numpy arrays and lists of integers from a Python pickle, executing nothing.
 *
 * A pickle is a program for a small stack machine. This one knows the instructions of protocols 2
 * to 5 that a dict of byte arrays and lists of integers needs, and of the functions that a pickle
 * may name only those that numpy needs for its arrays, as marks without any effect of their own.
 * Everything else is refused. Memory, depth and every length are bounded by the file. */
#ifndef PADA_DATA_PICKLE_H
#define PADA_DATA_PICKLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pada_pickle pada_pickle;

/* Runs the pickle, which must make a dict. `name`, for messages, and `bytes` are borrowed as long
 * as the pickle lives. What is not understood is PADA_EDATA, "name: byte N: opcode .. : ..". */
pada_status pada_pickle_parse(pada_pickle **out, const char *name, const uint8_t *bytes,
                              size_t n_bytes);
void pada_pickle_destroy(pada_pickle *pickle); /* NULL is fine */

/* A numpy array of uint8, row by row. */
typedef struct pada_pickle_rows {
    const uint8_t *bytes; /* [n_rows, n_columns], borrowed from the pickle */
    int n_rows, n_columns;
} pada_pickle_rows;

/* The entry `key` of the dict; PADA_EDATA if there is none, or if it is anything but a
 * two-dimensional uint8 array in C order. */
pada_status pada_pickle_find_rows(const pada_pickle *pickle, const char *key,
                                  pada_pickle_rows *out);

/* The entry `key` of the dict, a list of integers: *out [*n], which the caller frees by pada_free.
 * PADA_EDATA if it is anything else. */
pada_status pada_pickle_find_ints(const pada_pickle *pickle, const char *key, int64_t **out,
                                  int *n);

#ifdef __cplusplus
}
#endif
#endif
