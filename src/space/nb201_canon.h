/* nb201_canon.h - the cell of NAS-Bench-201, and when two cells are the same.
 *
 *   node 0 is the input of the cell, node 3 its output; a node is the sum over its incoming edges.
 *
 *     edge   0     1     2     3     4     5          slot of a path = edge
 *          1<-0  2<-0  2<-1  3<-0  3<-1  3<-2         "to <- from"
 *
 * Two notions of "the same", neither of which contains the other:
 *   canonical form   dead edges are none; equal forms compute the same, weights included (9,445)
 *   isomorphism key  the published one of NAS-Bench-201, up to the order of the nodes (6,466)
 * of 15,625 cells. */
#ifndef PADA_SPACE_NB201_CANON_H
#define PADA_SPACE_NB201_CANON_H

#include "space/space.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { PADA_NB201_NODES = 4, PADA_NB201_EDGES = 6 };

typedef enum pada_nb201_op {
    PADA_NB201_NONE,
    PADA_NB201_SKIP,
    PADA_NB201_CONV1,
    PADA_NB201_CONV3,
    PADA_NB201_POOL,
    PADA_NB201_OPS
} pada_nb201_op;

/* The options of the space. */
typedef struct pada_nb201_settings {
    int64_t channels, cells, blocks;
} pada_nb201_settings;

static inline const pada_nb201_settings *pada_nb201_settings_of(const pada_space *space)
{
    return (const pada_nb201_settings *)(const void *)space->settings.bytes;
}

/* Names of the operators in the canonical string, by pada_nb201_op. */
extern const char *const pada_nb201_labels[PADA_NB201_OPS];

/* The edge to <- from; from < to. Edges in order are: for each `to`, for each `from`. */
static inline int pada_nb201_edge(int to, int from)
{
    return to * (to - 1) / 2 + from;
}

/* An edge is dead if nothing but zero flows into it, or if what comes out never reaches node 3.
 * `out` is the path with dead edges set to none; it may be `path` itself. */
void pada_nb201_canonical(const pada_path *path, pada_path *out);

/* Bytes of the longest key, all convolutions (112 characters), rounded up. */
#define PADA_NB201_KEY_BYTES 128

/* Writes the isomorphism key, a formula such as "#+#+(0)@nor_conv_1x1": two cells are isomorphic in
 * the sense of NAS-Bench-201 if their keys are equal. */
void pada_nb201_iso_key(const pada_path *path, char key[PADA_NB201_KEY_BYTES]);

#ifdef __cplusplus
}
#endif
#endif
