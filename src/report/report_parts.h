/* report_parts.h - what the parts of a page are made from. Private to report*.c. */
#ifndef PADA_REPORT_REPORT_PARTS_H
#define PADA_REPORT_REPORT_PARTS_H

#include "probe/probe_log.h"
#include "report/report.h"
#include "report/run_info.h"
#include "study/ranking_table.h"
#include "study/score_join.h"
#include "study/scoreboard.h"
#include "study/search_log.h"
#include "study/test_results.h"
#include "train/run_history.h"

enum { PADA__REPORT_PROBES = 8 /* at most, kinds of measurements */ };

typedef struct pada__report_run {
    const char *name; /* the folder as given */
    pada_run_info info;
    pada_history history;
    pada_space space;          /* of the sizes of this run */
    bool has_sizes;            /* else they are those of the space, and costs are not known */
    double chance;             /* accuracy of guessing, percent; NaN: the classes are not known */
    pada_score_table *ranking; /* ranking.csv; NULL: not there */
    pada_ranking_table table;  /* the same, best first; rows NULL: not there */
    int set;                   /* in the scoreboard; -1: not in it */
    pada_search_log search;    /* of RUN/search; empty: there is none */
    pada_test_results test;    /* of a network that was retrained; empty: there is none */
    pada_probe_log probes[PADA__REPORT_PROBES]; /* in the order of pada_probe_get */
    pada_text notes;                            /* what is missing, a line each */
} pada__report_run;

typedef struct pada__report {
    const pada_report_desc *desc;
    pada__report_run *runs; /* [n_runs] */
    /* Rankings against the truth: those of n_sets runs, of the networks that all have, and behind them
     * in the scoreboard the n_baselines of the space. */
    int n_sets; /* 0: nothing to compare */
    int n_baselines;
    int *set_run;
    pada_score_join join;
    pada_scoreboard board;
} pada__report;

/* What a run is worth, and the runs beside each other. */
void pada__report_verdicts(const pada__report *r, pada_text *out);
void pada__report_comparison(const pada__report *r, pada_text *out);

/* Seeds beside each other; nothing for one or two runs. */
pada_status pada__report_seeds(const pada__report *r, pada_text *out);
pada_status pada__report_seed_data(const pada__report *r, bool *is_first, pada_text *out);

/* The best network of every run, drawn, and what to do with it. */
pada_status pada__report_best(const pada__report *r, pada_text *out);
/* Whether a run has something to say there. */
bool pada__report_has_best(const pada__report_run *run);
/* Those that follow. */
pada_status pada__report_further(const pada__report *r, pada_text *out);

/* What searches found, and the numbers of their charts. */
bool pada__report_has_search(const pada__report_run *run);
pada_status pada__report_search(const pada__report *r, pada_text *out);
pada_status pada__report_search_data(const pada__report *r, bool *is_first, pada_text *out);

/* Networks that were trained alone: tests, the confusion matrix of one, model files. Nothing without them. */
pada_status pada__report_test(const pada__report *r, pada_text *out);
pada_status pada__report_heat(const pada_test_results *test, const pada_tested_model *model,
                              pada_text *out);
pada_status pada__report_models(const pada__report *r, pada_text *out);

/* What was measured at checkpoints; nothing without it. */
pada_status pada__report_read_probes(pada__report_run *run);
pada_status pada__report_probes(const pada__report *r, pada_text *out);
void pada__report_probe_data(const pada__report *r, bool *is_first, pada_text *out);

/* Tables that need no script. */
void pada__report_metrics(const pada__report *r, pada_text *out);
void pada__report_baselines(const pada__report *r, pada_text *out);
void pada__report_differences(const pada__report *r, pada_text *out);
void pada__report_notes(const pada__report *r, pada_text *out);
void pada__report_provenance(const pada__report *r, pada_text *out);

/* Figures, each with the place of a chart; what cannot be shown is a sentence. */
void pada__report_training(const pada__report *r, pada_text *out);
void pada__report_sampling(const pada__report *r, pada_text *out);
pada_status pada__report_scatter(const pada__report *r, pada_text *out);
/* The numbers of all charts as one JSON object. */
pada_status pada__report_data(const pada__report *r, pada_text *out);

/* The place of a chart, RUN's if number >= 0, and its beginning in the list of all. `run` (its name) and `meaning` may be
 * NULL; the title is markup. */
void pada__report_figure(pada_text *out, const char *id, int number, const char *title,
                         const char *run, const char *meaning);
void pada__report_begin_chart(pada_text *out, bool *is_first, const char *id, int number,
                              const char *kind);

/* Whether there are networks enough for it. */
bool pada__report_has_metric(const pada__report *r, pada_metric m);

/* What several parts write (report_words.c). */
bool pada__report_is_single(const pada__report_run *run); /* of one network, trained alone */
bool pada__report_all_single(const pada__report *r);
void pada__report_begin_table(pada_text *out, const char *caption); /* markup; NULL: none */
void pada__report_end_table(pada_text *out);
void pada__report_begin_more(pada_text *out, const char *summary); /* closed until it is clicked */
void pada__report_end_more(pada_text *out);
void pada__report_run_name(const pada__report *r, const pada__report_run *run,
                           pada_text *out);                        /* a heading, among several */
void pada__report_string(pada_text *out, const char *text);        /* NULL: a dash */
void pada__report_percent(pada_text *out, double x, int decimals); /* "37.5 %" */
void pada__report_interval(pada_text *out, double low, double high,
                           int decimals);              /* NaN: nothing */
void pada__report_count(pada_text *out, double count); /* "4.42 M" */
void pada__report_cost(pada_text *out, double macs, double params);
void pada__report_class(const pada_tested_model *model, int class, pada_text *out); /* "3 cat" */
pada_status pada__report_arch(const pada__report_run *run, const pada_path *path, pada_text *out);
/* Nothing where the space has none. */
pada_status pada__report_drawing(const pada_space *space, const pada_path *path, pada_text *out);
void pada__report_epochs(const pada__report_run *run, pada_text *out); /* "3 of 12" */
void pada__report_word(pada_text *out, const char *before,
                       const char *after); /* both as one word for a shell */
/* Lines of a command: the data and the sizes of a run, to train something else on them. */
void pada__report_options(const pada__report_run *run, pada_text *out);
const char *pada__report_set_name(const pada__report *r, int set);
/* The run's best network that is not a copy; NULL: it has no ranking. */
const pada_ranking_row *pada__report_first(const pada__report_run *run);

#endif
