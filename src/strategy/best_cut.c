/* best_cut.c - a few things in two groups of nearly the same size, those alike together.
 *
 * All 12,870 halves of 16 things are tried; five have ten. */
#include "strategy/best_cut.h"

#include <math.h>

static int count_bits(uint32_t bits)
{
    int n = 0;

    for (; bits; bits &= bits - 1)
        n++;
    return n;
}

/* The distances between those in the group and the others. */
static double cut_of(const double *distances, int n, uint32_t group)
{
    double cut = 0;

    for (int i = 1; i < n; i++)
        for (int k = 0; k < i; k++)
            if ((group >> i & 1) != (group >> k & 1)) cut += distances[i * n + k];
    return cut;
}

double pada_best_cut(const double *distances, int n, uint32_t *group)
{
    double most = -INFINITY; /* all distances add up to the same, so inside is least */

    PADA_ASSERT(n >= 2 && n <= PADA_MAX_CUT);
    *group = (UINT32_C(1) << n / 2) - 1; /* if distances are not numbers */
    for (uint32_t some = 1; some < UINT32_C(1) << n; some++) {
        if (count_bits(some) != n / 2) continue;
        const double cut = cut_of(distances, n, some);
        if (cut > most) {
            most = cut;
            *group = some;
        }
    }
    return most;
}
