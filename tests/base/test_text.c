/* test_text.c - parsing, nearest names, growing strings. */
#include "base/text.h"

#include <math.h>

#include "base/rng.h"
#include "base/scratch.h"

static void int_takes_whole_numbers(void **state)
{
    static const struct {
        const char *text;
        int64_t value;
    } cases[] = {
        {"0", 0},
        {"-0", 0},
        {"12", 12},
        {"-7", -7},
        {"007", 7},
        {"3k", 3000},
        {"-2M", -2000000},
        {"400M", 400000000},
        {"1G", 1000000000},
        {"9223372036854775807", INT64_MAX},
        {"-9223372036854775808", INT64_MIN},
        {"9223372036G", 9223372036000000000},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t n = 99;
        assert_ok(pada_parse_int(cases[i].text, "x", INT64_MIN, INT64_MAX, &n));
        assert_true(n == cases[i].value);
    }
}

static void int_refuses_everything_else(void **state)
{
    static const char *const words[] = {"",    "abc", "12x", " 1",  "1 ",  "+1",
                                        "--1", "-",   "1.5", "1e3", "0x1", "k",
                                        "1kk", "1K",  "1m",  "1kM", "\n1", "1\n"};

    (void)state;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        int64_t n = 99;
        assert_int_equal(pada_parse_int(words[i], "x", INT64_MIN, INT64_MAX, &n), PADA_EINVAL);
        assert_int_equal(n, 99);
    }
}

static void int_messages_name_the_value(void **state)
{
    int64_t n;

    (void)state;
    assert_fails(pada_parse_int("abc", "--batch-size", 1, 100, &n), PADA_EINVAL,
                 "--batch-size: 'abc' is not a whole number");
    assert_fails(pada_parse_int("0", "--n", 1, 100, &n), PADA_EINVAL, "--n: 0 is outside 1 to 100");
    assert_fails(pada_parse_int("1k", "--n", 1, 100, &n), PADA_EINVAL,
                 "--n: 1k is outside 1 to 100");
    assert_fails(pada_parse_int("0", "--n", 1, INT64_MAX, &n), PADA_EINVAL, "--n: 0 is below 1");
    assert_fails(pada_parse_int("9", "--n", INT64_MIN, 1, &n), PADA_EINVAL, "--n: 9 is above 1");
    assert_fails(pada_parse_int("9223372036854775808", "--n", INT64_MIN, INT64_MAX, &n),
                 PADA_EINVAL, "--n: 9223372036854775808 does not fit in 64 bits");
    assert_fails(pada_parse_int("-9223372036854775809", "--n", INT64_MIN, INT64_MAX, &n),
                 PADA_EINVAL, "--n: -9223372036854775809 does not fit in 64 bits");
    assert_fails(pada_parse_int("9223372037G", "--n", INT64_MIN, INT64_MAX, &n), PADA_EINVAL,
                 "--n: 9223372037G does not fit in 64 bits");
    assert_fails(pada_parse_int("99999999999999999999999", "--n", INT64_MIN, INT64_MAX, &n),
                 PADA_EINVAL, "--n: 99999999999999999999999 does not fit in 64 bits");
}

static void u64_takes_the_whole_range(void **state)
{
    uint64_t n;

    (void)state;
    assert_ok(pada_parse_u64("18446744073709551615", "--seed", &n));
    assert_true(n == UINT64_MAX);
    assert_ok(pada_parse_u64("18446744073G", "--seed", &n));
    assert_true(n == 18446744073000000000u);
    assert_fails(pada_parse_u64("18446744073709551616", "--seed", &n), PADA_EINVAL,
                 "--seed: 18446744073709551616 does not fit in 64 bits");
    assert_fails(pada_parse_u64("-1", "--seed", &n), PADA_EINVAL,
                 "--seed: '-1' is not a whole number of 0 or more");
    assert_int_equal(pada_parse_u64("", "--seed", &n), PADA_EINVAL);
    assert_int_equal(pada_parse_u64("18446744074G", "--seed", &n), PADA_EINVAL);
}

static void double_takes_decimal_numbers(void **state)
{
    static const struct {
        const char *text;
        double value;
    } cases[] = {{"0", 0},       {"-1.5", -1.5}, {".5", 0.5},   {"5.", 5},
                 {"1e-3", 1e-3}, {"+2E+2", 200}, {"1e-999", 0}, {"0.025", 0.025}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double x = 99;
        assert_ok(pada_parse_double(cases[i].text, "x", -INFINITY, INFINITY, &x));
        assert_true(x == cases[i].value);
    }
}

