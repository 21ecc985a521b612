/* plan.h - from the graph of one path to a program: stages, gradients and places in memory.
 *
 * A plan is made in microseconds and without allocation, so that every step may have a path of its own;
 * engine_plan.c keeps those of a path that comes again. */
#ifndef PADA_GRAPH_PLAN_H
#define PADA_GRAPH_PLAN_H

#include "backend/backend.h"
#include "graph/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pada_plan pada_plan;

pada_status pada_plan_create(pada_plan **out, int cap_nodes, int cap_terms);
void pada_plan_destroy(pada_plan *plan);

/* Plans a simplified graph for n_images. With `train` the program has a backward part and keeps
 * what that needs, and compares its taps; without it, memory is given back as soon as it is read for
 * the last time, and taps are kept. */
void pada_plan_build(pada_plan *plan, const pada_graph *graph, const pada_backend *backend,
                     const pada_device *device, int n_images, bool train);

/* Of every term of a probe, in a program that has run to its end: derivatives[mark] += sum(dy * batchnorm(z)),
 * the derivative of the loss by a factor of batchnorm(z). `room` has space for three channel vectors per
 * term. Waits for the device once, if there are probes. */
void pada_program_probes(const pada_program *program, const pada_backend *backend,
                         pada_device *device, const void *work, double *room, double *derivatives);

/* Borrowed; valid until the next build. Refers to the arrays of the graph it was built from. */
const pada_program *pada_plan_program(const pada_plan *plan);

#ifdef __cplusplus
}
#endif
#endif
