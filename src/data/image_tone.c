/* image_tone.c - levels of an image exchanged for others by a table for each channel. */
#include "data/image_tone.h"

#define N_LEVELS 256
#define MIDDLE   128 /* of pada_tone_solarize_add */

static uint8_t limit(int level)
{
    return (uint8_t)(level < 0 ? 0 : level > 255 ? 255 : level);
}

static void exchange(uint8_t *pixels, int n, const uint8_t table[N_LEVELS])
{
    for (int i = 0; i < n; i++)
        pixels[i] = table[pixels[i]];
}

static void count_levels(const uint8_t *pixels, int n, int counts[N_LEVELS])
{
    for (int level = 0; level < N_LEVELS; level++)
        counts[level] = 0;
    for (int i = 0; i < n; i++)
        counts[pixels[i]]++;
}

static int darkest(const int counts[N_LEVELS])
{
    int level = 0;

    while (level < N_LEVELS - 1 && counts[level] == 0)
        level++;
    return level;
}

static int brightest(const int counts[N_LEVELS])
{
    int level = N_LEVELS - 1;

    while (level > 0 && counts[level] == 0)
        level--;
    return level;
}

void pada_tone_autocontrast(uint8_t *pixels, int n)
{
    uint8_t table[N_LEVELS];
    int counts[N_LEVELS];

    for (int c = 0; c < 3; c++, pixels += n) {
        count_levels(pixels, n, counts);
        const int low = darkest(counts), high = brightest(counts);
        if (high <= low) continue;
        const double scale = 255.0 / (high - low), offset = -low * scale;
        for (int level = 0; level < N_LEVELS; level++)
            table[level] = limit((int)(level * scale + offset));
        exchange(pixels, n, table);
    }
}

/* A level becomes the number of darker pixels, in steps. Pillow leaves those of the brightest level out
 * of the 255 steps. */
void pada_tone_equalize(uint8_t *pixels, int n)
{
    uint8_t table[N_LEVELS];
    int counts[N_LEVELS];

    for (int c = 0; c < 3; c++, pixels += n) {
        count_levels(pixels, n, counts);
        const int step = (n - counts[brightest(counts)]) / 255;
        if (step == 0) continue;
        int sum = step / 2;
        for (int level = 0; level < N_LEVELS; level++) {
            table[level] = limit(sum / step);
            sum += counts[level];
        }
        exchange(pixels, n, table);
    }
}

void pada_tone_invert(uint8_t *pixels, int n)
{
    pada_tone_solarize(pixels, n, 0);
}

void pada_tone_posterize(uint8_t *pixels, int n, int bits)
{
    const uint8_t mask = (uint8_t)(0xff00 >> bits);

    for (int i = 0; i < 3 * n; i++)
        pixels[i] &= mask;
}

void pada_tone_solarize(uint8_t *pixels, int n, int threshold)
{
    for (int i = 0; i < 3 * n; i++)
        if (pixels[i] >= threshold) pixels[i] = (uint8_t)(255 - pixels[i]);
}

void pada_tone_solarize_add(uint8_t *pixels, int n, int amount)
{
    for (int i = 0; i < 3 * n; i++)
        if (pixels[i] < MIDDLE) pixels[i] = limit(pixels[i] + amount);
}
