/* run_cost.c - what a run has cost, from its metrics.csv. */
#include "train/run_cost.h"

#include <float.h>
#include <string.h>

#include "base/csv.h"
#include "base/file.h"
#include "base/text.h"

/* Position of the column `seconds` in the first line. */
static pada_status find_seconds(pada_csv *csv, int *column)
{
    char name[PADA_CSV_FIELD];

    if (!pada_csv_line(csv)) return PADA_FAIL(PADA_EDATA, "%s: the file is empty", csv->name);
    for (*column = 0; csv->field; (*column)++) {
        PADA_TRY(pada_csv_field(csv, name));
        if (strcmp(name, "seconds") == 0) return PADA_OK;
    }
    return PADA_FAIL(PADA_EDATA, "%s:1: no column is called 'seconds'", csv->name);
}

static pada_status add_up(pada_csv *csv, pada_run_cost *cost)
{
    char text[PADA_CSV_FIELD];
    double seconds;
    int column = 0;

    PADA_TRY(find_seconds(csv, &column));
    while (pada_csv_line(csv)) {
        for (int i = 0; i <= column; i++)
            PADA_TRY(pada_csv_field(csv, text));
        if (pada_parse_double(text, "seconds", 0, DBL_MAX, &seconds) != PADA_OK)
            return PADA_FAIL(PADA_EDATA, "%s:%d: %s", csv->name, csv->line, pada_message());
        cost->epochs++;
        cost->seconds += seconds;
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
