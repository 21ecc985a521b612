/* probe_parts.c - what kinds of measurements work with. */
#include "probe/probe_parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine_inspect.h"
#include "engine/engine_log.h"
#include "sampler/data_sampler.h"
#include "study/metrics.h"

enum { MAX_TRIES = 10000, USUAL_IMAGES = 72 };

static bool has_param(const pada_moment *m, const pada_path *path, const pada_param *p)
{
    return p->site == PADA_SHARED || pada_path_uses(m->env->space, path, p->site, p->choice);
}

pada_status pada__probe_gradient(const pada_moment *m, const pada_path *path,
                                 const pada_batch *batch, double *gradient, double *square)
{
    const pada_params *params = m->env->params;
    double sum = 0;

    PADA_TRY(pada_engine_log_begin(m->engine, 1, 1, batch->n));
    pada_engine_zero_grad(m->engine);
    PADA_TRY(pada_engine_forward(m->engine, path, batch, PADA_TRAIN));
    pada_engine_backward(m->engine);
    PADA_TRY(pada_engine_finish(m->engine));
    memset(gradient, 0, (size_t)pada_params_elements(params) * sizeof *gradient);
    for (int i = 0; i < pada_params_count(params); i++) {
        const pada_param *p = pada_params_get(params, i);
        double *g = gradient + p->offset;
        if (!has_param(m, path, p)) continue;
        pada_engine_read_grad(m->engine, i, g);
        for (int64_t k = 0; k < p->count; k++)
            sum += g[k] * g[k];
    }
    *square = sum;
    return isfinite(sum) ? PADA_OK
                         : PADA_FAIL(PADA_ENUMERIC,
                                     "a gradient after step %" PRId64 " is not finite", m->step);
}

pada_status pada__probe_n_images(const pada_moment *m, const pada_probe_settings *settings, int *n)
{
    const int most = m->env->batch_size;

    *n = settings->images > 0 ? (int)settings->images : most < USUAL_IMAGES ? most : USUAL_IMAGES;
    if (*n <= most) return PADA_OK;
    return PADA_FAIL(PADA_EINVAL, "--images %d: batches of this run have %d", *n, most);
}

pada_status pada__probe_batch(const pada_moment *m, uint64_t seed, int n, int32_t *order,
                              pada_batch *batch)
{
    pada_draws draws;

    pada_data_permute(seed, m->epoch, order, m->env->n_images);
    PADA_TRY(pada_loader_begin(m->loader, m->epoch, order, n, 0));
    PADA_TRY(pada_loader_next(m->loader, &draws));
    PADA_ASSERT(draws.batch.n == n);
    *batch = draws.batch;
    return PADA_OK;
}

bool pada__probe_new_path(const pada_path_sampler *sampler, uint64_t seed, int64_t *step,
                          const pada_path *paths, int n, pada_path *out)
{
    for (int tries = 0; tries < MAX_TRIES; tries++) {
        bool is_new = true;
        pada_path_sampler_draw(sampler, seed, (*step)++, false, out);
        for (int i = 0; i < n && is_new; i++)
            is_new = !pada_path_equal(sampler->space, &paths[i], out);
        if (is_new) return true;
    }
    return false;
}

double pada__pearson(const double *x, const double *y, int n)
{
    double mx = 0, my = 0, xx = 0, yy = 0, xy = 0;

    for (int i = 0; i < n; i++) {
        mx += x[i] / n;
        my += y[i] / n;
    }
    for (int i = 0; i < n; i++) {
        xx += (x[i] - mx) * (x[i] - mx);
        yy += (y[i] - my) * (y[i] - my);
        xy += (x[i] - mx) * (y[i] - my);
    }
    return xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : NAN;
}

pada_status pada__spearman(const double *x, const double *y, int n, double *out)
{
    pada_pairs *pairs;
    pada_metrics_work *work = NULL;
    pada_metrics metrics;

    PADA_TRY(pada_pairs_create(&pairs, x, y, n));
    const pada_status st = pada_metrics_work_create(&work, n);
    if (st == PADA_OK) {
        pada_metrics_compute(pairs, NULL, work, &metrics);
        *out = metrics.value[PADA_METRIC_SPEARMAN];
    }
    pada_metrics_work_destroy(work);
    pada_pairs_destroy(pairs);
    return st;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

double pada__quantile(double *numbers, int n, double share)
{
    if (n == 0) return NAN;
    qsort(numbers, (size_t)n, sizeof *numbers, ascending);
    const double at = share * (n - 1);
    const int i = (int)at;
    return i + 1 < n ? numbers[i] + (at - i) * (numbers[i + 1] - numbers[i]) : numbers[i];
}
