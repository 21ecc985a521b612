/* test_ranking.c - rankings against single evaluations, and interrupted ones against whole ones. */
#include "study/ranking_fixture.h"

#include <math.h>

#include "check.h"

/* Every row is what the evaluation of that very path gives, dead edges and all. */
static void test_rows(void **state)
{
    const fixture *f = *state;
    const char *out = scratch_path("ranking.csv");
    watch w = {.stop_after = -1};
    pada_text expected = {0};
    char number[40];

    assert_ok(rank(f, out, &w));
    assert_int_equal(w.n_evaluated, N_FORMS);
    assert_int_equal(w.last_done, N_FORMS);
    assert_int_equal(w.last_total, N_FORMS);
    assert_string_equal(w.note, "");
    assert_int_equal(scratch_count(), 1); /* no partial file */

    pada_file file;
    assert_ok(pada_file_open(&file, out));
    pada_text_add_bytes(&expected, file.data, file.bytes);
    pada_file_close(&file);
    const char *line = pada_text_str(&expected);
    assert_int_equal(strncmp(line, "arch,score,correct,images,loss\n", 31), 0);
    for (int i = 0; i < N_PATHS; i++) {
        pada_text row = {0};
        pada_evaluation one;

        line = strchr(line, '\n') + 1;
        assert_ok(pada_evaluator_run(f->workers[0].evaluator, f->workers[0].engine, &paths[i], NULL,
                                     &one));
        assert_ok(f->space.ops->format(&f->space, &paths[i], NULL, &row));
        snprintf(number, sizeof number, ",%d,%d,", one.top1, N_IMAGES);
        assert_int_equal(strncmp(line, row.data, row.length), 0);
        CHECK_CLOSE(strtod(line + row.length + 1, NULL), 100.0 * one.top1 / N_IMAGES, 0);
        const char *rest = strchr(line + row.length + 1, ',');
        assert_int_equal(strncmp(rest, number, strlen(number)), 0);
        CHECK_CLOSE(strtod(rest + strlen(number), NULL), one.loss, 0);
        pada_text_deinit(&row);
    }
    assert_string_equal(strchr(line, '\n'), "\n");
    pada_text_deinit(&expected);
}

static void test_goes_on_after_every_network(void **state)
{
    const fixture *f = *state;
    const char *whole = scratch_path("whole.csv"), *out = scratch_path("ranking.csv");
    watch w = {.stop_after = -1};

    assert_ok(rank(f, whole, &w));
    for (int k = 0; k < N_FORMS; k++) {
        w.stop_after = k;
        assert_int_equal(rank(f, out, &w), PADA_ESTOPPED);
        assert_int_equal(w.n_evaluated, k);
        assert_false(pada_path_exists(out));
        w.stop_after = -1;
        assert_ok(rank(f, out, &w));
        assert_int_equal(w.n_evaluated, N_FORMS - k);
        assert_int_equal(w.last_done, N_FORMS);
        assert_non_null(strstr(w.note, "ranking.csv.partial: going on after"));
        assert_same_file(out, whole);
        unlink(out);
        assert_int_equal(scratch_count(), 1);
    }
    /* In many small steps. */
    w.stop_after = 1;
    for (int k = 1; k <= N_FORMS - 1; k++)
        assert_int_equal(rank(f, out, &w), PADA_ESTOPPED);
    assert_ok(rank(f, out, &w));
    assert_same_file(out, whole);
}

/* The partial file cut anywhere: what is whole counts, the rest is done again. */
static void test_torn_files(void **state)
{
    const fixture *f = *state;
    const char *whole = scratch_path("whole.csv"), *out = scratch_path("ranking.csv");
    const char *partial = scratch_path("ranking.csv.partial");
    watch w = {.stop_after = -1};
    static char bytes[8192];
    pada_file file;

    assert_ok(rank(f, whole, &w));
    w.stop_after = N_FORMS - 1;
    assert_int_equal(rank(f, out, &w), PADA_ESTOPPED);
    assert_ok(pada_file_open(&file, partial));
    const size_t n = file.bytes;
    assert_in_range(n, 1, sizeof bytes);
    memcpy(bytes, file.data, n);
    pada_file_close(&file);

    w.stop_after = -1;
    for (size_t cut = 0; cut <= n; cut += cut + 3 >= n || cut < 3 ? 1 : 23) {
        int n_lines = 0;
        for (size_t i = 0; i < cut; i++)
            n_lines += bytes[i] == '\n';
        scratch_write(partial, bytes, cut);
        assert_ok(rank(f, out, &w));
        assert_same_file(out, whole);
        assert_int_equal(w.n_evaluated, N_FORMS - (n_lines > 0 ? n_lines - 1 : 0));
        assert_false(pada_path_exists(partial));
    }

    /* A damaged line in the middle: everything from there on is done again. */
    char *second = strchr(strchr(bytes, '\n') + 1, '\n') + 1;
    *second = '?';
    scratch_write(partial, bytes, n);
    assert_ok(rank(f, out, &w));
    assert_same_file(out, whole);
    assert_int_equal(w.n_evaluated, N_FORMS - 1);
}

