/* probe.c - what probes found out, from the coefficients that the reductions of a program leave.
 *
 * A batch-norm term has dx = a dy + b x + c with a = 1/deviation and b = -a^3 sum(dy (x - mean)) / n, so
 * that sum(dy * batchnorm(x)) = -sum over channels of b n / a^2. No kernel is needed but the one that
 * every batch norm has. */
#include "graph/plan.h"

/* coef: a and b, `stride` apart. */
static double derivative(const double *coef, int64_t stride, int channels, double n)
{
    const double *a = coef, *b = coef + stride;
    double sum = 0;

    for (int c = 0; c < channels; c++)
        sum -= b[c] * n / (a[c] * a[c]);
    return sum;
}

void pada_program_probes(const pada_program *q, const pada_backend *backend, pada_device *device,
                         const void *work, double *room, double *derivatives)
{
    const int size = pada_dtype_bytes(backend->dtype);

    if (q->probes_bytes == 0) return;
    backend->read(device, work, (pada_range){q->probes / size, q->probes_bytes / size}, room);
    for (int v = 0; v < q->n_nodes; v++) {
        const pada_node *node = &q->nodes[v];
        if (node->op != PADA_OP_PROBE) continue;
        for (int t = node->first_term; t < node->first_term + node->n_terms; t++)
            derivatives[q->terms[t].mark] +=
                derivative(room + (q->term_plans[t].coef - q->probes) / size,
                           backend->channel_bytes(device, node->shape.c) / size, node->shape.c,
                           (double)q->n_images * node->shape.h * node->shape.w);
    }
}
