/* slot_costs.c - a cost of networks that is a sum over the slots that a path uses. */
#include "sampler/slot_costs.h"

/* A path that uses the slot, and has choice 0 there and in all slots but one. */
static pada_status find_user(const pada_space *space, int slot, pada_path *path)
{
    const pada_space_ops *ops = space->ops;

    *path = (pada_path){{0}};
    if (pada_path_takes(space, path, slot)) return PADA_OK;
    for (int other = 0; other < ops->n_slots; other++) {
        if (other == slot) continue;
        for (int choice = 1; choice < ops->n_choices(space, other); choice++) {
            *path = (pada_path){{0}};
            path->choice[other] = (uint8_t)choice;
            if (pada_path_takes(space, path, slot)) return PADA_OK;
        }
    }
    return PADA_FAIL(PADA_EUNSUPPORTED, "space %s: no single choice makes a path use slot %d",
                     ops->name, slot);
}

/* What the choices of a slot cost more than its first one, which costs nothing: it is in the fixed part, or in what
 * the choice that takes the slot costs. */
static pada_status measure_slot(pada_slot_costs *costs, const pada_space *space, int slot,
                                pada_path_cost cost, void *user)
{
    int64_t base, found;
    pada_path path;

    PADA_ASSERT(space->ops->n_choices(space, slot) <= PADA_MAX_CHOICES);
    PADA_TRY(find_user(space, slot, &path));
    PADA_TRY(cost(user, space, &path, &base));
    for (int choice = 1; choice < space->ops->n_choices(space, slot); choice++) {
        path.choice[slot] = (uint8_t)choice;
        PADA_TRY(cost(user, space, &path, &found));
        costs->cost[slot][choice] = found - base;
    }
    return PADA_OK;
}

pada_status pada_slot_costs_measure(pada_slot_costs *costs, const pada_space *space,
                                    pada_path_cost cost, void *user)
{
    const pada_path first = {{0}};

    *costs = (pada_slot_costs){0};
    PADA_TRY(cost(user, space, &first, &costs->fixed));
    for (int slot = 0; slot < space->ops->n_slots; slot++)
        PADA_TRY(measure_slot(costs, space, slot, cost, user));
    return PADA_OK;
}

typedef struct counted {
    pada_counted what;
    bool in_supernet;
} counted;

static pada_status count(void *user, const pada_space *space, const pada_path *path, int64_t *cost)
{
    const counted *c = user;
    pada_cost found;

    (c->in_supernet ? pada_space_search_cost : pada_space_cost)(space, path, &found);
    *cost = c->what == PADA_COUNTED_MACS ? found.macs : found.params;
    return PADA_OK;
}

pada_status pada_slot_costs_count(pada_slot_costs *costs, const pada_space *space,
                                  pada_counted what, bool in_supernet)
{
    return pada_slot_costs_measure(costs, space, count,
                                   &(counted){.what = what, .in_supernet = in_supernet});
}

int64_t pada_slot_costs_of(const pada_slot_costs *costs, const pada_space *space,
                           const pada_path *path)
{
    int64_t sum = costs->fixed;

    for (int slot = 0; slot < space->ops->n_slots; slot++)
        if (pada_path_takes(space, path, slot)) sum += costs->cost[slot][path->choice[slot]];
    return sum;
}
