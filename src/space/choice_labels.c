/* choice_labels.c - choices of different slots that are the same by name. */
#include "space/choice_labels.h"

#include <string.h>

static int find_or_add(pada_choice_labels *labels, int group, const char *name)
{
    int i = 0;

    while (i < labels->n && (labels->group[i] != group || strcmp(labels->names[i], name) != 0))
        i++;
    if (i == labels->n) {
        labels->names[i] = name;
        labels->group[i] = group;
        labels->n++;
    }
    return i;
}

void pada_choice_labels_init(pada_choice_labels *labels, const pada_space *space, bool by_group)
{
    const pada_space_ops *ops = space->ops;

    *labels = (pada_choice_labels){0};
    for (int slot = 0; slot < ops->n_slots; slot++) {
        const int group = by_group && ops->slot_group ? ops->slot_group(space, slot) : 0;
        for (int c = 0; c < ops->n_choices(space, slot); c++) {
            const int label = find_or_add(labels, group, ops->choice_label(space, slot, c));
            labels->of[slot][c] = (uint16_t)label;
            labels->n_slots[label]++;
        }
    }
}
