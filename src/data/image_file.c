/* image_file.c - decodes PNG and JPEG files with libpng and libjpeg.
 *
 * Both libraries report errors by calling back and expect not to be returned to, so each decoder is
 * one struct that outlives a longjmp: no local variable is needed afterwards. Both read from
 * memory. Warnings about the data itself are errors here; others are not heard. */
#include "data/image_file.h"

#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <jerror.h>
#include <jpeglib.h>
#include <png.h>

#include "base/file.h"
#include "base/mem.h"

#define MESSAGE_BYTES 200

bool pada_image_has_name(const char *name)
{
    static const char *const endings[] = {".png", ".jpg", ".jpeg"};
    const size_t n = strlen(name);

    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        const size_t n_ending = strlen(endings[i]);
        if (n > n_ending && strcasecmp(name + n - n_ending, endings[i]) == 0) return true;
    }
    return false;
}

static pada_status check_size(const char *path, uint32_t width, uint32_t height)
{
    if (width < 1 || height < 1 || width > PADA_IMAGE_MAX_SIDE || height > PADA_IMAGE_MAX_SIDE ||
        (uint64_t)width * height > PADA_IMAGE_MAX_PIXELS)
        return PADA_FAIL(PADA_EDATA,
                         "%s: %lu x %lu pixels; sides may be 1 to %d, at most %d in all", path,
                         (unsigned long)width, (unsigned long)height, PADA_IMAGE_MAX_SIDE,
                         PADA_IMAGE_MAX_PIXELS);
    return PADA_OK;
}

/* `channels` bytes for every pixel. */
static pada_status allocate(pada_image *image, uint32_t width, uint32_t height, int channels)
{
    void *memory;

    PADA_TRY(pada_calloc(&memory, (size_t)width * height, (size_t)channels));
    *image = (pada_image){(int)width, (int)height, memory};
    return PADA_OK;
}

/* ---- PNG ---- */

typedef struct png_decoder {
    const char *path;
    pada_file file;
    size_t at; /* the next byte of the file */
    pada_image *image;
    png_structp png;
    png_infop info;
    png_bytep *rows; /* [height], owned */
    int channels;
    pada_status status;
    char message[MESSAGE_BYTES];
} png_decoder;

static void on_png_error(png_structp png, png_const_charp message)
{
    png_decoder *d = png_get_error_ptr(png);

    snprintf(d->message, sizeof d->message, "%s", message);
    png_longjmp(png, 1);
}

static void on_png_warning(png_structp png, png_const_charp message)
{
    (void)png;
    (void)message;
}

static void read_png_bytes(png_structp png, png_bytep to, size_t n)
{
    png_decoder *d = png_get_io_ptr(png);

    if (n > d->file.bytes - d->at) png_error(png, "the file is cut short");
    memcpy(to, d->file.data + d->at, n);
    d->at += n;
}

/* Rows of 3 or 4 bytes a pixel. Interlaced images need them all at once. */
static pada_status make_rows(png_decoder *d)
{
    const uint32_t width = png_get_image_width(d->png, d->info);
    const uint32_t height = png_get_image_height(d->png, d->info);
    void *memory;

    d->channels = png_get_channels(d->png, d->info);
    PADA_ASSERT(d->channels == 3 || d->channels == 4);
    PADA_TRY(allocate(d->image, width, height, d->channels));
    PADA_TRY(pada_calloc(&memory, height, sizeof *d->rows));
    d->rows = memory;
    for (uint32_t y = 0; y < height; y++)
        d->rows[y] = d->image->pixels + (size_t)y * width * (size_t)d->channels;
    return PADA_OK;
}

/* Lays the pixels over black, in place, and drops the fourth byte. */
static void drop_alpha(pada_image *image)
{
    const size_t n = (size_t)image->width * (size_t)image->height;

    for (size_t i = 0; i < n; i++)
        for (size_t c = 0; c < 3; c++) {
            const int alpha = image->pixels[4 * i + 3];
            image->pixels[3 * i + c] = (uint8_t)((image->pixels[4 * i + c] * alpha + 127) / 255);
        }
}

/* Everything that may end in on_png_error, which comes back to the setjmp. */
static void run_png(png_decoder *d)
{
    if (setjmp(png_jmpbuf(d->png)) != 0) {
        d->status = PADA_FAIL(PADA_EDATA, "%s: broken PNG: %s", d->path, d->message);
        return;
    }
    png_set_read_fn(d->png, d, read_png_bytes);
    png_read_info(d->png, d->info);
    d->status = check_size(d->path, png_get_image_width(d->png, d->info),
                           png_get_image_height(d->png, d->info));
    if (d->status != PADA_OK) return;
    png_set_expand(d->png); /* palettes, 1 to 4 bits, transparent colours */
    png_set_strip_16(d->png);
    png_set_gray_to_rgb(d->png);
    png_set_interlace_handling(d->png);
    png_read_update_info(d->png, d->info);
    if ((d->status = make_rows(d)) != PADA_OK) return;
    png_read_image(d->png, d->rows);
    png_read_end(d->png, NULL);
}

