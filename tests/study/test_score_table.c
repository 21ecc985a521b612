/* test_score_table.c - truth tables: the published one, small good ones, all kinds of bad. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/mem.h"
#include "space/nb201_cells.h"
#include "study/score_table.h"

#define SKIP_ALL                                                                       \
    "|skip_connect~0|+|skip_connect~0|skip_connect~1|+|skip_connect~0|skip_connect~1|" \
    "skip_connect~2|"
#define NONE_ALL "|none~0|+|none~0|none~1|+|none~0|none~1|none~2|"
#define POOL_ONE "|avg_pool_3x3~0|+|none~0|none~1|+|none~0|none~1|none~2|"

static char file_name[] = "/tmp/pada-truth-XXXXXX";

static int make_file(void **state)
{
    const int fd = mkstemp(file_name);

    (void)state;
    return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(file_name);
}

static pada_status open_bytes(pada_score_table **truth, const char *text, size_t n)
{
    const pada_space space = nb201_space(NULL);

    assert_int_equal(pada_file_replace(file_name, text, n), PADA_OK);
    return pada_score_table_open(truth, &space, file_name);
}

static pada_status open_text(pada_score_table **truth, const char *text)
{
    return open_bytes(truth, text, strlen(text));
}

static void check_small(const char *text)
{
    const pada_path none = cell_at(0), other = cell_at(1);
    const double *values;
    pada_score_table *truth;

    if (open_text(&truth, text) != PADA_OK) fail_msg("%s", pada_message());
    assert_int_equal(pada_score_table_count(truth), 2);
    assert_int_equal(pada_score_table_n_columns(truth), 2);
    assert_string_equal(pada_score_table_column_name(truth, 0), "cifar10");
    assert_string_equal(pada_score_table_column_name(truth, 1), "cifar100");
    assert_int_equal(pada_score_table_column(truth, "cifar100", &values), PADA_OK);
    assert_float_equal(values[0], 2.5, 0);
    assert_float_equal(values[1], -4, 0);
    assert_int_equal(pada_score_table_column(truth, "cifar10", &values), PADA_OK);
    assert_float_equal(values[1], 30, 0);
    assert_int_equal(pada_score_table_row(truth, &none), 1);
    assert_int_equal(pada_score_table_row(truth, &other), -1);
    assert_int_equal(pada_score_table_path(truth, 0)->choice[5], PADA_NB201_SKIP);
    pada_score_table_close(truth);
}

static void test_small_tables(void **state)
{
    (void)state;
    check_small("arch,cifar10,cifar100\n" SKIP_ALL ",1,2.5\n" NONE_ALL ",3e1,-4\n");
    check_small("cifar10,arch,cifar100\n1," SKIP_ALL ",2.5\n3e1," NONE_ALL
                ",-4"); /* no last newline */
    check_small("arch,cifar10,cifar100\r\n" SKIP_ALL ",1,2.5\r\n" NONE_ALL ",30,-4\r\n");
}

/* What LibreOffice, Excel and data frames write. */
static void test_tables_of_spreadsheets(void **state)
{
    (void)state;
    check_small("\xef\xbb\xbf"
                "arch;cifar10;cifar100\r\n" SKIP_ALL ";1;2,5\r\n" NONE_ALL ";3e1;-4,0\r\n");
    check_small("arch\tcifar10\tcifar100\n" SKIP_ALL "\t1\t2.5\n" NONE_ALL "\t30\t-4\n");
    check_small("\"arch\",\"cifar10\",\"cifar100\"\n\"" SKIP_ALL "\",\"1\",2.5\n" NONE_ALL
                ",\"30\",\"-4\"");
    check_small("\n\r\narch;cifar10;cifar100\n\n" SKIP_ALL ";1;2.5\n;;\n" NONE_ALL
                ";30;-4\n \t\n;;\n\n");
}

