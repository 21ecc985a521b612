/* free_score.h - a score of a network that needs no training: how it is measured.
 *
 * A score is a file free_<name>.c and a line in free_scores.def. It is measured on the network in its final form, as it
 * is written (dead edges included), with fresh weights of a seed; free_scores.h measures many. What a score is may be
 * several numbers, of which only ranks are added up in the end (AZ-NAS). */
#ifndef PADA_STUDY_FREE_SCORE_H
#define PADA_STUDY_FREE_SCORE_H

#include "engine/trial.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PADA_MAX_FREE_VALUES 4
#define PADA_FREE_WORST      (-1e30) /* what stands for minus infinity: worse than everything */

typedef struct pada_free_score {
    const char *name;  /* one word */
    const char *label; /* for people, with the paper */
    int n_values;
    const char *values[PADA_MAX_FREE_VALUES]; /* their names, where there are several */
    int n_images;                             /* training images that it looks at; 0: none */
    bool in_double;                           /* float32 would overflow: runs on the backend ref */
    int version; /* of the definition: results of another one are not used */
    /* Measures the network that the trial has taken. The batch has n_images images, not augmented. More must be
     * better, and all values finite: PADA_FREE_WORST stands for the others. */
    pada_status (*measure)(pada_trial *trial, const pada_batch *batch, uint64_t seed,
                           double *values);
} pada_free_score;

/* Finds one by name; an unknown one is PADA_EINVAL and offers the nearest name. */
pada_status pada_free_score_find(const pada_free_score **out, const char *name);
const char *pada_free_score_name(int i); /* of the i-th; NULL after the last */

/* One score of n networks from their values, [n_values, n]: the value, or, of several, the sum of log(rank / n), where
 * the worst has rank 1 and equal ones share their mean rank. */
pada_status pada_free_score_combine(const pada_free_score *score, const double *values, int n,
                                    double *out);

#ifdef __cplusplus
}
#endif
#endif
