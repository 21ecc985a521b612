/* held_batches.c - batches of images that are held out of training. */
#include "strategy/held_batches.h"

#include "base/mem.h"

pada_status pada_held_batches_init(pada_held_batches *batches, const pada_strategy_env *env,
                                   int64_t size, int most)
{
    pada_loader_desc desc = {.data = env->data,
                             .split = PADA_SPLIT_TRAIN,
                             .images = env->images,
                             .seed = env->seed,
                             .held = env->on_device,
                             .n_threads = env->n_threads};
    void *memory;

    *batches = (pada_held_batches){.env = env, .cap = most, .epoch = -1};
    if (env->n_held_out < 1)
        return PADA_FAIL(PADA_EINVAL, "no image is held out of training; give --hold-out");
    if (size > env->n_held_out) size = env->n_held_out;
    if (size > env->batch_size) size = env->batch_size;
    batches->size = desc.batch_size = (int)size;
    PADA_TRY(pada_calloc(&memory, (size_t)most * (size_t)size, sizeof *batches->order));
    batches->order = memory;
    return pada_loader_create(&batches->loader, &desc);
}

void pada_held_batches_deinit(pada_held_batches *batches)
{
    pada_loader_destroy(batches->loader);
    pada_free(batches->order);
}

/* The images of batches [first, first + n). */
static void draw(const pada_held_batches *batches, int64_t first, int n)
{
    const pada_strategy_env *env = batches->env;
    int32_t *to = batches->order;
    pada_rng rng;

    for (int k = 0; k < n; k++) {
        pada_rng_init(&rng, env->seed, "held", (uint64_t)(first + k));
        for (int i = 0; i < batches->size; i++)
            *to++ = env->n_images + (int32_t)pada_rng_below(&rng, (uint32_t)env->n_held_out);
    }
}

pada_status pada_held_batches_next(pada_held_batches *batches, const pada_epoch *epoch,
                                   int64_t first, int64_t end, int64_t number, pada_batch *out)
{
    pada_draws draws;

    if (batches->epoch != epoch->index) {
        const int n = (int)(end - first);
        PADA_ASSERT(n <= batches->cap && number >= first && number < end);
        draw(batches, first, n);
        PADA_TRY(pada_loader_begin(batches->loader, epoch->index, batches->order, n * batches->size,
                                   (int)(number - first) * batches->size));
        batches->epoch = epoch->index;
    }
    PADA_TRY(pada_loader_next(batches->loader, &draws));
    PADA_ASSERT(draws.first == (int)(number - first) * batches->size);
    *out = draws.batch;
    return PADA_OK;
}