static void double_refuses_everything_else(void **state)
{
    static const char *const words[] = {"",     "abc",   " 1",  "1 ", "nan", "inf",     "-inf",
                                        "0x10", "1e",    "1e+", ".",  "-",   "1,5",     "1.2.3",
                                        "--1",  "1e999", "NaN", "e5", "1f",  "infinity"};

    (void)state;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        double x = 99;
        assert_int_equal(pada_parse_double(words[i], "x", -INFINITY, INFINITY, &x), PADA_EINVAL);
        assert_true(x == 99);
    }
}

static void double_messages_name_the_value(void **state)
{
    double x;

    (void)state;
    assert_fails(pada_parse_double("5", "--lr", 0, 1, &x), PADA_EINVAL,
                 "--lr: 5 is outside 0 to 1");
    assert_fails(pada_parse_double("x", "--lr", 0, 1, &x), PADA_EINVAL,
                 "--lr: 'x' is not a number");
    assert_fails(pada_parse_double("-1", "--lr", 0, INFINITY, &x), PADA_EINVAL,
                 "--lr: -1 is below 0");
    assert_fails(pada_parse_double("3", "--lr", -INFINITY, 2.5, &x), PADA_EINVAL,
                 "--lr: 3 is above 2.5");
    assert_fails(pada_parse_double("1e999", "--lr", -INFINITY, INFINITY, &x), PADA_EINVAL,
                 "--lr: 1e999 is too large");
}

static void bool_takes_the_usual_words(void **state)
{
    static const char *const on[] = {"true", "yes", "on", "1", "True", "YES"};
    static const char *const off[] = {"false", "no", "off", "0", "False", "OFF"};
    static const char *const wrong[] = {"", "2", "t", "truee", " true", "01"};
    bool b;

    (void)state;
    for (int i = 0; i < 6; i++) {
        b = false;
        assert_ok(pada_parse_bool(on[i], "x", &b));
        assert_true(b);
        assert_ok(pada_parse_bool(off[i], "x", &b));
        assert_false(b);
        assert_int_equal(pada_parse_bool(wrong[i], "x", &b), PADA_EINVAL);
    }
    assert_fails(pada_parse_bool("maybe", "--amp", &b), PADA_EINVAL,
                 "--amp: 'maybe' is not true or false");
}

