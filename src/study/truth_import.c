/* truth_import.c - truth tables from the forms in which others publish accuracies of networks. */
#include "study/truth_import.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/csv.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "space/path_index.h"
#include "space/path_number.h"
#include "study/score_table.h"

enum { MAX_COLUMNS = 16, MAX_NETWORKS = 1000000 };

/* In an object about a network: the accuracy, the best one first. A list is a curve over epochs: its last value. */
static const char *const accuracy_names[] = {
    "test_accuracy", "test-accuracy",  "test_acc",    "accuracy", "acc",
    "val_accuracy",  "valid-accuracy", "eval_acc1es", NULL,
};

typedef struct importer {
    const pada_import_desc *desc;
    pada_path_index *paths;
    int cap;        /* networks that there is room for */
    double *values; /* [MAX_COLUMNS, cap], NaN: none yet */
    int n_columns;
    char names[MAX_COLUMNS][PADA_TRUTH_NAME];
} importer;

static pada_status fail(const importer *im, const char *what, const char *which)
{
    return PADA_FAIL(PADA_EDATA, "%s: %s '%.100s'", im->desc->file, what, which);
}

static bool parse_arch(const importer *im, const char *text, pada_path *path)
{
    const pada_space *space = im->desc->space;

    return space->ops->parse(space, text, im->desc->dialect, path) == PADA_OK;
}

/* The column of a data set, a new one the first time; -1: it is not wanted. */
static pada_status find_column(importer *im, const char *data, int *column)
{
    char name[PADA_TRUTH_NAME], wanted[PADA_TRUTH_NAME];

    *column = -1;
    pada_truth_column_of(data, name);
    if (im->desc->column) {
        pada_truth_column_of(im->desc->column, wanted);
        if (strcmp(name, wanted) != 0) return PADA_OK;
    }
    for (int i = 0; i < im->n_columns; i++)
        if (strcmp(im->names[i], name) == 0) *column = i;
    if (*column >= 0) return PADA_OK;
    if (im->n_columns == MAX_COLUMNS) return fail(im, "one data set too many:", data);
    *column = im->n_columns++;
    memcpy(im->names[*column], name, sizeof name);
    return PADA_OK;
}

/* For files that name no data set. */
static pada_status only_column(importer *im, int *column)
{
    if (!im->desc->column)
        return PADA_FAIL(PADA_EDATA, "%s: the file names no data set: give --column, as cifar10",
                         im->desc->file);
    return find_column(im, im->desc->column, column);
}

static pada_status add_value(importer *im, const char *arch, const pada_path *path, int column,
                             double value)
{
    if (column < 0) return PADA_OK;
    if (!(value >= 0 && value <= 100))
        return PADA_FAIL(PADA_EDATA, "%s: %g is not an accuracy, of '%.100s'", im->desc->file,
                         value, arch);
    if (pada_path_index_find(im->paths, path) < 0 && pada_path_index_count(im->paths) == im->cap)
        return fail(im, "more networks than the space has; the first too many is", arch);
    double *place = &im->values[(size_t)column * (size_t)im->cap +
                                (size_t)pada_path_index_add(im->paths, path)];
    if (!isnan(*place)) return fail(im, "two accuracies of", arch);
    *place = value;
    return PADA_OK;
}

/* ---- JSON ---- */

/* A number, or one in an object about a network; NaN: there is none. */
static double accuracy_of(const json_t *value)
{
    if (json_is_number(value)) return json_number_value(value);
    for (int i = 0; json_is_object(value) && accuracy_names[i]; i++) {
        const json_t *found = json_object_get(value, accuracy_names[i]);
        if (json_is_array(found) && json_array_size(found) > 0)
            found = json_array_get(found, json_array_size(found) - 1);
        if (json_is_number(found)) return json_number_value(found);
    }
    return NAN;
}

static pada_status add_json(importer *im, const char *arch, const pada_path *path, int column,
                            const json_t *value)
{
    const double accuracy = accuracy_of(value);

    if (isnan(accuracy)) return fail(im, "no accuracy for", arch);
    return add_value(im, arch, path, column, accuracy);
}

