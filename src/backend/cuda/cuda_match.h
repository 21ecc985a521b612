/* cuda_match.h - which instructions of a program run together in one launch.
 *
 * A step is a launch of a node kernel for several instructions of one stage, or one instruction for the
 * general kernels. Every instruction belongs to one step, and steps stand in an order in which they can
 * run. Nothing here touches a device. */
#ifndef PADA_BACKEND_CUDA_CUDA_MATCH_H
#define PADA_BACKEND_CUDA_CUDA_MATCH_H

#include "backend/program.h"
#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CUDA_PARTIAL_BYTES = 16 << 20 /* of weight gradients before they are added up */ };

typedef enum cuda_step_kind {
    CUDA_STEP_INSTR,
    CUDA_STEP_NODE_FORWARD,      /* at most one COMBINE_FWD, first; CONV_FWD of the same value */
    CUDA_STEP_NODE_BACKWARD,     /* contributions to one gradient, and its NORM_SUMS */
    CUDA_STEP_REDUCTION_FORWARD, /* CONV_FWD with stride 2, COMBINE_FWD of 2x2 means, their CONV_FWD */
    CUDA_STEP_REDUCTION_BACKWARD, /* CONV_BWD of one of them; with stride 2 also COMBINE_BWD */
    CUDA_STEP_STEM_FORWARD,       /* CONV_FWD of the images */
    CUDA_STEP_STEM_BACKWARD,
    CUDA_STEP_HEAD_FORWARD,  /* GAP_FWD, LINEAR_FWD, LOSS_FWD */
    CUDA_STEP_HEAD_BACKWARD, /* LINEAR_BWD, GAP_BWD */
    CUDA_STEP_LEVEL          /* parts of one kind: kernels of cuda_level.h */
} cuda_step_kind;

/* What a kernel of levels does for an instruction. */
typedef enum cuda_part_kind {
    CUDA_PART_SUM, /* COMBINE_FWD, an operand of CONCAT_FWD; several COMBINE_BWD, CONCAT_BWD for one gradient */
    CUDA_PART_POOL_FORWARD,
    CUDA_PART_DEPTH_FORWARD,
    CUDA_PART_DENSE_FORWARD,
    CUDA_PART_POOL_GRAD,
    CUDA_PART_DEPTH_BACK, /* both gradients */
    CUDA_PART_DENSE_GRAD_IN,
    CUDA_PART_DENSE_WEIGHTS,
    CUDA_PART_GENERAL, /* none: a step of its own */
    CUDA_PART_HEAD_FORWARD,
    CUDA_PART_HEAD_BACKWARD
} cuda_part_kind;

typedef struct cuda_level_part {
    cuda_part_kind kind;
    int level;        /* in its stage: those of a level need nothing from each other */
    int first, count; /* instructions: of cuda_match.members */
    int term;         /* of CONCAT_FWD: which operand; else -1 */
    bool accumulate;  /* the gradient holds earlier contributions */
    pada_value
        norms; /* the gradient of this value is complete, and its NORM_SUMS are done, too; -1: not so */
} cuda_level_part;

/* When something happens: the level of a stage; others never did in this stage. */
typedef struct cuda_when {
    int stage, level;
} cuda_when;

typedef struct cuda_step {
    cuda_step_kind kind;
    int stage;
    int first, count; /* of cuda_match.members, LEVEL: of its parts */
    pada_value v;     /* NODE: the value, or the value whose gradient it is; else -1 */
    int batch;        /* of weight gradients that are added up together; before it, those before */
    bool accumulate;  /* backward: the gradient holds earlier contributions */
    bool
        no_store; /* NODE_FORWARD: nobody else reads v. NODE_BACKWARD: the gradient stays as it is */
} cuda_step;

/* What the matching says about a node. */
typedef struct cuda_node_match {
    int64_t moments;   /* first of the sums that a node kernel collects of it, or -1 */
    bool finish;       /* a general kernel reads its moments */
    int64_t fragment;  /* CONV: bytes before its weights as fragments, or -1 */
    int64_t partial;   /* CONV: floats before the partial sums of its weight gradient, or -1 */
    int blocks, batch; /* how many its kernel leaves, 0: none; when they are added up */
    int n_partials; /* how many begin at `partial`: its own and, of the first of several with the same weights,
                        * those of the others; 0: it is one of the others */
    bool plain;   /* CONV: they are in the order of the weights */
    int64_t sums; /* first of those of a kernel of levels, which also finishes them; or -1 */
    bool viewed;  /* a sum of one batch norm that is not stored: its readers apply the norm */
    /* the term of a concatenation, `host`, whose channels it is written to, and read from; or -1 */
    int home;
    pada_value host;
    cuda_when ready, complete; /* value and gradient, while matching */
} cuda_node_match;

/* And about a term. */
typedef struct cuda_term_match {
    int64_t slopes; /* likewise, of its gradient */
    int64_t sums;   /* and by kernels of levels */
    bool finish;
    bool known; /* of a probe: the sum has the same batch norm, and they share their sums */
} cuda_term_match;

typedef struct cuda_match {
    cuda_step *steps;
    int *members;   /* instructions, step by step */
    uint8_t *taken; /* [instr] while matching: cuda_match.c */
    cuda_node_match *nodes;
    cuda_term_match *terms;
    cuda_level_part *parts; /* of steps LEVEL */
    bool levels;            /* the program runs by levels, not by nodes */
    int n_steps, n_members, n_parts;
    /* sums: those of the forward stages come first */
    int64_t n_forward_sums, n_sums, fragment_bytes;
    /* partial sums of weight gradients: of the batch being filled, of the largest */
    int64_t batch_floats, partial_floats;
    int n_batches;
    int cap_instrs, cap_nodes, cap_terms;
} cuda_match;

/* tiles: node kernels may be used; without it all steps are single
 * instructions. Allocates only when a program is larger than all before it; start from zeros. */
pada_status pada_cuda_match(cuda_match *m, const pada_program *program, bool tiles);
void pada_cuda_match_deinit(cuda_match *m);

#ifdef __cplusplus
}
#endif
#endif
