/* free_synflow.c - synaptic flow (Tanaka et al., NeurIPS 2020, as a score of networks: Abdelfattah et al., ICLR 2021).
 *
 * The network without batch norms, with the absolute values of its weights, reads an image of ones. R is the sum of its
 * logits; the score is the logarithm of the sum of w * dR/dw over the weights of convolutions and linear layers. Everything is
 * positive there, so that activations change nothing, and numbers grow with the depth beyond what float32 has. */
#include <math.h>

#include "base/mem.h"
#include "study/free_score.h"

/* Batch norms pass on what they read. */
static void drop_norms(pada_graph *g)
{
    for (int i = 0; i < g->n_terms; i++)
        if (g->terms[i].kind == PADA_TERM_BATCHNORM) {
            g->terms[i].kind = PADA_TERM_IDENTITY;
            g->terms[i].norm = (pada_norm){-1, -1, -1, -1};
        }
}

static pada_status sum_flow(const pada_trial *t, double *sum)
{
    const int64_t most = pada_params_largest(t->params);
    void *mem;

    *sum = 0;
    PADA_TRY(pada_calloc(&mem, 2 * (size_t)most, sizeof(double)));
    double *weights = mem, *grads = weights + most;
    for (int i = 0; i < pada_params_count(t->params); i++) {
        const pada_param *p = pada_params_get(t->params, i);
        if (p->n_dims == 1) continue;
        pada_trial_read_weights(t, p->offset, p->count, weights);
        pada_trial_read_grads(t, p->offset, p->count, grads);
        for (int64_t k = 0; k < p->count; k++)
            *sum += weights[k] * grads[k];
    }
    pada_free(mem);
    return PADA_OK;
}

static pada_status run(pada_trial *t, float *ones, double *seed)
{
    static const int32_t label = 0;
    const pada_batch batch = {.n = 1, .images = ones, .labels = &label};
    const int side = t->space.config.image_size;

    for (int i = 0; i < 3 * side * side; i++)
        ones[i] = 1;
    for (int i = 0; i < t->space.config.classes; i++)
        seed[i] = 1;
    PADA_TRY(pada_trial_build(t, t->graph, false));
    drop_norms(t->graph);
    PADA_TRY(pada_trial_plan(t, t->graph, 1, true));
    pada_trial_forward(t, &batch, 0);
    pada_trial_backward(t, seed);
    return PADA_OK;
}

static pada_status measure(pada_trial *t, const pada_batch *batch, uint64_t seed, double *values)
{
    const int side = t->space.config.image_size;
    void *ones, *sum_of_logits = NULL;
    double flow = 0;

    (void)batch;
    PADA_TRY(pada_trial_init_weights(t, seed, 1, true));
    PADA_TRY(pada_calloc(&ones, 3 * (size_t)(side * side), sizeof(float)));
    pada_status st = pada_calloc(&sum_of_logits, (size_t)t->space.config.classes, sizeof(double));
    if (st == PADA_OK) st = run(t, ones, sum_of_logits);
    if (st == PADA_OK) st = sum_flow(t, &flow);
    values[0] = flow > 0 ? log(flow) : PADA_FREE_WORST;
    pada_free(sum_of_logits);
    pada_free(ones);
    return st;
}

extern const pada_free_score pada_free_synflow;
const pada_free_score pada_free_synflow = {.name = "synflow",
                                           .label =
                                               "log of the synaptic flow (Tanaka et al., 2020)",
                                           .n_values = 1,
                                           .in_double = true,
                                           .version = 1,
                                           .measure = measure};
