/* rank_state.h - what `pada rank` has read and found; shared by cmd_rank.c and the rank_*.c that it calls. */
#ifndef PADA_CLI_RANK_STATE_H
#define PADA_CLI_RANK_STATE_H

#include <signal.h>

#include "cli/progress.h"
#include "cli/rank_free.h"
#include "cli/supernets.h"
#include "cli/truth_args.h"
#include "run/cost_args.h"
#include "study/mixed_ranking.h"
#include "study/path_list.h"

#define PADA_RANK_COLUMN "score" /* of files of scores */

typedef struct pada_rank_state {
    pada_run_args run_args;
    pada_truth_args truth_args;
    pada_combine_args combine_args;
    pada_cost_args cost_args;
    const char *free_names, *predictions, *networks, *list_file, *dialect, *out;
    double max_seconds;
    int64_t in_flight; /* 0: as many as the backend likes */
    int64_t top;
    uint64_t seed;
    bool quiet, json;

    const char *run; /* the folder, the first of several, or NULL */
    pada_supernets nets;
    pada_space space;             /* of the networks, with the sizes that their costs are of */
    pada_text out_file;           /* of the ranking */
    const char *score_file;       /* the ranking or the predictions */
    pada_truth_column_view truth; /* empty without --truth */
    pada_path_list list;
    pada_score_table *scores;   /* of the networks that were asked for */
    pada_ranking_table table;   /* the same, and their canonical forms */
    pada_mixed mixed;           /* what they are made of, where that is several */
    pada_rank_free free_scores; /* those of --scores */
    bool is_free;               /* they are the ranking: there is no run */
    pada_farm *farm;            /* that hands out the evaluations */
    const volatile sig_atomic_t *stop_signal;
    double start; /* clock */
    bool has_progressed;
    pada_meter meter;
} pada_rank_state;

/* What a supernet is called: its folder, or its file; and all of them. */
const char *pada_rank_name_of(const pada_rank_state *r, int i);
void pada_rank_name_runs(const pada_rank_state *r, const char **names);

/* rank_scores.c: evaluates the networks of the list into the file of the ranking, by all processes that there are; then, in
 * process 0, table, scores and, as far as they are wanted, `mixed` and `free_scores` are there. PADA_ESTOPPED when it is
 * time. */
pada_status pada_rank_make_scores(pada_rank_state *r, const pada_options *options);
/* rank_report.c: appends what the command prints. */
pada_status pada_rank_report(const pada_rank_state *r, pada_text *out);

#endif
