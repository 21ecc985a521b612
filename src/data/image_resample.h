/* image_resample.h - brings a part of a picture to a small square by the bilinear filter, row by row.
 *
 * A pixel of the result is a weighted mean of the pixels around its centre. Weights fall linearly to
 * zero within the distance of a pixel of the result, or of one of the picture where that is larger:
 * what Pillow and torchvision call bilinear with antialiasing. image_scale.h, which small images
 * come through, takes plain means over areas instead; those are coarse where a part is enlarged. */
#ifndef PADA_DATA_IMAGE_RESAMPLE_H
#define PADA_DATA_IMAGE_RESAMPLE_H

#include "data/image_file.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The pixels that one side of the result is made of. */
typedef struct pada_resample_axis {
    int n_taps;       /* weights of each pixel of the result; where it needs fewer some are 0 */
    int *first;       /* [size] the pixel of the picture that the first weight belongs to; owned */
    int16_t *weights; /* [size, n_taps] their sums are 2^13; owned */
} pada_resample_axis;

/* Zero-initialise; deinit accepts that and a failed init. */
typedef struct pada_resampler {
    int width, size; /* of the picture, of the result */
    pada_resample_axis x, y;
    int begin_row, end_row; /* rows of the picture that matter */
    uint64_t *packed;       /* [width] a row of the picture; owned */
    int16_t *row;           /* [size, 3] a row of the picture brought to the new width; owned */
    int32_t *sums;          /* [size, size, 3]; owned */
} pada_resampler;

/* Of a picture of width x height pixels the rectangle from (x, y) on, `across` wide and `down` high,
 * becomes size x size pixels. The rectangle is inside the picture and not empty, its borders may be
 * anywhere in a pixel; nothing outside of the pixels that it touches has a weight. */
typedef struct pada_resample_desc {
    int width, height, size;
    double x, y, across, down;
} pada_resample_desc;

pada_status pada_resampler_init(pada_resampler *r, const pada_resample_desc *desc);
void pada_resampler_deinit(pada_resampler *r);

/* Adds a row, or a part of one; each pixel that matters once, in any order. A part with a step of 1 has
 * all pixels of its row that matter. */
void pada_resampler_add(pada_resampler *r, const pada_image_row *row);
/* The pixel of the result: 3 channels. */
static inline uint8_t pada_resampler_pixel(const pada_resampler *r, int x, int y, int channel)
{
    const int32_t sum = r->sums[3 * ((int64_t)y * r->size + x) + channel];
    return (uint8_t)((sum + (1 << 18)) >> 19);
}

#ifdef __cplusplus
}
#endif
#endif
