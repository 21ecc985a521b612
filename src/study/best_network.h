/* best_network.h - the best network that is known of a run with a supernet. */
#ifndef PADA_STUDY_BEST_NETWORK_H
#define PADA_STUDY_BEST_NETWORK_H

#include "space/space.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The first row of RUN/search/best.csv, or without a search the first of the distinct networks of RUN/ranking.csv; neither
 * is PADA_ENOENT. *file is the name of it inside the folder. */
pada_status pada_best_network(const char *run, const pada_space *space, pada_path *out,
                              const char **file);

#ifdef __cplusplus
}
#endif
#endif
