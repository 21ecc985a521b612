/* augment.c - training images: randomly cropped, randomly mirrored, changed as a recipe wants it, normalised.
 *
 * Nothing is padded with a border. A row of the result is black, a piece of a row of the image (from the right to
 * the left when flipped), black:
 *
 *   column of the image = x + left                     left = column - pad
 *                         w - 1 - x + left  (flipped)
 *
 * An image that is flipped before the crop has its border flipped too, so its crop starts at
 * 2 * pad - column of the one that is not.
 *
 * Bytes are changed in the last quarter of the room for the numbers that they become; the first one is
 * AutoAugment's. */
#include "data/augment.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "data/random_erasing.h"
#include "data/resized_crop.h"

/* The random numbers of one image. */
static void open_stream(pada_rng *rng, const pada_draw *draw, const char *name)
{
    PADA_ASSERT(draw->epoch >= 0 && draw->position >= 0);
    pada_rng_init(rng, draw->seed, name, (uint64_t)draw->epoch << 32 | (uint64_t)draw->position);
}

static int clamp(int x, int low, int high)
{
    return x < low ? low : x > high ? high : x;
}

/* ---- images that are kept ---- */

static void draw_hole(const pada_dataset *ds, const pada_draw *draw, pada_augmentation *how)
{
    pada_rng rng;

    how->hole = draw->changes.cutout;
    if (how->hole == 0) return;
    open_stream(&rng, draw, "cutout");
    how->hole_row = (int)pada_rng_below(&rng, (uint32_t)ds->shape.h);
    how->hole_column = (int)pada_rng_below(&rng, (uint32_t)ds->shape.w);
}

pada_augmentation pada_augment_draw(const pada_dataset *ds, const pada_draw *draw)
{
    const uint32_t n_offsets = 2 * (uint32_t)ds->pad + 1;
    const pada_flip_order order = draw->changes.flip_order;
    pada_augmentation how = {0};
    pada_rng rng;

    open_stream(&rng, draw, "augment");
    how.row = (int)pada_rng_below(&rng, n_offsets);
    how.column = (int)pada_rng_below(&rng, n_offsets);
    how.flip = pada_rng_u32(&rng) >> 31 != 0;
    how.flip_first = order == PADA_FLIP_AUTO ? ds->flip_first : order == PADA_FLIP_FIRST;
    draw_hole(ds, draw, &how);
    return how;
}

/* A hole that reaches over a side of the image ends there. */
static void add_hole(pada_pick *pick, const pada_augmentation *how, pada_shape shape)
{
    const int top = how->hole_row - how->hole / 2, left = how->hole_column - how->hole / 2;

    if (how->hole == 0) return;
    pick->hole_top = (int16_t)clamp(top, 0, shape.h);
    pick->hole_bottom = (int16_t)clamp(top + how->hole, 0, shape.h);
    pick->hole_left = (int16_t)clamp(left, 0, shape.w);
    pick->hole_right = (int16_t)clamp(left + how->hole, 0, shape.w);
}

pada_pick pada_augment_pick(const pada_dataset *ds, int i, pada_augmentation how)
{
    const bool border_flips = how.flip && how.flip_first;
    pada_pick pick = {.image = i,
                      .top = (int16_t)(how.row - ds->pad),
                      .left = (int16_t)(border_flips ? ds->pad - how.column : how.column - ds->pad),
                      .flip = how.flip};

    add_hole(&pick, &how, ds->shape);
    return pick;
}

/* One row of the result; `from` is the row of the image. */
static void fill_row(const uint8_t *from, int w, const pada_pick *pick, uint8_t *out)
{
    /* The pixels begin .. end - 1 are in the image. */
    const int shift = pick->flip ? -pick->left : pick->left;
    const int begin = clamp(-shift, 0, w), end = clamp(w - shift, 0, w);

    const uint8_t *last = from + w - 1 + pick->left;

    memset(out, 0, (size_t)begin);
    if (pick->flip)
        for (int x = begin; x < end; x++)
            out[x] = last[-x];
    else
        memcpy(out + begin, from + begin + pick->left, (size_t)(end - begin));
    memset(out + end, 0, (size_t)(w - end));
}

