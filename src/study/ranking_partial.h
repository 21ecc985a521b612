/* ranking_partial.h - the results of a ranking that is not finished, in a file that only grows.
 *
 *   # pada ranking 1: nb201 ..., weights 0123456789abcdef, CIFAR-10 test, ...     what they are of
 *   |none~0|+...,1043,2.1872004                        arch, correct images, loss
 *
 * A line is written as a whole when its network is done. What a killed process left of its last
 * line, and everything from the first damaged line on, is cut off when the file is opened again.
 * Private to ranking.c. */
#ifndef PADA_STUDY_RANKING_PARTIAL_H
#define PADA_STUDY_RANKING_PARTIAL_H

#include "base/status.h"
#include "space/space.h"

typedef struct pada__partial pada__partial;

typedef struct pada__partial_entry {
    pada_path path;
    int correct;
    double loss;
} pada__partial_entry;

/* What was there when the file was opened. */
typedef enum pada__partial_found {
    PADA__PARTIAL_NONE,    /* nothing */
    PADA__PARTIAL_OTHER,   /* results of something else, now gone */
    PADA__PARTIAL_RESULTS, /* results, perhaps none yet */
} pada__partial_found;

typedef struct pada__partial_desc {
    const char *path;
    const char *header; /* the first line, without newline */
    const pada_space *space;
    /* Called for every result in the file. */
    void (*take)(void *user, const pada__partial_entry *entry);
    void *user;
} pada__partial_desc;

/* Opens the file for appending, and makes it if it is not there or starts with another header. */
pada_status pada__partial_open(pada__partial **out, const pada__partial_desc *desc,
                               pada__partial_found *found);
pada_status pada__partial_append(pada__partial *partial, const pada__partial_entry *entry);
void pada__partial_close(pada__partial *partial); /* keeps the file; NULL is fine */

#endif
