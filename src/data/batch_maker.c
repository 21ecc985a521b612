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

/* As the engine has it, or a cut of it. */
static pada_pick pick_of(const pada_dataset *data, int image, const pada_draw *draw)
{
    if (!draw) return (pada_pick){.image = image};
    PADA_ASSERT(!data->is_cut && pada_changes_fit_picks(&draw->changes));
    return pada_augment_pick(data, image, pada_augment_draw(data, draw));
}

pada_status pada_batch_maker_put(const pada_batch_maker *m, int i, int image, const pada_draw *draw)
{
    const pada_dataset *data = m->data;
    float *pixels = m->held ? NULL : m->images + i * pada_shape_count(data->shape);

    if (!draw && pixels) /* both at once */
        return pada_dataset_fill(data, m->split, image, 1, pixels, m->labels + i);
    m->labels[i] = data->ops->label(data, m->split, image);
    if (pixels) return pada_augment_image(data, m->split, image, draw, pixels);
    m->picks[i] = pick_of(data, image, draw);
    return PADA_OK;
}

static void mirror(float *pixels, pada_shape shape)
{
    for (int row = 0; row < shape.c * shape.h; row++, pixels += shape.w)
        for (int x = 0; x < shape.w / 2; x++) {
            const float left = pixels[x];
            pixels[x] = pixels[shape.w - 1 - x];
            pixels[shape.w - 1 - x] = left;
        }
}

pada_status pada_batch_maker_put_mirrored(const pada_batch_maker *m, int i, int image)
{
    PADA_TRY(pada_batch_maker_put(m, i, image, NULL));
    if (m->held)
        m->picks[i].flip = 1;
    else
        mirror(m->images + i * pada_shape_count(m->data->shape), m->data->shape);
    return PADA_OK;
}

void pada_batch_maker_put_label(const pada_batch_maker *m, int i, int image)
{
    m->labels[i] = m->data->ops->label(m->data, m->split, image);
}

pada_batch pada_batch_maker_batch(const pada_batch_maker *m, int n)
{
    return (pada_batch){.n = n,
                        .images = m->images,
                        .picks = m->picks,
                        .split = (int)m->split,
                        .labels = m->labels};
}
