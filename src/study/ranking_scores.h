/* ranking_scores.h - the results of evaluations with one set of weights and images, kept in a file that only
 * grows.
 *
 *   # pada scores 2: nb201 ..., weights 0123456789abcdef, CIFAR-10 test, ...     what they are of
 *   |none~0|+...,1043,2.1872004[,0.0371]               network, correct images, loss, and mean margin where there are some
 *
 * Networks of one canonical form have a line each, as far as they were asked for. results_file.h says what
 * happens to damaged files. Private to ranking.c. */
#ifndef PADA_STUDY_RANKING_SCORES_H
#define PADA_STUDY_RANKING_SCORES_H

#include "base/status.h"
#include "space/space.h"
#include "study/results_file.h"

typedef struct pada__scores pada__scores;

typedef struct pada__score {
    pada_path network;
    int correct;
    double loss;
    double margin; /* 0: there are none */
} pada__score;

typedef struct pada__scores_desc {
    const char *path;
    const char *header; /* the first line, without newline */
    const pada_space *space;
    int n_images;         /* more correct ones are PADA_EDATA */
    bool has_margins;     /* a fourth number in every line */
    bool replaces_others; /* see results_file.h */
} pada__scores_desc;

/* Opens the file for appending and reads what is there. */
pada_status pada__scores_open(pada__scores **out, const pada__scores_desc *desc,
                              pada__results_found *found);
void pada__scores_close(pada__scores *scores); /* keeps the file; NULL is fine */

/* What was there when it was opened, in the order of the lines, which begin with number 2. Borrowed. */
int pada__scores_count(const pada__scores *scores);
const pada__score *pada__scores_get(const pada__scores *scores, int i);

/* Adds lines to the file, all of them or, where it fails, some. */
pada_status pada__scores_append(pada__scores *scores, const pada__score *list, int n);
pada_status pada__scores_sync(pada__scores *scores); /* to the disk */

#endif
