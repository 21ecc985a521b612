/* choice_labels.h - choices of different slots that are the same by name.
 *
 * Slots may have different choices, in different order; what they have in common is said by labels. */
#ifndef PADA_SPACE_CHOICE_LABELS_H
#define PADA_SPACE_CHOICE_LABELS_H

#include "space/subspace.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { PADA_MAX_LABELS = PADA_MAX_SLOTS * PADA_MAX_CHOICES };

/* Labels are numbered in the order in which slots and their choices have them first. */
typedef struct pada_choice_labels {
    int n;
    const char *names[PADA_MAX_LABELS]; /* borrowed from the space */
    int group[PADA_MAX_LABELS];         /* of slots; 0 where groups do not matter */
    int n_slots[PADA_MAX_LABELS];       /* that have the label */
    uint16_t of[PADA_MAX_SLOTS][PADA_MAX_CHOICES];
} pada_choice_labels;

/* by_group: the same name in two groups of slots (pada_space_ops.slot_group) is two labels. */
void pada_choice_labels_init(pada_choice_labels *labels, const pada_space *space, bool by_group);

#ifdef __cplusplus
}
#endif
#endif
