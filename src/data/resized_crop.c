/* resized_crop.c - which part of a photograph an image shows: a random one, or its middle. */
#include "data/resized_crop.h"

#include <math.h>

#include "base/elementary.h"

/* The middle, in whole pixels. */
static pada_cut middle(int width, int height)
{
    const double ratio = (double)width / height;
    int w = width, h = height;

    if (ratio < PADA_CROP_MIN_RATIO) h = (int)rint(w / PADA_CROP_MIN_RATIO);
    if (ratio > PADA_CROP_MAX_RATIO) w = (int)rint(h * PADA_CROP_MAX_RATIO);
    return (pada_cut){.x = (width - w) / 2, .y = (height - h) / 2, .width = w, .height = h};
}

pada_cut pada_resized_crop_draw(pada_rng *rng, int width, int height)
{
    const double low = pada_ln(PADA_CROP_MIN_RATIO), high = pada_ln(PADA_CROP_MAX_RATIO);
    const double all = (double)width * height;

    for (int i = 0; i < PADA_CROP_TRIES; i++) {
        const double share = PADA_CROP_MIN_AREA + (1 - PADA_CROP_MIN_AREA) * pada_rng_uniform(rng);
        const double ratio = pada_exp(low + (high - low) * pada_rng_uniform(rng));
        const double w = rint(sqrt(all * share * ratio)), h = rint(sqrt(all * share / ratio));
        if (w < 1 || h < 1 || w > width || h > height) continue;
        const uint32_t top = pada_rng_below(rng, (uint32_t)(height - (int)h) + 1);
        const uint32_t left = pada_rng_below(rng, (uint32_t)(width - (int)w) + 1);
        return (pada_cut){.x = left, .y = top, .width = w, .height = h};
    }
    return middle(width, height);
}

pada_cut pada_centre_crop(int width, int height, int size, int scaled)
{
    const int shorter = width < height ? width : height;
    const double side = (double)shorter * size / scaled;

    return (pada_cut){
        .x = (width - side) / 2, .y = (height - side) / 2, .width = side, .height = side};
}
