/* latency_table.c - tables of the latencies of parts of networks, and sums over them. */
#include "study/latency_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "base/mem.h"

#define CSV_HEADER "op,in_h,in_w,in_c,out_h,out_w,out_c,expand,kernel,stride,skip,ms,std,count"
#define MAX_MS     1e9 /* of a part: eleven days; sums of microseconds stay inside 64 bits */

typedef struct entry {
    char *key; /* owned */
    double ms;
    int line; /* of the file; 0: no value yet */
} entry;

struct pada_latency_table {
    char *name;     /* for messages, owned */
    entry *entries; /* sorted by key */
    int n, cap;
};

/* ---- entries ---- */

static pada_status add_entry(pada_latency_table *t, const char *key, double ms, int line)
{
    void *mem = t->entries;

    PADA_TRY(pada_grow(&mem, &t->cap, t->n + 1, sizeof *t->entries));
    t->entries = mem;
    PADA_TRY(pada_strdup(&t->entries[t->n].key, key));
    t->entries[t->n].ms = ms;
    t->entries[t->n++].line = line;
    return PADA_OK;
}

static int by_key(const void *a, const void *b)
{
    return strcmp(((const entry *)a)->key, ((const entry *)b)->key);
}

static pada_status sort_entries(pada_latency_table *t)
{
    if (t->n == 0) return PADA_FAIL(PADA_EDATA, "%s: no keys; this is no latency table", t->name);
    qsort(t->entries, (size_t)t->n, sizeof *t->entries, by_key);
    for (int i = 1; i < t->n; i++)
        if (by_key(&t->entries[i - 1], &t->entries[i]) == 0)
            return PADA_FAIL(PADA_EDATA, "%s: lines %d and %d both have the key '%.200s'", t->name,
                             t->entries[i - 1].line, t->entries[i].line, t->entries[i].key);
    return PADA_OK;
}

/* A time in ms; `csv` knows the line. */
static pada_status read_ms(const pada_csv *csv, const char *text, double *ms)
{
    PADA_TRY(pada_csv_number(csv, text, "ms", ms));
    if (*ms < 0 || *ms > MAX_MS)
        return PADA_FAIL(PADA_EDATA, "%s:%d: ms: %s is not in 0..%g", csv->name, csv->line, text,
                         MAX_MS);
    return PADA_OK;
}

/* ---- CSV ---- */

