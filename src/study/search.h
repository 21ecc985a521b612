/* search.h - the search for the best networks of a supernet.
 *
 * An algorithm proposes networks, a generation at a time; whoever calls gives their scores. An algorithm is a file
 * search_<name>.c and a line in searches.def; search_parts.h is what it works with.
 *
 * What is found is a function of space, limits, settings, seed and scores: random numbers come from streams named by
 * the generation, and nothing else is remembered. A search that was interrupted is therefore repeated; it is quick where
 * the caller has kept the scores. Networks with the same canonical form are one network and are scored once, as that
 * form where it keeps the limits, too. */
#ifndef PADA_STUDY_SEARCH_H
#define PADA_STUDY_SEARCH_H

#include "base/option.h"
#include "base/status.h"
#include "study/cost_limits.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pada_search_algorithm pada_search_algorithm; /* search_parts.h */

/* Finds an algorithm by name; an unknown one is PADA_EINVAL and offers the nearest name. */
pada_status pada_search_find(const pada_search_algorithm **out, const char *name);
const char *pada_search_name(int i); /* of the i-th; NULL after the last */

/* What can be set, and the table of options that sets it. Not every algorithm looks at everything. */
typedef struct pada_search_settings {
    int64_t rounds, per_round;       /* random */
    int64_t population, generations; /* evolution and pareto, as the following */
    int64_t parents;                 /* evolution: the best so many of all */
    int64_t mutants, crossovers;     /* wanted in a generation; what is missing is random */
    int64_t tries;                   /* for the mutants, and for the crossovers, of a generation */
    double mutation;                 /* probability that a choice is drawn anew */
    int64_t budget;                  /* scores at most; 0: no limit */
    int cost;                        /* pada_cost_kind that pareto minimises */
} pada_search_settings;

extern const pada_opt pada_search_options[];

typedef struct pada_search_score {
    double value;  /* any scale on which more is better; of one supernet the same as top1 */
    double loss;   /* of equal ones the lower is better */
    double top1;   /* percent, for those who read what was found */
    double margin; /* mean of the images; 0: not known */
} pada_search_score;

/* By value, then loss; false for equal ones. */
bool pada_search_score_is_better(const pada_search_score *a, const pada_search_score *b);

/* A network that was scored. */
typedef struct pada_search_entry {
    pada_path path;
    pada_search_score score;
    int generation;                /* from 0; of random its round */
    int64_t cost[PADA_COST_KINDS]; /* -1: not known */
} pada_search_entry;

typedef struct pada_search_progress {
    int n_done, n_most; /* networks; it may end with fewer */
    int generation;     /* that is done */
    const pada_search_entry *best;
} pada_search_progress;

/* Everything is borrowed. */
typedef struct pada_search_desc {
    const pada_space *space;
    const pada_cost_limits *limits;
    const pada_search_algorithm *algorithm;
    pada_search_settings settings;
    uint64_t seed;
    void *user;
    /* Scores n different networks, of which none has been here before. */
    pada_status (*evaluate)(void *user, const pada_path *paths, int n, pada_search_score *scores);
    bool (*stop)(void *user); /* asked before every generation; NULL: never */
    void (*progress)(void *user, const pada_search_progress *progress); /* NULL: not wanted */
} pada_search_desc;

/* Zero-initialise; deinit accepts that and a failed run. */
typedef struct pada_search_result {
    pada_search_entry *entries; /* [n] in the order of their scoring, owned */
    int *order;                 /* [n] the best first, owned */
    int n;
    int n_most;      /* that the settings allow: fewer were found where n is less */
    bool has_values; /* they are not top1: the files name them, too. Set by the caller */
} pada_search_result;

/* The most networks that the settings allow. Numbers that make no sense together are PADA_EINVAL. */
pada_status pada_search_most(const pada_search_algorithm *algorithm,
                             const pada_search_settings *settings, int *n);

/* PADA_ESTOPPED when `stop` said so. */
pada_status pada_search_run(const pada_search_desc *desc, pada_search_result *result);
void pada_search_result_deinit(pada_search_result *result);

/* *front, owned by the caller, lists the entries that no other one beats in score at the same or a lower cost, the
 * cheapest first. The cost must be known. */
pada_status pada_search_front(const pada_search_result *result, pada_cost_kind kind, int **front,
                              int *n);

#ifdef __cplusplus
}
#endif
#endif
