/* test_path_list.c - which networks a list has, and what tables have in common. */
#include "base/scratch.h"

#include "space/nb201_cells.h"
#include "study/path_list.h"
#include "study/score_join.h"

#define SKIP_ALL                                                                       \
    "|skip_connect~0|+|skip_connect~0|skip_connect~1|+|skip_connect~0|skip_connect~1|" \
    "skip_connect~2|"
#define NONE_ALL "|none~0|+|none~0|none~1|+|none~0|none~1|none~2|"
#define POOL_ONE "|avg_pool_3x3~0|+|none~0|none~1|+|none~0|none~1|none~2|"

static const char *write_text(const char *name, const char *text)
{
    const char *path = scratch_path(name);

    scratch_write(path, text, strlen(text));
    return path;
}

static void test_all(void **state)
{
    static bool seen[N_CELLS];
    const pada_space space = nb201_space(NULL);
    pada_path_list list = {0};

    (void)state;
    assert_ok(pada_path_list_all(&list, &space, NULL));
    assert_int_equal(list.n, N_CELLS);
    for (int i = 0; i < list.n; i++)
        seen[cell_number(&list.paths[i])] = true;
    for (int i = 0; i < N_CELLS; i++)
        assert_true(seen[i]);
    pada_path_list_deinit(&list);
    pada_path_list_deinit(&list);
}

/* NAS-Bench-201 has 9,445 different live cells, NAS-Bench-Macro 3,969 different chains. */
static void test_distinct(void **state)
{
    pada_space spaces[] = {nb201_space(NULL), nb201_space(NULL)};
    const int counts[] = {9445, 3969};
    const pada_space_ops *macro;
    pada_path form;

    (void)state;
    assert_ok(pada_space_find(&macro, "macro"));
    assert_ok(pada_space_init(&spaces[1], macro, &(pada_space_config){0}));
    for (int s = 0; s < 2; s++) {
        pada_path_list list = {0};
        assert_ok(pada_path_list_choose(&list, &spaces[s], NULL, "distinct", NULL, 0));
        assert_int_equal(list.n, counts[s]);
        for (int i = 0; i < list.n; i++) {
            spaces[s].ops->canonical(&spaces[s], &list.paths[i], &form);
            assert_true(pada_path_equal(&spaces[s], &form, &list.paths[i]));
        }
        pada_path_list_deinit(&list);
    }
}

static void test_random(void **state)
{
    static int seen[N_CELLS];
    const pada_space space = nb201_space(NULL);
    pada_path_list list = {0}, shorter = {0}, other = {0};
    int n_same = 0;

    (void)state;
    assert_ok(
        pada_path_list_random(&list, &space, NULL, N_CELLS, 1)); /* the whole space, each once */
    for (int i = 0; i < list.n; i++)
        seen[cell_number(&list.paths[i])]++;
    for (int i = 0; i < N_CELLS; i++)
        assert_int_equal(seen[i], 1);
    assert_ok(pada_path_list_random(&shorter, &space, NULL, 100, 1));
    assert_ok(pada_path_list_random(&other, &space, NULL, 100, 2));
    assert_int_equal(shorter.n, 100);
    for (int i = 0; i < 100; i++) {
        assert_true(pada_path_equal(&space, &shorter.paths[i], &list.paths[i]));
        n_same += pada_path_equal(&space, &shorter.paths[i], &other.paths[i]);
    }
    assert_true(n_same < 5);
    pada_path_list_deinit(&list);
    pada_path_list_deinit(&shorter);
    pada_path_list_deinit(&other);
    assert_fails(pada_path_list_random(&list, &space, NULL, N_CELLS + 1, 1), PADA_EINVAL,
                 "a sample of 15626 networks is not in 1 to 15625");
    assert_int_equal(pada_path_list_random(&list, &space, NULL, 0, 1), PADA_EINVAL);
}

