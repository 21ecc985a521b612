/* study_table.h - the numbers of all runs of a study, and what they are over seeds. */
#ifndef PADA_STUDY_STUDY_TABLE_H
#define PADA_STUDY_STUDY_TABLE_H

#include "base/text.h"
#include "study/study_plan.h"
#include "study/study_row.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A number over seeds. NaN: there are none. */
typedef struct pada_study_mean {
    int n;            /* seeds that have it */
    double mean;      /* of them */
    double deviation; /* of the sample, with n - 1; NaN for one seed */
} pada_study_mean;

/* Everything is borrowed. */
typedef struct pada_study_table {
    const pada_study_plan *plan;
    const pada_study_row *rows; /* [n_rows] */
    int n_rows;
} pada_study_table;

/* A column over the seeds of a run. */
pada_study_mean pada_study_table_mean(const pada_study_table *table, int run,
                                      pada_study_column column);
/* The differences of two runs, seed by seed, of the seeds that both have. The standard error of the mean is its deviation
 * over the root of n. */
pada_study_mean pada_study_table_difference(const pada_study_table *table,
                                            const pada_study_pair *pair, pada_study_column column);
double pada_study_standard_error(const pada_study_mean *mean);

/* Test accuracies of networks that were trained alone, against the truth table: means over runs of the means over their
 * seeds, in points. */
typedef struct pada_study_errors {
    int n;           /* runs of which both are known */
    double mean;     /* test minus truth; NaN for none */
    double absolute; /* the same without signs */
    double largest;  /* of those */
} pada_study_errors;

pada_study_errors pada_study_table_errors(const pada_study_table *table);

/* Append study.csv (a line for each run and seed), summary.csv (for each run) and differences.csv (for each pair and column). */
void pada_study_table_write(const pada_study_table *table, pada_text *out);
void pada_study_table_write_summary(const pada_study_table *table, pada_text *out);
void pada_study_table_write_differences(const pada_study_table *table, pada_text *out);

#ifdef __cplusplus
}
#endif
#endif
