/* test_nb201_codec.c - the text dialects: known texts, round trips, strictness, hostile texts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/rng.h"
#include "space/nb201_cells.h"
#include "space/nb201_codec.h"

#define INDEX_0                                                                        \
    "|avg_pool_3x3~0|+|nor_conv_1x1~0|skip_connect~1|+|nor_conv_1x1~0|skip_connect~1|" \
    "skip_connect~2|"

/* Official index 0, in every dialect. */
static const uint8_t known_choice[PADA_NB201_EDGES] = {4, 2, 1, 2, 1, 1};
static const struct {
    const char *dialect, *text;
} known[] = {
    {"nb201", INDEX_0},
    {"list", "[4,2,1,2,1,1]"},
    {"naslib", "[4,3,3,0,0,0]"},
    {"nni", "{\"0_1\":\"avg_pool_3x3\",\"0_2\":\"conv_1x1\",\"1_2\":\"skip_connect\","
            "\"0_3\":\"conv_1x1\",\"1_3\":\"skip_connect\",\"2_3\":\"skip_connect\"}"},
    {"tuples", "[(('avg_pool_3x3', 0),), (('nor_conv_1x1', 0), ('skip_connect', 1)), "
               "(('nor_conv_1x1', 0), ('skip_connect', 1), ('skip_connect', 2))]"},
};
enum { N_KNOWN = sizeof known / sizeof known[0] };

static void check_choice(const pada_path *path, const uint8_t choice[PADA_NB201_EDGES])
{
    assert_memory_equal(path->choice, choice, PADA_NB201_EDGES);
}

static void test_known_texts(void **state)
{
    const pada_space space = nb201_space(NULL);

    (void)state;
    for (int i = 0; i < N_KNOWN; i++) {
        pada_text out = {0};
        pada_path path;

        assert_string_equal(space.ops->dialects[i], known[i].dialect);
        assert_int_equal(space.ops->parse(&space, known[i].text, known[i].dialect, &path), PADA_OK);
        check_choice(&path, known_choice);
        assert_int_equal(space.ops->format(&space, &path, known[i].dialect, &out), PADA_OK);
        assert_string_equal(pada_text_str(&out), known[i].text);
        pada_text_deinit(&out);
    }
    assert_null(space.ops->dialects[N_KNOWN]);
}

/* NASLib: ops Identity Zero 3x3 1x1 AvgPool, edges 1-2 1-3 1-4 2-3 2-4 3-4. */
static void test_naslib_has_its_own_numbers_and_edges(void **state)
{
    const pada_space space = nb201_space(NULL);
    pada_path path;

    (void)state;
    assert_int_equal(pada_nb201_parse(&space, "[0,1,2,3,4,0]", "naslib", &path), PADA_OK);
    check_choice(&path, (uint8_t[]){1, 0, 2, 3, 4, 1});
}

static void test_accepted_ways_to_write_the_same(void **state)
{
    static const struct {
        const char *dialect, *text;
    } ways[] = {
        {"list", "4,2,1,2,1,1"},
        {"list", "[4, 2, 1, 2, 1, 1]"},
        {"list", "(4, 2, 1, 2, 1, 1)"},
        {"list", "(4,2,1,2,1,1)"},
        {"naslib", "4, 3, 3, 0, 0, 0"},
        {"tuples", "[(('avg_pool_3x3',0),),(('nor_conv_1x1',0),('skip_connect',1)),"
                   "(('nor_conv_1x1',0),('skip_connect',1),('skip_connect',2))]"},
        {"nni", "{ \"2_3\": \"skip_connect\", \"1_3\": \"skip_connect\", \"0_3\": \"conv_1x1\",\n"
                "\"1_2\": \"skip_connect\", \"0_2\": \"conv_1x1\", \"0_1\": \"avg_pool_3x3\" }"},
        {NULL, INDEX_0},
    };
    const pada_space space = nb201_space(NULL);

    (void)state;
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        pada_path path;

        if (pada_nb201_parse(&space, ways[i].text, ways[i].dialect, &path) != PADA_OK)
            fail_msg("%s: %s", ways[i].text, pada_message());
        check_choice(&path, known_choice);
    }
}

static void test_round_trip_of_all_cells_in_all_dialects(void **state)
{
    const pada_space space = nb201_space(NULL);

    (void)state;
    for (const char *const *dialect = space.ops->dialects; *dialect; dialect++) {
        for (int i = 0; i < N_CELLS; i++) {
            const pada_path path = cell_at(i);
            pada_path back;
            pada_text text = {0};

            memset(&back, 0xff, sizeof back);
            assert_int_equal(pada_nb201_format(&space, &path, *dialect, &text), PADA_OK);
            assert_int_equal(pada_nb201_parse(&space, text.data, *dialect, &back), PADA_OK);
            assert_memory_equal(&back, &path, sizeof path);
            pada_text_deinit(&text);
        }
    }
}

