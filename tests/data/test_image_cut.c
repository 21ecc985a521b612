/* test_image_cut.c - parts of pictures: what is cut out, and that decoding less changes nothing. */
#include "base/scratch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "check.h"
#include "data/image_cut.h"
#include "make_images.h"

#define MAX_SIZE 64

static pada_cut wanted;
static int asked_width, asked_height;

static pada_cut choose_wanted(void *context, int width, int height)
{
    (void)context;
    asked_width = width;
    asked_height = height;
    return wanted;
}

static pada_cut choose_all(void *context, int width, int height)
{
    (void)context;
    return (pada_cut){0, 0, width, height};
}

static pada_status cut(const char *path, pada_cut_choice *choose, int size, bool all_of_it,
                       uint8_t *out)
{
    pada_file file;

    assert_ok(pada_file_open(&file, path));
    const pada_status st =
        pada_image_cut(&(pada_image_source){.path = path, .data = file.data, .bytes = file.bytes},
                       &(pada_cutter){.choose = choose, .size = size, .all_of_it = all_of_it}, out);
    pada_file_close(&file);
    return st;
}

/* Something with colours, slopes and, `edge` levels high, edges; the caller frees it. */
static uint8_t *paint(int width, int height, int channels, int edge)
{
    void *memory;

    assert_ok(pada_calloc(&memory, (size_t)(width * height), (size_t)channels));
    uint8_t *pixels = memory;
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            for (int c = 0; c < channels; c++)
                pixels[(y * width + x) * channels + c] =
                    (uint8_t)(128 + 60 * sin(0.11 * x + c) + 40 * cos(0.07 * y * (c + 1)) +
                              ((x / 9 + y / 7) % 2 ? edge : -edge));
    return pixels;
}

static double triangle(double distance)
{
    return fabs(distance) >= 1 ? 0 : 1 - fabs(distance);
}

/* One pixel of the result as the definition says, with all weights at once. */
static double expect_pixel(const uint8_t *pixels, int width, pada_cut c, int size, int x, int y,
                           int channel)
{
    const double by_x = c.width / size, by_y = c.height / size;
    const double wide_x = by_x > 1 ? by_x : 1, wide_y = by_y > 1 ? by_y : 1;
    double sum = 0, total = 0;

    for (int j = (int)floor(c.y); j < ceil(c.y + c.height); j++)
        for (int i = (int)floor(c.x); i < ceil(c.x + c.width); i++) {
            const double weight = triangle((i + 0.5 - c.x - (x + 0.5) * by_x) / wide_x) *
                                  triangle((j + 0.5 - c.y - (y + 0.5) * by_y) / wide_y);
            sum += weight * pixels[(j * width + i) * 3 + channel];
            total += weight;
        }
    return sum / total;
}

/* Smaller and larger, in whole pixels and between them; also of an interlaced picture. */
static void test_filter(void **state)
{
    static const pada_cut cuts[] = {
        {0, 0, 61, 47}, {10, 20, 9, 5}, {3, 1, 50, 40}, {60, 46, 1, 1}, {7.25, 3.5, 40.125, 37.75}};
    static const int sizes[] = {1, 5, 24, 64};
    uint8_t out[3 * MAX_SIZE * MAX_SIZE], *pixels = paint(61, 47, 3, 25);
    char path[2][600];

    (void)state;
    for (int k = 0; k < 2; k++) {
        snprintf(path[k], sizeof path[k], "%s", scratch_path(k ? "apart.png" : "rows.png"));
        write_png(path[k], 61, 47, (picture_format){.channels = 3, .interlaced = k}, pixels);
    }
    for (size_t k = 0; k < 2 * sizeof cuts / sizeof *cuts; k++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            const int size = sizes[s];
            wanted = cuts[k / 2];
            assert_ok(cut(path[k % 2], choose_wanted, size, false, out));
            for (int i = 0; i < 3 * size * size; i++) {
                const double e = expect_pixel(pixels, 61, wanted, size, i % size, i / size % size,
                                              i / size / size);
                assert_true(fabs(out[i] - e) < 0.6);
            }
        }
    pada_free(pixels);
}

/* Orientations 1 to 8: the upright picture is what is chosen in. */
static void test_orientation(void **state)
{
    enum { W = 40, H = 24, SIZE = 8 };
    uint8_t *pixels = paint(W, H, 3, 25), turned[W * H * 3], out[3 * SIZE * SIZE],
            upright[sizeof out];
    char path[600];

    (void)state;
    wanted = (pada_cut){4, 6, 16, 8};
    snprintf(path, sizeof path, "%s", scratch_path("turned.png"));
    write_png(path, W, H, (picture_format){.channels = 3}, pixels);
    assert_ok(cut(path, choose_wanted, SIZE, false, upright));
    for (int how = 1; how <= 8; how++) {
        const int w = how >= 5 ? H : W, h = how >= 5 ? W : H;
        for (int y = 0; y < H; y++)
            for (int x = 0; x < W; x++) { /* where Exif says that the upright pixel is stored */
                const int at[9][2] = {{0},
                                      {x, y},
                                      {W - 1 - x, y},
                                      {W - 1 - x, H - 1 - y},
                                      {x, H - 1 - y},
                                      {y, x},
                                      {y, W - 1 - x},
                                      {H - 1 - y, W - 1 - x},
                                      {H - 1 - y, x}};
                memcpy(turned + 3 * (at[how][1] * w + at[how][0]), pixels + 3 * (y * W + x), 3);
            }
        write_png(path, w, h, (picture_format){.channels = 3, .orientation = how}, turned);
        assert_ok(cut(path, choose_wanted, SIZE, false, out));
        assert_int_equal(asked_width, W);
        assert_int_equal(asked_height, H);
        assert_memory_equal(out, upright, sizeof out);
    }
    pada_free(pixels);
}

