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
    int n_slots[PADA_MAX_LABELS];       /* that have the label */
    uint16_t of[PADA_MAX_SLOTS][PADA_MAX_CHOICES];
} pada_choice_labels;

void pada_choice_labels_init(pada_choice_labels *labels, const pada_space *space);

#ifdef __cplusplus
}
#endif
#endif
