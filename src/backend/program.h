/* program.h - what a backend is given to run: the plan of one path for one batch size.
 *
 * A program is a list of instructions grouped into stages. Inside a stage every instruction works on
 * one image at a time and needs nothing from other images, so a backend may run the whole stage image
 * by image (the CPU, whose caches then hold the image) or instruction by instruction over the batch.
 * Between stages stand the reductions over the batch: batch-norm statistics, their gradients and
 * weight gradients. A backend finishes them at the end of the stage that collects them, in an order
 * that does not depend on threads.
 *
 *   work buffer   [ tensors of the batch, reusing places | channel statistics | partial sums ]
 *   scratch       tensors that live inside one stage, one image per thread; owned by the backend
 *   taps          what the taps of one program keep for another one of as many images
 */
#ifndef PADA_BACKEND_PROGRAM_H
#define PADA_BACKEND_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "op/op.h"
#include "tensor/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where a tensor lives. */
typedef struct pada_place {
    enum { PADA_NOWHERE, PADA_WORK, PADA_LOCAL, PADA_TAPS } in;
    /* bytes, from the start of the work buffer, of a thread's scratch or of the taps buffer */
    int64_t offset;
    int64_t image_bytes; /* WORK, TAPS: image n starts at offset + n * image_bytes */
} pada_place;

/* What a program adds to a term of a combine. */
typedef struct pada_term_plan {
    /* BATCHNORM: dx = a dy + b x + c; offset of a, b, c, one channel vector each */
    int64_t coef;
    /* BATCHNORM: offset of mean and factor, one channel vector each: y = (x - mean) factor + shift. Those of
     * the value itself (pada_node_plan.stats) where the factor is 1/deviation of the batch, else its own */
    int64_t stats;
    bool lazy;       /* the gradient is formed by the CONV_BWD that made x, not by COMBINE_BWD */
    bool accumulate; /* COMBINE_BWD adds to the gradient of x instead of storing it */
} pada_term_plan;

/* What a program adds to a node. */
typedef struct pada_node_plan {
    pada_place value, grad; /* of a tap, value is what was kept */
    int64_t stats; /* offset of mean and 1/deviation, one channel vector each; -1: not needed */
} pada_node_plan;

typedef struct pada_instr {
    pada_code code;
    pada_value v; /* the node it belongs to */
    bool stats;   /* FWD: also collect the moments of v */
    /* COMBINE_BWD: the pass over the BATCHNORM terms (one stage later than the others) */
    bool norms;
    /* CONV_BWD, GAP_BWD, LINEAR_BWD, DROP_BWD, ALIGN_BWD: add to the gradient of x. ALIGN_FWD: to the result */
    bool accumulate;
    bool no_grad_in; /* CONV_BWD: x needs no gradient */
    /* CONV_BWD: the node whose gradient is read; v itself, or the combine that v feeds. NORM_SUMS: v,
     * or the combine that v probes */
    pada_value dy;
    /* CONV_BWD: the term of dy through which v feeds it, with coef; -1: the gradient as it is.
     * COMBINE_BWD: the one term it is for; -1: all */
    int term;
    /* offset of per-image sums, in a part of the work buffer that every stage reuses; no room is left for
     * them where a backend gathers */
    int64_t partial;
} pada_instr;

typedef struct pada_stage {
    int first, count; /* instructions */
} pada_stage;

typedef struct pada_program {
    const pada_node *nodes; /* the graph */
    const pada_term *terms;
    pada_node_plan *node_plans; /* one per node */
    pada_term_plan *term_plans; /* one per term */
    pada_instr *instrs;
    pada_stage *stages;
    int n_nodes, n_terms, n_instrs;
    int n_forward, n_stages; /* stages: the first n_forward run forward, the others backward */
    int n_images, n_taps;
    bool fixed_norms;    /* evaluation by running statistics, for batch norms that have them */
    double norm_epsilon; /* what batch norms add to variances */
    int64_t work_bytes, local_bytes, taps_bytes;
    /* where the coefficients of the terms of probes lie side by side: offset in the work buffer, and bytes */
    int64_t probes, probes_bytes;
} pada_program;

/* Whether batch norm t of a program is normalised by its running statistics. */
static inline bool pada_norm_is_fixed(const pada_program *program, int t)
{
    return program->fixed_norms && program->terms[t].norm.mean >= 0;
}

/* The variance that running statistics take from a batch, of a channel with so many elements. */
static inline double pada_unbiased_variance(double biased, double count)
{
    return count > 1 ? biased * count / (count - 1) : biased;
}

#ifdef __cplusplus
}
#endif
#endif
