/* path_list.h - lists of different networks: all of a space, a random sample, those of a file. */
#ifndef PADA_STUDY_PATH_LIST_H
#define PADA_STUDY_PATH_LIST_H

#include "base/status.h"
#include "space/subspace.h"
#include "study/score_table.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Zero-initialise; one of the functions below fills it. deinit accepts an empty list and one that
 * could not be filled. */
typedef struct pada_path_list {
    pada_path *paths; /* [n], owned */
    int n;
} pada_path_list;

/* Every network of the space, or of a part of it (NULL: all), the last slot changing fastest. More than 10 million
 * are PADA_EINVAL. */
pada_status pada_path_list_all(pada_path_list *list, const pada_space *space,
                               const pada_subspace *within);

/* n different ones, each equally likely, from the stream (seed, "networks", 0). A longer list of
 * the same seed begins with the shorter one. n below 1 or beyond the space or its part is PADA_EINVAL. */
pada_status pada_path_list_random(pada_path_list *list, const pada_space *space,
                                  const pada_subspace *within, int n, uint64_t seed);

/* Drops the networks that are not in a part of the space. None left is PADA_EDATA. */
pada_status pada_path_list_narrow(pada_path_list *list, const pada_space *space,
                                  const pada_subspace *within);

/* One per line, in any dialect that is not ambiguous, or in the one given; a line that this does not read may
 * be in the dialect `otherwise` (NULL: none). Empty lines do not count. An architecture that is wrong or there twice, and no architecture at all, are PADA_EDATA
 * with "file:line". */
pada_status pada_path_list_read(pada_path_list *list, const pada_space *space, const char *file,
                                const char *dialect, const char *otherwise);

/* The rows of a table, in their order. */
pada_status pada_path_list_truth(pada_path_list *list, const pada_score_table *truth);

/* What a word asks for: all, distinct (those that are their own canonical forms), truth (the rows of a table; NULL: that is
 * PADA_EINVAL), or a number of random ones; of a part of the space (NULL: all) only those inside. */
pada_status pada_path_list_choose(pada_path_list *list, const pada_space *space,
                                  const pada_subspace *within, const char *word,
                                  const pada_score_table *truth, uint64_t seed);

void pada_path_list_deinit(pada_path_list *list);

#ifdef __cplusplus
}
#endif
#endif
