/* pick.h - one image of a batch by its number, and how it is cut out. */
#ifndef PADA_TENSOR_PICK_H
#define PADA_TENSOR_PICK_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Pixel (y, x) of the result is pixel (y + top, x + left) of the image, or (y + top, w - 1 - x +
 * left) if it is flipped; outside of the image it is black. In the hole, its rows hole_top .. hole_bottom - 1 and
 * columns hole_left .. hole_right - 1, the normalised numbers are 0. All zero but `image` is the image
 * itself. */
typedef struct pada_pick {
    int32_t image;
    int16_t top, left;
    int16_t flip; /* 0 or 1 */
    int16_t hole_top, hole_bottom, hole_left, hole_right;
} pada_pick;

#ifdef __cplusplus
}
#endif
#endif
