/* random_erasing.h - a rectangle of an image exchanged for noise (Zhong et al. 2020, as timm does it). */
#ifndef PADA_DATA_RANDOM_ERASING_H
#define PADA_DATA_RANDOM_ERASING_H

#include "base/rng.h"
#include "tensor/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PADA_ERASE_TRIES     10
#define PADA_ERASE_MIN_AREA  0.02 /* share of the image */
#define PADA_ERASE_MAX_AREA  (1.0 / 3)
#define PADA_ERASE_MIN_RATIO 0.3 /* height to width; the largest is 1 / 0.3 */

/* With a probability of `chance`, a rectangle of a normalised image [c, h, w] becomes normal numbers of mean 0 and
 * deviation 1: an area between the two shares, a ratio whose logarithm is uniform, sides rounded to
 * whole pixels; if it is smaller than the image, any place in it. If no try fits, nothing. Draws
 *
 *   1. chance   pada_rng_uniform(): erased if it is below
 *   then in each try
 *   2. area     pada_rng_uniform()
 *   3. ratio    pada_rng_uniform()
 *   4. row      pada_rng_below(), if it fits
 *   5. column   pada_rng_below(), if it fits
 *   and then pada_rng_normal() for every number: channel, row, column */
void pada_random_erasing(double chance, pada_rng *rng, float *image, pada_shape shape);

#ifdef __cplusplus
}
#endif
#endif
