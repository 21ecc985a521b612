/* op.h - what operators are: their descriptors, output shapes and multiply-adds.
 *
 * A few operators describe every network of the search spaces; ops.def is their table. The unit behind
 * them is the node (docs/design/0002): a sum of terms, followed by convolutions that read it through an
 * activation.
 *
 *   input     images
 *   conv      z = conv(act(x)) + bias
 *   combine   y = sum over terms of { x | batchnorm(x) | avgpool(x) }
 *   gap       f = mean over pixels of act(x)
 *   linear    l = W f + b
 *   pool      y = mean or largest of act(x) in a window, of the pixels inside the image
 *   concat    y = all channels of its terms, one behind the other
 *   constant  y = one parameter per channel, everywhere
 *   drop      y = x times a random mask, in training only: dropout, drop path
 *   gate      y = act(x) * sigmoid(s), where s has one number per channel
 *   tap       nothing for other operators: x is kept, or compared with an x that was kept
 *   probe     nothing: how the loss would change if batchnorm(z) had a part in x, for several z
 *   loss      softmax cross entropy, with per-image loss, gradient norm ||p - target|| and correctness
 */
#ifndef PADA_OP_OP_H
#define PADA_OP_OP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "tensor/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum pada_op {
#define PADA_OP(name, NAME, ...) PADA_OP_##NAME,
#include "op/ops.def"
#undef PADA_OP
    PADA_N_OPS
} pada_op;

/* What an instruction of a program does. */
typedef enum pada_code {
    PADA_CODE_CONV_FWD,    /* z = conv(act(x)) + bias */
    PADA_CODE_COMBINE_FWD, /* y = sum of terms */
    PADA_CODE_GAP_FWD,
    PADA_CODE_LINEAR_FWD,
    PADA_CODE_POOL_FWD,
    PADA_CODE_CONCAT_FWD,
    PADA_CODE_CONSTANT_FWD,
    PADA_CODE_DROP_FWD, /* y = mask * x */
    PADA_CODE_GATE_FWD,
    PADA_CODE_LOSS_FWD, /* per-image results and, in training, the gradient of the logits */
    /* of a tap: x goes into the taps buffer; or its mean squared distance from what is there, over
     * the number of taps, into the results */
    PADA_CODE_TAP_KEEP,
    PADA_CODE_ALIGN_FWD,
    PADA_CODE_LINEAR_BWD,
    PADA_CODE_GAP_BWD,
    PADA_CODE_POOL_BWD,
    PADA_CODE_CONCAT_BWD,   /* gradients of its terms */
    PADA_CODE_CONSTANT_BWD, /* of its parameters */
    PADA_CODE_DROP_BWD,     /* dx = mask * dy */
    PADA_CODE_GATE_BWD,     /* of x and s */
    /* of a combine whose gradient is complete, or of a probe of it: sum(dy), and sum(dy * (x - mean))
     * per term */
    PADA_CODE_NORM_SUMS,
    PADA_CODE_COMBINE_BWD, /* gradients of the terms that are not left to CONV_BWD */
    PADA_CODE_CONV_BWD,    /* weight gradient, and the gradient of x through the activation */
    PADA_CODE_ALIGN_BWD,   /* of a tap: bindings.align times the gradient of the distance */
} pada_code;

/* What graph, planner and costs know about an operator: a line of ops.def. */
typedef enum pada_operands {
    PADA_OPERANDS_NONE,
    PADA_OPERANDS_X,
    PADA_OPERANDS_TERMS,
    PADA_OPERANDS_BOTH
} pada_operands;

typedef enum pada_role { PADA_ROLE_VALUE, PADA_ROLE_SINK, PADA_ROLE_GUEST } pada_role;
typedef enum pada_reads { PADA_READS_NONE, PADA_READS_X, PADA_READS_LAZY } pada_reads;

typedef struct pada_op_info {
    const char *name;
    pada_operands operands;
    pada_role role;
    pada_reads reads;
    int eval, train, backward; /* pada_code, or -1: no instruction */
} pada_op_info;

const pada_op_info *pada_op_get(pada_op op);
const char *pada_op_name(pada_op op);

typedef enum pada_act { PADA_ACT_NONE, PADA_ACT_RELU, PADA_ACT_RELU6 } pada_act;

/* A square convolution that reads its input through an activation. Starts as pada_conv_make, so
 * that an attribute added later has its usual value everywhere. */
typedef struct pada_conv {
    int c_in, c_out;
    int kernel, stride, pad;
    pada_act act;
    int groups;   /* of channels, both in and out, that do not see each other */
    int dilation; /* pixels from one tap to the next */
    /* first row and column of x that it knows, without padding: of x[offset:, offset:] */
    int offset;
} pada_conv;

/* Dense: groups and dilation are 1, and there is no offset. */
pada_conv pada_conv_make(int c_in, int c_out, int kernel, int stride, int pad, pada_act act);

typedef enum pada_term_kind {
    PADA_TERM_IDENTITY,
    PADA_TERM_BATCHNORM, /* normalised by mean and biased variance; see pada_norm */
    PADA_TERM_AVGPOOL    /* the divisor counts the pixels inside the image only */
} pada_term_kind;

typedef struct pada_pool {
    int kernel, stride, pad;
} pada_pool;

/* Of a pool. Where several pixels are largest, the gradient goes to the first one. */
typedef enum pada_pool_kind { PADA_POOL_AVG, PADA_POOL_MAX } pada_pool_kind;

/* What a drop sets to zero: single elements (dropout), or all of an image (drop path). Rates, and which ones, are those
 * of the step: backend/drop.h. */
