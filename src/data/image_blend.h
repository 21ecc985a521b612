/* image_blend.h - an image mixed with a duller one of itself, as Pillow's ImageEnhance does.
 *
 * Images are planes [3, n] of red, green, blue bytes. A level v becomes g + factor (v - g), in floats, cut off to a whole number
 * and limited to 0 .. 255, where g is the level of the duller image: factor 0 gives that, 1 the image itself,
 * more goes beyond. tests/data/compare_pillow.py holds them against Pillow. */
#ifndef PADA_DATA_IMAGE_BLEND_H
#define PADA_DATA_IMAGE_BLEND_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The grey of a pixel of planes of n bytes: 0.299 R + 0.587 G + 0.114 B, rounded. */
static inline int pada_grey(const uint8_t *pixel, int n)
{
    return (19595 * pixel[0] + 38470 * pixel[n] + 7471 * pixel[2 * n] + (1 << 15)) >> 16;
}
/* The mean of the greys of an image, rounded. */
int pada_mean_grey(const uint8_t *pixels, int n);

/* With the greys of the pixels. */
void pada_blend_color(uint8_t *pixels, int n, double factor);
/* With their mean. */
void pada_blend_contrast(uint8_t *pixels, int n, double factor);
/* With the image smoothed: weights 5 for a pixel, 1 for each of the eight around it; the outermost pixels
 * are not smoothed. `spare` [h, w] is overwritten. */
void pada_blend_sharpness(uint8_t *pixels, int h, int w, double factor, uint8_t *spare);

#ifdef __cplusplus
}
#endif
#endif
