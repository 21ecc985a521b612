/* report_parts.h - what the parts of a page are made from. Private to report*.c. */
#ifndef PADA_REPORT_REPORT_PARTS_H
#define PADA_REPORT_REPORT_PARTS_H

#include "report/report.h"
#include "report/run_history.h"
#include "report/run_info.h"
#include "study/score_join.h"
#include "study/scoreboard.h"

typedef struct pada__report_run {
    const char *name; /* the folder as given */
    pada_run_info info;
    pada_history history;
    pada_truth *ranking; /* ranking.csv; NULL: not there */
    int set;             /* in the scoreboard; -1: not in it */
    pada_text notes;     /* what is missing, a line each */
} pada__report_run;

typedef struct pada__report {
    const pada_report_desc *desc;
    pada__report_run *runs; /* [n_runs] */
    /* Rankings against the truth: those of n_sets runs, of the networks that all have. */
    int n_sets; /* 0: nothing to compare */
    int *set_run;
    pada_score_join join;
    pada_scoreboard board;
} pada__report;

/* Tables that need no script. */
void pada__report_summary(const pada__report *r, pada_text *out);
void pada__report_notes(const pada__report *r, pada_text *out);
void pada__report_metrics(const pada__report *r, pada_text *out);
void pada__report_differences(const pada__report *r, pada_text *out);

/* Figures, each with the place of a chart; what cannot be shown is a sentence. */
void pada__report_training(const pada__report *r, pada_text *out);
void pada__report_sampling(const pada__report *r, pada_text *out);
void pada__report_scatter(const pada__report *r, pada_text *out);
/* The numbers of all charts as one JSON object. */
pada_status pada__report_data(const pada__report *r, pada_text *out);

/* The best networks of every run, drawn. */
pada_status pada__report_cells(const pada__report *r, pada_text *out);

#endif
