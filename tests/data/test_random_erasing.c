/* test_random_erasing.c - which rectangles become noise, and how often. */
#include "base/scratch.h"

#include "check.h"
#include "data/random_erasing.h"

#define H     40
#define W     32
#define COUNT (3 * H * W)

static const pada_shape shape = {3, H, W};

/* The rectangle of one image of zeros; returns its area, 0: nothing was erased. All channels have the same. */
static int erased(const float *image, int *height, int *width)
{
    int top = H, bottom = -1, left = W, right = -1, n = 0;

    for (int i = 0; i < COUNT; i++) {
        const int y = i / W % H, x = i % W;
        if (image[i] == 0) continue;
        n++;
        top = y < top ? y : top;
        bottom = y > bottom ? y : bottom;
        left = x < left ? x : left;
        right = x > right ? x : right;
    }
    *height = bottom - top + 1;
    *width = right - left + 1;
    if (n == 0) return 0;
    assert_int_equal(n, 3 * *height * *width);
    return *height * *width;
}

/* Areas, ratios and noise are those that are wanted, in the share of images that is wanted. */
static void test_rectangles(void **state)
{
    enum { MANY = 4000 };
    static float image[COUNT];
    double sum = 0, squares = 0, n = 0, areas = 0;
    int n_erased = 0, height, width, n_tall = 0;
    pada_rng rng;

    (void)state;
    for (int i = 0; i < MANY; i++) {
        memset(image, 0, sizeof image);
        pada_rng_init(&rng, 2, "test", (uint64_t)i);
        pada_random_erasing(0.25, &rng, image, shape);
        const int area = erased(image, &height, &width);
        if (area == 0) continue;
        n_erased++;
        areas += (double)area / (H * W);
        n_tall += height > width;
        /* Sides are rounded: half a pixel more or less. */
        assert_true((height + 0.5) * (width + 0.5) >= 0.02 * H * W);
        assert_true((height - 0.5) * (width - 0.5) <= H * W / 3.0);
        assert_true((height + 0.5) / (width - 0.5) >= 0.3 &&
                    (height - 0.5) / (width + 0.5) <= 1 / 0.3);
        for (int k = 0; k < COUNT; k++) {
            sum += image[k];
            squares += image[k] * image[k];
        }
        n += 3.0 * area;
    }
    assert_in_range(n_erased, 1000 - 150, 1000 + 150); /* its deviation is 27 */
    assert_in_range(n_tall, 400, 650);
    CHECK_CLOSE(areas / n_erased, (0.02 + 1.0 / 3) / 2, 0.02);
    CHECK_CLOSE(sum / n, 0, 0.01);
    CHECK_CLOSE(squares / n, 1, 0.01);
}

/* Always and never; the numbers of the stream are the noise, channel by channel. */
static void test_stream(void **state)
{
    static float image[COUNT], again[COUNT];
    int height, width;
    pada_rng rng;

    (void)state;
    pada_rng_init(&rng, 7, "test", 0);
    pada_random_erasing(0, &rng, image, shape);
    assert_int_equal(erased(image, &height, &width), 0);
    pada_rng_init(&rng, 7, "test", 0);
    pada_random_erasing(1, &rng, image, shape);
    assert_true(erased(image, &height, &width) > 0);
    pada_rng_init(&rng, 7, "test", 0);
    (void)pada_rng_uniform(&rng); /* chance, area, ratio, row, column */
    (void)pada_rng_uniform(&rng);
    (void)pada_rng_uniform(&rng);
    const int top = (int)pada_rng_below(&rng, (uint32_t)(H - height) + 1);
    const int left = (int)pada_rng_below(&rng, (uint32_t)(W - width) + 1);
    for (int c = 0; c < 3; c++)
        for (int y = top; y < top + height; y++)
            for (int x = left; x < left + width; x++)
                again[(c * H + y) * W + x] = (float)pada_rng_normal(&rng);
    assert_memory_equal(image, again, sizeof image);
}

/* An image of one pixel has no rectangle that is smaller. */
static void test_tiny(void **state)
{
    float pixel[3] = {1, 2, 3};
    pada_rng rng;

    (void)state;
    for (int i = 0; i < 50; i++) {
        pada_rng_init(&rng, 7, "test", (uint64_t)i);
        pada_random_erasing(1, &rng, pixel, (pada_shape){3, 1, 1});
    }
    assert_true(pixel[0] == 1 && pixel[1] == 2 && pixel[2] == 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rectangles),
        cmocka_unit_test(test_stream),
        cmocka_unit_test(test_tiny),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
