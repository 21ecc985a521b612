/* ntk.c - the neural tangent kernel of a path on a batch.
 *
 * Engines only know the cross entropy, whose gradient by the logits sums to zero and never points along their sum. The
 * classifier W is therefore replaced for the time: its first row by a (sum of the rows of W), the others and the bias by
 * zero, all labels by 0. With p the probability of class 0, which is exp(-loss), the gradient of the loss by the features
 * is then (p - 1) a (sum of the rows): that of the sum of the logits times (p - 1) a, and so is everything below. By the
 * first row it is (p - 1) h with the features h, which every row of W has as its gradient of the sum of the logits. */
#include "probe/ntk.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/symmetric.h"
#include "engine/engine_inspect.h"
#include "engine/engine_regularize.h"
#include "engine/engine_weights.h"
#include "probe/probe_parts.h"

static const double head_scale = 1.0 / 1024; /* a: logits are small, so that p is far from 1 */

/* The classifier is the last matrix that all paths share. */
static void find_head(pada__ntk *k)
{
    const pada_params *params = k->moment->env->params;
    char name[sizeof((pada_param *)NULL)->name];

    k->head = k->bias = -1;
    for (int i = 0; i < pada_params_count(params); i++) {
        const pada_param *p = pada_params_get(params, i);
        if (p->site == PADA_SHARED && p->n_dims == 2) k->head = i;
    }
    PADA_ASSERT(k->head >= 0);
    const pada_param *head = pada_params_get(params, k->head);
    k->n_classes = head->dims[0];
    k->n_features = (int)(head->count / head->dims[0]);
    strcpy(name, head->name);
    char *end = strstr(name, "weight");
    PADA_ASSERT(end);
    strcpy(end, "bias");
    k->bias = pada_params_find(params, name);
}

static int64_t head_count(const pada__ntk *k)
{
    return (int64_t)k->n_classes * k->n_features;
}

pada_status pada__ntk_init(pada__ntk *k, const pada_moment *moment, int n_images)
{
    const size_t n = (size_t)n_images;
    void *memory;

    *k = (pada__ntk){.moment = moment, .n = n_images};
    find_head(k);
    PADA_TRY(pada_calloc(&memory, (size_t)pada_params_elements(moment->env->params),
                         sizeof *k->gradient));
    k->gradient = memory;
    PADA_TRY(pada_calloc(&memory, (size_t)(head_count(k) + k->n_classes), sizeof *k->kept));
    k->kept = memory;
    PADA_TRY(pada_calloc(&memory, n, sizeof *k->losses));
    k->losses = memory;
    PADA_TRY(pada_calloc(&memory, n, sizeof *k->labels));
    k->labels = memory;
    PADA_TRY(pada_calloc(&memory, n, sizeof *k->weights));
    k->weights = memory;
    return PADA_OK;
}

void pada__ntk_deinit(pada__ntk *k)
{
    pada_free(k->gradient);
    pada_free(k->kept);
    pada_free(k->losses);
    pada_free(k->labels);
    pada_free(k->weights);
    pada_free(k->rows);
    *k = (pada__ntk){0};
}

/* ---- the other classifier ---- */

static void write_head(const pada__ntk *k, const double *values)
{
    pada_engine *e = k->moment->engine;

    pada_engine_write_weight(e, k->head, values);
    if (k->bias >= 0) pada_engine_write_weight(e, k->bias, values + head_count(k));
}

static pada_status replace_head(pada__ntk *k)
{
    pada_engine *e = k->moment->engine;
    void *memory;

    pada_engine_read_weight(e, k->head, k->kept);
    if (k->bias >= 0) pada_engine_read_weight(e, k->bias, k->kept + head_count(k));
    PADA_TRY(pada_calloc(&memory, (size_t)(head_count(k) + k->n_classes), sizeof(double)));
    double *other = memory;
    for (int c = 0; c < k->n_classes; c++)
        for (int f = 0; f < k->n_features; f++)
            other[f] += head_scale * k->kept[(ptrdiff_t)c * k->n_features + f];
    write_head(k, other);
    pada_free(other);
    pada_engine_smooth_labels(e, 0);
    return PADA_OK;
}

