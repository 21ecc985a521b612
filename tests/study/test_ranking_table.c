/* test_ranking_table.c - the order of networks, what is one network, digits, intervals and costs. */
#include "base/scratch.h"

#include <math.h>

#include "check.h"
#include "space/nb201_cells.h"
#include "study/ranking_table.h"

enum { N = 7 };

/* conv, and the same with an edge that leads nowhere; a dead cell in two ways; skip; two others. */
static const pada_path conv = {{0, 0, 0, 3, 0, 0}}, conv_copy = {{3, 0, 0, 3, 0, 0}},
                       dead = {{0, 0, 0, 0, 0, 0}}, dead_copy = {{3, 3, 3, 0, 0, 0}},
                       skip_cell = {{0, 0, 0, 1, 0, 0}}, pool = {{0, 0, 0, 4, 0, 0}},
                       point = {{0, 0, 0, 2, 0, 0}};

static pada_space space;

static int setup(void **state)
{
    space = nb201_space(
        &(pada_space_config){.channels = 4, .cells = 1, .classes = 10, .image_size = 16});
    return scratch_setup(state);
}

static pada_status make_table(pada_ranking_table *table, int n_images)
{
    const pada_ranking_entry entries[N] = {
        {.path = dead_copy, .correct = 10, .loss = 2.3},
        {.path = conv_copy, .correct = 60, .loss = 1.5, .supernet = 4},
        {.path = skip_cell, .correct = 50, .loss = 1.9},
        {.path = dead, .correct = 10, .loss = 2.3, .extra = true},
        {.path = pool, .correct = 50, .loss = 1.7},
        {.path = conv, .correct = 60, .loss = 1.5},
        {.path = point, .correct = 60, .loss = 1.6},
    };

    return pada_ranking_table_init(table, &space, entries, N, n_images);
}

static void check_row(const pada_ranking_table *t, int row, const pada_path *path, int rank,
                      int ties, int same_as, int n_copies)
{
    const pada_ranking_row *r = &t->rows[row];
    pada_cost cost;

    assert_true(pada_path_equal(&space, &r->path, path));
    assert_int_equal(r->rank, rank);
    assert_int_equal(r->ties, ties);
    assert_int_equal(r->same_as, same_as);
    assert_int_equal(r->n_copies, n_copies);
    pada_space_cost(&space, path, &cost);
    assert_int_equal(r->cost.macs, cost.macs);
    assert_int_equal(r->cost.params, cost.params);
}

/* Distinct ones best first, of equal scores the lower loss; ties share a rank; copies come last. */
static void test_order(void **state)
{
    pada_ranking_table t;

    (void)state;
    assert_ok(make_table(&t, 120));
    assert_int_equal(t.n, N);
    assert_int_equal(t.n_distinct, 5);
    check_row(&t, 0, &conv, 1, 2, -1, 1);
    check_row(&t, 1, &point, 1, 2, -1, 0);
    check_row(&t, 2, &pool, 3, 2, -1, 0);
    check_row(&t, 3, &skip_cell, 3, 2, -1, 0);
    check_row(&t, 4, &dead, 5, 1, -1, 1);
    check_row(&t, 5, &conv_copy, 1, 2, 0, 0);
    check_row(&t, 6, &dead_copy, 5, 1, 4, 0);
    assert_true(t.rows[0].cost.macs < t.rows[5].cost.macs); /* the edge that leads nowhere costs */
    assert_true(t.rows[4].extra);
    assert_int_equal(t.rows[5].supernet, 4);
    pada_ranking_table_deinit(&t);
}

/* Without its own form, the first of the copies stands for a network; one with another result is another. */
static void test_copies_alone(void **state)
{
    const pada_path third = {{4, 0, 0, 3, 0, 0}};
    const pada_ranking_entry entries[] = {
        {.path = third, .correct = 5, .loss = 1},
        {.path = conv_copy, .correct = 5, .loss = 1},
        {.path = conv, .correct = 5, .loss = 2},
    };
    pada_ranking_table t;

    (void)state;
    assert_ok(pada_ranking_table_init(&t, &space, entries, 3, 10));
    assert_int_equal(t.n_distinct, 2);
    check_row(&t, 0, &conv_copy, 1, 2, -1, 1);
    check_row(&t, 1, &conv, 1, 2, -1, 0);
    check_row(&t, 2, &third, 1, 2, 0, 0);
    pada_ranking_table_deinit(&t);
}

