/* epoch_metrics.h - the named numbers of one epoch. */
#ifndef PADA_TRAIN_EPOCH_METRICS_H
#define PADA_TRAIN_EPOCH_METRICS_H

#include "base/text.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PADA_MAX_EPOCH_METRICS 96

typedef struct pada_epoch_metric {
    char name[40];
    double value; /* NaN: not known */
} pada_epoch_metric;

typedef struct pada_epoch_metrics {
    int n;
    pada_epoch_metric items[PADA_MAX_EPOCH_METRICS];
    uint64_t weights_hash;
    char warnings[120]; /* words separated by ';', "" if all is well */
} pada_epoch_metrics;

void pada_epoch_metrics_add(pada_epoch_metrics *metrics, double value, const char *name, ...)
    PADA_PRINTF(3, 4);
double pada_epoch_metrics_get(const pada_epoch_metrics *metrics,
                              const char *name); /* NaN: not there */
void pada_epoch_metrics_warn(pada_epoch_metrics *metrics, const char *word);

/* metrics.csv of a run: a header and a row per epoch; the first column is `epoch`. */

/* Drops the rows of epochs from `epoch` on, which will be made again, and what follows a row that is
 * torn or out of order. *n_missing: how many of the epochs before `epoch` have no row. */
pada_status pada_epoch_metrics_rewind(const char *run, int epoch, int *n_missing);
/* Appends the row, and the header before the first one. */
pada_status pada_epoch_metrics_append(const char *run, const pada_epoch_metrics *metrics);
/* Reads the rows one by one; a torn one, and what follows it, is left out. Stops at the first failure of `use`. */
pada_status pada_epoch_metrics_each(const char *run, void *user,
                                    pada_status (*use)(void *user, const pada_epoch_metrics *m));
/* What was appended survives a power cut; no file is fine. */
pada_status pada_epoch_metrics_sync(const char *run);

#ifdef __cplusplus
}
#endif
#endif
