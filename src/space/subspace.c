/* subspace.c - a part of a search space: the choices that each slot may take. */
#include "space/subspace.h"

#include <stdio.h>
#include <string.h>

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

/* Bit of every slot in which operators are chosen, which are what is at a site. Sites of shared blocks belong to any slot. */
static uint64_t operator_slots(const pada_space *space)
{
    uint64_t set = 0;

    if (space->config.blocks > 0) return UINT64_MAX;
    for (int site = 0; site < space->ops->n_sites(space); site++)
        if (space->ops->site_slot(space, site) >= 0)
            set |= UINT64_C(1) << space->ops->site_slot(space, site);
    return set;
}

enum { MAX_OPERATORS = 2 * PADA_MAX_CHOICES }; /* to offer instead of an unknown one */

static int add_name(const char **names, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0) return n;
    if (n < MAX_OPERATORS) names[n++] = name;
    return n;
}

/* Adds the choices with one label. */
static pada_status allow(pada_subspace *part, const pada_space *space, uint64_t slots,
                         const char *label, const char *what)
{
    const char *names[MAX_OPERATORS];
    char lead[64];
    bool found = false;
    int n = 0;

    for (int slot = 0; slot < space->ops->n_slots; slot++)
        for (int c = 0; slots >> slot & 1 && c < space->ops->n_choices(space, slot); c++) {
            const char *name = space->ops->choice_label(space, slot, c);
            n = add_name(names, n, name);
            if (strcmp(name, label) != 0) continue;
            part->allowed[slot] |= UINT32_C(1) << c;
            found = true;
        }
    if (found) return PADA_OK;
    snprintf(lead, sizeof lead, "%s: unknown operator", what);
    return pada_fail_unknown(PADA_EINVAL, lead, label, names, n);
}

pada_status pada_subspace_parse(pada_subspace *part, const pada_space *space, const char *labels,
                                const char *what)
{
    const uint64_t slots = operator_slots(space);
    char label[64];

    *part = (pada_subspace){{0}};
    for (const char *at = labels;; at++) { /* past the comma */
        const size_t n = strcspn(at, ",");
        if (n == 0 || n >= sizeof label)
            return PADA_FAIL(PADA_EINVAL, "%s: '%s' is no list of operators such as \"a,b\"", what,
                             labels);
        snprintf(label, sizeof label, "%.*s", (int)n, at);
        PADA_TRY(allow(part, space, slots, label, what));
        at += n;
        if (*at == '\0') break;
    }
    for (int slot = 0; slot < space->ops->n_slots; slot++) {
        if (!(slots >> slot & 1)) part->allowed[slot] = all_choices(space, slot);
        if (part->allowed[slot] == 0)
            return PADA_FAIL(PADA_EINVAL, "%s: slot %d of space %s has none of %s", what, slot,
                             space->ops->name, labels);
    }
    return PADA_OK;
}

bool pada_subspace_has(const pada_subspace *part, const pada_space *space, const pada_path *path)
{
    for (int slot = 0; slot < space->ops->n_slots; slot++)
        if (!(part->allowed[slot] >> path->choice[slot] & 1)) return false;
    return true;
}

bool pada_subspace_admits(const pada_subspace *part, const pada_space *space, const pada_path *path)
{
    for (int slot = 0; slot < space->ops->n_slots; slot++)
        if (pada_path_takes(space, path, slot) && !(part->allowed[slot] >> path->choice[slot] & 1))
            return false;
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
