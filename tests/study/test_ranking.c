/* test_ranking.c - rankings against single evaluations, and interrupted ones against whole ones. */
#include "study/ranking_fixture.h"

#include <math.h>

#include "check.h"
#include "engine/engine_weights.h"

/* A row of the file. */
typedef struct row {
    double score, low, high, loss;
    int rank, ties, correct, images, supernet;
    long long macs, params;
    char same_as[200];
} row;

#define COLUMNS "arch,score,score_lo,score_hi,rank,ties,correct,images,loss,macs,params,same_as"

static void read_text(const char *path, pada_text *out)
{
    pada_file file;

    assert_ok(pada_file_open(&file, path));
    pada_text_add_bytes(out, file.data, file.bytes);
    pada_file_close(&file);
    assert_ok(out->status);
}

static int n_rows(const char *text)
{
    int n = -1;

    for (; *text; text++)
        n += *text == '\n';
    return n;
}

/* The row of a network, which must be there. */
static row read_row(const fixture *f, const char *text, const pada_path *path)
{
    pada_text start = {0};
    row r = {.supernet = -1};
    int n = 0;

    pada_text_add(&start, "\n");
    assert_ok(f->space.ops->format(&f->space, path, NULL, &start));
    pada_text_add(&start, ",");
    const char *line = strstr(text, start.data);
    assert_non_null(line);
    line += start.length;
    assert_int_equal(sscanf(line, "%lf,%lf,%lf,%d,%d,%d,%d,%lf,%lld,%lld,%n", &r.score, &r.low,
                            &r.high, &r.rank, &r.ties, &r.correct, &r.images, &r.loss, &r.macs,
                            &r.params, &n),
                     10);
    line += n;
    const size_t length = strcspn(line, ",\n");
    assert_in_range(length, 0, sizeof r.same_as - 1);
    memcpy(r.same_as, line, length);
    if (line[length] == ',') assert_int_equal(sscanf(line + length, ",%d\n", &r.supernet), 1);
    pada_text_deinit(&start);
    return r;
}

/* The row has what the evaluation of that very path gives, dead edges and all. */
static void check_row(const fixture *f, const row *r, const pada_path *path)
{
    pada_evaluation one;
    pada_cost cost;

    assert_ok(pada_evaluator_run(f->workers[0].evaluator, f->workers[0].engine, path, NULL, &one));
    pada_space_cost(&f->space, path, &cost);
    assert_int_equal(r->correct, one.top1);
    assert_int_equal(r->images, N_IMAGES);
    CHECK_CLOSE(r->loss, one.loss, 0);
    CHECK_CLOSE(r->score, 100.0 * one.top1 / N_IMAGES, 0.05); /* one decimal */
    assert_true(r->low <= r->score && r->score <= r->high && r->low < r->high);
    assert_int_equal(r->macs, cost.macs);
    assert_int_equal(r->params, cost.params);
}

static void test_rows(void **state)
{
    const pada_path form_of_8 = {{4, 0, 0, 1, 2, 0}};
    const fixture *f = *state;
    const char *out = scratch_path("ranking.csv");
    watch w = {.stop_after = -1};
    pada_text text = {0}, arch = {0};

    assert_ok(rank(f, out, &w));
    assert_int_equal(w.n_evaluated, N_FORMS);
    assert_int_equal(w.last_done, N_FORMS);
    assert_int_equal(w.last_total, N_FORMS);
    assert_string_equal(w.note, "");
    assert_int_equal(scratch_count(), 1); /* no partial file */

    read_text(out, &text);
    assert_int_equal(strncmp(text.data, COLUMNS "\n", strlen(COLUMNS "\n")), 0);
    assert_int_equal(n_rows(text.data), N_PATHS + 1); /* and the canonical form of the last one */
    for (int i = 0; i < N_PATHS; i++) {
        const row r = read_row(f, text.data, &paths[i]);
        const bool is_copy = i == 2 || i == 4 || i == 5 || i == 8;
        check_row(f, &r, &paths[i]);
        assert_int_equal(r.same_as[0] != '\0', is_copy);
        assert_int_equal(r.supernet, -1);
    }
    const row form = read_row(f, text.data, &form_of_8), copy = read_row(f, text.data, &paths[8]);
    check_row(f, &form, &form_of_8);
    assert_ok(f->space.ops->format(&f->space, &form_of_8, NULL, &arch));
    assert_string_equal(form.same_as, "");
    assert_string_equal(copy.same_as, arch.data);
    assert_int_equal(copy.rank, form.rank);
    pada_text_deinit(&arch);
    pada_text_deinit(&text);
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
        if (k == 0)
            assert_string_equal(w.note, "");
        else
            assert_non_null(strstr(w.note, "ranking.csv.partial: resuming after"));
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

    /* A damaged line in the middle is no torn one: everything stays as it is. */
    char *second = strchr(strchr(bytes, '\n') + 1, '\n') + 1;
    *second = '?';
    scratch_write(partial, bytes, n);
    assert_int_equal(rank(f, out, &w), PADA_EDATA);
    assert_non_null(strstr(pada_message(), "ranking.csv.partial:3: "));
    assert_file_holds(partial, bytes, n);
}