/* Every count of correct images has a score of its own, with no more digits than that takes. */
static void test_digits(void **state)
{
    static const struct {
        int n_images, decimals;
    } cases[] = {{1, 1},    {8, 1},     {120, 1},   {999, 1},  {1000, 1},
                 {1001, 2}, {10000, 2}, {10001, 3}, {45000, 3}};

    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const int n = cases[k].n_images;
        char before[32] = "", digits[32];

        for (int correct = 0; correct <= n; correct += n > 2000 && correct < n - 60 ? 50 : 1) {
            for (int i = 0; i < 2 && correct + i <= n; i++) {
                const pada_ranking_entry entry = {.path = conv, .correct = correct + i};
                pada_ranking_table t;

                assert_ok(pada_ranking_table_init(&t, &space, &entry, 1, n));
                assert_int_equal(t.decimals, cases[k].decimals);
                snprintf(digits, sizeof digits, "%.*f", t.decimals, t.rows[0].score);
                CHECK_CLOSE(strtod(digits, NULL), t.rows[0].score, 1e-12);
                CHECK_CLOSE(t.rows[0].score, 100.0 * (correct + i) / n,
                            0.5000001 * pow(10, -t.decimals));
                if (i == 1) assert_string_not_equal(digits, before);
                snprintf(before, sizeof before, "%s", digits);
                pada_ranking_table_deinit(&t);
            }
        }
    }
}

/* Numbers of Wilson's formula, worked out in another program. */
static void test_intervals(void **state)
{
    static const struct {
        int correct, n;
        double low, high;
    } cases[] = {{0, 10, 0, 27.7533},
                 {10, 10, 72.2467, 100},
                 {5, 10, 23.6593, 76.3407},
                 {102, 120, 77.5325, 90.2962},
                 {500, 1000, 46.9070, 53.0930}};
    double low, high;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pada_wilson_interval(cases[i].correct, cases[i].n, &low, &high);
        CHECK_CLOSE(low, cases[i].low, 1e-3);
        CHECK_CLOSE(high, cases[i].high, 1e-3);
    }
}

static void test_file(void **state)
{
    static const char start[] =
        "arch,score,score_lo,score_hi,rank,ties,correct,images,loss,macs,params,same_as\n"
        "|none~0|+|none~0|none~1|+|nor_conv_3x3~0|none~1|none~2|,50.0,41.2,58.8,1,2,60,120,1.5,";
    static const char copy[] =
        "\n|nor_conv_3x3~0|+|none~0|none~1|+|nor_conv_3x3~0|none~1|none~2|,50.0,41.2,58.8,1,2,60,120,"
        "1.5,";
    static const char same_as[] = ",|none~0|+|none~0|none~1|+|nor_conv_3x3~0|none~1|none~2|\n";
    pada_ranking_table t;
    pada_text text = {0};

    (void)state;
    assert_ok(make_table(&t, 120));
    assert_ok(pada_ranking_table_write(&t, &(pada_ranking_extras){.supernets = false}, &text));
    assert_int_equal(strncmp(text.data, start, sizeof start - 1), 0);
    const char *line = strstr(text.data, copy);
    assert_non_null(line);
    const char *end = strchr(line + 1, '\n') + 1;
    assert_int_equal(strncmp(end - (sizeof same_as - 1), same_as, sizeof same_as - 1), 0);
    pada_text_deinit(&text);
    text = (pada_text){0};
    assert_ok(pada_ranking_table_write(&t, &(pada_ranking_extras){.supernets = true}, &text));
    assert_non_null(strstr(text.data, "same_as,supernet\n"));
    assert_non_null(strstr(text.data, "|none~2|,4\n"));
    pada_text_deinit(&text);
    pada_ranking_table_deinit(&t);
}

