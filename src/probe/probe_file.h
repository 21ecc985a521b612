/* probe_file.h - RUN/probes/KIND.csv: the rows that a kind of measurement has made of a run.
 *
 *   epoch,step,checkpoint,draws,exact,paths,images,seed,...   settings, then the columns of the kind
 *   5,980,83ab..,256,32,20,0,0,0.91,...                       an empty field is no number
 *
 * A row is known by step, hash of the checkpoint and settings. study/results_file.h says what happens to damaged files.
 * Private to probe*.c. */
#ifndef PADA_PROBE_PROBE_FILE_H
#define PADA_PROBE_PROBE_FILE_H

#include "base/csv.h"
#include "base/text.h"
#include "probe/probe.h"

enum { PADA__PROBE_SETTINGS = 5 };

typedef struct pada__probe_file pada__probe_file;

typedef struct pada__probe_key {
    int64_t step;
    uint64_t checkpoint; /* hash of the file */
    int epoch;           /* no part of it */
} pada__probe_key;

/* A line of the file. */
typedef struct pada__probe_line {
    pada__probe_key key;
    uint64_t settings[PADA__PROBE_SETTINGS];
    double values[PADA_MAX_PROBE_COLUMNS]; /* NaN: there is no such number */
} pada__probe_line;

/* The first line, without a newline. */
void pada__probe_add_header(const pada_probe_kind *kind, pada_text *out);
/* The fields of any other line; PADA_EDATA, "file:line: ..", if they are no row. */
pada_status pada__probe_read_line(pada_csv *csv, const pada_probe_kind *kind,
                                  pada__probe_line *out);

/* Opens it for rows of these settings, and makes it if it is not there. Kind and settings are borrowed. */
pada_status pada__probe_file_open(pada__probe_file **out, const char *run,
                                  const pada_probe_kind *kind, const pada_probe_settings *settings);
/* Whether there is such a row: fills key->epoch and values. */
bool pada__probe_file_find(const pada__probe_file *file, pada__probe_key *key, double *values);
/* On the disk before it returns. */
pada_status pada__probe_file_append(pada__probe_file *file, const pada__probe_key *key,
                                    const double *values);
void pada__probe_file_close(pada__probe_file *file); /* NULL is fine */

#endif