/* Torn, gone on with, and stopped again: nothing is glued to the torn line. */
static void test_torn_and_stopped_again(void **state)
{
    const fixture *f = *state;
    const char *whole = scratch_path("whole.csv"), *out = scratch_path("ranking.csv");
    const char *partial = scratch_path("ranking.csv.partial");
    watch w = {.stop_after = -1};
    pada_text bytes = {0};
    pada_file file;

    assert_ok(rank(f, whole, &w));
    w.stop_after = 2;
    assert_int_equal(rank(f, out, &w), PADA_ESTOPPED);
    assert_ok(pada_file_open(&file, partial));
    pada_text_add_bytes(&bytes, file.data, file.bytes);
    pada_file_close(&file);
    scratch_write(partial, bytes.data, bytes.length - 5); /* in the second result */
    w.stop_after = 1;
    assert_int_equal(rank(f, out, &w), PADA_ESTOPPED);
    assert_file_holds(partial, bytes.data, bytes.length);
    w.stop_after = -1;
    assert_ok(rank(f, out, &w));
    assert_int_equal(w.n_evaluated, N_FORMS - 2);
    assert_same_file(out, whole);

    /* A result twice counts once. */
    const char *first = strchr(bytes.data, '\n') + 1;
    pada_text_add(&bytes, "%.*s", (int)(strchr(first, '\n') + 1 - first), first);
    scratch_write(partial, bytes.data, bytes.length);
    assert_ok(rank(f, out, &w));
    assert_int_equal(w.n_evaluated, N_FORMS - 2);
    assert_int_equal(w.last_done, N_FORMS);
    assert_same_file(out, whole);
    pada_text_deinit(&bytes);
}

/* Results of other weights or images are not taken over. */
static void test_other_work_starts_anew(void **state)
{
    fixture f = *(const fixture *)*state;
    const char *whole = scratch_path("whole.csv"), *out = scratch_path("ranking.csv");
    watch w = {.stop_after = -1};
    pada_evaluator *fewer;

    assert_ok(rank(&f, whole, &w));
    assert_ok(pada_engine_init_weights(f.workers[0].engine, 8));
    w.stop_after = 3;
    assert_int_equal(rank(&f, out, &w), PADA_ESTOPPED);
    assert_ok(pada_engine_init_weights(f.workers[0].engine, 7));
    w.stop_after = -1;
    assert_ok(rank(&f, out, &w));
    assert_non_null(strstr(w.note, "ranking.csv.partial: of other weights, images or sizes"));
    assert_int_equal(w.n_evaluated, N_FORMS);
    assert_same_file(out, whole);

    const struct {
        int limit, batch;
    } others[] = {{N_IMAGES - 1, BATCH}, {N_IMAGES, BATCH - 1}};
    for (int i = 0; i < 2; i++) {
        assert_ok(
            pada_evaluator_create(&fewer, &(pada_evaluator_desc){.data = f.data,
                                                                 .split = PADA_SPLIT_TEST,
                                                                 .limit = others[i].limit,
                                                                 .batch_size = others[i].batch}));
        pada_evaluator *own = f.workers[0].evaluator;
        f.workers[0].evaluator = fewer;
        w.stop_after = 3;
        assert_int_equal(rank(&f, out, &w), PADA_ESTOPPED);
        f.workers[0].evaluator = own;
        w.stop_after = -1;
        assert_ok(rank(&f, out, &w));
        assert_int_equal(w.n_evaluated, N_FORMS);
        assert_same_file(out, whole);
        pada_evaluator_destroy(fewer);
    }
}

static void test_nowhere_to_write(void **state)
{
    watch w = {.stop_after = -1};

    assert_int_equal(rank(*state, scratch_path("none/ranking.csv"), &w), PADA_EIO);
    assert_int_equal(w.n_evaluated, 0);
    assert_int_equal(rank(*state, scratch_dir, &w), PADA_EIO);
    assert_int_equal(scratch_count(), 0);
}

/* ---- several supernets ---- */

static int member_of(const pada_path *path)
{
    return path->choice[0] < 2 ? 0 : 1;
}

