/* probe_bounds.c - the norm that stands in for the gradient norm of an image (equations 12 and 13) against that norm.
 *
 * The gradient of one image is that of its loss alone in a batch whose statistics are those of all its images: the
 * derivative goes through the batch, by a backward pass with weights that are zero but for the image. It is the summand
 * that the image adds to the gradient of the batch. The stand-in is |softmax - target| from the same forward pass.
 *
 * With weights 1 / (N q) the variance of the gradient of one drawn image is (sum of |g|^2 / q) / N^2 - |mean g|^2: it is
 * given for q by the stand-in and for the best q, over that of uniform draws. Paths are drawn as the run draws them; what
 * is said of each is averaged over those where it exists. */
#include <math.h>

#include "base/mem.h"
#include "engine/engine_inspect.h"
#include "probe/probe_parts.h"

static const pada_probe_column columns[] = {
    {"pearson", "pearson"}, /* over the images, mean over the paths */
    {"pearson_se", "+-"},
    {"spearman", "spearman"},
    {"spearman_se", "+-"},
    {"pooled_pearson", "pooled"}, /* over the images of all paths */
    {"pooled_spearman", NULL},
    {"ratio",
     "ratio"}, /* of norm and stand-in, over the images of all paths: mean, spread over mean, extremes */
    {"ratio_spread", "spread"},
    {"ratio_least", NULL},
    {"ratio_most", NULL},
    {"bound_variance", "by bound"}, /* over that of uniform draws */
    {"bound_variance_se", NULL},
    {"best_variance", "best"},
    {"best_variance_se", NULL},
    {"norm", NULL}, /* means over the images of all paths */
    {"bound", NULL},
    {NULL, NULL},
};

enum { PEARSON, SPEARMAN, BY_BOUND, BEST, N_OF_PATH };

typedef struct bounds {
    const pada_moment *m;
    int n_paths, n; /* images */
    int32_t *order; /* [n_images of the run] */
    double *gradient;
    double *norms, *stand_ins; /* [n_paths, n] */
    double *ratios;            /* [n_paths * n] */
    float *weights;            /* [n] */
    double *of_paths;          /* [N_OF_PATH, n_paths] */
} bounds;

static pada_status make_room(bounds *b)
{
    const size_t n = (size_t)b->n, all = n * (size_t)b->n_paths;
    void *memory;

    PADA_TRY(pada_calloc(&memory, (size_t)b->m->env->n_images, sizeof *b->order));
    b->order = memory;
    PADA_TRY(
        pada_calloc(&memory, (size_t)pada_params_elements(b->m->env->params), sizeof *b->gradient));
    b->gradient = memory;
    PADA_TRY(pada_calloc(&memory, 3 * all, sizeof *b->norms));
    b->norms = memory;
    b->stand_ins = b->norms + all;
    b->ratios = b->norms + 2 * all;
    PADA_TRY(pada_calloc(&memory, n, sizeof *b->weights));
    b->weights = memory;
    PADA_TRY(pada_calloc(&memory, (size_t)(N_OF_PATH * b->n_paths), sizeof *b->of_paths));
    b->of_paths = memory;
    return PADA_OK;
}

static void free_room(bounds *b)
{
    pada_free(b->order);
    pada_free(b->gradient);
    pada_free(b->norms);
    pada_free(b->weights);
    pada_free(b->of_paths);
}

/* Norms and stand-ins of the images of a batch under a path; *whole: the squared norm of the gradient of all. */
static pada_status run_path(bounds *b, const pada_path *path, const pada_batch *batch,
                            double *norms, double *stand_ins, double *whole)
{
    pada_batch one = *batch;
    double square;

    PADA_TRY(pada__probe_gradient(b->m, path, batch, b->gradient, whole));
    pada_engine_norms(b->m->engine, stand_ins);
    one.weights = b->weights;
    for (int i = 0; i < b->n; i++) {
        for (int k = 0; k < b->n; k++)
            b->weights[k] =
                k == i ? (float)b->n : 0; /* the loss is the mean of the weighted ones */
        PADA_TRY(pada__probe_gradient(b->m, path, &one, b->gradient, &square));
        norms[i] = sqrt(square);
    }
    return PADA_OK;
}

