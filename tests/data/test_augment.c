/* test_augment.c - augmentation against a plain one that really pads, and the numbers it draws. */
#include "base/scratch.h"

#include "base/hash.h"
#include "check.h"
#include "data/augment.h"
#include "data/random_erasing.h"

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

/* An image that is kept, as the pick says and normalised. */
static void augment_kept(const pada_dataset *ds, int i, pada_augmentation how, float *out)
{
    const pada_pick pick = pada_augment_pick(ds, i, how);
    uint8_t bytes[PIXELS];

    pada_augment_kept(ds, PADA_SPLIT_TRAIN, &pick, bytes);
    pada_dataset_level(ds, bytes, out);
}

/* As the transforms of the reference are written: whole images, one step after the other. */
static void augment_plainly(const pada_dataset *ds, int i, pada_augmentation how, float *out)
{
    uint8_t plane[SIDE * SIDE];

    for (int c = 0; c < 3; c++) {
        memcpy(plane, ds->ops->image(ds, PADA_SPLIT_TRAIN, i) + c * SIDE * SIDE, sizeof plane);
        if (how.flip && how.flip_first) mirror(plane);
        pad_and_crop(plane, how.row, how.column);
        if (how.flip && !how.flip_first) mirror(plane);
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
    for (int flip_first = 0; flip_first < 2; flip_first++)
        for (int row = 0; row <= 2 * PAD; row++)
            for (int column = 0; column <= 2 * PAD; column++)
                for (int flip = 0; flip < 2; flip++) {
                    const pada_augmentation how = {
                        .row = row, .column = column, .flip = flip, .flip_first = flip_first};
                    augment_plainly(ds, i, how, expected);
                    augment_kept(ds, i++, how, found);
                    assert_memory_equal(found, expected, sizeof found);
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
    augment_kept(ds, 7, (pada_augmentation){.row = PAD, .column = PAD}, found);
    assert_memory_equal(found, expected, sizeof found);
    augment_kept(ds, 7, (pada_augmentation){0}, found);
    for (int c = 0; c < 3; c++) {
        CHECK_CLOSE(found[c * SIDE * SIDE], (0 - ds->mean[c]) / ds->deviation[c], 1e-6);
        CHECK_CLOSE(found[(c * SIDE + PAD) * SIDE + PAD - 1], ds->levels[c][0], 0);
        CHECK_CLOSE(found[(c * SIDE + PAD) * SIDE + PAD], expected[c * SIDE * SIDE], 0);
    }
    pada_dataset_close(ds);
}

/* The streams are part of the contract: other backends draw them too. */
static void test_stream(void **state)
{
    const pada_dataset ds = {.pad = 2, .shape = {3, 16, 20}};
    pada_rng rng;

    (void)state;
    for (int epoch = 0; epoch < 3; epoch++)
        for (int position = 0; position < 100; position++) {
            const pada_draw draw = {
                .seed = 9, .epoch = epoch, .position = position, .changes.cutout = 7};
            const uint64_t index = ((uint64_t)epoch << 32) + (uint64_t)position;
            const pada_augmentation how = pada_augment_draw(&ds, &draw);
            pada_rng_init(&rng, 9, "augment", index);
            assert_int_equal(how.row, pada_rng_below(&rng, 5));
            assert_int_equal(how.column, pada_rng_below(&rng, 5));
            assert_int_equal(how.flip, pada_rng_u32(&rng) >= 0x80000000u);
            pada_rng_init(&rng, 9, "cutout", index);
            assert_int_equal(how.hole_row, pada_rng_below(&rng, 16));
            assert_int_equal(how.hole_column, pada_rng_below(&rng, 20));
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
        const pada_augmentation how = pada_augment_draw(
            &ds, &(pada_draw){.seed = 3, .epoch = i / 50000, .position = i % 50000});
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

/* Whole images, with the numbers of their positions; an image twice, two augmentations. The order of crops and flips is
 * that of the data set or the one that is asked for. */
static void test_image(void **state)
{
    static float found[4][PIXELS], expected[PIXELS];
    const int images[] = {5, 1999, 5, 0};
    pada_dataset *ds = open_train();

    (void)state;
    for (int flip_first = 0; flip_first < 2; flip_first++)
        for (int order = PADA_FLIP_AUTO; order <= PADA_FLIP_FIRST; order++) {
            ds->flip_first = flip_first != 0;
            for (int i = 0; i < 4; i++) {
                const pada_draw draw = {.seed = 11,
                                        .epoch = 2,
                                        .position = 300 + i,
                                        .changes.flip_order = (pada_flip_order)order};
                const pada_augmentation how = pada_augment_draw(ds, &draw);
                assert_int_equal(how.flip_first,
                                 order == PADA_FLIP_AUTO ? flip_first : order == PADA_FLIP_FIRST);
                augment_plainly(ds, images[i], how, expected);
                assert_ok(pada_augment_image(ds, PADA_SPLIT_TRAIN, images[i], &draw, found[i]));
                assert_memory_equal(found[i], expected, sizeof expected);
            }
            assert_memory_not_equal(found[0], found[2], sizeof expected);
        }
    pada_dataset_close(ds);
}

/* The hole: zeros within it, nothing else changed, the same numbers drawn for the rest. Its middle is
 * anywhere, its sides end where the image does. */
static void test_cutout(void **state)
{
    static float whole[PIXELS], found[PIXELS];
    pada_dataset *ds = open_train();
    int rows[SIDE] = {0}, columns[SIDE] = {0};

    (void)state;
    for (int side = 1; side <= SIDE; side++)
        for (int position = 0; position < 200; position++) {
            pada_draw draw = {.seed = 4, .epoch = 1, .position = position};
            assert_ok(pada_augment_image(ds, PADA_SPLIT_TRAIN, 9, &draw, whole));
            draw.changes.cutout = side;
            assert_ok(pada_augment_image(ds, PADA_SPLIT_TRAIN, 9, &draw, found));
            const pada_augmentation how = pada_augment_draw(ds, &draw);
            const int top = how.hole_row - side / 2, left = how.hole_column - side / 2;
            for (int i = 0; i < PIXELS; i++) {
                const int y = i / SIDE % SIDE - top, x = i % SIDE - left;
                const bool in_hole = y >= 0 && y < side && x >= 0 && x < side;
                assert_true(found[i] == (in_hole ? 0 : whole[i]));
            }
            rows[how.hole_row]++;
            columns[how.hole_column]++;
        }
    for (int k = 0; k < SIDE; k++)
        assert_true(rows[k] > 0 && columns[k] > 0);
    pada_dataset_close(ds);
}

static uint64_t hash_of(const pada_dataset *ds, pada_changes changes, int position)
{
    static float image[PIXELS];
    const pada_draw draw = {.seed = 6, .epoch = 3, .position = position, .changes = changes};

    assert_ok(pada_augment_image(ds, PADA_SPLIT_TRAIN, 77, &draw, image));
    return pada_hash(image, sizeof image, 0);
}

/* The whole of it from its parts: AutoAugment on bytes, then the normalisation, the hole, the noise. */
static void test_order(void **state)
{
    static float found[PIXELS], expected[PIXELS];
    const pada_changes changes = {.policy = PADA_POLICY_V0, .cutout = 6, .erasing = 0.7};
    pada_dataset *ds = open_train();
    uint8_t bytes[PIXELS], spare[PIXELS];
    pada_rng rng;

    (void)state;
    for (int position = 0; position < 300; position++) {
        const pada_draw draw = {.seed = 8, .epoch = 5, .position = position, .changes = changes};
        const uint64_t index = ((uint64_t)5 << 32) + (uint64_t)position;
        const pada_pick pick = pada_augment_pick(ds, 31, pada_augment_draw(ds, &draw));
        pada_canvas canvas = {.pixels = bytes, .spare = spare, .h = SIDE, .w = SIDE};
        for (int c = 0; c < 3; c++)
            canvas.fill[c] = (uint8_t)(255 * ds->mean[c] + 0.5);
        pada_augment_kept(ds, PADA_SPLIT_TRAIN, &pick, bytes);
        pada_rng_init(&rng, 8, "auto augment", index);
        pada_auto_augment(PADA_POLICY_V0, &rng, &canvas);
        pada_dataset_level(ds, bytes, expected);
        for (int i = 0; i < PIXELS; i++)
            if (i / SIDE % SIDE >= pick.hole_top && i / SIDE % SIDE < pick.hole_bottom &&
                i % SIDE >= pick.hole_left && i % SIDE < pick.hole_right)
                expected[i] = 0;
        pada_rng_init(&rng, 8, "erasing", index);
        pada_random_erasing(0.7, &rng, expected, ds->shape);
        assert_ok(pada_augment_image(ds, PADA_SPLIT_TRAIN, 31, &draw, found));
        assert_memory_equal(found, expected, sizeof found);
    }
    /* Each of them matters. */
    int same[3] = {0};
    for (int position = 0; position < 100; position++) {
        const uint64_t all = hash_of(ds, changes, position);
        same[0] += hash_of(ds, (pada_changes){.cutout = 6, .erasing = 0.7}, position) == all;
        same[1] +=
            hash_of(ds, (pada_changes){.policy = PADA_POLICY_V0, .erasing = 0.7}, position) == all;
        same[2] +=
            hash_of(ds, (pada_changes){.policy = PADA_POLICY_V0, .cutout = 6}, position) == all;
    }
    assert_true(same[0] < 50 && same[1] < 20 && same[2] < 50);
    pada_dataset_close(ds);
}

/* What cannot be is said. */
static void test_refused(void **state)
{
    const pada_dataset kept = {.name = "kept", .shape = {3, 32, 32}};
    const pada_dataset photos = {.name = "photos", .shape = {3, 32, 32}, .is_cut = true};
    const pada_jitter jitter = {.contrast = 0.1};

    (void)state;
    assert_ok(pada_changes_check(&(pada_changes){0}, &kept));
    assert_ok(pada_changes_check(&(pada_changes){.cutout = 32, .erasing = 1}, &photos));
    assert_fails(pada_changes_check(&(pada_changes){.cutout = 33}, &kept), PADA_EINVAL,
                 "a cutout of 33 pixels is larger than the images of kept, 32");
    assert_int_equal(pada_changes_check(&(pada_changes){.jitter = jitter}, &kept), PADA_EINVAL);
    assert_ok(pada_changes_check(&(pada_changes){.jitter = jitter}, &photos));
    assert_fails(
        pada_changes_check(&(pada_changes){.jitter = jitter, .policy = PADA_POLICY_V0}, &photos),
        PADA_EINVAL, "AutoAugment and colour jitter exclude each other");
    assert_ok(pada_changes_check(&(pada_changes){.flip_order = PADA_FLIP_FIRST}, &kept));
    assert_int_equal(pada_changes_check(&(pada_changes){.flip_order = PADA_FLIP_FIRST}, &photos),
                     PADA_EINVAL);
    assert_true(pada_changes_fit_picks(&(pada_changes){.cutout = 16}));
    assert_false(pada_changes_fit_picks(&(pada_changes){.policy = PADA_POLICY_ORIGINAL}));
    assert_false(pada_changes_fit_picks(&(pada_changes){.erasing = 0.1}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_plain), cmocka_unit_test(test_border),
        cmocka_unit_test(test_stream),        cmocka_unit_test(test_statistics),
        cmocka_unit_test(test_image),         cmocka_unit_test(test_cutout),
        cmocka_unit_test(test_order),         cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
