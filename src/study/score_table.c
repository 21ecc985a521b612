/* score_table.c - the strict reader of tables of scores, and their lookup by architecture.
 *
 * Invariants after a successful open:
 *  1. every row has a path, and no two rows have the same: its number in `paths` is the row
 *  2. values[column * n_rows + row] is finite for every column and row */
#include "study/score_table.h"

#include <ctype.h>
#include <string.h>

#include "base/csv.h"
#include "base/file.h"
#include "base/mem.h"
#include "space/path_index.h"
#include "space/path_number.h"
#include "study/builtin_truth.h"

#define ARCH_COLUMN     "arch"
#define GENOTYPE_COLUMN "genotype" /* what tables of DARTS call it */

enum { MAX_COLUMNS = 64 };

struct pada_score_table {
    pada_space space;
    int n_rows, n_columns;
    char (*names)[PADA_CSV_FIELD]; /* by column */
    pada_path_index *paths;
    int *lines; /* of the file, by row; gone after the open */
    double *values;
};

/* What the fields of a line are: a column, or one of these. */
enum { FIELD_ARCH = -1, FIELD_IGNORED = -2 };

typedef struct layout {
    int n_fields;
    int column[MAX_COLUMNS + 1];
} layout;

/* Names of the columns, and what the fields are. */
static pada_status read_names(pada_score_table *t, pada_csv *c, layout *fields)
{
    char name[PADA_CSV_FIELD];
    bool has_arch = false;

    while (c->field) {
        PADA_TRY(pada_csv_field(c, name));
        const bool is_arch = strcmp(name, ARCH_COLUMN) == 0 || strcmp(name, GENOTYPE_COLUMN) == 0;
        bool twice = is_arch && has_arch;
        for (int i = 0; i < t->n_columns; i++)
            twice = twice || strcmp(name, t->names[i]) == 0;
        if (twice)
            return PADA_FAIL(PADA_EDATA, "%s:%d: two columns are called '%s'", c->name, c->line,
                             name);
        if (name[0] == '\0')
            return PADA_FAIL(PADA_EDATA, "%s:%d: column %d has no name", c->name, c->line,
                             fields->n_fields + 1);
        if (!is_arch && t->n_columns == MAX_COLUMNS)
            return PADA_FAIL(PADA_EDATA, "%s:%d: more than %d columns", c->name, c->line,
                             MAX_COLUMNS);
        has_arch = has_arch || is_arch;
        fields->column[fields->n_fields++] = is_arch ? FIELD_ARCH : t->n_columns;
        if (!is_arch) memcpy(t->names[t->n_columns++], name, sizeof name);
    }
    if (!has_arch)
        return PADA_FAIL(PADA_EDATA, "%s:%d: no column is called 'arch'", c->name, c->line);
    if (t->n_columns == 0)
        return PADA_FAIL(PADA_EDATA, "%s:%d: no column of values", c->name, c->line);
    return PADA_OK;
}

/* Drops all columns but one. */
static pada_status keep_column(pada_score_table *t, const pada_csv *c, const char *name,
                               layout *fields)
{
    int kept = 0;

    while (kept < t->n_columns && strcmp(t->names[kept], name) != 0)
        kept++;
    if (kept == t->n_columns)
        return PADA_FAIL(PADA_EDATA, "%s:%d: no column is called '%s'", c->name, c->line, name);
    memmove(t->names[0], t->names[kept], sizeof t->names[0]);
    t->n_columns = 1;
    for (int i = 0; i < fields->n_fields; i++)
        if (fields->column[i] >= 0)
            fields->column[i] = fields->column[i] == kept ? 0 : FIELD_IGNORED;
    return PADA_OK;
}

static pada_status read_header(pada_score_table *t, pada_csv *c, const char *only, layout *fields)
{
    void *mem;

    if (!pada_csv_row(c)) return PADA_FAIL(PADA_EDATA, "%s: the file is empty", c->name);
    PADA_TRY(pada_calloc(&mem, MAX_COLUMNS, sizeof *t->names));
    t->names = mem;
    PADA_TRY(read_names(t, c, fields));
    return only ? keep_column(t, c, only, fields) : PADA_OK;
}

static pada_status read_arch(pada_score_table *t, const pada_csv *c, const char *text, int row)
{
    const pada_space_ops *ops = t->space.ops;
    pada_path path;

    /* what is no architecture is refused in the words of the canonical dialect */
    if (ops->parse(&t->space, text, NULL, &path) != PADA_OK &&
        ops->parse(&t->space, text, ops->dialects[0], &path) != PADA_OK)
        return PADA_FAIL(PADA_EDATA, "%s:%d: %s", c->name, c->line, pada_message());
    const int number = pada_path_index_add(t->paths, &path);
    if (number != row)
        return PADA_FAIL(PADA_EDATA, "%s:%d: the architecture of line %d again", c->name, c->line,
                         t->lines[number]);
    t->lines[row] = c->line;
    return PADA_OK;
}

static pada_status read_row(pada_score_table *t, pada_csv *c, const layout *fields, int row)
{
    char text[PADA_CSV_FIELD];

    for (int i = 0; i < fields->n_fields; i++) {
        const int column = fields->column[i];

        PADA_TRY(pada_csv_field(c, text));
        if (column == FIELD_ARCH) PADA_TRY(read_arch(t, c, text, row));
        if (column < 0 || row == t->n_rows) continue;
        PADA_TRY(pada_csv_number(c, text, t->names[column],
                                 &t->values[(size_t)column * (size_t)t->n_rows + (size_t)row]));
    }
    return pada_csv_end(c);
}

