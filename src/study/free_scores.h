/* free_scores.h - scores without training of many networks, several at a time, kept in a file.
 *
 *   # pada free scores 1: az_nas 1, nb201 channels .., seed 0, backend cpu float32       what they are of
 *   |none~0|+...,33.1,0.2,-0.4,98765         network, values
 *
 * The file is SCORES/HASH.csv, where HASH is that of the first line, and grows with every network; results_file.h says what
 * happens to damaged files. What is in it is never measured again. Networks are as they are written: copies of one
 * network differ in their dead edges. */
#ifndef PADA_STUDY_FREE_SCORES_H
#define PADA_STUDY_FREE_SCORES_H

#include "data/dataset.h"
#include "study/free_score.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Everything is borrowed. */
typedef struct pada_free_scores_desc {
    const pada_free_score *score;
    const pada_space *space; /* search form; its networks */
    const pada_path *paths;  /* [n], all different */
    int n;
    const pada_dataset *data; /* of the space's size, with the training images open */
    uint64_t seed;            /* of weights and noise */
    int n_threads;            /* networks at a time; 0: the machine's default */
    const char *folder;       /* SCORES, which is made; NULL: nothing is kept */
    void *user;
    bool (*stop)(
        void *user); /* asked before every network; NULL: never. From any thread, one at a time */
    void (*progress)(void *user, int n_done, int n_total); /* likewise */
} pada_free_scores_desc;

/* Zero-initialise; deinit accepts that and a failed run. */
typedef struct pada_free_scores {
    int n;
    double *values; /* [n_values, n] in the order of the paths */
    double *scores; /* [n]: of several values what their ranks among these networks add up to */
    int n_measured; /* now, not before */
    double seconds; /* of one thread for one of these, on average */
} pada_free_scores;

/* PADA_ESTOPPED when `stop` said so; the same call resumes it. */
pada_status pada_free_scores_run(const pada_free_scores_desc *desc, pada_free_scores *out);
void pada_free_scores_deinit(pada_free_scores *scores);

#ifdef __cplusplus
}
#endif
#endif
