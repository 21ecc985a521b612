/* test_results.c - what a run folder says about the test of its network. */
#include "study/test_results.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>

#include "base/csv.h"
#include "base/mem.h"

enum { MAX_CLASSES = 20000 }; /* of class_report.c */

/* Where a value is, for messages. */
typedef struct place {
    const char *file, *model;
    int class; /* -1: not in a class */
} place;

/* ---- values ---- */

static pada_status fail_at(const place *at, const char *key, const char *what)
{
    char class[32] = "";

    if (at->class >= 0) snprintf(class, sizeof class, "class %d: ", at->class);
    return PADA_FAIL(PADA_EDATA, "%s: %s%s%s%s is not %s", at->file, at->model,
                     *at->model ? ": " : "", class, key, what);
}

static pada_status take_number(const place *at, const json_t *object, const char *key, double *out)
{
    const json_t *value = json_object_get(object, key);

    if (!json_is_number(value)) return fail_at(at, key, "a number");
    *out = json_number_value(value);
    return PADA_OK;
}

static pada_status take_percent(const place *at, const json_t *object, const char *key, double *out)
{
    PADA_TRY(take_number(at, object, key, out));
    return *out >= 0 && *out <= 100 ? PADA_OK : fail_at(at, key, "a share in percent");
}

static pada_status take_count(const place *at, const json_t *object, const char *key, int *out)
{
    const json_t *value = json_object_get(object, key);
    const json_int_t n = json_is_integer(value) ? json_integer_value(value) : -1;

    if (n < 0 || n > INT_MAX) return fail_at(at, key, "a number of images");
    *out = (int)n;
    return PADA_OK;
}

/* "top1", "top1_lo", "top1_hi" of an object. */
static pada_status take_top(const place *at, const json_t *object, const char *key,
                            pada_tested_share *out)
{
    char end[16];

    PADA_TRY(take_percent(at, object, key, &out->percent));
    snprintf(end, sizeof end, "%s_lo", key);
    PADA_TRY(take_percent(at, object, end, &out->low));
    snprintf(end, sizeof end, "%s_hi", key);
    PADA_TRY(take_percent(at, object, end, &out->high));
    /* equal ends may be apart by their rounding */
    return out->low <= out->percent + 1e-9 && out->percent <= out->high + 1e-9
               ? PADA_OK
               : fail_at(at, key, "inside of its interval");
}

/* An object with "percent", "low", "high", or null. */
static pada_status take_share(const place *at, const json_t *object, const char *key,
                              pada_tested_share *out)
{
    const json_t *share = json_object_get(object, key);

    *out = (pada_tested_share){NAN, NAN, NAN};
    if (json_is_null(share)) return PADA_OK;
    if (!json_is_object(share)) return fail_at(at, key, "a share");
    PADA_TRY(take_percent(at, share, "percent", &out->percent));
    PADA_TRY(take_percent(at, share, "low", &out->low));
    return take_percent(at, share, "high", &out->high);
}

/* ---- test.json ---- */

static pada_status take_class(const place *at, const json_t *object, pada_tested_class *out)
{
    if (!json_is_object(object)) return fail_at(at, "the entry", "an object");
    out->name = json_string_value(json_object_get(object, "name"));
    PADA_TRY(take_count(at, object, "images", &out->images));
    PADA_TRY(take_count(at, object, "given", &out->given));
    PADA_TRY(take_share(at, object, "recall", &out->recall));
    return take_share(at, object, "precision", &out->precision);
}

static pada_status take_classes(place at, const json_t *list, pada_tested_model *out)
{
    const size_t n = json_array_size(list);
    void *memory;

    if (!list) return PADA_OK;
    if (n == 0 || n > MAX_CLASSES) return fail_at(&at, "classes", "a list of classes");
    PADA_TRY(pada_calloc(&memory, n, sizeof *out->classes));
    out->classes = memory;
    out->n_classes = (int)n;
    for (at.class = 0; at.class < out->n_classes; at.class ++)
        PADA_TRY(take_class(&at, json_array_get(list, (size_t)at.class), &out->classes[at.class]));
    return PADA_OK;
}

static pada_status take_model(const char *file, const json_t *object, const char *name,
                              pada_tested_model *out)
{
    const place at = {.file = file, .model = name, .class = -1};

    *out = (pada_tested_model){.name = name, .chosen_top1 = NAN};
    if (!json_is_object(object)) return fail_at(&at, "the value", "an object");
    PADA_TRY(take_top(&at, object, "top1", &out->top1));
    PADA_TRY(take_top(&at, object, "top5", &out->top5));
    PADA_TRY(take_number(&at, object, "loss", &out->loss));
    out->chosen_on = json_string_value(json_object_get(object, "chosen_on"));
    if (out->chosen_on) PADA_TRY(take_percent(&at, object, "chosen_top1", &out->chosen_top1));
    return take_classes(at, json_object_get(object, "classes"), out);
}