/* A row is the evaluation of its network in its own supernet; equal forms of the two are two. */
static void test_family(void **state)
{
    fixture f = *(const fixture *)*state;
    pada_family *family = make_family(&f);
    watch w = {.stop_after = -1};
    pada_file file;

    f.family = family;
    assert_ok(rank(&f, scratch_path("ranking.csv"), &w));
    /* 1 and 2 are the same form in different supernets, and so are 3 and 4; 3 and 5 are one. */
    assert_int_equal(w.last_total, N_FORMS + 2);
    assert_int_equal(w.n_evaluated, N_FORMS + 2);
    assert_ok(pada_file_open(&file, scratch_path("ranking.csv")));
    const char *line = (const char *)file.data;
    for (int i = 0; i < N_PATHS; i++) {
        pada_evaluation one;
        pada_text row = {0};
        assert_ok(
            pada_engine_init_weights(f.workers[0].engine, 21 + (uint64_t)member_of(&paths[i])));
        assert_ok(
            pada_evaluator_run(f.workers[0].evaluator, f.workers[0].engine, &paths[i], NULL, &one));
        assert_ok(f.space.ops->format(&f.space, &paths[i], NULL, &row));
        line = strchr(line, '\n') + 1;
        assert_int_equal(strncmp(line, row.data, row.length), 0);
        const char *rest = strchr(line + row.length + 1, ',');
        char number[40];
        snprintf(number, sizeof number, ",%d,%d,", one.top1, N_IMAGES);
        assert_int_equal(strncmp(rest, number, strlen(number)), 0);
        char *end;
        CHECK_CLOSE(strtod(rest + strlen(number), &end), one.loss, 0);
        snprintf(number, sizeof number, ",%d\n", pada_family_number(family, member_of(&paths[i])));
        assert_int_equal(strncmp(end, number, strlen(number)), 0);
        pada_text_deinit(&row);
    }
    pada_file_close(&file);
    pada_family_close(family);
    assert_ok(pada_engine_init_weights(f.workers[0].engine, 7));
}

static void test_family_goes_on(void **state)
{
    fixture f = *(const fixture *)*state;
    pada_family *family = make_family(&f);
    const char *whole = scratch_path("whole.csv"), *out = scratch_path("ranking.csv");
    watch w = {.stop_after = -1};

    f.family = family;
    assert_ok(rank(&f, whole, &w));
    for (int k = 0; k < N_FORMS + 2; k++) {
        w.stop_after = k;
        assert_int_equal(rank(&f, out, &w), PADA_ESTOPPED);
        w.stop_after = -1;
        assert_ok(rank(&f, out, &w));
        assert_int_equal(w.n_evaluated, N_FORMS + 2 - k);
        assert_same_file(out, whole);
        unlink(out);
    }
    /* Other weights of one supernet start anew. */
    w.stop_after = 5;
    assert_int_equal(rank(&f, out, &w), PADA_ESTOPPED);
    pada_family_close(family);
    keep_supernet(&f, scratch_path("run"), 2, 28, 23);
    assert_ok(pada_family_open(&family, scratch_path("run"), &f.space));
    f.family = family;
    w.stop_after = -1;
    assert_ok(rank(&f, scratch_path("ranking.csv"), &w));
    assert_int_equal(w.n_evaluated, N_FORMS + 2);
    pada_family_close(family);
    assert_ok(pada_engine_init_weights(f.workers[0].engine, 7));
}

static void test_unfinished_family(void **state)
{
    fixture f = *(const fixture *)*state;
    watch w = {.stop_after = -1};
    pada_family *family;

    assert_ok(pada_family_begin(scratch_path("run")));
    keep_supernet(&f, scratch_path("run"), 1, 3, 21);
    assert_ok(pada_family_open(&family, scratch_path("run"), &f.space));
    f.family = family;
    assert_int_equal(rank(&f, scratch_path("ranking.csv"), &w), PADA_ENOENT);
    assert_non_null(strstr(pada_message(), "the training is not over"));
    assert_int_equal(w.n_evaluated, 0);
    assert_int_equal(scratch_count(), 1); /* the run */
    pada_family_close(family);
    assert_ok(pada_engine_init_weights(f.workers[0].engine, 7));
}

static pada_status rank_afresh(const fixture *f)
{
    const char *out = scratch_path("ranking.csv");
    watch w = {.stop_after = -1};

    unlink(scratch_path("ranking.csv.partial"));
    return rank(f, out, &w);
}

static void test_oom(void **state)
{
    assert_survives_oom(rank_afresh(*state), (void)0);
}

int main(void)
{
#define unit(f) cmocka_unit_test_setup(f, scratch_clear)
    const struct CMUnitTest tests[] = {
        unit(test_rows),
        unit(test_goes_on_after_every_network),
        unit(test_torn_files),
        unit(test_torn_and_stopped_again),
        unit(test_other_work_starts_anew),
        unit(test_nowhere_to_write),
        unit(test_family),
        unit(test_family_goes_on),
        unit(test_unfinished_family),
        unit(test_oom),
    };
    return cmocka_run_group_tests(tests, setup_ranking, teardown_ranking);
}
