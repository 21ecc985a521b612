/* fuzz_csv.c - lines, fields and numbers of a CSV file, as pada writes it and as spreadsheets do. */
#include "fuzz/fuzz.h"

#include <math.h>

#include "base/csv.h"

static void read_all(pada_csv *csv)
{
    char field[PADA_CSV_FIELD];
    double number;
    int lines = 0;

    while (pada_csv_line(csv)) {
        FUZZ_CHECK(csv->line == ++lines);
        while (csv->field && pada_csv_field(csv, field) == PADA_OK) {
            FUZZ_CHECK(strlen(field) < sizeof field);
            if (pada_csv_number(csv, field, "x", &number) == PADA_OK) FUZZ_CHECK(isfinite(number));
        }
        (void)pada_csv_end(csv);
    }
    FUZZ_CHECK(csv->at == csv->end);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const pada_file file = {.data = n > 0 ? data : NULL, .bytes = n};
    pada_csv csv;

    pada_csv_init(&csv, "input.csv", &file);
    read_all(&csv);
    if (pada_csv_init_foreign(&csv, "input.csv", &file) != PADA_OK) return 0;
    for (pada_csv rows = csv; pada_csv_row(&rows);)
        FUZZ_CHECK(rows.field < rows.line_end);
    read_all(&csv);
    return 0;
}