static pada_status read_op(pada_csv *csv, char op[PADA_CSV_FIELD])
{
    PADA_TRY(pada_csv_field(csv, op));
    for (const char *p = op; *p; p++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", *p))
            return PADA_FAIL(PADA_EDATA, "%s:%d: op '%.40s' is not a word", csv->name, csv->line,
                             op);
    if (!*op) return PADA_FAIL(PADA_EDATA, "%s:%d: op is empty", csv->name, csv->line);
    return PADA_OK;
}

static pada_status read_size(pada_csv *csv, int min, int *out)
{
    char field[PADA_CSV_FIELD];
    int64_t value;

    PADA_TRY(pada_csv_field(csv, field));
    if (pada_parse_int(field, "a size", min, 1000000, &value) != PADA_OK)
        return PADA_FAIL(PADA_EDATA, "%s:%d: %s", csv->name, csv->line, pada_message());
    *out = (int)value;
    return PADA_OK;
}

static pada_status read_row(pada_latency_table *t, pada_csv *csv)
{
    char op[PADA_CSV_FIELD], field[PADA_CSV_FIELD];
    pada_text key = {0};
    pada_part part = {.op = op};
    int skip = 0;
    double ms, ignored;

    PADA_TRY(read_op(csv, op));
    PADA_TRY(read_size(csv, 1, &part.in.h));
    PADA_TRY(read_size(csv, 1, &part.in.w));
    PADA_TRY(read_size(csv, 1, &part.in.c));
    PADA_TRY(read_size(csv, 0, &part.out.h));
    PADA_TRY(read_size(csv, 0, &part.out.w));
    PADA_TRY(read_size(csv, 1, &part.out.c));
    PADA_TRY(read_size(csv, 0, &part.expand));
    PADA_TRY(read_size(csv, 0, &part.kernel));
    PADA_TRY(read_size(csv, 0, &part.stride));
    PADA_TRY(read_size(csv, 0, &skip));
    part.skip = skip != 0;
    PADA_TRY(pada_csv_field(csv, field));
    PADA_TRY(read_ms(csv, field, &ms));
    for (int i = 0; i < 2; i++) { /* deviation and count, for people */
        PADA_TRY(pada_csv_field(csv, field));
        PADA_TRY(pada_csv_number(csv, field, i == 0 ? "std" : "count", &ignored));
    }
    PADA_TRY(pada_csv_end(csv));
    pada_part_key(&part, &key);
    const pada_status st =
        key.status == PADA_OK ? add_entry(t, key.data, ms, csv->line) : key.status;
    pada_text_deinit(&key);
    return st;
}

/* ---- YAML: the two levels of published tables, line by line ---- */

/* Cuts blanks off both ends. */
static void trim(char **text)
{
    while (**text == ' ')
        (*text)++;
    size_t n = strlen(*text);
    while (n > 0 && (*text)[n - 1] == ' ')
        (*text)[--n] = '\0';
}

static pada_status yaml_fails(const pada_csv *csv, const char *what)
{
    return PADA_FAIL(PADA_EDATA, "%s:%d: %s", csv->name, csv->line, what);
}

/* The whole line as a string. */
static pada_status copy_line(const pada_csv *csv, char line[PADA_CSV_FIELD])
{
    const size_t n = (size_t)(csv->line_end - csv->field);

    if (n >= PADA_CSV_FIELD) return yaml_fails(csv, "a line of more than 1023 characters");
    if (memchr(csv->field, '\0', n)) return yaml_fails(csv, "a zero byte; this is not YAML");
    memcpy(line, csv->field, n);
    line[n] = '\0';
    return PADA_OK;
}

/* "key:" at the start of a line. Colons are a part of keys. */
static pada_status read_yaml_key(pada_latency_table *t, const pada_csv *csv, char *line)
{
    trim(&line);
    const size_t n = strlen(line);
    if (n < 2 || line[n - 1] != ':' || strpbrk(line, " \t\"'#{}[]&*!|>"))
        return yaml_fails(csv, "neither a CSV table nor a YAML key that ends with a colon");
    line[n - 1] = '\0';
    return add_entry(t, line, -1, csv->line);
}

/* "  mean: 1.25", or another number, below a key. */
static pada_status read_yaml_value(pada_latency_table *t, const pada_csv *csv, char *line)
{
    entry *last = t->n > 0 ? &t->entries[t->n - 1] : NULL;
    char *colon = strchr(line, ':');
    double ignored;

    if (!last) return yaml_fails(csv, "a value without a key above it");
    if (!colon) return yaml_fails(csv, "not a name, a colon and a number");
    char *value = colon + 1;
    *colon = '\0';
    trim(&line);
    trim(&value);
    if (strcmp(line, "mean") != 0) return pada_csv_number(csv, value, "a value", &ignored);
    if (last->ms >= 0) return yaml_fails(csv, "a second mean of the key");
    return read_ms(csv, value, &last->ms);
}

static pada_status read_yaml_line(pada_latency_table *t, const pada_csv *csv)
{
    char line[PADA_CSV_FIELD];

    PADA_TRY(copy_line(csv, line));
    if (line[0] == '#' || strcmp(line, "---") == 0) return PADA_OK;
    if (line[0] == ' ') return read_yaml_value(t, csv, line);
    if (t->n > 0 && t->entries[t->n - 1].ms < 0)
        return yaml_fails(csv, "the key before has no mean");
    return read_yaml_key(t, csv, line);
}

/* ---- the table ---- */

static pada_status read_lines(pada_latency_table *t, pada_csv *csv)
{
    const size_t n = strlen(CSV_HEADER);
    bool is_csv = false;

    while (pada_csv_row(csv)) {
        if (csv->line == 1 && (size_t)(csv->line_end - csv->field) == n &&
            memcmp(csv->field, CSV_HEADER, n) == 0)
            is_csv = true;
        else
            PADA_TRY(is_csv ? read_row(t, csv) : read_yaml_line(t, csv));
    }
    if (t->n > 0 && t->entries[t->n - 1].ms < 0) return yaml_fails(csv, "the last key has no mean");
    return sort_entries(t);
}

pada_status pada_latency_table_read(pada_latency_table **out, const char *name, const char *text,
                                    size_t bytes)
{
    const pada_file file = {.data = bytes > 0 ? (const uint8_t *)text : NULL, .bytes = bytes};
    pada_latency_table *t;
    pada_csv csv;
    pada_status st;
    void *mem;

    *out = NULL;
    PADA_TRY(pada_calloc(&mem, 1, sizeof *t));
    t = mem;
    pada_csv_init(&csv, name, &file);
    if ((st = pada_strdup(&t->name, name)) != PADA_OK) goto fail;
    if ((st = read_lines(t, &csv)) != PADA_OK) goto fail;
    *out = t;
    return PADA_OK;
fail:
    pada_latency_table_close(t);
    return st;
}

pada_status pada_latency_table_open(pada_latency_table **out, const char *path)
{
    pada_file file;

    *out = NULL;
    PADA_TRY(pada_file_load(&file, path));
    const pada_status st = pada_latency_table_read(out, path, (const char *)file.data, file.bytes);
    pada_file_close(&file);
    return st;
}

void pada_latency_table_close(pada_latency_table *t)
{
    if (!t) return;
    for (int i = 0; i < t->n; i++)
        pada_free(t->entries[i].key);
    pada_free(t->entries);
    pada_free(t->name);
    pada_free(t);
}

int pada_latency_table_count(const pada_latency_table *t)
{
    return t->n;
}

const char *pada_latency_table_key(const pada_latency_table *t, int i)
{
    PADA_ASSERT(i >= 0 && i < t->n);
    return t->entries[i].key;
}

double pada_latency_table_ms(const pada_latency_table *t, int i)
{
    PADA_ASSERT(i >= 0 && i < t->n);
    return t->entries[i].ms;
}

/* ---- sums ---- */

/* A walk over the parts of a path. */
typedef struct sum {
    const pada_latency_table *table;
    pada_text key; /* of the part; room that is used again */
    double ms;
    int64_t us; /* of rounded parts */
} sum;

static pada_status find_ms(sum *s, const pada_part *part, double *ms)
{
    const pada_latency_table *t = s->table;

    s->key.length = 0;
    pada_part_key(part, &s->key);
    if (s->key.status != PADA_OK) return s->key.status;
    const entry wanted = {.key = s->key.data};
    const entry *found = bsearch(&wanted, t->entries, (size_t)t->n, sizeof wanted, by_key);
    if (!found)
        return PADA_FAIL(PADA_EDATA, "%s: no key '%s', which the network needs", t->name,
                         s->key.data);
    *ms = found->ms;
    return PADA_OK;
}

static pada_status add_part(void *user, const pada_part *part, const pada_part_place *place)
{
    sum *s = user;
    double ms = 0;

    (void)place;
    PADA_TRY(find_ms(s, part, &ms));
    s->ms += ms;
    s->us += llround(1e3 * ms);
    return PADA_OK;
}

static pada_status add_path(sum *s, const pada_space *space, const pada_path *path)
{
    const pada_status st = pada_space_visit_parts(space, path, add_part, s);

    pada_text_deinit(&s->key);
    return st;
}

pada_status pada_latency_of(const pada_latency_table *table, const pada_space *space,
                            const pada_path *path, double *ms)
{
    sum s = {.table = table};
    pada_path live;

    space->ops->canonical(space, path, &live);
    PADA_TRY(add_path(&s, space, &live));
    *ms = s.ms;
    return PADA_OK;
}

pada_status pada_latency_path_us(const pada_latency_table *table, const pada_space *space,
                                 const pada_path *path, int64_t *us)
{
    sum s = {.table = table};

    PADA_TRY(add_path(&s, space, path));
    *us = s.us;
    return PADA_OK;
}

/* ---- writing ---- */

void pada_latency_rows_write(const pada_latency_row *rows, int n, pada_text *out)
{
    pada_text_add(out, CSV_HEADER "\n");
    for (const pada_latency_row *r = rows; r < rows + n; r++) {
        const pada_part *p = &r->part;
        pada_part_op(p, out);
        pada_text_add(out, ",%d,%d,%d,%d,%d,%d,%d,%d,%d,%d,%.6f,%.6f,%d\n", p->in.h, p->in.w,
                      p->in.c, p->out.h, p->out.w, p->out.c, p->expand, p->kernel, p->stride,
                      p->skip, r->ms, r->std_ms, r->count);
    }
}
