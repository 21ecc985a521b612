/* test_image_changes.c - the changes of AutoAugment on images made by hand, and which of them are drawn. */
#include "base/scratch.h"

#include "check.h"
#include "data/auto_augment.h"
#include "data/image_blend.h"
#include "data/image_tone.h"

#define N 4 /* pixels of small images */

/* One channel has these levels. */
static void expect_levels(const uint8_t *found, const uint8_t expected[N])
{
    assert_memory_equal(found, expected, N);
}

static void test_tables(void **state)
{
    const uint8_t image[3 * N] = {0, 100, 128, 255, 7, 7, 7, 7, 200, 201, 202, 203};
    uint8_t pixels[3 * N];

    (void)state;
    memcpy(pixels, image, sizeof pixels);
    pada_tone_invert(pixels, N);
    expect_levels(pixels, (const uint8_t[]){255, 155, 127, 0});
    expect_levels(pixels + 2 * N, (const uint8_t[]){55, 54, 53, 52});
    memcpy(pixels, image, sizeof pixels);
    pada_tone_solarize(pixels, N, 128);
    expect_levels(pixels, (const uint8_t[]){0, 100, 127, 0});
    memcpy(pixels, image, sizeof pixels);
    pada_tone_solarize(pixels, N, 256);
    assert_memory_equal(pixels, image, sizeof pixels);
    pada_tone_solarize_add(pixels, N, 110);
    expect_levels(pixels, (const uint8_t[]){110, 210, 128, 255});
    expect_levels(pixels + N, (const uint8_t[]){117, 117, 117, 117});
    memcpy(pixels, image, sizeof pixels);
    pada_tone_posterize(pixels, N, 8);
    assert_memory_equal(pixels, image, sizeof pixels);
    pada_tone_posterize(pixels, N, 2);
    expect_levels(pixels, (const uint8_t[]){0, 64, 128, 192});
    pada_tone_posterize(pixels, N, 0);
    expect_levels(pixels, (const uint8_t[]){0, 0, 0, 0});
}

/* Each channel by itself; one of a single level stays. */
static void test_autocontrast(void **state)
{
    uint8_t pixels[3 * N] = {10, 20, 30, 61, 7, 7, 7, 7, 0, 255, 3, 4};

    (void)state;
    pada_tone_autocontrast(pixels, N);
    expect_levels(pixels, (const uint8_t[]){0, 50, 100, 255});
    expect_levels(pixels + N, (const uint8_t[]){7, 7, 7, 7});
    expect_levels(pixels + 2 * N, (const uint8_t[]){0, 255, 3, 4});
}

/* Darker pixels counted in steps; the pixels of the brightest level, which are not, make 255 of them. */
static void test_equalize(void **state)
{
    enum { MANY = 1021 };
    static uint8_t pixels[3 * MANY];

    (void)state;
    for (int i = 0; i < MANY - 1; i++)
        pixels[i] = (uint8_t)(i < 510 ? 3 : 9); /* two levels, and one pixel of a third */
    pixels[MANY - 1] = 200;
    for (int i = 0; i < MANY; i++) {
        pixels[MANY + i] = 55;                                 /* one level */
        pixels[2 * MANY + i] = (uint8_t)(i < 900 ? 254 : 255); /* 900 / 255 = 3 pixels a step */
    }
    pada_tone_equalize(pixels, MANY);
    assert_int_equal(pixels[0], 0);          /* 2 / 4 */
    assert_int_equal(pixels[600], 128);      /* (2 + 510) / 4 */
    assert_int_equal(pixels[MANY - 1], 255); /* (2 + 1020) / 4 */
    assert_int_equal(pixels[MANY], 55);
    assert_int_equal(pixels[2 * MANY], 0);         /* 1 / 3 */
    assert_int_equal(pixels[2 * MANY + 950], 255); /* (1 + 900) / 3, limited */
    uint8_t few[3 * N] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    pada_tone_equalize(few, N); /* fewer pixels than steps */
    assert_int_equal(few[3], 4);
}