/* Quotes hold separators and quotes, in names of columns too. */
static void test_quoted_names(void **state)
{
    pada_score_table *truth;

    (void)state;
    assert_int_equal(open_text(&truth, "arch,\"a;b, \"\"c\"\"\",\"\t\"\n" SKIP_ALL ",1,2\n"),
                     PADA_OK);
    assert_int_equal(pada_score_table_n_columns(truth), 2);
    assert_string_equal(pada_score_table_column_name(truth, 0), "a;b, \"c\"");
    pada_score_table_close(truth);
}

/* Room is made for networks, not for lines: 4 MB of newlines, and of one network. */
static void test_long_files_take_no_room(void **state)
{
    enum { BYTES = 4 << 20, ROWS = 20000 };
    static const char head[] = "arch,a\n" SKIP_ALL ",1\n", row[] = NONE_ALL ",1\n";
    pada_score_table *truth;
    char *text = malloc(BYTES);

    (void)state;
    assert_non_null(text);
    memset(text, '\n', BYTES);
    memcpy(text, head, sizeof head - 1);
    assert_int_equal(open_bytes(&truth, text, BYTES), PADA_OK);
    assert_int_equal(pada_score_table_count(truth), 1);
    pada_score_table_close(truth);
    size_t n = sizeof head - 1;
    for (int i = 0; i < ROWS; i++, n += sizeof row - 1)
        memcpy(text + n, row, sizeof row - 1);
    assert_int_equal(open_bytes(&truth, text, n), PADA_EDATA);
    assert_non_null(strstr(pada_message(), ":4: the architecture of line 3 again"));
    free(text);
}

/* All networks, and one of them again. */
static void test_more_rows_than_networks(void **state)
{
    const pada_space space = nb201_space(NULL);
    pada_text text = {0};
    pada_score_table *truth;

    (void)state;
    pada_text_add(&text, "a,arch\n");
    for (int i = 0; i <= N_CELLS; i++) {
        const pada_path cell = cell_at(i % N_CELLS);

        pada_text_add(&text, "%d,", i);
        assert_int_equal(space.ops->format(&space, &cell, space.ops->dialects[0], &text), PADA_OK);
        pada_text_add(&text, "\n");
    }
    assert_int_equal(open_text(&truth, pada_text_str(&text)), PADA_EDATA);
    assert_non_null(strstr(pada_message(), ":15627: the architecture of line 2 again"));
    pada_text_deinit(&text);
}

static void test_unknown_column_offers_the_nearest(void **state)
{
    const double *values;
    pada_score_table *truth;

    (void)state;
    assert_int_equal(open_text(&truth, "arch,cifar10,imagenet16\n" SKIP_ALL ",1,2\n"), PADA_OK);
    assert_int_equal(pada_score_table_column(truth, "imagnet16", &values), PADA_EINVAL);
    assert_null(values);
    assert_non_null(strstr(pada_message(), "did you mean 'imagenet16'"));
    assert_int_equal(pada_score_table_column(truth, "arch", &values), PADA_EINVAL);
    pada_score_table_close(truth);
}

/* One column of a file whose others are anything. */
static void test_one_column(void **state)
{
    static const char text[] = "note,score,arch,loss\nfirst,"
                               "1.5," SKIP_ALL ",nan\n,-2," NONE_ALL ",x\n";
    const pada_space space = nb201_space(NULL);
    const double *values;
    pada_score_table *truth;

    (void)state;
    assert_int_equal(open_text(&truth, text), PADA_EDATA);
    assert_int_equal(pada_score_table_open_column(&truth, &space, file_name, "score"), PADA_OK);
    assert_int_equal(pada_score_table_count(truth), 2);
    assert_int_equal(pada_score_table_n_columns(truth), 1);
    assert_string_equal(pada_score_table_column_name(truth, 0), "score");
    assert_int_equal(pada_score_table_column(truth, "score", &values), PADA_OK);
    assert_float_equal(values[0], 1.5, 0);
    assert_float_equal(values[1], -2, 0);
    assert_int_equal(pada_score_table_path(truth, 0)->choice[5], PADA_NB201_SKIP);
    pada_score_table_close(truth);
    assert_int_equal(pada_score_table_open_column(&truth, &space, file_name, "scores"), PADA_EDATA);
    assert_non_null(strstr(pada_message(), ":1: no column is called 'scores'"));
    assert_int_equal(pada_score_table_open_column(&truth, &space, file_name, "loss"), PADA_EDATA);
    assert_non_null(strstr(pada_message(), ":2: loss: 'nan' is not a number"));
    assert_int_equal(pada_score_table_open_column(&truth, &space, file_name, "arch"), PADA_EDATA);
    assert_null(truth);
}

