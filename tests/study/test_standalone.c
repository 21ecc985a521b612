/* test_standalone.c - truth tables by training alone: right values, and the same however they were
 * interrupted. */
#include "base/scratch.h"

#include "check.h"
#include "strategy/strategy_single.h"
#include "study/score_table.h"
#include "study/standalone.h"
#include "train/trainer.h"

#include "train/tiny_engine.h"

enum { EPOCHS = 2, BATCH = 16, STEPS = EPOCHS * 3 /* 16, 16, 12 */, N_PATHS = 4, N_FORMS = 3 };

static tiny_data data;
static pada_space space;
static pada_engine *engine;
static pada_evaluator *evaluator;
static const pada_recipe recipe = {
    .epochs = EPOCHS, .batch_size = BATCH, .lr = 0.1, .momentum = 0.9, .augment = true, .seed = 5};

/* The second and the third have a dead edge and compute the same. */
static const pada_path paths[N_PATHS] = {
    {{3, 1, 2, 1, 3, 1}}, {{0, 0, 3, 1, 0, 0}}, {{0, 0, 4, 1, 2, 0}}, {{2, 0, 0, 3, 1, 0}}};

static int open_all(void **state)
{
    const pada_backend *backend;

    tiny_data_init(&data);
    CHECK_OK(pada_backend_find(&backend, "cpu"));
    engine = tiny_engine(&space, backend, 1, BATCH);
    CHECK_OK(pada_evaluator_create(
        &evaluator,
        &(pada_evaluator_desc){.data = &data.base, .split = PADA_SPLIT_TEST, .batch_size = 10}));
    return scratch_setup(state);
}

static int close_all(void **state)
{
    pada_evaluator_destroy(evaluator);
    pada_engine_destroy(engine);
    return scratch_teardown(state);
}

/* ---- running ---- */

static int n_trained; /* by the last call */

static void count_training(void *user, const pada_standalone_progress *progress)
{
    (void)user;
    n_trained++;
    assert_true(progress->n_done <= progress->n_total);
    assert_true(progress->seconds_left >= -1e-6);
    assert_in_range(progress->seed, 5, 6);
}

static pada_standalone_desc describe(const char *folder, int n_paths, int n_seeds)
{
    n_trained = 0;
    return (pada_standalone_desc){.engine = engine,
                                  .data = &data.base,
                                  .evaluator = evaluator,
                                  .recipe = &recipe,
                                  .n_seeds = n_seeds,
                                  .paths = paths,
                                  .n_paths = n_paths,
                                  .column = "tiny",
                                  .folder = folder,
                                  .progress = count_training};
}

static pada_status run(const char *folder, int n_paths, int n_seeds)
{
    const pada_standalone_desc desc = describe(folder, n_paths, n_seeds);

    CHECK_OK(pada_make_dirs(folder));
    return pada_standalone_run(&desc);
}

static pada_score_table *read_table(const char *folder)
{
    pada_score_table *table;
    char path[1300];

    snprintf(path, sizeof path, "%s/truth.csv", folder);
    CHECK_OK(pada_score_table_open(&table, &space, path));
    return table;
}

static void assert_same_table(const char *folder, const char *other)
{
    pada_file file = {0};
    char path[1300];

    snprintf(path, sizeof path, "%s/truth.csv", folder);
    CHECK_OK(pada_file_open(&file, path));
    snprintf(path, sizeof path, "%s/truth.csv", other);
    assert_file_holds(path, file.data, file.bytes);
    pada_file_close(&file);
}

/* Percent of the test images after a training that has nothing to do with standalone.c. */
static double train_one(const pada_path *path, uint64_t seed)
{
    pada_text arch = {0};
    pada_evaluation found;
    pada_recipe with_seed = recipe;

    CHECK_OK(space.ops->format(&space, path, NULL, &arch));
    with_seed.seed = seed;
    CHECK_OK(pada_train(&(pada_train_desc){.engine = engine,
                                           .data = &data.base,
                                           .recipe = &with_seed,
                                           .strategy = &pada_strategy_single,
                                           .settings = &(pada_single_settings){arch.data}}));
    CHECK_OK(pada_evaluator_run(evaluator, engine, path, NULL, &found));
    pada_text_deinit(&arch);
    return 100.0 * found.top1 / found.n_images;
}

/* What was told: warnings, and where trainings went on. */
typedef struct told {
    int notes, resumed;
} told;

static void count_note(void *user, const char *text)
{
    (void)text;
    ((told *)user)->notes++;
}

static void count_resumed(void *user, const char *text)
{
    (void)text;
    ((told *)user)->resumed++;
}

