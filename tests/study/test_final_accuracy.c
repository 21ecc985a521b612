/* test_final_accuracy.c - what test.json says, what it must not say, and differences. */
#include <string.h>

#include "check.h"
#include "study/final_accuracy.h"

static pada_status parse(pada_final_accuracy *out, const char *text)
{
    return pada_final_accuracy_parse(out, text, strlen(text), "t.json");
}

#define HEAD "{\"split\": \"test\", \"images\": 40, "
#define LAST "\"last\": {\"top1\": 50.0, \"top1_lo\": 40.0, \"top1_hi\": 61.0}"

static void the_best_comes_first(void **state)
{
    pada_final_accuracy a;

    (void)state;
    CHECK_OK(parse(&a, HEAD LAST "}"));
    CHECK_CLOSE(a.top1, 50, 0);
    CHECK_CLOSE(a.low, 40, 0);
    CHECK_CLOSE(a.high, 61, 0);
    assert_int_equal(a.n_images, 40);
    assert_string_equal(a.split, "test");
    CHECK_OK(
        parse(&a, HEAD LAST ", \"best\": {\"top1\": 100, \"top1_lo\": 90, \"top1_hi\": 100}}"));
    CHECK_CLOSE(a.top1, 100, 0);
}

static void wrong_files_are_refused(void **state)
{
    static const char *const bad[] = {
        "",
        "[]",
        "{\"split\": \"test\", " LAST "}",
        "{\"split\": \"test\", \"images\": 0, " LAST "}",
        "{\"split\": \"much too long\", \"images\": 4, " LAST "}",
        "{\"images\": 4, " LAST "}",
        HEAD "\"last\": 3}",
        HEAD "\"other\": {}}",
        HEAD "\"last\": {\"top1\": 50, \"top1_lo\": 40}}",
        HEAD "\"last\": {\"top1\": 50, \"top1_lo\": -1, \"top1_hi\": 60}}",
        HEAD "\"last\": {\"top1\": 50, \"top1_lo\": 40, \"top1_hi\": 101}}",
        HEAD "\"last\": {\"top1\": 50, \"top1_lo\": 51, \"top1_hi\": 60}}",
        HEAD "\"last\": {\"top1\": \"50\", \"top1_lo\": 40, \"top1_hi\": 60}}",
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        pada_final_accuracy a;
        assert_int_equal(parse(&a, bad[i]), PADA_EDATA);
        assert_non_null(strstr(pada_message(), "t.json"));
    }
}

/* The example of Newcombe (1998): 56 of 70 against 48 of 80 is 0.2 [0.0524, 0.3339], by the Wilson intervals of both. */
static void differences_are_newcombes(void **state)
{
    const pada_final_accuracy a = {.top1 = 80, .low = 69.1759, .high = 87.7282};
    const pada_final_accuracy b = {.top1 = 60, .low = 49.0434, .high = 70.0388};
    double low, high;

    (void)state;
    pada_accuracy_difference(&a, &b, &low, &high);
    CHECK_CLOSE(low, 5.24, 0.01);
    CHECK_CLOSE(high, 33.39, 0.02);
    pada_accuracy_difference(&b, &a, &low, &high);
    CHECK_CLOSE(low, -33.39, 0.02);
    CHECK_CLOSE(high, -5.24, 0.01);
}

static void a_missing_file_is_missing(void **state)
{
    pada_final_accuracy a;

    (void)state;
    assert_int_equal(pada_final_accuracy_read(&a, "/not/there"), PADA_ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_comes_first),
        cmocka_unit_test(wrong_files_are_refused),
        cmocka_unit_test(differences_are_newcombes),
        cmocka_unit_test(a_missing_file_is_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
