/* image_tone.h - levels of an image exchanged for others by a table for each channel, as Pillow's ImageOps do.
 *
 * Images are planes [3, n] of red, green, blue bytes. Integers, or doubles in a fixed order, so that all machines agree;
 * tests/data/compare_pillow.py holds them against Pillow. */
#ifndef PADA_DATA_IMAGE_TONE_H
#define PADA_DATA_IMAGE_TONE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Stretches the levels that a channel has to 0 .. 255. A channel of one level stays. */
void pada_tone_autocontrast(uint8_t *pixels, int n);
/* Makes all levels of a channel about equally frequent. One of few pixels or of one level stays. */
void pada_tone_equalize(uint8_t *pixels, int n);
void pada_tone_invert(uint8_t *pixels, int n);
/* Keeps the upper bits, 0 (a black image) to 8 (the image itself). */
void pada_tone_posterize(uint8_t *pixels, int n, int bits);
/* Inverts levels from the threshold on, 0 .. 256. */
void pada_tone_solarize(uint8_t *pixels, int n, int threshold);
/* Adds to levels below 128, up to 255. */
void pada_tone_solarize_add(uint8_t *pixels, int n, int amount);

#ifdef __cplusplus
}
#endif
#endif
