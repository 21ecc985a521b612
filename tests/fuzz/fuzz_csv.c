/* fuzz_csv.c - lines and fields of a CSV file. */
#include "fuzz/fuzz.h"

#include "base/csv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const pada_file file = {.data = n > 0 ? data : NULL, .bytes = n};
    char field[PADA_CSV_FIELD];
    pada_csv csv;
    int lines = 0;

    pada_csv_init(&csv, "input.csv", &file);
    while (pada_csv_line(&csv)) {
        FUZZ_CHECK(csv.line == ++lines);
        while (csv.field && pada_csv_field(&csv, field) == PADA_OK)
            FUZZ_CHECK(strlen(field) < sizeof field && !strchr(field, ','));
        (void)pada_csv_end(&csv);
    }
    FUZZ_CHECK(csv.at == csv.end);
    return 0;
}