/* Of the networks of two operators on six edges there are 64. */
static void test_part(void **state)
{
    const pada_space space = nb201_space(NULL);
    pada_path_list list = {0}, random = {0};
    bool seen[64] = {0};
    pada_subspace part;

    (void)state;
    assert_ok(pada_subspace_parse(&part, &space, "skip_connect,nor_conv_3x3", "--ops"));
    assert_ok(pada_path_list_all(&list, &space, &part));
    assert_int_equal(list.n, 64);
    for (int i = 0; i < 64; i++) {
        int number = 0;
        for (int slot = 0; slot < 6; slot++)
            number = 2 * number + (list.paths[i].choice[slot] == 3);
        assert_true(pada_subspace_admits(&part, &space, &list.paths[i]));
        assert_int_equal(number, i); /* the last slot changes fastest */
    }
    assert_ok(pada_path_list_random(&random, &space, &part, 64, 1));
    for (int i = 0; i < 64; i++)
        for (int k = 0; k < 64; k++)
            seen[k] |= pada_path_equal(&space, &random.paths[i], &list.paths[k]);
    for (int k = 0; k < 64; k++)
        assert_true(seen[k]);
    pada_path_list_deinit(&random);
    assert_fails(pada_path_list_random(&random, &space, &part, 65, 1), PADA_EINVAL,
                 "a sample of 65 networks is not in 1 to 64");
    pada_path_list_deinit(&list);
    assert_ok(pada_path_list_all(&list, &space, NULL));
    assert_ok(pada_path_list_narrow(&list, &space, &part));
    assert_int_equal(list.n, 64);
    pada_path_list_deinit(&list);
}

/* Paths that leave slots out are there once: with one operator 180 ways to wire each of two cells. */
static void test_part_of_darts(void **state)
{
    const pada_space_ops *ops;
    pada_path_list list = {0};
    pada_subspace part;
    pada_space space;

    (void)state;
    assert_ok(pada_space_find(&ops, "darts"));
    assert_ok(pada_space_init(&space, ops, &(pada_space_config){0}));
    assert_ok(pada_subspace_parse(&part, &space, "sep_conv_3x3", "--ops"));
    assert_ok(pada_path_list_all(&list, &space, &part));
    assert_int_equal(list.n, 180 * 180);
    for (int i = 0; i < list.n; i += 100)
        assert_true(pada_subspace_admits(&part, &space, &list.paths[i]));
    pada_path_list_deinit(&list);
    assert_ok(pada_subspace_parse(&part, &space, "sep_conv_3x3,none", "--ops"));
    assert_int_equal(pada_path_list_all(&list, &space, &part), PADA_EINVAL); /* too many */
    assert_ok(pada_path_list_random(&list, &space, &part, 50, 1));
    assert_int_equal(list.n, 50);
    pada_path_list_deinit(&list);
}

static void test_files(void **state)
{
    const pada_space space = nb201_space(NULL);
    const char *file = write_text("list.txt", SKIP_ALL "\r\n\n  " NONE_ALL "  \n" POOL_ONE);
    pada_path_list list = {0};

    (void)state;
    assert_ok(pada_path_list_read(&list, &space, file, NULL, NULL));
    assert_int_equal(list.n, 3);
    assert_int_equal(list.paths[0].choice[5], PADA_NB201_SKIP);
    assert_int_equal(list.paths[1].choice[0], PADA_NB201_NONE);
    assert_int_equal(list.paths[2].choice[0], PADA_NB201_POOL);
    pada_path_list_deinit(&list);
    assert_ok(pada_path_list_read(
        &list, &space, write_text("list.txt", "\xef\xbb\xbf" SKIP_ALL "\r\n \r\n"), NULL, NULL));
    assert_int_equal(list.n, 1);
    pada_path_list_deinit(&list);
    assert_ok(pada_path_list_read(&list, &space, write_text("list.txt", "[4,2,1,2,1,1]\n"), "list",
                                  NULL));
    assert_int_equal(list.paths[0].choice[1], 2);
    pada_path_list_deinit(&list);
    /* A dialect for lines that could be several; messages are about the others. */
    assert_ok(pada_path_list_read(
        &list, &space, write_text("list.txt", SKIP_ALL "\n[4,2,1,2,1,1]\n"), NULL, "list"));
    assert_int_equal(list.n, 2);
    assert_int_equal(list.paths[1].choice[0], 4);
    pada_path_list_deinit(&list);
    assert_int_equal(
        pada_path_list_read(&list, &space, write_text("list.txt", "|nine~0|\n"), NULL, "list"),
        PADA_EDATA);
    assert_non_null(
        strstr(pada_message(), ":1: nb201 architecture, character 2: unknown operator"));
}

