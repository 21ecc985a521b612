/* csv.c - reads the lines and fields of a CSV file. */
#include "base/csv.h"

#include <float.h>
#include <string.h>

#include "base/text.h"

void pada_csv_init(pada_csv *csv, const char *name, const pada_file *file)
{
    const char *text = file->data ? (const char *)file->data : "";

    *csv = (pada_csv){.name = name, .at = text, .end = text + file->bytes, .separator = ','};
}

static bool starts_with(const pada_csv *csv, const char *mark)
{
    const size_t n = strlen(mark);

    return (size_t)(csv->end - csv->at) >= n && memcmp(csv->at, mark, n) == 0;
}

/* Whether the first line that is not empty has this character outside quotes. */
static bool first_line_has(const pada_csv *csv, char wanted)
{
    const char *p = csv->at;
    bool quoted = false;

    while (p < csv->end && (*p == '\r' || *p == '\n'))
        p++;
    for (; p < csv->end && *p != '\n'; p++) {
        if (*p == '"') quoted = !quoted;
        if (*p == wanted && !quoted) return true;
    }
    return false;
}

pada_status pada_csv_init_foreign(pada_csv *csv, const char *name, const pada_file *file)
{
    pada_csv_init(csv, name, file);
    if (starts_with(csv, "\xff\xfe") || starts_with(csv, "\xfe\xff"))
        return PADA_FAIL(PADA_EDATA, "%s: UTF-16 text; save it as CSV in UTF-8", name);
    if (starts_with(csv, "\xef\xbb\xbf")) csv->at += 3;
    csv->separator = first_line_has(csv, '\t') ? '\t' : first_line_has(csv, ';') ? ';' : ',';
    return PADA_OK;
}

bool pada_csv_line(pada_csv *csv)
{
    if (csv->at == csv->end) return false;
    const char *newline = memchr(csv->at, '\n', (size_t)(csv->end - csv->at));
    csv->field = csv->at;
    csv->line_end = newline ? newline : csv->end;
    csv->at = newline ? newline + 1 : csv->end;
    if (csv->line_end > csv->field && csv->line_end[-1] == '\r') csv->line_end--;
    csv->line++;
    return true;
}

/* Nothing but blanks and separators: spreadsheets write empty rows so. */
static bool is_blank(const pada_csv *csv)
{
    for (const char *p = csv->field; p && p < csv->line_end; p++)
        if (*p != ' ' && *p != '\t' && *p != csv->separator) return false;
    return true;
}

bool pada_csv_row(pada_csv *csv)
{
    while (pada_csv_line(csv))
        if (!is_blank(csv)) return true;
    return false;
}

static pada_status fail(const pada_csv *csv, const char *what)
{
    return PADA_FAIL(PADA_EDATA, "%s:%d: %s", csv->name, csv->line, what);
}

/* Goes behind a field that ends at `end`, which is a separator or the end of the line. */
static void skip_to(pada_csv *csv, const char *end)
{
    csv->field = end < csv->line_end ? end + 1 : NULL;
}

static pada_status check_field(const pada_csv *csv, const char *text, size_t n)
{
    if (n >= PADA_CSV_FIELD)
        return PADA_FAIL(PADA_EDATA, "%s:%d: a field of %zu characters", csv->name, csv->line, n);
    return memchr(text, '\0', n) ? fail(csv, "a zero byte; this is not a CSV file") : PADA_OK;
}

static pada_status quoted_field(pada_csv *csv, char out[PADA_CSV_FIELD])
{
    const char *start = csv->field + 1, *end = start;
    size_t n = 0;

    while (end < csv->line_end && (*end != '"' || (end + 1 < csv->line_end && end[1] == '"')))
        end += *end == '"' ? 2 : 1;
    if (end == csv->line_end) return fail(csv, "a quote that is not closed on its line");
    if (end + 1 < csv->line_end && end[1] != csv->separator)
        return fail(csv, "text after the closing quote of a field");
    PADA_TRY(check_field(csv, start, (size_t)(end - start)));
    for (const char *p = start; p < end; p += *p == '"' ? 2 : 1)
        out[n++] = *p;
    out[n] = '\0';
    skip_to(csv, end + 1);
    return PADA_OK;
}

pada_status pada_csv_field(pada_csv *csv, char out[PADA_CSV_FIELD])
{
    if (!csv->field) return fail(csv, "too few columns");
    if (csv->field < csv->line_end && *csv->field == '"') return quoted_field(csv, out);
    const char *end = memchr(csv->field, csv->separator, (size_t)(csv->line_end - csv->field));
    if (!end) end = csv->line_end;
    const size_t n = (size_t)(end - csv->field);

    PADA_TRY(check_field(csv, csv->field, n));
    memcpy(out, csv->field, n);
    out[n] = '\0';
    skip_to(csv, end);
    return PADA_OK;
}

pada_status pada_csv_number(const pada_csv *csv, const char *text, const char *what, double *out)
{
    const char *comma = csv->separator == ';' ? strchr(text, ',') : NULL;
    const size_t n = strlen(text);
    char point[PADA_CSV_FIELD];

    PADA_ASSERT(n < sizeof point);
    memcpy(point, text, n + 1);
    if (comma && !strchr(text, '.')) point[comma - text] = '.';
    if (pada_parse_double(point, what, -DBL_MAX, DBL_MAX, out) != PADA_OK)
        return fail(csv, pada_message());
    return PADA_OK;
}

pada_status pada_csv_end(const pada_csv *csv)
{
    return csv->field ? fail(csv, "too many columns") : PADA_OK;
}
