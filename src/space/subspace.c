/* subspace.c - a part of a search space: the choices that each slot may take. */
#include "space/subspace.h"

static uint32_t all_choices(const pada_space *space, int slot)
{
    const int n = space->ops->n_choices(space, slot);

    PADA_ASSERT(n >= 1 && n <= PADA_MAX_CHOICES);
    return (UINT32_C(1) << n) - 1;
}

void pada_subspace_init(pada_subspace *part, const pada_space *space)
{
    *part = (pada_subspace){{0}};
    for (int slot = 0; slot < space->ops->n_slots; slot++)
        part->allowed[slot] = all_choices(space, slot);
}

bool pada_subspace_has(const pada_subspace *part, const pada_space *space, const pada_path *path)
{
    for (int slot = 0; slot < space->ops->n_slots; slot++)
        if (!(part->allowed[slot] >> path->choice[slot] & 1)) return false;
    return true;
}

int pada_subspace_choices(const pada_subspace *part, int slot)
{
    int n = 0;

    for (uint32_t left = part->allowed[slot]; left; left &= left - 1)
        n++;
    return n;
}

bool pada_subspace_meets(const pada_subspace *part, const pada_subspace *other,
                         const pada_space *space)
{
    for (int slot = 0; slot < space->ops->n_slots; slot++)
        if (!(part->allowed[slot] & other->allowed[slot])) return false;
    return true;
}

bool pada_subspace_is_valid(const pada_subspace *part, const pada_space *space)
{
    for (int slot = 0; slot < space->ops->n_slots; slot++)
        if (part->allowed[slot] == 0 || part->allowed[slot] & ~all_choices(space, slot))
            return false;
    return true;
}

void pada_subspace_describe(const pada_subspace *part, const pada_space *space, pada_text *out)
{
    int n = 0;

    for (int slot = 0; slot < space->ops->n_slots; slot++) {
        const char *between = "";
        if (part->allowed[slot] == all_choices(space, slot)) continue;
        pada_text_add(out, "%sslot %d: ", n++ > 0 ? ", " : "", slot);
        for (int c = 0; c < space->ops->n_choices(space, slot); c++) {
            if (!(part->allowed[slot] >> c & 1)) continue;
            pada_text_add(out, "%s%s", between, space->ops->choice_label(space, slot, c));
            between = "|";
        }
    }
    if (n == 0) pada_text_add(out, "all");
}