/* Whole lines that no ranking has written: refused with their number, nothing evaluated, nothing lost. */
static void test_impossible_results(void **state)
{
    static const struct {
        const char *numbers, *message;
    } bad[] = {
        {"2000000000,2.5", "correct images: 2000000000 is outside 0 to 12"},
        {"13,2.5", "correct images: 13 is outside 0 to 12"},
        {"-1,2.5", "correct images: -1 is outside 0 to 12"},
        {"1.5,2.5", "correct images: '1.5' is not a whole number such as 1500, 40k or 400M"},
        {"3,inf", "loss: 'inf' is not a number"},
        {"3,nan", "loss: 'nan' is not a number"},
        {"3", "too few columns"},
        {"3,2.5,1", "too many columns"},
    };
    const fixture *f = *state;
    const char *out = scratch_path("ranking.csv");
    const char *partial = scratch_path("ranking.csv.partial");
    watch w = {.stop_after = 1};
    pada_text start = {0};
    char message[1600];

    assert_int_equal(rank(f, out, &w), PADA_ESTOPPED); /* a header and one line */
    read_text(partial, &start);
    w.stop_after = -1;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        pada_text text = {0};
        pada_text_add(&text, "%s", start.data);
        assert_ok(f->space.ops->format(&f->space, &paths[6], NULL, &text));
        pada_text_add(&text, ",%s\n", bad[i].numbers);
        scratch_write(partial, text.data, text.length);
        snprintf(message, sizeof message, "%s:3: %s", partial, bad[i].message);
        assert_fails(rank(f, out, &w), PADA_EDATA, message);
        assert_int_equal(w.n_evaluated, 0);
        assert_false(pada_path_exists(out));
        assert_file_holds(partial, text.data, text.length);
        pada_text_deinit(&text);
    }
    pada_text_deinit(&start);
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

    /* Two results of one network are a mistake. */
    char *loss = strrchr(bytes.data, ',') + 1;
    *loss = *loss == '9' ? '8' : '9';
    scratch_write(partial, bytes.data, bytes.length);
    assert_int_equal(rank(f, out, &w), PADA_EDATA);
    assert_non_null(strstr(pada_message(), ".partial:4: another result of the same network"));
    pada_text_deinit(&bytes);
}

/* The images of a data set with other labels, or normalised in another way. */
typedef struct variant {
    pada_dataset base;
    const pada_dataset *data;
    int shift;
} variant;

static const uint8_t *variant_image(const pada_dataset *base, pada_split split, int i)
{
    const variant *v = (const variant *)base;

    return v->data->ops->image(v->data, split, i);
}

static int variant_label(const pada_dataset *base, pada_split split, int i)
{
    const variant *v = (const variant *)base;

    return (v->data->ops->label(v->data, split, i) + v->shift) % base->n_classes;
}

static const pada_dataset_ops variant_ops = {.image = variant_image, .label = variant_label};

/* A ranking that was stopped on some images does not go on with others. */
static void check_images_differ(fixture f, const pada_dataset *images, const char *whole)
{
    const char *out = scratch_path("ranking.csv");
    pada_evaluator *own = f.workers[0].evaluator;
    watch w = {.stop_after = 3};

    assert_ok(pada_evaluator_create(
        &f.workers[0].evaluator,
        &(pada_evaluator_desc){
            .data = images, .split = PADA_SPLIT_TEST, .limit = N_IMAGES, .batch_size = BATCH}));
    assert_int_equal(rank(&f, out, &w), PADA_ESTOPPED);
    pada_evaluator_destroy(f.workers[0].evaluator);
    f.workers[0].evaluator = own;
    w.stop_after = -1;
    assert_ok(rank(&f, out, &w));
    assert_int_equal(w.n_evaluated, N_FORMS);
    assert_same_file(out, whole);
}

