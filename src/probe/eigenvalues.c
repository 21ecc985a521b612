/* eigenvalues.c - of small symmetric matrices, by Jacobi's rotations. */
#include "probe/eigenvalues.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

enum { MAX_SWEEPS = 60 }; /* about ten are enough for a thousand rows */

/* What is left beside the diagonal, and what is on it, as sums of squares. */
static void weigh(const double *a, int n, double *beside, double *on)
{
    *beside = *on = 0;
    for (int i = 0; i < n; i++) {
        *on += a[i * n + i] * a[i * n + i];
        for (int k = 0; k < i; k++)
            *beside += 2 * a[i * n + k] * a[i * n + k];
    }
}

/* Turns the plane of axes p and q until their element is zero. */
static void rotate(double *a, int n, int p, int q)
{
    const double apq = a[p * n + q];
    const double theta = (a[q * n + q] - a[p * n + p]) / (2 * apq);
    const double t = (theta < 0 ? -1 : 1) / (fabs(theta) + sqrt(theta * theta + 1));
    const double c = 1 / sqrt(t * t + 1), s = t * c;

    a[p * n + p] -= t * apq;
    a[q * n + q] += t * apq;
    a[p * n + q] = a[q * n + p] = 0;
    for (int i = 0; i < n; i++) {
        if (i == p || i == q) continue;
        const double x = a[i * n + p], y = a[i * n + q];
        a[i * n + p] = a[p * n + i] = c * x - s * y;
        a[i * n + q] = a[q * n + i] = s * x + c * y;
    }
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

void pada_eigenvalues(double *a, int n, double *values)
{
    double beside, on;

    for (int sweep = 0; sweep < MAX_SWEEPS; sweep++) {
        weigh(a, n, &beside, &on);
        if (beside <= DBL_EPSILON * DBL_EPSILON * on) break;
        for (int p = 0; p < n; p++)
            for (int q = p + 1; q < n; q++)
                if (a[p * n + q] != 0) rotate(a, n, p, q);
    }
    for (int i = 0; i < n; i++)
        values[i] = a[i * n + i];
    qsort(values, (size_t)n, sizeof *values, ascending);
}