static void test_bad_files(void **state)
{
    static const struct {
        const char *text, *message;
    } bad[] = {
        {"", ": no architectures"},
        {"\n\n", ": no architectures"},
        {SKIP_ALL "\n|nine~0|\n", ":2: nb201 architecture, character 2: unknown operator"},
        {SKIP_ALL "\n\n" SKIP_ALL "\n", ":3: duplicate architecture"},
        {"[4,2,1,2,1,1]\n", ":1: "},
        {"\xff\xfe|", ": UTF-16 text; save it as CSV in UTF-8"},
    };
    const pada_space space = nb201_space(NULL);
    pada_path_list list = {0};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const char *file = write_text("list.txt", bad[i].text);
        assert_int_equal(pada_path_list_read(&list, &space, file, NULL, NULL), PADA_EDATA);
        assert_null(list.paths);
        if (!strstr(pada_message(), bad[i].message))
            fail_msg("'%s' does not contain '%s'", pada_message(), bad[i].message);
    }
    assert_int_equal(pada_path_list_read(&list, &space, scratch_path("none"), NULL, NULL),
                     PADA_ENOENT);
}

/* ---- what tables have in common ---- */

typedef struct tables {
    pada_score_table *truth, *scores[2];
    const double *values;
} tables;

static void open_tables(tables *t, const pada_space *space)
{
    const char *truth = write_text("truth.csv", "arch,a,b\n" SKIP_ALL ",1,10\n" NONE_ALL
                                                ",2,20\n" POOL_ONE ",3,30\n");
    const char *first = write_text("first.csv", "score,arch\n7," POOL_ONE "\n8," SKIP_ALL "\n");
    const char *second =
        write_text("second.csv", "arch,score\n" POOL_ONE ",5\n" NONE_ALL ",6\n" SKIP_ALL ",4\n");

    assert_ok(pada_score_table_open(&t->truth, space, truth));
    assert_ok(pada_score_table_open_column(&t->scores[0], space, first, "score"));
    assert_ok(pada_score_table_open_column(&t->scores[1], space, second, "score"));
    assert_ok(pada_score_table_column(t->truth, "b", &t->values));
}

static void close_tables(tables *t)
{
    pada_score_table_close(t->truth);
    pada_score_table_close(t->scores[0]);
    pada_score_table_close(t->scores[1]);
}

static void test_join(void **state)
{
    const pada_space space = nb201_space(NULL);
    pada_path_list list = {0};
    pada_score_join join;
    tables t;

    (void)state;
    open_tables(&t, &space);
    assert_ok(pada_score_join_init(&join, t.truth, t.values, t.scores, 2));
    assert_int_equal(join.n, 2); /* NONE_ALL is not in the first */
    assert_int_equal(join.rows[0], 0);
    assert_int_equal(join.rows[1], 2);
    assert_true(join.truths[0] == 10 && join.truths[1] == 30);
    assert_true(join.scores[0] == 8 && join.scores[1] == 7);
    assert_true(join.scores[2] == 4 && join.scores[3] == 5);
    pada_score_join_deinit(&join);

    assert_ok(pada_path_list_truth(&list, t.truth));
    assert_int_equal(list.n, 3);
    assert_int_equal(list.paths[2].choice[0], PADA_NB201_POOL);
    pada_path_list_deinit(&list);
    close_tables(&t);
}

static pada_status join_afresh(tables *t)
{
    pada_score_join join;
    const pada_status st = pada_score_join_init(&join, t->truth, t->values, t->scores, 2);

    pada_score_join_deinit(&join);
    return st;
}

static void test_oom(void **state)
{
    const char *file = write_text("list.txt", SKIP_ALL "\n" NONE_ALL "\n");
    const pada_space space = nb201_space(NULL);
    pada_path_list list = {0};
    tables t;

    (void)state;
    assert_survives_oom(pada_path_list_read(&list, &space, file, NULL, NULL),
                        pada_path_list_deinit(&list));
    assert_survives_oom(pada_path_list_all(&list, &space, NULL), pada_path_list_deinit(&list));
    assert_survives_oom(pada_path_list_random(&list, &space, NULL, 5, 1),
                        pada_path_list_deinit(&list));
    open_tables(&t, &space);
    assert_survives_oom(pada_path_list_truth(&list, t.truth), pada_path_list_deinit(&list));
    assert_survives_oom(join_afresh(&t), (void)0);
    close_tables(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all),           cmocka_unit_test(test_distinct),
        cmocka_unit_test(test_random),        cmocka_unit_test(test_part),
        cmocka_unit_test(test_part_of_darts), cmocka_unit_test(test_files),
        cmocka_unit_test(test_bad_files),     cmocka_unit_test(test_join),
        cmocka_unit_test(test_oom),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