/* {"ARCH": accuracy, ..} of one data set. */
static pada_status read_networks(importer *im, json_t *object, int column)
{
    const char *key;
    json_t *value;
    pada_path path;

    json_object_foreach(object, key, value)
    {
        if (!parse_arch(im, key, &path))
            return PADA_FAIL(PADA_EDATA, "%s: '%.100s': %s", im->desc->file, key, pada_message());
        PADA_TRY(add_json(im, key, &path, column, value));
    }
    return PADA_OK;
}

/* What stands under a network: its accuracy, or {"DATA": accuracy, ..}. */
static pada_status read_network(importer *im, const char *arch, const pada_path *path,
                                json_t *about)
{
    const char *key;
    json_t *value;
    int column;

    if (!isnan(accuracy_of(about))) {
        PADA_TRY(only_column(im, &column));
        return add_json(im, arch, path, column, about);
    }
    if (!json_is_object(about)) return fail(im, "no accuracy for", arch);
    json_object_foreach(about, key, value)
    {
        PADA_TRY(find_column(im, key, &column));
        PADA_TRY(add_json(im, arch, path, column, value));
    }
    return PADA_OK;
}

static pada_status read_json(importer *im)
{
    const char *key;
    json_t *root, *value;
    pada_path path;
    pada_status st = PADA_OK;
    int column;

    PADA_TRY(pada_json_open(&root, im->desc->file));
    if (!json_is_object(root)) st = fail(im, "not an object:", "the JSON");
    json_object_foreach(root, key, value)
    {
        if (st != PADA_OK) break;
        if (parse_arch(im, key, &path)) {
            st = read_network(im, key, &path, value);
        } else if (json_is_object(value)) {
            st = find_column(im, key, &column);
            if (st == PADA_OK && column >= 0) st = read_networks(im, value, column);
        } else {
            st = PADA_FAIL(PADA_EDATA, "%s: '%.100s': %s", im->desc->file, key, pada_message());
        }
    }
    json_decref(root);
    return st;
}

/* ---- text ---- */

/* The two fields of a line. Where commas or blanks separate it is the last word and what is before it, since
 * architectures have commas and blanks of their own. */
static pada_status split_line(pada_csv *csv, char arch[PADA_CSV_FIELD], char last[PADA_CSV_FIELD])
{
    if (csv->separator != ',') {
        PADA_TRY(pada_csv_field(csv, arch));
        PADA_TRY(pada_csv_field(csv, last));
        return pada_csv_end(csv);
    }
    const char *start = csv->field, *end = csv->line_end, *cut;

    while (end > start && end[-1] == ' ')
        end--;
    for (cut = end; cut > start && !strchr(", ", cut[-1]);)
        cut--;
    const char *before = cut;
    while (before > start && strchr(", \"", before[-1]))
        before--;
    while (start < before && (*start == ' ' || *start == '"'))
        start++;
    if (before - start >= PADA_CSV_FIELD || end - cut >= PADA_CSV_FIELD ||
        memchr(start, '\0', (size_t)(end - start)))
        return PADA_FAIL(PADA_EDATA, "%s:%d: not an architecture and an accuracy", csv->name,
                         csv->line);
    memcpy(arch, start, (size_t)(before - start));
    arch[before - start] = '\0';
    memcpy(last, cut, (size_t)(end - cut));
    last[end - cut] = '\0';
    return PADA_OK;
}

static pada_status read_rows(importer *im, pada_csv *csv)
{
    char arch[PADA_CSV_FIELD], last[PADA_CSV_FIELD];
    int column = -1;
    double value;
    pada_path path;

    for (bool first = true; pada_csv_row(csv); first = false) {
        PADA_TRY(split_line(csv, arch, last));
        const bool is_number = pada_csv_number(csv, last, "accuracy", &value) == PADA_OK;
        if (first && !is_number) { /* a header */
            PADA_TRY(find_column(im, im->desc->column ? im->desc->column : last, &column));
            continue;
        }
        if (!is_number) return pada_csv_number(csv, last, "accuracy", &value);
        if (column < 0) PADA_TRY(only_column(im, &column));
        if (!parse_arch(im, arch, &path))
            return PADA_FAIL(PADA_EDATA, "%s:%d: %s", csv->name, csv->line, pada_message());
        PADA_TRY(add_value(im, arch, &path, column, value));
    }
    return PADA_OK;
}