static void test_bad_files_are_refused_with_the_line(void **state)
{
    static const struct {
        const char *text, *message;
    } bad[] = {
        {"", ": the file is empty"},
        {"\n", ": the file is empty"},
        {"\xff\xfe"
         "a",
         ": UTF-16 text; save it as CSV in UTF-8"},
        {"arch,a\n", ": no rows"},
        {"arch\n" SKIP_ALL "\n", ":1: no column of values"},
        {"name,a\n" SKIP_ALL ",1\n", ":1: no column is called 'arch'"},
        {"arch,a,a\n" SKIP_ALL ",1,1\n", ":1: two columns are called 'a'"},
        {"arch,a,arch\n" SKIP_ALL ",1,1\n", ":1: two columns are called 'arch'"},
        {"arch,,b\n" SKIP_ALL ",1,1\n", ":1: column 2 has no name"},
        {"arch,a\n" SKIP_ALL "\n", ":2: too few columns"},
        {"arch,a\n" SKIP_ALL ",1,2\n", ":2: too many columns"},
        {"arch,a\n" SKIP_ALL ",1,\n", ":2: too many columns"},
        {"arch,a\n" SKIP_ALL ",\n", ":2: a: '' is not a number"},
        {"arch,a\n" SKIP_ALL ",nan\n", ":2: a: 'nan' is not a number"},
        {"arch,a\n" SKIP_ALL ",inf\n", ":2: a: 'inf' is not a number"},
        {"arch,a\n" SKIP_ALL ",1e999\n", ":2: a: 1e999"},
        {"arch,a\n" SKIP_ALL ", 1\n", ":2: a: ' 1' is not a number"},
        {"arch,a\n" SKIP_ALL ",1x\n", ":2: a: '1x' is not a number"},
        {"arch,a\n" SKIP_ALL ",1\n" NONE_ALL ",1\n" SKIP_ALL ",2\n",
         ":4: the architecture of line 2 again"},
        {"arch,a\n\n" SKIP_ALL ",1\n" NONE_ALL ",1\n\n" SKIP_ALL ",2\n",
         ":6: the architecture of line 3 again"},
        {"arch,a\n" SKIP_ALL ",\"1,5\"\n", ":2: a: '1,5' is not a number"}, /* 1.5 or 15? */
        {"arch;a\n" SKIP_ALL ";1.234,5\n", ":2: a: '1.234,5' is not a number"},
        {"arch;a\n" SKIP_ALL ",1\n", ":2: nb201 architecture, character "},
        {"arch|a\n" SKIP_ALL "|1\n", ":1: no column is called 'arch'"},
        {"arch,a\n\"" SKIP_ALL ",1\n", ":2: a quote that is not closed on its line"},
        {"arch,a\n\"" SKIP_ALL "\"x,1\n", ":2: text after the closing quote of a field"},
        {"arch,a\n|nine~0|,1\n", ":2: nb201 architecture, character 2: unknown operator 'nine'"},
        {"arch,a\n[1;1;1;1;1;1],1\n", ":2: nb201 architecture, character 1"},
    };
    const int64_t live = pada_mem_live();

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        pada_score_table *truth;

        if (open_text(&truth, bad[i].text) != PADA_EDATA) fail_msg("accepted: %s", bad[i].text);
        assert_null(truth);
        assert_ptr_equal(strstr(pada_message(), file_name), pada_message());
        if (!strstr(pada_message(), bad[i].message))
            fail_msg("'%s' does not contain '%s'", pada_message(), bad[i].message);
    }
    assert_int_equal(pada_mem_live(), live);
}

