/* fuzz_image_file.c - files of one image, in full size and as small as they decode. */
#include "fuzz/fuzz.h"

#include "base/hash.h"
#include "data/image_file.h"

typedef struct canvas {
    int width, height; /* 0: not begun */
} canvas;

static pada_status begin(void *context, const pada_image_head *head)
{
    canvas *c = context;

    FUZZ_CHECK(c->width == 0 && head->width > 0 && head->height > 0);
    FUZZ_CHECK(head->orientation >= 1 && head->orientation <= 8);
    FUZZ_CHECK(head->file_width >= head->width && head->file_height >= head->height);
    *c = (canvas){head->width, head->height};
    return PADA_OK;
}

static void row(void *context, const pada_image_row *part)
{
    const canvas *c = context;

    FUZZ_CHECK(part->y >= 0 && part->y < c->height && part->x >= 0 && part->step >= 1);
    FUZZ_CHECK(part->n >= 0 && part->x + (int64_t)(part->n - 1) * part->step < c->width);
    (void)pada_hash(part->pixels, (size_t)part->n * 3, 0); /* reads every byte */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const pada_image_source source = {.path = "input", .data = data, .bytes = n};

    for (int enough = 0; enough < 2; enough++) {
        canvas c = {0, 0};
        const pada_image_sink sink = {.context = &c, .enough = enough, .begin = begin, .row = row};
        if (pada_image_decode(&source, &sink) == PADA_OK) FUZZ_CHECK(c.width > 0);
    }
    return 0;
}
