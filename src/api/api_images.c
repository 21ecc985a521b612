/* api_images.c - images of include/pada.h. */
#include "api/api_parts.h"
#include "base/mem.h"

pada_status pada_images_open(pada_images **out, const char *where, pada_split split, int image_size)
{
    pada_images *images;
    void *memory;

    if (!out) return pada__fail_null(__func__);
    *out = NULL;
    if (!where) return pada__fail_null(__func__);
    if ((int)split < 0 || (int)split >= PADA_N_SPLITS)
        return PADA_FAIL(PADA_EINVAL, "split %d is neither train, test nor val", (int)split);
    PADA_TRY(pada_calloc(&memory, 1, sizeof *images));
    images = memory;
    images->split = split;
    const pada_dataset_desc desc = {
        .where = where, .splits = PADA_SPLIT_BIT(split), .image_size = image_size};
    const pada_status st = pada_dataset_open(&images->data, &desc);
    if (st != PADA_OK) {
        pada_free(memory);
        return st;
    }
    *out = images;
    return PADA_OK;
}

void pada_images_close(pada_images *images)
{
    if (!images) return;
    pada_dataset_close(images->data);
    pada_free(images);
}

int pada_images_count(const pada_images *images)
{
    return images ? images->data->n_images[images->split] : 0;
}

int pada_images_classes(const pada_images *images)
{
    return images ? images->data->n_classes : 0;
}

int pada_images_size(const pada_images *images)
{
    return images ? images->data->shape.h : 0;
}

const char *pada_images_class_name(const pada_images *images, int class_number)
{
    const pada_dataset *data = images ? images->data : NULL;

    if (class_number < 0 || class_number >= pada_images_classes(images)) return NULL;
    return data->ops->class_name ? data->ops->class_name(data, class_number) : NULL;
}

pada_status pada_images_read(const pada_images *images, int first, int n, float *pixels,
                             int32_t *labels)
{
    if (!images || !pixels || !labels) return pada__fail_null(__func__);
    const int count = pada_images_count(images);
    if (first < 0 || n < 0 || first > count || n > count - first)
        return PADA_FAIL(PADA_EINVAL, "images %d to %lld are not among the %d of %s", first,
                         (long long)first + n - 1, count, images->data->name);
    return pada_dataset_fill(images->data, images->split, first, n, pixels, labels);
}
