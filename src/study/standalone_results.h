/* standalone_results.h - the accuracies of finished trainings, in a file that only grows.
 *
 *   arch,seed,correct,images
 *   |nor_conv_3x3~0|+...,0,712,1000          one training, by canonical form and seed
 *
 * Lines stand in the order in which trainings ended, and in one order when all are done. A line is on the disk before append returns. results_file.h says what happens to damaged files. Private to
 * standalone.c. */
#ifndef PADA_STUDY_STANDALONE_RESULTS_H
#define PADA_STUDY_STANDALONE_RESULTS_H

#include "base/status.h"
#include "space/space.h"

typedef struct pada__results pada__results;

typedef struct pada__result {
    pada_path form;
    uint64_t seed;
    int correct, images;
} pada__result;

/* Opens the file for appending and makes it if it is not there; `take` is called for every result in
 * it, in the order in which they were appended. A file that starts with another line, or has one that is no
 * result, is PADA_EDATA. */
pada_status pada__results_open(pada__results **out, const pada_space *space, const char *path,
                               void (*take)(void *user, const pada__result *result), void *user);
pada_status pada__results_append(pada__results *results, const pada__result *result);
/* Puts the lines in order, as the last call but close: by the place that each has, then those without one (-1) by form and
 * seed. The file is replaced if that changes anything. */
pada_status pada__results_arrange(pada__results *results,
                                  int (*place)(void *user, const pada__result *result), void *user);
void pada__results_close(pada__results *results); /* NULL is fine */

#endif
