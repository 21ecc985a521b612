/* novelty_archive.h - a few paths that are as different from each other as random search finds.
 *
 *   distance(x, y)   share of the slots in which two paths differ
 *   novelty(x, S)    mean of the `neighbours` smallest distances of x to paths of S; 0 if S is empty
 *
 * While there is room, every update adds the most novel of some random paths. From then on the
 * member that is closest to the current path makes room for the most novel, with respect to the
 * other members, of itself and the paths trained lately. */
#ifndef PADA_STRATEGY_NOVELTY_ARCHIVE_H
#define PADA_STRATEGY_NOVELTY_ARCHIVE_H

#include "space/space.h"
#include "tensor/state.h"

#define PADA_MAX_MEMBERS 64

typedef struct pada_novelty_settings {
    int64_t members;    /* of a full archive, 1 to PADA_MAX_MEMBERS */
    int64_t neighbours; /* that novelty looks at; at most all members */
    int64_t recent;     /* paths that are remembered */
    int64_t candidates; /* random paths tried for every new member */
} pada_novelty_settings;

typedef struct pada_novelty_archive {
    pada_novelty_settings settings;
    const pada_space *space;
    uint64_t seed;
    pada_path members[PADA_MAX_MEMBERS];
    pada_path *recent; /* [settings.recent] a ring */
    int32_t n_members, n_recent;
    int32_t next; /* place in the ring that the next path takes */
} pada_novelty_archive;

/* A zeroed archive becomes an empty one. */
pada_status pada_novelty_archive_init(pada_novelty_archive *a, const pada_space *space,
                                      uint64_t seed, const pada_novelty_settings *settings);
void pada_novelty_archive_deinit(pada_novelty_archive *a); /* a zeroed one is fine */

/* Takes the current path of a step into account: the archive changes, by random numbers of the
 * stream (seed, "novelty", step), then the path joins the recent ones. */
void pada_novelty_archive_update(pada_novelty_archive *a, const pada_path *current, int64_t step);

double pada_path_distance(const pada_space *space, const pada_path *x, const pada_path *y);
/* With respect to all members but one; -1: all. */
double pada_novelty_archive_novelty(const pada_novelty_archive *a, const pada_path *x, int without);

void pada_novelty_archive_visit(pada_novelty_archive *a, pada_state *state);

#endif
