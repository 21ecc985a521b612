/* augment.c - training images: randomly cropped, randomly mirrored, normalised.
 *
 * Nothing is padded with a border. A row of the result is black, a piece of a row of the image (from the right to
 * the left when flipped), black:
 *
 *   column of the image = x + left                     left = column - pad
 *                         w - 1 - x + left  (flipped)
 *
 * An image that is flipped before the crop has its border flipped too, so its crop starts at
 * 2 * pad - column of the one that is not. */
#include "data/augment.h"

#include "base/rng.h"
#include "data/resized_crop.h"

/* The random numbers of one image. */
static void open_stream(pada_rng *rng, uint64_t seed, int epoch, int position)
{
    PADA_ASSERT(epoch >= 0 && position >= 0);
    pada_rng_init(rng, seed, "augment", (uint64_t)epoch << 32 | (uint64_t)position);
}

/* ---- images that are kept ---- */

pada_augmentation pada_augment_draw(const pada_dataset *ds, uint64_t seed, int epoch, int position)
{
    const uint32_t n_offsets = 2 * (uint32_t)ds->pad + 1;
    pada_augmentation how;
    pada_rng rng;

    open_stream(&rng, seed, epoch, position);
    how.row = (int)pada_rng_below(&rng, n_offsets);
    how.column = (int)pada_rng_below(&rng, n_offsets);
    how.flip = pada_rng_u32(&rng) >> 31 != 0;
    return how;
}

static int clamp(int x, int low, int high)
{
    return x < low ? low : x > high ? high : x;
}

/* One row of the result; `from` is the row of the image or NULL for a black one. */
static void fill_row(const float levels[256], const uint8_t *from, int w, int left, bool flip,
                     float *out)
{
    /* The pixels begin .. end - 1 are in the image. */
    const int shift = flip ? -left : left;
    const int begin = from ? clamp(-shift, 0, w) : w, end = from ? clamp(w - shift, 0, w) : w;

    for (int x = 0; x < begin; x++)
        out[x] = levels[0];
    for (int x = begin; x < end; x++)
        out[x] = levels[from[flip ? w - 1 - x + left : x + left]];
    for (int x = end; x < w; x++)
        out[x] = levels[0];
}

pada_pick pada_augment_pick(const pada_dataset *ds, int i, pada_augmentation how)
{
    const bool border_flips = how.flip && ds->flip_first;

    return (pada_pick){.image = i,
                       .top = (int16_t)(how.row - ds->pad),
                       .left =
                           (int16_t)(border_flips ? ds->pad - how.column : how.column - ds->pad),
                       .flip = how.flip};
}

void pada_augment_image(const pada_dataset *ds, pada_split split, int i, pada_augmentation how,
                        float *out)
{
    const pada_pick pick = pada_augment_pick(ds, i, how);
    const uint8_t *plane = ds->ops->image(ds, split, i);
    const int h = ds->shape.h, w = ds->shape.w;

    for (int c = 0; c < PADA_IMAGE_CHANNELS; c++, plane += h * w)
        for (int y = 0; y < h; y++, out += w) {
            const int row = y + pick.top;
            const bool inside = row >= 0 && row < h;
            fill_row(ds->levels[c], inside ? plane + row * w : NULL, w, pick.left, how.flip, out);
        }
}

void pada_augment_batch(const pada_dataset *ds, pada_split split, const int32_t *indices, int n,
                        uint64_t seed, int epoch, int first, float *images, int32_t *labels)
{
    const int64_t image_count = pada_shape_count(ds->shape);

    for (int i = 0; i < n; i++) {
        pada_augment_image(ds, split, indices[i], pada_augment_draw(ds, seed, epoch, first + i),
                           images + i * image_count);
        labels[i] = ds->ops->label(ds, split, indices[i]);
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
    pada_rng rng;

    open_stream(&rng, draw->seed, draw->epoch, draw->position);
    PADA_TRY(ds->ops->cut(ds, split, i, draw_part, &rng, out));
    if (pada_rng_u32(&rng) >> 31 != 0) exchange_sides(out, PADA_IMAGE_CHANNELS * h, w);
    if (!pada_jitter_is_none(&draw->jitter)) pada_jitter_apply(&draw->jitter, &rng, out, h * w);
    return PADA_OK;
}
