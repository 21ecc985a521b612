/* test_resized_crop.c - which part of a photograph an image shows, and what becomes of its colours. */
#include "base/scratch.h"

#include <math.h>

#include "check.h"
#include "data/color_jitter.h"
#include "data/resized_crop.h"

static void assert_cut(pada_cut cut, double x, double y, double width, double height)
{
    assert_true(cut.x == x && cut.y == y && cut.width == width && cut.height == height);
}

/* Streams (5, "augment", 2 << 32 | k). The numbers are those of Python's math and round on the 32-bit
 * draws of these streams, by the definition of RandomResizedCrop. 1x9 and 300x2 find no part in ten
 * tries. */
static void test_drawn(void **state)
{
    static const struct {
        int width, height, cut[4];
        uint32_t flip; /* the draw that follows */
    } golden[] = {
        {500, 375, {231, 67, 161, 185}, 1},
        {375, 500, {2, 168, 363, 331}, 0},
        {224, 224, {8, 7, 184, 171}, 1},
        {1, 1, {0, 0, 1, 1}, 1},
        {1, 9, {0, 4, 1, 1}, 1},
        {300, 2, {148, 0, 3, 2}, 1},
        {4000, 3000, {613, 524, 2690, 2203}, 1},
        {640, 90, {36, 6, 75, 84}, 1},
    };

    (void)state;
    for (size_t k = 0; k < sizeof golden / sizeof *golden; k++) {
        const int *cut = golden[k].cut;
        pada_rng rng;
        pada_rng_init(&rng, 5, "augment", (uint64_t)2 << 32 | k);
        assert_cut(pada_resized_crop_draw(&rng, golden[k].width, golden[k].height), cut[0], cut[1],
                   cut[2], cut[3]);
        assert_int_equal(pada_rng_u32(&rng) >> 31, golden[k].flip);
    }
}

/* Inside of the picture always; and areas are spread as they should. */
static void test_range(void **state)
{
    enum { N = 4000 };
    double area = 0;

    (void)state;
    for (int k = 0; k < N; k++) {
        const int width = 1 + k * 7 % 90, height = 1 + k * 13 % 70;
        pada_rng rng;
        pada_rng_init(&rng, 1, "augment", (uint64_t)k);
        const pada_cut any = pada_resized_crop_draw(&rng, width, height);
        assert_true(any.x >= 0 && any.width >= 1 && any.x + any.width <= width);
        assert_true(any.y >= 0 && any.height >= 1 && any.y + any.height <= height);
        const pada_cut square = pada_resized_crop_draw(&rng, 1000, 1000);
        assert_true(square.width / square.height > 0.74 && square.width / square.height < 1.35);
        area += square.width * square.height / 1e6 / N;
    }
    assert_true(area > 0.47 && area < 0.54); /* 0.54 less the large ones that do not fit */
}

/* floor(224 / 0.875) = 256: of 500x375 the middle 328.125 pixels. */
static void test_middle(void **state)
{
    (void)state;
    assert_cut(pada_centre_crop(500, 375, 224, 256), 85.9375, 23.4375, 328.125, 328.125);
    assert_cut(pada_centre_crop(100, 200, 224, 224), 0, 50, 100, 100);
    assert_cut(pada_centre_crop(1, 1, 224, 256), 0.0625, 0.0625, 0.875, 0.875);
}

/* ---- colours ---- */

enum { PIXELS = 50 };

static void paint(uint8_t *pixels)
{
    for (int i = 0; i < 3 * PIXELS; i++)
        pixels[i] = (uint8_t)(i * 37 + i / 7);
}

static double grey(const uint8_t *pixels, int i)
{
    return rint(0.299 * pixels[i] + 0.587 * pixels[PIXELS + i] + 0.114 * pixels[2 * PIXELS + i]);
}

static double limited(double x)
{
    return x < 0 ? 0 : x > 255 ? 255 : x;
}

