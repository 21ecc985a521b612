/* image_exif.h - how a camera was held, from the Exif block of a picture. */
#ifndef PADA_DATA_IMAGE_EXIF_H
#define PADA_DATA_IMAGE_EXIF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The orientation, 1 to 8, of an Exif block with or without the six bytes "Exif\0\0" before it. 1 if
 * there is none, or the block is damaged: the picture can be shown all the same. */
int pada_exif_orientation(const uint8_t *data, size_t bytes);

/* What an orientation means: rows and columns are exchanged; then, in the picture as it is stored, which
 * sides are mirrored. */
static inline bool pada_is_transposed(int orientation)
{
    return orientation >= 5;
}

static inline bool pada_is_mirrored_x(int orientation)
{
    return orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
}

static inline bool pada_is_mirrored_y(int orientation)
{
    return orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
}

#ifdef __cplusplus
}
#endif
#endif
