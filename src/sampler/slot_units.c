/* slot_units.c - the slots of a space in parts that can be chosen apart from each other. */
#include "sampler/slot_units.h"

#include "base/mem.h"

enum { MAX_JOINT = 65536 };

/* Slots that depend on each other have the same leader. */
typedef struct leaders {
    int of[PADA_MAX_SLOTS];
    bool is_optional[PADA_MAX_SLOTS]; /* some paths do not use it */
} leaders;

static void join(leaders *l, int n_slots, int a, int b)
{
    const int from = l->of[b], to = l->of[a];

    for (int slot = 0; slot < n_slots; slot++)
        if (l->of[slot] == from) l->of[slot] = to;
}

/* Notes the slots that a path with this choice of one slot uses, and one with the first choice does not, or the
 * reverse. */
static void compare_choice(leaders *l, const pada_space *space, int slot, int choice)
{
    const pada_path first = {{0}};
    pada_path path = first;

    path.choice[slot] = (uint8_t)choice;
    for (int other = 0; other < space->ops->n_slots; other++) {
        if (other == slot ||
            pada_path_takes(space, &first, other) == pada_path_takes(space, &path, other))
            continue;
        l->is_optional[other] = true;
        join(l, space->ops->n_slots, slot, other);
    }
}

static void find_leaders(leaders *l, const pada_space *space)
{
    *l = (leaders){.of = {0}};
    for (int slot = 0; slot < space->ops->n_slots; slot++)
        l->of[slot] = slot;
    for (int slot = 0; space->ops->takes && slot < space->ops->n_slots; slot++)
        for (int choice = 1; choice < space->ops->n_choices(space, slot); choice++)
            compare_choice(l, space, slot, choice);
}

/* Slots of a unit, those that every path uses first: they decide about the others. */
static void list_slots(pada_slot_unit *unit, const leaders *l, int n_slots, int leader)
{
    for (int optional = 0; optional < 2; optional++)
        for (int slot = 0; slot < n_slots; slot++)
            if (l->of[slot] == leader && l->is_optional[slot] == (optional == 1))
                unit->slots[unit->n_slots++] = slot;
}

static pada_status add_choice(pada_slot_unit *unit, const pada_space *space, const pada_path *path)
{
    void *choices = unit->choices;

    if (unit->n_choices == MAX_JOINT)
        return PADA_FAIL(PADA_EUNSUPPORTED,
                         "space %s: slot %d and those that depend on it have "
                         "more than %d choices",
                         space->ops->name, unit->slots[0], MAX_JOINT);
    PADA_TRY(pada_grow(&choices, &unit->cap_choices, unit->n_choices + 1, sizeof *path));
    unit->choices = choices;
    unit->choices[unit->n_choices++] = *path;
    return PADA_OK;
}

/* Lists the choices of a unit, the last slot changing fastest. */
static pada_status list_choices(pada_slot_unit *unit, const pada_space *space)
{
    int at = 0;
    pada_path path = {{0}};

    while (at >= 0) {
        PADA_TRY(add_choice(unit, space, &path));
        for (at = unit->n_slots - 1; at >= 0; at--) {
            const int slot = unit->slots[at];
            if (pada_path_takes(space, &path, slot) &&
                ++path.choice[slot] < space->ops->n_choices(space, slot))
                break;
            path.choice[slot] = 0;
        }
    }
    return PADA_OK;
}

pada_status pada_slot_units_init(pada_slot_units *units, const pada_space *space)
{
    pada_status st = PADA_OK;
    leaders l;
    void *mem;

    *units = (pada_slot_units){0};
    PADA_TRY(pada_calloc(&mem, (size_t)space->ops->n_slots, sizeof *units->list));
    units->list = mem;
    find_leaders(&l, space);
    for (int slot = 0; slot < space->ops->n_slots && st == PADA_OK; slot++) {
        if (l.of[slot] != slot) continue;
        pada_slot_unit *unit = &units->list[units->n++];
        list_slots(unit, &l, space->ops->n_slots, slot);
        st = list_choices(unit, space);
    }
    if (st != PADA_OK) pada_slot_units_deinit(units);
    return st;
}

void pada_slot_units_deinit(pada_slot_units *units)
{
    for (int i = 0; i < units->n; i++)
        pada_free(units->list[i].choices);
    pada_free(units->list);
    *units = (pada_slot_units){0};
}

void pada_slot_unit_copy(const pada_slot_unit *unit, const pada_path *from, pada_path *path)
{
    for (int i = 0; i < unit->n_slots; i++)
        path->choice[unit->slots[i]] = from->choice[unit->slots[i]];
}
