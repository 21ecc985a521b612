/* csv.h - reads the lines and fields of a CSV file, strictly: no quotes, no zero bytes. */
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
} pada_csv;

void pada_csv_init(pada_csv *csv, const char *name, const pada_file *file);

/* Goes to the next line; false after the last. A carriage return before the newline is dropped, and
 * the last line needs no newline. */
bool pada_csv_line(pada_csv *csv);

/* Copies the next field of the line. None left, a quoted or too long one and a zero byte are
 * PADA_EDATA, "file:line: ...". */
pada_status pada_csv_field(pada_csv *csv, char out[PADA_CSV_FIELD]);

/* PADA_EDATA if the line has further fields. */
pada_status pada_csv_end(const pada_csv *csv);

#ifdef __cplusplus
}
#endif
#endif
