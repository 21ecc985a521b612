/* truth_table.c - the strict reader of truth tables, and their lookup by architecture.
 *
 * Invariants after a successful open:
 *  1. every row has a path, and no two rows have the same
 *  2. values[column * n_rows + row] is finite for every column and row
 *  3. `slots` is a hash table with open addressing, at most half full: 0 is empty, else row + 1 */
#include "study/truth_table.h"

#include <float.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"

#define ARCH_COLUMN "arch"

enum { MAX_COLUMNS = 64, MAX_FIELD = 1024 }; /* MAX_FIELD: bytes with terminator */

struct pada_truth {
    pada_space space;
    int n_rows, n_columns;
    char (*names)[MAX_FIELD]; /* by column */
    pada_path *paths;         /* by row */
    double *values;
    uint32_t *slots;
    uint32_t n_slots; /* a power of two */
};

/* Reads a file line by line and field by field; `file` only for messages. */
typedef struct csv {
    const char *file;
    const char *at, *end; /* what follows this line */
    const char *field, *line_end;
    int line;
} csv;

static bool next_line(csv *c)
{
    if (c->at == c->end) return false;
    const char *newline = memchr(c->at, '\n', (size_t)(c->end - c->at));
    c->field = c->at;
    c->line_end = newline ? newline : c->end;
    c->at = newline ? newline + 1 : c->end;
    if (c->line_end > c->field && c->line_end[-1] == '\r') c->line_end--;
    c->line++;
    return true;
}

/* Copies the next field of the line; PADA_EDATA if there is none. */
static pada_status next_field(csv *c, char out[MAX_FIELD])
{
    if (!c->field) return PADA_FAIL(PADA_EDATA, "%s:%d: too few columns", c->file, c->line);
    const char *comma = memchr(c->field, ',', (size_t)(c->line_end - c->field));
    const size_t n = (size_t)((comma ? comma : c->line_end) - c->field);

    if (n >= MAX_FIELD)
        return PADA_FAIL(PADA_EDATA, "%s:%d: a field of %zu characters", c->file, c->line, n);
    if (memchr(c->field, '\0', n))
        return PADA_FAIL(PADA_EDATA, "%s:%d: a zero byte; this is not a CSV file", c->file,
                         c->line);
    if (n > 0 && c->field[0] == '"')
        return PADA_FAIL(PADA_EDATA, "%s:%d: quoted fields are not supported", c->file, c->line);
    memcpy(out, c->field, n);
    out[n] = '\0';
    c->field = comma ? comma + 1 : NULL;
    return PADA_OK;
}

static pada_status end_fields(const csv *c)
{
    return c->field ? PADA_FAIL(PADA_EDATA, "%s:%d: too many columns", c->file, c->line) : PADA_OK;
}

/* Names of the columns. *arch is the position of the architecture among the fields. */
static pada_status read_header(pada_truth *t, csv *c, int *arch)
{
    char name[MAX_FIELD];
    void *mem;

    if (!next_line(c)) return PADA_FAIL(PADA_EDATA, "%s: the file is empty", c->file);
    PADA_TRY(pada_calloc(&mem, MAX_COLUMNS, sizeof *t->names));
    t->names = mem;
    *arch = -1;
    for (int field = 0; c->field; field++) {
        PADA_TRY(next_field(c, name));
        bool twice = strcmp(name, ARCH_COLUMN) == 0 && *arch >= 0;
        for (int i = 0; i < t->n_columns; i++)
            twice = twice || strcmp(name, t->names[i]) == 0;
        if (twice) return PADA_FAIL(PADA_EDATA, "%s:1: two columns are called '%s'", c->file, name);
        if (name[0] == '\0')
            return PADA_FAIL(PADA_EDATA, "%s:1: column %d has no name", c->file, field + 1);
        if (strcmp(name, ARCH_COLUMN) == 0) {
            *arch = field;
            continue;
        }
        if (t->n_columns == MAX_COLUMNS)
            return PADA_FAIL(PADA_EDATA, "%s:1: more than %d columns", c->file, MAX_COLUMNS);
        memcpy(t->names[t->n_columns++], name, sizeof name);
    }
    if (*arch < 0) return PADA_FAIL(PADA_EDATA, "%s:1: no column is called 'arch'", c->file);
    if (t->n_columns == 0) return PADA_FAIL(PADA_EDATA, "%s:1: no column of values", c->file);
    return PADA_OK;
}

/* The slot of a path: the one that holds it, or the empty one where it belongs. */
static uint32_t *find_slot(const pada_truth *t, const pada_path *path)
{
    const uint32_t mask = t->n_slots - 1;
    uint32_t i = (uint32_t)pada_hash(path->choice, (size_t)t->space.ops->n_slots, 0) & mask;

    while (t->slots[i] != 0 && !pada_path_equal(&t->space, &t->paths[t->slots[i] - 1], path))
        i = (i + 1) & mask;
    return &t->slots[i];
}

