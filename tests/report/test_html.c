/* test_html.c - nothing that goes into a page becomes markup, or ends a script. */
#include <math.h>

#include "base/scratch.h"
#include "report/html.h"

static void check(void (*add)(pada_text *, const char *), const char *text, const char *expected)
{
    pada_text out = {0};

    add(&out, text);
    assert_int_equal(out.status, PADA_OK);
    assert_string_equal(pada_text_str(&out), expected);
    pada_text_deinit(&out);
}

static void test_text(void **state)
{
    (void)state;
    check(pada_html_text, "", "");
    check(pada_html_text, "a b\t1%s\n", "a b\t1%s\n");
    check(pada_html_text, "<b a=\"1\" c='2'>&", "&#60;b a=&#34;1&#34; c=&#39;2&#39;&#62;&#38;");
    check(pada_html_text, "\xc3\xa9\xe2\x80\xa8\xf0\x9f\x99\x82", "&#233;&#8232;&#128578;");
    /* Cut off, too long, a surrogate, a lone continuation, controls, no characters. */
    check(pada_html_text, "\xc3", "&#65533;");
    check(pada_html_text, "\xc0\xaf", "&#65533;&#65533;");
    check(pada_html_text, "\xed\xa0\x80", "&#65533;&#65533;&#65533;");
    check(pada_html_text, "\x80x\x01\x7f\xc2\x85", "&#65533;x&#65533;&#65533;&#65533;");
    check(pada_html_text, "\xef\xbf\xbe", "&#65533;");
}

static void test_json(void **state)
{
    (void)state;
    check(pada_html_json_string, "", "\"\"");
    check(pada_html_json_string, "</script><!--&'\"\\",
          "\"\\u003c/script\\u003e\\u003c!--\\u0026\\u0027\\u0022\\u005c\"");
    check(pada_html_json_string, "\n\t\xe2\x80\xa9\xff", "\"\\u000a\\u0009\\u2029\\ufffd\"");
    check(pada_html_json_string, "\xf0\x9f\x99\x82", "\"\\ud83d\\ude42\"");
}

static void test_numbers(void **state)
{
    pada_text out = {0};

    (void)state;
    pada_html_number(&out, 1.25, 1);
    pada_text_add(&out, " ");
    pada_html_number(&out, NAN, 1);
    pada_text_add(&out, " ");
    pada_html_json_number(&out, 1e-300);
    pada_text_add(&out, " ");
    pada_html_json_number(&out, -INFINITY);
    assert_string_equal(pada_text_str(&out), "1.2 &#8211; 1e-300 null");
    pada_text_deinit(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_numbers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
