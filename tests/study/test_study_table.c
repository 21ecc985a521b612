/* test_study_table.c - means, deviations and differences over seeds. */
#include "study/study_table.h"

#include <string.h>

#include "check.h"

enum { N = 6 };

static pada_study_run runs[] = {{.name = "spos"}, {.name = "pada"}, {.name = "none"}};
static pada_study_pair pairs[] = {{.run = 1, .against = 0}, {.run = 1, .against = 2}};
static const pada_study_plan plan = {.runs = runs, .n_runs = 3, .pairs = pairs, .n_pairs = 2};

/* Taus of docs/results/nb201.md and study.md: SPOS 0, 1, 2; PA&DA 0, 2, 3. */
static void fill(pada_study_row rows[N])
{
    static const struct {
        int run;
        uint64_t seed;
        double tau;
    } known[N] = {{0, 0, 0.663}, {0, 1, 0.605}, {0, 2, 0.616},
                  {1, 0, 0.699}, {1, 2, 0.704}, {1, 3, 0.641}};

    for (int i = 0; i < N; i++) {
        pada_study_row_init(&rows[i], known[i].run, known[i].seed);
        rows[i].status = "done";
        rows[i].values[PADA_STUDY_TAU_B] = known[i].tau;
    }
}

static void means_are_over_seeds(void **state)
{
    pada_study_row rows[N];
    const pada_study_table table = {&plan, rows, N};

    (void)state;
    fill(rows);
    pada_study_mean m = pada_study_table_mean(&table, 0, PADA_STUDY_TAU_B);
    assert_int_equal(m.n, 3);
    CHECK_CLOSE(m.mean, 0.628, 1e-12);
    CHECK_CLOSE(m.deviation, sqrt((0.035 * 0.035 + 0.023 * 0.023 + 0.012 * 0.012) / 2), 1e-12);
    rows[1].values[PADA_STUDY_TAU_B] = rows[2].values[PADA_STUDY_TAU_B] = NAN;
    m = pada_study_table_mean(&table, 0, PADA_STUDY_TAU_B);
    assert_int_equal(m.n, 1);
    assert_true(m.mean == 0.663);
    assert_true(isnan(m.deviation));
    m = pada_study_table_mean(&table, 2, PADA_STUDY_TAU_B);
    assert_int_equal(m.n, 0);
    assert_true(isnan(m.mean));
}

static void differences_are_of_common_seeds(void **state)
{
    pada_study_row rows[N];
    const pada_study_table table = {&plan, rows, N};

    (void)state;
    fill(rows);
    pada_study_mean m = pada_study_table_difference(&table, &pairs[0], PADA_STUDY_TAU_B);
    assert_int_equal(m.n, 2); /* 0 and 2 */
    CHECK_CLOSE(m.mean, (0.036 + 0.088) / 2, 1e-12);
    CHECK_CLOSE(pada_study_standard_error(&m), 0.026, 1e-12);
    assert_int_equal(pada_study_table_difference(&table, &pairs[1], PADA_STUDY_TAU_B).n, 0);
}

static void files_have_a_line_for_each(void **state)
{
    pada_study_row rows[N];
    const pada_study_table table = {&plan, rows, N};
    pada_text text = {0};

    (void)state;
    fill(rows);
    pada_study_table_write(&table, &text);
    CHECK_OK(text.status);
    assert_non_null(strstr(text.data, "\npada,3,done,0.641,,"));
    text.length = 0;
    pada_study_table_write_summary(&table, &text);
    assert_memory_equal(text.data, "run,tau_b,tau_b_sd,tau_b_seeds,tau_b_lo,", 40);
    assert_non_null(strstr(text.data, "\nnone,,,0,"));
    text.length = 0;
    pada_study_table_write_differences(&table, &text);
    assert_non_null(strstr(text.data, "\npada,spos,tau_b,2,0.06"));
    assert_null(strstr(text.data, "none"));
    pada_text_deinit(&text);
}

static void networks_alone_are_held_against_the_truth(void **state)
{
    static pada_study_run alone[] = {{.name = "a", .is_alone = true},
                                     {.name = "b", .is_alone = true},
                                     {.name = "supernet"},
                                     {.name = "not there", .is_alone = true},
                                     {.name = "no truth", .is_alone = true}};
    const pada_study_plan networks = {.runs = alone, .n_runs = 5};
    static const double tests[] = {93, 94, 90, 90, 90}, truths[] = {93, 93, 91, 10, NAN};
    static const int run_of[] = {0, 0, 1, 2, 4}; /* a has two seeds: 93.5 against 93 */
    pada_study_row rows[5];
    const pada_study_table table = {&networks, rows, 5};

    (void)state;
    for (int i = 0; i < 5; i++) {
        pada_study_row_init(&rows[i], run_of[i], (uint64_t)i);
        rows[i].values[PADA_STUDY_TEST_TOP1] = tests[i];
        rows[i].values[PADA_STUDY_FOUND_TRUTH] = truths[i];
    }
    pada_study_errors errors = pada_study_table_errors(&table);
    assert_int_equal(errors.n, 2);
    CHECK_CLOSE(errors.mean, -0.25, 1e-12);
    CHECK_CLOSE(errors.absolute, 0.75, 1e-12);
    CHECK_CLOSE(errors.largest, 1, 1e-12);
    errors = pada_study_table_errors(&(pada_study_table){&networks, rows, 0});
    assert_int_equal(errors.n, 0);
    assert_true(isnan(errors.mean) && isnan(errors.absolute) && isnan(errors.largest));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(means_are_over_seeds),
        cmocka_unit_test(differences_are_of_common_seeds),
        cmocka_unit_test(files_have_a_line_for_each),
        cmocka_unit_test(networks_alone_are_held_against_the_truth),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
