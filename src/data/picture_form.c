/* picture_form.c - what becomes of the pictures of a folder. */
#include "data/picture_form.h"

#include "base/hash.h"
#include "data/resized_crop.h"

#define EVAL_CROP 0.875 /* of the shorter side */
/* Counted up when the same file becomes other pixels: it is in the key of the cache. */
#define DECODING  1

pada_status pada_picture_form_init(pada_picture_form *form, const pada_dataset_desc *desc, int size)
{
    const double eval_crop = desc->eval_crop > 0 ? desc->eval_crop : EVAL_CROP;
    const bool squares = desc->resize == PADA_RESIZE_CROP;

    *form = (pada_picture_form){.fit = {size, desc->resize}};
    if (desc->crops == PADA_CROPS_RESIZED && !squares)
        return PADA_FAIL(PADA_EINVAL,
                         "%s: resized crops are cut out of pictures; these cannot be squashed or "
                         "padded before",
                         desc->where);
    if (desc->crops == PADA_CROPS_BORDER) return PADA_OK;
    if (desc->crops == PADA_CROPS_AUTO && (!squares || size < PADA_PHOTO_SIZE)) return PADA_OK;
    if (eval_crop > 1 || size / eval_crop > PADA_IMAGE_MAX_SIDE)
        return PADA_FAIL(PADA_EINVAL, "evaluation crop %g is not between %g and 1", eval_crop,
                         (double)size / PADA_IMAGE_MAX_SIDE);
    form->scaled = (int)(size / eval_crop);
    return PADA_OK;
}

static pada_cut choose_middle(void *context, int width, int height)
{
    const pada_picture_form *form = context;

    return pada_centre_crop(width, height, form->fit.size, form->scaled);
}

pada_status pada_picture_form_read(const pada_picture_form *form, const pada_image_source *source,
                                   uint8_t *out)
{
    pada_picture_form copy = *form;
    const pada_cutter middle = {.choose = choose_middle, .context = &copy, .size = form->fit.size};

    return form->scaled > 0 ? pada_image_cut(source, &middle, out)
                            : pada_image_read(source, &form->fit, out, NULL);
}

uint64_t pada_picture_form_key(const pada_picture_form *form, const pada_pictures *list)
{
    const int how_cut = form->scaled > 0 ? form->scaled << 8 : (int)form->fit.resize;
    const uint64_t how[] = {DECODING, (uint64_t)form->fit.size, (uint64_t)how_cut};
    uint64_t key = pada_hash(how, sizeof how, 0);

    for (int i = 0; i < list->n; i++)
        key = pada_hash(&list->items[i].hash, sizeof list->items[i].hash, key);
    return key;
}

uint64_t pada_picture_form_hash(const pada_picture_form *form, const pada_pictures *list)
{
    uint64_t hash = pada_picture_form_key(form, list);

    for (int i = 0; i < list->n; i++) {
        const uint64_t label = (uint64_t)list->items[i].label;
        hash = pada_hash(&label, sizeof label, hash);
    }
    return hash ? hash : 1;
}
