/* choice_labels.c - choices of different slots that are the same by name. */
#include "space/choice_labels.h"

#include <string.h>

static int find_or_add(pada_choice_labels *labels, const char *name)
{
    int i = 0;

    while (i < labels->n && strcmp(labels->names[i], name) != 0)
        i++;
    if (i == labels->n) labels->names[labels->n++] = name;
    return i;
}

void pada_choice_labels_init(pada_choice_labels *labels, const pada_space *space)
{
    *labels = (pada_choice_labels){0};
    for (int slot = 0; slot < space->ops->n_slots; slot++)
        for (int c = 0; c < space->ops->n_choices(space, slot); c++) {
            const int label = find_or_add(labels, space->ops->choice_label(space, slot, c));
            labels->of[slot][c] = (uint16_t)label;
            labels->n_slots[label]++;
        }
}
