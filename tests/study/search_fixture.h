/* search_fixture.h - spaces by name, and scores of networks that need no supernet. */
#ifndef PADA_TESTS_STUDY_SEARCH_FIXTURE_H
#define PADA_TESTS_STUDY_SEARCH_FIXTURE_H

#include "check.h"
#include "space/path_number.h"
#include "space/space.h"

/* With its default sizes, or those of flags: "--classes=10", ... */
static inline pada_space space_of(const char *name, const char *const *flags)
{
    const pada_space_config config = {.flags = flags};
    const pada_space_ops *ops;
    pada_space space;

    CHECK_OK(pada_space_find(&ops, name));
    CHECK_OK(pada_space_init(&space, ops, &config));
    return space;
}

/* A score with a hill for every slot, and something for neighbours that go together, of the canonical form. */
static inline double made_up_score(const pada_space *space, const pada_path *path)
{
    pada_path form;
    double score = 0;
    pada_rng rng;

    space->ops->canonical(space, path, &form);
    for (int slot = 0; slot < space->ops->n_slots; slot++) {
        pada_rng_init(&rng, 17, "slot", (uint64_t)(slot * 16 + form.choice[slot]));
        score += pada_rng_uniform(&rng);
        if (slot == 0) continue;
        pada_rng_init(&rng, 18, "pair",
                      (uint64_t)((slot * 16 + form.choice[slot]) * 16 + form.choice[slot - 1]));
        score += 0.5 * pada_rng_uniform(&rng);
    }
    return score;
}

#endif
