/* test_search_log.c - the files of a search: what is read of them, and what is refused. */
#include "study/search_log.h"

#include <math.h>

#include "base/scratch.h"
#include "check.h"
#include "space/nb201_cells.h"

#define A       "|none~0|+|none~0|none~1|+|skip_connect~0|none~1|none~2|"
#define B       "|none~0|+|none~0|none~1|+|nor_conv_1x1~0|none~1|none~2|"
#define BEST    "rank,arch,top1,loss,macs,params,latency\n"
#define SCORED  "rank,arch,top1,loss,macs,params,latency,score\n"
#define HISTORY "evaluation,generation,arch,top1,best_so_far\n"

static pada_space space;

static int setup(void **state)
{
    space = nb201_space(NULL);
    return scratch_setup(state);
}

/* NULL: no such file. */
static void put(const char *name, const char *text)
{
    assert_ok(pada_remove_tree(scratch_path(name)));
    if (text) scratch_write(scratch_path(name), text, strlen(text));
}

static void put_all(const char *best, const char *front, const char *history)
{
    put("best.csv", best);
    put("front.csv", front);
    put("history.csv", history);
}

static void test_read(void **state)
{
    pada_search_log log = {0};
    pada_path a;

    (void)state;
    put_all(BEST "1," A ",45.5,1.25,400,30,\n2," B ",10,2,100,20,0.5\n",
            BEST "1," B ",10,2,100,20,0.5\n", HISTORY "1,0," B ",10,10\n2,1," A ",45.5,45.5\n");
    assert_ok(pada_search_log_read(&log, &space, scratch_dir));
    assert_int_equal(log.best.n, 2);
    assert_int_equal(log.front.n, 1);
    assert_int_equal(log.history.n, 2);
    assert_ok(space.ops->parse(&space, A, NULL, &a));
    assert_true(pada_path_equal(&space, &log.best.rows[0].path, &a));
    CHECK_CLOSE(log.best.rows[0].top1, 45.5, 0);
    CHECK_CLOSE(log.best.rows[0].loss, 1.25, 0);
    CHECK_CLOSE(log.best.rows[0].macs, 400, 0);
    CHECK_CLOSE(log.best.rows[0].params, 30, 0);
    assert_true(isnan(log.best.rows[0].latency));
    CHECK_CLOSE(log.front.rows[0].latency, 0.5, 0);
    assert_true(pada_path_equal(&space, &log.history.rows[1].path, &a));
    CHECK_CLOSE(log.history.rows[0].best_so_far, 10, 0);
    assert_true(isnan(log.history.rows[0].macs));
    pada_search_log_deinit(&log);
}

static void test_missing(void **state)
{
    pada_search_log log = {0};

    (void)state;
    put_all(NULL, "nonsense", NULL);
    assert_ok(pada_search_log_read(&log, &space, scratch_dir));
    assert_int_equal(log.best.n, 0);
    put_all(BEST "1," A ",45.5,1,1,1,\n", NULL, NULL);
    assert_ok(pada_search_log_read(&log, &space, scratch_dir));
    assert_int_equal(log.best.n, 1);
    assert_int_equal(log.front.n + log.history.n, 0);
    pada_search_log_deinit(&log);

    /* of several runs, or with a prior */
    put_all(SCORED "1," A ",45.5,1,1,1,,1.25\n", SCORED "1," A ",45.5,1,1,1,,1.25\n", NULL);
    assert_ok(pada_search_log_read(&log, &space, scratch_dir));
    assert_int_equal(log.best.n, 1);
    CHECK_CLOSE(log.best.rows[0].top1, 45.5, 0);
    pada_search_log_deinit(&log);
}

static void refuse(const char *best, const char *front, const char *history, const char *message)
{
    pada_search_log log = {0};

    put_all(best, front, history);
    assert_int_equal(pada_search_log_read(&log, &space, scratch_dir), PADA_EDATA);
    assert_non_null(strstr(pada_message(), message));
    pada_search_log_deinit(&log);
}

static void test_refused(void **state)
{
    static const char good[] = BEST "1," A ",45.5,1,1,1,\n";

    (void)state;
    refuse("", NULL, NULL, "best.csv: empty");
    refuse(BEST, NULL, NULL, "best.csv: no networks");
    refuse("rank,arch\n", NULL, NULL, "best.csv:1: ");
    refuse(HISTORY "1,0," A ",1,1\n", NULL, NULL,
           "best.csv:1: column 'evaluation' instead of rank");
    refuse(BEST "1," A ",45.5,1,1,1,", NULL, NULL, "best.csv:2: cut short");
    refuse(BEST "1," A ",45.5,1,1,1\n", NULL, NULL, "best.csv:2: ");
    refuse(BEST "1," A ",,1,1,1,\n", NULL, NULL, "best.csv:2: top1");
    refuse(BEST "1," A ",nan,1,1,1,\n", NULL, NULL, "best.csv:2: top1");
    refuse(BEST "1," A ",45.5,1,1,1,,1.25\n", NULL, NULL, "best.csv:2: ");
    refuse(SCORED "1," A ",45.5,1,1,1,\n", NULL, NULL, "best.csv:2: ");
    refuse(SCORED "1," A ",45.5,1,1,1,,x\n", NULL, NULL, "best.csv:2: score");
    refuse(BEST "1,nothing,1,1,1,1,\n", NULL, NULL, "best.csv:2: 'nothing' is no network");
    refuse(good, BEST "1," A ",1,1,1,1,\n2," B ",1,1,1,1,\n", NULL,
           "front.csv: 2 networks, best.csv has 1");
    refuse(good, good, HISTORY "1,0," A ",1,1\n2,0," B ",1,1\n",
           "history.csv: 2 networks, best.csv has 1");
    refuse(good, good, good, "history.csv:1: column 'rank' instead of evaluation");
}

static pada_status read_once(void)
{
    pada_search_log log = {0};
    const pada_status st = pada_search_log_read(&log, &space, scratch_dir);

    pada_search_log_deinit(&log);
    return st;
}

static void test_memory(void **state)
{
    (void)state;
    put_all(BEST "1," A ",45.5,1,1,1,\n", NULL, HISTORY "1,0," A ",1,1\n");
    assert_survives_oom(read_once(), (void)0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read),
        cmocka_unit_test(test_missing),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, setup, scratch_teardown);
}
