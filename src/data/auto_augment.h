/* auto_augment.h - AutoAugment: one of 25 pairs of changes of an image, by chance.
 *
 * The policies are those that were found for ImageNet: `original` of the paper (Cubuk et al. 2019), `v0` of
 * TensorFlow's later code. Levels, operators and fill colour are timm's. */
#ifndef PADA_DATA_AUTO_AUGMENT_H
#define PADA_DATA_AUTO_AUGMENT_H

#include <stdbool.h>

#include "base/rng.h"
#include "data/image_geometry.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum pada_policy { PADA_POLICY_NONE, PADA_POLICY_ORIGINAL, PADA_POLICY_V0 } pada_policy;
#define PADA_POLICY_NAMES "none|original|v0" /* in that order */
#define PADA_POLICY_PAIRS 25
#define PADA_MAX_LEVEL    10

/* What is done to an image, and how much of it a level l of 0 .. 10 is. */
typedef enum pada_image_op {
    PADA_IMAGE_SHEAR_X,      /* by 0.03 l of the distance from the upper side; + or - */
    PADA_IMAGE_SHEAR_Y,      /* by 0.03 l of the distance from the left side; + or - */
    PADA_IMAGE_TRANSLATE_Y,  /* by 0.045 l of the height; + or - */
    PADA_IMAGE_ROTATE,       /* by 3 l degrees; + or - */
    PADA_IMAGE_COLOR,        /* by a factor of 0.1 + 0.18 l */
    PADA_IMAGE_CONTRAST,     /* the same */
    PADA_IMAGE_SHARPNESS,    /* the same */
    PADA_IMAGE_POSTERIZE,    /* keeps [0.4 l] bits; none: a black image */
    PADA_IMAGE_POSTERIZE_4,  /* keeps 4 + [0.4 l] bits */
    PADA_IMAGE_SOLARIZE,     /* from level [25.6 l] on */
    PADA_IMAGE_SOLARIZE_ADD, /* 11 l */
    PADA_IMAGE_EQUALIZE,     /* these have no levels */
    PADA_IMAGE_AUTO_CONTRAST,
    PADA_IMAGE_INVERT,
    PADA_N_IMAGE_OPS
} pada_image_op;

/* One change of a pair. */
typedef struct pada_policy_step {
    pada_image_op op;
    int chance; /* in tenths */
    int level;  /* 0 .. 10 */
} pada_policy_step;

/* An image that is changed. Borrowed. */
typedef struct pada_canvas {
    uint8_t *pixels; /* [3, h, w] */
    uint8_t *spare;  /* [3, h, w], overwritten */
    int h, w;
    uint8_t fill[3]; /* the colour of what comes in from outside */
} pada_canvas;

/* The two changes of pair i, 0 .. 24, of a policy that is one. */
const pada_policy_step *pada_policy_pair(pada_policy policy, int i);

/* Does one change. is_negative: of those with + or -; filter: of those that move pixels. */
void pada_canvas_change(pada_canvas *canvas, const pada_policy_step *step, bool is_negative,
                        pada_filter filter);

/* Draws and makes the changes of a policy that is one:
 *
 *   1. pair     pada_rng_below(25)
 *   then for each of the two changes
 *   2. chance   pada_rng_below(10): whether it is made
 *   3. sign     pada_rng_u32() >> 31, if pixels are moved: 1 is negative
 *   4. filter   pada_rng_u32() >> 31, if pixels are moved: 1 is bicubic */
void pada_auto_augment(pada_policy policy, pada_rng *rng, pada_canvas *canvas);

#ifdef __cplusplus
}
#endif
#endif
