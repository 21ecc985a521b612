/* image_decode.h - the decoders of image_file.c and what they share. Private to image_*.c. */
#ifndef PADA_DATA_IMAGE_DECODE_H
#define PADA_DATA_IMAGE_DECODE_H

#include "data/image_file.h"

#ifdef __cplusplus
extern "C" {
#endif

pada_image_decoder pada__decode_png, pada__decode_jpeg, pada__decode_webp, pada__decode_raw;

/* Whether a picture may be decoded: sides and pixels, and the memory that it takes. */
pada_status pada__image_check_size(const pada_image_source *source, uint32_t width,
                                   uint32_t height);
pada_status pada__image_check_memory(const pada_image_source *source, uint64_t bytes);

/* A colour over black. */
static inline uint8_t pada__over_black(int colour, int alpha)
{
    return (uint8_t)((colour * alpha + 127) / 255);
}

/* Of n pixels [4] red, green, blue, alpha: [3] over black, in place. */
static inline void pada__drop_alpha(uint8_t *pixels, int n)
{
    for (int i = 0; i < n; i++)
        for (int c = 0; c < 3; c++)
            pixels[3 * i + c] = pada__over_black(pixels[4 * i + c], pixels[4 * i + 3]);
}

#ifdef __cplusplus
}
#endif
#endif