void pada_augment_kept(const pada_dataset *ds, pada_split split, const pada_pick *pick,
                       uint8_t *out)
{
    const uint8_t *plane = ds->ops->image(ds, split, pick->image);
    const int h = ds->shape.h, w = ds->shape.w;

    for (int c = 0; c < PADA_IMAGE_CHANNELS; c++, plane += h * w)
        for (int y = 0; y < h; y++, out += w) {
            const int row = y + pick->top;
            if (row >= 0 && row < h)
                fill_row(plane + row * w, w, pick, out);
            else
                memset(out, 0, (size_t)w);
        }
}

/* ---- photographs ---- */

static pada_cut draw_part(void *context, int width, int height)
{
    return pada_resized_crop_draw(context, width, height);
}

static void exchange_sides(uint8_t *pixels, int n_rows, int w)
{
    for (int y = 0; y < n_rows; y++, pixels += w)
        for (int x = 0; x < w / 2; x++) {
            const uint8_t left = pixels[x];
            pixels[x] = pixels[w - 1 - x];
            pixels[w - 1 - x] = left;
        }
}

pada_status pada_augment_photo(const pada_dataset *ds, pada_split split, int i,
                               const pada_draw *draw, uint8_t *out)
{
    const int h = ds->shape.h, w = ds->shape.w;
    const pada_jitter *jitter = &draw->changes.jitter;
    pada_rng rng;

    open_stream(&rng, draw, "augment");
    PADA_TRY(ds->ops->cut(ds, split, i, draw_part, &rng, out));
    if (pada_rng_u32(&rng) >> 31 != 0) exchange_sides(out, PADA_IMAGE_CHANNELS * h, w);
    if (!pada_jitter_is_none(jitter)) pada_jitter_apply(jitter, &rng, out, h * w);
    return PADA_OK;
}

/* ---- both ---- */

/* What comes in from outside has the mean colour. */
static void change_bytes(const pada_dataset *ds, const pada_draw *draw, uint8_t *bytes,
                         uint8_t *spare)
{
    pada_canvas canvas = {.pixels = bytes, .spare = spare, .h = ds->shape.h, .w = ds->shape.w};
    pada_rng rng;

    for (int c = 0; c < PADA_IMAGE_CHANNELS; c++)
        canvas.fill[c] = (uint8_t)clamp((int)rint(255 * ds->mean[c]), 0, 255);
    open_stream(&rng, draw, "auto augment");
    pada_auto_augment(draw->changes.policy, &rng, &canvas);
}

static void clear_hole(const pada_pick *pick, pada_shape shape, float *image)
{
    for (int c = 0; c < shape.c; c++, image += shape.h * shape.w)
        for (int y = pick->hole_top; y < pick->hole_bottom; y++)
            for (int x = pick->hole_left; x < pick->hole_right; x++)
                image[y * shape.w + x] = 0;
}

static void erase(const pada_dataset *ds, const pada_draw *draw, float *image)
{
    pada_rng rng;

    open_stream(&rng, draw, "erasing");
    pada_random_erasing(draw->changes.erasing, &rng, image, ds->shape);
}

pada_status pada_augment_image(const pada_dataset *ds, pada_split split, int i,
                               const pada_draw *draw, float *out)
{
    uint8_t *bytes = pada_dataset_room(ds, out);
    pada_augmentation how = {0};
    pada_pick pick = {0};

    if (ds->is_cut) {
        PADA_TRY(pada_augment_photo(ds, split, i, draw, bytes));
        draw_hole(ds, draw, &how);
        add_hole(&pick, &how, ds->shape);
    } else {
        pick = pada_augment_pick(ds, i, pada_augment_draw(ds, draw));
        pada_augment_kept(ds, split, &pick, bytes);
    }
    if (draw->changes.policy != PADA_POLICY_NONE) change_bytes(ds, draw, bytes, (uint8_t *)out);
    pada_dataset_level(ds, bytes, out);
    clear_hole(&pick, ds->shape, out);
    if (draw->changes.erasing > 0) erase(ds, draw, out);
    return PADA_OK;
}
