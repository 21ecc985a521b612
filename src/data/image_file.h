/* image_file.h - picture files: which formats there are, and decoding of those that are read.
 *
 * A decoder hands out rows and keeps none, so that a large picture takes no more memory than its
 * format forces it to. image_scale.h turns the rows into a small square. */
#ifndef PADA_DATA_IMAGE_FILE_H
#define PADA_DATA_IMAGE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PADA_IMAGE_MAX_SIDE    20000     /* pixels */
#define PADA_IMAGE_MAX_PIXELS  100000000 /* of one image */
/* Memory of formats that cannot be decoded row by row: progressive JPEG, WebP. Pictures that need
 * more are refused; of those that need more than the second number one is decoded at a time. */
#define PADA_IMAGE_MAX_BYTES   (256 << 20)
#define PADA_IMAGE_LARGE_BYTES (32 << 20)
#define PADA_IMAGE_READ        "PNG, JPEG or WebP" /* formats, for messages */

/* A file in memory, or pixels; all borrowed. */
typedef struct pada_image_source {
    const char *path; /* for messages */
    const uint8_t *data;
    size_t bytes;
    int width, height; /* of pixels: data is [height, width, 3] red, green, blue; 0: a file */
} pada_image_source;

/* What is known before the first row. */
typedef struct pada_image_head {
    int width, height; /* of the rows that follow; >= 1 */
    int orientation;   /* how to turn them, 1 to 8 as Exif counts; 1: not at all */
    int file_width,
        file_height; /* of the file; larger if the picture is decoded in a smaller size */
    int reduction;   /* pixels of the file, along each side, that a decoded one stands for; >= 1 */
} pada_image_head;

/* Pixels x, x + step, .. of row y; [n, 3] red, green, blue. Rows of an interlaced picture come in
 * several parts. Borrowed for the call. */
typedef struct pada_image_row {
    int y, x, step, n;
    const uint8_t *pixels;
} pada_image_row;

/* The part of a picture that matters, in pixels of the file as it is stored; inside of it. */
typedef struct pada_image_window {
    int x, y, width, height;
    int enough; /* a JPEG may be decoded in a smaller size as long as each side has so many pixels */
} pada_image_window;

/* Who takes the rows. */
typedef struct pada_image_sink {
    void *context;
    /* Asked once the head is known, of which width and height are those of the file: which part is
     * wanted. Rows and columns outside may come or not. NULL: all of it. */
    void (*choose)(void *context, const pada_image_head *head, pada_image_window *window);
    /* Without `choose`: a JPEG may be decoded in a half, a quarter or an eighth of its size as long as
     * its shorter side has so many pixels; 0: never. */
    int enough;
    pada_status (*begin)(void *context, const pada_image_head *head); /* a failure ends it all */
    void (*row)(void *context, const pada_image_row *row);
} pada_image_sink;

typedef pada_status pada_image_decoder(const pada_image_source *source,
                                       const pada_image_sink *sink);

/* A format, read or only known by name. */
typedef struct pada_image_format {
    const char *name;           /* "JPEG" */
    const char *endings;        /* of file names: "jpg|jpeg" */
    pada_image_decoder *decode; /* NULL: not read */
} pada_image_format;

/* By the first bytes, and by the ending of a name in upper or lower case; NULL: unknown. Borrowed. */
const pada_image_format *pada_image_format_of(const uint8_t *data, size_t bytes);
const pada_image_format *pada_image_format_named(const char *name);

/* Decodes by the contents, whatever the name is. Grey is tripled, transparent pixels lie over black,
 * 16 bits lose the lower 8, CMYK becomes RGB by its inks, colour profiles are ignored. A file of
 * another format, empty, broken, cut short, animated or too large is PADA_EDATA. Messages begin with
 * the path. */
pada_status pada_image_decode(const pada_image_source *source, const pada_image_sink *sink);

#ifdef __cplusplus
}
#endif
#endif