static void nearest_finds_mistypings(void **state)
{
    static const char *const names[] = {"batch-size", "epochs", "lr", "method", "momentum", "pada"};
    static const char *const cases[][2] = {
        {"bach-size", "batch-size"},
        {"batch-sizes", "batch-size"},
        {"abtch-size", "batch-size"},
        {"BATCH-SIZE", "batch-size"},
        {"epcohs", "epochs"},
        {"epoch", "epochs"},
        {"padaa", "pada"},
        {"rl", "lr"},
        {"lrr", "lr"},
        {"btchsz", NULL},
        {"verbose", NULL},
        {"", NULL},
        {"xy", NULL},
        {"method", "method"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *near = pada_nearest(cases[i][0], names, 6);
        if (cases[i][1]) {
            assert_non_null(near);
            assert_string_equal(near, cases[i][1]);
        } else {
            assert_null(near);
        }
    }
    assert_null(pada_nearest("lr", names, 0));
}

static void nearest_prefers_the_closest_and_the_first(void **state)
{
    static const char *const names[] = {"abcxyz", "abcdxx", "abcdey", "abcdez"};

    (void)state;
    assert_string_equal(pada_nearest("abcdef", names, 4), "abcdey");
}

static void nearest_bears_very_long_names(void **state)
{
    char text[300], exact[65];

    (void)state;
    memset(text, 'a', sizeof text);
    text[sizeof text - 1] = '\0';
    memset(exact, 'a', sizeof exact);
    exact[64] = '\0';
    const char *const names[] = {text, exact};
    assert_null(pada_nearest(text, names, 2));
    assert_string_equal(pada_nearest(exact, names, 2), exact);
}

static void text_grows(void **state)
{
    pada_text text = {0};

    (void)state;
    assert_string_equal(pada_text_str(&text), "");
    pada_text_add(&text, "%s", "");
    assert_string_equal(pada_text_str(&text), "");
    for (int i = 0; i < 1000; i++)
        pada_text_add(&text, "%04d", i);
    pada_text_add_bytes(&text, "a\0b", 3);
    assert_int_equal(text.status, PADA_OK);
    assert_int_equal(text.length, 4003);
    assert_int_equal(text.data[4003], '\0');
    assert_memory_equal(text.data + 3996, "0999a\0b", 8);
    pada_text_deinit(&text);
    assert_string_equal(pada_text_str(&text), "");
}

static void text_takes_long_pieces(void **state)
{
    pada_text text = {0};

    (void)state;
    for (int n = 250; n < 262; n++) { /* around the size of the inner buffer */
        pada_text_add(&text, "%*d|", n, 7);
        assert_int_equal(text.length, n + 1);
        assert_string_equal(text.data + n - 1, "7|");
        pada_text_deinit(&text);
    }
}

static void text_growth_is_amortised(void **state)
{
    pada_text text = {0};

    (void)state;
    const int64_t before = pada_mem_count();
    for (int i = 0; i < 100000; i++)
        pada_text_add_bytes(&text, "x", 1);
    assert_true(pada_mem_count() - before < 20);
    pada_text_deinit(&text);
}

static pada_status build(pada_text *text)
{
    *text = (pada_text){0};
    for (int i = 0; i < 100; i++)
        pada_text_add(text, "%d,", i);
    pada_text_add(text, "%500d", 3);
    const pada_status st = text->status;
    if (st != PADA_OK) pada_text_deinit(text);
    return st;
}

static void text_survives_failing_memory(void **state)
{
    pada_text text;

    (void)state;
    assert_survives_oom(build(&text), pada_text_deinit(&text));
}

static void text_failure_sticks(void **state)
{
    pada_text text = {0};

    (void)state;
    pada_text_add(&text, "kept");
    pada_text_add_bytes(&text, "", SIZE_MAX - 2);
    assert_int_equal(text.status, PADA_ENOMEM);
    pada_text_add(&text, "lost");
    pada_text_add_bytes(&text, "lost", 4);
    assert_string_equal(pada_text_str(&text), "kept");
    pada_text_deinit(&text);
    assert_int_equal(text.status, PADA_OK);
}

/* What is near is offered alone; otherwise there is the whole list. */
static void numbers_are_as_short_as_they_read_back(void **state)
{
    static const struct {
        double x;
        const char *text;
    } cases[] = {
        {0, "0"},
        {-0.0, "-0"},
        {14.2, "14.2"},
        {100.0 * 71 / 500, "14.2"},
        {-1e-5, "-1e-05"},
        {123456, "123456"},
        {1e22, "1e+22"},
        {1.0 / 3, "0.3333333333333333"},
        {0.1 + 0.2, "0.30000000000000004"},
        {9007199254740993, "9007199254740992"},
        {1.7976931348623157e308, "1.7976931348623157e+308"},
    };
    pada_rng rng;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        pada_text text = {0};
        pada_text_add_double(&text, cases[i].x);
        assert_string_equal(pada_text_str(&text), cases[i].text);
        pada_text_deinit(&text);
    }
    pada_rng_init(&rng, 1, "test", 0);
    for (int i = 0; i < 1000; i++) {
        const double x = pada_rng_normal(&rng);
        pada_text text = {0};
        pada_text_add_double(&text, x);
        assert_true(strtod(pada_text_str(&text), NULL) == x);
        pada_text_deinit(&text);
    }
}

static void unknown_names_are_answered(void **state)
{
    static const char *const names[] = {"spos", "pada"};
    char long_name[300];

    (void)state;
    assert_int_equal(pada_fail_unknown(PADA_EINVAL, "unknown method", "padda", names, 2),
                     PADA_EINVAL);
    assert_string_equal(pada_message(), "unknown method 'padda'; did you mean 'pada'?");
    assert_int_equal(pada_fail_unknown(PADA_EDEVICE, "x: unknown method", "darts", names, 2),
                     PADA_EDEVICE);
    assert_string_equal(pada_message(), "x: unknown method 'darts'; one of: spos, pada");
    memset(long_name, 'a', sizeof long_name);
    long_name[sizeof long_name - 1] = '\0';
    assert_int_equal(pada_fail_unknown(PADA_EINVAL, "unknown method", long_name, names, 2),
                     PADA_EINVAL);
    assert_true(strlen(pada_message()) < 200);
    assert_non_null(strstr(pada_message(), "one of: spos, pada"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(int_takes_whole_numbers),
        cmocka_unit_test(int_refuses_everything_else),
        cmocka_unit_test(int_messages_name_the_value),
        cmocka_unit_test(u64_takes_the_whole_range),
        cmocka_unit_test(double_takes_decimal_numbers),
        cmocka_unit_test(double_refuses_everything_else),
        cmocka_unit_test(double_messages_name_the_value),
        cmocka_unit_test(bool_takes_the_usual_words),
        cmocka_unit_test(nearest_finds_mistypings),
        cmocka_unit_test(unknown_names_are_answered),
        cmocka_unit_test(nearest_prefers_the_closest_and_the_first),
        cmocka_unit_test(nearest_bears_very_long_names),
        cmocka_unit_test(text_grows),
        cmocka_unit_test(text_takes_long_pieces),
        cmocka_unit_test(text_growth_is_amortised),
        cmocka_unit_test(text_survives_failing_memory),
        cmocka_unit_test(text_failure_sticks),
        cmocka_unit_test(numbers_are_as_short_as_they_read_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
