/* fair_paths.c - groups of paths in which every choice of every slot occurs exactly once. */
#include "sampler/fair_paths.h"

pada_status pada_fair_paths_count(const pada_space *space, int *n)
{
    *n = space->ops->n_choices(space, 0);
    if (space->ops->takes)
        return PADA_FAIL(PADA_EINVAL,
                         "space %s: paths do not use all slots; fair paths train every choice of "
                         "every slot equally often",
                         space->ops->name);
    for (int slot = 1; slot < space->ops->n_slots; slot++)
        if (space->ops->n_choices(space, slot) != *n)
            return PADA_FAIL(PADA_EINVAL,
                             "space %s: slot %d has %d choices, slot 0 has %d; fair paths need the "
                             "same number everywhere",
                             space->ops->name, slot, space->ops->n_choices(space, slot), *n);
    return PADA_OK;
}

void pada_fair_paths_draw(const pada_space *space, uint64_t seed, int64_t index, pada_path *paths)
{
    const int n = space->ops->n_choices(space, 0);
    pada_rng rng;

    pada_rng_init(&rng, seed, "fair", (uint64_t)index);
    for (int k = 0; k < n; k++)
        paths[k] = (pada_path){{0}};
    for (int slot = 0; slot < space->ops->n_slots; slot++) {
        for (int k = 0; k < n; k++)
            paths[k].choice[slot] = (uint8_t)k;
        for (int k = n - 1; k > 0; k--) {
            const int other = (int)pada_rng_below(&rng, (uint32_t)k + 1);
            const uint8_t choice = paths[k].choice[slot];
            paths[k].choice[slot] = paths[other].choice[slot];
            paths[other].choice[slot] = choice;
        }
    }
}
