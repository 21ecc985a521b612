/* run_cost.h - what a run has cost, from its metrics.csv. */
#ifndef PADA_TRAIN_RUN_COST_H
#define PADA_TRAIN_RUN_COST_H

#include <stdbool.h>

#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pada_run_cost {
    /* rows of metrics.csv in which steps were made: without those of probes, over all supernets */
    int epochs;
    /* sums of the columns of these names; NaN: there is none */
    double passes, images, gmacs;
    double seconds;
} pada_run_cost;

/* *found is false, and nothing wrong, where there is no metrics.csv. A bad one is PADA_EDATA. */
pada_status pada_run_cost_read(const char *run, bool *found, pada_run_cost *cost);

#ifdef __cplusplus
}
#endif
#endif
