/* run_cost.c - what a run has cost, from its metrics.csv. */
#include "train/run_cost.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/csv.h"
#include "base/file.h"
#include "base/text.h"

enum { STEPS, PASSES, IMAGES, GMACS, SECONDS, N_COLUMNS };
static const char *const names[N_COLUMNS] = {"steps", "passes", "images", "gmacs", "seconds"};

/* Positions of columns in the first line; -1: not there. */
static pada_status find_columns(pada_csv *csv, int *at, int *last)
{
    char name[PADA_CSV_FIELD];

    for (int k = 0; k < N_COLUMNS; k++)
        at[k] = -1;
    if (!pada_csv_line(csv)) return PADA_FAIL(PADA_EDATA, "%s: the file is empty", csv->name);
    for (int i = 0; csv->field; i++) {
        PADA_TRY(pada_csv_field(csv, name));
        for (int k = 0; k < N_COLUMNS; k++)
            if (strcmp(name, names[k]) == 0) at[k] = *last = i;
    }
    if (at[SECONDS] < 0)
        return PADA_FAIL(PADA_EDATA, "%s:1: no column is called '%s'", csv->name, names[SECONDS]);
    return PADA_OK;
}

static pada_status read_number(const pada_csv *csv, const char *text, const char *name,
                               double *value)
{
    if (pada_parse_double(text, name, 0, DBL_MAX, value) != PADA_OK)
        return PADA_FAIL(PADA_EDATA, "%s:%d: %s", csv->name, csv->line, pada_message());
    return PADA_OK;
}

/* The numbers of the next row; those whose columns are not there stay as they are. */
static pada_status read_row(pada_csv *csv, const int *at, int last, double *row)
{
    char text[PADA_CSV_FIELD];

    for (int i = 0; i <= last; i++) {
        PADA_TRY(pada_csv_field(csv, text));
        for (int k = 0; k < N_COLUMNS; k++)
            if (i == at[k]) PADA_TRY(read_number(csv, text, names[k], &row[k]));
    }
    return PADA_OK;
}

static pada_status add_up(pada_csv *csv, pada_run_cost *cost)
{
    double sum[N_COLUMNS] = {0}, row[N_COLUMNS], steps_before = 0;
    int at[N_COLUMNS], last = 0;

    PADA_TRY(find_columns(csv, at, &last));
    while (pada_csv_line(csv)) {
        for (int k = 0; k < N_COLUMNS; k++)
            row[k] = NAN;
        row[STEPS] = steps_before + 1;
        PADA_TRY(read_row(csv, at, last, row));
        cost->epochs += row[STEPS] > steps_before;
        steps_before = row[STEPS];
        for (int k = 0; k < N_COLUMNS; k++)
            sum[k] += row[k];
    }
    cost->passes = sum[PASSES];
    cost->images = sum[IMAGES];
    cost->gmacs = sum[GMACS];
    cost->seconds = sum[SECONDS];
    return PADA_OK;
}

pada_status pada_run_cost_read(const char *run, bool *found, pada_run_cost *cost)
{
    pada_text name = {0};
    pada_file file = {0};
    pada_csv csv;
    pada_status st;

    *found = false;
    *cost = (pada_run_cost){0};
    pada_text_add(&name, "%s/metrics.csv", run);
    if ((st = name.status) != PADA_OK) goto out;
    if (!pada_path_exists(name.data)) goto out;
    if ((st = pada_file_open(&file, name.data)) != PADA_OK) goto out;
    pada_csv_init(&csv, name.data, &file);
    if ((st = add_up(&csv, cost)) != PADA_OK) goto out;
    *found = true;
out:
    pada_file_close(&file);
    pada_text_deinit(&name);
    return st;
}
