/* augment.h - training images: randomly cropped, randomly mirrored, changed as a recipe wants it, normalised.
 *
 * The random numbers of an image come from streams
 *
 *   (seed, name, epoch << 32 | position)
 *
 * where `position` is the place of the draw in its epoch: an image drawn twice gets two
 * augmentations, and any draw can be made without those before it. Every backend that augments draws the same
 * numbers. Streams of changes that are off are not opened, and none depends on another. Of the stream "augment":
 *
 *   images that are kept are moved     photographs: a random part is taken
 *   about in a black border
 *   1. row      pada_rng_below(2 * pad + 1)      1. part     pada_resized_crop_draw()
 *   2. column   pada_rng_below(2 * pad + 1)      2. flip     pada_rng_u32() >> 31
 *   3. flip     pada_rng_u32() >> 31             3. colours  pada_jitter_apply(), unless there is none
 *
 * and then, in this order,
 *
 *   "auto augment"  pada_auto_augment(), before the image is normalised
 *   "cutout"        row and column of the middle of the hole: pada_rng_below(h), pada_rng_below(w)
 *   "erasing"       pada_random_erasing() */
#ifndef PADA_DATA_AUGMENT_H
#define PADA_DATA_AUGMENT_H

#include "data/changes.h"
#include "tensor/pick.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Which random numbers an image gets. */
typedef struct pada_draw {
    uint64_t seed;
    int epoch, position; /* >= 0 (asserted) */
    pada_changes changes;
} pada_draw;

/* Image i of a split, augmented, divided by 255 and normalised: out [3, h, w]. Of images that are kept the
 * border is black before the normalisation. Fails only where images are decoded on demand. */
pada_status pada_augment_image(const pada_dataset *ds, pada_split split, int i,
                               const pada_draw *draw, float *out);

/* What happens to one image that is kept: the crop starts at (row, column) of the image with `pad` black pixels
 * on each side, so that (pad, pad) is the image itself. */
typedef struct pada_augmentation {
    int row, column;           /* 0 .. 2 * pad */
    bool flip;                 /* left and right exchanged */
    bool flip_first;           /* before the crop */
    int hole;                  /* side of a square that is cut out; 0: none */
    int hole_row, hole_column; /* its middle, in the result */
} pada_augmentation;

pada_augmentation pada_augment_draw(const pada_dataset *ds, const pada_draw *draw);
/* The same as a cut of image i. */
pada_pick pada_augment_pick(const pada_dataset *ds, int i, pada_augmentation how);

/* ---- the parts that an image is made of ---- */

/* The bytes of an image that is kept, cropped and flipped as the pick says: out [3, h, w]. */
void pada_augment_kept(const pada_dataset *ds, pada_split split, const pada_pick *pick,
                       uint8_t *out);
/* Image i of a split of photographs, cut, flipped and its colours changed: out [3, h, w]. Fails as
 * pada_dataset_ops.cut. */
pada_status pada_augment_photo(const pada_dataset *ds, pada_split split, int i,
                               const pada_draw *draw, uint8_t *out);

#ifdef __cplusplus
}
#endif
#endif
