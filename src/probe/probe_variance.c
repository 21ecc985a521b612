/* probe_variance.c - the variance of a step's gradient under the samplers of paths and images, at fixed weights.
 *
 * An estimator draws a path and a batch and gives a gradient d, a vector over all parameters. Of many draws:
 *
 *   variance   E |d|^2 - |E d|^2, the trace of the covariance; over that of u, the estimator with uniform paths and
 *              images, whose own is over |E u|^2
 *   bias       |E d - E u|^2 over |E u|^2
 *
 * Draws are in blocks; a product of means is taken over pairs of different blocks, so that none of them is counted with
 * its own noise, and standard errors are those of the jackknife over blocks. All estimators see the same random numbers.
 *
 * Over a small set of paths and one batch the expectations are sums, so that equation 8 can be held against them:
 * with weights 1 / (N p) the variance is (sum of |g|^2 / p) / N^2 - |mean g|^2, and least for p ~ |g|. */
#include <math.h>

#include "base/mem.h"
#include "probe/probe_parts.h"
#include "sampler/alias.h"

enum { BLOCKS = 8 };

/* Paths of the run or not, images of the run or not, and each of them with weights. */
typedef enum estimator {
    UNIFORM,
    PATHS,
    PATHS_WEIGHTED,
    IMAGES,
    IMAGES_WEIGHTED,
    BOTH,
    BOTH_WEIGHTED,
    N_ESTIMATORS
} estimator;

static const pada_probe_column columns[] = {
    {"squared_norm", NULL}, /* of the mean gradient with uniform paths and images */
    {"squared_norm_se", NULL},
    {"uniform_variance", "uniform"},
    {"uniform_variance_se", "+-"},
    {"paths_variance", "paths"},
    {"paths_variance_se", "+-"},
    {"paths_bias", "bias"},
    {"paths_bias_se", NULL},
    {"paths_weighted_variance", "weighted"},
    {"paths_weighted_variance_se", "+-"},
    {"paths_weighted_bias", NULL},
    {"paths_weighted_bias_se", NULL},
    {"images_variance", "images"},
    {"images_variance_se", "+-"},
    {"images_bias", "bias"},
    {"images_bias_se", NULL},
    {"images_weighted_variance", "weighted"},
    {"images_weighted_variance_se", "+-"},
    {"images_weighted_bias", NULL},
    {"images_weighted_bias_se", NULL},
    {"both_variance", NULL},
    {"both_variance_se", NULL},
    {"both_bias", NULL},
    {"both_bias_se", NULL},
    {"both_weighted_variance", NULL},
    {"both_weighted_variance_se", NULL},
    {"both_weighted_bias", NULL},
    {"both_weighted_bias_se", NULL},
    {"exact_uniform_variance",
     NULL}, /* over the squared norm of the mean; those below over this one, with weights */
    {"exact_best_variance", NULL}, /* p ~ |g| */
    {"exact_sum_variance",
     NULL}, /* nine tenths p ~ the sum of the norms of the operators, else uniform */
    {"exact_run_variance", NULL},   /* p of the run */
    {"exact_plain_variance", NULL}, /* p of the run without weights, which is biased: */
    {"exact_plain_bias", NULL},
    {"exact_run_pearson", NULL}, /* of p of the run and |g| */
    {"exact_run_spearman", NULL},
    {NULL, NULL},
};

enum { EXACT = 2 + 4 * N_ESTIMATORS - 2 /* uniform has no bias */ };

typedef struct variance {
    const pada_moment *m;
    const pada_probe_settings *settings;
    int64_t n;     /* elements of a gradient */
    int per_block; /* draws */
    pada_path_sampler uniform;
    pada_alias *alias;
    int32_t *order;                       /* [draws * batch size] */
    float *weights;                       /* [batch size] of images */
    double *gradient;                     /* [n] */
    double *sums;                         /* [N_ESTIMATORS, BLOCKS, n] */
    double squares[N_ESTIMATORS][BLOCKS]; /* sums of |d|^2 */
    double products[N_ESTIMATORS][BLOCKS]
                   [2 * BLOCKS]; /* of block means: with its own, with those of UNIFORM */
} variance;

