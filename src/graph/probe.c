/* probe.c - what probes found out, from the coefficients that the reductions of a program leave.
 *
 * A batch-norm term has dx = a dy + b x + c with a = 1/deviation and b = -a^3 sum(dy (x - mean)) / n, so
 * that sum(dy * batchnorm(x)) = -sum over channels of b n / a^2. No kernel is needed but the one that
 * every batch norm has. */
#include "graph/plan.h"

void pada_program_probe(const pada_program *q, pada_value v, const pada_backend *backend,
                        pada_device *device, const void *work, double *room, double *derivatives)
{
    const pada_node *node = &q->nodes[v];
    const int size = pada_dtype_bytes(backend->dtype);
    const int64_t stride = backend->channel_bytes(device, node->shape.c) / size;
    const double n = (double)q->n_images * node->shape.h * node->shape.w;

    PADA_ASSERT(node->op == PADA_OP_PROBE);
    /* The coefficients of neighbouring terms lie side by side. */
    const int64_t first = q->term_plans[node->first_term].coef / size;
    backend->read(device, work, (pada_range){first, 3 * stride * node->n_terms}, room);
    for (int k = 0; k < node->n_terms; k++) {
        const double *a = room + 3 * stride * k, *b = a + stride;
        derivatives[k] = 0;
        for (int c = 0; c < node->shape.c; c++)
            derivatives[k] -= b[c] * n / (a[c] * a[c]);
    }
}
