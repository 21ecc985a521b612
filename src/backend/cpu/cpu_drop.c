/* cpu_drop.c - dropout and drop path of one image. Masks are the same in all layouts; a product has one rounding, so
 * that all instruction sets have the same bits. */
#include "backend/cpu/cpu_device.h"
#include "backend/drop_mask.h"

static float masked(float factor, float x)
{
    return factor == 0 ? 0 : factor * x;
}

static void drop_image(const cpu_drop_job *j)
{
    const float factor = (float)pada_drop_factor(j->drops, &j->drop, j->image, 0);
    const int64_t count = cpu_round_up(j->shape.c, j->width) * j->shape.h * j->shape.w;

    for (int64_t i = 0; i < count; i++) {
        const float y = masked(factor, j->x[i]);
        j->y[i] = j->accumulate ? j->y[i] + y : y;
    }
}

/* In the order of the elements; padding stays zero. */
static void drop_elements(const cpu_drop_job *j)
{
    const int64_t plane = (int64_t)j->shape.h * j->shape.w, width = j->width;
    const int64_t padded = cpu_round_up(j->shape.c, width);

    for (int64_t c = 0; c < padded; c++)
        for (int64_t pixel = 0; pixel < plane; pixel++) {
            const int64_t i = (c / width * plane + pixel) * width + c % width;
            float y = 0;
            if (c < j->shape.c)
                y = masked((float)pada_drop_factor(j->drops, &j->drop, j->image, c * plane + pixel),
                           j->x[i]);
            j->y[i] = j->accumulate ? j->y[i] + y : y;
        }
}

void pada_cpu_drop(const cpu_drop_job *job)
{
    if (job->drop.kind == PADA_DROP_IMAGES)
        drop_image(job);
    else
        drop_elements(job);
}
