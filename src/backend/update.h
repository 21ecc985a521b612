/* update.h - how a step moves weights: the rules that every backend knows. optim/optim.h has what
 * optimisers are made of them.
 *
 * With g' = grad_scale g + weight_decay w, and the state buffers s0 and s1:
 *
 *   SGD      s0 = momentum s0 + g'
 *            w -= lr (nesterov ? g' + momentum s0 : s0)
 *   RMSPROP  s0 += (1 - decay) (g'^2 - s0)                     as TensorFlow: epsilon inside the root,
 *            s1 = momentum s1 + lr g' / sqrt(s0 + epsilon)     the learning rate inside the momentum
 *            w -= s1
 *   ADAM     s0 = momentum s0 + (1 - momentum) g'
 *            s1 = decay s1 + (1 - decay) g'^2
 *            w -= lr s0 / (1 - momentum^t) / (sqrt(s1 / (1 - decay^t)) + epsilon)
 *
 * where t says the how many-th update of that range it is. */
#ifndef PADA_BACKEND_UPDATE_H
#define PADA_BACKEND_UPDATE_H

#include <stdbool.h>
#include <stdint.h>

#include "tensor/params.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { PADA_MAX_STATES = 2 };

typedef enum pada_rule { PADA_RULE_SGD, PADA_RULE_RMSPROP, PADA_RULE_ADAM } pada_rule;

typedef struct pada_update {
    pada_rule rule;
    double lr, momentum, weight_decay;
    bool nesterov;
    double decay, epsilon;
    double grad_scale; /* from clipping; 1 when not clipped */
} pada_update;

/* Parameter-shaped buffers of a backend; states that a rule does not have are not read. */
typedef struct pada_update_buffers {
    void *weights;
    const void *grads;
    void *states[PADA_MAX_STATES];
} pada_update_buffers;

/* Ranges that move. */
typedef struct pada_update_ranges {
    const pada_range *at;  /* [n] */
    const int64_t *counts; /* [n] t of each, from 1; NULL unless the rule is ADAM */
    int n;
    int n_spared; /* the last so many of them have no weight decay */
} pada_update_ranges;

/* For clip_update: `update.grad_scale` is not used, `clip` is the largest norm or 0. */
typedef struct pada_clip_step {
    pada_update update;
    double clip;
    const pada_range *active; /* [n_active] have gradients */
    int n_active;
    pada_update_ranges moved;
} pada_clip_step;

/* 1 - beta^t, by squaring: the same bits with every C library. */
static inline double pada_bias_correction(double beta, int64_t t)
{
    double power = 1;

    for (; t > 0; t /= 2, beta *= beta)
        if (t % 2) power *= beta;
    return 1 - power;
}

#ifdef __cplusplus
}
#endif
#endif
