/* auto_augment.c - AutoAugment: one of 25 pairs of changes of an image, by chance. */
#include "data/auto_augment.h"

#include <string.h>

#include "base/status.h"
#include "data/image_blend.h"
#include "data/image_tone.h"

/* ---- the policies ---- */

/* In the tables below. */
#define SHX  PADA_IMAGE_SHEAR_X
#define SHY  PADA_IMAGE_SHEAR_Y
#define MOVY PADA_IMAGE_TRANSLATE_Y
#define ROT  PADA_IMAGE_ROTATE
#define COL  PADA_IMAGE_COLOR
#define CON  PADA_IMAGE_CONTRAST
#define SHRP PADA_IMAGE_SHARPNESS
#define POST PADA_IMAGE_POSTERIZE
#define POS4 PADA_IMAGE_POSTERIZE_4
#define SOL  PADA_IMAGE_SOLARIZE
#define SOLA PADA_IMAGE_SOLARIZE_ADD
#define EQ   PADA_IMAGE_EQUALIZE
#define ACON PADA_IMAGE_AUTO_CONTRAST
#define INV  PADA_IMAGE_INVERT

static const pada_policy_step original[PADA_POLICY_PAIRS][2] = {
    {{POS4, 4, 8}, {ROT, 6, 9}}, /* 0 */
    {{SOL, 6, 5}, {ACON, 6, 5}}, {{EQ, 8, 8}, {EQ, 6, 3}},    {{POS4, 6, 7}, {POS4, 6, 6}},
    {{EQ, 4, 7}, {SOL, 2, 4}},   {{EQ, 4, 4}, {ROT, 8, 8}},   {{SOL, 6, 3}, {EQ, 6, 7}},
    {{POS4, 8, 5}, {EQ, 10, 2}}, {{ROT, 2, 3}, {SOL, 6, 8}},  {{EQ, 6, 8}, {POS4, 4, 6}},
    {{ROT, 8, 8}, {COL, 4, 0}}, /* 10 */
    {{ROT, 4, 9}, {EQ, 6, 2}},   {{EQ, 0, 7}, {EQ, 8, 8}},    {{INV, 6, 4}, {EQ, 10, 8}},
    {{COL, 6, 4}, {CON, 10, 8}}, {{ROT, 8, 8}, {COL, 10, 2}}, {{COL, 8, 8}, {SOL, 8, 7}},
    {{SHRP, 4, 7}, {INV, 6, 8}}, {{SHX, 6, 5}, {EQ, 10, 9}},  {{COL, 4, 0}, {EQ, 6, 3}},
    {{EQ, 4, 7}, {SOL, 2, 4}}, /* 20: these are in the list twice */
    {{SOL, 6, 5}, {ACON, 6, 5}}, {{INV, 6, 4}, {EQ, 10, 8}},  {{COL, 6, 4}, {CON, 10, 8}},
    {{EQ, 8, 8}, {EQ, 6, 3}},
};

static const pada_policy_step v0[PADA_POLICY_PAIRS][2] = {
    {{EQ, 8, 1}, {SHY, 8, 4}}, /* 0 */
    {{COL, 4, 9}, {EQ, 6, 3}},   {{COL, 4, 1}, {ROT, 6, 8}},   {{SOL, 8, 3}, {EQ, 4, 7}},
    {{SOL, 4, 2}, {SOL, 6, 2}},  {{COL, 2, 0}, {EQ, 8, 8}},    {{EQ, 4, 8}, {SOLA, 8, 3}},
    {{SHX, 2, 9}, {ROT, 6, 8}},  {{COL, 6, 1}, {EQ, 10, 2}},   {{INV, 4, 9}, {ROT, 6, 0}},
    {{EQ, 10, 9}, {SHY, 6, 3}}, /* 10 */
    {{COL, 4, 7}, {EQ, 6, 0}},   {{POST, 4, 6}, {ACON, 4, 7}}, {{SOL, 6, 8}, {COL, 6, 9}},
    {{SOL, 2, 4}, {ROT, 8, 9}},  {{ROT, 10, 7}, {MOVY, 8, 9}}, {{SHX, 0, 0}, {SOL, 8, 4}},
    {{SHY, 8, 0}, {COL, 6, 4}},  {{COL, 10, 0}, {ROT, 6, 2}},  {{EQ, 8, 4}, {EQ, 0, 8}},
    {{EQ, 10, 4}, {ACON, 6, 2}}, /* 20 */
    {{SHY, 4, 7}, {SOLA, 6, 7}}, {{POST, 8, 2}, {SOL, 6, 10}}, {{SOL, 6, 8}, {EQ, 6, 1}},
    {{COL, 8, 6}, {ROT, 4, 5}},
};

