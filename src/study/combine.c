/* combine.c - one score of several: the mean of what runs say, and a prior. */
#include "study/combine.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "study/prior_weight.h"

/* ---- shares ---- */

/* A value of the sample. */
typedef struct knot {
    double value, share;
} knot;

struct pada_shares {
    int n;        /* different values */
    double slope; /* beyond them */
    knot knots[]; /* [n], ascending */
};

static int compare_values(const void *x, const void *y)
{
    const knot *a = x, *b = y;

    return (a->value > b->value) - (a->value < b->value);
}

/* Makes one knot of equal values. */
static int join_equal(knot *knots, int n)
{
    int kept = 0;

    for (int first = 0, next; first < n; first = next) {
        for (next = first + 1; next < n && knots[next].value == knots[first].value;)
            next++;
        const double share = (first + 0.5 * (next - first)) / n;
        knots[kept++] = (knot){.value = knots[first].value, .share = share};
    }
    return kept;
}

pada_status pada_shares_create(pada_shares **out, const double *values, int n)
{
    void *mem;

    *out = NULL;
    PADA_ASSERT(n >= 1);
    PADA_TRY(pada_calloc(&mem, 1, sizeof(pada_shares) + (size_t)n * sizeof(knot)));
    pada_shares *s = mem;
    for (int i = 0; i < n; i++)
        s->knots[i].value = values[i];
    qsort(s->knots, (size_t)n, sizeof *s->knots, compare_values);
    s->n = join_equal(s->knots, n);
    const knot *first = &s->knots[0], *last = &s->knots[s->n - 1];
    if (s->n > 1) s->slope = (last->share - first->share) / (last->value - first->value);
    *out = s;
    return PADA_OK;
}

void pada_shares_destroy(pada_shares *s)
{
    pada_free(s);
}

double pada_share_of(const pada_shares *s, double value)
{
    const knot *first = &s->knots[0], *last = &s->knots[s->n - 1];
    int low = 0, high = s->n - 1;

    if (value <= first->value) return first->share + s->slope * (value - first->value);
    if (value >= last->value) return last->share + s->slope * (value - last->value);
    while (high - low > 1) {
        const int middle = low + (high - low) / 2;
        if (s->knots[middle].value <= value)
            low = middle;
        else
            high = middle;
    }
    const knot *a = &s->knots[low], *b = &s->knots[high];
    return a->share + (b->share - a->share) * ((value - a->value) / (b->value - a->value));
}

/* ---- the mixer ---- */

/* What a run's accuracies are brought into the common unit by. */
typedef struct scale {
    pada_shares *shares;
    double mean, deviation; /* 0: all of the sample are equal */
} scale;

struct pada_mixer {
    pada_combine combine;
    int n_runs;
    double weight;
    pada_shares *of_mean, *of_prior; /* NULL: there is no prior */
    scale scales[];                  /* [n_runs] */
};

static void find_deviation(scale *s, const double *values, int n)
{
    double sum = 0, squares = 0;

    for (int i = 0; i < n; i++)
        sum += values[i];
    s->mean = sum / n;
    for (int i = 0; i < n; i++)
        squares += (values[i] - s->mean) * (values[i] - s->mean);
    s->deviation = sqrt(squares / n);
}

static double in_unit(const pada_mixer *m, int run, double value)
{
    const scale *s = &m->scales[run];

    switch (m->combine) {
    case PADA_COMBINE_ACCURACY: return value;
    case PADA_COMBINE_RANK: return pada_share_of(s->shares, value);
    case PADA_COMBINE_CALIBRATED: return s->deviation > 0 ? (value - s->mean) / s->deviation : 0;
    }
    return value;
}

/* The shares of a mean and of the prior, once all runs have their scales. */
static pada_status place_prior(pada_mixer *m, const pada_mixer_desc *desc)
{
    void *mem, *room;

    PADA_TRY(pada_shares_create(&m->of_prior, desc->prior, desc->n));
    PADA_TRY(pada_calloc(&mem, (size_t)desc->n, sizeof(double)));
    pada_status st = pada_calloc(&room, (size_t)desc->n_runs, sizeof(double));
    if (st == PADA_OK) {
        double *means = mem, *values = room;
        for (int i = 0; i < desc->n; i++) {
            for (int r = 0; r < desc->n_runs; r++)
                values[r] = desc->runs[r][i];
            means[i] = pada_mixer_mean(m, values);
        }
        st = pada_shares_create(&m->of_mean, means, desc->n);
        pada_free(room);
    }
    pada_free(mem);
    return st;
}

static pada_status make_scales(pada_mixer *m, const pada_mixer_desc *desc)
{
    for (int r = 0; r < m->n_runs; r++) {
        scale *s = &m->scales[r];
        if (m->combine == PADA_COMBINE_RANK)
            PADA_TRY(pada_shares_create(&s->shares, desc->runs[r], desc->n));
        if (m->combine == PADA_COMBINE_CALIBRATED) find_deviation(s, desc->runs[r], desc->n);
    }
    return desc->prior ? place_prior(m, desc) : PADA_OK;
}

pada_status pada_mixer_create(pada_mixer **out, const pada_mixer_desc *desc)
{
    void *mem;

    *out = NULL;
    PADA_ASSERT(desc->n_runs >= 1 && desc->n >= 1);
    PADA_TRY(pada_calloc(&mem, 1, sizeof(pada_mixer) + (size_t)desc->n_runs * sizeof(scale)));
    pada_mixer *m = mem;
    m->combine = desc->combine;
    m->n_runs = desc->n_runs;
    m->weight = desc->weight;
    pada_status st = make_scales(m, desc);
    if (st == PADA_OK && desc->finds_weight)
        st = pada_prior_weight(desc->runs, desc->n_runs, desc->prior, desc->n, &m->weight);
    if (st != PADA_OK) {
        pada_mixer_destroy(m);
        return st;
    }
    *out = m;
    return PADA_OK;
}

void pada_mixer_destroy(pada_mixer *m)
{
    if (!m) return;
    for (int r = 0; r < m->n_runs; r++)
        pada_shares_destroy(m->scales[r].shares);
    pada_shares_destroy(m->of_mean);
    pada_shares_destroy(m->of_prior);
    pada_free(m);
}

double pada_mixer_weight(const pada_mixer *m)
{
    return m->weight;
}

/* Sums that are equal but for rounding must tie. */
static double without_noise(double x)
{
    const double steps = 1e9; /* of one */

    return nearbyint(x * steps) / steps;
}

double pada_mixer_mean(const pada_mixer *m, const double *values)
{
    double sum = 0;

    for (int r = 0; r < m->n_runs; r++)
        sum += in_unit(m, r, values[r]);
    return without_noise(sum / m->n_runs);
}

double pada_mixer_score(const pada_mixer *m, double mean, double prior)
{
    if (!m->of_prior) return mean;
    return without_noise(pada_share_of(m->of_mean, mean) +
                         m->weight * pada_share_of(m->of_prior, prior));
}
