/* rank_free.h - scores without training in a ranking: as the ranking itself, or beside that of a run. */
#ifndef PADA_CLI_RANK_FREE_H
#define PADA_CLI_RANK_FREE_H

#include "cli/progress.h"
#include "cli/rank_sets.h"
#include "cli/run_args.h"
#include "study/free_scores.h"
#include "study/path_list.h"

enum { PADA_RANK_MAX_FREE = 8 };

typedef struct pada_rank_free_score {
    const pada_free_score *score;
    pada_free_scores found;
} pada_rank_free_score;

/* Zero-initialise; deinit accepts that. */
typedef struct pada_rank_free {
    pada_rank_free_score list[PADA_RANK_MAX_FREE];
    int n;
    pada_path_index *paths; /* that they are of */
} pada_rank_free;

/* "naswot,az_nas": an unknown name, and one that is there twice, are PADA_EINVAL. */
pada_status pada_rank_free_parse(pada_rank_free *free_scores, const char *names);

/* Everything is borrowed. */
typedef struct pada_rank_free_desc {
    const pada_supernet *net; /* of which space, sizes and data set are taken */
    const pada_path_list *list;
    uint64_t seed;
    const char *folder; /* of results */
    pada_meter *meter;
    int milestone_seconds;
    bool *has_progressed; /* set when a network is done */
    void *user;
    bool (*stop)(void *user);
} pada_rank_free_desc;

/* Opens the training images and measures all. PADA_ESTOPPED when `stop` said so. */
pada_status pada_rank_free_measure(pada_rank_free *free_scores, const pada_rank_free_desc *desc);
void pada_rank_free_deinit(pada_rank_free *free_scores);

/* The networks in the order of the first score, and the file with all of them (docs/formats.md). */
pada_status pada_rank_free_table(const pada_rank_free *free_scores, const pada_space *space,
                                 pada_ranking_table *table);
pada_status pada_rank_free_write(const pada_rank_free *free_scores, const pada_ranking_table *table,
                                 pada_text *out);

/* Sets of those from number `first` on. */
pada_status pada_rank_free_add_sets(const pada_rank_free *free_scores, int first,
                                    pada_rank_sets *sets, const pada_score_table *truth,
                                    const pada_score_join *join);
/* Appends a line for each that was measured now: how long a network takes. */
void pada_rank_free_add_times(const pada_rank_free *free_scores, pada_text *out);

#endif