static void test_other_images_start_anew(void **state)
{
    static const double mean[] = {0.5, 0.5, 0.5}, deviation[] = {0.25, 0.25, 0.25};
    const fixture *f = *state;
    const char *whole = scratch_path("whole.csv");
    variant v = {.base = *f->data, .data = f->data, .shift = 1};
    watch w = {.stop_after = -1};

    assert_ok(rank(f, whole, &w));
    v.base.ops = &variant_ops;
    check_images_differ(*f, &v.base, whole);
    v.shift = 0;
    pada_dataset_normalise(&v.base, mean, deviation);
    check_images_differ(*f, &v.base, whole);
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
    assert_non_null(strstr(w.note, "ranking.csv.partial: of other weights, images, sizes"));
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

/* On another backend with the same weights: its numbers are its own. */
static void test_other_backend(void **state)
{
    fixture f = *(const fixture *)*state, ref = f;
    const char *whole = scratch_path("whole.csv"), *out = scratch_path("ranking.csv");
    pada_engine_desc desc = {.space = &f.space, .n_threads = 1, .batch_size = BATCH};
    watch w = {.stop_after = -1};

    assert_ok(pada_backend_find(&desc.backend, "ref"));
    assert_ok(pada_engine_create(&ref.workers[0].engine, &desc));
    assert_ok(pada_engine_init_weights(ref.workers[0].engine, 7));
    assert_ok(rank(&f, whole, &w));
    w.stop_after = 3;
    assert_int_equal(rank(&ref, out, &w), PADA_ESTOPPED);
    w.stop_after = -1;
    assert_ok(rank(&f, out, &w));
    assert_non_null(strstr(w.note, "or another backend; starting anew"));
    assert_int_equal(w.n_evaluated, N_FORMS);
    assert_same_file(out, whole);

    f.scores = ref.scores = scratch_path("scores"); /* side by side in a folder */
    assert_ok(rank(&f, out, &w));
    assert_ok(rank(&ref, scratch_path("ref.csv"), &w));
    assert_int_equal(w.n_evaluated, N_FORMS);
    assert_string_equal(w.note, "");
    assert_ok(rank(&f, out, &w));
    assert_int_equal(w.n_evaluated, 0);
    assert_same_file(out, whole);
    pada_engine_destroy(ref.workers[0].engine);
}

/* ---- scores that are kept ---- */

static void test_kept_scores(void **state)
{
    fixture f = *(const fixture *)*state;
    const char *whole = scratch_path("whole.csv"), *out = scratch_path("ranking.csv");
    watch w = {.stop_after = -1};
    pada_text text = {0};

    assert_ok(rank(&f, whole, &w));
    f.scores = scratch_path("scores");
    assert_ok(rank_some(&f, paths + 2, 3, out, &w)); /* two forms, one of them is 3 */
    assert_int_equal(w.n_evaluated, 2);
    read_text(out, &text);
    assert_int_equal(n_rows(text.data), 4);
    assert_false(pada_path_exists(scratch_path("ranking.csv.partial")));

    /* More networks: only the new ones are evaluated. */
    assert_ok(rank(&f, out, &w));
    assert_int_equal(w.n_evaluated, N_FORMS - 2);
    assert_int_equal(w.last_total, N_FORMS);
    assert_non_null(strstr(w.note, ".csv: resuming after 2 of 6 evaluations"));
    assert_same_file(out, whole);

    /* Fewer: nothing is evaluated, nothing is lost. */
    unlink(out);
    assert_ok(rank_some(&f, paths + 7, 2, out, &w));
    assert_int_equal(w.n_evaluated, 0);
    assert_non_null(strstr(w.note, ".csv: all 2 evaluations are there already"));
    assert_same_file(out, whole);

    /* A copy of a network that was evaluated as another one is kept as well. */
    const pada_path other = {{4, 3, 0, 1, 2, 0}}; /* of 8 */
    assert_ok(rank_some(&f, &other, 1, out, &w));
    assert_int_equal(w.n_evaluated, 0);
    pada_text_deinit(&text);
    text = (pada_text){0};
    assert_ok(rank_some(&f, paths, 1, out, &w));
    read_text(out, &text);
    assert_int_equal(n_rows(text.data), N_PATHS + 2);
    (void)read_row(&f, text.data, &other);
    pada_text_deinit(&text);
}

/* What was asked for, for the caller: no others, and the file of another name has the same. */
static void test_asked(void **state)
{
    fixture f = *(const fixture *)*state;
    pada_ranking_table table;
    watch w = {.stop_after = -1};
    pada_text text = {0};

    f.scores = scratch_path("scores");
    assert_ok(rank(&f, scratch_path("ranking.csv"), &w));
    assert_ok(pada_ranking_run(&(pada_ranking_desc){.workers = f.workers,
                                                    .n_workers = 1,
                                                    .paths = paths + 7,
                                                    .n_paths = 2,
                                                    .out = scratch_path("two.csv"),
                                                    .scores = f.scores},
                               &table));
    assert_int_equal(table.n_distinct, 2);
    assert_int_equal(table.n, 3);
    assert_int_equal(table.rows[0].extra + table.rows[1].extra, 1);
    assert_false(table.rows[2].extra);
    assert_true(pada_path_equal(&f.space, &table.rows[2].path, &paths[8]));
    pada_ranking_table_deinit(&table);
    read_text(scratch_path("two.csv"), &text);
    assert_int_equal(n_rows(text.data), 3);
    pada_text_deinit(&text);
}

/* A file of scores that begins with something else is not ours to replace. */
static void test_foreign_scores(void **state)
{
    fixture f = *(const fixture *)*state;
    watch w = {.stop_after = -1};
    struct dirent *entry;
    char path[1600] = "";

    f.scores = scratch_path("scores");
    assert_ok(rank(&f, scratch_path("ranking.csv"), &w));
    DIR *dir = opendir(f.scores);
    assert_non_null(dir);
    while ((entry = readdir(dir)))
        if (entry->d_name[0] != '.')
            snprintf(path, sizeof path, "%s/%s", scratch_path("scores"), entry->d_name);
    closedir(dir);
    scratch_write(path, "something else\n", 15);
    assert_int_equal(rank(&f, scratch_path("ranking.csv"), &w), PADA_EDATA);
    assert_non_null(strstr(pada_message(), ".csv:1: not scores of these weights and images"));
    assert_file_holds(path, "something else\n", 15);
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
    pada_text text = {0};

    f.family = family;
    assert_ok(rank(&f, scratch_path("ranking.csv"), &w));
    /* 1 and 2 are the same form in different supernets, and so are 3 and 4; 3 and 5 are one. */
    assert_int_equal(w.last_total, N_FORMS + 2);
    assert_int_equal(w.n_evaluated, N_FORMS + 2);
    read_text(scratch_path("ranking.csv"), &text);
    assert_int_equal(strncmp(text.data, COLUMNS ",supernet\n", strlen(COLUMNS ",supernet\n")), 0);
    for (int i = 0; i < N_PATHS; i++) {
        const row r = read_row(&f, text.data, &paths[i]);
        assert_ok(
            pada_engine_init_weights(f.workers[0].engine, 21 + (uint64_t)member_of(&paths[i])));
        check_row(&f, &r, &paths[i]);
        assert_int_equal(r.supernet, pada_family_number(family, member_of(&paths[i])));
    }
    /* The form of 2 belongs to the other supernet: 2 is no copy of what that says about it. */
    assert_string_equal(read_row(&f, text.data, &paths[2]).same_as, "");
    pada_text_deinit(&text);
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

static pada_status rank_kept(const fixture *f, const char *out, pada_ranking_table *table)
{
    return pada_ranking_run(&(pada_ranking_desc){.workers = f->workers,
                                                 .n_workers = 1,
                                                 .paths = paths,
                                                 .n_paths = N_PATHS,
                                                 .out = out,
                                                 .scores = f->scores,
                                                 .writes_all = true},
                            table);
}

static void test_oom(void **state)
{
    fixture f = *(const fixture *)*state;
    pada_ranking_table table;

    assert_survives_oom(rank_afresh(&f), (void)0);
    const char *out = scratch_path("ranking.csv");
    f.scores = scratch_path("scores");
    assert_survives_oom(rank_kept(&f, out, &table), pada_ranking_table_deinit(&table));
}

int main(void)
{
#define unit(f) cmocka_unit_test_setup(f, scratch_clear)
    const struct CMUnitTest tests[] = {
        unit(test_rows),
        unit(test_goes_on_after_every_network),
        unit(test_torn_files),
        unit(test_torn_and_stopped_again),
        unit(test_impossible_results),
        unit(test_other_work_starts_anew),
        unit(test_other_images_start_anew),
        unit(test_other_backend),
        unit(test_kept_scores),
        unit(test_asked),
        unit(test_foreign_scores),
        unit(test_nowhere_to_write),
        unit(test_family),
        unit(test_family_goes_on),
        unit(test_unfinished_family),
        unit(test_oom),
    };
    return cmocka_run_group_tests(tests, setup_ranking, teardown_ranking);
}
