/* resized_crop.h - which part of a photograph an image shows: a random one, or its middle. */
#ifndef PADA_DATA_RESIZED_CROP_H
#define PADA_DATA_RESIZED_CROP_H

#include "base/rng.h"
#include "data/image_cut.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PADA_CROP_TRIES     10
#define PADA_CROP_MIN_AREA  0.08      /* share of the picture */
#define PADA_CROP_MIN_RATIO (3.0 / 4) /* width to height */
#define PADA_CROP_MAX_RATIO (4.0 / 3)

/* A random part, as torchvision's RandomResizedCrop draws it: an area between PADA_CROP_MIN_AREA and
 * all of the picture, a ratio whose logarithm is uniform, sides rounded to whole pixels; if it fits the
 * picture, any place in it. If none of the tries fits, the middle of the picture, as much of it as
 * the ratios allow. Draws, in each try:
 *
 *   1. area     pada_rng_uniform()
 *   2. ratio    pada_rng_uniform()
 *   3. row      pada_rng_below(), if it fits
 *   4. column   pada_rng_below(), if it fits */
pada_cut pada_resized_crop_draw(pada_rng *rng, int width, int height);

/* The square in the middle that size x size pixels show of a picture whose shorter side has been
 * scaled to `scaled` pixels; size <= scaled. */
pada_cut pada_centre_crop(int width, int height, int size, int scaled);

#ifdef __cplusplus
}
#endif
#endif
