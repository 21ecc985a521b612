/* image_scale.h - brings images of any size to a small square. */
#ifndef PADA_DATA_IMAGE_SCALE_H
#define PADA_DATA_IMAGE_SCALE_H

#include "data/image_file.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The square in the middle of the image, as wide as its shorter side, scaled to [3, size, size]
 * planes: each pixel is the mean over the area that it covers, rounded to the nearest. Exact
 * integer arithmetic, so that all machines agree. size >= 1. */
void pada_image_scale(const pada_image *image, int size, uint8_t *out);

#ifdef __cplusplus
}
#endif
#endif
