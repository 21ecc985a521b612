/* test_augment.c - augmentation against a plain one that really pads, and the numbers it draws. */
#include "base/scratch.h"

#include "check.h"
#include "data/augment.h"

#define SIDE   16
#define PIXELS (3 * SIDE * SIDE)
#define PAD    2

static pada_dataset *open_train(void)
{
    const pada_dataset_desc desc = {.where = "builtin", .splits = PADA_SPLIT_BIT(PADA_SPLIT_TRAIN)};
    pada_dataset *ds;

    assert_ok(pada_dataset_open(&ds, &desc));
    return ds;
}

static void mirror(uint8_t *plane)
{
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE / 2; x++) {
            const uint8_t left = plane[y * SIDE + x];
            plane[y * SIDE + x] = plane[y * SIDE + SIDE - 1 - x];
            plane[y * SIDE + SIDE - 1 - x] = left;
        }
}

static void pad_and_crop(uint8_t *plane, int row, int column)
{
    static uint8_t padded[SIDE + 2 * PAD][SIDE + 2 * PAD];

    memset(padded, 0, sizeof padded);
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++)
            padded[y + PAD][x + PAD] = plane[y * SIDE + x];
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++)
            plane[y * SIDE + x] = padded[row + y][column + x];
}

/* As the transforms of the reference are written: whole images, one step after the other. */
static void augment_plainly(const pada_dataset *ds, int i, pada_augmentation how, float *out)
{
    uint8_t plane[SIDE * SIDE];

    for (int c = 0; c < 3; c++) {
        memcpy(plane, ds->ops->image(ds, PADA_SPLIT_TRAIN, i) + c * SIDE * SIDE, sizeof plane);
        if (how.flip && ds->flip_first) mirror(plane);
        pad_and_crop(plane, how.row, how.column);
        if (how.flip && !ds->flip_first) mirror(plane);
        for (int k = 0; k < SIDE * SIDE; k++)
            *out++ = ((float)plane[k] / 255.0f - (float)ds->mean[c]) / (float)ds->deviation[c];
    }
}

/* All 162 augmentations, in both orders. */
static void test_against_plain(void **state)
{
    static float found[PIXELS], expected[PIXELS];
    pada_dataset *ds = open_train();
    int i = 0;

    (void)state;
    assert_int_equal(ds->pad, PAD);
    for (int flip_first = 0; flip_first < 2; flip_first++) {
        ds->flip_first = flip_first != 0;
        for (int row = 0; row <= 2 * PAD; row++)
            for (int column = 0; column <= 2 * PAD; column++)
                for (int flip = 0; flip < 2; flip++) {
                    const pada_augmentation how = {row, column, flip != 0};
                    augment_plainly(ds, i, how, expected);
                    pada_augment_image(ds, PADA_SPLIT_TRAIN, i++, how, found);
                    assert_memory_equal(found, expected, sizeof found);
                }
    }
    pada_dataset_close(ds);
}

/* The image itself in the middle; a border of levels[c][0] at the corner. */
static void test_border(void **state)
{
    static float found[PIXELS], expected[PIXELS];
    pada_dataset *ds = open_train();
    int32_t label;

    (void)state;
    pada_dataset_fill(ds, PADA_SPLIT_TRAIN, 7, 1, expected, &label);
    pada_augment_image(ds, PADA_SPLIT_TRAIN, 7, (pada_augmentation){PAD, PAD, false}, found);
    assert_memory_equal(found, expected, sizeof found);
    pada_augment_image(ds, PADA_SPLIT_TRAIN, 7, (pada_augmentation){0, 0, false}, found);
    for (int c = 0; c < 3; c++) {
        CHECK_CLOSE(found[c * SIDE * SIDE], (0 - ds->mean[c]) / ds->deviation[c], 1e-6);
        CHECK_CLOSE(found[(c * SIDE + PAD) * SIDE + PAD - 1], ds->levels[c][0], 0);
        CHECK_CLOSE(found[(c * SIDE + PAD) * SIDE + PAD], expected[c * SIDE * SIDE], 0);
    }
    pada_dataset_close(ds);
}

/* The stream is part of the contract: other backends draw it too. */
static void test_stream(void **state)
{
    const pada_dataset ds = {.pad = 2};
    pada_rng rng;

    (void)state;
    for (int epoch = 0; epoch < 3; epoch++)
        for (int position = 0; position < 100; position++) {
            pada_rng_init(&rng, 9, "augment", ((uint64_t)epoch << 32) + (uint64_t)position);
            const pada_augmentation how = pada_augment_draw(&ds, 9, epoch, position);
            assert_int_equal(how.row, pada_rng_below(&rng, 5));
            assert_int_equal(how.column, pada_rng_below(&rng, 5));
            assert_int_equal(how.flip, pada_rng_u32(&rng) >= 0x80000000u);
        }
}

/* Chi-squared of a table against equal counts. */
static double chi_squared(const int *counts, int n, int total)
{
    double sum = 0;

    for (int i = 0; i < n; i++)
        sum += pow(counts[i] - (double)total / n, 2) / ((double)total / n);
    return sum;
}

/* Rows, columns and flips are uniform, and so are they together. */
static void test_statistics(void **state)
{
    enum { N = 81 * 2 * 500, CELLS = 81 * 2 };
    const pada_dataset ds = {.pad = 4};
    int joint[CELLS] = {0}, rows[9] = {0}, columns[9] = {0}, flips[2] = {0};

    (void)state;
    for (int i = 0; i < N; i++) {
        const pada_augmentation how = pada_augment_draw(&ds, 3, i / 50000, i % 50000);
        assert_in_range(how.row, 0, 8);
        assert_in_range(how.column, 0, 8);
        joint[(how.row * 9 + how.column) * 2 + how.flip]++;
        rows[how.row]++;
        columns[how.column]++;
        flips[how.flip]++;
    }
    /* Mean: degrees of freedom; five deviations above it would be chance once in a million. */
    assert_true(chi_squared(joint, CELLS, N) < 161 + 5 * sqrt(2 * 161));
    assert_true(chi_squared(rows, 9, N) < 8 + 5 * sqrt(2 * 8));
    assert_true(chi_squared(columns, 9, N) < 8 + 5 * sqrt(2 * 8));
    assert_true(chi_squared(flips, 2, N) < 1 + 5 * sqrt(2 * 1));
}

/* The batch: image by image with the numbers of its position; an image twice, two augmentations. */
static void test_batch(void **state)
{
    static float images[4 * PIXELS], expected[PIXELS];
    const int32_t indices[] = {5, 1999, 5, 0};
    pada_dataset *ds = open_train();
    int32_t labels[4];

    (void)state;
    pada_augment_batch(ds, PADA_SPLIT_TRAIN, indices, 4, 11, 2, 300, images, labels);
    for (int i = 0; i < 4; i++) {
        augment_plainly(ds, indices[i], pada_augment_draw(ds, 11, 2, 300 + i), expected);
        assert_memory_equal(images + i * PIXELS, expected, sizeof expected);
        assert_int_equal(labels[i], ds->ops->label(ds, PADA_SPLIT_TRAIN, indices[i]));
    }
    assert_memory_not_equal(images, images + 2 * PIXELS, sizeof expected);
    pada_dataset_close(ds);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_plain), cmocka_unit_test(test_border),
        cmocka_unit_test(test_stream),        cmocka_unit_test(test_statistics),
        cmocka_unit_test(test_batch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
