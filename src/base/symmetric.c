/* symmetric.c - small symmetric matrices in double precision. */
#include "base/symmetric.h"

#include <math.h>
#include <stdlib.h>

enum { MAX_SWEEPS = 60 };

static pada_status check_finite(const double *a, int n)
{
    for (int i = 0; i < n * n; i++)
        if (!isfinite(a[i]))
            return PADA_FAIL(PADA_ENUMERIC, "a matrix of %dx%d numbers has one that is not finite",
                             n, n);
    return PADA_OK;
}

/* ---- eigenvalues ---- */

static int compare(const void *x, const void *y)
{
    const double a = *(const double *)x, b = *(const double *)y;

    return (a > b) - (a < b);
}

/* Sums of squares off the diagonal, and of all. */
static void measure(const double *a, int n, double *off, double *all)
{
    *off = *all = 0;
    for (int i = 0; i < n; i++)
        for (int j = i; j < n; j++) {
            const double square = a[i * n + j] * a[i * n + j];
            if (j > i) *off += 2 * square;
            *all += j > i ? 2 * square : square;
        }
}

/* The element (i, j) with i < j or j < i, in the upper triangle. */
static double *at(double *a, int n, int i, int j)
{
    return i < j ? &a[i * n + j] : &a[j * n + i];
}

/* Makes element (p, q) zero, p < q. */
static void rotate(double *a, int n, int p, int q)
{
    const double apq = a[p * n + q];

    if (apq == 0) return;
    const double theta = (a[q * n + q] - a[p * n + p]) / (2 * apq);
    const double t = (theta < 0 ? -1 : 1) / (fabs(theta) + sqrt(theta * theta + 1));
    const double c = 1 / sqrt(t * t + 1), s = t * c;

    a[p * n + p] -= t * apq;
    a[q * n + q] += t * apq;
    a[p * n + q] = 0;
    for (int k = 0; k < n; k++) {
        if (k == p || k == q) continue;
        double *kp = at(a, n, k, p), *kq = at(a, n, k, q);
        const double x = *kp, y = *kq;
        *kp = c * x - s * y;
        *kq = s * x + c * y;
    }
}

pada_status pada_symmetric_eigenvalues(double *a, int n, double *values)
{
    double off, all;

    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            a[i * n + j] = 0; /* not read */
    PADA_TRY(check_finite(a, n));
    for (int sweep = 0; sweep < MAX_SWEEPS; sweep++) {
        measure(a, n, &off, &all);
        if (off <= 1e-27 * all) break;
        for (int p = 0; p < n; p++)
            for (int q = p + 1; q < n; q++)
                rotate(a, n, p, q);
    }
    for (int i = 0; i < n; i++)
        values[i] = a[i * n + i];
    qsort(values, (size_t)n, sizeof *values, compare);
    return PADA_OK;
}

/* ---- the determinant ---- */

static void swap_rows(double *a, int n, int i, int j)
{
    for (int k = 0; k < n && i != j; k++) {
        const double kept = a[i * n + k];
        a[i * n + k] = a[j * n + k];
        a[j * n + k] = kept;
    }
}

pada_status pada_symmetric_log_det(double *a, int n, double *out)
{
    double sum = 0;

    PADA_TRY(check_finite(a, n));
    for (int i = 0; i < n; i++) {
        int best = i;
        for (int j = i + 1; j < n; j++)
            if (fabs(a[j * n + i]) > fabs(a[best * n + i])) best = j;
        swap_rows(a, n, i, best);
        const double pivot = a[i * n + i];
        sum += log(fabs(pivot));
        if (pivot == 0) break;
        for (int j = i + 1; j < n; j++) {
            const double factor = a[j * n + i] / pivot;
            for (int k = i + 1; k < n; k++)
                a[j * n + k] -= factor * a[i * n + k];
        }
    }
    *out = sum;
    return PADA_OK;
}
