/* bench_images.c - random images for timing. */
#include "cli/bench_images.h"

#include "base/mem.h"
#include "base/rng.h"

static const uint8_t *image_of(const pada_dataset *data, pada_split split, int i)
{
    const pada_bench_images *b = (const pada_bench_images *)data;

    (void)split;
    return b->bytes + i * pada_shape_count(data->shape);
}

static int label_of(const pada_dataset *data, pada_split split, int i)
{
    (void)split;
    return ((const pada_bench_images *)data)->labels[i];
}

static void close_nothing(pada_dataset *data)
{
    (void)data;
}

static const pada_dataset_ops random_ops = {
    .name = "random", .close = close_nothing, .image = image_of, .label = label_of};

static pada_status make_room(pada_bench_images *b, int n)
{
    const size_t count = (size_t)pada_shape_count(b->data.shape);
    void *mem;

    PADA_TRY(pada_calloc(&mem, (size_t)n, count));
    b->bytes = mem;
    PADA_TRY(pada_calloc(&mem, (size_t)n, sizeof *b->labels));
    b->labels = mem;
    return PADA_OK;
}

pada_status pada_bench_images_init(pada_bench_images *b, pada_engine *engine, int n, int n_batch,
                                   uint64_t seed)
{
    const pada_space_sizes *config = &pada_engine_space(engine)->config;
    pada_rng rng;

    b->data = (pada_dataset){.ops = &random_ops,
                             .name = "random images",
                             .n_classes = config->classes,
                             .shape = {3, config->image_size, config->image_size},
                             .n_images = {[PADA_SPLIT_TRAIN] = n},
                             .pad = config->image_size / 8};
    for (int c = 0; c < PADA_IMAGE_CHANNELS; c++)
        for (int level = 0; level < 256; level++)
            b->data.levels[c][level] = (float)(3.4 * level / 255 - 1.7);
    PADA_ASSERT(n_batch > 0 && n_batch <= n);
    PADA_TRY(make_room(b, n));
    pada_rng_init(&rng, seed, "bench images", 0);
    for (int64_t i = 0; i < n * pada_shape_count(b->data.shape); i++)
        b->bytes[i] = (uint8_t)pada_rng_below(&rng, 256);
    for (int i = 0; i < n; i++)
        b->labels[i] = (int32_t)pada_rng_below(&rng, (uint32_t)config->classes);
    PADA_TRY(pada_engine_hold(engine, &b->data, PADA_SPLIT_TRAIN));
    PADA_TRY(pada_batch_maker_init(&b->maker, &b->data, PADA_SPLIT_TRAIN,
                                   pada_engine_holds(engine, &b->data, PADA_SPLIT_TRAIN), n_batch));
    for (int i = 0; i < n_batch; i++) {
        const pada_draw draw = {.seed = seed, .position = i};
        PADA_TRY(pada_batch_maker_put(&b->maker, i, i, &draw));
    }
    b->batch = pada_batch_maker_batch(&b->maker, n_batch);
    return PADA_OK;
}

void pada_bench_images_deinit(pada_bench_images *b)
{
    pada_free(b->bytes);
    pada_free(b->labels);
    pada_batch_maker_deinit(&b->maker);
}
