/* predict.c - what a model sees in picture files. */
#include "model/predict.h"

#include <math.h>
#include <stdio.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/threads.h"
#include "data/picture_form.h"
#include "engine/engine_results.h"

struct pada_predictor {
    const pada_model_about *about; /* borrowed */
    pada_engine *e;                /* borrowed */
    int batch_size, n_threads;
    pada_picture_form form;
    pada_dataset levels;                  /* only the shape and the normalisation of a data set */
    float *images;                        /* [batch_size, 3, size, size] */
    int32_t *labels;                      /* [batch_size] zeros */
    double *p;                            /* [batch_size, classes] */
    char (*problems)[PADA_MESSAGE_BYTES]; /* [batch_size] "": none */
};

static pada_status make_room(pada_predictor *p)
{
    const size_t n = (size_t)p->batch_size;
    void *memory;

    PADA_TRY(
        pada_calloc(&memory, n, (size_t)pada_shape_count(p->levels.shape) * sizeof *p->images));
    p->images = memory;
    PADA_TRY(pada_calloc(&memory, n, sizeof *p->labels));
    p->labels = memory;
    PADA_TRY(pada_calloc(&memory, n, (size_t)p->about->space.config.classes * sizeof *p->p));
    p->p = memory;
    PADA_TRY(pada_calloc(&memory, n, sizeof *p->problems));
    p->problems = memory;
    return PADA_OK;
}

pada_status pada_predictor_create(pada_predictor **out, const pada_model_about *about,
                                  pada_engine *e, int batch_size, int n_threads)
{
    const int size = about->space.config.image_size;
    const pada_dataset_desc how = {.where = "model",
                                   .resize = about->resize,
                                   .crops = about->crops,
                                   .eval_crop = about->eval_crop};
    void *memory;

    *out = NULL;
    PADA_TRY(pada_calloc(&memory, 1, sizeof **out));
    pada_predictor *p = memory;
    *p = (pada_predictor){.about = about, .e = e, .batch_size = batch_size};
    p->n_threads = n_threads > 0 ? n_threads : pada_threads_default();
    p->levels.shape = (pada_shape){PADA_IMAGE_CHANNELS, size, size};
    pada_dataset_normalise(&p->levels, about->card.mean, about->card.deviation);
    pada_status st = pada_picture_form_init(&p->form, &how, size);
    if (st == PADA_OK) st = make_room(p);
    if (st != PADA_OK) {
        pada_predictor_destroy(p);
        return st;
    }
    *out = p;
    return PADA_OK;
}

void pada_predictor_destroy(pada_predictor *p)
{
    if (!p) return;
    pada_free(p->images);
    pada_free(p->labels);
    pada_free(p->p);
    pada_free(p->problems);
    pada_free(p);
}

/* Pictures, as files or in memory. */
typedef struct pictures {
    char *const *files;               /* NULL: in memory */
    const pada_image_source *sources; /* NULL: files */
    int n;
} pictures;

/* Decodes a picture into the place of image i. */
static pada_status read_source(pada_predictor *p, const pada_image_source *source, int i)
{
    float *image = p->images + i * pada_shape_count(p->levels.shape);
    uint8_t *room = pada_dataset_room(&p->levels, image);

    PADA_TRY(pada_picture_form_read(&p->form, source, room));
    pada_dataset_level(&p->levels, room, image);
    return PADA_OK;
}

static pada_status read_picture(pada_predictor *p, const pictures *all, int i)
{
    pada_file file;

    if (all->sources) return read_source(p, &all->sources[i], i);
    PADA_TRY(pada_file_load(&file, all->files[i]));
    const pada_image_source source = {
        .path = all->files[i], .data = file.data, .bytes = file.bytes};
    const pada_status st = read_source(p, &source, i);
    pada_file_close(&file);
    return st;
}

/* Decodes all pictures, in threads. Those that fail leave their message, and black images. Out of memory is returned. */
static pada_status read_pictures(pada_predictor *p, const pictures *all)
{
    const int64_t count = pada_shape_count(p->levels.shape);
    int n_refused = 0;

#pragma omp parallel for schedule(dynamic) num_threads(p->n_threads) reduction(+ : n_refused)
    for (int i = 0; i < all->n; i++) {
        const pada_status st = read_picture(p, all, i);
        p->problems[i][0] = '\0';
        if (st == PADA_OK) continue;
        n_refused += st == PADA_ENOMEM;
        snprintf(p->problems[i], sizeof p->problems[i], "%s", pada_message());
        for (int64_t k = 0; k < count; k++)
            p->images[i * count + k] = 0;
    }
    return n_refused > 0 ? PADA_FAIL(PADA_ENOMEM, "out of memory for pictures") : PADA_OK;
}

/* Logits become probabilities. */
static void normalise(double *p, int n)
{
    double top = p[0], sum = 0;

    for (int i = 1; i < n; i++)
        if (p[i] > top) top = p[i];
    for (int i = 0; i < n; i++)
        sum += p[i] = exp(p[i] - top);
    for (int i = 0; i < n; i++)
        p[i] /= sum;
}

static pada_status predict(pada_predictor *p, const pictures *all, pada_prediction *out)
{
    const int n_classes = p->about->space.config.classes, n = all->n;
    const pada_batch batch = {.n = n, .images = p->images, .labels = p->labels};

    PADA_ASSERT(n >= 1 && n <= p->batch_size);
    PADA_TRY(read_pictures(p, all));
    PADA_TRY(pada_engine_forward(p->e, &p->about->path, &batch, PADA_EVAL));
    PADA_TRY(pada_engine_finish(p->e));
    pada_engine_logits(p->e, p->p);
    for (int i = 0; i < n; i++) {
        const bool is_read = p->problems[i][0] == '\0';
        normalise(p->p + (int64_t)i * n_classes, n_classes);
        out[i] = (pada_prediction){.p = is_read ? p->p + (int64_t)i * n_classes : NULL,
                                   .problem = is_read ? NULL : p->problems[i]};
    }
    return PADA_OK;
}

pada_status pada_predict(pada_predictor *p, char *const *files, int n, pada_prediction *out)
{
    return predict(p, &(pictures){.files = files, .n = n}, out);
}

pada_status pada_predict_sources(pada_predictor *p, const pada_image_source *sources, int n,
                                 pada_prediction *out)
{
    return predict(p, &(pictures){.sources = sources, .n = n}, out);
}