static void test_blends(void **state)
{
    /* Greys of the pixels: 76, 150, 29, 255; their mean 127.5, so 128. */
    const uint8_t image[3 * N] = {255, 0, 0, 255, 0, 255, 0, 255, 0, 0, 255, 255};
    uint8_t pixels[3 * N];

    (void)state;
    assert_int_equal(pada_grey(image + 1, N), 150);
    assert_int_equal(pada_mean_grey(image, N), 128);
    memcpy(pixels, image, sizeof pixels);
    pada_blend_color(pixels, N, 0);
    for (int c = 0; c < 3; c++)
        expect_levels(pixels + c * N, (const uint8_t[]){76, 150, 29, 255});
    memcpy(pixels, image, sizeof pixels);
    pada_blend_color(pixels, N, 0.5);
    expect_levels(pixels, (const uint8_t[]){165, 75, 14, 255}); /* 165.5, 75, 14.5: cut off */
    memcpy(pixels, image, sizeof pixels);
    pada_blend_contrast(pixels, N, 0.5);
    expect_levels(pixels, (const uint8_t[]){191, 64, 64, 191});
    memcpy(pixels, image, sizeof pixels);
    pada_blend_contrast(pixels, N, 1.9); /* beyond: limited */
    expect_levels(pixels, (const uint8_t[]){255, 0, 0, 255});
}

/* The middle of 3 x 3 pixels is 5 of 13 parts; the others stay. */
static void test_sharpness(void **state)
{
    uint8_t pixels[27] = {0}, spare[9];

    (void)state;
    pixels[4] = 130;
    pixels[9] = 26;
    pada_blend_sharpness(pixels, 3, 3, 0, spare);
    assert_int_equal(pixels[4], 50);
    assert_int_equal(pixels[9], 26);
    assert_int_equal(pixels[13], 2);
    assert_int_equal(pixels[22], 0);
    pada_blend_sharpness(pixels, 3, 3, 1.5, spare); /* 19 + 1.5 * 31 */
    assert_int_equal(pixels[4], 65);
}

/* ---- moving ---- */

#define SIDE 6

static void fill_image(uint8_t *image)
{
    for (int i = 0; i < 3 * SIDE * SIDE; i++)
        image[i] = (uint8_t)(i * 37 % 251);
}

/* By whole pixels: a copy, and the fill colour where there was nothing. */
static void test_moves(void **state)
{
    const uint8_t fill[3] = {1, 2, 3};
    uint8_t image[3 * SIDE * SIDE], found[3 * SIDE * SIDE];

    (void)state;
    fill_image(image);
    for (int filter = PADA_BILINEAR; filter <= PADA_BICUBIC; filter++)
        for (int dy = -SIDE; dy <= SIDE; dy++) {
            const pada_affine map = {.xx = 1, .yy = 1, .y0 = dy};
            pada_image_warp(&map, (pada_filter)filter, fill, image, SIDE, SIDE, found);
            for (int i = 0; i < 3 * SIDE * SIDE; i++) {
                const int y = i / SIDE % SIDE + dy;
                const bool inside = y >= 0 && y < SIDE;
                assert_int_equal(found[i], inside ? image[i + dy * SIDE] : fill[i / SIDE / SIDE]);
            }
        }
}

/* By a quarter turn, counterclockwise: what was on the right is on top. */
static void test_rotation(void **state)
{
    const pada_affine map = pada_affine_rotation(90, SIDE, SIDE);
    uint8_t image[3 * SIDE * SIDE], found[3 * SIDE * SIDE];

    (void)state;
    fill_image(image);
    pada_image_warp(&map, PADA_BILINEAR, (const uint8_t[3]){0}, image, SIDE, SIDE, found);
    for (int i = 0; i < 3 * SIDE * SIDE; i++) {
        const int c = i / SIDE / SIDE, y = i / SIDE % SIDE, x = i % SIDE;
        assert_int_equal(found[i], image[(c * SIDE + x) * SIDE + SIDE - 1 - y]);
    }
}

