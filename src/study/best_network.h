/* best_network.h - the best networks that are known of a run with a supernet. */
#ifndef PADA_STUDY_BEST_NETWORK_H
#define PADA_STUDY_BEST_NETWORK_H

#include "space/space.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The first rows of RUN/search/best.csv, or without a search the best of the distinct networks of RUN/ranking.csv; neither
 * is PADA_ENOENT. paths [n]; *n_found: how many there are, at most n. *file is the name of it inside the folder. */
pada_status pada_best_networks(const char *run, const pada_space *space, int n, pada_path *paths,
                               int *n_found, const char **file);
/* The first of them. */
pada_status pada_best_network(const char *run, const pada_space *space, pada_path *out,
                              const char **file);

#ifdef __cplusplus
}
#endif
#endif
