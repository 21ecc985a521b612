/* api.c - the functions of include/pada.h: arguments are checked here, the layers below do the work. */
#include <pthread.h>
#include <string.h>

#include "base/mem.h"
#include "data/dataset.h"
#include "engine/engine.h"
#include "engine/engine_results.h"
#include "engine/engine_weights.h"
#include "pada.h"
#include "space/space.h"
#include "study/evaluate.h"

enum { DEFAULT_BATCH = 512, MAX_BATCH = 65536, MAX_THREADS = 1024 };

struct pada_images {
    pada_dataset *data;
    pada_split split;
};

struct pada_net {
    pada_engine *engine;
    int batch_size;
    pthread_mutex_t *lock; /* owned; held while the engine is used */
};

const char *pada_version(void)
{
    return PADA_VERSION;
}

static pada_status fail_null(const char *function)
{
    return PADA_FAIL(PADA_EINVAL, "%s: an argument is NULL", function);
}

/* ---- search spaces ---- */

pada_status pada_space_open(pada_space **out, const char *name, const pada_space_config *config)
{
    const pada_space_ops *ops;
    pada_space space;
    void *memory;

    if (!out) return fail_null(__func__);
    *out = NULL;
    if (!name) return fail_null(__func__);
    PADA_TRY(pada_space_find(&ops, name));
    PADA_TRY(pada_space_init(&space, ops, config));
    PADA_TRY(pada_calloc(&memory, 1, sizeof space));
    *out = memory;
    **out = space;
    return PADA_OK;
}

void pada_space_close(pada_space *space)
{
    pada_free(space);
}

int pada_space_n_slots(const pada_space *space)
{
    return space ? space->ops->n_slots : 0;
}

int pada_space_n_choices(const pada_space *space, int slot)
{
    if (!space || slot < 0 || slot >= space->ops->n_slots) return 0;
    return space->ops->n_choices(space, slot);
}

/* ---- architectures ---- */

pada_status pada_path_parse(const pada_space *space, const char *text, const char *dialect,
                            pada_path *out)
{
    pada_path path = {0};

    if (!space || !text || !out) return fail_null(__func__);
    PADA_TRY(space->ops->parse(space, text, dialect, &path));
    *out = path;
    return PADA_OK;
}

static pada_status check_path(const pada_space *space, const pada_path *path)
{
    if (pada_path_is_valid(space, path)) return PADA_OK;
    return PADA_FAIL(PADA_EINVAL, "the path has a choice that space %s does not have",
                     space->ops->name);
}

pada_status pada_path_format(const pada_space *space, const pada_path *path, const char *dialect,
                             char *buffer, size_t bytes)
{
    pada_text text = {0};

    if (!space || !path || !buffer) return fail_null(__func__);
    PADA_TRY(check_path(space, path));
    pada_status st = space->ops->format(space, path, dialect, &text);
    if (st == PADA_OK && text.length >= bytes)
        st = PADA_FAIL(PADA_EINVAL, "a buffer of %zu bytes is too small for an architecture of %zu",
                       bytes, text.length + 1);
    if (st == PADA_OK) memcpy(buffer, pada_text_str(&text), text.length + 1);
    pada_text_deinit(&text);
    return st;
}

/* ---- images ---- */

