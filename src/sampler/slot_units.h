/* slot_units.h - the slots of a space in parts that can be chosen apart from each other.
 *
 * A slot that decides whether a path uses another one is in one unit with it: a node of a DARTS cell is its pair of
 * inputs and the operators of its edges. Every network is one choice of every unit, and differs from all others. */
#ifndef PADA_SAMPLER_SLOT_UNITS_H
#define PADA_SAMPLER_SLOT_UNITS_H

#include "base/status.h"
#include "space/space.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pada_slot_unit {
    int slots[PADA_MAX_SLOTS];
    int n_slots;
    pada_path *choices; /* [n_choices], owned, settled; slots of other units are 0 */
    int n_choices, cap_choices;
} pada_slot_unit;

/* Zero-initialise; deinit accepts that and a failed init. */
typedef struct pada_slot_units {
    pada_slot_unit *list; /* [n], owned */
    int n;
} pada_slot_units;

/* A unit with more than 65536 choices is PADA_EUNSUPPORTED. */
pada_status pada_slot_units_init(pada_slot_units *units, const pada_space *space);
void pada_slot_units_deinit(pada_slot_units *units);

/* Gives a path the choices that `from` has in the slots of a unit. */
void pada_slot_unit_copy(const pada_slot_unit *unit, const pada_path *from, pada_path *path);

#ifdef __cplusplus
}
#endif
#endif