static void restore_head(const pada__ntk *k)
{
    write_head(k, k->kept);
    pada_engine_smooth_labels(k->moment->engine, k->moment->desc->recipe->label_smoothing);
}

/* ---- J and K ---- */

/* Whether a tensor is one whose gradient is in J as it is. */
static bool is_in_rows(const pada__ntk *k, const pada_path *path, int param)
{
    const pada_param *p = pada_params_get(k->moment->env->params, param);

    if (param == k->head || !strstr(p->name, "weight")) return false;
    return p->site == PADA_SHARED ||
           pada_path_uses(k->moment->env->space, path, p->site, p->choice);
}

static int64_t count_columns(const pada__ntk *k, const pada_path *path)
{
    const pada_params *params = k->moment->env->params;
    int64_t n = k->n_features;

    for (int i = 0; i < pada_params_count(params); i++)
        if (is_in_rows(k, path, i)) n += pada_params_get(params, i)->count;
    return n;
}

/* The row of the image whose gradient there is now. The features count once for every class. */
static void fill_row(const pada__ntk *k, const pada_path *path, double loss, double *row)
{
    const pada_params *params = k->moment->env->params;
    const double slope = expm1(-loss), scale = 1 / (slope * head_scale); /* p - 1 */
    const double *head = k->gradient + pada_params_get(params, k->head)->offset;

    for (int i = 0; i < pada_params_count(params); i++) {
        const pada_param *p = pada_params_get(params, i);
        if (!is_in_rows(k, path, i)) continue;
        for (int64_t c = 0; c < p->count; c++)
            *row++ = scale * k->gradient[p->offset + c];
    }
    for (int f = 0; f < k->n_features; f++)
        *row++ = sqrt(k->n_classes) * head[f] / slope;
}

static pada_status fill_rows(pada__ntk *k, const pada_path *path, const pada_batch *batch,
                             int64_t columns)
{
    pada_batch one = *batch;
    double square;

    one.labels = k->labels;
    one.weights = k->weights;
    for (int i = 0; i < k->n; i++) {
        for (int c = 0; c < k->n; c++)
            k->weights[c] =
                c == i ? (float)k->n : 0; /* the loss is the mean of the weighted ones */
        PADA_TRY(pada__probe_gradient(k->moment, path, &one, k->gradient, &square));
        pada_engine_losses(k->moment->engine, k->losses);
        fill_row(k, path, k->losses[i], k->rows + i * columns);
    }
    return PADA_OK;
}

/* In four sums, which a compiler may run side by side: the order is the same everywhere. */
static double dot(const double *x, const double *y, int64_t n)
{
    double sums[4] = {0};
    int64_t i = 0;

    for (; i + 4 <= n; i += 4)
        for (int k = 0; k < 4; k++)
            sums[k] += x[i + k] * y[i + k];
    for (; i < n; i++)
        sums[0] += x[i] * y[i];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

pada_status pada__ntk_compute(pada__ntk *k, const pada_path *path, const pada_batch *batch,
                              double *kernel)
{
    const int64_t columns = count_columns(k, path);
    void *memory;

    PADA_ASSERT(batch->n == k->n);
    if (k->n * columns > k->cap_rows) {
        pada_free(k->rows);
        k->rows = NULL;
        PADA_TRY(pada_calloc(&memory, (size_t)k->n, (size_t)columns * sizeof *k->rows));
        k->rows = memory;
        k->cap_rows = k->n * columns;
    }
    PADA_TRY(replace_head(k));
    const pada_status st = fill_rows(k, path, batch, columns);
    restore_head(k);
    PADA_TRY(st);
    for (int i = 0; i < k->n; i++)
        for (int c = 0; c <= i; c++)
            kernel[i * k->n + c] = kernel[c * k->n + i] =
                dot(k->rows + i * columns, k->rows + c * columns, columns);
    return PADA_OK;
}

pada_status pada__ntk_condition(double *kernel, int n, double *values, double *out)
{
    PADA_TRY(pada_symmetric_eigenvalues(kernel, n, values));
    const double largest = values[n - 1], least = DBL_EPSILON * largest;

    *out = 5; /* nothing flows through the path: what TE-NAS puts in place of NaN */
    if (largest > 0) *out = log10(largest / (values[0] > least ? values[0] : least));
    return PADA_OK;
}
