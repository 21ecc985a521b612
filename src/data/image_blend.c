/* image_blend.c - an image mixed with a duller one of itself. */
#include "data/image_blend.h"

#include <string.h>

#define WEIGHTS 13 /* of the nine pixels, together */

static uint8_t blend(int dull, int level, float factor)
{
    const float mixed = (float)dull + factor * (float)(level - dull);

    return (uint8_t)(mixed <= 0 ? 0 : mixed >= 255 ? 255 : mixed);
}

int pada_mean_grey(const uint8_t *pixels, int n)
{
    int64_t sum = 0;

    for (int i = 0; i < n; i++)
        sum += pada_grey(pixels + i, n);
    return (int)((sum + n / 2) / n);
}

void pada_blend_color(uint8_t *pixels, int n, double factor)
{
    for (int i = 0; i < n; i++) {
        const int grey = pada_grey(pixels + i, n);
        for (int c = 0; c < 3; c++)
            pixels[c * n + i] = blend(grey, pixels[c * n + i], (float)factor);
    }
}

void pada_blend_contrast(uint8_t *pixels, int n, double factor)
{
    const int mean = pada_mean_grey(pixels, n);
    uint8_t table[256];

    for (int level = 0; level < 256; level++)
        table[level] = blend(mean, level, (float)factor);
    for (int i = 0; i < 3 * n; i++)
        pixels[i] = table[pixels[i]];
}

/* The smoothed level of a pixel with eight neighbours; a sum of 13 parts is never half way between two. */
static int smooth(const uint8_t *at, int w)
{
    int sum = 4 * at[0];

    for (int dy = -w; dy <= w; dy += w)
        sum += at[dy - 1] + at[dy] + at[dy + 1];
    return (2 * sum + WEIGHTS) / (2 * WEIGHTS);
}

void pada_blend_sharpness(uint8_t *pixels, int h, int w, double factor, uint8_t *spare)
{
    for (int c = 0; c < 3; c++, pixels += h * w) {
        memcpy(spare, pixels, (size_t)(h * w));
        for (int y = 1; y < h - 1; y++)
            for (int x = 1; x < w - 1; x++) {
                const uint8_t *from = spare + y * w + x;
                pixels[y * w + x] = blend(smooth(from, w), *from, (float)factor);
            }
    }
}
