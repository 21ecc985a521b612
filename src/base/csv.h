/* csv.h - reads the lines and fields of a CSV file, as pada writes them or as spreadsheets do. */
#ifndef PADA_BASE_CSV_H
#define PADA_BASE_CSV_H

#include <stdbool.h>

#include "base/file.h"
#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PADA_CSV_FIELD 1024 /* bytes of the longest field, with terminator */

/* A place in an open file. Everything is borrowed. */
typedef struct pada_csv {
    const char *name;             /* of the file, for messages */
    const char *at, *end;         /* what follows this line */
    const char *field, *line_end; /* what is left of this line; field NULL: nothing */
    int line;                     /* from 1; 0 before the first */
    char separator;               /* of fields */
} pada_csv;

/* A file that pada wrote: fields are separated by commas. */
void pada_csv_init(pada_csv *csv, const char *name, const pada_file *file);

/* A file of somebody else's: a UTF-8 byte order mark is skipped, and the separator is the first of
 * tab, semicolon and comma that the first line with text has outside quotes. UTF-16 is PADA_EDATA. */
pada_status pada_csv_init_foreign(pada_csv *csv, const char *name, const pada_file *file);

/* Goes to the next line; false after the last. A carriage return before the newline is dropped, and
 * the last line needs no newline. */
bool pada_csv_line(pada_csv *csv);

/* The same, past lines with nothing but blanks and separators: spreadsheets write empty rows so. */
bool pada_csv_row(pada_csv *csv);

/* Copies the next field of the line, without the quotes around it; two quotes inside are one. None
 * left, one that is too long or not closed on its line, and a zero byte are PADA_EDATA,
 * "file:line: ...". */
pada_status pada_csv_field(pada_csv *csv, char out[PADA_CSV_FIELD]);

/* A finite number, the text of a field of this file; where semicolons separate, it may have a decimal
 * comma. Anything else is PADA_EDATA, "file:line: what: ...". */
pada_status pada_csv_number(const pada_csv *csv, const char *text, const char *what, double *out);

/* PADA_EDATA if the line has further fields. */
pada_status pada_csv_end(const pada_csv *csv);

#ifdef __cplusplus
}
#endif
#endif
