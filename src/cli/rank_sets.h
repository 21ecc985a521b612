/* rank_sets.h - the scores that a ranking is shown beside: those it is made of, and baselines. */
#ifndef PADA_CLI_RANK_SETS_H
#define PADA_CLI_RANK_SETS_H

#include "study/mixed_ranking.h"
#include "study/score_join.h"
#include "study/scoreboard.h"

/* Scores of the networks in common with the truth. */
typedef struct pada_rank_set {
    char *name;     /* owned */
    double *scores; /* [n of the join], owned */
} pada_rank_set;

/* Zero-initialise; deinit accepts that. */
typedef struct pada_rank_sets {
    pada_rank_set *list; /* [n], owned */
    int n, cap;
} pada_rank_sets;

/* `truth` is the table whose rows the join names. */
pada_status pada_rank_sets_add_scores(pada_rank_sets *sets, const char *name,
                                      const pada_score_join *join);
/* The mean of several runs where a prior is added to it, and each run by itself. */
pada_status pada_rank_sets_add_runs(pada_rank_sets *sets, const pada_mixed *mixed,
                                    const char *const *runs, const pada_score_table *truth,
                                    const pada_score_join *join);
/* Values of a list of networks, all those of the join among them. */
pada_status pada_rank_sets_add_values(pada_rank_sets *sets, const char *name,
                                      const pada_path_index *paths, const double *values,
                                      const pada_score_table *truth, const pada_score_join *join);
/* Those of the space; `prior`, which may be NULL, is marked as such. */
pada_status pada_rank_sets_add_baselines(pada_rank_sets *sets, const pada_space *space,
                                         const pada_space_score *prior,
                                         const pada_score_table *truth,
                                         const pada_score_join *join);
void pada_rank_sets_deinit(pada_rank_sets *sets);

/* The scoreboard of all of them: `desc` without scores. */
pada_status pada_rank_sets_judge(const pada_rank_sets *sets, const pada_scoreboard_desc *desc,
                                 pada_scoreboard *board);

#endif