static double *sum_of(const variance *v, int e, int block)
{
    return v->sums + ((size_t)e * BLOCKS + (size_t)block) * (size_t)v->n;
}

static int64_t n_draws(const variance *v)
{
    return (int64_t)v->per_block * BLOCKS;
}

/* ---- making room ---- */

static pada_status make_room(variance *v)
{
    const int batch = v->m->env->batch_size;
    const int64_t most_order =
        n_draws(v) * batch > v->m->env->n_images ? n_draws(v) * batch : v->m->env->n_images;
    void *memory;

    PADA_TRY(pada_alias_create(&v->alias, v->m->env->n_images));
    PADA_TRY(pada_calloc(&memory, (size_t)most_order, sizeof *v->order));
    v->order = memory;
    PADA_TRY(pada_calloc(&memory, (size_t)batch, sizeof *v->weights));
    v->weights = memory;
    PADA_TRY(pada_calloc(&memory, (size_t)v->n, sizeof *v->gradient));
    v->gradient = memory;
    PADA_TRY(pada_calloc(&memory, (size_t)N_ESTIMATORS * BLOCKS, (size_t)v->n * sizeof *v->sums));
    v->sums = memory;
    return PADA_OK;
}

static void free_room(variance *v)
{
    pada_alias_destroy(v->alias);
    pada_free(v->order);
    pada_free(v->weights);
    pada_free(v->gradient);
    pada_free(v->sums);
}

/* ---- drawing ---- */

static void add(variance *v, estimator e, int block, double scale, double square)
{
    double *sum = sum_of(v, e, block);

    v->squares[e][block] += scale * scale * square;
    for (int64_t i = 0; i < v->n; i++)
        sum[i] += scale * v->gradient[i];
}

/* Batches with replacement, image i with probability p[i]; NULL: uniform. */
static pada_status draw_images(variance *v, const double *p)
{
    const int n = v->m->env->n_images;
    void *memory;
    pada_rng rng;

    PADA_TRY(pada_calloc(&memory, (size_t)n, sizeof(double)));
    double *weights = memory;
    for (int i = 0; i < n; i++)
        weights[i] = p ? p[i] : 1;
    const pada_status st = pada_alias_build(v->alias, weights);
    pada_free(weights);
    PADA_TRY(st);
    pada_rng_init(&rng, v->settings->seed, "probe images", 0);
    for (int64_t i = 0; i < n_draws(v) * v->m->env->batch_size; i++)
        v->order[i] = pada_alias_draw(v->alias, &rng);
    return pada_loader_begin(v->m->loader, v->m->epoch, v->order,
                             (int)(n_draws(v) * v->m->env->batch_size), 0);
}

static pada_status gradient_of(variance *v, const pada_path *path, const pada_batch *batch,
                               double *square)
{
    return pada__probe_gradient(v->m, path, batch, v->gradient, square);
}

/* Uniform batches: uniform paths, and those of the run, whose weight is a factor. */
static pada_status draw_uniform_batches(variance *v)
{
    const pada_path_sampler *own = v->m->drawn_from.paths;
    pada_draws draws;
    pada_path path;
    double square;

    PADA_TRY(draw_images(v, NULL));
    for (int k = 0; k < n_draws(v); k++) {
        const int block = k / v->per_block;
        PADA_TRY(pada_loader_next(v->m->loader, &draws));
        pada_path_sampler_draw(&v->uniform, v->settings->seed, k, false, &path);
        PADA_TRY(gradient_of(v, &path, &draws.batch, &square));
        add(v, UNIFORM, block, 1, square);
        pada_path_sampler_draw(own, v->settings->seed, k, false, &path);
        PADA_TRY(gradient_of(v, &path, &draws.batch, &square));
        add(v, PATHS, block, 1, square);
        add(v, PATHS_WEIGHTED, block, pada_path_sampler_ratio(own, &path), square);
    }
    return PADA_OK;
}