const pada_policy_step *pada_policy_pair(pada_policy policy, int i)
{
    PADA_ASSERT(policy == PADA_POLICY_ORIGINAL || policy == PADA_POLICY_V0);
    PADA_ASSERT(i >= 0 && i < PADA_POLICY_PAIRS);
    return policy == PADA_POLICY_ORIGINAL ? original[i] : v0[i];
}

/* ---- changes ---- */

static bool moves_pixels(pada_image_op op)
{
    return op == SHX || op == SHY || op == MOVY || op == ROT;
}

static pada_affine map_of(const pada_canvas *canvas, const pada_policy_step *step, bool is_negative)
{
    const double share = (is_negative ? -step->level : step->level) / 10.0;
    pada_affine map = {.xx = 1, .yy = 1};

    if (step->op == ROT) return pada_affine_rotation(share * 30, canvas->h, canvas->w);
    if (step->op == SHX) map.xy = share * 0.3;
    if (step->op == SHY) map.yx = share * 0.3;
    if (step->op == MOVY) map.y0 = share * 0.45 * canvas->h;
    return map;
}

static void move(pada_canvas *canvas, const pada_policy_step *step, bool is_negative,
                 pada_filter filter)
{
    const size_t bytes = 3 * (size_t)canvas->h * (size_t)canvas->w;
    const pada_affine map = map_of(canvas, step, is_negative);

    if (step->level == 0) return;
    memcpy(canvas->spare, canvas->pixels, bytes);
    pada_image_warp(&map, filter, canvas->fill, canvas->spare, canvas->h, canvas->w,
                    canvas->pixels);
}

void pada_canvas_change(pada_canvas *canvas, const pada_policy_step *step, bool is_negative,
                        pada_filter filter)
{
    uint8_t *pixels = canvas->pixels;
    const int level = step->level, n = canvas->h * canvas->w;
    const double factor = level / 10.0 * 1.8 + 0.1;

    PADA_ASSERT(level >= 0 && level <= PADA_MAX_LEVEL);
    switch (step->op) {
    case SHX:
    case SHY:
    case MOVY:
    case ROT: move(canvas, step, is_negative, filter); break;
    case COL: pada_blend_color(pixels, n, factor); break;
    case CON: pada_blend_contrast(pixels, n, factor); break;
    case SHRP: pada_blend_sharpness(pixels, canvas->h, canvas->w, factor, canvas->spare); break;
    case POST: pada_tone_posterize(pixels, n, 4 * level / 10); break;
    case POS4: pada_tone_posterize(pixels, n, 4 + 4 * level / 10); break;
    case SOL: pada_tone_solarize(pixels, n, 256 * level / 10); break;
    case SOLA: pada_tone_solarize_add(pixels, n, 11 * level); break;
    case EQ: pada_tone_equalize(pixels, n); break;
    case ACON: pada_tone_autocontrast(pixels, n); break;
    case INV: pada_tone_invert(pixels, n); break;
    case PADA_N_IMAGE_OPS: PADA_ASSERT(false);
    }
}

void pada_auto_augment(pada_policy policy, pada_rng *rng, pada_canvas *canvas)
{
    const pada_policy_step *pair =
        pada_policy_pair(policy, (int)pada_rng_below(rng, PADA_POLICY_PAIRS));

    for (int i = 0; i < 2; i++) {
        const bool moves = moves_pixels(pair[i].op);
        if ((int)pada_rng_below(rng, 10) >= pair[i].chance) continue;
        const bool is_negative = moves && pada_rng_u32(rng) >> 31 != 0;
        const bool is_cubic = moves && pada_rng_u32(rng) >> 31 != 0;
        pada_canvas_change(canvas, &pair[i], is_negative, is_cubic ? PADA_BICUBIC : PADA_BILINEAR);
    }
}
