/* run_history.h - the metrics.csv of a run, as columns of numbers. */
#ifndef PADA_TRAIN_RUN_HISTORY_H
#define PADA_TRAIN_RUN_HISTORY_H

#include "base/status.h"
#include "base/text.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { PADA_HISTORY_NAME = 64, PADA_HISTORY_COLUMNS = 256, PADA_HISTORY_WARNINGS = 16 };

/* A warning of the training, and the epochs that had it. */
typedef struct pada_history_warning {
    char word[40];
    double first_epoch;
    int n_epochs;
} pada_history_warning;

/* Zero-initialise; deinit accepts that and a failed read. */
typedef struct pada_history {
    int n_rows, n_columns;
    char (*names)[PADA_HISTORY_NAME]; /* [n_columns], owned */
    double *values;                   /* [n_rows, n_columns], owned; NaN: empty, or no number */
    int n_warnings;
    pada_history_warning warnings[PADA_HISTORY_WARNINGS];
    char weights_hash[24]; /* of the last row, "" if there is none */
} pada_history;

/* Reads RUN/metrics.csv. A row that is wrong or torn ends the reading and is told in `notes`, like a
 * file that is not there or no table: a line each. Only failures of this process are failures. notes NULL:
 * a missing file is PADA_ENOENT, a wrong one PADA_EDATA. */
pada_status pada_history_read(pada_history *history, const char *run, pada_text *notes);
void pada_history_deinit(pada_history *history);

int pada_history_column(const pada_history *history, const char *name);      /* -1: not there */
double pada_history_value(const pada_history *history, int row, int column); /* NaN: column -1 */
double pada_history_last(const pada_history *history, const char *name);     /* NaN: not there */
/* Whether the row is about an epoch that trained; probes (GM) make no steps. */
bool pada_history_trains(const pada_history *history, int row);
/* Whether the column has a finite number in any row. */
bool pada_history_has(const pada_history *history, const char *name);

#ifdef __cplusplus
}
#endif
#endif
