/* csv.c - reads the lines and fields of a CSV file. */
#include "base/csv.h"

#include <string.h>

void pada_csv_init(pada_csv *csv, const char *name, const pada_file *file)
{
    const char *text = file->data ? (const char *)file->data : "";

    *csv = (pada_csv){.name = name, .at = text, .end = text + file->bytes};
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

pada_status pada_csv_field(pada_csv *csv, char out[PADA_CSV_FIELD])
{
    if (!csv->field) return PADA_FAIL(PADA_EDATA, "%s:%d: too few columns", csv->name, csv->line);
    const char *comma = memchr(csv->field, ',', (size_t)(csv->line_end - csv->field));
    const size_t n = (size_t)((comma ? comma : csv->line_end) - csv->field);

    if (n >= PADA_CSV_FIELD)
        return PADA_FAIL(PADA_EDATA, "%s:%d: a field of %zu characters", csv->name, csv->line, n);
    if (memchr(csv->field, '\0', n))
        return PADA_FAIL(PADA_EDATA, "%s:%d: a zero byte; this is not a CSV file", csv->name,
                         csv->line);
    if (n > 0 && csv->field[0] == '"')
        return PADA_FAIL(PADA_EDATA, "%s:%d: quoted fields are not supported", csv->name,
                         csv->line);
    memcpy(out, csv->field, n);
    out[n] = '\0';
    csv->field = comma ? comma + 1 : NULL;
    return PADA_OK;
}

pada_status pada_csv_end(const pada_csv *csv)
{
    return csv->field ? PADA_FAIL(PADA_EDATA, "%s:%d: too many columns", csv->name, csv->line)
                      : PADA_OK;
}
