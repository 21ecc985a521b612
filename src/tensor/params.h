/* params.h - the map of a parameter buffer: which tensor lies where, and whom it belongs to.
 *
 *   [ shared: stem, reductions, head | site 0: choice 0, 1, .. | site 1: .. | ... ]
 *
 * A site is a place in the network where one choice runs (NB201: one edge of one cell); one slot of
 * a path may decide many sites. The weights of one (site, choice) are one pada_range. Gradients and
 * momentum have the same map. Offsets count elements; every tensor starts at a multiple of
 * PADA_PARAM_ALIGN and the gap before it is always zero. Weights are stored as PyTorch does:
 * convolutions [out, in, kh, kw], linear [out, in]. */
#ifndef PADA_TENSOR_PARAMS_H
#define PADA_TENSOR_PARAMS_H

#include <stdint.h>

#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PADA_PARAM_ALIGN 16   /* elements */
#define PADA_SHARED      (-1) /* site of parameters that every path uses */

typedef struct pada_range {
    int64_t first, count; /* elements */
} pada_range;

typedef struct pada_param {
    char name[96]; /* as in PyTorch's state_dict */
    int dims[4];   /* unused ones are 1 */
    int n_dims;
    int64_t offset; /* elements from the start of the buffer */
    int64_t count;
    double centre, bound; /* initial values are uniform in (centre - bound, centre + bound) */
    int site, choice;     /* PADA_SHARED, 0: every path uses it */
    int bias_before_norm; /* 1: a batch norm follows, so the gradient is zero by construction */
} pada_param;

typedef struct pada_params pada_params;

pada_status pada_params_create(pada_params **out);
void pada_params_destroy(pada_params *params);

/* Adds a tensor; returns its index in *id. Must be called in buffer order: shared ones first, then
 * by (site, choice). `offset`, `count` and the unused dims are set here, whatever the caller wrote.
 * A wrong shape, a doubled name or the wrong order is PADA_EINVAL, and nothing has changed. */
pada_status pada_params_add(pada_params *params, const pada_param *param, int *id);

int pada_params_count(const pada_params *params);
const pada_param *pada_params_get(const pada_params *params,
                                  int id); /* borrowed; an add does not move it */
int pada_params_find(const pada_params *params, const char *name); /* -1 if there is none */
/* The first one of (site, choice), which the others follow; the number of parameters if it is behind all of them. */
int pada_params_first(const pada_params *params, int site, int choice);
int64_t pada_params_largest(const pada_params *params);  /* elements of the largest tensor */
int64_t pada_params_elements(const pada_params *params); /* of the buffer, gaps included */
/* The elements of one (site, choice), or of the shared part; empty if it has no parameters. `first`
 * and `count` are multiples of PADA_PARAM_ALIGN: the gap behind the last tensor is included, so the
 * ranges tile the buffer. */
pada_range pada_params_range(const pada_params *params, int site, int choice);

/* Initial values of a tensor, from the stream (seed, "init", id): `count` numbers, rounded to float, so that every
 * backend and every file starts from the same. */
void pada_params_draw(const pada_params *params, int id, uint64_t seed, double *to);

#ifdef __cplusplus
}
#endif
#endif
