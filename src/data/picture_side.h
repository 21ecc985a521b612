/* picture_side.h - how large a picture in a file is, without decoding it. */
#ifndef PADA_DATA_PICTURE_SIDE_H
#define PADA_DATA_PICTURE_SIDE_H

#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Pixels of the shorter side. Fails as pada_image_decode does on what comes before the first row. */
pada_status pada_picture_side(const char *path, int *side);

#ifdef __cplusplus
}
#endif
#endif
