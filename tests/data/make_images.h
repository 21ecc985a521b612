/* make_images.h - for tests: writes PNG, JPEG and WebP files. */
#ifndef PADA_TESTS_DATA_MAKE_IMAGES_H
#define PADA_TESTS_DATA_MAKE_IMAGES_H

#include <stdint.h>
#include <stdio.h>

#include <jpeglib.h>
#include <png.h>
#include <webp/encode.h>

/* How pixels are stored: [height, width, channels]. */
typedef struct picture_format {
    int channels;    /* 1 grey, 2 grey and alpha, 3 RGB, 4 RGBA (PNG, WebP) or CMYK (JPEG) */
    int interlaced;  /* PNG: in seven passes; JPEG: progressive; WebP: lossless */
    int sixteen_bit; /* PNG: two bytes a channel, the high one first */
    int orientation; /* PNG, JPEG: of an Exif block; 0: without one */
    int inks; /* JPEG of four channels: 0 CMYK as Adobe has it, 1 the same as YCCK, 2 plain CMYK */
} picture_format;

/* Row y of the pixels; the libraries do not write to it. */
static inline uint8_t *picture_row(const uint8_t *pixels, size_t row_bytes, int y)
{
    return (uint8_t *)(uintptr_t)pixels + (size_t)y * row_bytes;
}

enum { EXIF_BYTES = 38 };

/* An Exif block with another entry and the orientation; even ones are big endian. */
static inline void make_exif(uint8_t exif[EXIF_BYTES], int orientation)
{
    static const uint8_t little[] = "II*\0\x08\0\0\0\2\0"
                                    "\x0f\1\2\0\1\0\0\0x\0\0\0"
                                    "\x12\1\3\0\1\0\0\0\0\0\0\0\0\0\0";
    static const uint8_t big[] = "MM\0*\0\0\0\x08\0\2"
                                 "\1\x0f\0\2\0\0\0\1x\0\0\0"
                                 "\1\x12\0\3\0\0\0\1\0\0\0\0\0\0\0";

    memcpy(exif, orientation % 2 ? little : big, EXIF_BYTES);
    exif[orientation % 2 ? 30 : 31] = (uint8_t)orientation;
}

static inline void write_png(const char *path, int width, int height, picture_format format,
                             const uint8_t *pixels)
{
    static const int types[] = {0, PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA,
                                PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_RGB_ALPHA};
    const size_t row_bytes = (size_t)(width * format.channels * (format.sixteen_bit ? 2 : 1));
    FILE *f = fopen(path, "wb");
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);

    assert_non_null(f);
    png_init_io(png, f);
    png_set_IHDR(png, info, (png_uint_32)width, (png_uint_32)height, format.sixteen_bit ? 16 : 8,
                 types[format.channels],
                 format.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    uint8_t exif[EXIF_BYTES];
    make_exif(exif, format.orientation);
    if (format.orientation) png_set_eXIf_1(png, info, sizeof exif, exif);
    png_write_info(png, info);
    for (int pass = png_set_interlace_handling(png); pass > 0; pass--)
        for (int y = 0; y < height; y++)
            png_write_row(png, picture_row(pixels, row_bytes, y));
    png_write_end(png, NULL);
    png_destroy_write_struct(&png, &info);
    assert_int_equal(fclose(f), 0);
}

static inline void write_jpeg(const char *path, int width, int height, picture_format format,
                              const uint8_t *pixels)
{
    struct jpeg_compress_struct jpeg;
    struct jpeg_error_mgr errors;
    FILE *f = fopen(path, "wb");

    assert_non_null(f);
    jpeg.err = jpeg_std_error(&errors);
    jpeg_create_compress(&jpeg);
    jpeg_stdio_dest(&jpeg, f);
    jpeg.image_width = (JDIMENSION)width;
    jpeg.image_height = (JDIMENSION)height;
    jpeg.input_components = format.channels;
    jpeg.in_color_space = format.channels == 1   ? JCS_GRAYSCALE
                          : format.channels == 3 ? JCS_RGB
                                                 : JCS_CMYK;
    jpeg_set_defaults(&jpeg);
    if (format.inks == 1) jpeg_set_colorspace(&jpeg, JCS_YCCK);
    if (format.inks == 2) jpeg.write_Adobe_marker = FALSE;
    jpeg_set_quality(&jpeg, 95, TRUE);
    if (format.interlaced) jpeg_simple_progression(&jpeg);
    jpeg_start_compress(&jpeg, TRUE);
    uint8_t app1[6 + EXIF_BYTES] = "Exif";
    make_exif(app1 + 6, format.orientation);
    if (format.orientation) jpeg_write_marker(&jpeg, JPEG_APP0 + 1, app1, sizeof app1);
    for (int y = 0; y < height; y++) {
        JSAMPROW row = picture_row(pixels, (size_t)(width * format.channels), y);
        jpeg_write_scanlines(&jpeg, &row, 1);
    }
    jpeg_finish_compress(&jpeg);
    jpeg_destroy_compress(&jpeg);
    assert_int_equal(fclose(f), 0);
}

static inline void write_webp(const char *path, int width, int height, picture_format format,
                              const uint8_t *pixels)
{
    const int stride = width * format.channels;
    uint8_t *bytes = NULL;
    size_t n;

    if (format.interlaced)
        n = format.channels == 3 ? WebPEncodeLosslessRGB(pixels, width, height, stride, &bytes)
                                 : WebPEncodeLosslessRGBA(pixels, width, height, stride, &bytes);
    else
        n = format.channels == 3 ? WebPEncodeRGB(pixels, width, height, stride, 100, &bytes)
                                 : WebPEncodeRGBA(pixels, width, height, stride, 100, &bytes);
    assert_true(n > 0);
    scratch_write(path, bytes, n);
    WebPFree(bytes);
}

#endif