/* Batches of the run's images: the same, each once more with the losses over N q. */
static pada_status draw_own_batches(variance *v)
{
    const double *q = v->m->drawn_from.images;
    const pada_path_sampler *own = v->m->drawn_from.paths;
    pada_draws draws;
    double square;

    PADA_TRY(draw_images(v, q));
    for (int k = 0; k < n_draws(v); k++) {
        const int block = k / v->per_block;
        pada_path paths[2];
        PADA_TRY(pada_loader_next(v->m->loader, &draws));
        pada_batch weighted = draws.batch;
        for (int i = 0; i < draws.batch.n; i++)
            v->weights[i] = (float)(1 / (v->m->env->n_images * q[draws.indices[i]]));
        weighted.weights = v->weights;
        pada_path_sampler_draw(&v->uniform, v->settings->seed, k, false, &paths[0]);
        pada_path_sampler_draw(own, v->settings->seed, k, false, &paths[1]);
        PADA_TRY(gradient_of(v, &paths[0], &draws.batch, &square));
        add(v, IMAGES, block, 1, square);
        PADA_TRY(gradient_of(v, &paths[0], &weighted, &square));
        add(v, IMAGES_WEIGHTED, block, 1, square);
        PADA_TRY(gradient_of(v, &paths[1], &draws.batch, &square));
        add(v, BOTH, block, 1, square);
        PADA_TRY(gradient_of(v, &paths[1], &weighted, &square));
        add(v, BOTH_WEIGHTED, block, pada_path_sampler_ratio(own, &paths[1]), square);
    }
    return PADA_OK;
}

/* ---- from blocks to numbers ---- */

static void multiply_blocks(variance *v, estimator e)
{
    const double scale = 1.0 / ((double)v->per_block * v->per_block);

    for (int a = 0; a < BLOCKS; a++)
        for (int b = 0; b < 2 * BLOCKS; b++) {
            const double *x = sum_of(v, e, a);
            const double *y = sum_of(v, b < BLOCKS ? e : UNIFORM, b % BLOCKS);
            double sum = 0;
            for (int64_t i = 0; i < v->n; i++)
                sum += x[i] * y[i];
            v->products[e][a][b] = scale * sum;
        }
}

/* The product of the expectations of e and of e (with 0) or UNIFORM (with BLOCKS), without block `out`. */
static double product(const variance *v, estimator e, int with, int out)
{
    double sum = 0;
    int n = 0;

    for (int a = 0; a < BLOCKS; a++)
        for (int b = 0; b < BLOCKS; b++) {
            if (a == b || a == out || b == out) continue;
            sum += v->products[e][a][with + b];
            n++;
        }
    return sum / n;
}

static double spread_without(const variance *v, estimator e, int out)
{
    double second = 0;
    int n = 0;

    for (int a = 0; a < BLOCKS; a++) {
        if (a == out) continue;
        second += v->squares[e][a];
        n += v->per_block;
    }
    return second / n - product(v, e, 0, out);
}

static double variance_without(const variance *v, estimator e, int out)
{
    const double unit =
        e == UNIFORM ? product(v, UNIFORM, 0, out) : spread_without(v, UNIFORM, out);

    return spread_without(v, e, out) / unit;
}

static double bias_without(const variance *v, estimator e, int out)
{
    const double unit = product(v, UNIFORM, 0, out);

    return (product(v, e, 0, out) - 2 * product(v, e, BLOCKS, out) + unit) / unit;
}

static double norm_without(const variance *v, estimator e, int out)
{
    return product(v, e, 0, out);
}

