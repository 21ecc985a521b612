/* image_webp.c - decodes WebP with libwebp: lossy or lossless, with or without alpha, not animated.
 *
 * The library writes whole pictures only; it takes 4 bytes a pixel for them, and as many again to
 * decode a lossless one. */
#include <string.h>

#include <webp/decode.h>

#include "base/mem.h"
#include "data/image_decode.h"
#include "data/image_exif.h"

enum { LOSSLESS = 2 }; /* of WebPBitstreamFeatures.format */

static size_t number(const uint8_t *at)
{
    return (size_t)at[0] | (size_t)at[1] << 8 | (size_t)at[2] << 16 | (size_t)at[3] << 24;
}

/* The Exif block is a chunk of the file: RIFF size WEBP, then (name, size, bytes, padding)*. */
static int orientation(const pada_image_source *source)
{
    const uint8_t *data = source->data;

    for (size_t at = 12; source->bytes - at >= 8;) {
        const size_t left = source->bytes - at - 8;
        const size_t n = number(data + at + 4);
        if (n > left) return 1;
        if (memcmp(data + at, "EXIF", 4) == 0) return pada_exif_orientation(data + at + 8, n);
        if (n % 2 + n > left) return 1;
        at += 8 + n + n % 2;
    }
    return 1;
}

static pada_status fail(const pada_image_source *source, VP8StatusCode code)
{
    if (code == VP8_STATUS_OUT_OF_MEMORY)
        return PADA_FAIL(PADA_ENOMEM, "%s: out of memory", source->path);
    return PADA_FAIL(PADA_EDATA, "%s: broken WebP%s", source->path,
                     code == VP8_STATUS_NOT_ENOUGH_DATA || code == VP8_STATUS_SUSPENDED
                         ? ": the file is cut short"
                         : "");
}

static pada_status read_pixels(const pada_image_source *source, WebPDecoderConfig *config,
                               uint8_t *pixels)
{
    const int width = config->input.width, height = config->input.height;

    config->output.colorspace = MODE_RGBA;
    config->output.is_external_memory = 1;
    config->output.u.RGBA = (WebPRGBABuffer){
        .rgba = pixels, .stride = 4 * width, .size = 4 * (size_t)width * (size_t)height};
    const VP8StatusCode code = WebPDecode(source->data, source->bytes, config);
    WebPFreeDecBuffer(&config->output);
    return code == VP8_STATUS_OK ? PADA_OK : fail(source, code);
}

static pada_status hand_out(const pada_image_source *source, const pada_image_sink *sink, int width,
                            int height, uint8_t *pixels)
{
    PADA_TRY(sink->begin(sink->context, &(pada_image_head){.width = width,
                                                           .height = height,
                                                           .orientation = orientation(source),
                                                           .file_width = width,
                                                           .file_height = height,
                                                           .reduction = 1}));
    for (int y = 0; y < height; y++) {
        uint8_t *row = pixels + 4 * (size_t)y * (size_t)width;
        pada__drop_alpha(row, width);
        sink->row(sink->context, &(pada_image_row){.y = y, .step = 1, .n = width, .pixels = row});
    }
    return PADA_OK;
}

static pada_status decode(const pada_image_source *source, const pada_image_sink *sink,
                          WebPDecoderConfig *config)
{
    const int width = config->input.width, height = config->input.height;
    void *pixels;

    PADA_TRY(pada_calloc(&pixels, (size_t)width * (size_t)height, 4));
    pada_status st = read_pixels(source, config, pixels);
    if (st == PADA_OK) st = hand_out(source, sink, width, height, pixels);
    pada_free(pixels);
    return st;
}

pada_status pada__decode_webp(const pada_image_source *source, const pada_image_sink *sink)
{
    WebPDecoderConfig config;
    pada_status st;

    if (!WebPInitDecoderConfig(&config))
        return PADA_FAIL(PADA_EDATA, "%s: libwebp is of another version than its header",
                         source->path);
    if (number(source->data + 4) > source->bytes - 8) /* the library would not mind */
        return fail(source, VP8_STATUS_NOT_ENOUGH_DATA);
    const VP8StatusCode code = WebPGetFeatures(source->data, source->bytes, &config.input);
    if (code != VP8_STATUS_OK) return fail(source, code);
    if (config.input.has_animation)
        return PADA_FAIL(PADA_EDATA, "%s: an animated WebP, which is not read", source->path);
    PADA_TRY(pada__image_check_size(source, (uint32_t)config.input.width,
                                    (uint32_t)config.input.height));
    const uint64_t bytes = (uint64_t)config.input.width * (uint64_t)config.input.height *
                           (config.input.format == LOSSLESS ? 8 : 4);
    PADA_TRY(pada__image_check_memory(source, bytes));
    if (bytes > PADA_IMAGE_LARGE_BYTES) {
#pragma omp critical(pada_large_image)
        st = decode(source, sink, &config);
    } else {
        st = decode(source, sink, &config);
    }
    return st;
}
