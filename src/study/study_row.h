/* study_row.h - what one run of a study found: the numbers of its folders. */
#ifndef PADA_STUDY_STUDY_ROW_H
#define PADA_STUDY_STUDY_ROW_H

#include "study/metrics.h"
#include "study/path_list.h"
#include "study/score_table.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum pada_study_column {
    PADA_STUDY_TAU_B,
    PADA_STUDY_TAU_B_LO,
    PADA_STUDY_TAU_B_HI,
    PADA_STUDY_P_TOP5,
    PADA_STUDY_TAU_TOP10,
    PADA_STUDY_REGRET,
    PADA_STUDY_SPEARMAN,
    PADA_STUDY_NETWORKS,
    PADA_STUDY_LOSS,
    PADA_STUDY_VARIANCE,
    PADA_STUDY_EPOCHS,
    PADA_STUDY_PASSES,
    PADA_STUDY_GMACS,
    PADA_STUDY_SECONDS,
    PADA_STUDY_FOUND_TOP1,
    PADA_STUDY_FOUND_MACS,
    PADA_STUDY_FOUND_PARAMS,
    PADA_STUDY_FOUND_TRUTH,
    PADA_STUDY_TEST_TOP1,
    PADA_STUDY_TEST_N,
    PADA_STUDY_RANDOM_TOP1,
    PADA_STUDY_RANDOM_N,
    PADA_STUDY_COLUMNS
} pada_study_column;

typedef struct pada_study_column_info {
    const char *key;     /* in files */
    const char *heading; /* for people; NULL: they are not shown it */
    int decimals;        /* that are worth printing; -1: a count, printed as 4.42M */
    double scale;        /* printed numbers are that many times as large */
} pada_study_column_info;

extern const pada_study_column_info pada_study_column_table[PADA_STUDY_COLUMNS];

/* A run with one seed. */
typedef struct pada_study_row {
    int run; /* of the plan */
    uint64_t seed;
    const char *status;                /* "done", "failed", ..; of a constant */
    double values[PADA_STUDY_COLUMNS]; /* NaN: not known */
    char weights_hash[24];             /* of the last epoch; "": not known */
    pada_text arch; /* the network that was found, or that is trained alone; owned */
} pada_study_row;

/* Where its numbers come from. Borrowed for the call. */
typedef struct pada_study_sources {
    const char *folder;            /* of the run */
    const pada_space *space;       /* of its sizes */
    bool is_alone;                 /* one network */
    const pada_score_table *truth; /* NULL: not known */
    const double *truths;          /* a column of it */
    const pada_path_list *asked;   /* networks that were to be ranked; NULL: all of the file */
    int replicates;                /* of the bootstrap; 0: no intervals */
    int n_threads;                 /* 0: the machine's default */
} pada_study_sources;

/* Nothing is known. deinit accepts a zeroed row. */
void pada_study_row_init(pada_study_row *row, int run, uint64_t seed);
void pada_study_row_deinit(pada_study_row *row);

/* Fills in what the folder has: metrics.csv, ranking.csv against the truth, search/best.csv, and test.json of a network
 * alone. What is not there stays unknown; what is broken is PADA_EDATA. */
pada_status pada_study_row_read(pada_study_row *row, const pada_study_sources *from);
/* Adds what another run has cost: epochs, passes, multiply-adds and seconds. */
pada_status pada_study_row_add_cost(pada_study_row *row, const char *folder);
/* Adds a test of the network that was found (or of a random one), trained once more, to the mean. */
pada_status pada_study_row_add_test(pada_study_row *row, const char *folder, bool is_random);

#ifdef __cplusplus
}
#endif
#endif
