/* graph.h - the network of one path, as a list of operators over values.
 *
 * A space builds the graph of a path by calling the functions below in order; a value is the index
 * of the operator that makes it, so operands always stand before their users. The first wrong call
 * sticks: later calls do nothing and pada_graph_status returns it, so a builder checks once.
 * Nothing is allocated after create. */
#ifndef PADA_GRAPH_GRAPH_H
#define PADA_GRAPH_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "op/op.h"
#include "tensor/params.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pada_graph {
    pada_node *nodes;
    pada_term *terms;
    int n_nodes, n_terms;
    int cap_nodes, cap_terms;
    bool taps; /* pada_graph_tap adds something; false unless the owner sets it */
    bool
        boundaries; /* with taps: also at ends of blocks that alignment does not compare; likewise */
    int probes;     /* how many blocks a builder is to probe; 0 likewise */
    /* The map of running statistics, for builders to look up where those of a batch norm are; NULL: none are
     * kept. With fixed_norms batch norms that have them are normalised by them, not by the batch. */
    const pada_params *statistics;
    bool fixed_norms;
    double norm_epsilon; /* of all batch norms; PADA_NORM_EPSILON unless the builder sets it */
    uint64_t drops;      /* set of pada_drop_kind that are added; none unless the owner sets it */
    int n_drops;         /* that a builder asked for */
    bool auxiliary;      /* auxiliary losses are added; false unless the owner sets it */
    double label_smoothing; /* of the losses that are added; 0 unless the owner sets it */
    pada_status status;     /* the first failure of a builder call */
    /* Offsets of scales, shifts and constants so far, by hashing: no two share one. */
    struct pada_owned *owned;
    int cap_owned;            /* a power of two */
    int64_t round;            /* entries of other rounds are empty */
    struct pada_graph *spare; /* room for pada_graph_simplify to write into */
    int *scratch;             /* 3 * cap_nodes, for its bookkeeping */
} pada_graph;

pada_status pada_graph_create(pada_graph **out, int cap_nodes, int cap_terms);
void pada_graph_destroy(pada_graph *graph);
void pada_graph_reset(pada_graph *graph);

/* Builders. weight and bias are offsets into the parameter buffer; a bias whose only reader is a
 * batch norm has no effect and is not passed. Any operand may be PADA_ZERO: a convolution of zeros
 * is followed by batch norm in every space, which maps a constant to zero, so its result is
 * PADA_ZERO too, and terms of zero are dropped. A batch norm with a shift is not zero there: builders make a
 * constant of it. No two batch norms or constants of a graph share a scale or a shift. */
pada_value pada_graph_input(pada_graph *g, pada_shape shape);
pada_value pada_graph_conv(pada_graph *g, pada_value x, const pada_conv *conv, int64_t weight,
                           int64_t bias);
pada_value pada_graph_combine(pada_graph *g, const pada_term *terms, int n_terms);
pada_value pada_graph_gap(pada_graph *g, pada_value x, pada_act act);
pada_value pada_graph_linear(pada_graph *g, pada_value x, int out, int64_t weight, int64_t bias);
pada_value pada_graph_pool(pada_graph *g, pada_value x, const pada_pool *pool, pada_pool_kind kind,
                           pada_act act);
/* The channels of n values of one size, one behind the other; zeros[i] channels of zeros where x[i] is
 * PADA_ZERO. All of them zero give PADA_ZERO. */
pada_value pada_graph_concat(pada_graph *g, const pada_value *x, const int *zeros, int n);
/* A tensor of this shape whose channels have the values of the parameters from offset `values` on: what a batch norm with
 * that shift, or a convolution with that bias, makes of zeros. */
pada_value pada_graph_constant(pada_graph *g, pada_shape shape, int64_t values);
/* x times a mask where the graph has drops of that kind, else x itself. `share` is that of pada_drop. */
pada_value pada_graph_drop(pada_graph *g, pada_value x, pada_drop_kind kind, double share);
/* act(x) times the sigmoid of s, which has one pixel and the channels of x: squeeze and excitation. */
pada_value pada_graph_gate(pada_graph *g, pada_value x, pada_act act, pada_value s);
/* Says that x, of this shape even if it is zero, can be kept and compared between paths. The taps
 * of all paths of a space must agree in number, order and shapes. */
void pada_graph_tap(pada_graph *g, pada_value x, pada_shape shape);
/* Asks, in training, for sum(dy * batchnorm(z)) of every term: the derivative of the loss by a factor
 * of batchnorm(z) in the sum y. Terms are batch norms of values of the shape of y; zeros are dropped.
 * Stands directly behind y, which is more than a single identity, and is dropped if y does not reach
 * the loss. */
void pada_graph_probe(pada_graph *g, pada_value y, const pada_term *terms, int n_terms);
/* The loss, whose losses, norms and ranks are the results of a program: one per graph. */
pada_value pada_graph_loss(pada_graph *g, pada_value logits);
/* What training minimises besides it: the same of other logits, times `weight`. Stands before the loss. */
void pada_graph_auxiliary_loss(pada_graph *g, pada_value logits, double weight);

pada_status pada_graph_status(const pada_graph *g);

/* Removes what does not reach the loss or a tap, replaces sums of one identity by their operand, and moves
 * the terms of a sum that is read once, by an identity, into its reader. All three are exact. */
void pada_graph_simplify(pada_graph *g);

#ifdef __cplusplus
}
#endif
#endif
