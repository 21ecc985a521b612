/* test_image_file.c - PNG and JPEG files: what is read, what is refused; scaling. */
#include "base/scratch.h"

#include "check.h"
#include "data/image_file.h"
#include "data/image_scale.h"
#include "data/make_images.h"

#define W 13
#define H 9

/* Pixels of any format: a smooth picture, so that JPEG keeps it. */
static uint8_t pixels[H * W * 4 * 2];

static void draw(int bytes_per_pixel)
{
    for (int i = 0; i < H * W; i++)
        for (int c = 0; c < bytes_per_pixel; c++)
            pixels[i * bytes_per_pixel + c] =
                (uint8_t)(20 + 40 * c + 9 * (i % W) + (c % 2 ? 5 : 2) * (i / W));
}

/* What a pixel should be decoded to. */
static int expected(picture_format format, int i, int c)
{
    const int step = format.sixteen_bit ? 2 : 1;
    const uint8_t *at = pixels + i * format.channels * step;

    if (format.channels <= 2) c = 0;
    const int alpha = format.channels % 2 == 0 ? at[(format.channels - 1) * step] : 255;
    return (at[c * step] * alpha + 127) / 255;
}

static void test_png(void **state)
{
    pada_image image;

    (void)state;
    for (int channels = 1; channels <= 4; channels++)
        for (int variant = 0; variant < 4; variant++) {
            const picture_format format = {channels, variant % 2, variant / 2};
            draw(channels * (1 + format.sixteen_bit));
            write_png(scratch_path("a.png"), W, H, format, pixels);
            assert_ok(pada_image_open(&image, scratch_path("a.png")));
            assert_int_equal(image.width, W);
            assert_int_equal(image.height, H);
            for (int i = 0; i < W * H; i++)
                for (int c = 0; c < 3; c++)
                    assert_int_equal(image.pixels[3 * i + c], expected(format, i, c));
            pada_image_close(&image);
        }
}