/* ---- tests ---- */

static void test_values(void **state)
{
    const double *mean, *first, *second;

    (void)state;
    CHECK_OK(run(scratch_path("values"), N_PATHS, 2));
    assert_int_equal(n_trained, 2 * N_FORMS);
    pada_score_table *table = read_table(scratch_path("values"));
    assert_int_equal(pada_score_table_count(table), N_PATHS);
    assert_int_equal(pada_score_table_n_columns(table), 3);
    CHECK_OK(pada_score_table_column(table, "tiny", &mean));
    CHECK_OK(pada_score_table_column(table, "tiny_5", &first));
    CHECK_OK(pada_score_table_column(table, "tiny_6", &second));
    for (int i = 0; i < N_PATHS; i++) {
        assert_true(pada_path_equal(&space, pada_score_table_path(table, i), &paths[i]));
        CHECK_CLOSE(first[i], train_one(&paths[i], 5), 1e-9);
        CHECK_CLOSE(second[i], train_one(&paths[i], 6), 1e-9);
        CHECK_CLOSE(mean[i], (first[i] + second[i]) / 2, 1e-4);
    }
    assert_true(first[0] != second[0] || first[3] != second[3]); /* seeds matter */
    pada_score_table_close(table);
    assert_false(pada_path_exists(scratch_path("values/training")));
}

/* One seed has no columns of its own. */
static void test_one_seed(void **state)
{
    (void)state;
    CHECK_OK(run(scratch_path("one"), 1, 1));
    pada_score_table *table = read_table(scratch_path("one"));
    assert_int_equal(pada_score_table_n_columns(table), 1);
    assert_string_equal(pada_score_table_column_name(table, 0), "tiny");
    pada_score_table_close(table);
}

static volatile sig_atomic_t stop_now;

/* Every call may do one step more and is then stopped: the slowest way to the same table. */
static void test_stopped_at_every_step(void **state)
{
    told n_told = {0};
    int n_calls = 0;
    pada_status st;

    (void)state;
    CHECK_OK(run(scratch_path("at-once"), N_PATHS, 1));
    CHECK_OK(pada_make_dirs(scratch_path("by-step")));
    stop_now = 1;
    do {
        pada_standalone_desc desc = describe(scratch_path("by-step"), N_PATHS, 1);
        desc.stop = &stop_now;
        desc.user = &n_told;
        desc.note = count_note;
        desc.resumed = count_resumed;
        st = pada_standalone_run(&desc);
        assert_true(++n_calls < 100);
        assert_true(st == PADA_OK || st == PADA_ESTOPPED);
        if (st != PADA_OK) assert_false(pada_path_exists(scratch_path("by-step/truth.csv")));
    } while (st != PADA_OK);
    /* The last step of a training is not stopped at; the next training begins at once or not. */
    assert_in_range(n_calls, N_FORMS * (STEPS - 1), N_FORMS * (STEPS + 1));
    assert_same_table(scratch_path("at-once"), scratch_path("by-step"));
    assert_true(n_told.resumed > N_FORMS);
    assert_int_equal(n_told.notes, 0); /* going on is no warning */
}

/* A time limit stops as well, and each call gets on. */
static void test_time_limit(void **state)
{
    pada_status st;
    int n_calls = 0;

    (void)state;
    CHECK_OK(run(scratch_path("whole"), 2, 1));
    CHECK_OK(pada_make_dirs(scratch_path("limited")));
    do {
        pada_standalone_desc desc = describe(scratch_path("limited"), 2, 1);
        desc.max_seconds = 1e-9;
        st = pada_standalone_run(&desc);
        assert_true(++n_calls < 100);
    } while (st == PADA_ESTOPPED);
    assert_int_equal(st, PADA_OK);
    assert_true(n_calls > 2);
    assert_same_table(scratch_path("whole"), scratch_path("limited"));
}

/* Networks and seeds may be added; what is there is not trained again. */
static void test_grows(void **state)
{
    (void)state;
    CHECK_OK(run(scratch_path("grows"), 1, 1));
    assert_int_equal(n_trained, 1);
    CHECK_OK(run(scratch_path("grows"), N_PATHS, 1));
    assert_int_equal(n_trained, N_FORMS - 1);
    CHECK_OK(run(scratch_path("grows"), N_PATHS, 2));
    assert_int_equal(n_trained, N_FORMS);
    CHECK_OK(run(scratch_path("grows"), N_PATHS, 2));
    assert_int_equal(n_trained, 0);
    CHECK_OK(run(scratch_path("grown"), N_PATHS, 2));
    assert_same_table(scratch_path("grows"), scratch_path("grown"));
    CHECK_OK(run(scratch_path("grows"), 1, 1)); /* and fewer again */
    assert_int_equal(n_trained, 0);
    pada_score_table *table = read_table(scratch_path("grows"));
    assert_int_equal(pada_score_table_count(table), 1);
    pada_score_table_close(table);
}