/* Half a pixel: means of two, or (-1 5 5 -1) / 8 of four; the outermost pixels go on. */
static void test_filters(void **state)
{
    const pada_affine map = {.xx = 1, .x0 = 0.5, .yy = 1};
    const uint8_t image[12] = {0, 100, 40, 240, 8, 8, 8, 8, 255, 255, 0, 0};
    uint8_t found[12];

    (void)state;
    pada_image_warp(&map, PADA_BILINEAR, (const uint8_t[3]){9, 9, 9}, image, 1, 4, found);
    assert_memory_equal(found, ((const uint8_t[]){50, 70, 140, 9, 8, 8, 8, 9, 255, 127, 0, 9}), 12);
    pada_image_warp(&map, PADA_BICUBIC, (const uint8_t[3]){9, 9, 9}, image, 1, 4, found);
    /* (-0 + 0 + 500 - 40) / 8 = 57.5, (500 + 200 - 240) / 8 = 57.5, (-100 + 200 + 1200 - 240) / 8 = 132.5 */
    assert_memory_equal(found, ((const uint8_t[]){57, 57, 132, 9, 8, 8, 8, 9, 255, 127, 0, 9}), 12);
}

/* ---- policies ---- */

/* Every pair, drawn as auto_augment.h says: the same numbers give the same changes. */
static void test_draws(void **state)
{
    enum { MANY = 3000 };
    uint8_t image[3 * SIDE * SIDE], found[sizeof image], expected[sizeof image],
        spare[sizeof image];
    pada_canvas a = {
        .pixels = found, .spare = spare, .h = SIDE, .w = SIDE, .fill = {124, 116, 104}};
    pada_canvas b = a;
    int pairs[PADA_POLICY_PAIRS] = {0}, n_changed = 0;
    pada_rng rng;

    (void)state;
    b.pixels = expected;
    fill_image(image);
    for (int i = 0; i < MANY; i++) {
        const pada_policy policy = i % 2 ? PADA_POLICY_V0 : PADA_POLICY_ORIGINAL;
        memcpy(found, image, sizeof image);
        memcpy(expected, image, sizeof image);
        pada_rng_init(&rng, 1, "test", (uint64_t)i);
        const int number = (int)pada_rng_below(&rng, PADA_POLICY_PAIRS);
        for (int k = 0; k < 2; k++) {
            const pada_policy_step *step = &pada_policy_pair(policy, number)[k];
            if ((int)pada_rng_below(&rng, 10) >= step->chance) continue;
            const bool moves = step->op <= PADA_IMAGE_ROTATE;
            const bool negative = moves && pada_rng_u32(&rng) >= 0x80000000u;
            const bool cubic = moves && pada_rng_u32(&rng) >= 0x80000000u;
            pada_canvas_change(&b, step, negative, cubic ? PADA_BICUBIC : PADA_BILINEAR);
        }
        pada_rng_init(&rng, 1, "test", (uint64_t)i);
        pada_auto_augment(policy, &rng, &a);
        assert_memory_equal(found, expected, sizeof found);
        pairs[number]++;
        n_changed += memcmp(found, image, sizeof image) != 0;
    }
    for (int k = 0; k < PADA_POLICY_PAIRS; k++) /* 120 each; its deviation is 11 */
        assert_in_range(pairs[k], 60, 180);
    assert_in_range(n_changed, MANY / 2, MANY);
}

/* What there is of each policy; compare_pillow.py has the table itself. */
static void test_policies(void **state)
{
    int sums[2][3] = {{0}};

    (void)state;
    for (int p = 0; p < 2; p++)
        for (int i = 0; i < 2 * PADA_POLICY_PAIRS; i++) {
            const pada_policy_step *step =
                &pada_policy_pair(p ? PADA_POLICY_V0 : PADA_POLICY_ORIGINAL, i / 2)[i % 2];
            assert_in_range(step->chance, 0, 10);
            assert_in_range(step->level, 0, PADA_MAX_LEVEL);
            sums[p][0] += step->chance;
            sums[p][1] += step->level;
            sums[p][2] += step->op == PADA_IMAGE_EQUALIZE;
        }
    /* Sums of the columns of the published table. */
    assert_memory_equal(sums, ((const int[2][3]){{310, 287, 17}, {298, 240, 12}}), sizeof sums);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables),    cmocka_unit_test(test_autocontrast),
        cmocka_unit_test(test_equalize),  cmocka_unit_test(test_blends),
        cmocka_unit_test(test_sharpness), cmocka_unit_test(test_moves),
        cmocka_unit_test(test_rotation),  cmocka_unit_test(test_filters),
        cmocka_unit_test(test_draws),     cmocka_unit_test(test_policies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