/* A palette of four colours in two bits, the last one transparent. */
static void test_png_palette(void **state)
{
    static const png_color colours[] = {{10, 20, 30}, {200, 100, 0}, {0, 255, 7}, {90, 90, 90}};
    static const png_byte alpha[] = {255, 255, 255, 0};
    static const uint8_t row[] = {0x1b}; /* 0 1 2 3 */
    static const uint8_t wanted[] = {10, 20, 30, 200, 100, 0, 0, 255, 7, 0, 0, 0};
    FILE *f = fopen(scratch_path("p.png"), "wb");
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    pada_image image;

    (void)state;
    png_init_io(png, f);
    png_set_IHDR(png, info, 4, 1, 2, PNG_COLOR_TYPE_PALETTE, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_set_PLTE(png, info, colours, 4);
    png_set_tRNS(png, info, alpha, 4, NULL);
    png_write_info(png, info);
    png_write_row(png, row);
    png_write_end(png, NULL);
    png_destroy_write_struct(&png, &info);
    fclose(f);
    assert_ok(pada_image_open(&image, scratch_path("p.png")));
    assert_int_equal(image.width * image.height, 4);
    assert_memory_equal(image.pixels, wanted, sizeof wanted);
    pada_image_close(&image);
}

static void test_jpeg(void **state)
{
    pada_image image;

    (void)state;
    for (int channels = 1; channels <= 3; channels += 2)
        for (int progressive = 0; progressive < 2; progressive++) {
            const picture_format format = {.channels = channels, .interlaced = progressive};
            draw(channels);
            write_jpeg(scratch_path("a.jpg"), W, H, format, pixels);
            assert_ok(pada_image_open(&image, scratch_path("a.jpg")));
            assert_int_equal(image.width, W);
            assert_int_equal(image.height, H);
            for (int i = 0; i < W * H; i++)
                for (int c = 0; c < 3; c++)
                    CHECK_CLOSE(image.pixels[3 * i + c], expected(format, i, c), 12);
            pada_image_close(&image);
        }
}

/* Fails, with a message of this file that begins so. */
static void assert_refused(const char *name, pada_status status, const char *message)
{
    const int64_t live = pada_mem_live();
    pada_image image;
    char full[2048];

    assert_int_equal(pada_image_open(&image, scratch_path(name)), status);
    assert_null(image.pixels);
    snprintf(full, sizeof full, "%s: %s", scratch_path(name), message);
    if (strncmp(pada_message(), full, strlen(full)) != 0) fail_msg("%s", pada_message());
    assert_int_equal(pada_mem_live(), live);
}

static void test_refused(void **state)
{
    (void)state;
    assert_refused("none.png", PADA_ENOENT, "No such file or directory");
    scratch_write(scratch_path("empty.png"), "", 0);
    assert_refused("empty.png", PADA_EDATA, "neither a PNG nor a JPEG image");
    scratch_write(scratch_path("text.jpg"), "hello", 5);
    assert_refused("text.jpg", PADA_EDATA, "neither a PNG nor a JPEG image");
    draw(4);
    write_jpeg(scratch_path("cmyk.jpg"), W, H, (picture_format){.channels = 4}, pixels);
    assert_refused("cmyk.jpg", PADA_EDATA, "a CMYK JPEG; convert it to RGB");
    assert_ok(pada_make_dirs(scratch_path("folder.png")));
    assert_refused("folder.png", PADA_ENOENT, "not a regular file");
}

/* Only the header says so: nothing of that size is allocated or written. */
static void test_too_large(void **state)
{
    uint8_t *wide = calloc(20001, 3);
    uint8_t png_header[] =
        "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x4e\x20\0\0\x4e\x20\x8\2\0\0\0\0\0\0\0";

    (void)state;
    assert_non_null(wide);
    write_png(scratch_path("wide.png"), 20001, 1, (picture_format){.channels = 3}, wide);
    assert_refused("wide.png", PADA_EDATA,
                   "20001 x 1 pixels; sides may be 1 to 20000, at most 100000000 in all");
    write_jpeg(scratch_path("wide.jpg"), 20001, 1, (picture_format){.channels = 3}, wide);
    assert_refused("wide.jpg", PADA_EDATA, "20001 x 1 pixels; ");
    write_png(scratch_path("fine.png"), 20000, 1, (picture_format){.channels = 3}, wide);
    pada_image image;
    assert_ok(pada_image_open(&image, scratch_path("fine.png")));
    pada_image_close(&image);
    free(wide);

    /* 20000 x 20000 pixels; the checksum of the header, by bits. */
    uint32_t crc = ~0u;
    for (int i = 12; i < 29; i++) {
        crc ^= png_header[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    for (int i = 0; i < 4; i++)
        png_header[29 + i] = (uint8_t)(~crc >> (24 - 8 * i));
    /* A chunk of image data follows, as a reader wants to see one. */
    static const uint8_t data[] = "\0\0\0\0IDAT\x35\xaf\x06\x1e";
    FILE *f = fopen(scratch_path("bomb.png"), "wb");
    fwrite(png_header, 1, 33, f);
    fwrite(data, 1, sizeof data - 1, f);
    fclose(f);
    assert_refused("bomb.png", PADA_EDATA, "20000 x 20000 pixels; ");
}

/* Every prefix of a file is refused, and no mutation crashes. */
static void test_broken(void **state)
{
    static const char *const names[] = {"a.png", "i.png", "a.jpg", "p.jpg"};
    static uint8_t bytes[8192];

    (void)state;
    draw(3);
    write_png(scratch_path("a.png"), W, H, (picture_format){3, 0, 0}, pixels);
    write_png(scratch_path("i.png"), W, H, (picture_format){3, 1, 0}, pixels);
    write_jpeg(scratch_path("a.jpg"), W, H, (picture_format){3, 0, 0}, pixels);
    write_jpeg(scratch_path("p.jpg"), W, H, (picture_format){3, 1, 0}, pixels);
    for (size_t k = 0; k < 4; k++) {
        const int64_t live = pada_mem_live();
        const bool png = k < 2;
        pada_file file;
        pada_image image;
        assert_ok(pada_file_open(&file, scratch_path(names[k])));
        const size_t n = file.bytes;
        assert_true(n < sizeof bytes);
        memcpy(bytes, file.data, n);
        pada_file_close(&file);
        /* The last two bytes of a JPEG only say that it ends. */
        for (size_t cut = 0; cut < n - 2; cut++) {
            scratch_write(scratch_path("cut"), bytes, cut);
            assert_refused("cut", PADA_EDATA,
                           cut < (png ? 8 : 3) ? "neither "
                           : png               ? "broken PNG: "
                                               : "broken JPEG: ");
        }
        for (size_t at = 0; at < n; at++) {
            bytes[at] ^= (uint8_t)(1 + at % 255);
            scratch_write(scratch_path("changed"), bytes, n);
            if (pada_image_open(&image, scratch_path("changed")) == PADA_OK)
                pada_image_close(&image);
            bytes[at] ^= (uint8_t)(1 + at % 255);
        }
        assert_int_equal(pada_mem_live(), live);
    }
}

/* ---- scaling ---- */

/* The definition with many points in each pixel instead of areas. */
static double mean_by_points(const pada_image *image, int size, int c, int y, int x)
{
    const int from = image->width < image->height ? image->width : image->height;
    const int left = (image->width - from) / 2, top = (image->height - from) / 2;
    double sum = 0;

    /* from points a side: they fall evenly over the pixels of the image. */
    for (int j = 0; j < from; j++)
        for (int i = 0; i < from; i++) {
            const int row = (int)(((int64_t)y * from + j) / size) + top;
            const int column = (int)(((int64_t)x * from + i) / size) + left;
            sum += image->pixels[3 * (row * image->width + column) + c];
        }
    return sum / from / from;
}

static void test_scale(void **state)
{
    static const int sizes[][3] = {{13, 9, 4}, {9, 13, 4}, {40, 30, 8},  {8, 8, 8},
                                   {5, 7, 16}, {1, 1, 3},  {33, 64, 32}, {100, 1, 2}};
    static uint8_t source[100 * 64 * 3], out[3 * 32 * 32];
    pada_rng rng;

    (void)state;
    pada_rng_init(&rng, 1, "scale", 0);
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        const pada_image image = {sizes[k][0], sizes[k][1], source};
        const int size = sizes[k][2];
        for (int i = 0; i < image.width * image.height * 3; i++)
            source[i] = (uint8_t)pada_rng_u32(&rng);
        pada_image_scale(&image, size, out);
        for (int c = 0; c < 3; c++)
            for (int y = 0; y < size; y++)
                for (int x = 0; x < size; x++)
                    CHECK_CLOSE(out[(c * size + y) * size + x],
                                mean_by_points(&image, size, c, y, x), 0.5000001);
    }
}

static void test_names(void **state)
{
    (void)state;
    assert_true(pada_image_has_name("a.png"));
    assert_true(pada_image_has_name("a.b.JPG"));
    assert_true(pada_image_has_name("x.Jpeg"));
    assert_false(pada_image_has_name(".png"));
    assert_false(pada_image_has_name("png"));
    assert_false(pada_image_has_name("a.gif"));
    assert_false(pada_image_has_name("a.png.txt"));
    assert_false(pada_image_has_name(""));
}

static void test_oom(void **state)
{
    pada_image image;

    (void)state;
    draw(4);
    write_png(scratch_path("a.png"), W, H, (picture_format){.channels = 4}, pixels);
    assert_survives_oom(pada_image_open(&image, scratch_path("a.png")), pada_image_close(&image));
    draw(3);
    write_jpeg(scratch_path("a.jpg"), W, H, (picture_format){.channels = 3}, pixels);
    assert_survives_oom(pada_image_open(&image, scratch_path("a.jpg")), pada_image_close(&image));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_png, scratch_clear),
        cmocka_unit_test_setup(test_png_palette, scratch_clear),
        cmocka_unit_test_setup(test_jpeg, scratch_clear),
        cmocka_unit_test_setup(test_refused, scratch_clear),
        cmocka_unit_test_setup(test_too_large, scratch_clear),
        cmocka_unit_test_setup(test_broken, scratch_clear),
        cmocka_unit_test(test_scale),
        cmocka_unit_test(test_names),
        cmocka_unit_test_setup(test_oom, scratch_clear),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
