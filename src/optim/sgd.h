/* sgd.h - one step of stochastic gradient descent over ranges of the parameter buffer. */
#ifndef PADA_OPTIM_SGD_H
#define PADA_OPTIM_SGD_H

#include "backend/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Which parameters a step moves. */
typedef enum pada_sgd_mode {
    PADA_SGD_DENSE, /* every parameter sampled at least once so far: momentum and weight decay go on without a
                       gradient, as in PyTorch before 2.0 */
    PADA_SGD_SKIP /* only the parameters of the paths of this step */
} pada_sgd_mode;

typedef struct pada_sgd {
    double lr, momentum, weight_decay;
    bool nesterov;
    double clip; /* largest global gradient norm; 0: no clipping */
    pada_sgd_mode mode;
} pada_sgd;

/* The three parameter-shaped buffers. */
typedef struct pada_sgd_buffers {
    void *weights, *grads, *velocity;
} pada_sgd_buffers;

/* Ranges of one step: `active` have gradients, `moved` are updated. */
typedef struct pada_sgd_ranges {
    const pada_range *active, *moved;
    int n_active, n_moved;
    double *sums; /* room for n_active: squared gradient norms before clipping, written */
} pada_sgd_ranges;

/* g' = clip(g) + decay w; v = momentum v + g'; w -= lr (nesterov ? g' + momentum v : v). The factor
 * that clipping applied (1: none) goes to *clip_factor, the norm before it to *norm. A gradient
 * that is not finite is PADA_ENUMERIC and nothing has changed. */
pada_status pada_sgd_run(const pada_sgd *sgd, const pada_backend *backend, pada_device *device,
                         const pada_sgd_buffers *buffers, const pada_sgd_ranges *ranges,
                         double *norm, double *clip_factor);

/* The same on a backend that has clip_sgd, without waiting for it: norm, clip factor and the norms of the
 * active ranges go to `record`, memory of the backend with room for 2 + n_active. A gradient that is not
 * finite changes nothing. */
void pada_sgd_queue(const pada_sgd *sgd, const pada_backend *backend, pada_device *device,
                    const pada_sgd_buffers *buffers, const pada_sgd_ranges *ranges, void *record);

#ifdef __cplusplus
}
#endif
#endif
