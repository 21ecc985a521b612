/* probe_log.c - reads what a kind of measurement has found in a run. */
#include "probe/probe_log.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "probe/probe_file.h"

static pada_status check_header(pada_csv *csv, const pada_probe_kind *kind)
{
    pada_text header = {0};

    pada__probe_add_header(kind, &header);
    pada_status st = header.status;
    if (st == PADA_OK && ((size_t)(csv->line_end - csv->field) != header.length ||
                          memcmp(csv->field, header.data, header.length) != 0))
        st = PADA_FAIL(PADA_EDATA, "%s:1: not the header of a file of `pada probe %s`", csv->name,
                       kind->name);
    pada_text_deinit(&header);
    return st;
}

static pada_status read_rows(pada_probe_log *log, pada_csv *csv)
{
    PADA_TRY(check_header(csv, log->kind));
    while (pada_csv_line(csv)) {
        void *rows = log->rows;
        PADA_TRY(pada_grow(&rows, &log->cap, log->n + 1, sizeof *log->rows));
        log->rows = rows;
        PADA_TRY(pada__probe_read_line(csv, log->kind, &log->rows[log->n]));
        PADA_TRY(pada_csv_end(csv));
        log->n++;
    }
    return PADA_OK;
}

/* Keeps the rows with the settings of the last one, by epoch; of rows of one epoch the last. */
static void arrange(pada_probe_log *log)
{
    pada__probe_line *rows = log->rows;
    const int n = log->n;

    if (n == 0) return;
    const pada__probe_line last = rows[n - 1];
    log->n = 0;
    for (int i = 0; i < n; i++) {
        const pada__probe_line row = rows[i];
        int at = log->n;
        if (memcmp(row.settings, last.settings, sizeof last.settings) != 0) continue;
        while (at > 0 && rows[at - 1].key.epoch > row.key.epoch)
            at--;
        if (at > 0 && rows[at - 1].key.epoch == row.key.epoch) {
            rows[at - 1] = row;
            continue;
        }
        memmove(rows + at + 1, rows + at, (size_t)(log->n - at) * sizeof *rows);
        rows[at] = row;
        log->n++;
    }
}

static pada_status read_file(pada_probe_log *log, const char *path)
{
    pada_file file = {0};
    pada_csv csv;

    if (!pada_path_exists(path)) return PADA_OK;
    PADA_TRY(pada_file_load(&file, path));
    pada_csv_init(&csv, path, &file);
    while (csv.end > csv.at && csv.end[-1] != '\n')
        csv.end--;
    const pada_status st = pada_csv_line(&csv) ? read_rows(log, &csv) : PADA_OK;
    pada_file_close(&file);
    return st;
}

pada_status pada_probe_log_read(pada_probe_log *log, const char *run, const pada_probe_kind *kind)
{
    pada_text path = {0};

    *log = (pada_probe_log){.kind = kind};
    pada_text_add(&path, "%s/probes/%s.csv", run, kind->name);
    const pada_status st = path.status == PADA_OK ? read_file(log, path.data) : path.status;
    pada_text_deinit(&path);
    if (st == PADA_OK) arrange(log);
    return st;
}

void pada_probe_log_deinit(pada_probe_log *log)
{
    pada_free(log->rows);
    *log = (pada_probe_log){0};
}

int pada_probe_log_epoch(const pada_probe_log *log, int row)
{
    return log->rows[row].key.epoch;
}

double pada_probe_log_value(const pada_probe_log *log, int row, const char *column)
{
    int i = 0;

    while (strcmp(log->kind->columns[i].name, column) != 0)
        i++;
    return log->rows[row].values[i];
}

bool pada_probe_log_has(const pada_probe_log *log, const char *column)
{
    for (int row = 0; row < log->n; row++)
        if (isfinite(pada_probe_log_value(log, row, column))) return true;
    return false;
}
