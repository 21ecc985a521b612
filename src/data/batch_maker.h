/* batch_maker.h - room for one batch, and the one place that decides how images get into it: as numbers, or
 * as picks where the engine holds them. */
#ifndef PADA_DATA_BATCH_MAKER_H
#define PADA_DATA_BATCH_MAKER_H

#include "data/augment.h"
#include "data/batch.h"
#include "data/dataset.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Zero-initialise; deinit accepts that and a failed init. */
typedef struct pada_batch_maker {
    const pada_dataset *data; /* borrowed */
    pada_split split;
    bool held;        /* the engine has the images */
    float *images;    /* [cap, 3, h, w], owned; NULL if they are held */
    pada_pick *picks; /* [cap], owned; NULL otherwise */
    int32_t *labels;  /* [cap], owned */
} pada_batch_maker;

pada_status pada_batch_maker_init(pada_batch_maker *maker, const pada_dataset *data,
                                  pada_split split, bool held, int cap);
void pada_batch_maker_deinit(pada_batch_maker *maker);

/* Image `image` of the split becomes number i of the batch, augmented by these random numbers; draw NULL:
 * as it is. Threads may put different i at the same time. Fails only where images are decoded on
 * demand. */
pada_status pada_batch_maker_put(const pada_batch_maker *maker, int i, int image,
                                 const pada_draw *draw);
/* The same for the mirror image, left and right exchanged, of an image as it is. */
pada_status pada_batch_maker_put_mirrored(const pada_batch_maker *maker, int i, int image);
/* The same for an image that nobody reads. */
void pada_batch_maker_put_label(const pada_batch_maker *maker, int i, int image);
/* The first n images. Borrowed until the next put. */
pada_batch pada_batch_maker_batch(const pada_batch_maker *maker, int n);

#ifdef __cplusplus
}
#endif
#endif