/* A number of all blocks, and its standard error by leaving out one after the other. */
static void jackknife(const variance *v, estimator e,
                      double (*of)(const variance *v, estimator e, int out), double *values)
{
    double parts[BLOCKS], mean = 0, spread = 0;

    for (int out = 0; out < BLOCKS; out++) {
        parts[out] = of(v, e, out);
        mean += parts[out] / BLOCKS;
    }
    for (int out = 0; out < BLOCKS; out++)
        spread += (parts[out] - mean) * (parts[out] - mean);
    values[0] = of(v, e, -1);
    values[1] = sqrt(spread * (BLOCKS - 1) / BLOCKS);
}

static void sum_up(variance *v, int n_estimators, double *values)
{
    double *at = values + 2;

    for (int e = 0; e < n_estimators; e++)
        multiply_blocks(v, (estimator)e);
    jackknife(v, UNIFORM, norm_without, values);
    for (int e = 0; e < n_estimators; e++) {
        jackknife(v, (estimator)e, variance_without, at);
        at += 2;
        if (e == UNIFORM) continue;
        jackknife(v, (estimator)e, bias_without, at);
        at += 2;
    }
}

/* ---- a set of paths, exactly ---- */

typedef struct path_set {
    int n;
    pada_path *paths; /* [n] */
    double *norms;    /* [n] of their gradients */
    double *sums;     /* [n] of the norms of the operators; then the shares that follow from them */
    double *p;        /* [n] of the run, in the set */
    double *mean;     /* [elements] */
    double *drawn;    /* [elements] mean over p of the run */
} path_set;

/* The sum of the norms of the gradients at each site. */
static double sum_norms(const variance *v)
{
    const pada_params *params = v->m->env->params;
    double sum = 0, square = 0;

    for (int i = 0; i < pada_params_count(params); i++) {
        const pada_param *p = pada_params_get(params, i);
        if (p->site == PADA_SHARED) continue;
        for (int64_t k = 0; k < p->count; k++)
            square += v->gradient[p->offset + k] * v->gradient[p->offset + k];
        if (i + 1 < pada_params_count(params) && pada_params_get(params, i + 1)->site == p->site)
            continue;
        sum += sqrt(square);
        square = 0;
    }
    return sum;
}

static pada_status make_set(path_set *set, const variance *v)
{
    const size_t n = (size_t)v->settings->exact;
    int64_t step = 0;
    void *memory;

    PADA_TRY(pada_calloc(&memory, n, sizeof *set->paths));
    set->paths = memory;
    PADA_TRY(pada_calloc(&memory, 3 * n, sizeof *set->norms));
    set->norms = memory;
    set->sums = set->norms + n;
    set->p = set->norms + 2 * n;
    PADA_TRY(pada_calloc(&memory, 2 * (size_t)v->n, sizeof *set->mean));
    set->mean = memory;
    set->drawn = set->mean + v->n;
    while (set->n < v->settings->exact &&
           pada__probe_new_path(&v->uniform, v->settings->seed, &step, set->paths, set->n,
                                &set->paths[set->n]))
        set->n++;
    return PADA_OK;
}

/* p of the run, as shares of the set. All zero: every path the same. */
static void share(const variance *v, path_set *set)
{
    double sum = 0;

    for (int i = 0; i < set->n; i++) {
        const double ratio = pada_path_sampler_ratio(v->m->drawn_from.paths, &set->paths[i]);
        set->p[i] =
            isfinite(ratio) ? 1 / ratio : 0; /* uniform over own, times what is the same for all */
        sum += set->p[i];
    }
    for (int i = 0; i < set->n; i++)
        set->p[i] = sum > 0 ? set->p[i] / sum : 1.0 / set->n;
}

static pada_status run_set(variance *v, path_set *set)
{
    pada_batch batch;

    PADA_TRY(pada__probe_batch(v->m, v->settings->seed, v->m->env->batch_size, v->order, &batch));
    for (int i = 0; i < set->n; i++) {
        double square;
        PADA_TRY(gradient_of(v, &set->paths[i], &batch, &square));
        set->norms[i] = sqrt(square);
        set->sums[i] = sum_norms(v);
        for (int64_t k = 0; k < v->n; k++) {
            set->mean[k] += v->gradient[k] / set->n;
            set->drawn[k] += v->gradient[k] * set->p[i];
        }
    }
    return PADA_OK;
}

