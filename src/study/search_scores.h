/* search_scores.h - the scores of searches by a supernet, which are kept where rankings keep them. */
#ifndef PADA_STUDY_SEARCH_SCORES_H
#define PADA_STUDY_SEARCH_SCORES_H

#include "study/ranking.h"
#include "study/search.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Evaluates desc->paths, as far as they have no scores, and gives those of all, in their order. The score is that of
 * ranking.csv. desc->scores must be a folder. */
pada_status pada_search_scores(const pada_ranking_desc *desc, pada_search_score *scores);

#ifdef __cplusplus
}
#endif
#endif
