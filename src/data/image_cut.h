/* image_cut.h - a part of a picture file as a small square, decoded no further than it needs. */
#ifndef PADA_DATA_IMAGE_CUT_H
#define PADA_DATA_IMAGE_CUT_H

#include "data/image_file.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A rectangle in an upright picture, in pixels; inside of it and not empty. Its borders may be
 * anywhere in a pixel. */
typedef struct pada_cut {
    double x, y, width, height;
} pada_cut;

/* Says which part of a picture of width x height pixels, upright, is wanted. */
typedef pada_cut pada_cut_choice(void *context, int width, int height);

/* How a picture is cut. */
typedef struct pada_cutter {
    pada_cut_choice *choose; /* called once, in the thread of the caller */
    void *context;
    int size;       /* of the result, >= 1 */
    bool all_of_it; /* decodes the whole picture in its full size; for comparisons */
} pada_cutter;

/* Decodes what is chosen of a picture, turned upright, and scales it (image_resample.h) to
 * [3, size, size] planes. Integer arithmetic, so that all machines agree. Fails as pada_image_decode;
 * damage behind the last row that is needed is not seen. */
pada_status pada_image_cut(const pada_image_source *source, const pada_cutter *cutter,
                           uint8_t *out);

#ifdef __cplusplus
}
#endif
#endif