/* The second moment with weights 1 / (N p), p ~ shares; infinite where a path with a gradient has none. */
static double second_moment(const path_set *set, const double *shares)
{
    double sum = 0, total = 0;

    for (int i = 0; i < set->n; i++)
        total += shares[i];
    for (int i = 0; i < set->n; i++)
        if (set->norms[i] > 0) sum += set->norms[i] * set->norms[i] * total / shares[i];
    return sum / ((double)set->n * set->n);
}

/* Paths without any operator that learns would never be drawn: as PA does, a part stays uniform. */
static void smooth_sums(path_set *set)
{
    double total = 0;

    for (int i = 0; i < set->n; i++)
        total += set->sums[i];
    for (int i = 0; i < set->n; i++)
        set->sums[i] = (total > 0 ? 0.9 * set->sums[i] / total : 0) + 0.1 / set->n;
}

static pada_status sum_up_set(const variance *v, const path_set *set, double *values)
{
    double unit = 0, drawn = 0, away = 0, plain = 0, uniform = 0;

    for (int64_t k = 0; k < v->n; k++) {
        const double x = set->mean[k], y = set->drawn[k];
        unit += x * x;
        drawn += y * y;
        away += (y - x) * (y - x);
    }
    for (int i = 0; i < set->n; i++) {
        plain += set->p[i] * set->norms[i] * set->norms[i];
        uniform += set->norms[i] * set->norms[i] / set->n;
    }
    const double spread = uniform - unit;
    values[0] = spread / unit;
    values[1] = (second_moment(set, set->norms) - unit) / spread;
    values[2] = (second_moment(set, set->sums) - unit) / spread;
    values[3] = (second_moment(set, set->p) - unit) / spread;
    values[4] = (plain - drawn) / spread;
    values[5] = away / unit;
    values[6] = pada__pearson(set->p, set->norms, set->n);
    return pada__spearman(set->p, set->norms, set->n, &values[7]);
}

static pada_status measure_set(variance *v, double *values)
{
    path_set set = {0};
    pada_status st = make_set(&set, v);

    if (st == PADA_OK) share(v, &set);
    if (st == PADA_OK) st = run_set(v, &set);
    smooth_sums(&set);
    if (st == PADA_OK) st = sum_up_set(v, &set, values);
    pada_free(set.paths);
    pada_free(set.norms);
    pada_free(set.mean);
    return st;
}

/* ---- the kind ---- */

static pada_status measure_all(variance *v, double *values)
{
    const bool draws_images = v->m->drawn_from.images != NULL;

    PADA_TRY(make_room(v));
    PADA_TRY(draw_uniform_batches(v));
    if (draws_images) PADA_TRY(draw_own_batches(v));
    sum_up(v, draws_images ? N_ESTIMATORS : IMAGES, values);
    return measure_set(v, values + EXACT);
}

static pada_status measure(const pada_moment *moment, const pada_probe_settings *settings,
                           double *values)
{
    variance v = {.m = moment,
                  .settings = settings,
                  .n = pada_params_elements(moment->env->params),
                  .per_block = (int)(settings->draws / BLOCKS)};

    for (int i = 0; columns[i].name; i++)
        values[i] = NAN;
    if (n_draws(&v) * moment->env->batch_size > INT32_MAX)
        return PADA_FAIL(PADA_EINVAL, "--draws %lld: that many batches have too many images",
                         (long long)settings->draws);
    pada_strategy_init_sampler(&v.uniform, moment->env);
    const pada_status st = measure_all(&v, values);
    free_room(&v);
    return st;
}

extern const pada_probe_kind pada_probe_variance;
const pada_probe_kind pada_probe_variance = {
    .name = "variance",
    .summary = "variance and bias of the gradient under the run's samplers (equations 5 to 8, 11)",
    .columns = columns,
    .measure = measure,
};
