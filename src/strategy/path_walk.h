/* path_walk.h - a walk through the paths of a space that changes one slot at a time.
 *
 * The first path is the one that a uniform sampler draws; every step changes one slot that the path uses, any
 * of them, to another of its choices, any of them. The path is all that is remembered. */
#ifndef PADA_STRATEGY_PATH_WALK_H
#define PADA_STRATEGY_PATH_WALK_H

#include "strategy/strategy.h"

typedef struct pada_walk_settings {
    bool skip_dead;
} pada_walk_settings;

extern const pada_opt pada_walk_options[];

typedef struct pada_path_walk {
    pada_walk_settings settings;
    const pada_strategy_env *env;
    pada_path_sampler sampler;          /* uniform, as the walk is in the long run */
    int slots[PADA_MAX_SLOTS], n_slots; /* that have another choice to walk to */
    pada_path path;                     /* of the last step */
} pada_path_walk;

/* A space with one path only is PADA_EINVAL. */
pada_status pada_path_walk_init(pada_path_walk *walk, const pada_strategy_env *env,
                                const pada_walk_settings *settings);
/* Goes on to the path of step `number`, by random numbers of the stream (seed, "path", number). */
void pada_path_walk_step(pada_path_walk *walk, int64_t number);
void pada_path_walk_visit(pada_path_walk *walk, pada_state *state);

#endif
