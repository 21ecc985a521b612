/* optim.h - optimisers: which states they keep, and one step over ranges of the parameter buffer.
 *
 * An optimiser is a line in the table of optim.c: a rule that backends know (backend/update.h), and the
 * parameter-shaped states that it needs. */
#ifndef PADA_OPTIM_OPTIM_H
#define PADA_OPTIM_OPTIM_H

#include "backend/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pada_optimizer {
    const char *name; /* NULL ends the table */
    const char *summary;
    pada_rule rule;
    int n_states;
    struct {
        const char *name; /* in checkpoints */
        double first;     /* what every element starts with */
    } states[PADA_MAX_STATES];
    bool counts;           /* the rule asks how often a parameter was moved */
    double decay, epsilon; /* where a step does not say */
} pada_optimizer;

/* The first one is the default. */
extern const pada_optimizer pada_optimizers[];
/* An unknown name is PADA_EINVAL and offers the nearest. */
pada_status pada_optimizer_find(const pada_optimizer **out, const char *name);

/* Which parameters a step moves. */
typedef enum pada_optim_mode {
    PADA_OPTIM_DENSE, /* every parameter sampled at least once so far: momentum and weight decay go on without
                         a gradient, as in PyTorch before 2.0 */
    PADA_OPTIM_SKIP /* only the parameters of the paths of this step */
} pada_optim_mode;

/* The numbers of a step. */
typedef struct pada_optim {
    double lr, momentum, weight_decay;
    bool nesterov;         /* SGD */
    double decay, epsilon; /* of squared gradients; 0: what the optimiser says */
    double clip;           /* largest global gradient norm; 0: no clipping */
    bool spares_vectors;   /* no weight decay of biases, nor of scales and shifts of norms */
    pada_optim_mode mode;
} pada_optim;

/* Ranges of one step: `active` have gradients, `moved` are updated. */
typedef struct pada_optim_ranges {
    const pada_range *active;
    int n_active;
    pada_update_ranges moved;
    double *sums; /* room for n_active: squared gradient norms before clipping, written */
} pada_optim_ranges;

/* Clips the gradients and moves the weights. The factor that clipping applied (1: none) goes to
 * *clip_factor, the norm before it to *norm. A gradient that is not finite is PADA_ENUMERIC and nothing
 * has changed. */
pada_status pada_optim_run(const pada_optimizer *optimizer, const pada_optim *optim,
                           const pada_backend *backend, pada_device *device,
                           const pada_update_buffers *buffers, const pada_optim_ranges *ranges,
                           double *norm, double *clip_factor);

/* The same on a backend that has clip_update, without waiting for it: norm, clip factor and the norms of
 * the active ranges go to `record`, memory of the backend with room for 2 + n_active. A gradient that is
 * not finite changes nothing. */
void pada_optim_queue(const pada_optimizer *optimizer, const pada_optim *optim,
                      const pada_backend *backend, pada_device *device,
                      const pada_update_buffers *buffers, const pada_optim_ranges *ranges,
                      void *record);

#ifdef __cplusplus
}
#endif
#endif
