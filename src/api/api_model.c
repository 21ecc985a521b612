/* api_model.c - trained networks of include/pada.h. */
#include <math.h>
#include <stdio.h>

#include "api/api_parts.h"
#include "base/file.h"
#include "base/mem.h"
#include "model/export.h"
#include "model/predict.h"
#include "run/trained.h"

enum { DEFAULT_BATCH = 64 };

struct pada_model {
    pada_trained trained;
    pada_predictor *predictor;
    pada_text arch;
    int batch_size;
    pthread_mutex_t *lock; /* owned; held while the engine is used */
};

/* ---- what it is ---- */

static pada_status open_model(pada_model *model, const char *where, const pada_engine_args *args)
{
    pada_model_about *about = &model->trained.about;

    PADA_TRY(pada__lock_create(&model->lock));
    PADA_TRY(pada_trained_open(&model->trained, where, args, model->batch_size));
    snprintf(about->program, sizeof about->program, "pada %s", pada_version());
    PADA_TRY(about->space.ops->format(&about->space, &about->path, NULL, &model->arch));
    return pada_predictor_create(&model->predictor, about, model->trained.engine, model->batch_size,
                                 (int)args->threads);
}

pada_status pada_model_open(pada_model **out, const char *where, const pada_net_config *config)
{
    int batch_size = DEFAULT_BATCH;
    pada_engine_args args;
    pada_model *model;
    void *memory;

    if (!out) return pada__fail_null(__func__);
    *out = NULL;
    if (!where) return pada__fail_null(__func__);
    PADA_TRY(pada__read_config(config, &args, &batch_size));
    PADA_TRY(pada_calloc(&memory, 1, sizeof *model));
    model = memory;
    model->batch_size = batch_size;
    const pada_status st = open_model(model, where, &args);
    if (st != PADA_OK) {
        pada_model_close(model);
        return st;
    }
    *out = model;
    return PADA_OK;
}

void pada_model_close(pada_model *model)
{
    if (!model) return;
    pada_predictor_destroy(model->predictor);
    pada_trained_close(&model->trained);
    pada_text_deinit(&model->arch);
    pada__lock_destroy(model->lock);
    pada_free(model);
}

int pada_model_classes(const pada_model *model)
{
    return model ? model->trained.about.space.config.classes : 0;
}

const char *pada_model_class_name(const pada_model *model, int class_number)
{
    if (class_number < 0 || class_number >= pada_model_classes(model)) return NULL;
    return pada_data_card_class(&model->trained.about.card, class_number);
}

int pada_model_image_size(const pada_model *model)
{
    return model ? model->trained.about.space.config.image_size : 0;
}

const char *pada_model_arch(const pada_model *model)
{
    return model ? pada_text_str(&model->arch) : NULL;
}

const char *pada_model_space(const pada_model *model)
{
    return model ? model->trained.about.space.ops->name : NULL;
}

/* ---- what it sees ---- */

/* One batch; the caller has the lock. */
static pada_status predict_batch(pada_model *model, const pada_image_source *sources, int n,
                                 pada_prediction *results, float *out)
{
    const int classes = pada_model_classes(model);

    PADA_TRY(pada_predict_sources(model->predictor, sources, n, results));
    for (int i = 0; i < n; i++) {
        if (!results[i].p) return PADA_FAIL(PADA_EDATA, "%s", results[i].problem);
        for (int k = 0; k < classes; k++)
            out[(int64_t)i * classes + k] = (float)results[i].p[k];
    }
    return PADA_OK;
}

static pada_status predict_all(pada_model *model, const pada_image_source *sources, int n,
                               float *out)
{
    const int classes = pada_model_classes(model);
    pada_status st = PADA_OK;
    void *results;

    PADA_TRY(pada_calloc(&results, (size_t)model->batch_size, sizeof(pada_prediction)));
    pada__lock_take(model->lock);
    for (int first = 0; first < n && st == PADA_OK; first += model->batch_size) {
        const int left = n - first;
        st = predict_batch(model, sources + first,
                           left < model->batch_size ? left : model->batch_size, results,
                           out + (int64_t)first * classes);
    }
    pada_free(results);
    return pada__lock_give_back(model->lock, st);
}

/* The same; only what succeeds is written. */
static pada_status predict(pada_model *model, const pada_image_source *sources, int n, float *out)
{
    const int64_t count = (int64_t)n * pada_model_classes(model);
    void *found;

    PADA_TRY(pada_calloc(&found, (size_t)count, sizeof *out));
    const pada_status st = predict_all(model, sources, n, found);
    for (int64_t i = 0; i < count && st == PADA_OK; i++)
        out[i] = ((const float *)found)[i];
    pada_free(found);
    return st;
}

