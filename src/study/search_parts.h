/* search_parts.h - what search algorithms are and work with. Private to search*.c.
 *
 * An algorithm offers networks until it has enough of a generation, has them scored, and looks at the entries. */
#ifndef PADA_STUDY_SEARCH_PARTS_H
#define PADA_STUDY_SEARCH_PARTS_H

#include "space/path_index.h"
#include "study/search.h"

typedef struct pada__search {
    const pada_search_desc *desc;
    pada_search_entry *entries; /* [n_most], n of them offered, n_scored with scores */
    int n, n_scored, n_most;
    int generation;         /* that is offered now */
    pada_path_index *forms; /* canonical ones of the entries */
    pada_path *paths;       /* [n_most] of a generation, while it is scored */
    pada_search_score *scores;
} pada__search;

struct pada_search_algorithm {
    const char *name;
    double (*most)(const pada_search_settings *settings); /* networks, without the budget */
    pada_status (*run)(pada__search *s);
};

/* The stream of the generation that is offered now. */
void pada__search_stream(const pada__search *s, const char *name, pada_rng *rng);

/* Adds a network to the generation; false: it is there already, outside the limits, or there is no room. */
bool pada__search_offer(pada__search *s, const pada_path *path);
/* Adds random ones until the generation has n, or no further ones are found. */
void pada__search_fill(pada__search *s, int64_t n);
int pada__search_n_offered(const pada__search *s);

/* Scores the generation and begins the next one. */
pada_status pada__search_score(pada__search *s);

/* *order, owned by the caller, lists those with scores, the best first: by value, then loss, then age. */
pada_status pada__search_best_first(const pada__search *s, int **order);

/* Chooses an entry to make others of. */
typedef const pada_path *(*pada__search_pick)(void *user, pada_rng *rng);
/* Offers mutants and crossovers of those that `pick` chooses, and random ones, up to the size of the population. */
void pada__search_breed(pada__search *s, pada__search_pick pick, void *user);
/* For pada_search_algorithm: a random population, and generations that are bred. */
double pada__search_most_bred(const pada_search_settings *settings);

#endif