/* One of the three by its formula, from the draws as they are documented. */
static void check_one(int which, double x, uint64_t index)
{
    const pada_jitter jitter = {which == 0 ? x : 0, which == 1 ? x : 0, which == 2 ? x : 0};
    uint8_t before[3 * PIXELS], after[3 * PIXELS];
    double factors[3], mean = 0;
    pada_rng rng;

    pada_rng_init(&rng, 9, "augment", index);
    (void)pada_rng_below(&rng, 6);
    for (int k = 0; k < 3; k++)
        factors[k] = pada_rng_uniform(&rng);
    const double low = x > 1 ? 0 : 1 - x, factor = low + (1 + x - low) * factors[which];
    paint(before);
    paint(after);
    pada_rng_init(&rng, 9, "augment", index);
    pada_jitter_apply(&jitter, &rng, after, PIXELS);
    for (int i = 0; i < PIXELS; i++)
        mean += grey(before, i) / PIXELS;
    for (int i = 0; i < 3 * PIXELS; i++) {
        const double from = which == 0 ? 0 : which == 1 ? rint(mean) : grey(before, i % PIXELS);
        assert_true(fabs(after[i] - limited(from + factor * (before[i] - from))) < 0.502);
    }
}

static void test_colours(void **state)
{
    (void)state;
    for (uint64_t k = 0; k < 30; k++)
        check_one((int)(k % 3), k % 2 ? 0.4 : 1.7, k);
}

/* Each of the six orders is what its name says: others give other pixels. */
static void test_order(void **state)
{
    static const char *const orders[] = {"bcs", "bsc", "cbs", "csb", "sbc", "scb"};
    bool seen[6] = {0};

    (void)state;
    for (uint64_t k = 0; k < 40; k++) {
        uint8_t once[3 * PIXELS], steps[3 * PIXELS];
        pada_rng rng;
        pada_rng_init(&rng, 9, "augment", k);
        const uint32_t order = pada_rng_below(&rng, 6);
        seen[order] = true;
        paint(once);
        paint(steps);
        pada_rng_init(&rng, 9, "augment", k);
        pada_jitter_apply(&(pada_jitter){0.8, 0.7, 0.9}, &rng, once, PIXELS);
        for (const char *p = orders[order]; *p; p++) { /* the same factors, one at a time */
            pada_rng_init(&rng, 9, "augment", k);
            pada_jitter_apply(
                &(pada_jitter){*p == 'b' ? 0.8 : 0, *p == 'c' ? 0.7 : 0, *p == 's' ? 0.9 : 0}, &rng,
                steps, PIXELS);
        }
        assert_memory_equal(once, steps, sizeof once);
    }
    for (int i = 0; i < 6; i++)
        assert_true(seen[i]);
}

static void test_parse(void **state)
{
    static const char *const wrong[] = {"", "0.1,0.2", "1,2,3,4", "-1", "x", "0.1,,0.2", "11"};
    pada_jitter jitter;

    (void)state;
    assert_ok(pada_jitter_parse(&jitter, "0.4", "--color-jitter"));
    assert_true(jitter.brightness == 0.4 && jitter.contrast == 0.4 && jitter.saturation == 0.4);
    assert_ok(pada_jitter_parse(&jitter, "0.125,0,0.5", "--color-jitter"));
    assert_true(jitter.brightness == 0.125 && jitter.contrast == 0 && jitter.saturation == 0.5);
    assert_false(pada_jitter_is_none(&jitter));
    assert_ok(pada_jitter_parse(&jitter, "0", "--color-jitter"));
    assert_true(pada_jitter_is_none(&jitter));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(pada_jitter_parse(&jitter, wrong[i], "--color-jitter"), PADA_EINVAL);
        assert_non_null(strstr(pada_message(), "--color-jitter"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_drawn),   cmocka_unit_test(test_range), cmocka_unit_test(test_middle),
        cmocka_unit_test(test_colours), cmocka_unit_test(test_order), cmocka_unit_test(test_parse),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
