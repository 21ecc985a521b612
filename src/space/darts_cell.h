/* darts_cell.h - the cells of DARTS, and how they are slots of a path (docs/design/0023).
 *
 *   values 0 and 1 are the outputs of the two cells before, nodes 2 to 5 the sums of two operators on values before
 *   them; the output of a cell is all channels of the four nodes.
 *
 *   edges    0    1    2    3    4    5    6    7    8    9    10   11   12   13       "to <- from"
 *          2<-0 2<-1 3<-0 3<-1 3<-2 4<-0 4<-1 4<-2 4<-3 5<-0 5<-1 5<-2 5<-3 5<-4
 *
 * Slots of a kind of cell: the operators of its 14 edges, then the pairs of inputs of nodes 3, 4, 5. Those of normal
 * cells come first, then those of reduction cells. */
#ifndef PADA_SPACE_DARTS_CELL_H
#define PADA_SPACE_DARTS_CELL_H

#include "space/space.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    PADA_DARTS_KINDS = 2, /* normal, reduction */
    PADA_DARTS_NODES = 4, /* numbered from 0 here: node n is value n + 2 */
    PADA_DARTS_EDGES = 14,
    PADA_DARTS_KIND_SLOTS = PADA_DARTS_EDGES + PADA_DARTS_NODES - 1,
    PADA_DARTS_SLOTS = PADA_DARTS_KINDS * PADA_DARTS_KIND_SLOTS
};

typedef enum pada_darts_op {
    PADA_DARTS_NONE,
    PADA_DARTS_MAX_POOL,
    PADA_DARTS_AVG_POOL,
    PADA_DARTS_SKIP,
    PADA_DARTS_SEP3,
    PADA_DARTS_SEP5,
    PADA_DARTS_DIL3,
    PADA_DARTS_DIL5,
    PADA_DARTS_OPS
} pada_darts_op;

/* The options of the space. */
typedef struct pada_darts_settings {
    int64_t channels, cells;             /* of the supernet */
    int64_t final_channels, final_cells; /* of a network by itself */
    double auxiliary; /* weight of the auxiliary head of such a network; 0: none */
    bool none;        /* is an operator */
} pada_darts_settings;

static inline const pada_darts_settings *pada_darts_settings_of(const pada_space *space)
{
    return (const pada_darts_settings *)(const void *)space->settings.bytes;
}

extern const char *const pada_darts_labels[PADA_DARTS_OPS];

/* Choices of edge slots are the operators with none, which a space may lack, behind the others: a path means the same
 * in both. */
static inline pada_darts_op pada_darts_op_of(int choice)
{
    return (pada_darts_op)((choice + 1) % PADA_DARTS_OPS);
}

static inline uint8_t pada_darts_choice_of(pada_darts_op op)
{
    return (uint8_t)((op + PADA_DARTS_OPS - 1) % PADA_DARTS_OPS);
}

static inline int pada_darts_n_ops(const pada_space *space)
{
    return pada_darts_settings_of(space)->none ? PADA_DARTS_OPS : PADA_DARTS_OPS - 1;
}

static inline int pada_darts_edge(int node, int input)
{
    return node * (node + 3) / 2 + input;
}

static inline int pada_darts_edge_slot(int kind, int node, int input)
{
    return kind * PADA_DARTS_KIND_SLOTS + pada_darts_edge(node, input);
}

/* Of nodes 1 to 3; node 0 reads both of its inputs. */
static inline int pada_darts_pair_slot(int kind, int node)
{
    return kind * PADA_DARTS_KIND_SLOTS + PADA_DARTS_EDGES + node - 1;
}

/* For pada_space_ops. */
int pada_darts_n_choices(const pada_space *space, int slot);
const char *pada_darts_choice_label(const pada_space *space, int slot, int choice);
bool pada_darts_takes(const pada_space *space, const pada_path *path, int slot);
int pada_darts_slot_group(const pada_space *space, int slot);
double pada_darts_n_networks(const pada_space *space);
void pada_darts_canonical(const pada_space *space, const pada_path *path, pada_path *out);

/* What a path says about a kind of cell: node n is op[2n] of value input[2n] + op[2n + 1] of value input[2n + 1], the
 * first input being the smaller one. */
typedef struct pada_darts_cell {
    uint8_t input[2 * PADA_DARTS_NODES], op[2 * PADA_DARTS_NODES];
} pada_darts_cell;

void pada_darts_get(const pada_path *path, int kind, pada_darts_cell *cell);
/* The inputs of a node may come in either order; they differ and exist. */
void pada_darts_set(pada_path *path, int kind, const pada_darts_cell *cell);

#ifdef __cplusplus
}
#endif
#endif
