/* free_grad_norm.c - the norm of the gradient at the start (Abdelfattah et al., ICLR 2021).
 *
 * The sum over convolutions and linear layers of the L2 norm of the gradient of their weights, of the mean cross entropy of
 * one batch of 64 training images, with batch norms of the batch. */
#include "study/free_score.h"

static pada_status measure(pada_trial *t, const pada_batch *batch, uint64_t seed, double *values)
{
    PADA_TRY(pada_trial_init_weights(t, seed, 1, false));
    PADA_TRY(pada_trial_build(t, t->graph, false));
    PADA_TRY(pada_trial_plan(t, t->graph, batch->n, true));
    pada_trial_forward(t, batch, 0);
    pada_trial_backward(t, NULL);
    values[0] = 0;
    for (int i = 0; i < pada_params_count(t->params); i++)
        if (pada_params_get(t->params, i)->n_dims > 1) values[0] += pada_trial_grad_norm(t, i);
    return PADA_OK;
}

extern const pada_free_score pada_free_grad_norm;
const pada_free_score pada_free_grad_norm = {.name = "grad_norm",
                                             .label = "gradient norm (Abdelfattah et al., 2021)",
                                             .n_values = 1,
                                             .n_images = 64,
                                             .version = 1,
                                             .measure = measure};
