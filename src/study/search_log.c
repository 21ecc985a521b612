/* search_log.c - reads the files of a search. */
#include "study/search_log.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/csv.h"
#include "base/mem.h"
#include "base/text.h"
#include "study/search_files.h"

enum { MAX_COLUMNS = 8 };
#define NO_FIELD SIZE_MAX
#define OPTIONAL (SIZE_MAX - 1) /* the last column of some files; not kept */

typedef struct column {
    const char *name;
    size_t offset; /* of the number in pada_search_row; NO_FIELD: `arch`, or not kept; OPTIONAL */
    bool may_be_empty;
} column;

#define KEPT(field) #field, offsetof(pada_search_row, field)

static const column best_columns[MAX_COLUMNS + 1] = {
    {"rank", NO_FIELD, false}, {"arch", NO_FIELD, false},  {KEPT(top1), false},
    {KEPT(loss), false},       {KEPT(macs), true},         {KEPT(params), true},
    {KEPT(latency), true},     {"score", OPTIONAL, false},
};
static const column history_columns[MAX_COLUMNS + 1] = {
    {"evaluation", NO_FIELD, false}, {"generation", NO_FIELD, false},
    {"arch", NO_FIELD, false},       {KEPT(top1), false},
    {KEPT(best_so_far), false},
};

/* Ends at `*n` columns: the last one may be missing. */
static pada_status read_header(pada_csv *csv, const column *columns, int *n)
{
    char text[PADA_CSV_FIELD];

    if (!pada_csv_line(csv))
        return PADA_FAIL(PADA_EDATA, "%s: empty, not a file of `pada search`", csv->name);
    *n = 0;
    for (const column *c = columns; c->name; c++) {
        if (c->offset == OPTIONAL && !csv->field) break;
        ++*n;
        PADA_TRY(pada_csv_field(csv, text));
        if (strcmp(text, c->name) != 0)
            return PADA_FAIL(PADA_EDATA, "%s:1: column '%.40s' instead of %s", csv->name, text,
                             c->name);
    }
    return pada_csv_end(csv);
}

static pada_status read_arch(const pada_csv *csv, const pada_space *space, const char *text,
                             pada_path *path)
{
    const pada_status st = space->ops->parse(space, text, space->ops->dialects[0], path);

    if (st != PADA_EINVAL) return st;
    return PADA_FAIL(PADA_EDATA, "%s:%d: '%.60s' is no network of space %s", csv->name, csv->line,
                     text, space->ops->name);
}

static pada_status read_row(pada_csv *csv, const column *columns, int n, const pada_space *space,
                            pada_search_row *row)
{
    char text[PADA_CSV_FIELD];
    double x;

    *row = (pada_search_row){.best_so_far = NAN, .loss = NAN, .macs = NAN, .params = NAN};
    row->latency = NAN;
    for (const column *c = columns; c < columns + n; c++) {
        PADA_TRY(pada_csv_field(csv, text));
        if (strcmp(c->name, "arch") == 0) {
            PADA_TRY(read_arch(csv, space, text, &row->path));
            continue;
        }
        if (!*text && c->may_be_empty) continue;
        PADA_TRY(pada_csv_number(csv, text, c->name, &x));
        if (c->offset < OPTIONAL) memcpy((char *)row + c->offset, &x, sizeof x);
    }
    return pada_csv_end(csv);
}

static pada_status read_rows(pada_search_rows *out, pada_csv *csv, const column *columns,
                             const pada_space *space)
{
    int n;

    PADA_TRY(read_header(csv, columns, &n));
    while (pada_csv_line(csv)) {
        void *rows = out->rows;
        PADA_TRY(pada_grow(&rows, &out->cap, out->n + 1, sizeof *out->rows));
        out->rows = rows;
        PADA_TRY(read_row(csv, columns, n, space, &out->rows[out->n]));
        out->n++;
    }
    if (out->n == 0) return PADA_FAIL(PADA_EDATA, "%s: no networks", csv->name);
    return PADA_OK;
}

/* *is_there: whether there is such a file. */
static pada_status read_file(pada_search_rows *out, const char *path, const column *columns,
                             const pada_space *space, bool *is_there)
{
    pada_file file = {0};
    pada_csv csv;

    *is_there = pada_path_exists(path);
    if (!*is_there) return PADA_OK;
    PADA_TRY(pada_file_load(&file, path));
    pada_csv_init(&csv, path, &file);
    pada_status st = read_rows(out, &csv, columns, space);
    if (st == PADA_OK && file.data[file.bytes - 1] != '\n')
        st = PADA_FAIL(PADA_EDATA, "%s:%d: cut short", path, csv.line);
    pada_file_close(&file);
    return st;
}

static pada_status read_from(pada_search_rows *out, const char *folder, const char *name,
                             const column *columns, const pada_space *space, bool *is_there)
{
    pada_text path = {0};

    pada_text_add(&path, "%s/%s", folder, name);
    const pada_status st =
        path.status == PADA_OK ? read_file(out, path.data, columns, space, is_there) : path.status;
    pada_text_deinit(&path);
    return st;
}

pada_status pada_search_log_read(pada_search_log *log, const pada_space *space, const char *folder)
{
    bool is_there;

    *log = (pada_search_log){0};
    PADA_TRY(read_from(&log->best, folder, PADA_SEARCH_BEST, best_columns, space, &is_there));
    if (!is_there) return PADA_OK;
    PADA_TRY(read_from(&log->front, folder, PADA_SEARCH_FRONT, best_columns, space, &is_there));
    if (log->front.n > log->best.n)
        return PADA_FAIL(PADA_EDATA,
                         "%s/" PADA_SEARCH_FRONT ": %d networks, " PADA_SEARCH_BEST " has %d",
                         folder, log->front.n, log->best.n);
    PADA_TRY(
        read_from(&log->history, folder, PADA_SEARCH_HISTORY, history_columns, space, &is_there));
    if (is_there && log->history.n != log->best.n)
        return PADA_FAIL(PADA_EDATA,
                         "%s/" PADA_SEARCH_HISTORY ": %d networks, " PADA_SEARCH_BEST " has %d",
                         folder, log->history.n, log->best.n);
    return PADA_OK;
}

void pada_search_log_deinit(pada_search_log *log)
{
    pada_free(log->best.rows);
    pada_free(log->front.rows);
    pada_free(log->history.rows);
    *log = (pada_search_log){0};
}
