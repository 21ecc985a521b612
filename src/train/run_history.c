/* run_history.c - the metrics.csv of a run, as columns of numbers. */
#include "train/run_history.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "base/file.h"
#include "base/mem.h"

typedef struct reader {
    pada_history *history;
    pada_csv csv;
    void *rows; /* values, moved to the history at the end */
    int cap_rows;
} reader;

static pada_status read_header(reader *r)
{
    pada_history *h = r->history;
    char field[PADA_CSV_FIELD];
    void *mem;

    if (!pada_csv_line(&r->csv)) return PADA_FAIL(PADA_EDATA, "%s: the file is empty", r->csv.name);
    PADA_TRY(pada_calloc(&mem, PADA_HISTORY_COLUMNS, sizeof *h->names));
    h->names = mem;
    while (r->csv.field) {
        PADA_TRY(pada_csv_field(&r->csv, field));
        if (h->n_columns == PADA_HISTORY_COLUMNS)
            return PADA_FAIL(PADA_EDATA, "%s:1: more than %d columns", r->csv.name,
                             PADA_HISTORY_COLUMNS);
        if (strlen(field) >= PADA_HISTORY_NAME)
            return PADA_FAIL(PADA_EDATA, "%s:1: a column name of %zu characters", r->csv.name,
                             strlen(field));
        memcpy(h->names[h->n_columns++], field, strlen(field) + 1);
    }
    return PADA_OK;
}

static double number_of(const char *text)
{
    char *end;
    const double x = strtod(text, &end);

    return end != text && *end == '\0' && isfinite(x) ? x : NAN;
}

static void note_warning(pada_history *h, const char *word, size_t length, double epoch)
{
    pada_history_warning *w = h->warnings;
    char name[sizeof w->word];

    snprintf(name, sizeof name, "%.*s", (int)length, word);
    for (int i = 0; i < h->n_warnings; i++, w++) {
        if (strcmp(w->word, name) != 0) continue;
        w->n_epochs++;
        return;
    }
    if (h->n_warnings == PADA_HISTORY_WARNINGS) return;
    *w = (pada_history_warning){.first_epoch = epoch, .n_epochs = 1};
    memcpy(w->word, name, sizeof name);
    h->n_warnings++;
}

/* The columns that are no numbers. */
static void take_text(pada_history *h, const char *column, const char *text, double epoch)
{
    if (strcmp(column, "weights_hash") == 0)
        snprintf(h->weights_hash, sizeof h->weights_hash, "%.16s", text);
    if (strcmp(column, "warnings") != 0) return;
    for (size_t n; *text; text += n + (text[n] == ';')) {
        n = strcspn(text, ";");
        if (n > 0) note_warning(h, text, n, epoch);
    }
}

/* Fields of the line that begins; a row that a killed process tore has fewer. */
static int count_fields(const pada_csv *csv)
{
    int n = 1;

    for (const char *p = csv->field; p < csv->line_end; p++)
        n += *p == ',';
    return n;
}

static pada_status read_row(reader *r)
{
    pada_history *h = r->history;
    const int n_fields = count_fields(&r->csv);
    char field[PADA_CSV_FIELD];

    if (n_fields != h->n_columns)
        return PADA_FAIL(PADA_EDATA, "%s:%d: %d columns instead of %d", r->csv.name, r->csv.line,
                         n_fields, h->n_columns);

    PADA_TRY(
        pada_grow(&r->rows, &r->cap_rows, h->n_rows + 1, (size_t)h->n_columns * sizeof *h->values));
    double *row = (double *)r->rows + (size_t)h->n_rows * (size_t)h->n_columns;
    for (int i = 0; i < h->n_columns; i++) {
        PADA_TRY(pada_csv_field(&r->csv, field));
        row[i] = number_of(field);
        take_text(h, h->names[i], field, row[0]);
    }
    h->n_rows++;
    return PADA_OK;
}

static pada_status read_all(reader *r)
{
    pada_status st = read_header(r);

    while (st == PADA_OK && pada_csv_line(&r->csv))
        st = read_row(r);
    r->history->values = r->rows;
    return st;
}

pada_status pada_history_read(pada_history *history, const char *run, pada_text *notes)
{
    pada_text name = {0};
    pada_file file = {0};
    reader r = {.history = history};
    pada_status st;

    *history = (pada_history){0};
    pada_text_add(&name, "%s/metrics.csv", run);
    if ((st = name.status) == PADA_OK) st = pada_file_open(&file, name.data);
    if (st == PADA_OK) {
        pada_csv_init(&r.csv, name.data, &file);
        st = read_all(&r);
    }
    if (notes && (st == PADA_ENOENT || st == PADA_EDATA)) {
        pada_text_add(notes, "%s%s\n", pada_message(),
                      history->n_rows > 0 ? "; rows from there on are left out" : "");
        st = notes->status;
    }
    if (notes && st == PADA_OK && history->n_columns > 0 && history->n_rows == 0) {
        pada_text_add(notes, "%s: no epoch has ended yet\n", name.data);
        st = notes->status;
    }
    pada_file_close(&file);
    pada_text_deinit(&name);
    return st;
}

void pada_history_deinit(pada_history *history)
{
    pada_free(history->names);
    pada_free(history->values);
    *history = (pada_history){0};
}

int pada_history_column(const pada_history *history, const char *name)
{
    for (int i = 0; i < history->n_columns; i++)
        if (strcmp(history->names[i], name) == 0) return i;
    return -1;
}

double pada_history_value(const pada_history *history, int row, int column)
{
    if (column < 0) return NAN;
    return history->values[(size_t)row * (size_t)history->n_columns + (size_t)column];
}

double pada_history_last(const pada_history *history, const char *name)
{
    const int column = pada_history_column(history, name);

    return history->n_rows > 0 ? pada_history_value(history, history->n_rows - 1, column) : NAN;
}

bool pada_history_trains(const pada_history *history, int row)
{
    const int column = pada_history_column(history, "steps");

    return row == 0 || !(pada_history_value(history, row, column) <=
                         pada_history_value(history, row - 1, column));
}

bool pada_history_has(const pada_history *history, const char *name)
{
    const int column = pada_history_column(history, name);

    for (int row = 0; row < history->n_rows; row++)
        if (isfinite(pada_history_value(history, row, column))) return true;
    return false;
}
