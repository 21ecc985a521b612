/* test_elementary.c - exp, log and cos: near the C library's, and the same bits everywhere. */
#include "base/elementary.h"

#include "base/hash.h"
#include "check.h"

/* Distance in units of the last place of b. */
static double apart(double a, double b)
{
    const double size = fabs(b) < 0x1p-1022 ? 0x1p-1022 : fabs(b);

    if (a == b) return 0;
    return fabs(a - b) / (nextafter(size, INFINITY) - size);
}

enum { N = 200000 };

/* Compares with the C library on points given by `at`, and hashes the results. */
static uint64_t compare(double (*mine)(double), double (*library)(double), double (*at)(pada_rng *))
{
    uint64_t hash = 0;
    double worst = 0, where = 0;
    pada_rng rng;

    pada_rng_init(&rng, 1, "elementary", 0);
    for (int i = 0; i < N; i++) {
        const double x = at(&rng), y = mine(x), off = apart(y, library(x));
        if (off > worst) {
            worst = off;
            where = x;
        }
        hash = pada_hash(&y, sizeof y, hash);
    }
    print_message("at most %.2f units off, at %.17g\n", worst, where);
    if (!(worst < 3)) fail_msg("%.2f units off at %.17g", worst, where);
    return hash;
}

static double an_exponent(pada_rng *rng)
{
    const double size = ldexp(1, (int)pada_rng_below(rng, 20) - 10);
    return size * (2 * pada_rng_uniform(rng) - 1.4);
}

static double a_positive(pada_rng *rng)
{
    const int power = (int)pada_rng_below(rng, 4) == 0 ? (int)pada_rng_below(rng, 2000) - 1040 : 0;
    return ldexp(0.5 + pada_rng_uniform(rng), power);
}

static double a_turn(pada_rng *rng)
{
    return 4 * pada_rng_uniform(rng) - 2;
}

static double cos_turns(double x)
{
    const double quarters = rint(4 * x);
    const long double angle = (x - quarters / 4) * 6.283185307179586476925286766559L;
    const long double y = (int)quarters & 1 ? -sinl(angle) : cosl(angle);

    return (double)((int)quarters & 2 ? -y : y);
}

static void exp_is_near(void **state)
{
    (void)state;
    assert_int_equal(compare(pada_exp, exp, an_exponent), 0x55d7d29b7b5b9901);
}

static void log_is_near(void **state)
{
    (void)state;
    assert_int_equal(compare(pada_ln, log, a_positive), 0xf99633ccfc5f94cb);
}

static void cos_is_near(void **state)
{
    (void)state;
    assert_int_equal(compare(pada_cos_turns, cos_turns, a_turn), 0xa09cdd39363900d2);
}

static void ends_of_the_range(void **state)
{
    (void)state;
    assert_true(pada_exp(0) == 1 && pada_exp(-0.0) == 1);
    assert_true(pada_exp(INFINITY) == INFINITY && pada_exp(-INFINITY) == 0);
    assert_true(pada_exp(709.78) < INFINITY && pada_exp(709.79) == INFINITY);
    assert_true(pada_exp(-745.13) == 0x1p-1074 && pada_exp(-745.14) == 0);
    assert_true(isnan(pada_exp(NAN)) && isnan(pada_ln(NAN)) && isnan(pada_ln(-1)));
    assert_true(pada_ln(1) == 0 && pada_ln(0) == -INFINITY && pada_ln(INFINITY) == INFINITY);
    assert_true(apart(pada_ln(0x1p-1074), log(0x1p-1074)) < 2);
    for (int i = -8; i <= 8; i++) {
        const double quarter[] = {1, 0, -1, 0};
        assert_true(pada_cos_turns(i / 4.0) == quarter[i & 3]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exp_is_near),
        cmocka_unit_test(log_is_near),
        cmocka_unit_test(cos_is_near),
        cmocka_unit_test(ends_of_the_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
