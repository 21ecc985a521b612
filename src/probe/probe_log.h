/* probe_log.h - reads what a kind of measurement has found in a run, for those who show it. */
#ifndef PADA_PROBE_PROBE_LOG_H
#define PADA_PROBE_PROBE_LOG_H

#include "probe/probe.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Zero-initialise; deinit accepts that and a failed read. */
typedef struct pada_probe_log {
    const pada_probe_kind *kind;
    struct pada__probe_line *rows; /* [n], owned; epochs rise */
    int n, cap;
} pada_probe_log;

/* Reads RUN/probes/KIND.csv: the rows with the settings of the last one. A missing file has no rows; a line that is
 * incomplete because its process was killed is left out. Other damage is PADA_EDATA, "file:line: ..". */
pada_status pada_probe_log_read(pada_probe_log *log, const char *run, const pada_probe_kind *kind);
void pada_probe_log_deinit(pada_probe_log *log);

int pada_probe_log_epoch(const pada_probe_log *log, int row);
/* NaN: the row has no such number. The column must be one of the kind. */
double pada_probe_log_value(const pada_probe_log *log, int row, const char *column);
/* Whether any row has a number there. */
bool pada_probe_log_has(const pada_probe_log *log, const char *column);

#ifdef __cplusplus
}
#endif
#endif
