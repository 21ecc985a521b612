/* test_test_results.c - test.json and confusion.csv of a run: what is read of them, and what is refused. */
#include "study/test_results.h"

#include <math.h>

#include "base/scratch.h"
#include "check.h"

#define SHARE "{\"percent\": 50, \"low\": 20.5, \"high\": 79.5}"
#define CLASSES                                                                              \
    "[{\"class\": 0, \"name\": \"cat\", \"images\": 2, \"given\": 3, \"recall\": " SHARE     \
    ", \"precision\": " SHARE "}, {\"class\": 1, \"name\": null, \"images\": 1, \"given\": " \
    "0, \"recall\": " SHARE ", \"precision\": null}]"
#define ENDS \
    "\"top1_lo\": 1, \"top1_hi\": 2, \"top5\": 4.5, \"top5_lo\": 4, \"top5_hi\": 5, \"loss\": 6"
#define TEST(models) "{\"split\": \"test\", \"images\": 3, " models "}\n"
#define LAST         "\"last\": {\"top1\": 1.5, " ENDS ", \"classes\": " CLASSES "}"
#define BEST                           \
    "\"best\": {\"top1\": 1.75, " ENDS \
    ", \"chosen_on\": \"val\", \"chosen_top1\": 7, \"classes\": " CLASSES "}"
#define MATRIX "label,\"cat\",1\n\"cat\",2,0\n1,1,0\n"

/* NULL: no such file. */
static void put(const char *name, const char *text)
{
    assert_ok(pada_remove_tree(scratch_path(name)));
    if (text) scratch_write(scratch_path(name), text, strlen(text));
}

static void put_both(const char *test, const char *confusion)
{
    put(PADA_TEST_FILE, test);
    put(PADA_CONFUSION_FILE, confusion);
}

static void test_read(void **state)
{
    pada_test_results results = {0};

    (void)state;
    put_both(TEST(LAST ", " BEST), MATRIX);
    assert_ok(pada_test_results_read(&results, scratch_dir));
    assert_string_equal(results.split, "test");
    assert_int_equal(results.images, 3);
    assert_int_equal(results.n_models, 2);
    const pada_tested_model *model = pada_test_results_model(&results);
    assert_string_equal(model->name, "best");
    CHECK_CLOSE(model->top1.percent, 1.75, 0);
    CHECK_CLOSE(model->top1.high, 2, 0);
    CHECK_CLOSE(model->top5.low, 4, 0);
    CHECK_CLOSE(model->loss, 6, 0);
    assert_string_equal(model->chosen_on, "val");
    assert_true(isnan(results.models[0].chosen_top1));
    assert_int_equal(model->n_classes, 2);
    assert_string_equal(model->classes[0].name, "cat");
    assert_null(model->classes[1].name);
    assert_int_equal(model->classes[0].given, 3);
    CHECK_CLOSE(model->classes[0].recall.low, 20.5, 0);
    assert_true(isnan(model->classes[1].precision.percent));
    assert_int_equal(results.confusion[0], 2);
    assert_int_equal(results.confusion[2], 1);
    pada_test_results_deinit(&results);
}

static void test_missing(void **state)
{
    pada_test_results results = {0};

    (void)state;
    put_both(NULL, "nonsense");
    assert_ok(pada_test_results_read(&results, scratch_dir));
    assert_null(pada_test_results_model(&results));
    put_both(TEST(LAST), NULL);
    assert_ok(pada_test_results_read(&results, scratch_dir));
    assert_null(results.confusion);
    pada_test_results_deinit(&results);
    put_both(TEST("\"last\": {\"top1\": 1, " ENDS "}"), "nonsense"); /* of whom? */
    assert_ok(pada_test_results_read(&results, scratch_dir));
    assert_int_equal(results.n_models, 1);
    assert_null(results.confusion);
    pada_test_results_deinit(&results);
}

static void refuse(const char *test, const char *confusion, const char *message)
{
    pada_test_results results = {0};

    put_both(test, confusion);
    assert_int_equal(pada_test_results_read(&results, scratch_dir), PADA_EDATA);
    assert_non_null(strstr(pada_message(), message));
    pada_test_results_deinit(&results);
}

static void test_refused(void **state)
{
    (void)state;
    refuse("", NULL, "test.json:1: ");
    refuse("[]", NULL, "test.json: the value is not an object");
    refuse("{\"images\": 1}", NULL, "test.json: split is not a name");
    refuse("{\"split\": \"test\", \"images\": -1}", NULL, "images is not a number of images");
    refuse("{\"split\": \"test\", \"images\": 1}", NULL, "neither last nor best");
    refuse(TEST("\"last\": 3"), NULL, "last: the value is not an object");
    refuse(TEST("\"last\": {\"top1\": 100.5, " ENDS "}"), NULL,
           "last: top1 is not a share in percent");
    refuse(TEST("\"last\": {\"top1\": 2.5, " ENDS "}"), NULL,
           "last: top1 is not inside of its interval");
    refuse(TEST("\"best\": {\"top1\": \"1\", " ENDS "}"), NULL, "best: top1 is not a number");
    refuse(TEST("\"last\": {\"top1\": 1, " ENDS ", \"classes\": []}"), NULL,
           "last: classes is not a list of classes");
    refuse(TEST("\"last\": {\"top1\": 1, " ENDS ", \"classes\": [1]}"), NULL,
           "last: class 0: the entry is not an object");
    refuse(TEST(LAST), "", "confusion.csv: empty");
    refuse(TEST(LAST), "label,0,1\n0,2,0\n", "confusion.csv: 1 classes, test.json has 2");
    refuse(TEST(LAST), MATRIX "2,0,0\n", "confusion.csv:4: more than the 2 classes");
    refuse(TEST(LAST), "label,0,1\n0,2,1\n1,1,0\n",
           "confusion.csv:2: 3 images, test.json has 2 of this class");
    refuse(TEST(LAST), "label,0,1\n0,3,-1\n1,1,0\n", "confusion.csv:2: '-1' is not a number");
    refuse(TEST(LAST), "label,0,1\n0,1.5,0.5\n1,1,0\n", "confusion.csv:2: '1.5' is not a number");
    refuse(TEST(LAST), "label,0,1\n0,2\n1,1,0\n", "confusion.csv:2: ");
}

static pada_status read_once(void)
{
    pada_test_results results = {0};
    const pada_status st = pada_test_results_read(&results, scratch_dir);

    pada_test_results_deinit(&results);
    return st;
}

/* The example of Newcombe (1998): 56 of 70 against 48 of 80 is 0.2 [0.0524, 0.3339], by the Wilson intervals of both. */
static void test_difference(void **state)
{
    const pada_tested_share a = {80, 69.1759, 87.7282}, b = {60, 49.0434, 70.0388};
    double low, high;

    (void)state;
    pada_tested_difference(&a, &b, &low, &high);
    CHECK_CLOSE(low, 5.24, 0.01);
    CHECK_CLOSE(high, 33.39, 0.02);
    pada_tested_difference(&b, &a, &low, &high);
    CHECK_CLOSE(low, -33.39, 0.02);
    CHECK_CLOSE(high, -5.24, 0.01);
}

static void test_memory(void **state)
{
    (void)state;
    put_both(TEST(LAST), MATRIX);
    assert_survives_oom(read_once(), (void)0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read),    cmocka_unit_test(test_missing),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_difference),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
