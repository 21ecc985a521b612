/* graph_case.h - a small network with random data that runs on any backend, between guard zones.
 *
 *   params, images, weights    NaN before and behind: whoever reads too far spreads it
 *   grads, results, work       a known number before and behind, compared after every run
 *   work                       `leftover` inside: whoever reads what it did not write is wrong
 *   grads                      gaps between the tensors must stay zero
 *
 * Images and the values behind case_probe keep away from 0 and, where the scale is 10, from 6, so
 * that rounding never changes the side of an activation. */
#ifndef PADA_TESTS_OPS_GRAPH_CASE_H
#define PADA_TESTS_OPS_GRAPH_CASE_H

#include <stdbool.h>
#include <stdint.h>

#include "backend/backend.h"
#include "base/rng.h"
#include "graph/graph.h"

enum { CASE_MAX_NODES = 64, CASE_MAX_TENSORS = 32, CASE_CLASSES = 10, CASE_MAX_TERMS = 128 };

/* One weight or bias. */
typedef struct case_tensor {
    pada_range range;
    bool zero_grad; /* a bias that a batch norm takes away again */
} case_tensor;

typedef struct graph_case {
    pada_graph *graph;
    pada_shape image;
    pada_value images_value; /* the input node */
    int n_images;            /* may be lowered between runs: the first images are used */
    int cap_images, classes;
    case_tensor tensors[CASE_MAX_TENSORS];
    int n_tensors;
    int64_t n_params;
    double *params; /* [n_params], rounded to float; gaps are zero */
    float *images;
    int32_t *labels;
    float *weights;    /* [n] or NULL */
    double grad_scale; /* 1 */
    double align; /* factor of the distance of taps from random tensors; 0.7 where there are taps */
    pada_drops drops;  /* where there are drops */
    double leftover;   /* what the work buffer is full of before a run; a large number */
    double grad_start; /* what the tensors of the gradient buffer hold before a run; 0 */
    pada_rng rng;
} graph_case;

/* An input of n images, labels, no weights. */
void case_init(graph_case *c, pada_shape image, int n_images, uint64_t seed);
void case_deinit(graph_case *c);
void case_random_weights(graph_case *c); /* of the images: [0.5, 1.5) */

/* Nodes with fresh parameters. A conv's channels in may be 0: those of x. */
pada_value case_conv(graph_case *c, pada_value x, pada_conv conv, bool bias);
pada_value case_linear(graph_case *c, pada_value x, bool bias);
/* images -> 1x1 conv with `scale` on the diagonal: an interior value that is the images times
 * scale. */
pada_value case_probe(graph_case *c, double scale);
/* A constant with fresh values. */
pada_value case_constant(graph_case *c, pada_shape shape);
/* Sums of one, two or three terms. */
pada_term case_same(pada_value x);
pada_term case_norm(pada_value x);
/* A batch norm with fresh scale, shift or both; no scale is zero. */
pada_term case_affine(graph_case *c, pada_value x, bool scale, bool shift);
pada_term case_pool(pada_value x, int kernel, int stride, int pad);
pada_value case_sum(graph_case *c, const pada_term *terms, int n);
pada_value case_sum1(graph_case *c, pada_term a);
pada_value case_sum2(graph_case *c, pada_term a, pada_term b);
/* A tap of x, or of zeros of the shape of the images. */
void case_tap(graph_case *c, pada_value x);
/* A probe of the sum made last. */
void case_probe_sum(graph_case *c, pada_value y, const pada_term *terms, int n);
/* gap, linear, loss. */
void case_head(graph_case *c, pada_value x, pada_act act);
/* The same behind a 3x3 conv of stride 2, so that the gradient of x differs from pixel to pixel. */
void case_readout(graph_case *c, pada_value x);
/* Says that the gradient of the tensor declared last is zero by construction. */
void case_mark_zero_grad(graph_case *c);

typedef struct case_result {
    int n_images, classes, n_nodes;
    int64_t n_params;
    double *logits, *loss, *norm, *grads;
    double *align; /* of images; zeros without taps */
    double
        probes[CASE_MAX_TERMS]; /* sum(dy * batchnorm(z)) by term of the probe; of training runs */
    int32_t *rank;
    /* Tensors of the work buffer, plain [n, c, h, w]; NULL where the program has none or runs were
     * not staged. */
    double *values[CASE_MAX_NODES], *node_grads[CASE_MAX_NODES];
    int64_t counts[CASE_MAX_NODES];
} case_result;

typedef enum case_mode {
    CASE_EVAL,
    CASE_TRAIN,
    CASE_TRAIN_STAGED /* stage by stage, with interior values and gradients */
} case_mode;

/* Whether the backend refuses to train the network, with PADA_EUNSUPPORTED and one line. Fails the test for
 * other failures. */
bool case_is_refused(const graph_case *c, const pada_backend *backend, pada_device *device);

/* Plans and runs the network, checks the guards, and fails the test when something is wrong. */
void case_run(const graph_case *c, const pada_backend *backend, pada_device *device, case_mode mode,
              case_result *r);
void case_result_deinit(case_result *r);

/* grad_scale * mean(weight * (loss + align * distance)): what the gradients are of. */
double case_objective(const graph_case *c, const case_result *r);

/* Distance of the interior values of r (a staged run) that pass an activation from its kinks. */
double case_kink_distance(const graph_case *c, const case_result *r);

#endif
