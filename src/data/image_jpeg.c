/* image_jpeg.c - decodes JPEG with libjpeg.
 *
 * libjpeg reports errors by calling back and expects not to be returned to, so the decoder is one
 * struct that outlives a longjmp: no local variable is needed afterwards. Warnings about the data
 * itself are errors here; others are not heard. A picture much larger than wanted is decoded in a
 * half, a quarter or an eighth of its size, which takes a fraction of the time; these three have
 * the same pixels with and without SIMD. Of a picture of which a part is wanted the rows above are
 * skipped, which spares all but their bits, those below are not even read, and columns are left out
 * in steps of whole blocks. */
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <jerror.h>
#include <jpeglib.h>

#include "base/mem.h"
#include "data/image_decode.h"
#include "data/image_exif.h"

#define MAX_SCANS   500 /* of a progressive picture; each takes the time of a whole one */
#define EXIF_MARKER (JPEG_APP0 + 1)
/* Pixels around the wanted ones that are decoded with them: colours are smoothed between neighbours,
 * and those at the border of what is decoded have neighbours on one side only. */
#define MARGIN      2

/* Parts of pictures are an extension of libjpeg-turbo; other libraries decode all of them. */
#if defined(LIBJPEG_TURBO_VERSION_NUMBER) && LIBJPEG_TURBO_VERSION_NUMBER >= 2000000
#define DECODES_PARTS 1
#else
#define DECODES_PARTS 0
#endif

typedef struct jpeg_decoder {
    struct jpeg_error_mgr errors; /* first, so that the library's pointer to it is one to this */
    struct jpeg_progress_mgr progress;
    const pada_image_source *source;
    const pada_image_sink *sink;
    struct jpeg_decompress_struct jpeg;
    pada_image_window window; /* what is wanted, in pixels of the file */
    int first_column;         /* of the rows that come */
    int end_row;              /* the first that does not */
    uint8_t *memory;          /* of a row, owned */
    /* 3 or 4 channels in that memory, at an odd address: libjpeg-turbo writes aligned rows past the
     * caches, and whoever reads them next waits for the memory. */
    uint8_t *row;
    bool is_large;
    jmp_buf jump;
    pada_status status;
    char message[JMSG_LENGTH_MAX];
} jpeg_decoder;

static void on_error(j_common_ptr jpeg)
{
    jpeg_decoder *d = (jpeg_decoder *)jpeg->err;

    jpeg->err->format_message(jpeg, d->message);
    longjmp(d->jump, 1);
}

/* Level -1 is a warning about the data: the library would go on with grey pixels. */
static void on_message(j_common_ptr jpeg, int level)
{
    static const int harmless[] = {JWRN_EXTRANEOUS_DATA, JWRN_ADOBE_XFORM, JWRN_JFIF_MAJOR,
                                   JWRN_TOO_MUCH_DATA};

    if (level >= 0) return;
    for (size_t i = 0; i < sizeof harmless / sizeof harmless[0]; i++)
        if (jpeg->err->msg_code == harmless[i]) return;
    on_error(jpeg);
}

static void on_progress(j_common_ptr jpeg)
{
    jpeg_decoder *d = (jpeg_decoder *)jpeg->err;

    if (d->jpeg.input_scan_number <= MAX_SCANS) return;
    snprintf(d->message, sizeof d->message, "more than %d scans", MAX_SCANS);
    longjmp(d->jump, 1);
}

/* After the longjmp. */
static pada_status fail(jpeg_decoder *d)
{
    if (d->errors.msg_code == JERR_OUT_OF_MEMORY)
        return PADA_FAIL(PADA_ENOMEM, "%s: out of memory", d->source->path);
    return PADA_FAIL(PADA_EDATA, "%s: broken JPEG: %s", d->source->path, d->message);
}

/* ---- header ---- */

/* The coefficients of all scans, which the library keeps if there are several. */
static uint64_t coefficient_bytes(struct jpeg_decompress_struct *jpeg)
{
    uint64_t n_blocks = 0;

    if (!jpeg_has_multiple_scans(jpeg)) return 0;
    for (int i = 0; i < jpeg->num_components; i++)
        n_blocks +=
            (uint64_t)jpeg->comp_info[i].width_in_blocks * jpeg->comp_info[i].height_in_blocks;
    return n_blocks * sizeof(JBLOCK);
}

/* The smallest size that leaves both sides of the window enough pixels. */
static unsigned denominator(const pada_image_window *window)
{
    const int shorter = window->width < window->height ? window->width : window->height;
    int by = 1;

    while (window->enough > 0 && by < 8 && shorter / (2 * by) >= window->enough)
        by *= 2;
    return (unsigned)by;
}

static pada_status check_header(jpeg_decoder *d)
{
    struct jpeg_decompress_struct *jpeg = &d->jpeg;

    PADA_TRY(pada__image_check_size(d->source, jpeg->image_width, jpeg->image_height));
    PADA_TRY(pada__image_check_memory(d->source, coefficient_bytes(jpeg)));
    d->is_large = coefficient_bytes(jpeg) > PADA_IMAGE_LARGE_BYTES;
    return PADA_OK;
}

static void read_header(jpeg_decoder *d)
{
    struct jpeg_decompress_struct *jpeg = &d->jpeg;

    if (setjmp(d->jump) != 0) {
        d->status = fail(d);
        return;
    }
    jpeg_create_decompress(jpeg);
    jpeg->progress = &d->progress;
    jpeg_mem_src(jpeg, d->source->data, (unsigned long)d->source->bytes);
    jpeg_save_markers(jpeg, EXIF_MARKER, 0xffff);
    jpeg_read_header(jpeg, TRUE);
    d->status = check_header(d);
}

/* ---- rows ---- */