/* Where no smaller size is decoded, a part of a JPEG has the pixels of the whole. */
static void test_parts_of_jpeg(void **state)
{
    static const picture_format formats[] = {
        {.channels = 3}, {.channels = 3, .interlaced = 1}, {.channels = 1},
        {.channels = 4}, {.channels = 4, .inks = 1},       {.channels = 3, .orientation = 6}};
    enum { W = 150, H = 131, SIZE = 64 };
    uint8_t part[3 * SIZE * SIZE], whole[sizeof part];
    char path[600];

    (void)state;
    snprintf(path, sizeof path, "%s", scratch_path("part.jpg"));
    for (size_t k = 0; k < sizeof formats / sizeof *formats; k++) {
        uint8_t *pixels = paint(W, H, formats[k].channels, 25);
        write_jpeg(path, W, H, formats[k], pixels);
        pada_free(pixels);
        for (int i = 0; i < 60; i++) {
            const int w = 1 + i * 37 % 120, h = 1 + i * 53 % 120;
            wanted = (pada_cut){i * 29 % (131 - w > 0 ? 131 - w : 1),
                                i * 31 % (131 - h > 0 ? 131 - h : 1), w, h};
            assert_ok(cut(path, choose_wanted, SIZE, false, part));
            assert_ok(cut(path, choose_wanted, SIZE, true, whole));
            assert_memory_equal(part, whole, sizeof part);
        }
    }
}

/* A smaller size of a JPEG gives nearly the same, and the part is still where it was. */
static void test_smaller_jpeg(void **state)
{
    enum { W = 403, H = 305, SIZE = 16 };
    uint8_t *pixels = paint(W, H, 3, 0), less[3 * SIZE * SIZE], all[sizeof less];
    char path[600];

    (void)state;
    snprintf(path, sizeof path, "%s", scratch_path("large.jpg"));
    write_jpeg(path, W, H, (picture_format){.channels = 3}, pixels);
    for (int i = 0; i < 40; i++) {
        double difference = 0;
        const int w = 20 + i * 97 % 280, h = 20 + i * 61 % 280;
        wanted = (pada_cut){i * 29 % (W - w), i * 31 % (H - h), w, h};
        assert_ok(cut(path, choose_wanted, SIZE, false, less));
        assert_ok(cut(path, choose_wanted, SIZE, true, all));
        for (size_t k = 0; k < sizeof less; k++)
            difference += abs(less[k] - all[k]) / (double)sizeof less;
        assert_true(difference < 3); /* the filters differ; a pixel of the file is up to 7 levels */
    }
    pada_free(pixels);
}

static void test_tiny(void **state)
{
    static const int sides[][2] = {{1, 1}, {1, 9}, {9, 1}, {2, 300}};
    uint8_t out[3 * 7 * 7], pixels[900];
    char path[600];

    (void)state;
    memset(pixels, 200, sizeof pixels);
    for (size_t k = 0; k < 8; k++) {
        const int w = sides[k / 2][0], h = sides[k / 2][1];
        snprintf(path, sizeof path, "%s", scratch_path(k % 2 ? "tiny.jpg" : "tiny.png"));
        if (k % 2)
            write_jpeg(path, w, h, (picture_format){.channels = 1}, pixels);
        else
            write_png(path, w, h, (picture_format){.channels = 1}, pixels);
        assert_ok(cut(path, choose_all, 7, false, out));
        for (size_t i = 0; i < sizeof out; i++)
            assert_int_equal(out[i], 200);
    }
}

/* A pixel of the result stands for thousands: weights become small, never wrong. */
static void test_far_smaller(void **state)
{
    static const int widths[] = {3001, 9007, 20000};
    static uint8_t pixels[20000];
    uint8_t out[3];
    char path[600];

    (void)state;
    snprintf(path, sizeof path, "%s", scratch_path("wide.png"));
    for (size_t k = 0; k < sizeof widths / sizeof *widths; k++) {
        for (int x = 0; x < widths[k]; x++)
            pixels[x] = (uint8_t)(x < widths[k] / 2 ? 40 : 240);
        write_png(path, widths[k], 1, (picture_format){.channels = 1}, pixels);
        assert_ok(cut(path, choose_all, 1, false, out));
        assert_true(abs(out[0] - 140) <= 1);
    }
}

/* Damage is seen where it is needed, and only there. */
static void test_cut_short(void **state)
{
    uint8_t *pixels = paint(160, 160, 3, 25), out[3 * 16 * 16];
    char path[600];
    pada_file file;

    (void)state;
    snprintf(path, sizeof path, "%s", scratch_path("short.jpg"));
    write_jpeg(path, 160, 160, (picture_format){.channels = 3}, pixels);
    pada_free(pixels);
    assert_ok(pada_file_open(&file, path));
    void *half;
    assert_ok(pada_calloc(&half, 1, file.bytes / 2));
    memcpy(half, file.data, file.bytes / 2);
    scratch_write(path, half, file.bytes / 2);
    pada_free(half);
    pada_file_close(&file);
    wanted = (pada_cut){0, 0, 20, 20};
    assert_ok(cut(path, choose_wanted, 16, false, out));
    wanted = (pada_cut){0, 130, 20, 20};
    assert_int_equal(cut(path, choose_wanted, 16, false, out), PADA_EDATA);
    assert_non_null(strstr(pada_message(), "short.jpg: broken JPEG"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_filter),        cmocka_unit_test(test_orientation),
        cmocka_unit_test(test_parts_of_jpeg), cmocka_unit_test(test_smaller_jpeg),
        cmocka_unit_test(test_tiny),          cmocka_unit_test(test_cut_short),
        cmocka_unit_test(test_far_smaller),
    };

    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
