/* score_join.h - the networks that a truth table and tables of scores have in common. */
#ifndef PADA_STUDY_SCORE_JOIN_H
#define PADA_STUDY_SCORE_JOIN_H

#include "base/status.h"
#include "study/score_table.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Zero-initialise; deinit accepts that and a failed init. */
typedef struct pada_score_join {
    int n;          /* networks in all of the tables; may be 0 */
    int *rows;      /* [n], of the truth table, ascending: the index that breaks ties */
    double *truths; /* [n] */
    double *scores; /* [n_tables, n] */
} pada_score_join;

/* `truths` is a column of `truth`; of every table of scores the first column is taken. */
pada_status pada_score_join_init(pada_score_join *join, const pada_score_table *truth,
                                 const double *truths, pada_score_table *const *tables,
                                 int n_tables);
/* How many networks of a table of scores the join leaves out. The canonical form of one that is in the join does
 * not count: rankings have rows that only give a network its name. */
pada_status pada_score_join_left_out(const pada_score_join *join, const pada_space *space,
                                     const pada_score_table *truth, const pada_score_table *scores,
                                     int *n);
void pada_score_join_deinit(pada_score_join *join);

#ifdef __cplusplus
}
#endif
#endif
