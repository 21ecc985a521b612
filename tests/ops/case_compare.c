/* case_compare.c - results of one network on two backends, held against each other. */
#include "check.h"

#include <stdio.h>
#include <string.h>

#include "ops/case_compare.h"

double case_tolerance(const pada_backend *backend)
{
    /* bfloat16: activations are rounded to 8 bits several times on their way. float32: a fast
     * convolution loses a few 1e-6. */
    return backend->half ? 0.06 : 1e-5;
}

typedef struct worst {
    double error;
    char where[64];
} worst;

static void consider(worst *w, const double *a, const double *b, int64_t n, double size,
                     const char *what, int index)
{
    double error = 0;

    for (int64_t i = 0; i < n; i++) {
        if (fabs(b[i]) > size) size = fabs(b[i]);
        if (!(fabs(a[i] - b[i]) <= error)) error = fabs(a[i] - b[i]); /* NaN stays */
    }
    if (error == 0) return;
    error = isnan(error) ? INFINITY : error / size;
    if (error <= w->error) return;
    w->error = error;
    snprintf(w->where, sizeof w->where, "%s %d", what, index);
}

/* The largest relative error over logits, losses, norms, gradients, and interior tensors that both
 * have. Gradients of weights are held against a tenth of the largest one at least: batch norm makes
 * some vanish. */
static worst compare(const graph_case *c, const case_result *a, const case_result *b)
{
    worst w = {0, "nothing"};
    double largest = 0;

    consider(&w, a->logits, b->logits, (int64_t)b->n_images * b->classes, 0, "logits", 0);
    consider(&w, a->loss, b->loss, b->n_images, 0, "loss", 0);
    consider(&w, a->norm, b->norm, b->n_images, 0, "norm", 0);
    consider(&w, a->align, b->align, b->n_images, 0, "distance", 0);
    consider(&w, a->probes, b->probes, CASE_MAX_TERMS, 0, "probe", 0);
    for (int64_t i = 0; i < b->n_params; i++)
        if (fabs(b->grads[i]) > largest) largest = fabs(b->grads[i]);
    for (int t = 0; t < c->n_tensors; t++)
        consider(&w, a->grads + c->tensors[t].range.first, b->grads + c->tensors[t].range.first,
                 c->tensors[t].range.count, (c->tensors[t].zero_grad ? 1 : 0.1) * largest,
                 "gradient of parameter", t);
    for (int v = 0; v < b->n_nodes; v++) {
        if (a->values[v] && b->values[v])
            consider(&w, a->values[v], b->values[v], b->counts[v], 0, "value", v);
        if (a->node_grads[v] && b->node_grads[v])
            consider(&w, a->node_grads[v], b->node_grads[v], b->counts[v], 0, "gradient of value",
                     v);
    }
    return w;
}

double case_error(const graph_case *c, const case_result *have, const case_result *want,
                  const char *name, double allowed)
{
    const worst w = compare(c, have, want);

    if (w.error > allowed)
        print_error("%s: %s has a relative error of %g\n", name, w.where, w.error);
    return w.error;
}

bool case_same_bits(const case_result *a, const case_result *b)
{
    const size_t n = (size_t)b->n_images;

    return memcmp(a->logits, b->logits, n * (size_t)b->classes * sizeof(double)) == 0 &&
           memcmp(a->loss, b->loss, n * sizeof(double)) == 0 &&
           memcmp(a->norm, b->norm, n * sizeof(double)) == 0 &&
           memcmp(a->align, b->align, n * sizeof(double)) == 0 &&
           memcmp(a->probes, b->probes, sizeof b->probes) == 0 &&
           memcmp(a->rank, b->rank, n * sizeof(int32_t)) == 0 &&
           memcmp(a->grads, b->grads, (size_t)b->n_params * sizeof(double)) == 0;
}

double case_run_against(const graph_case *c, const pada_backend *backend, pada_device *device,
                        const case_result *want, const char *name, double allowed)
{
    case_result staged, whole;
    char title[192];

    case_run(c, backend, device, CASE_TRAIN_STAGED, &staged);
    case_run(c, backend, device, CASE_TRAIN, &whole);
    snprintf(title, sizeof title, "%s, %s", backend->name, name);
    const double error = case_error(c, &staged, want, title, allowed);
    if (!case_same_bits(&staged, &whole)) fail_msg("%s, %s: two runs differ", backend->name, name);
    case_result_deinit(&staged);
    case_result_deinit(&whole);
    return error;
}