/* Variances over that of uniform draws; NaN where there is none, or an image that would never be drawn. */
static void compare_variances(const bounds *b, const double *norms, const double *stand_ins,
                              double whole, double *by_bound, double *best)
{
    double squares = 0, sum = 0, total = 0, by = 0;

    for (int i = 0; i < b->n; i++) {
        squares += norms[i] * norms[i] / b->n;
        sum += norms[i] / b->n;
        total += stand_ins[i];
    }
    for (int i = 0; i < b->n; i++)
        by += norms[i] * norms[i] * (total / stand_ins[i]) / ((double)b->n * b->n);
    const double unit = squares - whole;
    *by_bound = unit > 0 && isfinite(by) ? (by - whole) / unit : NAN;
    *best = unit > 0 ? (sum * sum - whole) / unit : NAN;
}

static pada_status run_paths(bounds *b, uint64_t seed)
{
    pada_batch batch;
    double whole;

    PADA_TRY(pada__probe_batch(b->m, seed, b->n, b->order, &batch));
    for (int p = 0; p < b->n_paths; p++) {
        double *norms = b->norms + (size_t)p * (size_t)b->n;
        double *stand_ins = b->stand_ins + (size_t)p * (size_t)b->n;
        double *of = b->of_paths + p;
        pada_path path;
        pada_path_sampler_draw(b->m->drawn_from.paths, seed, p, false, &path);
        PADA_TRY(run_path(b, &path, &batch, norms, stand_ins, &whole));
        of[(ptrdiff_t)PEARSON * b->n_paths] = pada__pearson(stand_ins, norms, b->n);
        PADA_TRY(pada__spearman(stand_ins, norms, b->n, &of[(ptrdiff_t)SPEARMAN * b->n_paths]));
        compare_variances(b, norms, stand_ins, whole, &of[(ptrdiff_t)BY_BOUND * b->n_paths],
                          &of[(ptrdiff_t)BEST * b->n_paths]);
    }
    return PADA_OK;
}

/* The mean of what is a number, and its standard error. */
static void average(const double *x, int n, double *values)
{
    double mean = 0, spread = 0;
    int count = 0;

    for (int i = 0; i < n; i++)
        if (isfinite(x[i])) {
            mean += x[i];
            count++;
        }
    mean /= count;
    for (int i = 0; i < n; i++)
        if (isfinite(x[i])) spread += (x[i] - mean) * (x[i] - mean);
    values[0] = count > 0 ? mean : NAN;
    values[1] = count > 1 ? sqrt(spread / (count - 1) / count) : NAN;
}

static pada_status sum_up(bounds *b, double *values)
{
    const int all = b->n_paths * b->n;
    double norm = 0, stand_in = 0, mean = 0, spread = 0;
    int n = 0;

    average(b->of_paths + (ptrdiff_t)PEARSON * b->n_paths, b->n_paths, values);
    average(b->of_paths + (ptrdiff_t)SPEARMAN * b->n_paths, b->n_paths, values + 2);
    values[4] = pada__pearson(b->stand_ins, b->norms, all);
    PADA_TRY(pada__spearman(b->stand_ins, b->norms, all, &values[5]));
    for (int i = 0; i < all; i++) {
        norm += b->norms[i] / all;
        stand_in += b->stand_ins[i] / all;
        if (b->stand_ins[i] > 0) b->ratios[n++] = b->norms[i] / b->stand_ins[i];
    }
    for (int i = 0; i < n; i++)
        mean += b->ratios[i] / n;
    for (int i = 0; i < n; i++)
        spread += (b->ratios[i] - mean) * (b->ratios[i] - mean) / n;
    values[6] = mean;
    values[7] = sqrt(spread) / mean;
    values[8] = pada__quantile(b->ratios, n, 0);
    values[9] = pada__quantile(b->ratios, n, 1);
    average(b->of_paths + (ptrdiff_t)BY_BOUND * b->n_paths, b->n_paths, values + 10);
    average(b->of_paths + (ptrdiff_t)BEST * b->n_paths, b->n_paths, values + 12);
    values[14] = norm;
    values[15] = stand_in;
    return PADA_OK;
}

static pada_status measure(const pada_moment *moment, const pada_probe_settings *settings,
                           double *values)
{
    bounds b = {.m = moment, .n_paths = (int)settings->paths};

    PADA_TRY(pada__probe_n_images(moment, settings, &b.n));
    pada_status st = make_room(&b);
    if (st == PADA_OK) st = run_paths(&b, settings->seed);
    if (st == PADA_OK) st = sum_up(&b, values);
    free_room(&b);
    return st;
}

extern const pada_probe_kind pada_probe_bounds;
const pada_probe_kind pada_probe_bounds = {
    .name = "bounds",
    .summary = "norms of the last layer against gradient norms, image by image (equations 12, 13)",
    .columns = columns,
    .measure = measure,
};
