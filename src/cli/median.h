/* median.h - the middle of repeated measurements. */
#ifndef PADA_CLI_MEDIAN_H
#define PADA_CLI_MEDIAN_H

#include <stdint.h>

/* Sorts the n values, at least one, and returns the middle one, or the mean of the two there. */
double pada_median(double *values, int64_t n);

#endif
