/* results_file.h - a CSV file of results that only grows, and is never cut short by its reader.
 *
 *   header         one line that says what the results are
 *   a,b,c          one line per result, written as a whole when it is there
 *
 * A process that is killed may leave half of a last line, or of the header: that is cut off when the file is
 * opened again. Every other line was once whole; one that is no result now is refused, with its number, and
 * the file stays as it is. For ranking_scores.c, standalone_results.c and probe/probe_file.c. */
#ifndef PADA_STUDY_RESULTS_FILE_H
#define PADA_STUDY_RESULTS_FILE_H

#include "base/csv.h"
#include "base/status.h"

typedef struct pada__results_file pada__results_file;

/* What was there when the file was opened. */
typedef enum pada__results_found {
    PADA__RESULTS_NONE,  /* nothing */
    PADA__RESULTS_OTHER, /* another header; that file is gone */
    PADA__RESULTS_OURS,  /* results, perhaps none yet */
} pada__results_found;

typedef struct pada__results_desc {
    const char *path;
    const char *header; /* without newline */
    const char *what;   /* for messages: "results of `pada truth`" */
    /* A file with another header is replaced; else it is PADA_EDATA. */
    bool replaces_others;
    /* Reads the fields of a line; PADA_EDATA, "file:line: ...", if they are no result. */
    pada_status (*take)(void *user, pada_csv *csv);
    void *user;
} pada__results_desc;

/* Opens the file for appending, and makes it if it is not there. */
pada_status pada__results_file_open(pada__results_file **out, const pada__results_desc *desc,
                                    pada__results_found *found);
/* Appends whole lines. */
pada_status pada__results_file_append(pada__results_file *file, const char *lines, size_t bytes);
pada_status pada__results_file_sync(pada__results_file *file); /* to the disk */
void pada__results_file_close(pada__results_file *file);       /* keeps the file; NULL is fine */

/* Reads a field that is a whole number; else PADA_EDATA, "file:line: what: '..' is not ..". */
pada_status pada__results_read_int(pada_csv *csv, const char *what, int64_t min, int64_t max,
                                   int *out);
/* PADA_EDATA with the file, the line and the message that there is. */
pada_status pada__results_fail(const pada_csv *csv);

#endif