/* Sizes everything for the rows that are left, but for no more networks than the space has: with more,
 * one is there twice. */
static pada_status allocate_rows(pada_score_table *t, const pada_csv *c)
{
    enum { MOST = INT32_MAX / 4 };
    const int n_networks = pada_path_count(&t->space, MOST);
    void *mem;

    for (pada_csv ahead = *c; t->n_rows < n_networks && pada_csv_row(&ahead);)
        t->n_rows++;
    if (t->n_rows == 0) return PADA_FAIL(PADA_EDATA, "%s: no rows", c->name);
    if (t->n_rows > MOST)
        return PADA_FAIL(PADA_EDATA, "%s: more rows than can be counted", c->name);
    PADA_TRY(pada_path_index_create(&t->paths, &t->space, t->n_rows));
    PADA_TRY(pada_calloc(&mem, (size_t)t->n_rows, sizeof *t->lines));
    t->lines = mem;
    PADA_TRY(pada_calloc(&mem, (size_t)t->n_rows * (size_t)t->n_columns, sizeof *t->values));
    t->values = mem;
    return PADA_OK;
}

static pada_status read_table(pada_score_table *t, pada_csv *c, const char *only)
{
    layout fields = {0};

    PADA_TRY(read_header(t, c, only, &fields));
    PADA_TRY(allocate_rows(t, c));
    for (int row = 0; pada_csv_row(c); row++)
        PADA_TRY(read_row(t, c, &fields, row));
    return PADA_OK;
}

pada_status pada_score_table_read(pada_score_table **out, const pada_space *space, const char *name,
                                  const char *text, size_t bytes, const char *column)
{
    const pada_file view = {.data = (const uint8_t *)text, .bytes = bytes};
    pada_csv csv;
    void *mem;

    *out = NULL;
    PADA_TRY(pada_calloc(&mem, 1, sizeof **out));
    pada_score_table *t = mem;
    t->space = *space;
    pada_status st = pada_csv_init_foreign(&csv, name, &view);
    if (st == PADA_OK) st = read_table(t, &csv, column);
    pada_free(t->lines);
    t->lines = NULL;
    if (st != PADA_OK) {
        pada_score_table_close(t);
        return st;
    }
    *out = t;
    return PADA_OK;
}

pada_status pada_score_table_open_column(pada_score_table **out, const pada_space *space,
                                         const char *path, const char *column)
{
    pada_file file = {0};

    *out = NULL;
    if (strcmp(path, PADA_TRUTH_BUILTIN) == 0)
        return pada_score_table_read(out, space, path, pada_builtin_truth, pada_builtin_truth_bytes,
                                     column);
    PADA_TRY(pada_file_open(&file, path));
    const pada_status st =
        pada_score_table_read(out, space, path, (const char *)file.data, file.bytes, column);
    pada_file_close(&file);
    return st;
}

pada_status pada_score_table_open(pada_score_table **out, const pada_space *space, const char *path)
{
    return pada_score_table_open_column(out, space, path, NULL);
}

void pada_score_table_close(pada_score_table *t)
{
    if (!t) return;
    pada_free(t->values);
    pada_path_index_destroy(t->paths);
    pada_free(t->names);
    pada_free(t);
}

int pada_score_table_count(const pada_score_table *t)
{
    return t->n_rows;
}

const pada_path *pada_score_table_path(const pada_score_table *t, int row)
{
    return pada_path_index_get(t->paths, row);
}

int pada_score_table_row(const pada_score_table *t, const pada_path *path)
{
    return pada_path_index_find(t->paths, path);
}

int pada_score_table_n_columns(const pada_score_table *t)
{
    return t->n_columns;
}

const char *pada_score_table_column_name(const pada_score_table *t, int column)
{
    PADA_ASSERT(column >= 0 && column < t->n_columns);
    return t->names[column];
}

const double *pada_score_table_values(const pada_score_table *t, int column)
{
    PADA_ASSERT(column >= 0 && column < t->n_columns);
    return t->values + (size_t)column * (size_t)t->n_rows;
}

pada_status pada_score_table_column(const pada_score_table *t, const char *name,
                                    const double **values)
{
    const char *names[MAX_COLUMNS];

    *values = NULL;
    for (int i = 0; i < t->n_columns; i++) {
        names[i] = t->names[i];
        if (strcmp(name, names[i]) == 0) {
            *values = pada_score_table_values(t, i);
            return PADA_OK;
        }
    }
    return pada_fail_unknown(PADA_EINVAL, "unknown truth column", name, names, t->n_columns);
}

void pada_truth_column_of(const char *data_name, char out[PADA_TRUTH_NAME])
{
    size_t n = 0;

    for (; *data_name && n < PADA_TRUTH_NAME - 1; data_name++)
        if (isalnum((unsigned char)*data_name)) out[n++] = (char)tolower((unsigned char)*data_name);
    out[n] = '\0';
    if (n == 0 || strcmp(out, ARCH_COLUMN) == 0) strcpy(out, "accuracy");
}
