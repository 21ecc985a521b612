/* report.h - one HTML page about one or several runs, which needs nothing but itself.
 *
 * What a run folder does not have is left out of the page, and the page says so: a training that was
 * killed, a run without ranking, numbers that are not finite. The same folders give the same
 * bytes. */
#ifndef PADA_REPORT_REPORT_H
#define PADA_REPORT_REPORT_H

#include "base/status.h"
#include "base/text.h"
#include "study/score_table.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Everything is borrowed for the call. */
typedef struct pada_report_desc {
    const pada_space *space;
    const char *const *runs; /* [n_runs], folders */
    int n_runs;
    const char *preface;           /* text for the top, as it is; NULL or "": none */
    const pada_score_table *truth; /* NULL: accuracies are not known */
    const char *truth_file, *truth_column;
    const double *truths; /* that column */
    int replicates;       /* of the bootstrap; 0: no intervals */
    uint64_t seed;
    int n_threads;       /* 0: the machine's default */
    const char *version; /* of the program */
} pada_report_desc;

/* Appends the page. A run that is no folder is PADA_ENOENT; a build without Chart.js is
 * PADA_EDEVICE. */
pada_status pada_report_page(const pada_report_desc *desc, pada_text *out);

#ifdef __cplusplus
}
#endif
#endif
