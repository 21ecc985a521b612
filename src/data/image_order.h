/* image_order.h - fixed orders of labelled images: classes in turn, and hold-outs by class.
 *
 * Batch norm takes its statistics from a batch, and a limit takes the first images. Both need
 * batches and beginnings that look like the whole. */
#ifndef PADA_DATA_IMAGE_ORDER_H
#define PADA_DATA_IMAGE_ORDER_H

#include <stdint.h>

#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Fills order[n]: the number of the image at each place. The images of a class come by their keys
 * (equal keys: by their numbers) and are spread evenly over the whole, so that every batch and every
 * beginning has the classes in the proportions of the whole, as far as single images allow.
 * 0 <= labels[i] < n_classes (asserted). */
pada_status pada_image_order(int32_t *order, const int32_t *labels, const uint64_t *keys, int n,
                             int n_classes);

/* How many of the n images of a class are held out: the share, rounded; of two images and more, at
 * least one on each side. A share of 0 holds out nothing. */
int pada_hold_out_count(int n, double share);

/* Fills images[n]: first the numbers of the images that stay, then those that are held out, which
 * are the last ones of each class; both in ascending order. *n_kept is how many stay. */
pada_status pada_hold_out(int32_t *images, int *n_kept, const int32_t *labels, int n, int n_classes,
                          double share);

#ifdef __cplusplus
}
#endif
#endif
