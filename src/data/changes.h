/* changes.h - what is done to training images beside crops and flips. */
#ifndef PADA_DATA_CHANGES_H
#define PADA_DATA_CHANGES_H

#include "data/auto_augment.h"
#include "data/color_jitter.h"
#include "data/dataset.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Which comes first where images are moved about in a border. */
typedef enum pada_flip_order { PADA_FLIP_AUTO, PADA_FLIP_LAST, PADA_FLIP_FIRST } pada_flip_order;
#define PADA_FLIP_ORDER_NAMES "auto|crop|flip" /* the first of both; auto: as the data set says */

/* Zero: nothing. */
typedef struct pada_changes {
    pada_jitter jitter; /* of photographs */
    pada_flip_order flip_order;
    pada_policy policy; /* AutoAugment; in place of a jitter */
    int cutout;         /* side of a square in which normalised numbers are 0; 0: none */
    double erasing;     /* probability of random erasing */
} pada_changes;

/* Whether images of the data set can be changed so; else PADA_EINVAL. */
pada_status pada_changes_check(const pada_changes *changes, const pada_dataset *ds);
/* Whether an image that is kept and changed so is still a cut of it, which a pick can describe. */
bool pada_changes_fit_picks(const pada_changes *changes);

#ifdef __cplusplus
}
#endif
#endif
