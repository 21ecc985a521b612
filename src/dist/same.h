/* same.h - whether the processes of a team work on the same thing. */
#ifndef PADA_DIST_SAME_H
#define PADA_DIST_SAME_H

#include "dist/team.h"

enum { PADA_SAME_MOST = 8 };

typedef struct pada_same {
    const char *what; /* "images": for the message */
    uint64_t hash;
    pada_status otherwise; /* where it differs */
} pada_same;

/* Compares hashes, at most PADA_SAME_MOST, of all processes with those of process 0. The first that differs fails everywhere, with
 * a message that names the thing, the process and its machine. */
pada_status pada_team_check_same(pada_team *team, const pada_same *list, int n);

#endif
