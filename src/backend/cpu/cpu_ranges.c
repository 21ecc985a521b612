/* cpu_ranges.c - vector operations on ranges of parameter-shaped buffers.
 *
 * Ranges are the items that threads share: a path has hundreds of them. */
#include <string.h>

#include "backend/cpu/cpu_device.h"

/* The operands of one operation; each uses some of them. */
typedef struct vectors {
    const pada_device *d;
    const pada_range *ranges;
    float *x, *y;
    const float *from, *with;
    double *sums;
    double factor;
    const int64_t *counts;
} vectors;

static size_t range_bytes(const vectors *v, int k)
{
    return (size_t)v->ranges[k].count * sizeof(float);
}

static void fill_zero(void *context, int k, int thread)
{
    const vectors *v = context;

    (void)thread;
    memset(v->x + v->ranges[k].first, 0, range_bytes(v, k));
}

void pada_cpu_fill_zero(pada_device *d, void *x, const pada_range *ranges, int n)
{
    pada_pool_run(d->pool, n, fill_zero, &(vectors){.d = d, .ranges = ranges, .x = x});
}

static void dot(void *context, int k, int thread)
{
    const vectors *v = context;
    const int64_t at = v->ranges[k].first;

    (void)thread;
    v->sums[k] = v->d->k->dot(v->from + at, v->with + at, v->ranges[k].count);
}

void pada_cpu_dot(pada_device *d, const void *x, const void *y, const pada_range *ranges, int n,
                  double *sums)
{
    pada_pool_run(d->pool, n, dot,
                  &(vectors){.d = d, .ranges = ranges, .from = x, .with = y, .sums = sums});
}

void pada_cpu_sum_squares(pada_device *d, const void *x, const pada_range *ranges, int n,
                          double *sums)
{
    pada_cpu_dot(d, x, x, ranges, n, sums);
}

typedef struct update_loop {
    const pada_device *d;
    const pada_update_buffers *buffers;
    const pada_update_ranges *ranges;
    pada_update update, without_decay;
} update_loop;

static float *state_at(const update_loop *l, int state, int64_t at)
{
    float *buffer = l->buffers->states[state];

    return buffer ? buffer + at : NULL;
}

static void update(void *context, int k, int thread)
{
    const update_loop *l = context;
    const pada_range range = l->ranges->at[k];
    const bool is_spared = k >= l->ranges->n - l->ranges->n_spared;

    (void)thread;
    l->d->k->update(
        (float *)l->buffers->weights + range.first, (const float *)l->buffers->grads + range.first,
        state_at(l, 0, range.first), state_at(l, 1, range.first), range.count,
        l->ranges->counts ? l->ranges->counts[k] : 0, is_spared ? &l->without_decay : &l->update);
}

void pada_cpu_update(pada_device *d, const pada_update_buffers *buffers,
                     const pada_update_ranges *ranges, const pada_update *by)
{
    update_loop loop = {d, buffers, ranges, *by, *by};

    loop.without_decay.weight_decay = 0;
    pada_pool_run(d->pool, ranges->n, update, &loop);
}

static void copy(void *context, int k, int thread)
{
    const vectors *v = context;
    const int64_t at = v->ranges[k].first;

    (void)thread;
    memcpy(v->x + at, v->from + at, range_bytes(v, k));
}

void pada_cpu_copy(pada_device *d, void *to, const void *from, const pada_range *ranges, int n)
{
    pada_pool_run(d->pool, n, copy, &(vectors){.d = d, .ranges = ranges, .x = to, .from = from});
}

static void axpy(void *context, int k, int thread)
{
    const vectors *v = context;
    const float factor = (float)v->factor;
    float *y = v->x + v->ranges[k].first;
    const float *x = v->from + v->ranges[k].first;

    (void)thread;
    for (int64_t i = 0; i < v->ranges[k].count; i++)
        y[i] += factor * x[i];
}

void pada_cpu_axpy(pada_device *d, void *y, double a, const void *x, const pada_range *ranges,
                   int n)
{
    pada_pool_run(d->pool, n, axpy,
                  &(vectors){.d = d, .ranges = ranges, .x = y, .from = x, .factor = a});
}

static void blend(void *context, int k, int thread)
{
    const vectors *v = context;
    const float old = (float)v->factor, fresh = (float)(1 - v->factor);
    float *y = v->x + v->ranges[k].first;
    const float *x = v->from + v->ranges[k].first;

    (void)thread;
    for (int64_t i = 0; i < v->ranges[k].count; i++)
        y[i] = old * y[i] + fresh * x[i];
}

void pada_cpu_blend(pada_device *d, void *y, double a, const void *x, const pada_range *ranges,
                    int n)
{
    pada_pool_run(d->pool, n, blend,
                  &(vectors){.d = d, .ranges = ranges, .x = y, .from = x, .factor = a});
}

static void welford(void *context, int k, int thread)
{
    const vectors *v = context;
    const int64_t at = v->ranges[k].first;
    const float share = 1.0f / (float)v->counts[k];
    float *mean = v->x + at, *spread = v->y + at;
    const float *x = v->from + at;

    (void)thread;
    for (int64_t i = 0; i < v->ranges[k].count; i++) {
        const float off = x[i] - mean[i];
        mean[i] += share * off;
        spread[i] += off * (x[i] - mean[i]);
    }
}

void pada_cpu_welford(pada_device *d, void *mean, void *spread, const void *x,
                      const pada_range *ranges, const int64_t *counts, int n)
{
    pada_pool_run(
        d->pool, n, welford,
        &(vectors){.d = d, .ranges = ranges, .x = mean, .y = spread, .from = x, .counts = counts});
}
