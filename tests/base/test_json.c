/* test_json.c - JSON files that are missing, wrong, or read without memory. */
#include "base/json.h"
#include "base/scratch.h"

static pada_status read_text(const char *text)
{
    json_t *value;

    scratch_write(scratch_path("x.json"), text, strlen(text));
    const pada_status st = pada_json_open(&value, scratch_path("x.json"));
    assert_true((st == PADA_OK) == (value != NULL));
    json_decref(value);
    return st;
}

static void test_files(void **state)
{
    json_t *value;

    (void)state;
    assert_ok(read_text("{\"a\": [1, 2.5, \"\\u00e9\"], \"b\": {}}\n"));
    assert_int_equal(read_text(""), PADA_EDATA);
    assert_int_equal(read_text("{\"a\": 1,\n \"a\": 2}"), PADA_EDATA);
    assert_non_null(strstr(pada_message(), "x.json:2: "));
    assert_int_equal(read_text("{} x"), PADA_EDATA);
    assert_int_equal(pada_json_open(&value, scratch_path("none")), PADA_ENOENT);
    assert_null(value);
}

static void test_lines_have_short_numbers(void **state)
{
    json_t *value = json_pack("{s:f, s:[f, f, i], s:{s:s, s:n}, s:{}, s:b}", "x", 14.2, "list", 0.1,
                              1.0, 7, "in", "text", "\"", "nothing", "empty", "yes", 1);
    pada_text text = {0};

    (void)state;
    assert_ok(pada_json_print_line(value, &text));
    assert_string_equal(text.data, "{\"x\": 14.2, \"list\": [0.1, 1.0, 7], \"in\": {\"text\": "
                                   "\"\\\"\", \"nothing\": null}, \"empty\": {}, \"yes\": true}");
    assert_int_equal(pada_json_print_line(NULL, &text), PADA_ENOMEM);
    pada_text_deinit(&text);
    json_decref(value);
}

static void test_out_of_memory(void **state)
{
    (void)state;
    assert_survives_oom(read_text("{\"a\": [1, 2.5, \"text\"], \"b\": {\"c\": null}}"), );
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_lines_have_short_numbers),
        cmocka_unit_test(test_out_of_memory),
    };

    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
