/* test_eigenvalues.c - eigenvalues of matrices that are made from them. */
#include "probe/eigenvalues.h"

#include <math.h>
#include <stdlib.h>

#include "base/rng.h"
#include "check.h"

static void two_by_two(void **state)
{
    double a[] = {2, -1, -1, 2}, values[2];

    (void)state;
    pada_eigenvalues(a, 2, values);
    CHECK_CLOSE(values[0], 1, 1e-15);
    CHECK_CLOSE(values[1], 3, 1e-15);
}

/* The second difference: 2 - 2 cos(k pi / (n + 1)). */
static void chain(void **state)
{
    enum { N = 72 };
    static double a[N * N], values[N];
    const double pi = acos(-1);

    (void)state;
    for (int i = 0; i < N; i++) {
        a[i * N + i] = 2;
        if (i > 0) a[i * N + i - 1] = a[(i - 1) * N + i] = -1;
    }
    pada_eigenvalues(a, N, values);
    for (int k = 0; k < N; k++)
        CHECK_CLOSE(values[k], 2 - 2 * cos((k + 1) * pi / (N + 1)), 1e-13);
}

/* Eigenvalues over 12 orders of magnitude, turned by reflections: each is right to the rounding of the largest. */
static void spread_out(void **state)
{
    enum { N = 40 };
    static double a[N * N], values[N];
    pada_rng rng;

    (void)state;
    pada_rng_init(&rng, 1, "mirrors", 0);
    for (int i = 0; i < N; i++)
        a[i * N + i] = pow(10, -12.0 * i / (N - 1));
    for (int turn = 0; turn < 5; turn++) {
        double v[N], square = 0;
        for (int i = 0; i < N; i++) {
            v[i] = pada_rng_normal(&rng);
            square += v[i] * v[i];
        }
        for (int side = 0; side < 2; side++) /* A - 2 v v'A / v'v, then the transpose */
            for (int k = 0; k < N; k++) {
                double sum = 0;
                for (int i = 0; i < N; i++)
                    sum += v[i] * (side ? a[k * N + i] : a[i * N + k]);
                for (int i = 0; i < N; i++)
                    *(side ? &a[k * N + i] : &a[i * N + k]) -= 2 * v[i] * sum / square;
            }
    }
    pada_eigenvalues(a, N, values);
    for (int i = 0; i < N; i++)
        CHECK_CLOSE(values[N - 1 - i], pow(10, -12.0 * i / (N - 1)), 1e-14);
}

static void zeros(void **state)
{
    double a[9] = {0}, values[3] = {1, 1, 1};

    (void)state;
    pada_eigenvalues(a, 3, values);
    for (int i = 0; i < 3; i++)
        CHECK_CLOSE(values[i], 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_by_two),
        cmocka_unit_test(chain),
        cmocka_unit_test(spread_out),
        cmocka_unit_test(zeros),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
