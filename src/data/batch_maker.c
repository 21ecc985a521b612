/* batch_maker.c - room for one batch, and how images get into it. */
#include "data/batch_maker.h"

#include "base/mem.h"

pada_status pada_batch_maker_init(pada_batch_maker *m, const pada_dataset *data, pada_split split,
                                  bool held, int cap)
{
    const size_t image_bytes = (size_t)pada_shape_count(data->shape) * sizeof *m->images;
    void *memory;

    *m = (pada_batch_maker){.data = data, .split = split, .held = held};
    PADA_TRY(pada_calloc(&memory, (size_t)cap, sizeof *m->labels));
    m->labels = memory;
    if (held) {
        PADA_TRY(pada_calloc(&memory, (size_t)cap, sizeof *m->picks));
        m->picks = memory;
    } else {
        PADA_TRY(pada_alloc_aligned(&memory, (size_t)cap * image_bytes));
        m->images = memory;
    }
    return PADA_OK;
}

void pada_batch_maker_deinit(pada_batch_maker *m)
{
    pada_free(m->images);
    pada_free(m->picks);
    pada_free(m->labels);
    *m = (pada_batch_maker){0};
}

/* Image `image` as it is cut out of its photograph. */
static pada_status put_photo(const pada_batch_maker *m, int image, const pada_draw *draw, float *to)
{
    uint8_t *bytes = pada_dataset_room(m->data, to);

    PADA_TRY(pada_augment_photo(m->data, m->split, image, draw, bytes));
    pada_dataset_level(m->data, bytes, to);
    return PADA_OK;
}

pada_status pada_batch_maker_put(const pada_batch_maker *m, int i, int image, const pada_draw *draw)
{
    const pada_dataset *data = m->data;
    float *pixels = m->held ? NULL : m->images + i * pada_shape_count(data->shape);
    pada_augmentation how;

    PADA_ASSERT(pixels || !data->is_cut || !draw);
    if (!draw && pixels) /* both at once */
        return pada_dataset_fill(data, m->split, image, 1, pixels, m->labels + i);
    m->labels[i] = data->ops->label(data, m->split, image);
    if (draw && data->is_cut) return put_photo(m, image, draw, pixels);
    if (draw) how = pada_augment_draw(data, draw->seed, draw->epoch, draw->position);
    if (pixels)
        pada_augment_image(data, m->split, image, how, pixels);
    else
        m->picks[i] = draw ? pada_augment_pick(data, image, how) : (pada_pick){.image = image};
    return PADA_OK;
}

pada_batch pada_batch_maker_batch(const pada_batch_maker *m, int n)
{
    return (pada_batch){.n = n,
                        .images = m->images,
                        .picks = m->picks,
                        .split = (int)m->split,
                        .labels = m->labels};
}
