/* subspace.h - a part of a search space: the choices that each slot may take. */
#ifndef PADA_SPACE_SUBSPACE_H
#define PADA_SPACE_SUBSPACE_H

#include "space/space.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PADA_MAX_CHOICES 16 /* of a slot */

typedef struct pada_subspace {
    uint32_t allowed[PADA_MAX_SLOTS]; /* bit c: choice c; unused ones are 0 */
} pada_subspace;

/* Everything. */
void pada_subspace_init(pada_subspace *part, const pada_space *space);

/* The choices whose labels are in a list, "nor_conv_1x1,skip_connect", in every slot that chooses operators, and all of the
 * other slots. A label that no such slot has, and a slot that has none of them, are PADA_EINVAL, "`what`: ..". */
pada_status pada_subspace_parse(pada_subspace *part, const pada_space *space, const char *labels,
                                const char *what);

bool pada_subspace_has(const pada_subspace *part, const pada_space *space, const pada_path *path);
/* The same of the slots that the path uses. */
bool pada_subspace_admits(const pada_subspace *part, const pada_space *space,
                          const pada_path *path);
int pada_subspace_choices(const pada_subspace *part, int slot); /* how many */
/* Whether a path is in both. */
bool pada_subspace_meets(const pada_subspace *part, const pada_subspace *other,
                         const pada_space *space);
/* Whether every slot has a choice, and only choices that there are; for what comes from a file. */
bool pada_subspace_is_valid(const pada_subspace *part, const pada_space *space);

/* Appends the slots that may not take all choices: "slot 0: none|skip_connect, slot 3: .."; "all". */
void pada_subspace_describe(const pada_subspace *part, const pada_space *space, pada_text *out);

#ifdef __cplusplus
}
#endif
#endif
