/* test_symmetric.c - eigenvalues and determinants of small symmetric matrices. */
#include "base/symmetric.h"

#include <string.h>

#include "base/rng.h"
#include "base/scratch.h"
#include "check.h"

static void test_by_hand(void **state)
{
    double a[] = {2, 1, 99, 2}, b[] = {2, 1, 1, 2}, values[2], log_det;

    (void)state;
    assert_ok(pada_symmetric_eigenvalues(a, 2, values)); /* the lower triangle is not read */
    CHECK_CLOSE(values[0], 1, 1e-15);
    CHECK_CLOSE(values[1], 3, 1e-15);
    assert_ok(pada_symmetric_log_det(b, 2, &log_det));
    CHECK_CLOSE(log_det, log(3), 1e-15);

    double needs_pivots[] = {0, 3, 3, 0};
    assert_ok(pada_symmetric_log_det(needs_pivots, 2, &log_det));
    CHECK_CLOSE(log_det, log(9), 1e-15);
    double singular[] = {1, 2, 2, 4};
    assert_ok(pada_symmetric_log_det(singular, 2, &log_det));
    assert_true(log_det == -INFINITY);
    double zero[9] = {0}, zeros[3];
    assert_ok(pada_symmetric_eigenvalues(zero, 3, zeros));
    for (int i = 0; i < 3; i++)
        assert_true(zeros[i] == 0);
    double bad[] = {1, NAN, 0, 1};
    assert_int_equal(pada_symmetric_eigenvalues(bad, 2, values), PADA_ENUMERIC);
    assert_int_equal(pada_symmetric_log_det(bad, 2, &log_det), PADA_ENUMERIC);
}

/* Of a random matrix: trace, Frobenius norm and determinant are those of the eigenvalues; the shifted matrix is singular. */
static void test_random(void **state)
{
    enum { N = 40 };
    static double x[N * N], a[N * N], copy[N * N], values[N];

    (void)state;
    random_normal(x, N * N, 3);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            a[i * N + j] = x[i * N + j] + x[j * N + i];
    double trace = 0, squares = 0, sum = 0, sum_squares = 0, logs = 0, log_det;
    for (int i = 0; i < N; i++)
        trace += a[i * N + i];
    for (int i = 0; i < N * N; i++)
        squares += a[i] * a[i];
    memcpy(copy, a, sizeof a);
    assert_ok(pada_symmetric_eigenvalues(copy, N, values));
    for (int i = 0; i < N; i++) {
        assert_true(i == 0 || values[i - 1] <= values[i]);
        sum += values[i];
        sum_squares += values[i] * values[i];
        logs += log(fabs(values[i]));
    }
    CHECK_CLOSE(sum, trace, 1e-12 * squares);
    CHECK_CLOSE(sum_squares, squares, 1e-12 * squares);
    memcpy(copy, a, sizeof a);
    assert_ok(pada_symmetric_log_det(copy, N, &log_det));
    CHECK_CLOSE(log_det, logs, 1e-10);
    for (int i = 0; i < N; i++)
        a[i * N + i] -= values[7];
    assert_ok(pada_symmetric_log_det(a, N, &log_det));
    logs = 0;
    for (int i = 0; i < N; i++)
        if (i != 7) logs += log(fabs(values[i] - values[7]));
    assert_true(log_det < logs - 20); /* a factor of 1e-9 at least */
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
    assert_ok(pada_symmetric_eigenvalues(a, N, values));
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
    assert_ok(pada_symmetric_eigenvalues(a, N, values));
    for (int i = 0; i < N; i++)
        CHECK_CLOSE(values[N - 1 - i], pow(10, -12.0 * i / (N - 1)), 1e-14);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_hand),
        cmocka_unit_test(test_random),
        cmocka_unit_test(chain),
        cmocka_unit_test(spread_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
