/* augment.h - training images: randomly cropped, randomly mirrored, normalised.
 *
 * The random numbers of an image come from the stream
 *
 *   (seed, "augment", epoch << 32 | position)
 *
 * where `position` is the place of the draw in its epoch: an image drawn twice gets two
 * augmentations, and any draw can be made without those before it. Images that are kept are moved
 * about in a black border; in this order:
 *
 *   1. row      pada_rng_below(2 * pad + 1)
 *   2. column   pada_rng_below(2 * pad + 1)
 *   3. flip     pada_rng_u32() >> 31
 *
 * Every backend that augments draws the same numbers. Of photographs a random part is taken:
 *
 *   1. part     pada_resized_crop_draw()
 *   2. flip     pada_rng_u32() >> 31
 *   3. colours  pada_jitter_apply(), unless there is none */
#ifndef PADA_DATA_AUGMENT_H
#define PADA_DATA_AUGMENT_H

#include "data/color_jitter.h"
#include "data/dataset.h"
#include "tensor/pick.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Which random numbers an image gets. */
typedef struct pada_draw {
    uint64_t seed;
    int epoch, position; /* >= 0 (asserted) */
    pada_jitter jitter;  /* of photographs */
} pada_draw;

/* Image i of a split of photographs, augmented: out [3, h, w]. Fails as pada_dataset_ops.cut. */
pada_status pada_augment_photo(const pada_dataset *ds, pada_split split, int i,
                               const pada_draw *draw, uint8_t *out);

/* What happens to one image that is kept: the crop starts at (row, column) of the image with `pad` black pixels
 * on each side, so that (pad, pad) is the image itself. */
typedef struct pada_augmentation {
    int row, column; /* 0 .. 2 * pad */
    bool flip;       /* left and right exchanged */
} pada_augmentation;

/* The augmentation of the image at this position of an epoch; both are >= 0 (asserted). */
pada_augmentation pada_augment_draw(const pada_dataset *ds, uint64_t seed, int epoch, int position);

/* The same as a cut of image i. */
pada_pick pada_augment_pick(const pada_dataset *ds, int i, pada_augmentation how);

/* Image i of a split, augmented, divided by 255 and normalised: out [3, h, w]. The border is black
 * before the normalisation, levels[c][0] after it. */
void pada_augment_image(const pada_dataset *ds, pada_split split, int i, pada_augmentation how,
                        float *out);

/* The n draws of an epoch that start at position `first`, images indices[0..n-1] of the split:
 * images [n, 3, h, w], labels [n]. */
void pada_augment_batch(const pada_dataset *ds, pada_split split, const int32_t *indices, int n,
                        uint64_t seed, int epoch, int first, float *images, int32_t *labels);

#ifdef __cplusplus
}
#endif
#endif