static bool is_cmyk(const struct jpeg_decompress_struct *jpeg)
{
    return jpeg->jpeg_color_space == JCS_CMYK || jpeg->jpeg_color_space == JCS_YCCK;
}

/* Four inks to three lights, in place. Adobe's programs, which make most of these files, store how
 * much paper is left rather than how much ink there is. */
static void mix_inks(uint8_t *pixels, int n, bool is_inverted)
{
    const uint8_t flip = is_inverted ? 0 : 255;

    for (int i = 0; i < n; i++)
        for (int c = 0; c < 3; c++)
            pixels[3 * i + c] =
                pada__over_black(pixels[4 * i + c] ^ flip, pixels[4 * i + 3] ^ flip);
}

static int orientation(const jpeg_decoder *d)
{
    for (jpeg_saved_marker_ptr m = d->jpeg.marker_list; m; m = m->next)
        if (m->marker == EXIF_MARKER && m->data_length >= 6 && memcmp(m->data, "Exif\0\0", 6) == 0)
            return pada_exif_orientation(m->data, m->data_length);
    return 1;
}

static pada_image_head make_head(const jpeg_decoder *d, unsigned width, unsigned height)
{
    return (pada_image_head){.width = (int)width,
                             .height = (int)height,
                             .reduction = (int)d->jpeg.scale_denom,
                             .orientation = orientation(d),
                             .file_width = (int)d->jpeg.image_width,
                             .file_height = (int)d->jpeg.image_height};
}

static void choose_window(jpeg_decoder *d)
{
    const unsigned width = d->jpeg.image_width, height = d->jpeg.image_height;
    pada_image_head head = make_head(d, width, height);

    head.reduction = 1;
    d->window =
        (pada_image_window){.width = (int)width, .height = (int)height, .enough = d->sink->enough};
    if (d->sink->choose) d->sink->choose(d->sink->context, &head, &d->window);
}

/* Where what is wanted of one side, [begin, end) of the file, lies in n_out decoded pixels that stand
 * for `by` each. */
static void find_part(int begin, int end, int by, int n_out, int *first, int *last)
{
    *first = begin / by - MARGIN;
    *last = (end + by - 1) / by + MARGIN;
    if (*first < 0) *first = 0;
    if (*last > n_out) *last = n_out;
}

/* Leaves out what is not wanted, as far as the library can. Columns begin at a block then. */
static void leave_out(jpeg_decoder *d)
{
    struct jpeg_decompress_struct *jpeg = &d->jpeg;
    const int width = (int)jpeg->output_width, height = (int)jpeg->output_height;
    const pada_image_window *w = &d->window;
    int left, right, top, bottom;

    d->end_row = height;
    find_part(w->x, w->x + w->width, (int)jpeg->scale_denom, width, &left, &right);
    find_part(w->y, w->y + w->height, (int)jpeg->scale_denom, height, &top, &bottom);
    if (!DECODES_PARTS) return;
    if (left > 0 || right < width) {
        JDIMENSION first = (JDIMENSION)left, n = (JDIMENSION)(right - left);
        jpeg_crop_scanline(jpeg, &first, &n);
        d->first_column = (int)first;
    }
    if (top > 0) jpeg_skip_scanlines(jpeg, (JDIMENSION)top);
    d->end_row = bottom;
}

static pada_status begin_rows(jpeg_decoder *d)
{
    const struct jpeg_decompress_struct *jpeg = &d->jpeg;
    const pada_image_head head = make_head(d, jpeg->output_width, jpeg->output_height);
    void *memory;

    PADA_TRY(pada_calloc(&memory, jpeg->output_width + 1, (size_t)jpeg->output_components));
    d->memory = memory;
    d->row = d->memory + 1;
    return d->sink->begin(d->sink->context, &head);
}

static void read_rows(jpeg_decoder *d)
{
    struct jpeg_decompress_struct *jpeg = &d->jpeg;

    if (setjmp(d->jump) != 0) {
        d->status = fail(d);
        return;
    }
    jpeg->out_color_space = is_cmyk(jpeg) ? JCS_CMYK : JCS_RGB;
    choose_window(d);
    jpeg->scale_num = 1;
    jpeg->scale_denom = denominator(&d->window);
    jpeg_start_decompress(jpeg);
    if ((d->status = begin_rows(d)) != PADA_OK) return;
    leave_out(d);
    while ((int)jpeg->output_scanline < d->end_row) {
        const int y = (int)jpeg->output_scanline, n = (int)jpeg->output_width;
        JSAMPROW row = d->row;
        jpeg_read_scanlines(jpeg, &row, 1);
        if (is_cmyk(jpeg)) mix_inks(d->row, n, jpeg->saw_Adobe_marker);
        d->sink->row(
            d->sink->context,
            &(pada_image_row){.y = y, .x = d->first_column, .step = 1, .n = n, .pixels = d->row});
    }
    /* Behind the last wanted row there may be anything: nobody looks at it. */
    if (jpeg->output_scanline == jpeg->output_height) jpeg_finish_decompress(jpeg);
}

pada_status pada__decode_jpeg(const pada_image_source *source, const pada_image_sink *sink)
{
    jpeg_decoder d = {.source = source, .sink = sink};

    d.jpeg.err = jpeg_std_error(&d.errors);
    d.errors.error_exit = on_error;
    d.errors.emit_message = on_message;
    d.progress.progress_monitor = on_progress;
    read_header(&d);
    if (d.status == PADA_OK && d.is_large) {
#pragma omp critical(pada_large_image)
        read_rows(&d);
    } else if (d.status == PADA_OK) {
        read_rows(&d);
    }
    jpeg_destroy_decompress(&d.jpeg); /* also one that was not created */
    pada_free(d.memory);
    return d.status;
}
