/* block_graph.h - one block of a network as a network of its own: what its Jacobian does to a gradient.
 *
 * A block lies between two values of a graph that everything passes through. By itself it reads images of channels
 *
 *   [ x: c_in | g: what the gradient of x is multiplied with ]
 *
 * through a pointwise convolution [I 0], whose weight gradient at the zeros is therefore the sum of the products of the
 * gradient of x and of g over images and pixels: no backend needs to say what the gradient of x is. A tap at its end
 * gives the gradient of the output (engine_align.h). */
#ifndef PADA_STUDY_BLOCK_GRAPH_H
#define PADA_STUDY_BLOCK_GRAPH_H

#include "graph/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pada_block_graph {
    const pada_graph *whole; /* of the network, not simplified */
    pada_value from, to;     /* of it; from < to */
    int c_beside;            /* channels of g */
    int64_t weights;         /* offset of [c_in, c_in + c_beside] weights of the convolution */
} pada_block_graph;

/* Fills `out`, whose labels and loss mean nothing. A block that reads anything but `from` is PADA_EUNSUPPORTED. */
pada_status pada_block_graph_build(const pada_block_graph *block, pada_graph *out);

#ifdef __cplusplus
}
#endif
#endif
