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

void pada_batch_maker_put(const pada_batch_maker *m, int i, int image, const pada_augmentation *how)
{
    const pada_dataset *data = m->data;
    float *pixels = m->held ? NULL : m->images + i * pada_shape_count(data->shape);

    if (!how && pixels) { /* both at once */
        pada_dataset_fill(data, m->split, image, 1, pixels, m->labels + i);
        return;
    }
    m->labels[i] = data->ops->label(data, m->split, image);
    if (pixels)
        pada_augment_image(data, m->split, image, *how, pixels);
    else
        m->picks[i] = how ? pada_augment_pick(data, image, *how) : (pada_pick){.image = image};
}

pada_batch pada_batch_maker_batch(const pada_batch_maker *m, int n)
{
    return (pada_batch){.n = n,
                        .images = m->images,
                        .picks = m->picks,
                        .split = (int)m->split,
                        .labels = m->labels};
}
