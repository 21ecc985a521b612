/* sketch.h - what a drawing of a path shows: nodes, and arrows with what happens on the way. */
#ifndef PADA_SPACE_SKETCH_H
#define PADA_SPACE_SKETCH_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PADA_MAX_SKETCH 128 /* nodes; arrows */

typedef struct pada_sketch_arrow {
    int from, to;      /* nodes; from < to */
    const char *label; /* of the choice */
    bool is_dead;      /* is there, and changes nothing */
} pada_sketch_arrow;

/* Texts are constants of the space. A node is the sum of its arrows; choices that compute nothing
 * are no arrows. */
typedef struct pada_sketch {
    int n_nodes, n_arrows;
    const char
        *nodes[PADA_MAX_SKETCH]; /* in the order of the flow: the input first, the output last */
    const char *cells[PADA_MAX_SKETCH]; /* the kind of cell that a node is in; NULL: there is one */
    bool is_input[PADA_MAX_SKETCH];     /* of nodes behind the first: is no sum */
    pada_sketch_arrow arrows[PADA_MAX_SKETCH]; /* ascending by `to`, then `from` */
} pada_sketch;

#ifdef __cplusplus
}
#endif
#endif
