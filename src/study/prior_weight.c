/* prior_weight.c - how much a prior should weigh, found without a truth: from how far runs agree. */
#include "study/prior_weight.h"

#include <math.h>

#include "base/mem.h"
#include "study/combine.h"

double pada_prior_weight_of(double rho, double kappa, int n_runs)
{
    const double v = rho + (1 - rho) / n_runs, signal = rho - kappa * kappa;
    const double most = copysign(PADA_PRIOR_WEIGHT_MAX, kappa);

    if (kappa == 0) return 0;
    if (signal <= 0 || v <= 0) return most;
    const double w = kappa * (1 - rho) / (n_runs * sqrt(v) * signal);
    return fabs(w) < PADA_PRIOR_WEIGHT_MAX ? w : most;
}

/* Ranks of mean 0 and square sum 1; all 0 where all values are equal. */
static pada_status standardise(const double *values, int n, double *out)
{
    pada_shares *shares;
    double squares = 0;

    PADA_TRY(pada_shares_create(&shares, values, n));
    for (int i = 0; i < n; i++) {
        out[i] = pada_share_of(shares, values[i]) - 0.5;
        squares += out[i] * out[i];
    }
    pada_shares_destroy(shares);
    for (int i = 0; i < n && squares > 0; i++)
        out[i] /= sqrt(squares);
    return PADA_OK;
}

static double product(const double *a, const double *b, int n)
{
    double sum = 0;

    for (int i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

pada_status pada_prior_weight(const double *const *runs, int n_runs, const double *prior, int n,
                              double *weight)
{
    pada_status st = PADA_OK;
    double rho = 0, kappa = 0;
    void *mem;

    PADA_ASSERT(n_runs >= 2 && n >= 1);
    PADA_TRY(pada_calloc(&mem, (size_t)n_runs + 1, (size_t)n * sizeof(double)));
    double *ranks = mem, *of_prior = ranks + (size_t)n_runs * (size_t)n;
    for (int r = 0; r <= n_runs && st == PADA_OK; r++)
        st = standardise(r < n_runs ? runs[r] : prior, n, ranks + (size_t)r * (size_t)n);
    for (int r = 0; r < n_runs && st == PADA_OK; r++) {
        const double *its = ranks + (size_t)r * (size_t)n;
        kappa += product(its, of_prior, n) / n_runs;
        for (int other = 0; other < r; other++)
            rho += product(its, ranks + (size_t)other * (size_t)n, n);
    }
    pada_free(mem);
    if (st == PADA_OK)
        *weight = pada_prior_weight_of(rho / (0.5 * n_runs * (n_runs - 1)), kappa, n_runs);
    return st;
}