static pada_status read_results(pada_test_results *results, const char *file)
{
    static const char *const names[] = {"last", "best"};
    const place at = {.file = file, .model = "", .class = -1};

    PADA_TRY(pada_json_open(&results->json, file));
    if (!json_is_object(results->json)) return fail_at(&at, "the value", "an object");
    results->split = json_string_value(json_object_get(results->json, "split"));
    if (!results->split) return fail_at(&at, "split", "a name");
    PADA_TRY(take_count(&at, results->json, "images", &results->images));
    for (int i = 0; i < 2; i++) {
        const json_t *model = json_object_get(results->json, names[i]);
        if (!model) continue;
        PADA_TRY(take_model(file, model, names[i], &results->models[results->n_models++]));
    }
    if (results->n_models == 0)
        return PADA_FAIL(PADA_EDATA, "%s: neither last nor best was tested", file);
    return PADA_OK;
}

/* ---- confusion.csv ---- */

static pada_status read_count(pada_csv *csv, int *out)
{
    char text[PADA_CSV_FIELD];
    double x;

    PADA_TRY(pada_csv_field(csv, text));
    PADA_TRY(pada_csv_number(csv, text, "images", &x));
    if (x < 0 || x > INT_MAX || x != floor(x))
        return PADA_FAIL(PADA_EDATA, "%s:%d: '%.20s' is not a number of images", csv->name,
                         csv->line, text);
    *out = (int)x;
    return PADA_OK;
}

/* The images of a class: as many as test.json says. */
static pada_status read_row(pada_csv *csv, const pada_tested_model *model, int label, int *row)
{
    char name[PADA_CSV_FIELD];
    int64_t sum = 0;

    if (!pada_csv_line(csv))
        return PADA_FAIL(PADA_EDATA, "%s: %d classes, " PADA_TEST_FILE " has %d", csv->name, label,
                         model->n_classes);
    PADA_TRY(pada_csv_field(csv, name));
    for (int given = 0; given < model->n_classes; given++) {
        PADA_TRY(read_count(csv, &row[given]));
        sum += row[given];
    }
    PADA_TRY(pada_csv_end(csv));
    if (sum == model->classes[label].images) return PADA_OK;
    return PADA_FAIL(PADA_EDATA,
                     "%s:%d: %" PRId64 " images, " PADA_TEST_FILE " has %d of this class",
                     csv->name, csv->line, sum, model->classes[label].images);
}

static pada_status read_matrix(pada_test_results *results, pada_csv *csv)
{
    const pada_tested_model *model = pada_test_results_model(results);
    const int n = model->n_classes;
    void *memory;

    if (!pada_csv_line(csv)) return PADA_FAIL(PADA_EDATA, "%s: empty", csv->name);
    PADA_TRY(pada_calloc(&memory, (size_t)n * (size_t)n, sizeof *results->confusion));
    results->confusion = memory;
    for (int label = 0; label < n; label++)
        PADA_TRY(read_row(csv, model, label, results->confusion + (size_t)label * (size_t)n));
    if (pada_csv_line(csv))
        return PADA_FAIL(PADA_EDATA, "%s:%d: more than the %d classes of " PADA_TEST_FILE,
                         csv->name, csv->line, n);
    return PADA_OK;
}

static pada_status read_confusion(pada_test_results *results, const char *path)
{
    pada_file file = {0};
    pada_csv csv;

    if (pada_test_results_model(results)->n_classes == 0) return PADA_OK;
    PADA_TRY(pada_file_load(&file, path));
    pada_csv_init(&csv, path, &file);
    const pada_status st = read_matrix(results, &csv);
    pada_file_close(&file);
    return st;
}

/* ---- both ---- */

static pada_status read_part(pada_test_results *results, const char *run, const char *name,
                             pada_status (*read)(pada_test_results *, const char *))
{
    pada_text path = {0};
    pada_status st;

    pada_text_add(&path, "%s/%s", run, name);
    if ((st = path.status) == PADA_OK && pada_path_exists(path.data)) st = read(results, path.data);
    pada_text_deinit(&path);
    return st;
}

pada_status pada_test_results_read(pada_test_results *results, const char *run)
{
    *results = (pada_test_results){0};
    PADA_TRY(read_part(results, run, PADA_TEST_FILE, read_results));
    if (results->n_models == 0) return PADA_OK;
    return read_part(results, run, PADA_CONFUSION_FILE, read_confusion);
}

void pada_test_results_deinit(pada_test_results *results)
{
    for (int i = 0; i < results->n_models; i++)
        pada_free(results->models[i].classes);
    pada_free(results->confusion);
    json_decref(results->json);
    *results = (pada_test_results){0};
}

const pada_tested_model *pada_test_results_model(const pada_test_results *results)
{
    return results->n_models > 0 ? &results->models[results->n_models - 1] : NULL;
}

void pada_tested_difference(const pada_tested_share *a, const pada_tested_share *b, double *low,
                            double *high)
{
    const double difference = a->percent - b->percent;

    *low = difference - hypot(a->percent - a->low, b->high - b->percent);
    *high = difference + hypot(a->high - a->percent, b->percent - b->low);
}
