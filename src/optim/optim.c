/* optim.c - the table of optimisers, and one step of any of them. */
#include "optim/optim.h"

#include <math.h>
#include <string.h>

#include "base/text.h"

const pada_optimizer pada_optimizers[] = {
    {.name = "sgd",
     .summary = "gradient descent with momentum, Nesterov's form if asked for",
     .rule = PADA_RULE_SGD,
     .n_states = 1,
     .states = {{"momentum", 0}}},
    {.name = "rmsprop",
     .summary = "RMSprop as in TensorFlow",
     .rule = PADA_RULE_RMSPROP,
     .n_states = 2,
     .states = {{"square", 1}, {"momentum", 0}},
     .decay = 0.9,
     .epsilon = 1e-3},
    {.name = "adam",
     .summary = "Adam with weight decay in the gradient",
     .rule = PADA_RULE_ADAM,
     .n_states = 2,
     .states = {{"momentum", 0}, {"square", 0}},
     .counts = true,
     .decay = 0.999,
     .epsilon = 1e-8},
    {.name = NULL},
};

pada_status pada_optimizer_find(const pada_optimizer **out, const char *name)
{
    const char *names[sizeof pada_optimizers / sizeof *pada_optimizers];
    int n = 0;

    *out = NULL;
    for (; pada_optimizers[n].name; n++) {
        names[n] = pada_optimizers[n].name;
        if (strcmp(name, names[n]) == 0) *out = &pada_optimizers[n];
    }
    return *out ? PADA_OK : pada_fail_unknown(PADA_EINVAL, "unknown optimiser", name, names, n);
}

static pada_update make_update(const pada_optimizer *optimizer, const pada_optim *optim,
                               double grad_scale)
{
    return (pada_update){.rule = optimizer->rule,
                         .lr = optim->lr,
                         .momentum = optim->momentum,
                         .weight_decay = optim->weight_decay,
                         .nesterov = optim->nesterov,
                         .decay = optim->decay > 0 ? optim->decay : optimizer->decay,
                         .epsilon = optim->epsilon > 0 ? optim->epsilon : optimizer->epsilon,
                         .grad_scale = grad_scale};
}

pada_status pada_optim_run(const pada_optimizer *optimizer, const pada_optim *optim,
                           const pada_backend *backend, pada_device *device,
                           const pada_update_buffers *buffers, const pada_optim_ranges *ranges,
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
    *clip_factor = optim->clip > 0 ? optim->clip / (*norm + 1e-6) : 1;
    if (*clip_factor > 1) *clip_factor = 1;
    const pada_update update = make_update(optimizer, optim, *clip_factor);
    backend->update(device, buffers, &ranges->moved, &update);
    return PADA_OK;
}

void pada_optim_queue(const pada_optimizer *optimizer, const pada_optim *optim,
                      const pada_backend *backend, pada_device *device,
                      const pada_update_buffers *buffers, const pada_optim_ranges *ranges,
                      void *record)
{
    const pada_clip_step step = {
        .update = make_update(optimizer, optim, 1),
        .clip = optim->clip,
        .active = ranges->active,
        .n_active = ranges->n_active,
        .moved = ranges->moved,
    };

    backend->clip_update(device, buffers, &step, record);
}