static pada_status decode_png(png_decoder *d)
{
    d->png = png_create_read_struct(PNG_LIBPNG_VER_STRING, d, on_png_error, on_png_warning);
    if (d->png) d->info = png_create_info_struct(d->png);
    if (d->info)
        run_png(d);
    else
        d->status = PADA_FAIL(PADA_ENOMEM, "out of memory (PNG)");
    png_destroy_read_struct(&d->png, &d->info, NULL);
    pada_free(d->rows);
    if (d->status == PADA_OK && d->channels == 4) drop_alpha(d->image);
    return d->status;
}

/* ---- JPEG ---- */

typedef struct jpeg_decoder {
    struct jpeg_error_mgr errors; /* first, so that the library's pointer to it is one to this */
    const char *path;
    pada_file file;
    pada_image *image;
    struct jpeg_decompress_struct jpeg;
    jmp_buf jump;
    pada_status status;
    char message[JMSG_LENGTH_MAX];
} jpeg_decoder;

static void on_jpeg_error(j_common_ptr jpeg)
{
    jpeg_decoder *d = (jpeg_decoder *)jpeg->err;

    jpeg->err->format_message(jpeg, d->message);
    longjmp(d->jump, 1);
}

/* Level -1 is a warning about the data: the library would go on with grey pixels. */
static void on_jpeg_message(j_common_ptr jpeg, int level)
{
    static const int harmless[] = {JWRN_EXTRANEOUS_DATA, JWRN_ADOBE_XFORM, JWRN_JFIF_MAJOR,
                                   JWRN_TOO_MUCH_DATA};

    if (level >= 0) return;
    for (size_t i = 0; i < sizeof harmless / sizeof harmless[0]; i++)
        if (jpeg->err->msg_code == harmless[i]) return;
    on_jpeg_error(jpeg);
}

/* Everything that may end in on_jpeg_error, which comes back to the setjmp. */
static void run_jpeg(jpeg_decoder *d)
{
    struct jpeg_decompress_struct *jpeg = &d->jpeg;

    if (setjmp(d->jump) != 0) {
        d->status = PADA_FAIL(PADA_EDATA, "%s: broken JPEG: %s", d->path, d->message);
        return;
    }
    jpeg_create_decompress(jpeg);
    jpeg_mem_src(jpeg, d->file.data, (unsigned long)d->file.bytes);
    jpeg_read_header(jpeg, TRUE);
    if (jpeg->jpeg_color_space == JCS_CMYK || jpeg->jpeg_color_space == JCS_YCCK) {
        d->status = PADA_FAIL(PADA_EDATA, "%s: a CMYK JPEG; convert it to RGB", d->path);
        return;
    }
    d->status = check_size(d->path, jpeg->image_width, jpeg->image_height);
    if (d->status == PADA_OK)
        d->status = allocate(d->image, jpeg->image_width, jpeg->image_height, 3);
    if (d->status != PADA_OK) return;
    jpeg->out_color_space = JCS_RGB;
    jpeg_start_decompress(jpeg);
    while (jpeg->output_scanline < jpeg->output_height) {
        JSAMPROW row = d->image->pixels + (size_t)jpeg->output_scanline * jpeg->image_width * 3;
        jpeg_read_scanlines(jpeg, &row, 1);
    }
    jpeg_finish_decompress(jpeg);
}

static pada_status decode_jpeg(jpeg_decoder *d)
{
    d->jpeg.err = jpeg_std_error(&d->errors);
    d->errors.error_exit = on_jpeg_error;
    d->errors.emit_message = on_jpeg_message;
    run_jpeg(d);
    jpeg_destroy_decompress(&d->jpeg); /* also one that was not created */
    return d->status;
}

/* ---- both ---- */

static bool begins_with(const pada_file *file, const char *bytes, size_t n)
{
    return file->bytes >= n && memcmp(file->data, bytes, n) == 0;
}

pada_status pada_image_open(pada_image *image, const char *path)
{
    pada_file file;
    pada_status st;

    *image = (pada_image){0};
    PADA_TRY(pada_file_open(&file, path));
    if (begins_with(&file, "\x89PNG\r\n\x1a\n", 8))
        st = decode_png(&(png_decoder){.path = path, .file = file, .image = image});
    else if (begins_with(&file, "\xff\xd8\xff", 3))
        st = decode_jpeg(&(jpeg_decoder){.path = path, .file = file, .image = image});
    else
        st = PADA_FAIL(PADA_EDATA, "%s: neither a PNG nor a JPEG image", path);
    pada_file_close(&file);
    if (st != PADA_OK) pada_image_close(image);
    return st;
}

void pada_image_close(pada_image *image)
{
    pada_free(image->pixels);
    *image = (pada_image){0};
}
