/* tiny_data.h - a data set of a few small images, for tests that train many times. */
#ifndef PADA_TESTS_TRAIN_TINY_DATA_H
#define PADA_TESTS_TRAIN_TINY_DATA_H

#include "base/rng.h"
#include "data/dataset.h"

enum { TINY_SIDE = 8, TINY_TRAIN = 44, TINY_TEST = 16, TINY_CLASSES = 4 };

typedef struct tiny_data {
    pada_dataset base;
    uint8_t pixels[PADA_N_SPLITS][TINY_TRAIN][PADA_IMAGE_CHANNELS * TINY_SIDE * TINY_SIDE];
} tiny_data;

static inline const uint8_t *tiny_image(const pada_dataset *ds, pada_split split, int i)
{
    return ((const tiny_data *)ds)->pixels[split][i];
}

static inline int tiny_label(const pada_dataset *ds, pada_split split, int i)
{
    (void)ds, (void)split;
    return i % TINY_CLASSES;
}

/* Noise whose mean tells the class. */
static inline void tiny_data_init(tiny_data *tiny)
{
    static const pada_dataset_ops ops = {.name = "tiny", .image = tiny_image, .label = tiny_label};
    pada_rng rng;

    *tiny = (tiny_data){.base = {.ops = &ops,
                                 .name = "tiny",
                                 .n_classes = TINY_CLASSES,
                                 .shape = {PADA_IMAGE_CHANNELS, TINY_SIDE, TINY_SIDE},
                                 .n_images = {TINY_TRAIN, TINY_TEST},
                                 .deviation = {1, 1, 1},
                                 .pad = 1}};
    for (int c = 0; c < PADA_IMAGE_CHANNELS; c++)
        for (int byte = 0; byte < 256; byte++)
            tiny->base.levels[c][byte] = (float)byte / 64 - 2;
    pada_rng_init(&rng, 7, "tiny", 0);
    for (int split = 0; split < PADA_N_SPLITS; split++)
        for (int i = 0; i < TINY_TRAIN; i++)
            for (int k = 0; k < PADA_IMAGE_CHANNELS * TINY_SIDE * TINY_SIDE; k++)
                tiny->pixels[split][i][k] =
                    (uint8_t)(pada_rng_below(&rng, 180) + 20 * (uint32_t)(i % TINY_CLASSES));
}

#endif