static void test_zero_bytes_and_long_fields_are_refused(void **state)
{
    const char zero[] = "arch,a\n" SKIP_ALL "\0,1\n";
    char longer[4096];
    pada_score_table *truth;

    (void)state;
    assert_int_equal(open_bytes(&truth, zero, sizeof zero - 1), PADA_EDATA);
    assert_non_null(strstr(pada_message(), ":2: a zero byte"));
    memset(longer, 'x', sizeof longer);
    memcpy(longer, "arch,", 5);
    assert_int_equal(open_bytes(&truth, longer, sizeof longer), PADA_EDATA);
    assert_non_null(strstr(pada_message(), ":1: a field of 4091 characters"));
}

static void test_missing_file(void **state)
{
    const pada_space space = nb201_space(NULL);
    pada_score_table *truth;

    (void)state;
    assert_int_equal(pada_score_table_open(&truth, &space, "/nonexistent/truth.csv"), PADA_ENOENT);
    assert_null(truth);
    pada_score_table_close(NULL);
}

static void test_lack_of_memory_leaves_nothing_behind(void **state)
{
    const char *text = "arch,a\n" SKIP_ALL ",1\n" NONE_ALL ",1\n" POOL_ONE ",2\n";
    const pada_space space = nb201_space(NULL);
    pada_status st = PADA_ENOMEM;
    pada_score_table *truth;
    int n = 0;

    (void)state;
    assert_int_equal(pada_file_replace(file_name, text, strlen(text)), PADA_OK);
    const int64_t live = pada_mem_live();
    for (; st != PADA_OK; n++) {
        pada_mem_fail_after(n);
        st = pada_score_table_open(&truth, &space, file_name);
        pada_mem_fail_after(-1);
        if (st == PADA_OK) break;
        assert_int_equal(st, PADA_ENOMEM);
        assert_null(truth);
        assert_int_equal(pada_mem_live(), live);
    }
    assert_true(n >= 6); /* the object, names, paths, slots, lines, values */
    pada_score_table_close(truth);
    assert_int_equal(pada_mem_live(), live);
}

static void test_from_memory(void **state)
{
    const char *text = "arch,a,b\n" SKIP_ALL ",1,x\n";
    const pada_space space = nb201_space(NULL);
    const double *values;
    pada_score_table *truth;

    (void)state;
    assert_int_equal(pada_score_table_read(&truth, &space, "memory", text, strlen(text), NULL),
                     PADA_EDATA);
    assert_null(truth);
    assert_string_equal(pada_message(), "memory:2: b: 'x' is not a number");
    assert_int_equal(pada_score_table_read(&truth, &space, "memory", text, strlen(text), "a"),
                     PADA_OK);
    assert_int_equal(pada_score_table_column(truth, "a", &values), PADA_OK);
    assert_float_equal(values[0], 1, 0);
    pada_score_table_close(truth);
    assert_int_equal(pada_score_table_read(&truth, &space, "memory", NULL, 0, NULL), PADA_EDATA);
}

/* The table in the program: enough networks, the corners of the space, means of the trainings. */
static void test_builtin_table(void **state)
{
    const pada_space space = nb201_space(NULL);
    const double *mean, *seeds[3];
    pada_score_table *truth;
    double low = 100, high = 0;

    (void)state;
    if (pada_score_table_open(&truth, &space, PADA_TRUTH_BUILTIN) != PADA_OK)
        fail_msg("%s", pada_message());
    const int n = pada_score_table_count(truth);
    assert_true(n >= 200);
    assert_int_equal(pada_score_table_n_columns(truth), 4);
    assert_int_equal(pada_score_table_column(truth, "builtin", &mean), PADA_OK);
    assert_int_equal(pada_score_table_column(truth, "builtin_0", &seeds[0]), PADA_OK);
    assert_int_equal(pada_score_table_column(truth, "builtin_1", &seeds[1]), PADA_OK);
    assert_int_equal(pada_score_table_column(truth, "builtin_2", &seeds[2]), PADA_OK);
    for (int op = 0; op < PADA_NB201_OPS; op++) {
        pada_path all = {{0}};
        memset(all.choice, op, PADA_NB201_EDGES);
        assert_true(pada_score_table_row(truth, &all) >= 0);
    }
    for (int i = 0; i < n; i++) {
        pada_path form;
        pada_nb201_canonical(pada_score_table_path(truth, i), &form);
        if (cell_number(&form) == 0) assert_float_equal(mean[i], 10, 0); /* ten classes */
        assert_float_equal(mean[i], (seeds[0][i] + seeds[1][i] + seeds[2][i]) / 3, 1e-4);
        low = mean[i] < low ? mean[i] : low;
        high = mean[i] > high ? mean[i] : high;
    }
    assert_true(high - low > 50);
    pada_score_table_close(truth);
}

