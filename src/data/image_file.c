/* image_file.c - the formats of picture files: their names, first bytes and decoders. */
#include "data/image_file.h"

#include <string.h>
#include <strings.h>

#include "data/image_decode.h"

/* The first of a format's rows has its endings; further ones have other first bytes. */
typedef struct signature {
    pada_image_format format;
    int offset;
    const char *bytes; /* NULL: known by its endings only */
    size_t n;
} signature;

#define READ(name, endings, decode, offset, bytes)               \
    {                                                            \
        {name, endings, decode}, offset, bytes, sizeof bytes - 1 \
    }
#define KNOWN(name, endings, offset, bytes) READ(name, endings, NULL, offset, bytes)
#define NAMED(name, endings)              \
    {                                     \
        {name, endings, NULL}, 0, NULL, 0 \
    }

static const signature signatures[] = {
    READ("PNG", "png", pada__decode_png, 0, "\x89PNG\r\n\x1a\n"),
    READ("JPEG", "jpg|jpeg|jpe|jfif", pada__decode_jpeg, 0, "\xff\xd8\xff"),
    READ("WebP", "webp", pada__decode_webp, 8, "WEBPVP8"),
    KNOWN("GIF", "gif", 0, "GIF8"),
    KNOWN("BMP", "bmp|dib", 0, "BM"),
    KNOWN("TIFF", "tif|tiff", 0, "II*\0"),
    KNOWN("TIFF", "", 0, "MM\0*"),
    KNOWN("HEIC", "heic|heif", 4, "ftyphei"),
    KNOWN("HEIC", "", 4, "ftypmif1"),
    KNOWN("HEIC", "", 4, "ftyphev"),
    KNOWN("AVIF", "avif", 4, "ftypavi"),
    KNOWN("JPEG 2000", "jp2|j2k|jpx", 0, "\0\0\0\x0cjP  "),
    KNOWN("JPEG XL", "jxl", 0, "\0\0\0\x0cJXL "),
    KNOWN("JPEG XL", "", 0, "\xff\x0a"),
    KNOWN("Photoshop", "psd", 0, "8BPS"),
    KNOWN("icon", "ico", 0, "\0\0\1\0"),
    NAMED("SVG", "svg|svgz"),
    NAMED("PNM", "ppm|pgm|pbm|pnm"),
    NAMED("TGA", "tga"),
    NAMED("raw camera", "dng|cr2|cr3|nef|arw|orf|rw2|raf"),
};

enum { N_SIGNATURES = sizeof signatures / sizeof signatures[0] };

const pada_image_format *pada_image_format_of(const uint8_t *data, size_t bytes)
{
    for (int i = 0; i < N_SIGNATURES; i++) {
        const signature *s = &signatures[i];
        if (s->bytes && bytes >= (size_t)s->offset + s->n &&
            memcmp(data + s->offset, s->bytes, s->n) == 0)
            return &s->format;
    }
    return NULL;
}

/* Whether `word` is among the words, which are separated by '|'. */
static bool is_among(const char *word, const char *words)
{
    const size_t n = strlen(word);

    while (*words) {
        const size_t n_next = strcspn(words, "|");
        if (n == n_next && strncasecmp(word, words, n) == 0) return true;
        words += n_next + (words[n_next] == '|');
    }
    return false;
}

const pada_image_format *pada_image_format_named(const char *name)
{
    const char *dot = strrchr(name, '.');

    if (!dot || dot == name || dot[-1] == '/') return NULL;
    for (int i = 0; i < N_SIGNATURES; i++)
        if (is_among(dot + 1, signatures[i].format.endings)) return &signatures[i].format;
    return NULL;
}

pada_status pada_image_decode(const pada_image_source *source, const pada_image_sink *sink)
{
    const pada_image_format *format;

    if (source->width > 0) return pada__decode_raw(source, sink);
    format = pada_image_format_of(source->data, source->bytes);
    if (source->bytes == 0) return PADA_FAIL(PADA_EDATA, "%s: an empty file", source->path);
    if (!format) return PADA_FAIL(PADA_EDATA, "%s: no " PADA_IMAGE_READ " image", source->path);
    if (!format->decode)
        return PADA_FAIL(PADA_EDATA, "%s: a %s image, which is not read; " PADA_IMAGE_READ " are",
                         source->path, format->name);
    return format->decode(source, sink);
}

/* ---- limits ---- */

pada_status pada__image_check_size(const pada_image_source *source, uint32_t width, uint32_t height)
{
    if (width < 1 || height < 1 || width > PADA_IMAGE_MAX_SIDE || height > PADA_IMAGE_MAX_SIDE ||
        (uint64_t)width * height > PADA_IMAGE_MAX_PIXELS)
        return PADA_FAIL(PADA_EDATA,
                         "%s: %lu x %lu pixels; sides may be 1 to %d, at most %d in all",
                         source->path, (unsigned long)width, (unsigned long)height,
                         PADA_IMAGE_MAX_SIDE, PADA_IMAGE_MAX_PIXELS);
    return PADA_OK;
}

pada_status pada__image_check_memory(const pada_image_source *source, uint64_t bytes)
{
    if (bytes > PADA_IMAGE_MAX_BYTES)
        return PADA_FAIL(PADA_EDATA,
                         "%s: decoding it takes %lu MiB; at most %d are allowed (a PNG or a JPEG "
                         "that is not progressive takes little)",
                         source->path, (unsigned long)(bytes >> 20), PADA_IMAGE_MAX_BYTES >> 20);
    return PADA_OK;
}
