/* operator_counts.h - how often networks have each operator, by kind of cell. */
#ifndef PADA_SPACE_OPERATOR_COUNTS_H
#define PADA_SPACE_OPERATOR_COUNTS_H

#include "space/space.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { PADA_MAX_OPERATORS = 32 };

typedef struct pada_operator_count {
    const char *cell;  /* its kind, as sketches name it; NULL: there is one */
    const char *label; /* of the choice */
    int n;             /* arrows of the sketch of a cell, or layers */
    int n_from_inputs; /* of these, that read an input of the cell */
    int place;         /* the list is in this order: cells, and in them the choices of the space */
} pada_operator_count;

/* Zero-initialise. */
typedef struct pada_operator_counts {
    int n_networks, n;
    pada_operator_count
        list[PADA_MAX_OPERATORS]; /* of one network by cells, then in the order of the choices */
} pada_operator_counts;

/* Adds those of a network. Operators that compute nothing, or nothing that matters, do not count. A space without sketches is
 * PADA_EUNSUPPORTED. */
pada_status pada_operator_counts_add(pada_operator_counts *counts, const pada_space *space,
                                     const pada_path *path);

#ifdef __cplusplus
}
#endif
#endif
