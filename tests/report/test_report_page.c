/* test_report_page.c - a page of a small run when memory ends at any place: no crash, no leak. What is
 * in a page is looked at by tests/cli/test_report.sh. */
#include "base/scratch.h"
#include "report/report.h"
#include "report/report_assets.h"

#define A "|none~0|+|none~0|none~1|+|skip_connect~0|none~1|none~2|"
#define B "|none~0|+|none~0|none~1|+|nor_conv_1x1~0|none~1|none~2|"
#define C "|none~0|+|none~0|none~1|+|nor_conv_3x3~0|none~1|none~2|"

static pada_space space;

static void write_text(const char *name, const char *text)
{
    scratch_write(scratch_path(name), text, strlen(text));
}

static pada_status make_page(void)
{
    static const char table[] = "arch,t\n" A ",1\n" B ",2\n" C ",3\n";
    const char *runs[] = {scratch_dir, scratch_dir};
    pada_text page = {0};
    pada_truth *truth = NULL;
    const double *values = NULL;
    pada_status st = pada_truth_read(&truth, &space, "table", table, sizeof table - 1, NULL);

    if (st == PADA_OK) st = pada_truth_column(truth, "t", &values);
    if (st == PADA_OK)
        st = pada_report_page(&(pada_report_desc){.space = &space,
                                                  .runs = runs,
                                                  .n_runs = 2,
                                                  .truth = truth,
                                                  .truth_file = "table",
                                                  .truth_column = "t",
                                                  .truths = values,
                                                  .replicates = 3,
                                                  .n_threads = 1,
                                                  .version = "1"},
                              &page);
    if (st == PADA_OK) assert_non_null(strstr(page.data, "</html>\n"));
    pada_truth_close(truth);
    pada_text_deinit(&page);
    return st;
}

static void test_out_of_memory(void **state)
{
    const pada_space_ops *ops;

    (void)state;
    if (pada_chart_js_bytes == 0) skip();
    assert_ok(pada_space_find(&ops, "nb201"));
    assert_ok(pada_space_init(&space, ops, &(pada_space_config){0}));
    write_text("ranking.csv", "arch,score\n" A ",2\n" B ",1\n" C ",3\n");
    write_text("config.yaml", "method: \"spos\"\nlr: 0.1\n");
    write_text("env.json", "{\"backend\": \"ref\"}\n");
    write_text("metrics.csv", "epoch,loss,p_a,weights_hash,warnings\n0,2,1,ab,coverage\n1,1,1\n");
    assert_survives_oom(make_page(), );
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_out_of_memory)};

    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
