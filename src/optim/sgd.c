/* sgd.c - one step of stochastic gradient descent. */
#include "optim/sgd.h"

#include <math.h>

pada_status pada_sgd_run(const pada_sgd *sgd, const pada_backend *backend, pada_device *device,
                         const pada_sgd_buffers *buffers, const pada_sgd_ranges *ranges,
                         double *norm, double *clip_factor)
{
    double squares = 0;

    backend->sum_squares(device, buffers->grads, ranges->active, ranges->n_active, ranges->sums);
    for (int i = 0; i < ranges->n_active; i++)
        squares += ranges->sums[i];
    *norm = sqrt(squares);
    if (!isfinite(*norm))
        PADA_TRY(pada_backend_finish(backend, device)); /* the real reason, if any */
    if (!isfinite(*norm)) return PADA_FAIL(PADA_ENUMERIC, "gradient norm is %g", *norm);
    /* The same guard against division by zero as PyTorch's clip_grad_norm_. */
    *clip_factor = sgd->clip > 0 ? sgd->clip / (*norm + 1e-6) : 1;
    if (*clip_factor > 1) *clip_factor = 1;
    const pada_sgd_step step = {sgd->lr, sgd->momentum, sgd->weight_decay, sgd->nesterov,
                                *clip_factor};
    backend->sgd(device, buffers->weights, buffers->grads, buffers->velocity, ranges->moved,
                 ranges->n_moved, &step);
    return PADA_OK;
}

void pada_sgd_queue(const pada_sgd *sgd, const pada_backend *backend, pada_device *device,
                    const pada_sgd_buffers *buffers, const pada_sgd_ranges *ranges, void *record)
{
    const pada_clip_step step = {
        .step = {sgd->lr, sgd->momentum, sgd->weight_decay, sgd->nesterov, 1},
        .clip = sgd->clip,
        .active = ranges->active,
        .moved = ranges->moved,
        .n_active = ranges->n_active,
        .n_moved = ranges->n_moved,
    };

    backend->clip_sgd(device, buffers->weights, buffers->grads, buffers->velocity, &step, record);
}