static void test_dialects_are_recognised_unless_ambiguous(void **state)
{
    const pada_space space = nb201_space(NULL);

    (void)state;
    for (int i = 0; i < N_KNOWN; i++) {
        const int ambiguous = i == 1 || i == 2;
        pada_path path;

        assert_int_equal(pada_nb201_parse(&space, known[i].text, NULL, &path),
                         ambiguous ? PADA_EINVAL : PADA_OK);
        if (ambiguous)
            assert_non_null(strstr(pada_message(), "list or naslib"));
        else
            check_choice(&path, known_choice);
    }
    pada_path path;
    assert_int_equal(pada_nb201_parse(&space, "(4, 2, 1, 2, 1, 1)", NULL, &path), PADA_EINVAL);
    assert_non_null(strstr(pada_message(), "list or naslib"));
    assert_int_equal(pada_nb201_parse(&space, "4,2,1,2,1,1", NULL, &path), PADA_EINVAL);
    assert_non_null(strstr(pada_message(), "list or naslib"));
}

/* What is refused, and a part of the message. */
static const struct {
    const char *dialect, *text, *message;
} refused[] = {
    {NULL, "", "character 1: expected '|', found the end"},
    {NULL, "x", "character 1: expected '|', found 'x'"},
    {NULL, " " INDEX_0, "character 1: expected '|'"},
    {NULL, INDEX_0 " ", "expected the end, found ' '"},
    {NULL, INDEX_0 "+", "expected the end, found '+'"},
    {NULL, INDEX_0 INDEX_0, "expected the end, found '|'"},
    {NULL, "|nor_conv_3x4~0|", "character 2: unknown operator 'nor_conv_3x4'; did you mean"},
    {NULL, "|zzz~0|", "character 2: unknown operator 'zzz'"},
    {NULL, "|~0|", "character 2: expected an operator, found '~'"},
    {NULL, "|none~1|", "character 7: expected '0', found '1'"},
    {NULL, "|none~0|+|none~0|none~0|", "character 23: expected '1', found '0'"},
    {NULL, "|none~0|\n", "character 9: expected '+', found '?'"},
    {"list", "[4,2,1,2,1]", "expected ',', found ']'"},
    {"list", "[4,2,1,2,1,1,1]", "expected ']', found ','"},
    {"list", "[4,2,1,2,1,5]", "character 12: expected an operator number 0 to 4, found '5'"},
    {"list", "[4,2,1,2,1,-1]", "found '-'"},
    {"list", "[4,2,1,2,1,01]", "found '01'"},
    {"list", "[4,2,1,2,1,1)", "expected ']', found ')'"},
    {"list", "[4,2,1,2,1,1", "expected ']', found the end"},
    {"list", "4,2,1,2,1,1]", "expected the end, found ']'"},
    {"list", "[4,2,1,2,1,1,]", "found ','"},
    {"list", "[ 4,2,1,2,1,1]", "character 2: expected an operator number"},
    {"list", "[4,  2,1,2,1,1]", "character 5: expected an operator number"},
    {"list", "421211", "found '421211'"},
    {"list", INDEX_0, "character 1: expected an operator number"},
    {"naslib", "[4,3,3,0,0,9]", "found '9'"},
    {"nni", "{}", "edge '0_1' is missing"},
    {"nni", "[]", "not an object"},
    {"nni", "{\"0_1\":\"none\"", "character 13"},
    {"nni", "{\"0_1\":\"none\",\"0_1\":\"none\"}", "duplicate"},
    {"nni", "{\"0_1\":3}", "edge '0_1' is not a string"},
    {"nni", "{\"0_1\":\"conv_3x33\"}", "edge '0_1': unknown operator 'conv_3x33'; did you mean"},
    {"nni", "{\"0_1\":\"no\\nne\"}", "unknown operator 'no?ne'; did you mean 'none'?"},
    {"nni", "{\"1_0\":\"none\"}", "unknown edge '1_0'"},
    {"nni", "{\"0_1\":\"none\"} x", "end of file expected"},
    {"tuples", "[(('none', 0)), (('none', 0), ('none', 1)), ()]", "expected ',', found ')'"},
    {"tuples", "[((\"none\", 0),)]", "expected '''"},
    {"tuples", "[(('none', 1),)]", "expected '0', found '1'"},
    {"tuples", "[(('nine', 0),)]", "character 5: unknown operator 'nine'; did you mean 'none'?"},
    {"lisst", "[4,2,1,2,1,1]", "unknown dialect 'lisst'; did you mean 'list'?"},
    {"qqqqqqqq", "[4,2,1,2,1,1]", "unknown dialect 'qqqqqqqq'; one of: nb201, list"},
};

static void test_refusals_name_the_token_and_the_place(void **state)
{
    const pada_space space = nb201_space(NULL);
    const pada_path before = cell_at(777);

    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        pada_path path = before;

        if (pada_nb201_parse(&space, refused[i].text, refused[i].dialect, &path) != PADA_EINVAL)
            fail_msg("accepted: %s", refused[i].text);
        if (!strstr(pada_message(), refused[i].message))
            fail_msg("%s: '%s' does not contain '%s'", refused[i].text, pada_message(),
                     refused[i].message);
        assert_memory_equal(&path, &before, sizeof path);
    }
}

