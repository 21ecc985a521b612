/* findings.h - what is wrong with or odd about the files of a data set, one entry for each. */
#ifndef PADA_DATA_FINDINGS_H
#define PADA_DATA_FINDINGS_H

#include <stdbool.h>

#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pada_finding {
    const char *kind; /* one word, for programs: "broken"; a literal */
    bool is_problem;  /* a training would refuse it; else a remark */
    char *file;       /* owned */
    char *text;       /* what about it, without the name; owned */
} pada_finding;

/* Zero-initialise; deinit accepts that and half-made ones. */
typedef struct pada_findings {
    pada_finding *items; /* owned */
    int n, cap;
} pada_findings;

void pada_findings_deinit(pada_findings *list);

typedef enum pada_finding_weight { PADA_REMARK, PADA_PROBLEM } pada_finding_weight;

/* Appends an entry; fails with PADA_ENOMEM only. */
pada_status pada_findings_add(pada_findings *list, pada_finding_weight weight, const char *kind,
                              const char *file, const char *format, ...) PADA_PRINTF(5, 6);

/* The same for a file that somebody has just failed to read: the thread's message is what about it. */
pada_status pada_findings_add_failure(pada_findings *list, const char *kind, const char *file);

#ifdef __cplusplus
}
#endif
#endif
