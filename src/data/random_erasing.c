/* random_erasing.c - a rectangle of an image exchanged for noise. */
#include "data/random_erasing.h"

#include <math.h>
#include <stdbool.h>

#include "base/elementary.h"

typedef struct rectangle {
    int top, left, height, width;
} rectangle;

/* False: no try fits. */
static bool draw_rectangle(pada_rng *rng, int h, int w, rectangle *out)
{
    const double high = -pada_ln(PADA_ERASE_MIN_RATIO);

    for (int i = 0; i < PADA_ERASE_TRIES; i++) {
        const double share = PADA_ERASE_MIN_AREA +
                             (PADA_ERASE_MAX_AREA - PADA_ERASE_MIN_AREA) * pada_rng_uniform(rng);
        const double ratio = pada_exp(high * (2 * pada_rng_uniform(rng) - 1));
        const double area = share * h * w;
        const double height = rint(sqrt(area * ratio)), width = rint(sqrt(area / ratio));
        if (height < 1 || width < 1 || height >= h || width >= w) continue;
        out->height = (int)height;
        out->width = (int)width;
        out->top = (int)pada_rng_below(rng, (uint32_t)(h - out->height) + 1);
        out->left = (int)pada_rng_below(rng, (uint32_t)(w - out->width) + 1);
        return true;
    }
    return false;
}

void pada_random_erasing(double chance, pada_rng *rng, float *image, pada_shape shape)
{
    rectangle r;

    if (pada_rng_uniform(rng) >= chance || !draw_rectangle(rng, shape.h, shape.w, &r)) return;
    for (int c = 0; c < shape.c; c++, image += shape.h * shape.w)
        for (int y = r.top; y < r.top + r.height; y++)
            for (int x = r.left; x < r.left + r.width; x++)
                image[y * shape.w + x] = (float)pada_rng_normal(rng);
}
