/* cuda_match.h - which instructions of a program run together in one launch.
 *
 * A step is a launch of a node kernel for several instructions of one stage, or one instruction for the
 * general kernels. Every instruction belongs to one step, and steps stand in an order in which they can
 * run. Nothing here touches a device. */
#ifndef PADA_BACKEND_CUDA_CUDA_MATCH_H
#define PADA_BACKEND_CUDA_CUDA_MATCH_H

#include "backend/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cuda_step_kind {
    CUDA_STEP_INSTR,
    CUDA_STEP_NODE_FORWARD, /* at most one COMBINE_FWD, first; CONV_FWD of the same value */
    CUDA_STEP_NODE_BACKWARD /* contributions to one gradient, and its NORM_SUMS */
} cuda_step_kind;

typedef struct cuda_step {
    cuda_step_kind kind;
    int stage;
    int first, count; /* of cuda_match.members */
    pada_value v;     /* NODE: the value, or the value whose gradient it is; else -1 */
    bool accumulate;  /* backward: the gradient holds earlier contributions */
    bool
        no_store; /* NODE_FORWARD: nobody else reads v. NODE_BACKWARD: the gradient stays as it is */
} cuda_step;

/* What the matching says about a node. */
typedef struct cuda_node_match {
    int64_t moments;  /* first of the sums that a node kernel collects of it, or -1 */
    bool finish;      /* a general kernel reads its moments */
    int64_t fragment; /* CONV: bytes before its weights as fragments, or -1 */
    int64_t partial;  /* CONV: floats before the partial sums of its weight gradient, or -1 */
} cuda_node_match;

/* And about a term. */
typedef struct cuda_term_match {
    int64_t slopes; /* likewise, of its gradient */
    bool finish;
} cuda_term_match;

typedef struct cuda_match {
    cuda_step *steps;
    int *members; /* instructions, step by step */
    bool *taken;  /* [instr] while matching */
    cuda_node_match *nodes;
    cuda_term_match *terms;
    int n_steps, n_members;
    /* sums: those of the forward stages come first */
    int64_t n_forward_sums, n_sums, fragment_bytes, partial_floats;
    int cap_instrs, cap_nodes, cap_terms;
} cuda_match;

/* half: activations are bfloat16, as node kernels want them; without it all steps are single
 * instructions. Allocates only when a program is larger than all before it; start from zeros. */
pada_status pada_cuda_match(cuda_match *m, const pada_program *program, bool half);
void pada_cuda_match_deinit(cuda_match *m);

#ifdef __cplusplus
}
#endif
#endif
