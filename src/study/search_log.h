/* search_log.h - reads the files of a search (search_files.h), for those who show them. */
#ifndef PADA_STUDY_SEARCH_LOG_H
#define PADA_STUDY_SEARCH_LOG_H

#include "base/status.h"
#include "space/space.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A line. What the file does not have, or leaves empty, is NaN. */
typedef struct pada_search_row {
    pada_path path;
    double top1, best_so_far; /* percent */
    double loss, macs, params;
    double latency; /* ms */
} pada_search_row;

typedef struct pada_search_rows {
    pada_search_row *rows; /* [n], owned */
    int n, cap;
} pada_search_rows;

/* Zero-initialise; deinit accepts that and a failed read. */
typedef struct pada_search_log {
    pada_search_rows best, front, history; /* of the files of these names */
} pada_search_log;

/* Reads best.csv, front.csv and history.csv of a folder. Without the first, which is written last, there is no result:
 * all are empty. The others may be missing. A file with a wrong header or line, that is cut short, or that has not as many
 * networks as it must, is PADA_EDATA, "file:line: ..". */
pada_status pada_search_log_read(pada_search_log *log, const pada_space *space, const char *folder);
void pada_search_log_deinit(pada_search_log *log);

#ifdef __cplusplus
}
#endif
#endif
