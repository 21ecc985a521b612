/* image_png.c - decodes PNG with libpng.
 *
 * libpng reports errors by calling back and expects not to be returned to, so the decoder is one
 * struct that outlives a longjmp: no local variable is needed afterwards. The passes of an interlaced
 * picture are handed out as they are, so one row is all that is kept. Errors of memory are told from
 * errors of the file by the allocations, which are ours. Warnings are not heard. */
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <png.h>

#include "base/mem.h"
#include "data/image_decode.h"
#include "data/image_exif.h"

#define MESSAGE_BYTES   200
#define MAX_BLOCK_BYTES 8000000 /* of memory: rows and compressors take less, profiles too */

typedef struct png_decoder {
    const pada_image_source *source;
    const pada_image_sink *sink;
    size_t at; /* the next byte of the file */
    png_structp png;
    png_infop info;
    uint8_t *row; /* owned */
    int width, height, channels;
    bool out_of_memory;
    pada_status status;
    char message[MESSAGE_BYTES];
} png_decoder;

static void on_error(png_structp png, png_const_charp message)
{
    png_decoder *d = png_get_error_ptr(png);

    snprintf(d->message, sizeof d->message, "%s", message);
    png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp message)
{
    (void)png;
    (void)message;
}

/* libpng would give a chunk, such as a profile, the bytes that its header asks for. */
static png_voidp allocate(png_structp png, png_alloc_size_t bytes)
{
    png_decoder *d = png_get_mem_ptr(png);
    void *memory = NULL;

    if (bytes > MAX_BLOCK_BYTES) return NULL;
    if (pada_calloc(&memory, 1, bytes) != PADA_OK) d->out_of_memory = true;
    return memory;
}

static void release(png_structp png, png_voidp memory)
{
    (void)png;
    pada_free(memory);
}

static void read_bytes(png_structp png, png_bytep to, size_t n)
{
    png_decoder *d = png_get_io_ptr(png);

    if (n > d->source->bytes - d->at) png_error(png, "the file is cut short");
    memcpy(to, d->source->data + d->at, n);
    d->at += n;
}

static int orientation(const png_decoder *d)
{
    png_bytep exif;
    png_uint_32 n;

    return png_get_eXIf_1(d->png, d->info, &n, &exif) ? pada_exif_orientation(exif, n) : 1;
}

/* Everything up to the first row: the picture as 8 bits of 3 or 4 channels. */
static pada_status begin(png_decoder *d)
{
    void *memory;

    png_set_read_fn(d->png, d, read_bytes);
    png_read_info(d->png, d->info);
    PADA_TRY(pada__image_check_size(d->source, png_get_image_width(d->png, d->info),
                                    png_get_image_height(d->png, d->info)));
    d->width = (int)png_get_image_width(d->png, d->info);
    d->height = (int)png_get_image_height(d->png, d->info);
    png_set_expand(d->png); /* palettes, 1 to 4 bits, transparent colours */
    png_set_strip_16(d->png);
    png_set_gray_to_rgb(d->png);
    png_read_update_info(d->png, d->info);
    d->channels = png_get_channels(d->png, d->info);
    PADA_ASSERT(d->channels == 3 || d->channels == 4);
    PADA_TRY(pada_calloc(&memory, (size_t)d->width, (size_t)d->channels));
    d->row = memory;
    return d->sink->begin(d->sink->context, &(pada_image_head){.width = d->width,
                                                               .height = d->height,
                                                               .orientation = orientation(d),
                                                               .file_width = d->width,
                                                               .file_height = d->height,
                                                               .reduction = 1});
}

/* One row of n pixels, of which the first is x. */
static void read_row(png_decoder *d, int y, int x, int step, int n)
{
    png_read_row(d->png, d->row, NULL);
    if (d->channels == 4) pada__drop_alpha(d->row, n);
    d->sink->row(d->sink->context,
                 &(pada_image_row){.y = y, .x = x, .step = step, .n = n, .pixels = d->row});
}

/* Pass k has the pixels of some columns of some rows. */
static void read_pass(png_decoder *d, int k)
{
    const int n_columns = (int)PNG_PASS_COLS((png_uint_32)d->width, k);
    const int n_rows = (int)PNG_PASS_ROWS((png_uint_32)d->height, k);

    for (int i = 0; i < n_rows && n_columns > 0; i++)
        read_row(d, PNG_ROW_FROM_PASS_ROW(i, k), PNG_COL_FROM_PASS_COL(0, k),
                 1 << PNG_PASS_COL_SHIFT(k), n_columns);
}

/* Everything that may end in on_error, which comes back to the setjmp. */
static void run(png_decoder *d)
{
    if (setjmp(png_jmpbuf(d->png)) != 0) {
        d->status = PADA_FAIL(PADA_EDATA, "%s: broken PNG: %s", d->source->path, d->message);
        return;
    }
    if ((d->status = begin(d)) != PADA_OK) return;
    if (png_get_interlace_type(d->png, d->info) == PNG_INTERLACE_NONE)
        for (int y = 0; y < d->height; y++)
            read_row(d, y, 0, 1, d->width);
    else
        for (int k = 0; k < PNG_INTERLACE_ADAM7_PASSES; k++)
            read_pass(d, k);
    png_read_end(d->png, NULL);
}

pada_status pada__decode_png(const pada_image_source *source, const pada_image_sink *sink)
{
    png_decoder d = {.source = source, .sink = sink};

    d.png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, &d, on_error, on_warning, &d, allocate,
                                     release);
    if (d.png) d.info = png_create_info_struct(d.png);
    if (d.info)
        run(&d);
    else
        d.out_of_memory = true;
    png_destroy_read_struct(&d.png, &d.info, NULL);
    pada_free(d.row);
    /* Also where libpng does without, as it does without an Exif block. */
    return d.out_of_memory ? PADA_FAIL(PADA_ENOMEM, "%s: out of memory", source->path) : d.status;
}
