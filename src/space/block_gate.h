/* block_gate.h - the small network that says which block of weights an edge of a cell runs.
 *
 * A GATES encoder and an MLP, in double precision on the host. A cell is a graph of few nodes; the
 * operators on its edges modulate what flows along them:
 *
 *   emb[o]                    48 numbers per operator
 *   y[0] = in(input), y[v] = in(0)                                       48 -> 96, with bias
 *   layer 1..5                S = W y          96 -> 128 -> .. -> 128, without bias
 *     y[to] = sum over edges of sigmoid(A emb[o] + a) * S[from];  y[0] keeps S[0];  relu, but for the last
 *   logits of an edge = MLP(y[from], y[to])                              256 -> 200 -> 200 -> 200 -> blocks
 *
 * with relu and dropout behind the hidden layers of the MLP. The weights are parameters of the space
 * (gate.*), so that whoever trains, saves or loads the others has these, too. */
#ifndef PADA_SPACE_BLOCK_GATE_H
#define PADA_SPACE_BLOCK_GATE_H

#include "base/status.h"
#include "tensor/params.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    PADA_GATE_MAX_NODES = 8,
    PADA_GATE_MAX_EDGES = 16,
    PADA_GATE_HIDDEN = 200,
    PADA_GATE_HIDDEN_LAYERS = 3,
    PADA_GATE_TENSORS = 27,
    /* those of the last layer: [blocks, HIDDEN] and [blocks] */
    PADA_GATE_OUT_WEIGHT = PADA_GATE_TENSORS - 2,
    PADA_GATE_OUT_BIAS = PADA_GATE_TENSORS - 1
};

/* The live part of a cell. Edges stand in the order in which their targets do. */
typedef struct pada_gate_cell {
    int n_nodes, n_edges;
    int from[PADA_GATE_MAX_EDGES], to[PADA_GATE_MAX_EDGES];
    int op[PADA_GATE_MAX_EDGES];
    int slot[PADA_GATE_MAX_EDGES]; /* of the path, that the edge is */
} pada_gate_cell;

typedef struct pada_block_gate pada_block_gate;

/* Adds the tensors of a gate to the shared parameters of a space. */
pada_status pada_block_gate_declare(pada_params *params, int n_ops, int n_blocks);
/* The first of its PADA_GATE_TENSORS parameters; -1: there is no gate. */
int pada_block_gate_first_param(const pada_params *params);
/* All of them, with the gaps between them. */
pada_range pada_block_gate_range(const pada_params *params);

pada_status pada_block_gate_create(pada_block_gate **out, int n_ops, int n_blocks);
void pada_block_gate_destroy(pada_block_gate *gate); /* NULL is fine */

/* The numbers of tensor i, to be filled in; and its derivatives, which backward adds to. Those of all tensors lie
 * as the parameters do: pada_block_gate_range elements from the first of tensor 0. */
double *pada_block_gate_weights(pada_block_gate *gate, int i);
double *pada_block_gate_grads(pada_block_gate *gate, int i);
int64_t pada_block_gate_count(const pada_block_gate *gate, int i);
void pada_block_gate_zero_grads(pada_block_gate *gate);

/* Logits [n_edges, n_blocks] of a cell. `mask` has factors of the hidden numbers, [n_edges,
 * HIDDEN_LAYERS, HIDDEN], or is NULL. */
void pada_block_gate_forward(pada_block_gate *gate, const pada_gate_cell *cell, const double *mask,
                             double *logits);
/* From the derivatives by the logits of the last forward to those by the weights. */
void pada_block_gate_backward(pada_block_gate *gate, const double *grad_logits);

#ifdef __cplusplus
}
#endif
#endif
