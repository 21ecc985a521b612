/* run_cost.c - what a run has cost, from its metrics.csv. */
#include "train/run_cost.h"

#include <float.h>
#include <string.h>

#include "base/csv.h"
#include "base/file.h"
#include "base/text.h"

/* Positions of columns in the first line; -1: not there. */
typedef struct columns {
    int seconds, steps;
} columns;

static pada_status find_columns(pada_csv *csv, columns *at)
{
    char name[PADA_CSV_FIELD];

    *at = (columns){-1, -1};
    if (!pada_csv_line(csv)) return PADA_FAIL(PADA_EDATA, "%s: the file is empty", csv->name);
    for (int i = 0; csv->field; i++) {
        PADA_TRY(pada_csv_field(csv, name));
        if (strcmp(name, "seconds") == 0) at->seconds = i;
        if (strcmp(name, "steps") == 0) at->steps = i;
    }
    if (at->seconds < 0)
        return PADA_FAIL(PADA_EDATA, "%s:1: no column is called 'seconds'", csv->name);
    return PADA_OK;
}

static pada_status read_number(const pada_csv *csv, const char *text, const char *name,
                               double *value)
{
    if (pada_parse_double(text, name, 0, DBL_MAX, value) != PADA_OK)
        return PADA_FAIL(PADA_EDATA, "%s:%d: %s", csv->name, csv->line, pada_message());
    return PADA_OK;
}

static pada_status add_up(pada_csv *csv, pada_run_cost *cost)
{
    char text[PADA_CSV_FIELD];
    double seconds = 0, steps, steps_before = 0;
    columns at;

    PADA_TRY(find_columns(csv, &at));
    while (pada_csv_line(csv)) {
        steps = steps_before + 1;
        for (int i = 0; i <= at.seconds || i <= at.steps; i++) {
            PADA_TRY(pada_csv_field(csv, text));
            if (i == at.seconds) PADA_TRY(read_number(csv, text, "seconds", &seconds));
            if (i == at.steps) PADA_TRY(read_number(csv, text, "steps", &steps));
        }
        cost->epochs += steps > steps_before;
        cost->seconds += seconds;
        steps_before = steps;
    }
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
