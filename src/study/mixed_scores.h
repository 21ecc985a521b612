/* mixed_scores.h - the scores of searches by one supernet or several, and a prior (combine.h).
 *
 * What a score is must not depend on how a search goes. Ranks and calibrated accuracies are therefore those among a
 * reference: random networks inside the limits, drawn by the seed and evaluated before the search. */
#ifndef PADA_STUDY_MIXED_SCORES_H
#define PADA_STUDY_MIXED_SCORES_H

#include "study/cost_limits.h"
#include "study/mixed_ranking.h"
#include "study/ranking.h"
#include "study/search.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Everything is borrowed until the end. */
typedef struct pada_mixed_scores_desc {
    const pada_space *space;
    const pada_cost_limits *limits;
    uint64_t seed;
    int n_reference; /* at least 2; see pada_mixed_scores_n_reference */
    /* [n_runs], all of one space and of the same images: without paths and functions, `scores` must be a folder. */
    const pada_ranking_desc *runs;
    int n_runs;
    pada_judgement by;
    pada_combine combine;
    pada_prior prior;
    void *user;
    bool (*stop)(void *user);                                            /* as in ranking.h */
    void (*progress)(void *user, const pada_ranking_progress *progress); /* n_done: of all so far */
} pada_mixed_scores_desc;

typedef struct pada_mixed_scores pada_mixed_scores;

/* How many networks of the desc the reference needs: none where the score is a mean of accuracies. */
int pada_mixed_scores_n_reference(const pada_mixed_scores_desc *desc);

/* Evaluates the reference, as far as it has no scores. PADA_ESTOPPED when `stop` said so. */
pada_status pada_mixed_scores_create(pada_mixed_scores **out, const pada_mixed_scores_desc *desc);
void pada_mixed_scores_destroy(pada_mixed_scores *scores); /* NULL is fine */

double pada_mixed_scores_weight(const pada_mixed_scores *scores); /* of the prior */

/* Evaluates the paths, as far as they have no scores, and gives those of all, in their order. top1 and loss are means
 * over the runs. */
pada_status pada_mixed_scores_get(pada_mixed_scores *scores, const pada_path *paths, int n,
                                  pada_search_score *out);

#ifdef __cplusplus
}
#endif
#endif