static pada_status read_arch(pada_truth *t, const csv *c, const char *text, int row)
{
    const pada_space_ops *ops = t->space.ops;
    pada_path *path = &t->paths[row];

    if (ops->parse(&t->space, text, ops->dialects[0], path) != PADA_OK)
        return PADA_FAIL(PADA_EDATA, "%s:%d: %s", c->file, c->line, pada_message());
    uint32_t *slot = find_slot(t, path);
    if (*slot != 0)
        return PADA_FAIL(PADA_EDATA, "%s:%d: the architecture of line %u again", c->file, c->line,
                         *slot + 1); /* row + 1, after one line of header */
    *slot = (uint32_t)row + 1;
    return PADA_OK;
}

static pada_status read_row(pada_truth *t, csv *c, int arch, int row)
{
    char text[MAX_FIELD];

    for (int field = 0, column = 0; field <= t->n_columns; field++) {
        PADA_TRY(next_field(c, text));
        if (field == arch) {
            PADA_TRY(read_arch(t, c, text, row));
            continue;
        }
        double *value = &t->values[(size_t)column * (size_t)t->n_rows + (size_t)row];
        if (pada_parse_double(text, t->names[column], -DBL_MAX, DBL_MAX, value) != PADA_OK)
            return PADA_FAIL(PADA_EDATA, "%s:%d: %s", c->file, c->line, pada_message());
        column++;
    }
    return end_fields(c);
}

/* Sizes everything for the lines that are left. */
static pada_status allocate_rows(pada_truth *t, const csv *c)
{
    int64_t n = 0;
    void *mem;

    for (csv ahead = *c; next_line(&ahead);)
        n++;
    if (n == 0) return PADA_FAIL(PADA_EDATA, "%s: no rows", c->file);
    if (n > INT32_MAX / 4)
        return PADA_FAIL(PADA_EDATA, "%s: more rows than can be counted", c->file);
    t->n_rows = (int)n;
    t->n_slots = 2;
    while (t->n_slots < 2 * (uint32_t)n)
        t->n_slots *= 2;
    PADA_TRY(pada_calloc(&mem, (size_t)n, sizeof *t->paths));
    t->paths = mem;
    PADA_TRY(pada_calloc(&mem, (size_t)n * (size_t)t->n_columns, sizeof *t->values));
    t->values = mem;
    PADA_TRY(pada_calloc(&mem, t->n_slots, sizeof *t->slots));
    t->slots = mem;
    return PADA_OK;
}

static pada_status read_table(pada_truth *t, csv *c)
{
    int arch;

    PADA_TRY(read_header(t, c, &arch));
    PADA_TRY(allocate_rows(t, c));
    for (int row = 0; next_line(c); row++)
        PADA_TRY(read_row(t, c, arch, row));
    return PADA_OK;
}

pada_status pada_truth_open(pada_truth **out, const pada_space *space, const char *path)
{
    pada_file file = {0};
    pada_truth *t = NULL;
    void *mem;
    pada_status st;

    *out = NULL;
    PADA_TRY(pada_calloc(&mem, 1, sizeof *t));
    t = mem;
    t->space = *space;
    if ((st = pada_file_open(&file, path)) != PADA_OK) goto fail;
    const char *text = file.data ? (const char *)file.data : "";
    csv reader = {.file = path, .at = text, .end = text + file.bytes};
    if ((st = read_table(t, &reader)) != PADA_OK) goto fail;
    pada_file_close(&file);
    *out = t;
    return PADA_OK;
fail:
    pada_file_close(&file);
    pada_truth_close(t);
    return st;
}

void pada_truth_close(pada_truth *t)
{
    if (!t) return;
    pada_free(t->slots);
    pada_free(t->values);
    pada_free(t->paths);
    pada_free(t->names);
    pada_free(t);
}

int pada_truth_count(const pada_truth *t)
{
    return t->n_rows;
}

const pada_path *pada_truth_path(const pada_truth *t, int row)
{
    PADA_ASSERT(row >= 0 && row < t->n_rows);
    return &t->paths[row];
}

int pada_truth_row(const pada_truth *t, const pada_path *path)
{
    return (int)*find_slot(t, path) - 1;
}

int pada_truth_n_columns(const pada_truth *t)
{
    return t->n_columns;
}

const char *pada_truth_column_name(const pada_truth *t, int column)
{
    PADA_ASSERT(column >= 0 && column < t->n_columns);
    return t->names[column];
}

pada_status pada_truth_column(const pada_truth *t, const char *name, const double **values)
{
    const char *names[MAX_COLUMNS];

    *values = NULL;
    for (int i = 0; i < t->n_columns; i++) {
        names[i] = t->names[i];
        if (strcmp(name, names[i]) == 0) {
            *values = t->values + (size_t)i * (size_t)t->n_rows;
            return PADA_OK;
        }
    }
    const char *near = pada_nearest(name, names, t->n_columns);
    if (near)
        return PADA_FAIL(PADA_EINVAL, "unknown truth column '%s'; did you mean '%s'?", name, near);
    return PADA_FAIL(PADA_EINVAL, "unknown truth column '%s'; the first is '%s'", name, names[0]);
}
