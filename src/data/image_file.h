/* image_file.h - decodes PNG and JPEG files. */
#ifndef PADA_DATA_IMAGE_FILE_H
#define PADA_DATA_IMAGE_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PADA_IMAGE_MAX_SIDE   20000     /* pixels */
#define PADA_IMAGE_MAX_PIXELS 100000000 /* of one image */

/* Zero-initialise; close accepts that and a failed open. */
typedef struct pada_image {
    int width, height;
    uint8_t *pixels; /* [height, width, 3] red, green, blue; owned */
} pada_image;

/* Decodes a file, PNG or JPEG by its contents. Grey is tripled, transparent pixels lie over black,
 * 16 bits lose the lower 8, colour profiles are ignored. A file that is neither, broken, cut short,
 * too large or a CMYK JPEG is PADA_EDATA; one that cannot be read as for pada_file_open. Messages
 * begin with the path. */
pada_status pada_image_open(pada_image *image, const char *path);
void pada_image_close(pada_image *image);

/* Whether a file is an image by its name: .png, .jpg or .jpeg in upper or lower case. */
bool pada_image_has_name(const char *name);

#ifdef __cplusplus
}
#endif
#endif
