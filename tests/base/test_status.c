/* test_status.c - messages, exit codes. */
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/hash.h"
#include "base/scratch.h"
#include "base/status.h"
#include "base/threads.h"

static void message_is_empty_before_the_first_failure(void **state)
{
    (void)state;
    assert_string_equal(pada_message(), "");
}

static void fail_returns_the_status_and_keeps_the_message(void **state)
{
    (void)state;
    assert_fails(PADA_FAIL(PADA_EDATA, "%s: byte %d", "a.bin", 7), PADA_EDATA, "a.bin: byte 7");
}

static void message_may_quote_the_previous_one(void **state)
{
    (void)state;
    (void)PADA_FAIL(PADA_EIO, "inner");
    assert_fails(PADA_FAIL(PADA_EIO, "outer: %s", pada_message()), PADA_EIO, "outer: inner");
}

static void message_stays_one_printable_line(void **state)
{
    (void)state;
    assert_fails(PADA_FAIL(PADA_EDATA, "a\nb\x1b[31m\x7f"), PADA_EDATA, "a?b?[31m?");
}

static void long_message_is_cut_visibly(void **state)
{
    char text[5000];

    (void)state;
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    (void)PADA_FAIL(PADA_EDATA, "%s", text);
    const size_t n = strlen(pada_message());
    assert_true(n > 500 && n < sizeof text);
    assert_string_equal(pada_message() + n - 4, "x...");
}

static void *fail_elsewhere(void *user)
{
    (void)user;
    (void)PADA_FAIL(PADA_EIO, "theirs");
    return NULL;
}

static void message_belongs_to_the_thread(void **state)
{
    pthread_t thread;

    (void)state;
    (void)PADA_FAIL(PADA_EIO, "ours");
    assert_int_equal(pthread_create(&thread, NULL, fail_elsewhere, NULL), 0);
    pthread_join(thread, NULL);
    assert_string_equal(pada_message(), "ours");
}

static void exit_codes_are_those_of_the_manual(void **state)
{
    static const int codes[] = {
        [PADA_OK] = 0,       [PADA_EINVAL] = 2,       [PADA_EDATA] = 65, [PADA_ENOENT] = 66,
        [PADA_EDEVICE] = 69, [PADA_ESTOPPED] = 75,    [PADA_ENOMEM] = 1, [PADA_EIO] = 1,
        [PADA_ENUMERIC] = 1, [PADA_EUNSUPPORTED] = 1,
    };

    (void)state;
    for (int i = 0; i <= PADA_EUNSUPPORTED; i++)
        assert_int_equal(pada_status_exit_code((pada_status)i), codes[i]);
    assert_int_equal(pada_status_exit_code((pada_status)1000), 1);
}

static pada_status try_twice(pada_status first, int *reached)
{
    PADA_TRY(first);
    *reached = 1;
    return PADA_OK;
}

static void try_passes_failures_up(void **state)
{
    int reached = 0;

    (void)state;
    assert_int_equal(try_twice(PADA_EIO, &reached), PADA_EIO);
    assert_int_equal(reached, 0);
    assert_int_equal(try_twice(PADA_OK, &reached), PADA_OK);
    assert_int_equal(reached, 1);
}

/* Frozen: streams of random numbers and hashes in old metrics depend on them. The values are XXH3's
 * own. */
static void hash_never_changes(void **state)
{
    (void)state;
    assert_true(pada_hash(NULL, 0, 0) == 0x2d06800538d394c2u);
    assert_true(pada_hash("path", 4, 0) == pada_hash("pathology", 4, 0));
    assert_true(pada_hash("path", 4, 0) != pada_hash("path", 4, 1));
    assert_true(pada_hash("path", 4, 0) != pada_hash("init", 4, 0));
}

static void threads_follow_the_environment(void **state)
{
    static const struct {
        const char *text;
        int expected; /* 0: as without the variable */
    } cases[] = {{"3", 3},  {"4,2", 4}, {" 5 ", 5},
                 {"0", 0},  {"-2", 0},  {"x", 0},
                 {"3x", 0}, {"", 0},    {"99999999999999999999", 0}};

    (void)state;
    unsetenv("OMP_NUM_THREADS");
    const int machine = pada_threads_default();
    assert_true(machine >= 1 && machine <= sysconf(_SC_NPROCESSORS_CONF));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        setenv("OMP_NUM_THREADS", cases[i].text, 1);
        assert_int_equal(pada_threads_default(), cases[i].expected ? cases[i].expected : machine);
    }
    unsetenv("OMP_NUM_THREADS");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(message_is_empty_before_the_first_failure),
        cmocka_unit_test(fail_returns_the_status_and_keeps_the_message),
        cmocka_unit_test(message_may_quote_the_previous_one),
        cmocka_unit_test(message_stays_one_printable_line),
        cmocka_unit_test(long_message_is_cut_visibly),
        cmocka_unit_test(message_belongs_to_the_thread),
        cmocka_unit_test(exit_codes_are_those_of_the_manual),
        cmocka_unit_test(try_passes_failures_up),
        cmocka_unit_test(hash_never_changes),
        cmocka_unit_test(threads_follow_the_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
