/* iso_paths.h - one path of every class of isomorphic ones, all equally likely. */
#ifndef PADA_STRATEGY_ISO_PATHS_H
#define PADA_STRATEGY_ISO_PATHS_H

#include "sampler/path_sampler.h"

typedef struct pada_iso_paths {
    const pada_space *space;
    int32_t *numbers; /* [n] of the paths, path_number.h; the first of each class */
    int n;
    pada_path_sampler sampler; /* how often each choice is drawn; slots depend on each other */
} pada_iso_paths;

/* `list` is zeroed. A space that is too large to be listed is PADA_EINVAL; where isomorphism is not
 * defined, every path is a class. */
pada_status pada_iso_paths_init(pada_iso_paths *list, const pada_space *space);
void pada_iso_paths_deinit(pada_iso_paths *list); /* a zeroed one is fine */
/* The path of one training step: stream (seed, "path", step). */
void pada_iso_paths_draw(const pada_iso_paths *list, uint64_t seed, int64_t step, pada_path *path);

#endif