/* ---- the table ---- */

/* The first character that is no blank: '{' is JSON. */
static pada_status read_file(importer *im)
{
    pada_file file;
    pada_csv csv;

    PADA_TRY(pada_file_open(&file, im->desc->file));
    pada_status st = pada_csv_init_foreign(&csv, im->desc->file, &file);
    const char *p = csv.at;
    while (st == PADA_OK && p < csv.end && strchr(" \t\r\n", *p) && *p)
        p++;
    const bool is_json = p < csv.end && *p == '{';
    if (st == PADA_OK &&
        (file.bytes > 1 && (file.data[0] == 0x80 || memcmp(file.data, "PK", 2) == 0 ||
                            memcmp(file.data, "BZ", 2) == 0)))
        st =
            PADA_FAIL(PADA_EDATA,
                      "%s: a pickle or an archive of one, which is not read; docs/truth.md has the "
                      "lines of Python that make JSON of it",
                      im->desc->file);
    if (st == PADA_OK && !is_json) st = read_rows(im, &csv);
    pada_file_close(&file);
    return st == PADA_OK && is_json ? read_json(im) : st;
}

/* Whether a column has fractions. */
static double factor_of(const importer *im, int column)
{
    double most = 0;

    for (int row = 0; row < pada_path_index_count(im->paths); row++)
        most = fmax(most, im->values[(size_t)column * (size_t)im->cap + (size_t)row]);
    return most <= 1 ? 100 : 1;
}

static pada_status write_rows(const importer *im, pada_text *out)
{
    const pada_space *space = im->desc->space;
    double factors[MAX_COLUMNS];

    pada_text_add(out, "arch");
    for (int c = 0; c < im->n_columns; c++) {
        factors[c] = factor_of(im, c);
        pada_text_add(out, ",%s", im->names[c]);
    }
    pada_text_add(out, "\n");
    for (int row = 0; row < pada_path_index_count(im->paths); row++) {
        const size_t start = out->length;
        PADA_TRY(space->ops->format(space, pada_path_index_get(im->paths, row),
                                    space->ops->dialects[0], out));
        for (int c = 0; c < im->n_columns; c++) {
            const double value = im->values[(size_t)c * (size_t)im->cap + (size_t)row];
            if (isnan(value))
                return PADA_FAIL(PADA_EDATA, "%s: no accuracy on %s for '%s'; --column takes one",
                                 im->desc->file, im->names[c], pada_text_str(out) + start);
            pada_text_add(out, ",%.10g", factors[c] * value);
        }
        pada_text_add(out, "\n");
    }
    return out->status;
}

static pada_status make_room(importer *im)
{
    const int n = pada_path_count(im->desc->space, MAX_NETWORKS);
    void *memory;

    im->cap = n < MAX_NETWORKS ? n : MAX_NETWORKS;
    PADA_TRY(pada_path_index_create(&im->paths, im->desc->space, im->cap));
    PADA_TRY(pada_calloc(&memory, (size_t)im->cap * MAX_COLUMNS, sizeof *im->values));
    im->values = memory;
    for (size_t i = 0; i < (size_t)im->cap * MAX_COLUMNS; i++)
        im->values[i] = NAN;
    return PADA_OK;
}

pada_status pada_truth_import(const pada_import_desc *desc, pada_text *out,
                              pada_import_result *result)
{
    importer im = {.desc = desc};
    pada_status st = make_room(&im);

    if (st == PADA_OK) st = read_file(&im);
    if (st == PADA_OK && pada_path_index_count(im.paths) == 0)
        st = PADA_FAIL(PADA_EDATA, "%s: no accuracies%s%s", desc->file, desc->column ? " of " : "",
                       desc->column ? desc->column : "");
    if (st == PADA_OK) st = write_rows(&im, out);
    if (st == PADA_OK)
        *result = (pada_import_result){pada_path_index_count(im.paths), im.n_columns};
    pada_free(im.values);
    pada_path_index_destroy(im.paths);
    return st;
}
