/* image_raw.c - pictures that are pixels already. */
#include "data/image_decode.h"

pada_status pada__decode_raw(const pada_image_source *source, const pada_image_sink *sink)
{
    const int width = source->width, height = source->height;

    PADA_TRY(pada__image_check_size(source, (uint32_t)width, (uint32_t)height));
    PADA_ASSERT(source->bytes == (size_t)width * (size_t)height * 3);
    PADA_TRY(sink->begin(sink->context, &(pada_image_head){.width = width,
                                                           .height = height,
                                                           .orientation = 1,
                                                           .file_width = width,
                                                           .file_height = height,
                                                           .reduction = 1}));
    for (int y = 0; y < height; y++)
        sink->row(sink->context,
                  &(pada_image_row){.y = y,
                                    .step = 1,
                                    .n = width,
                                    .pixels = source->data + (size_t)y * (size_t)width * 3});
    return PADA_OK;
}
