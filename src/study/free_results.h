/* free_results.h - the file of scores without training (free_scores.h). Private to free_scores.c. */
#ifndef PADA_STUDY_FREE_RESULTS_H
#define PADA_STUDY_FREE_RESULTS_H

#include "space/space.h"
#include "study/free_score.h"
#include "study/results_file.h"

typedef struct pada__free_results pada__free_results;

typedef struct pada__free_results_desc {
    const char *path;
    const char *header; /* the first line, without newline */
    const pada_space *space;
    int n_values;
    /* Called for every line that is there, in order. */
    pada_status (*take)(void *user, const pada_path *path, const double *values);
    void *user;
} pada__free_results_desc;

/* Opens the file for appending and reads what is there; a line that is no result is PADA_EDATA. */
pada_status pada__free_results_open(pada__free_results **out, const pada__free_results_desc *desc);
pada_status pada__free_results_append(pada__free_results *results, const pada_path *path,
                                      const double *values);
pada_status pada__free_results_sync(pada__free_results *results); /* to the disk */
void pada__free_results_close(pada__free_results *results);       /* keeps the file; NULL is fine */

#endif
