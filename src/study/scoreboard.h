/* scoreboard.h - several sets of scores for the same networks: their metrics, with intervals. */
#ifndef PADA_STUDY_SCOREBOARD_H
#define PADA_STUDY_SCOREBOARD_H

#include "base/status.h"
#include "study/bootstrap.h"
#include "study/metrics.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Everything is borrowed for the call. */
typedef struct pada_scoreboard_desc {
    const double *truths;        /* [n] */
    const double *const *scores; /* [n_sets][n] */
    int n, n_sets;               /* both at least 1 */
    int replicates;              /* of the bootstrap; 0: no intervals */
    uint64_t seed;
    int n_threads; /* 0: the machine's default */
} pada_scoreboard_desc;

typedef struct pada_scoreboard {
    int n, n_sets;
    pada_metrics *metrics;     /* [n_sets], owned */
    pada_bootstrap *bootstrap; /* owned */
} pada_scoreboard;

/* deinit accepts a zeroed scoreboard and one whose init failed. */
pada_status pada_scoreboard_init(pada_scoreboard *board, const pada_scoreboard_desc *desc);
void pada_scoreboard_deinit(pada_scoreboard *board);

/* What is known about metric(set) - metric(other). */
typedef struct pada_verdict {
    double difference; /* NaN: not defined for one of them */
    pada_difference sampled;
    bool is_clear;     /* the 95 % interval leaves zero out */
    int better, worse; /* sets; without meaning where there is no difference */
} pada_verdict;

pada_verdict pada_scoreboard_judge(const pada_scoreboard *board, int set, int other,
                                   pada_metric metric);

#ifdef __cplusplus
}
#endif
#endif
