/* small_models.h - a small network of each space, with fresh weights and statistics that are not trivial. */
#ifndef PADA_TESTS_MODEL_SMALL_MODELS_H
#define PADA_TESTS_MODEL_SMALL_MODELS_H

#include <string.h>

#include "check.h"
#include "engine/engine_results.h"
#include "engine/engine_statistics.h"
#include "engine/engine_weights.h"
#include "model/model_file.h"

enum { SMALL_CLASSES = 7, SMALL_BATCH = 6, SMALL_MAX_SIDE = 64 };

typedef struct small_space {
    const char *name;
    int side;
    const char *flags[16];
} small_space;

static const small_space small_spaces[] = {
    {"nb201", 16, {"--channels", "5", "--cells", "1", NULL}},
    {"macro", 16, {NULL}},
    {"proxyless", 32, {"--widths", "16,8,16,24,24,32,32,40,64", NULL}},
    {"proxyless", 32, {"--widths", "16,8,16,24,24,32,32,40,64", "--se", "0.25", NULL}},
    {"darts",
     32,
     {"--channels", "4", "--cells", "3", "--final-channels", "4", "--final-cells", "3", NULL}},
};
enum { N_SMALL_SPACES = sizeof small_spaces / sizeof small_spaces[0] };

static inline pada_space make_small_space(const small_space *small)
{
    const pada_space_ops *ops;
    pada_space space;

    CHECK_OK(pada_space_find(&ops, small->name));
    CHECK_OK(pada_space_init(&space, ops,
                             &(pada_space_config){.classes = SMALL_CLASSES,
                                                  .image_size = small->side,
                                                  .flags = small->flags}));
    return space;
}

/* Images and labels of a batch; static memory. */
static inline pada_batch small_batch(int side, int n, uint64_t seed)
{
    static float images[SMALL_BATCH * 3 * SMALL_MAX_SIDE * SMALL_MAX_SIDE];
    static double pixels[sizeof images / sizeof *images];
    static int32_t labels[SMALL_BATCH];

    random_normal(pixels, (int64_t)n * 3 * side * side, seed);
    for (int i = 0; i < n * 3 * side * side; i++)
        images[i] = (float)pixels[i];
    for (int i = 0; i < n; i++)
        labels[i] = i % SMALL_CLASSES;
    return (pada_batch){.n = n, .images = images, .labels = labels};
}

static inline void small_card(pada_data_card *card, int side)
{
    char text[400];

    snprintf(
        text, sizeof text,
        "{\"format\": 1, \"name\": \"test\", \"n_classes\": 7, \"image_size\": %d, \"classes\": "
        "[\"a\", \"b\", \"c\", \"d\", \"e\", \"f\", \"g \\\"h\\\"\"], \"mean\": [0.5, 0.25, 0.125], "
        "\"deviation\": [0.25, 0.5, 1], \"splits\": {}}",
        side);
    CHECK_OK(pada_data_card_parse(card, text, strlen(text), "test"));
}

/* An engine with the network of `about`, whose statistics are those of a few batches. */
static inline pada_engine *make_small_engine(const pada_model_about *about, uint64_t seed)
{
    const int side = about->space.config.image_size;
    const pada_backend *backend;
    pada_engine *e;

    CHECK_OK(pada_backend_find(&backend, "cpu"));
    CHECK_OK(
        pada_engine_create(&e, &(pada_engine_desc){.space = &about->space,
                                                   .backend = backend,
                                                   .n_threads = 1,
                                                   .batch_size = SMALL_BATCH,
                                                   .mode = PADA_EVAL,
                                                   .statistics = PADA_STATISTICS_RECALIBRATED}));
    CHECK_OK(pada_engine_init_weights(e, seed));
    /* Enough that no variance is small by chance, which would make rounding errors large. */
    for (int i = 0; i < 8; i++) {
        const pada_batch batch = small_batch(side, SMALL_BATCH, 10 + (uint64_t)i);
        CHECK_OK(pada_engine_collect_statistics(e, &about->path, &batch, 1.0 / (i + 1)));
    }
    return e;
}

/* The network number i of a space, in one of its forms. Deinit when done. */
static inline void make_small_about(pada_model_about *about, const small_space *small, int i,
                                    bool is_final)
{
    const pada_space space = make_small_space(small);
    pada_rng rng;

    *about = (pada_model_about){.space = space, .eval_crop = 0.75, .top1 = 62.5};
    pada_rng_init(&rng, (uint64_t)i, "network", 0);
    pada_path_random(&space, &rng, &about->path);
    if (is_final) pada_space_finalise(&about->space, &space, &about->path);
    small_card(&about->card, small->side);
    strcpy(about->program, "pada test");
}

/* Logits [SMALL_BATCH, SMALL_CLASSES] of a batch that the statistics are not of. */
static inline void small_logits(pada_engine *e, const pada_model_about *about, double *logits)
{
    const pada_batch batch = small_batch(about->space.config.image_size, SMALL_BATCH, 3);

    CHECK_OK(pada_engine_forward(e, &about->path, &batch, PADA_EVAL));
    pada_engine_logits(e, logits);
}

#endif
