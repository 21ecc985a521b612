/* search_breed.c - networks made of others: mutants and crossovers. */
#include "study/search_parts.h"

/* Draws each choice anew with a probability, which may give the same one; what the parent does not use is always drawn,
 * for the case that the mutant does. */
static void mutate(const pada__search *s, pada_rng *rng, const pada_path *parent, pada_path *child)
{
    const pada_space *space = s->desc->space;

    *child = *parent;
    for (int slot = 0; slot < space->ops->n_slots; slot++)
        if (pada_rng_uniform(rng) < s->desc->settings.mutation ||
            !pada_path_takes(space, parent, slot))
            child->choice[slot] =
                (uint8_t)pada_rng_below(rng, (uint32_t)space->ops->n_choices(space, slot));
    pada_path_settle(space, child);
}

/* Takes each choice from either parent, or from the one that uses the slot. */
static void cross(const pada__search *s, pada_rng *rng, const pada_path *a, const pada_path *b,
                  pada_path *child)
{
    const pada_space *space = s->desc->space;

    *child = *a;
    for (int slot = 0; slot < space->ops->n_slots; slot++) {
        const bool a_takes = pada_path_takes(space, a, slot);
        const bool b_takes = pada_path_takes(space, b, slot);
        const bool from_b = a_takes == b_takes ? pada_rng_below(rng, 2) == 1 : b_takes;
        if (from_b) child->choice[slot] = b->choice[slot];
    }
    pada_path_settle(space, child);
}

static void offer_mutants(pada__search *s, pada__search_pick pick, void *user)
{
    const pada_search_settings *settings = &s->desc->settings;
    int64_t n = 0;
    pada_path child;
    pada_rng rng;

    pada__search_stream(s, "search mutants", &rng);
    for (int64_t i = 0; i < settings->tries && n < settings->mutants; i++) {
        mutate(s, &rng, pick(user, &rng), &child);
        n += pada__search_offer(s, &child);
    }
}

static void offer_crossovers(pada__search *s, pada__search_pick pick, void *user)
{
    const pada_search_settings *settings = &s->desc->settings;
    int64_t n = 0;
    pada_path child;
    pada_rng rng;

    pada__search_stream(s, "search crossovers", &rng);
    for (int64_t i = 0; i < settings->tries && n < settings->crossovers; i++) {
        const pada_path *a = pick(user, &rng), *b = pick(user, &rng);
        cross(s, &rng, a, b, &child);
        n += pada__search_offer(s, &child);
    }
}

void pada__search_breed(pada__search *s, pada__search_pick pick, void *user)
{
    offer_mutants(s, pick, user);
    offer_crossovers(s, pick, user);
    pada__search_fill(s, s->desc->settings.population);
}

double pada__search_most_bred(const pada_search_settings *settings)
{
    const double bred = (double)settings->mutants + (double)settings->crossovers;
    const double size = (double)settings->population;

    return size + (double)settings->generations * (bred > size ? bred : size);
}
