/* image_exif.h - how a camera was held, from the Exif block of a picture. */
#ifndef PADA_DATA_IMAGE_EXIF_H
#define PADA_DATA_IMAGE_EXIF_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The orientation, 1 to 8, of an Exif block with or without the six bytes "Exif\0\0" before it. 1 if
 * there is none, or the block is damaged: the picture can be shown all the same. */
int pada_exif_orientation(const uint8_t *data, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
