/* search_files.h - what a search found, as files that others read (docs/formats.md).
 *
 *   best.csv      rank,arch,top1,loss,macs,params,latency[,score]       all that were scored, the best first
 *   front.csv     the same columns                                      those of pada_search_front, the cheapest first
 *   history.csv   evaluation,generation,arch,top1,best_so_far           all, in the order of their scoring
 *
 * Latency is in milliseconds, empty where it is not known. Where networks are ordered by anything else than top1, that is the
 * last column; best_so_far is the top1 of the best network so far. */
#ifndef PADA_STUDY_SEARCH_FILES_H
#define PADA_STUDY_SEARCH_FILES_H

#include "study/search.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PADA_SEARCH_BEST    "best.csv"
#define PADA_SEARCH_FRONT   "front.csv"
#define PADA_SEARCH_HISTORY "history.csv"

/* Replaces the files, best.csv last, in a folder that is made. `kind`: the cost of the front. */
pada_status pada_search_write(const pada_search_result *result, const pada_space *space,
                              pada_cost_kind kind, const char *folder);

#ifdef __cplusplus
}
#endif
#endif
