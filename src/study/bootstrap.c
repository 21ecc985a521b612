/* bootstrap.c - how much metrics depend on which networks were looked at. */
#include "study/bootstrap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <omp.h>

#include "base/mem.h"
#include "base/rng.h"
#include "base/threads.h"

struct pada_bootstrap {
    int n_sets, replicates;
    double *values;  /* [n_sets, PADA_N_METRICS, replicates] */
    double *scratch; /* [replicates] */
};

/* What one thread works with. */
typedef struct worker {
    pada_metrics_work *work;
    int32_t *copies; /* [networks] */
} worker;

static double *values_of(const pada_bootstrap *b, int set, pada_metric metric)
{
    PADA_ASSERT(set >= 0 && set < b->n_sets);
    return b->values + ((size_t)set * PADA_N_METRICS + metric) * (size_t)b->replicates;
}

static void destroy_workers(worker *workers, int n)
{
    for (int i = 0; workers && i < n; i++) {
        pada_metrics_work_destroy(workers[i].work);
        pada_free(workers[i].copies);
    }
    pada_free(workers);
}

static pada_status create_workers(worker **out, int n, int n_networks)
{
    void *mem;
    pada_status st = PADA_OK;

    PADA_TRY(pada_calloc(&mem, (size_t)n, sizeof **out));
    worker *workers = mem;
    for (int i = 0; i < n && st == PADA_OK; i++) {
        st = pada_metrics_work_create(&workers[i].work, n_networks);
        if (st == PADA_OK) st = pada_calloc(&mem, (size_t)n_networks, sizeof *workers[i].copies);
        if (st == PADA_OK) workers[i].copies = mem;
    }
    if (st != PADA_OK) {
        destroy_workers(workers, n);
        return st;
    }
    *out = workers;
    return PADA_OK;
}

static void run_replicate(const pada_bootstrap *b, const pada_bootstrap_desc *desc, const worker *w,
                          int replicate)
{
    const int n = pada_pairs_count(desc->sets[0]);
    pada_metrics metrics;
    pada_rng rng;

    pada_rng_init(&rng, desc->seed, "bootstrap", (uint64_t)replicate);
    memset(w->copies, 0, (size_t)n * sizeof *w->copies);
    for (int i = 0; i < n; i++)
        w->copies[pada_rng_below(&rng, (uint32_t)n)]++;
    for (int set = 0; set < b->n_sets; set++) {
        pada_metrics_compute(desc->sets[set], w->copies, w->work, &metrics);
        for (int m = 0; m < PADA_N_METRICS; m++)
            values_of(b, set, (pada_metric)m)[replicate] = metrics.value[m];
    }
}

static pada_status run_replicates(const pada_bootstrap *b, const pada_bootstrap_desc *desc)
{
    const int n_threads = desc->n_threads > 0 ? desc->n_threads : pada_threads_default();
    worker *workers;

    PADA_TRY(create_workers(&workers, n_threads, pada_pairs_count(desc->sets[0])));
#pragma omp parallel for schedule(dynamic, 4) num_threads(n_threads)
    for (int r = 0; r < b->replicates; r++)
        run_replicate(b, desc, &workers[omp_get_thread_num()], r);
    destroy_workers(workers, n_threads);
    return PADA_OK;
}

static pada_status make_bootstrap(pada_bootstrap *b, const pada_bootstrap_desc *desc)
{
    const size_t n = (size_t)desc->replicates;
    void *mem;

    for (int set = 1; set < desc->n_sets; set++)
        PADA_ASSERT(pada_pairs_count(desc->sets[set]) == pada_pairs_count(desc->sets[0]));
    b->n_sets = desc->n_sets;
    b->replicates = desc->replicates;
    PADA_TRY(pada_calloc(&mem, n, (size_t)desc->n_sets * PADA_N_METRICS * sizeof *b->values));
    b->values = mem;
    PADA_TRY(pada_calloc(&mem, n, sizeof *b->scratch));
    b->scratch = mem;
    return n > 0 ? run_replicates(b, desc) : PADA_OK;
}

pada_status pada_bootstrap_create(pada_bootstrap **out, const pada_bootstrap_desc *desc)
{
    void *mem;

    *out = NULL;
    PADA_ASSERT(desc->n_sets > 0 && desc->replicates >= 0);
    PADA_TRY(pada_calloc(&mem, 1, sizeof **out));
    pada_bootstrap *b = mem;
    const pada_status st = make_bootstrap(b, desc);
    if (st != PADA_OK) {
        pada_bootstrap_destroy(b);
        return st;
    }
    *out = b;
    return PADA_OK;
}

void pada_bootstrap_destroy(pada_bootstrap *b)
{
    if (!b) return;
    pada_free(b->values);
    pada_free(b->scratch);
    pada_free(b);
}

int pada_bootstrap_replicates(const pada_bootstrap *b)
{
    return b->replicates;
}

static int compare_numbers(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Linear between the two nearest of n sorted numbers. */
static double quantile(const double *sorted, int n, double q)
{
    const double place = q * (n - 1);
    const int below = (int)place;

    if (below + 1 >= n) return sorted[n - 1];
    return sorted[below] + (place - below) * (sorted[below + 1] - sorted[below]);
}

/* Of the n numbers in b->scratch, which it sorts. */
static pada_interval interval_of(pada_bootstrap *b, int n)
{
    if (n == 0) return (pada_interval){NAN, NAN};
    qsort(b->scratch, (size_t)n, sizeof *b->scratch, compare_numbers);
    return (pada_interval){quantile(b->scratch, n, 0.025), quantile(b->scratch, n, 0.975)};
}

void pada_bootstrap_interval(pada_bootstrap *b, int set, pada_metric metric, pada_interval *out)
{
    const double *values = values_of(b, set, metric);
    int n = 0;

    for (int r = 0; r < b->replicates; r++)
        if (!isnan(values[r])) b->scratch[n++] = values[r];
    *out = interval_of(b, n);
}

void pada_bootstrap_difference(pada_bootstrap *b, int set, int other, pada_metric metric,
                               pada_difference *out)
{
    const double *values = values_of(b, set, metric), *others = values_of(b, other, metric);
    int n = 0, n_not_above = 0, n_not_below = 0;

    for (int r = 0; r < b->replicates; r++) {
        const double difference = values[r] - others[r];
        if (isnan(difference)) continue;
        b->scratch[n++] = difference;
        n_not_above += difference <= 0;
        n_not_below += difference >= 0;
    }
    out->interval = interval_of(b, n);
    const int rarer = n_not_above < n_not_below ? n_not_above : n_not_below;
    out->p = n == 0 ? NAN : fmin(1, fmax(1.0, 2.0 * rarer) / n);
}