static void test_column_names(void **state)
{
    static const struct {
        const char *data, *column;
    } names[] = {{"CIFAR-10", "cifar10"}, {"ImageNet16-120", "imagenet16120"},
                 {"builtin", "builtin"},  {"My cats, 2nd try", "mycats2ndtry"},
                 {"--", "accuracy"},      {"", "accuracy"},
                 {"Arch", "accuracy"}};
    char column[PADA_TRUTH_NAME], longest[200];

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        pada_truth_column_of(names[i].data, column);
        assert_string_equal(column, names[i].column);
    }
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    pada_truth_column_of(longest, column);
    assert_int_equal(strlen(column), PADA_TRUTH_NAME - 1);
}

/* methods.md 2.2: facts about the published table. */
static void test_published_table(void **state)
{
    static const uint8_t first[] = {4, 2, 1, 2, 1, 1}, second[] = {3, 3, 4, 1, 3, 1};
    const pada_space space = nb201_space(NULL);
    const char *source = getenv("PADA_SOURCE");
    int n_chance = 0, n_dead = 0;
    const double *values;
    pada_score_table *truth;
    char path[4096];

    (void)state;
    snprintf(path, sizeof path, "%s/../shared/data/nb201/truth.csv", source ? source : ".");
    if (!pada_path_exists(path)) {
        print_message("%s is not there\n", path);
        skip();
    }
    if (pada_score_table_open(&truth, &space, path) != PADA_OK) fail_msg("%s", pada_message());
    assert_int_equal(pada_score_table_count(truth), N_CELLS);
    assert_memory_equal(pada_score_table_path(truth, 0)->choice, first, sizeof first);
    assert_memory_equal(pada_score_table_path(truth, 1)->choice, second, sizeof second);
    assert_int_equal(pada_score_table_column(truth, "cifar10", &values), PADA_OK);
    assert_float_equal(values[0], 85.86, 1e-9);
    for (int row = 0; row < N_CELLS; row++) {
        const pada_path cell = cell_at(row);
        pada_path form;

        assert_int_equal(pada_score_table_row(truth, pada_score_table_path(truth, row)), row);
        assert_true(pada_score_table_row(truth, &cell) >= 0);
        pada_nb201_canonical(pada_score_table_path(truth, row), &form);
        n_dead += cell_number(&form) == 0 && values[row] == 10.0;
        n_chance += values[row] == 10.0;
    }
    assert_int_equal(n_chance, 341); /* exactly the cells with no live path */
    assert_int_equal(n_dead, 341);
    pada_score_table_close(truth);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_tables),
        cmocka_unit_test(test_tables_of_spreadsheets),
        cmocka_unit_test(test_quoted_names),
        cmocka_unit_test(test_long_files_take_no_room),
        cmocka_unit_test(test_more_rows_than_networks),
        cmocka_unit_test(test_unknown_column_offers_the_nearest),
        cmocka_unit_test(test_one_column),
        cmocka_unit_test(test_bad_files_are_refused_with_the_line),
        cmocka_unit_test(test_zero_bytes_and_long_fields_are_refused),
        cmocka_unit_test(test_missing_file),
        cmocka_unit_test(test_lack_of_memory_leaves_nothing_behind),
        cmocka_unit_test(test_from_memory),
        cmocka_unit_test(test_builtin_table),
        cmocka_unit_test(test_column_names),
        cmocka_unit_test(test_published_table),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
