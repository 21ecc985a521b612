/* test_report_page.c - a page of a small run when memory ends at any place: no crash, no leak, and never a
 * page that lacks something. What is in a page is looked at by tests/cli/test_report.sh. */
#include "base/scratch.h"
#include "report/report.h"
#include "report/report_assets.h"

#define A "|none~0|+|none~0|none~1|+|skip_connect~0|none~1|none~2|"
#define B "|none~0|+|none~0|none~1|+|nor_conv_1x1~0|none~1|none~2|"
#define C "|none~0|+|none~0|none~1|+|nor_conv_3x3~0|none~1|none~2|"

static pada_space space;
static pada_text whole; /* the page, made with enough memory */

/* ---- failing malloc ----
 *
 * Libraries (YAML, the C library itself) do not ask base/mem.h. Without sanitizers, which have a malloc of their
 * own, this program's malloc is theirs too. */
#if defined __GLIBC__ && !defined __SANITIZE_ADDRESS__
#define CAN_FAIL 1
static int64_t malloc_countdown = -1; /* the allocation that fails; -1: none */

static bool fails(void)
{
    return malloc_countdown >= 0 && malloc_countdown-- == 0;
}

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);
PADA_API void *malloc(size_t bytes);
PADA_API void *calloc(size_t n, size_t bytes);
PADA_API void *realloc(void *memory, size_t bytes);

void *malloc(size_t bytes)
{
    return fails() ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t n, size_t bytes)
{
    return fails() ? NULL : __libc_calloc(n, bytes);
}

void *realloc(void *memory, size_t bytes)
{
    return fails() ? NULL : __libc_realloc(memory, bytes);
}
#else
#define CAN_FAIL 0
static int64_t malloc_countdown = -1;
#endif

static bool was_spared; /* no allocation of the last page has failed */

/* ---- pages ---- */

static void write_text(const char *name, const char *text)
{
    scratch_write(scratch_path(name), text, strlen(text));
}

static pada_status make_page(void)
{
    static const char table[] = "arch,t\n" A ",1\n" B ",2\n" C ",3\n";
    const char *runs[] = {scratch_dir, scratch_dir};
    pada_text page = {0};
    pada_score_table *truth = NULL;
    const double *values = NULL;
    pada_status st = pada_score_table_read(&truth, &space, "table", table, sizeof table - 1, NULL);

    if (st == PADA_OK) st = pada_score_table_column(truth, "t", &values);
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
    was_spared = malloc_countdown >= 0;
    malloc_countdown = -1;
    if (st == PADA_OK && whole.length == 0) pada_text_add(&whole, "%s", page.data);
    if (st == PADA_OK) assert_true(strcmp(page.data, whole.data) == 0); /* too long to print */
    pada_score_table_close(truth);
    pada_text_deinit(&page);
    return st;
}

/* What a search and a test of a network leave behind. */
static void write_searches(void)
{
    static const char share[] = "{\"percent\": 50, \"low\": 20, \"high\": 80}";
    char test[1000];

    snprintf(test, sizeof test,
             "{\"split\": \"test\", \"images\": 2, \"last\": {\"top1\": 50, \"top1_lo\": 20, "
             "\"top1_hi\": 80, \"top5\": 99, \"top5_lo\": 90, \"top5_hi\": 100, \"loss\": 1, "
             "\"classes\": [{\"class\": 0, \"name\": \"cat\", \"images\": 2, \"given\": 2, "
             "\"recall\": %s, \"precision\": %s}]}}\n",
             share, share);
    write_text("test.json", test);
    write_text("confusion.csv", "label,\"cat\"\n\"cat\",2\n");
    if (pada_make_dirs(scratch_path("search")) != PADA_OK) return;
    write_text("search/best.csv", "rank,arch,top1,loss,macs,params,latency\n1," C ",30,1,9,2,\n2," A
                                  ",20,1,8,1,0.5\n");
    write_text("search/front.csv", "rank,arch,top1,loss,macs,params,latency\n1," A ",20,1,8,1,\n");
    write_text("search/history.csv",
               "evaluation,generation,arch,top1,best_so_far\n1,0," A ",20,20\n2,0," C ",30,30\n");
}

static void write_probes(void)
{
    if (pada_make_dirs(scratch_path("probes")) != PADA_OK) return;
    write_text("probes/trainability.csv",
               "epoch,step,checkpoint,draws,exact,paths,images,seed,uniform,uniform_lower,"
               "uniform_upper,run,run_lower,run_upper,anneal,anneal_lower,anneal_upper\n"
               "1,2,ab,1,1,1,1,0,2,1,3,2,1,3,2,1,3\n2,4,cd,1,1,1,1,0,3,1,3,2,1,3,,,\n");
}

static int setup(void **state)
{
    const pada_space_ops *ops;

    if (scratch_setup(state) != 0) return -1;
    if (pada_space_find(&ops, "nb201") != PADA_OK) return -1;
    if (pada_space_init(&space, ops, &(pada_space_config){0}) != PADA_OK) return -1;
    write_text("ranking.csv", "arch,score,images\n" A ",20,10\n" B ",10,10\n" C ",30,10\n");
    write_text("config.yaml",
               "method: \"spos\"\nlr: 0.1\nchannels: 4\ncells: 1\nclasses: 3\nimage-size: 8\n");
    write_text("env.json", "{\"backend\": \"ref\"}\n");
    write_text("metrics.csv", "epoch,loss,p_a,weights_hash,warnings\n0,2,1,ab,coverage\n1,1,1\n");
    write_searches();
    write_probes();
    if (pada_chart_js_bytes > 0 && make_page() != PADA_OK) return -1;
    return 0;
}

static int teardown(void **state)
{
    pada_text_deinit(&whole);
    return scratch_teardown(state);
}

static void test_out_of_memory(void **state)
{
    (void)state;
    if (pada_chart_js_bytes == 0) skip();
    assert_survives_oom(make_page(), );
}

/* The same with all of malloc. */
static void test_malloc_fails(void **state)
{
    const int64_t live_before = pada_mem_live();
    int n_failed = 0;

    (void)state;
    if (pada_chart_js_bytes == 0 || !CAN_FAIL) skip();
    for (was_spared = false; !was_spared; n_failed++) {
        malloc_countdown = n_failed;
        const pada_status st = make_page();
        if (st != PADA_OK) assert_non_null(strstr(pada_message(), "emory"));
        assert_int_equal(pada_mem_live(), live_before);
    }
    const int64_t count_before = pada_mem_count();
    assert_ok(make_page());
    assert_true(n_failed > pada_mem_count() - count_before); /* libraries were among them */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_malloc_fails),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
