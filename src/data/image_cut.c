/* image_cut.c - a part of a picture file as a small square, decoded no further than it needs.
 *
 * The part is chosen in the upright picture, and decoded and scaled as the file has it: only the
 * small square is ever turned. */
#include "data/image_cut.h"

#include <math.h>

#include "base/mem.h"
#include "data/image_exif.h"
#include "data/image_resample.h"

typedef struct cutting {
    const pada_cutter *how;
    bool is_chosen;
    pada_cut part; /* in pixels of the file, as it is stored */
    int orientation;
    pada_resampler resampler;
} cutting;

/* The rectangle of the upright picture in the file, by the sizes of the file. */
static pada_cut to_file(pada_cut c, int orientation, int width, int height)
{
    if (pada_is_transposed(orientation))
        c = (pada_cut){.x = c.y, .y = c.x, .width = c.height, .height = c.width};
    if (pada_is_mirrored_x(orientation)) c.x = width - c.x - c.width;
    if (pada_is_mirrored_y(orientation)) c.y = height - c.y - c.height;
    return c;
}

static void choose_part(cutting *c, const pada_image_head *head)
{
    const int width = head->file_width, height = head->file_height;
    const bool lies = pada_is_transposed(head->orientation);

    if (c->is_chosen) return;
    const pada_cut part =
        c->how->choose(c->how->context, lies ? height : width, lies ? width : height);
    PADA_ASSERT(part.width > 0 && part.height > 0);
    c->part = to_file(part, head->orientation, width, height);
    c->orientation = head->orientation;
    c->is_chosen = true;
}

static void choose(void *context, const pada_image_head *head, pada_image_window *window)
{
    cutting *c = context;

    choose_part(c, head);
    if (c->how->all_of_it) return;
    window->x = (int)floor(c->part.x);
    window->y = (int)floor(c->part.y);
    window->width = (int)ceil(c->part.x + c->part.width) - window->x;
    window->height = (int)ceil(c->part.y + c->part.height) - window->y;
    window->enough = c->how->size;
}

/* What is decoded may be smaller than the file. */
static pada_status begin(void *context, const pada_image_head *head)
{
    cutting *c = context;

    choose_part(c, head);
    const double by = 1.0 / head->reduction;
    return pada_resampler_init(&c->resampler, &(pada_resample_desc){.width = head->width,
                                                                    .height = head->height,
                                                                    .size = c->how->size,
                                                                    .x = c->part.x * by,
                                                                    .y = c->part.y * by,
                                                                    .across = c->part.width * by,
                                                                    .down = c->part.height * by});
}

static void take_row(void *context, const pada_image_row *row)
{
    pada_resampler_add(&((cutting *)context)->resampler, row);
}

/* Upright planes. */
static void hand_out(const cutting *c, uint8_t *out)
{
    const int size = c->how->size, how = c->orientation, last = size - 1;

    for (int channel = 0; channel < 3; channel++)
        for (int y = 0; y < size; y++)
            for (int x = 0; x < size; x++) {
                const int a = pada_is_transposed(how) ? y : x, b = pada_is_transposed(how) ? x : y;
                *out++ = pada_resampler_pixel(&c->resampler, pada_is_mirrored_x(how) ? last - a : a,
                                              pada_is_mirrored_y(how) ? last - b : b, channel);
            }
}

pada_status pada_image_cut(const pada_image_source *source, const pada_cutter *cutter, uint8_t *out)
{
    cutting c = {.how = cutter};
    const pada_image_sink sink = {.context = &c, .choose = choose, .begin = begin, .row = take_row};

    PADA_ASSERT(cutter->size >= 1);
    const pada_status st = pada_image_decode(source, &sink);
    if (st == PADA_OK) hand_out(&c, out);
    pada_resampler_deinit(&c.resampler);
    return st;
}
