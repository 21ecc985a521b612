/* ranking.h - the accuracy of many networks with inherited weights, as a CSV file (ranking_table.h).
 *
 * Networks with the same canonical form compute the same and are evaluated once. In a family of
 * supernets each network is evaluated with the weights of the one that has it, and those of equal form
 * once in each; all scores stand in one table.
 *
 * Results are kept as they come, in a file for these weights, images, sizes and this arithmetic:
 *
 *   SCORES/0123456789abcdef.csv     the hash of what they belong to, which is its first line
 *   OUT.partial                     where there is no such folder; removed when the ranking is there
 *
 * What is in it is never evaluated again, whatever list of networks is asked for. The ranking does not
 * depend on interruptions, nor on how many networks are evaluated side by side, in this process or in others. */
#ifndef PADA_STUDY_RANKING_H
#define PADA_STUDY_RANKING_H

#include <stdbool.h>

#include "base/status.h"
#include "engine/engine.h"
#include "study/eval_queue.h"
#include "study/evaluate.h"
#include "study/ranking_table.h"
#include "train/family.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pada_ranking_progress {
    int n_done, n_total; /* evaluations that were asked for, those of earlier runs included */
    double seconds;      /* of this run */
    double seconds_left; /* by the multiply-adds that are left */
} pada_ranking_progress;

/* Everything is borrowed. The functions may be NULL; they are called from any thread, one at a time.
 */
typedef struct pada_ranking_desc {
    const pada_eval_worker
        *workers;  /* [n_workers] with the same weights and images, or those of the family */
    int n_workers; /* at least 1; further ones get threads of their own */
    const pada_family *family; /* NULL: one supernet */
    const pada_path *paths;    /* [n_paths], all different */
    int n_paths;
    const pada_space *cost_space; /* with the sizes that costs are of; NULL: those of the engines */
    /* Of pada_eval_farm_open; hands out networks to the processes of a team. NULL: this process does all itself. */
    pada_farm *farm;
    const char *out;    /* replaced when all is done; NULL, where there are scores: not wanted */
    const char *scores; /* folder, which is made, or NULL */
    bool writes_all;    /* `out` gets all networks of the file of scores, not only `paths` */
    void *user;
    bool (*stop)(void *user); /* asked before every evaluation */
    void (*progress)(void *user, const pada_ranking_progress *progress); /* after every one */
    void (*note)(void *user, const char *text); /* one line about earlier results */
} pada_ranking_desc;

/* PADA_ESTOPPED when `stop` said so: the same call resumes it. After that, and after a failure, evaluations
 * that are under way are ended and no others begun. `asked` gets the networks of `paths`, with the canonical forms
 * of those that are copies; NULL: not wanted. The caller deinits it, also after a failure. */
pada_status pada_ranking_run(const pada_ranking_desc *desc, pada_ranking_table *asked);
/* The part of the other processes in rankings of process 0: evaluates what its farm sends, with `workers` and `family`, until
 * process 0 closes it. Nothing else of `desc` is looked at; only process 0 reads and writes files of results. */
pada_status pada_ranking_help(const pada_ranking_desc *desc);

#ifdef __cplusplus
}
#endif
#endif
