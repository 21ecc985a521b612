/* check.h - what test files share: cmocka, comparisons of numbers, random data. */
#ifndef PADA_TESTS_CHECK_H
#define PADA_TESTS_CHECK_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/rng.h"
#include "base/status.h"

/* Fails the test with pada's message when a call does not succeed. */
#define CHECK_OK(call)                                                    \
    do {                                                                  \
        if ((call) != PADA_OK) fail_msg("%s: %s", #call, pada_message()); \
    } while (0)

/* |a - b| <= tolerance */
#define CHECK_CLOSE(a, b, tolerance)                                                  \
    do {                                                                              \
        const double check_a = (a), check_b = (b);                                    \
        if (!(fabs(check_a - check_b) <= (tolerance)))                                \
            fail_msg("%s = %.17g, %s = %.17g, apart by %g", #a, check_a, #b, check_b, \
                     fabs(check_a - check_b));                                        \
    } while (0)

/* max |a - b| / max |b|; 0 when both are zero everywhere. */
static inline double relative_error(const double *a, const double *b, int64_t n)
{
    double apart = 0, size = 0;

    for (int64_t i = 0; i < n; i++) {
        if (!(fabs(a[i] - b[i]) <= apart)) apart = fabs(a[i] - b[i]);
        if (fabs(b[i]) > size) size = fabs(b[i]);
    }
    if (apart == 0) return 0;
    return size > 0 ? apart / size : INFINITY;
}

/* ||a - b|| / ||b||, for numbers of which single ones may be far off; 0 when both are zero. */
static inline double relative_distance(const double *a, const double *b, int64_t n)
{
    double apart = 0, size = 0;

    for (int64_t i = 0; i < n; i++) {
        apart += (a[i] - b[i]) * (a[i] - b[i]);
        size += b[i] * b[i];
    }
    if (apart == 0) return 0;
    return size > 0 ? sqrt(apart / size) : INFINITY;
}

/* n numbers with mean 0 and deviation 1, rounded to float. */
static inline void random_normal(double *to, int64_t n, uint64_t seed)
{
    pada_rng rng;

    pada_rng_init(&rng, seed, "test", 0);
    for (int64_t i = 0; i < n; i++)
        to[i] = (float)pada_rng_normal(&rng);
}

#endif
