/* test_class_report.c - reports by class against numbers that were counted by hand. */
#include "base/scratch.h"

#include "check.h"
#include "study/class_report.h"

enum { CLASSES = 6 };

/* Eight images: label, and the class that gets the largest logit; ties go to the first class. */
static const int32_t labels[8] = {0, 0, 0, 1, 1, 2, 2, 4};
static const float logits[8][CLASSES] = {
    {5, 1, 0, 0, 0, 0}, /* 0: right */
    {5, 1, 0, 0, 0, 0}, /* 0: right */
    {1, 5, 0, 0, 0, 0}, /* 0 given 1, second */
    {0, 5, 0, 0, 0, 0}, /* 1: right */
    {3, 3, 0, 0, 0, 0}, /* 1 given 0: a tie, the first one has it */
    {9, 8, 1, 7, 6, 5}, /* 2 given 0, sixth: not among the best five */
    {0, 1, 2, 0, 0, 0}, /* 2: right */
    {2, 1, 0, 0, 0, 0}, /* 4 given 0; tied with 2, 3 and 5, fifth */
};
static const char *const names[CLASSES] = {"cat", "a \"dog\", big", NULL, "x", "y", "z"};

static pada_class_report *make_report(void)
{
    pada_class_report *r;

    assert_ok(pada_class_report_create(&r, CLASSES));
    assert_ok(pada_class_report_add(r, logits[0], labels, 3));
    assert_ok(pada_class_report_add(r, logits[3], labels + 3, 5));
    return r;
}

static void check_share(pada_share s, int count, int n)
{
    assert_int_equal(s.count, count);
    assert_int_equal(s.n, n);
    if (n == 0)
        assert_true(isnan(s.percent) && isnan(s.low) && isnan(s.high));
    else
        CHECK_CLOSE(s.percent, 100.0 * count / n, 1e-12);
}

static void test_numbers(void **state)
{
    pada_class_report *r = make_report();

    (void)state;
    assert_int_equal(pada_class_report_n_images(r), 8);
    check_share(pada_class_report_top(r, 1), 4, 8);
    check_share(pada_class_report_top(r, 5), 7, 8);
    check_share(pada_class_report_recall(r, 0), 2, 3);
    check_share(pada_class_report_recall(r, 1), 1, 2);
    check_share(pada_class_report_recall(r, 3), 0, 0);
    check_share(pada_class_report_recall(r, 4), 0, 1);
    check_share(pada_class_report_precision(r, 0), 2, 5);
    check_share(pada_class_report_precision(r, 1), 1, 2);
    check_share(pada_class_report_precision(r, 2), 1, 1);
    check_share(pada_class_report_precision(r, 4), 0, 0);
    assert_int_equal(pada_class_report_confusion(r, 0, 1), 1);
    assert_int_equal(pada_class_report_confusion(r, 1, 0), 1);
    assert_int_equal(pada_class_report_confusion(r, 4, 0), 1);
    assert_int_equal(pada_class_report_confusion(r, 4, 4), 0);
    /* Wilson by hand: n 8, share 1/2, z 1.959964: middle 1/2, half z/(1+z2/8) sqrt(1/32+z2/256) = 0.28478 */
    CHECK_CLOSE(pada_class_report_top(r, 1).low, 21.52, 0.01);
    CHECK_CLOSE(pada_class_report_top(r, 1).high, 78.48, 0.01);
    pada_class_report_destroy(r);
}

static void test_refused(void **state)
{
    const int32_t bad[2] = {0, CLASSES};
    const float nan_logits[CLASSES] = {0, NAN};
    pada_class_report *r = make_report();

    (void)state;
    assert_fails(pada_class_report_add(r, logits[0], bad, 2), PADA_EDATA,
                 "label 6 of image 1 is not in 0..5");
    assert_fails(pada_class_report_add(r, nan_logits, labels, 1), PADA_ENUMERIC,
                 "logit 1 of image 0 is not a number");
    assert_int_equal(pada_class_report_n_images(r), 8);
    check_share(pada_class_report_top(r, 1), 4, 8);
    pada_class_report_destroy(r);
    assert_int_equal(pada_class_report_create(&r, 1000000), PADA_EINVAL);
    assert_null(r);
}

static void test_csv(void **state)
{
    pada_class_report *r = make_report();
    pada_text out = {0};

    (void)state;
    pada_class_report_csv(r, names, &out);
    assert_string_equal(pada_text_str(&out),
                        "label,\"cat\",\"a \"\"dog\"\", big\",2,\"x\",\"y\",\"z\"\n"
                        "\"cat\",2,1,0,0,0,0\n"
                        "\"a \"\"dog\"\", big\",1,1,0,0,0,0\n"
                        "2,1,0,1,0,0,0\n"
                        "\"x\",0,0,0,0,0,0\n"
                        "\"y\",1,0,0,0,0,0\n"
                        "\"z\",0,0,0,0,0,0\n");
    pada_text_deinit(&out);
    pada_class_report_destroy(r);
}

static void test_json(void **state)
{
    pada_class_report *r = make_report();
    json_t *object = pada_class_report_json(r, names), *classes, *one;

    (void)state;
    assert_int_equal(json_integer_value(json_object_get(object, "images")), 8);
    CHECK_CLOSE(json_real_value(json_object_get(json_object_get(object, "top1"), "percent")), 50,
                0);
    classes = pada_class_report_classes(r, names);
    assert_true(json_equal(json_object_get(object, "classes"), classes));
    assert_int_equal(json_array_size(classes), CLASSES);
    one = json_array_get(classes, 0);
    assert_string_equal(json_string_value(json_object_get(one, "name")), "cat");
    assert_int_equal(json_integer_value(json_object_get(one, "given")), 5);
    CHECK_CLOSE(json_real_value(json_object_get(json_object_get(one, "precision"), "percent")), 40,
                1e-12);
    one = json_array_get(classes, 3);
    assert_true(json_is_null(json_object_get(one, "recall")));
    json_decref(classes);
    json_decref(object);
    pada_class_report_destroy(r);
}

static void test_file(void **state)
{
    pada_class_report *r = make_report();
    pada_file file = {0};
    pada_text csv = {0};

    (void)state;
    assert_ok(pada_class_report_write_confusion(r, names, scratch_dir));
    pada_class_report_csv(r, names, &csv);
    assert_ok(pada_file_open(&file, scratch_path(PADA_CONFUSION_FILE)));
    assert_int_equal(file.bytes, csv.length);
    assert_memory_equal(file.data, csv.data, csv.length);
    pada_file_close(&file);
    pada_text_deinit(&csv);
    assert_int_equal(pada_class_report_write_confusion(r, names, scratch_path("absent")), PADA_EIO);
    pada_class_report_destroy(r);
}

static pada_status make_json(const pada_class_report *r, json_t **out)
{
    *out = pada_class_report_json(r, names);
    return *out ? PADA_OK : PADA_ENOMEM;
}

static void test_memory(void **state)
{
    pada_class_report *r, *full = make_report();
    json_t *object;

    (void)state;
    assert_survives_oom(pada_class_report_create(&r, CLASSES), pada_class_report_destroy(r));
    assert_survives_oom(make_json(full, &object), json_decref(object));
    assert_survives_oom(pada_class_report_write_confusion(full, names, scratch_dir), (void)0);
    pada_class_report_destroy(full);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_csv),     cmocka_unit_test(test_json),
        cmocka_unit_test(test_file),    cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