/* Copies a text without white space, and without brackets around integers. */
static void squeeze(char *out, const char *text, int drop_brackets)
{
    for (; *text; text++)
        if (!strchr(drop_brackets ? " \t\r\n[]()" : " \t\r\n", *text)) *out++ = *text;
    *out = '\0';
}

enum { TEXT_BYTES = 1024 };

/* One to three random edits. */
static void mutate(char text[TEXT_BYTES], pada_rng *rng)
{
    static const char alphabet[] = "|+~[](){}\"':, \t\n\\0123456789_acdeiklmnoprstvx\x80\xff";

    for (uint32_t edits = 1 + pada_rng_below(rng, 3); edits > 0; edits--) {
        const size_t n = strlen(text);
        if (n == 0 || n + 2 > TEXT_BYTES) return;
        const size_t at = pada_rng_below(rng, (uint32_t)n);
        const char c = alphabet[pada_rng_below(rng, sizeof alphabet - 1)];

        switch (pada_rng_below(rng, 5)) {
        case 0: memmove(text + at, text + at + 1, n - at); break;     /* delete */
        case 1: memmove(text + at + 1, text + at, n - at + 1); break; /* double */
        case 2: text[at] = '\0'; break;                               /* truncate */
        case 3: text[at] = c; break;                                  /* replace */
        case 4:                                                       /* insert */
            memmove(text + at + 1, text + at, n - at + 1);
            text[at] = c;
            break;
        }
    }
}

static void test_hostile_texts_parse_to_what_they_say_or_not_at_all(void **state)
{
    const pada_space space = nb201_space(NULL);
    int n_parsed = 0, n_refused = 0;
    pada_rng rng;

    (void)state;
    pada_rng_init(&rng, 3, "mutate", 0);
    for (int d = 0; d < N_KNOWN; d++) {
        for (int round = 0; round < 20000; round++) {
            const pada_path path = cell_at((int)pada_rng_below(&rng, N_CELLS));
            char text[TEXT_BYTES], mine[TEXT_BYTES], theirs[TEXT_BYTES];
            pada_text out = {0};
            pada_path parsed;

            assert_int_equal(pada_nb201_format(&space, &path, known[d].dialect, &out), PADA_OK);
            snprintf(text, sizeof text, "%s", pada_text_str(&out));
            pada_text_deinit(&out);
            mutate(text, &rng);
            if (pada_nb201_parse(&space, text, known[d].dialect, &parsed) != PADA_OK) {
                assert_true(strlen(pada_message()) > 0);
                assert_null(strchr(pada_message(), '\n'));
                n_refused++;
                continue;
            }
            assert_int_equal(pada_nb201_format(&space, &parsed, known[d].dialect, &out), PADA_OK);
            squeeze(theirs, text, d == 1 || d == 2);
            squeeze(mine, pada_text_str(&out), d == 1 || d == 2);
            assert_string_equal(mine, theirs);
            if (d == 0) assert_string_equal(pada_text_str(&out), text);
            pada_text_deinit(&out);
            n_parsed++;
        }
    }
    /* Both sides were visited: digits replaced by digits parse, most else does not. */
    assert_true(n_parsed > 500);
    assert_true(n_refused > 50000);
}

static void test_lack_of_memory_is_reported(void **state)
{
    const pada_space space = nb201_space(NULL);
    const pada_path path = cell_at(0);

    (void)state;
    for (int d = 0; d < N_KNOWN; d++) {
        pada_text out = {0};

        pada_mem_fail_after(0);
        assert_int_equal(pada_nb201_format(&space, &path, known[d].dialect, &out), PADA_ENOMEM);
        pada_mem_fail_after(-1);
        pada_text_deinit(&out);
        /* Nor is it taken for a wrong text. */
        pada_status st = PADA_ENOMEM;
        for (int64_t n = 0; st != PADA_OK; n++) {
            pada_path parsed;
            pada_mem_fail_after(n);
            st = pada_nb201_parse(&space, known[d].text, known[d].dialect, &parsed);
            pada_mem_fail_after(-1);
            assert_true(st == PADA_OK || st == PADA_ENOMEM);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_texts),
        cmocka_unit_test(test_naslib_has_its_own_numbers_and_edges),
        cmocka_unit_test(test_accepted_ways_to_write_the_same),
        cmocka_unit_test(test_round_trip_of_all_cells_in_all_dialects),
        cmocka_unit_test(test_dialects_are_recognised_unless_ambiguous),
        cmocka_unit_test(test_refusals_name_the_token_and_the_place),
        cmocka_unit_test(test_hostile_texts_parse_to_what_they_say_or_not_at_all),
        cmocka_unit_test(test_lack_of_memory_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