pada_status pada_model_predict(pada_model *model, const uint8_t *rgb, int n, int width, int height,
                               float *probabilities)
{
    pada_image_source *sources;
    void *memory;

    if (!model || !rgb || !probabilities) return pada__fail_null(__func__);
    if (n < 1) return PADA_FAIL(PADA_EINVAL, "%d pictures: there must be one", n);
    if (width < 1 || height < 1 || width > PADA_IMAGE_MAX_SIDE || height > PADA_IMAGE_MAX_SIDE)
        return PADA_FAIL(PADA_EINVAL, "pictures of %d x %d pixels; sides may be 1 to %d", width,
                         height, PADA_IMAGE_MAX_SIDE);
    const size_t bytes = (size_t)width * (size_t)height * 3;
    PADA_TRY(pada_calloc(&memory, (size_t)n, sizeof *sources));
    sources = memory;
    for (int i = 0; i < n; i++)
        sources[i] = (pada_image_source){.path = "a picture in memory",
                                         .data = rgb + (size_t)i * bytes,
                                         .bytes = bytes,
                                         .width = width,
                                         .height = height};
    const pada_status st = predict(model, sources, n, probabilities);
    pada_free(sources);
    return st;
}

pada_status pada_model_predict_file(pada_model *model, const char *path, float *probabilities)
{
    pada_file file;

    if (!model || !path || !probabilities) return pada__fail_null(__func__);
    PADA_TRY(pada_file_load(&file, path));
    const pada_image_source source = {.path = path, .data = file.data, .bytes = file.bytes};
    const pada_status st = predict(model, &source, 1, probabilities);
    pada_file_close(&file);
    return st;
}

/* ---- what it gets ---- */

static bool is_normalised_alike(const pada_data_card *a, const pada_data_card *b)
{
    const double rounding = 1e-6;

    for (int c = 0; c < PADA_IMAGE_CHANNELS; c++)
        if (fabs(a->mean[c] - b->mean[c]) > rounding ||
            fabs(a->deviation[c] - b->deviation[c]) > rounding)
            return false;
    return true;
}

static pada_status check_images(const pada_model *model, const pada_images *images)
{
    const pada_data_card *own = &model->trained.about.card;
    const char *name = images->data->name;
    pada_data_card card = {0};

    if (!own->json) return PADA_OK;
    pada_status st = pada_data_card_init(&card, images->data);
    if (st == PADA_OK) st = pada_data_card_check_classes(own, &card, "the model", name);
    if (st == PADA_OK && !is_normalised_alike(own, &card))
        st = PADA_FAIL(PADA_EDATA, "%s: normalised otherwise than the images of the model", name);
    pada_data_card_deinit(&card);
    return st;
}

pada_status pada_model_evaluate(pada_model *model, const pada_images *images, int limit,
                                pada_evaluation *out)
{
    pada_evaluator *evaluator;
    pada_evaluation result;

    if (!model || !images || !out) return pada__fail_null(__func__);
    PADA_TRY(check_images(model, images));
    PADA_TRY(
        pada_evaluator_create(&evaluator, &(pada_evaluator_desc){.data = images->data,
                                                                 .split = images->split,
                                                                 .limit = limit,
                                                                 .batch_size = model->batch_size}));
    pada__lock_take(model->lock);
    const pada_status st = pada__lock_give_back(
        model->lock, pada_evaluator_run(evaluator, model->trained.engine,
                                        &model->trained.about.path, NULL, &result));
    pada_evaluator_destroy(evaluator);
    if (st == PADA_OK) *out = result;
    return st;
}

/* ---- what others get ---- */

pada_status pada_model_export(pada_model *model, const char *format, const char *path,
                              const pada_export_config *config)
{
    static const pada_export_config defaults;

    if (!model || !format || !path) return pada__fail_null(__func__);
    if (!config) config = &defaults;
    const pada_export_order order = {.format = format,
                                     .file = path,
                                     .name = config->name,
                                     .weights_file = config->weights_file,
                                     .fold_norms = config->keep_norms == 0,
                                     .normalise = config->normalise != 0};
    PADA_TRY(pada_export_check(&order));
    pada__lock_take(model->lock);
    return pada__lock_give_back(
        model->lock, pada_export_write(&order, &model->trained.about, model->trained.engine));
}
