/* ranking.h - the accuracy of many networks with inherited weights, as a CSV file.
 *
 *   arch,score,correct,images,loss       score: correct images in percent
 *   arch,score,correct,images,loss,supernet      in a family of supernets: the one that judged it
 *
 * Networks with the same canonical form compute the same and are evaluated once. In a family of
 * supernets each network is evaluated with the weights of the one that has it, and those of equal form
 * once in each; all scores stand in one table. Results are kept
 * in `out`.partial as they come; a ranking that was stopped or killed goes on from there, if the
 * weights, the images and the sizes are still the same, whatever the list of networks. The result
 * does not depend on interruptions, nor on how many networks are evaluated side by side. */
#ifndef PADA_STUDY_RANKING_H
#define PADA_STUDY_RANKING_H

#include <stdbool.h>

#include "base/status.h"
#include "engine/engine.h"
#include "study/evaluate.h"
#include "train/family.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pada_ranking_progress {
    int n_done, n_total; /* evaluations, those of earlier runs included */
    double seconds;      /* of this run */
    double seconds_left; /* by the multiply-adds that are left */
} pada_ranking_progress;

/* Evaluates one network at a time. */
typedef struct pada_ranking_worker {
    pada_engine *engine; /* has the weights, or gets those of the family */
    pada_evaluator *evaluator;
} pada_ranking_worker;

/* Everything is borrowed. The functions may be NULL; they are called from any thread, one at a time.
 */
typedef struct pada_ranking_desc {
    const pada_ranking_worker *workers; /* [n_workers] with the same weights and images */
    int n_workers;                      /* at least 1; further ones get threads of their own */
    const pada_family *family;          /* NULL: one supernet */
    const pada_path *paths;             /* [n_paths], all different; the order of the rows */
    int n_paths;
    const char *out; /* replaced when all is done */
    void *user;
    bool (*stop)(void *user); /* asked before every evaluation */
    void (*progress)(void *user, const pada_ranking_progress *progress); /* after every one */
    void (*note)(void *user, const char *text); /* one line about an earlier partial file */
} pada_ranking_desc;

/* PADA_ESTOPPED when `stop` said so: the same call goes on. After that, and after a failure, evaluations
 * that are under way are ended and no others begun. */
pada_status pada_ranking_run(const pada_ranking_desc *desc);

#ifdef __cplusplus
}
#endif
#endif
