/* probe_parts.h - what kinds of measurements work with. Private to this folder. */
#ifndef PADA_PROBE_PROBE_PARTS_H
#define PADA_PROBE_PROBE_PARTS_H

#include "probe/probe.h"

/* The gradient of a path on a batch, in the map of the parameters: [elements], zero where the path has no weights.
 * Returns its squared norm, too; one that is not finite is PADA_ENUMERIC. */
pada_status pada__probe_gradient(const pada_moment *moment, const pada_path *path,
                                 const pada_batch *batch, double *gradient, double *square);

/* How many images a batch has that is looked at one by one; more than the run has in its own are PADA_EINVAL. */
pada_status pada__probe_n_images(const pada_moment *moment, const pada_probe_settings *settings,
                                 int *n);
/* A batch of n different images, as training makes them; borrowed until the loader is used again, `order` [n_images of
 * the run] is scratch. */
pada_status pada__probe_batch(const pada_moment *moment, uint64_t seed, int n, int32_t *order,
                              pada_batch *batch);

/* The next path of stream (seed, "path") from *step on that is none of the n; false: there was none for long. */
bool pada__probe_new_path(const pada_path_sampler *sampler, uint64_t seed, int64_t *step,
                          const pada_path *paths, int n, pada_path *out);

/* Correlations; NaN where one side is constant. */
double pada__pearson(const double *x, const double *y, int n);
pada_status pada__spearman(const double *x, const double *y, int n, double *out);

/* Of n numbers, which are sorted; between two of them in proportion. n 0: NaN. */
double pada__quantile(double *numbers, int n, double share);

#endif