/* A file of results without its last line, which `end` replaces. */
static void write_damaged(const pada_file *good, const char *end, pada_text *text)
{
    const char *last = (const char *)good->data + good->bytes - 1;

    while (last[-1] != '\n')
        last--;
    pada_text_deinit(text);
    *text = (pada_text){0};
    pada_text_add(text, "%.*s%s", (int)(last - (const char *)good->data), (const char *)good->data,
                  end);
    CHECK_OK(pada_make_dirs(scratch_path("mended")));
    scratch_write(scratch_path("mended/results.csv"), text->data, text->length);
}

/* The last line of a killed process is done again. */
static void test_torn_results(void **state)
{
    pada_file file = {0};
    pada_text text = {0};

    (void)state;
    CHECK_OK(run(scratch_path("torn"), N_PATHS, 1));
    CHECK_OK(pada_file_open(&file, scratch_path("torn/results.csv")));
    write_damaged(&file, "|nor_conv", &text);
    CHECK_OK(run(scratch_path("mended"), N_PATHS, 1));
    assert_int_equal(n_trained, 1);
    assert_same_table(scratch_path("torn"), scratch_path("mended"));
    assert_file_holds(scratch_path("mended/results.csv"), file.data, file.bytes);
    pada_text_deinit(&text);
    pada_file_close(&file);
}

/* Lines that no process wrote are refused; the trainings behind them are not thrown away. */
static void test_impossible_results(void **state)
{
#define ARCH "|none~0|+|none~0|none~1|+|none~0|none~1|none~2|"
    static const struct {
        const char *line, *message;
    } bad[] = {
        {"\n", "character 1"},
        {"|none~0|,5,3,16\n", "found the end"},
        {ARCH ",5,17,16\n", "17 correct of 16 images"},
        {ARCH ",5,-1,16\n", "correct images: -1 is outside 0"},
        {ARCH ",5,0,0\n", "images: 0 is outside 1"},
        {ARCH ",-5,3,16\n", "seed: "},
        {ARCH ",5,3\n", "too few columns"},
        {ARCH ",5,3,16,1\n", "too many columns"},
    };
    pada_file file = {0};
    pada_text text = {0};

    (void)state;
    CHECK_OK(run(scratch_path("torn"), N_PATHS, 1));
    CHECK_OK(pada_file_open(&file, scratch_path("torn/results.csv")));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        write_damaged(&file, bad[i].line, &text);
        assert_int_equal(run(scratch_path("mended"), N_PATHS, 1), PADA_EDATA);
        assert_int_equal(n_trained, 0);
        assert_non_null(strstr(pada_message(), "mended/results.csv:4: "));
        assert_non_null(strstr(pada_message(), bad[i].message));
        assert_file_holds(scratch_path("mended/results.csv"), text.data, text.length);
    }
    pada_text_deinit(&text);
    pada_file_close(&file);
}

static void test_foreign_results(void **state)
{
    char message[1400];

    (void)state;
    CHECK_OK(pada_make_dirs(scratch_path("foreign")));
    scratch_write(scratch_path("foreign/results.csv"), "arch,score\n", 11);
    snprintf(message, sizeof message, "%s:1: not results of `pada truth`",
             scratch_path("foreign/results.csv"));
    assert_fails(run(scratch_path("foreign"), 1, 1), PADA_EDATA, message);
    assert_file_holds(scratch_path("foreign/results.csv"), "arch,score\n", 11);
}

/* Everything but the training itself, which has a test of its own. */
static void test_oom(void **state)
{
    (void)state;
    CHECK_OK(run(scratch_path("oom"), N_PATHS, 1));
    const pada_standalone_desc desc = describe(scratch_path("oom"), N_PATHS, 1);
    assert_survives_oom(pada_standalone_run(&desc), (void)0);
    assert_int_equal(n_trained, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_one_seed),
        cmocka_unit_test(test_stopped_at_every_step),
        cmocka_unit_test(test_time_limit),
        cmocka_unit_test(test_grows),
        cmocka_unit_test(test_torn_results),
        cmocka_unit_test(test_impossible_results),
        cmocka_unit_test(test_foreign_results),
        cmocka_unit_test(test_oom),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
