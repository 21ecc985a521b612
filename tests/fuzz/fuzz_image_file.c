/* fuzz_image_file.c - files of one image: in full size, as small as they decode, and parts of them. */
#include "fuzz/fuzz.h"

#include "base/hash.h"
#include "data/image_cut.h"
#include "data/image_file.h"

enum { SIZE = 9 }; /* of parts, at most */

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

/* A part that depends on the sides and on `context`, an int. */
static pada_cut choose(void *context, int width, int height)
{
    const int k = *(const int *)context;
    const double w = (width + k) / (k + 1), h = (height + 2 * k) / (2 * k + 1);

    FUZZ_CHECK(width > 0 && height > 0);
    return (pada_cut){.x = (width - w) / 2, .y = height - h, .width = w, .height = h};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const pada_image_source source = {.path = "input", .data = data, .bytes = n};

    for (int enough = 0; enough < 2; enough++) {
        canvas c = {0, 0};
        const pada_image_sink sink = {.context = &c, .enough = enough, .begin = begin, .row = row};
        if (pada_image_decode(&source, &sink) == PADA_OK) FUZZ_CHECK(c.width > 0);
    }
    for (int k = 0; k < 3; k++) {
        uint8_t out[3 * SIZE * SIZE];
        const pada_cutter cutter = {
            .choose = choose, .context = &k, .size = 1 + k * (SIZE - 1) / 2};
        if (pada_image_cut(&source, &cutter, out) == PADA_OK) (void)pada_hash(out, 3, 0);
    }
    return 0;
}
