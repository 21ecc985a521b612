/* study_results.h - what a study found: its rows, its files, its page. */
#ifndef PADA_CLI_STUDY_RESULTS_H
#define PADA_CLI_STUDY_RESULTS_H

#include "cli/study_jobs.h"
#include "study/study_table.h"

/* A row for each run and seed, in the order of jobs. Zero-initialise; deinit accepts that and a failed read. */
typedef struct pada_study_results {
    pada_study_row *rows; /* [n], owned */
    int n;
    bool has_truths;  /* all that have a truth have it of the same column, */
    char column[256]; /* this one; "": there is none */
} pada_study_results;

/* A run whose files cannot be read has failed. */
pada_status pada_study_results_read(pada_study_results *results, pada_study_jobs *jobs);
void pada_study_results_deinit(pada_study_results *results);

/* Replaces OUT/study.csv, summary.csv, differences.csv, and study.txt by the table for people. */
pada_status pada_study_results_write(const pada_study_results *results, const pada_study_jobs *jobs,
                                     const char *shown);
/* Makes the command that writes OUT/report.html; *found is false where there is nothing to report. */
pada_status pada_study_report_command(const pada_study_results *results,
                                      const pada_study_jobs *jobs, pada_command_line *line,
                                      bool *found);

#endif
