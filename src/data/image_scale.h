/* image_scale.h - brings pictures of any size to a small square, while they are decoded. */
#ifndef PADA_DATA_IMAGE_SCALE_H
#define PADA_DATA_IMAGE_SCALE_H

#include "data/image_file.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What becomes of a picture that is no square. */
typedef enum pada_resize {
    PADA_RESIZE_CROP,   /* the square in its middle, as wide as its shorter side */
    PADA_RESIZE_SQUASH, /* all of it, out of proportion */
    PADA_RESIZE_PAD,    /* all of it, in the middle of a black square */
} pada_resize;
#define PADA_RESIZE_NAMES "crop|squash|pad" /* in that order */

typedef struct pada_image_fit {
    int size; /* >= 1 */
    pada_resize resize;
} pada_image_fit;

/* Decodes a picture, turns it upright and scales it to [3, size, size] planes: each pixel is the mean
 * over the area that it covers, rounded to the nearest. Integer arithmetic, so that all machines
 * agree. *head, unless NULL, gets what the file says. Fails as pada_image_decode. */
pada_status pada_image_read(const pada_image_source *source, const pada_image_fit *fit,
                            uint8_t *out, pada_image_head *head);

#ifdef __cplusplus
}
#endif
#endif
