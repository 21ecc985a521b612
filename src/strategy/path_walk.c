/* path_walk.c - a walk through the paths of a space that changes one slot at a time. */
#include "strategy/path_walk.h"

#define MAX_TRIES 1000 /* a space may have no live path one change away */

const pada_opt pada_walk_options[] = {
    {.name = "skip-dead-cells",
     .type = PADA_OPT_BOOL,
     .offset = offsetof(pada_walk_settings, skip_dead),
     .default_value = "false",
     .help = "draw again when nothing would flow through the changed path"},
    {.name = NULL},
};

pada_status pada_path_walk_init(pada_path_walk *walk, const pada_strategy_env *env,
                                const pada_walk_settings *settings)
{
    walk->env = env;
    walk->settings = *settings;
    for (int slot = 0; slot < env->space->ops->n_slots; slot++)
        if (env->space->ops->n_choices(env->space, slot) > 1) walk->slots[walk->n_slots++] = slot;
    if (walk->n_slots == 0)
        return PADA_FAIL(PADA_EINVAL, "space %s has one path only, and none to walk to",
                         env->space->ops->name);
    pada_path_sampler_init(&walk->sampler, env->space);
    return PADA_OK;
}

/* One slot that the path uses gets another choice. */
static void change_one_slot(const pada_path_walk *walk, pada_rng *rng, pada_path *path)
{
    const pada_space *space = walk->env->space;
    int slot, tries = 0;

    do
        slot = walk->slots[pada_rng_below(rng, (uint32_t)walk->n_slots)];
    while (!pada_path_takes(space, path, slot) && ++tries < MAX_TRIES);
    const uint32_t n = (uint32_t)space->ops->n_choices(space, slot);
    const uint32_t other = pada_rng_below(rng, n - 1);
    path->choice[slot] = (uint8_t)(other + (other >= path->choice[slot]));
    pada_path_settle(space, path);
}

void pada_path_walk_step(pada_path_walk *walk, int64_t number)
{
    const pada_space *space = walk->env->space;
    const bool skip_dead = walk->settings.skip_dead;
    pada_path next = walk->path;
    pada_rng rng;

    if (number == 0) {
        pada_path_sampler_draw(&walk->sampler, walk->env->seed, 0, skip_dead, &walk->path);
        return;
    }
    pada_rng_init(&rng, walk->env->seed, "path", (uint64_t)number);
    for (int tries = 0; tries < MAX_TRIES; tries++) {
        next = walk->path;
        change_one_slot(walk, &rng, &next);
        if (!skip_dead || !space->ops->dead || !space->ops->dead(space, &next)) break;
    }
    walk->path = next;
}

void pada_path_walk_visit(pada_path_walk *walk, pada_state *state)
{
    pada_strategy_visit_path(walk->env->space, "magic/path", &walk->path, state);
}
