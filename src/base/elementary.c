/* elementary.c - power series after an exact reduction of the argument. */
#include "base/elementary.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/status.h"

/* ln 2 in two parts; the first has 32 bits, so that its products with exponents are exact. */
#define LN2_HIGH 0x1.62e42feep-1
#define LN2_LOW  0x1.a39ef35793c76p-33

static uint64_t bits_of(double x)
{
    uint64_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static double from_bits(uint64_t bits)
{
    double x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

/* The nearest integer; of numbers below 2^51 only. */
static double nearest(double x)
{
    return x + 0x1.8p52 - 0x1.8p52;
}

/* 2^n of normal numbers. */
static double power_of_two(int n)
{
    return from_bits((uint64_t)(n + 1023) << 52);
}

/* c[0] + c[1] x + .. + c[n - 1] x^(n - 1) */
static double polynomial(const double *c, int n, double x)
{
    double sum = c[n - 1];

    for (int i = n - 2; i >= 0; i--)
        sum = sum * x + c[i];
    return sum;
}

/* e^x = 2^k e^r with |r| <= ln 2 / 2. */
double pada_exp(double x)
{
    /* 1 / 2!, 1 / 3!, .. */
    static const double c[] = {1.0 / 2,          1.0 / 6,        1.0 / 24,        1.0 / 120,
                               1.0 / 720,        1.0 / 5040,     1.0 / 40320,     1.0 / 362880,
                               1.0 / 3628800,    1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800,
                               1.0 / 87178291200};

    if (x != x) return x;
    if (x > 710) return INFINITY;
    if (x < -746) return 0;
    const double k = nearest(x * 1.4426950408889634074);
    const double high = x - k * LN2_HIGH, low = k * LN2_LOW, r = high - low;
    const double y = 1 + (high + (r * r * polynomial(c, (int)(sizeof c / sizeof *c), r) - low));
    const int half = (int)k / 2; /* in two steps, as 2^k itself may be out of range */
    return y * power_of_two(half) * power_of_two((int)k - half);
}

/* ln x = k ln 2 + ln m with m from sqrt(1/2) to sqrt(2), and ln m = 2 artanh((m - 1) / (m + 1)). */
double pada_ln(double x)
{
    /* 2 / 3, 2 / 5, .. */
    static const double c[] = {2.0 / 3,  2.0 / 5,  2.0 / 7,  2.0 / 9,  2.0 / 11, 2.0 / 13,
                               2.0 / 15, 2.0 / 17, 2.0 / 19, 2.0 / 21, 2.0 / 23, 2.0 / 25};
    int k = 0;

    if (x != x || x == INFINITY) return x;
    if (x < 0) return NAN;
    if (x == 0) return -INFINITY;
    if (x < 0x1p-1022) {
        x *= 0x1p54;
        k = -54;
    }
    const uint64_t bits = bits_of(x);
    k += (int)(bits >> 52) - 1023;
    double m = from_bits((bits & 0xfffffffffffff) | (UINT64_C(1023) << 52));
    if (m > 1.4142135623730951) {
        m /= 2;
        k++;
    }
    /* With f = m - 1 exact, ln m = f - (f^2 / 2 - s (f^2 / 2 + s^2 p(s^2))): its error is a part of
     * the small terms. */
    const double f = m - 1, s = f / (2 + f), square = s * s, half = f * f / 2;
    const double series = square * polynomial(c, (int)(sizeof c / sizeof *c), square);
    const double rest = s * (half + series) + k * LN2_LOW;
    return k * LN2_HIGH - ((half - rest) - f);
}

double pada_cos_turns(double x)
{
    /* 1 / (2i)! and 1 / (2i + 1)! with alternating signs, without the first */
    static const double even[] = {
        -1.0 / 2,       1.0 / 24,        -1.0 / 720,         1.0 / 40320,
        -1.0 / 3628800, 1.0 / 479001600, -1.0 / 87178291200, 1.0 / 20922789888000};
    static const double odd[] = {
        -1.0 / 6,        1.0 / 120,        -1.0 / 5040,          1.0 / 362880,
        -1.0 / 39916800, 1.0 / 6227020800, -1.0 / 1307674368000, 1.0 / 355687428096000};

    PADA_ASSERT(!(fabs(x) > 0x1p50));
    const double quarters = nearest(4 * x);
    const double angle = (x - quarters / 4) * 6.283185307179586476925; /* at most pi / 4 */
    const double square = angle * angle;
    const int64_t quarter = (int64_t)quarters & 3;
    const double cosine = 1 + square * polynomial(even, 8, square);
    const double sine = angle + angle * (square * polynomial(odd, 8, square));

    switch (quarter) {
    case 0: return cosine;
    case 1: return -sine;
    case 2: return -cosine;
    default: return sine;
    }
}