typedef enum pada_drop_kind { PADA_DROP_ELEMENTS, PADA_DROP_IMAGES, PADA_N_DROPS } pada_drop_kind;

typedef struct pada_drop {
    pada_drop_kind kind;
    int mask;     /* its number among the drops of the network */
    double share; /* of the step's rate, in 0..1: deeper blocks may be dropped more often */
} pada_drop;

/* What batch norms add to variances, unless the network has a value of its own (pada_graph.norm_epsilon). */
#define PADA_NORM_EPSILON 1e-5

/* What a batch norm has of its own, one number per channel each: offsets, or -1 where it has none.
 * y = (x - mean) / sqrt(variance + epsilon) * scale + shift, with the epsilon of the network. */
typedef struct pada_norm {
    int64_t scale, shift;   /* in the parameter buffer */
    int64_t mean, variance; /* in the buffer of running statistics: both or none */
} pada_norm;

/* What a loss has of its own. Its target, the distribution that p is held against, gives the label 1 - smoothing and
 * every class, the label among them, smoothing / classes. */
typedef struct pada_loss {
    double smoothing;
    double weight;     /* of its gradient: 1, but for auxiliary ones */
    bool is_auxiliary; /* there for its gradient only; results are those of the loss */
} pada_loss;

/* A value is the index of the node that makes it. */
typedef int pada_value;
#define PADA_ZERO (-1) /* the tensor of zeros, of any shape */

/* One summand of a combine node, one part of a concat (an identity), or one z of a probe. */
typedef struct pada_term {
    pada_term_kind kind;
    pada_value x;
    pada_pool pool; /* AVGPOOL */
    pada_norm norm; /* BATCHNORM */
    int mark;       /* of a probe: what z stands for, a tag defined by the space */
    int channel;    /* of a concat: where x begins; channels that no term has are zero */
} pada_term;

/* The batch norm of x that has nothing of its own: statistics of the batch, no scale, no shift. */
static inline pada_term pada_norm_term(pada_value x)
{
    pada_term term = {PADA_TERM_BATCHNORM, x, {0, 0, 0}, {-1, -1, -1, -1}, 0, 0};
    return term;
}

static inline int pada_norm_is_affine(const pada_norm *norm)
{
    return norm->scale >= 0 || norm->shift >= 0;
}

/* One operator of a network, with its operands. */
typedef struct pada_node {
    pada_op op;
    pada_shape shape; /* of the output, one image */
    pada_value
        x; /* of operators with this operand; LINEAR and TAP take PADA_ZERO, CONSTANT has it */
    pada_conv conv; /* CONV */
    pada_act act;   /* GAP, POOL, GATE */
    pada_pool pool; /* POOL */
    pada_pool_kind pool_kind;
    pada_drop drop;          /* DROP */
    pada_loss loss;          /* LOSS */
    int64_t weight;          /* CONV, LINEAR: offset into the parameter buffer */
    int64_t bias;            /* likewise, and CONSTANT; -1: none */
    int first_term, n_terms; /* COMBINE, CONCAT, PROBE; GATE: x, then s */
} pada_node;

/* Output shape of a node that reads x, whose shape is `in`. A descriptor that does not fit its input is
 * PADA_EINVAL. Shapes that the operands do not decide are left as they are. */
pada_status pada_node_shape(const pada_node *node, pada_shape in, pada_shape *out);
/* Multiply-adds of a node for one image; x is zero where `in` has no channels. */
int64_t pada_node_macs(const pada_node *node, pada_shape in);

/* The same of descriptors alone. */
pada_status pada_conv_shape(const pada_conv *conv, pada_shape in, pada_shape *out);
pada_status pada_pool_shape(const pada_pool *pool, pada_shape in, pada_shape *out);

/* Multiply-adds for one image; batch norm, activations, pooling and sums count nothing. */
int64_t pada_conv_macs(const pada_conv *conv, pada_shape out);
int64_t pada_linear_macs(int in, int out); /* the bias addition is counted, as in NAS-Bench-201 */

/* Elements of the weight tensor: [c_out, c_in / groups, kernel, kernel]. */
int64_t pada_conv_weights(const pada_conv *conv);

/* ---- what kernels accept ----
 *
 * A kernel lists the convolutions it was written for, attribute by attribute, and whoever chooses
 * kernels asks pada_conv_in. An attribute that is added to pada_conv gets a set here: it is empty
 * in every list that was not extended, so that old kernels refuse what they do not know. */

#define PADA_ONE(n) (UINT64_C(1) << (n)) /* the set of one number; sets are united by | */
#define PADA_ANY    UINT64_MAX           /* and of all */

static inline bool pada_set_has(uint64_t set, int n)
{
    return set == PADA_ANY || (n >= 0 && n < 64 && (set >> n & 1) != 0);
}

typedef enum pada_grouping {
    PADA_DENSE,     /* one group */
    PADA_DEPTHWISE, /* every channel by itself, as many out as in */
    PADA_GROUPED    /* any other number of groups */
} pada_grouping;

pada_grouping pada_conv_grouping(const pada_conv *conv);

typedef struct pada_conv_list {
    uint64_t kernels, strides, pads, dilations;
    uint64_t groupings; /* of pada_grouping */
    uint64_t acts;      /* of pada_act */
    uint64_t offsets;
} pada_conv_list;

bool pada_conv_in(const pada_conv_list *list, const pada_conv *conv);
/* For messages: "conv 3x3 16->16, stride 1, pad 1, groups 1, dilation 1, offset 0, relu". */
const char *pada_conv_text(const pada_conv *conv, char *room, size_t size);

#ifdef __cplusplus
}
#endif
#endif