/* A file that is read again makes the same table. */
static void test_read_again(void **state)
{
    pada_ranking_table t, again;
    pada_text text = {0};
    pada_score_table *scores;
    int n_images;

    (void)state;
    assert_ok(make_table(&t, 120));
    assert_ok(pada_ranking_table_write(&t, &(pada_ranking_extras){.supernets = false}, &text));
    scratch_write(scratch_path("ranking.csv"), text.data, text.length);
    assert_ok(pada_ranking_n_images(scratch_path("ranking.csv"), &space, &n_images));
    assert_int_equal(n_images, 120);
    assert_ok(pada_score_table_open_column(&scores, &space, scratch_path("ranking.csv"), "score"));
    assert_ok(pada_ranking_table_from_scores(&again, &space, scores, n_images));
    assert_int_equal(again.n, t.n);
    assert_int_equal(again.n_distinct, t.n_distinct);
    for (int i = 0; i < t.n; i++) {
        check_row(&again, i, &t.rows[i].path, t.rows[i].rank, t.rows[i].ties, t.rows[i].same_as,
                  t.rows[i].n_copies);
        assert_int_equal(again.rows[i].correct, t.rows[i].correct);
        CHECK_CLOSE(again.rows[i].score, t.rows[i].score, 0);
        CHECK_CLOSE(again.rows[i].low, t.rows[i].low, 0);
        CHECK_CLOSE(again.rows[i].high, t.rows[i].high, 0);
    }
    pada_score_table_close(scores);
    pada_ranking_table_deinit(&again);
    pada_ranking_table_deinit(&t);
    pada_text_deinit(&text);
}

/* Scores of others: as they are, without intervals; equal ones in the order of the file. */
static void test_scores_of_others(void **state)
{
    static const char text[] = "arch,score\n"
                               "|none~0|+|none~0|none~1|+|skip_connect~0|none~1|none~2|,-3.25\n"
                               "|nor_conv_3x3~0|+|none~0|none~1|+|nor_conv_3x3~0|none~1|none~2|,7\n"
                               "|none~0|+|none~0|none~1|+|none~0|none~1|none~2|,7\n"
                               "|none~0|+|none~0|none~1|+|nor_conv_3x3~0|none~1|none~2|,7\n";
    pada_ranking_table t;
    pada_score_table *scores;
    int n_images;

    (void)state;
    scratch_write(scratch_path("scores.csv"), text, sizeof text - 1);
    assert_ok(pada_ranking_n_images(scratch_path("scores.csv"), &space, &n_images));
    assert_int_equal(n_images, 0);
    assert_int_equal(pada_ranking_n_images(scratch_path("none.csv"), &space, &n_images),
                     PADA_ENOENT);
    assert_ok(pada_score_table_open_column(&scores, &space, scratch_path("scores.csv"), "score"));
    for (int images = 0; images <= 50; images += 50) { /* negative scores are no shares of images */
        assert_ok(pada_ranking_table_from_scores(&t, &space, scores, images));
        assert_int_equal(t.n_images, 0);
        check_row(&t, 0, &conv, 1, 2, -1, 1);
        check_row(&t, 1, &dead, 1, 2, -1, 0);
        check_row(&t, 2, &skip_cell, 3, 1, -1, 0);
        check_row(&t, 3, &conv_copy, 1, 2, 0, 0);
        CHECK_CLOSE(t.rows[2].score, -3.25, 0);
        assert_true(isnan(t.rows[0].low) && isnan(t.rows[0].high) && isnan(t.rows[0].loss));
        pada_ranking_table_deinit(&t);
    }
    assert_survives_oom(pada_ranking_table_from_scores(&t, &space, scores, 0),
                        pada_ranking_table_deinit(&t));
    pada_score_table_close(scores);
}

static void test_oom(void **state)
{
    pada_ranking_table t;

    (void)state;
    assert_survives_oom(make_table(&t, 120), pada_ranking_table_deinit(&t));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_copies_alone),
        cmocka_unit_test(test_digits),
        cmocka_unit_test(test_intervals),
        cmocka_unit_test(test_file),
        cmocka_unit_test(test_read_again),
        cmocka_unit_test(test_scores_of_others),
        cmocka_unit_test(test_oom),
    };
    return cmocka_run_group_tests(tests, setup, scratch_teardown);
}
