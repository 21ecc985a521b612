/* image_geometry.h - images turned, sheared and moved, as Pillow does it.
 *
 * Doubles in a fixed order, so that all machines agree; tests/data/compare_pillow.py holds it against Pillow. */
#ifndef PADA_DATA_IMAGE_GEOMETRY_H
#define PADA_DATA_IMAGE_GEOMETRY_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The point (x, y) of the result is the point (xx x + xy y + x0, yx x + yy y + y0) of the image. The first
 * pixel lies from (0, 0) to (1, 1). */
typedef struct pada_affine {
    double xx, xy, x0;
    double yx, yy, y0;
} pada_affine;

/* About the middle of an image of h x w pixels, counterclockwise. */
pada_affine pada_affine_rotation(double degrees, int h, int w);

/* How levels between pixels are found: from the 4 or the 16 pixels around a point. */
typedef enum pada_filter { PADA_BILINEAR, PADA_BICUBIC } pada_filter;

/* An image [3, h, w] becomes another one of the same size. Pixels whose middle lies outside of the
 * image get the colour `fill`; at its sides the outermost pixels go on. */
void pada_image_warp(const pada_affine *map, pada_filter filter, const uint8_t fill[3],
                     const uint8_t *from, int h, int w, uint8_t *to);

#ifdef __cplusplus
}
#endif
#endif
