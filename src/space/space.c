/* space.c - the registry of search spaces, and what is the same for all of them. */
#include "space/space.h"

#include <string.h>

#define PADA_SPACE(file) extern const pada_space_ops pada_space_##file;
#include "space/spaces.def"
#undef PADA_SPACE

static const pada_space_ops *const registry[] = {
#define PADA_SPACE(file) &pada_space_##file,
#include "space/spaces.def"
#undef PADA_SPACE
};

enum { N_SPACES = sizeof registry / sizeof registry[0] };

int pada_space_count(void)
{
    return N_SPACES;
}

const pada_space_ops *pada_space_get(int i)
{
    PADA_ASSERT(i >= 0 && i < N_SPACES);
    return registry[i];
}

pada_status pada_space_find(const pada_space_ops **out, const char *name)
{
    const char *names[N_SPACES];

    *out = NULL;
    for (int i = 0; i < N_SPACES; i++) {
        names[i] = registry[i]->name;
        if (strcmp(name, names[i]) == 0) {
            *out = registry[i];
            return PADA_OK;
        }
    }
    return pada_fail_unknown(PADA_EINVAL, "unknown space", name, names, N_SPACES);
}

/* Takes the default for zero and checks the range. */
static pada_status resolve(int *value, int given, int fallback, const char *what, int min, int max)
{
    *value = given ? given : fallback;
    if (*value < min || *value > max)
        return PADA_FAIL(PADA_EINVAL, "%s %d is not in %d..%d", what, *value, min, max);
    return PADA_OK;
}

pada_status pada_space_init(pada_space *space, const pada_space_ops *ops,
                            const pada_space_config *config)
{
    static const pada_space_config all_defaults;
    const pada_space_config *given = config ? config : &all_defaults;
    const pada_space_config *usual = &ops->defaults;
    pada_space_config c;

    PADA_ASSERT(ops->n_slots > 0 && ops->n_slots <= PADA_MAX_SLOTS);
    PADA_TRY(resolve(&c.channels, given->channels, usual->channels, "channels", 1, 1024));
    PADA_TRY(resolve(&c.cells, given->cells, usual->cells, "cells", 1, 64));
    PADA_TRY(resolve(&c.classes, given->classes, usual->classes, "classes", 2, 65536));
    PADA_TRY(resolve(&c.image_size, given->image_size, usual->image_size, "image size", 4, 512));
    PADA_TRY(resolve(&c.blocks, given->blocks, usual->blocks, "blocks", 0, PADA_MAX_BLOCKS));
    if (c.blocks > 0 && !ops->gate_cell)
        return PADA_FAIL(PADA_EINVAL, "the weights of space %s cannot belong to blocks", ops->name);
    PADA_ASSERT(c.blocks == 0 || 2 * ops->n_slots <= PADA_MAX_SLOTS);
    if (c.image_size % 4 != 0) /* halved twice, without a remainder */
        return PADA_FAIL(PADA_EINVAL, "image size %d is not a multiple of 4", c.image_size);
    const pada_space made = {.ops = ops, .config = c};
    pada_net_room room;
    PADA_TRY(pada_space_measure(&made, &room)); /* there is such a network */
    *space = made;
    return PADA_OK;
}

void pada_space_finalise(pada_space *out, const pada_space *space, const pada_path *network)
{
    PADA_ASSERT(pada_path_is_valid(space, network));
    *out = *space;
    out->config.blocks = 0; /* there is nothing to share */
    out->is_final = true;
    out->network = *network;
}

bool pada_path_takes(const pada_space *space, const pada_path *path, int slot)
{
    return !space->ops->takes || space->ops->takes(space, path, slot);
}

bool pada_path_uses(const pada_space *space, const pada_path *path, int site, int choice)
{
    if (space->config.blocks > 0) return space->ops->block_uses(space, path, site, choice);
    const int slot = space->ops->site_slot(space, site);
    return path->choice[slot] == choice && pada_path_takes(space, path, slot);
}

void pada_path_random(const pada_space *space, pada_rng *rng, pada_path *path)
{
    *path = (pada_path){{0}};
    for (int slot = 0; slot < space->ops->n_slots; slot++)
        path->choice[slot] =
            (uint8_t)pada_rng_below(rng, (uint32_t)space->ops->n_choices(space, slot));
}

int pada_path_equal(const pada_space *space, const pada_path *a, const pada_path *b)
{
    return memcmp(a->choice, b->choice, (size_t)space->ops->n_slots) == 0;
}

bool pada_path_is_valid(const pada_space *space, const pada_path *path)
{
    for (int slot = 0; slot < space->ops->n_slots; slot++)
        if (path->choice[slot] >= space->ops->n_choices(space, slot)) return false;
    return true;
}