pada_status pada_images_open(pada_images **out, const char *where, pada_split split, int image_size)
{
    pada_images *images;
    void *memory;

    if (!out) return fail_null(__func__);
    *out = NULL;
    if (!where) return fail_null(__func__);
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

pada_status pada_images_read(const pada_images *images, int first, int n, float *pixels,
                             int32_t *labels)
{
    if (!images || !pixels || !labels) return fail_null(__func__);
    const int count = pada_images_count(images);
    if (first < 0 || n < 0 || first > count || n > count - first)
        return PADA_FAIL(PADA_EINVAL, "images %d to %lld are not among the %d of %s", first,
                         (long long)first + n - 1, count, images->data->name);
    return pada_dataset_fill(images->data, images->split, first, n, pixels, labels);
}

/* ---- supernets ---- */

static pada_status check_range(const char *what, int value, int max)
{
    if (value >= 0 && value <= max) return PADA_OK;
    return PADA_FAIL(PADA_EINVAL, "%s %d is not in 0 to %d", what, value, max);
}

/* The description of an engine; `config` may be NULL. */
static pada_status describe_engine(pada_engine_desc *desc, const pada_net_config *config)
{
    static const pada_net_config defaults;

    if (!config) config = &defaults;
    PADA_TRY(check_range("threads", config->threads, MAX_THREADS));
    PADA_TRY(check_range("batch size", config->batch_size, MAX_BATCH));
    desc->n_threads = config->threads;
    desc->batch_size = config->batch_size ? config->batch_size : DEFAULT_BATCH;
    desc->mode = PADA_EVAL;
    PADA_TRY(pada_backend_find(&desc->backend, config->backend ? config->backend : "auto"));
    if (desc->backend->plans_only)
        return PADA_FAIL(PADA_EINVAL, "backend %s computes nothing", desc->backend->name);
    return PADA_OK;
}

static pada_status create_lock(pthread_mutex_t **out)
{
    void *memory;

    PADA_TRY(pada_calloc(&memory, 1, sizeof **out));
    const int error = pthread_mutex_init(memory, NULL);
    if (error != 0) {
        pada_free(memory);
        return PADA_FAIL(PADA_ENOMEM, "out of memory (a lock: %s)", strerror(error));
    }
    *out = memory;
    return PADA_OK;
}

pada_status pada_net_create(pada_net **out, const pada_space *space, const pada_net_config *config)
{
    pada_engine_desc desc = {.space = space};
    pada_net *net;
    void *memory;
    pada_status st;

    if (!out) return fail_null(__func__);
    *out = NULL;
    if (!space) return fail_null(__func__);
    PADA_TRY(describe_engine(&desc, config));
    if (space->config.blocks == 0) desc.statistics = PADA_STATISTICS_RUNNING;
    PADA_TRY(pada_calloc(&memory, 1, sizeof *net));
    net = memory;
    net->batch_size = desc.batch_size;
    st = create_lock(&net->lock);
    if (st == PADA_OK) st = pada_engine_create(&net->engine, &desc);
    if (st == PADA_OK) st = pada_engine_init_weights(net->engine, 0);
    if (st != PADA_OK) {
        pada_net_destroy(net);
        return st;
    }
    *out = net;
    return PADA_OK;
}

void pada_net_destroy(pada_net *net)
{
    if (!net) return;
    pada_engine_destroy(net->engine);
    if (net->lock) pthread_mutex_destroy(net->lock);
    pada_free(net->lock);
    pada_free(net);
}

/* The engine, for this thread alone until it is given back; others wait. */
static pada_engine *take_engine(const pada_net *net)
{
    PADA_ASSERT(pthread_mutex_lock(net->lock) == 0);
    return net->engine;
}

static pada_status give_back(const pada_net *net, pada_status st)
{
    PADA_ASSERT(pthread_mutex_unlock(net->lock) == 0);
    return st;
}

pada_status pada_net_init(pada_net *net, uint64_t seed)
{
    if (!net) return fail_null(__func__);
    return give_back(net, pada_engine_init_weights(take_engine(net), seed));
}

pada_status pada_net_load(pada_net *net, const char *path)
{
    if (!net || !path) return fail_null(__func__);
    return give_back(net, pada_engine_load_weights(take_engine(net), path));
}

pada_status pada_net_save(const pada_net *net, const char *path)
{
    if (!net || !path) return fail_null(__func__);
    return give_back(net, pada_engine_save_weights(take_engine(net), path));
}

pada_status pada_net_evaluate(pada_net *net, const pada_path *path, const pada_images *images,
                              int limit, pada_evaluation *out)
{
    pada_evaluator *evaluator;
    pada_evaluation result;

    if (!net || !path || !images || !out) return fail_null(__func__);
    PADA_TRY(check_path(pada_engine_space(net->engine), path));
    PADA_TRY(pada_evaluator_create(&evaluator, &(pada_evaluator_desc){
                                                   .data = images->data,
                                                   .split = images->split,
                                                   .limit = limit,
                                                   .batch_size = net->batch_size,
                                               }));
    const pada_status st =
        give_back(net, pada_evaluator_run(evaluator, take_engine(net), path, NULL, &result));
    pada_evaluator_destroy(evaluator);
    if (st == PADA_OK) *out = result;
    return st;
}

static pada_status predict(pada_engine *engine, const pada_path *path, const pada_batch *batch,
                           double *scores)
{
    PADA_TRY(pada_engine_forward(engine, path, batch, PADA_EVAL));
    PADA_TRY(pada_engine_finish(engine));
    pada_engine_logits(engine, scores);
    return PADA_OK;
}

pada_status pada_net_predict(pada_net *net, const pada_path *path, const float *pixels, int n,
                             float *logits)
{
    void *labels = NULL, *scores = NULL;
    pada_status st;

    if (!net || !path || !pixels || !logits) return fail_null(__func__);
    const pada_space *space = pada_engine_space(net->engine);
    const int classes = space->config.classes;
    PADA_TRY(check_path(space, path));
    if (n < 1 || n > net->batch_size)
        return PADA_FAIL(PADA_EINVAL, "%d images are not in 1 to %d, the batch size", n,
                         net->batch_size);
    /* Of no class in particular: only the loss depends on labels, and nobody asks for it. */
    if ((st = pada_calloc(&labels, (size_t)n, sizeof(int32_t))) != PADA_OK) goto out;
    if ((st = pada_calloc(&scores, (size_t)n, (size_t)classes * sizeof(double))) != PADA_OK)
        goto out;
    const pada_batch batch = {.n = n, .images = pixels, .labels = labels};
    if ((st = give_back(net, predict(take_engine(net), path, &batch, scores))) != PADA_OK) goto out;
    for (int64_t i = 0; i < (int64_t)n * classes; i++)
        logits[i] = (float)((const double *)scores)[i];
out:
    pada_free(labels);
    pada_free(scores);
    return st;
}
