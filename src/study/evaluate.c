/* evaluate.c - how well a path does on the images of a data set. */
#include "study/evaluate.h"

#include <inttypes.h>

#include "base/hash.h"
#include "base/mem.h"
#include "engine/engine_results.h"

struct pada_evaluator {
    const pada_dataset *data; /* borrowed */
    pada_split split;
    int n_images, batch_size;
    bool has_hash;
    uint64_t hash;    /* of the split and how its images are normalised */
    float *images;    /* [batch_size, 3, h, w] */
    pada_pick *picks; /* [batch_size], for engines that hold the images */
    int32_t *labels;  /* [batch_size] */
    double *logits;   /* [batch_size, classes] */
};

static pada_status make_buffers(pada_evaluator *ev)
{
    const size_t n = (size_t)ev->batch_size;
    void *memory;

    PADA_TRY(
        pada_calloc(&memory, n, (size_t)pada_shape_count(ev->data->shape) * sizeof *ev->images));
    ev->images = memory;
    PADA_TRY(pada_calloc(&memory, n, sizeof *ev->picks));
    ev->picks = memory;
    PADA_TRY(pada_calloc(&memory, n, sizeof *ev->labels));
    ev->labels = memory;
    PADA_TRY(pada_calloc(&memory, n, (size_t)ev->data->n_classes * sizeof *ev->logits));
    ev->logits = memory;
    return PADA_OK;
}

pada_status pada_evaluator_create(pada_evaluator **out, const pada_evaluator_desc *desc)
{
    const int available = desc->data->n_images[desc->split];
    const int n_images = desc->limit > 0 ? desc->limit : available;
    void *memory;
    pada_status st;

    *out = NULL;
    PADA_ASSERT(available > 0);
    if (desc->batch_size < 1)
        return PADA_FAIL(PADA_EINVAL, "batch size %d is not positive", desc->batch_size);
    if (desc->limit < 0 || n_images > available)
        return PADA_FAIL(PADA_EINVAL, "limit %d is not in 1 to %d, the %s images of %s",
                         desc->limit, available, pada_split_name(desc->split), desc->data->name);

    PADA_TRY(pada_calloc(&memory, 1, sizeof **out));
    pada_evaluator *ev = memory;
    ev->data = desc->data;
    ev->split = desc->split;
    ev->n_images = n_images;
    ev->batch_size = desc->batch_size < n_images ? desc->batch_size : n_images;
    if ((st = make_buffers(ev)) != PADA_OK) {
        pada_evaluator_destroy(ev);
        return st;
    }
    *out = ev;
    return PADA_OK;
}

void pada_evaluator_destroy(pada_evaluator *ev)
{
    if (!ev) return;
    pada_free(ev->images);
    pada_free(ev->picks);
    pada_free(ev->labels);
    pada_free(ev->logits);
    pada_free(ev);
}

int pada_evaluator_n_images(const pada_evaluator *ev)
{
    return ev->n_images;
}

int pada_evaluator_batch_size(const pada_evaluator *ev)
{
    return ev->batch_size;
}

void pada_evaluator_describe(pada_evaluator *ev, pada_text *out)
{
    if (!ev->has_hash)
        ev->hash = pada_hash(ev->data->levels, sizeof ev->data->levels,
                             pada_dataset_hash(ev->data, ev->split));
    ev->has_hash = true;
    pada_text_add(out, "%s %s, %d images in batches of %d, hash %016" PRIx64, ev->data->name,
                  pada_split_name(ev->split), ev->n_images, ev->batch_size, ev->hash);
}

/* Images first .. first + n - 1, or only their numbers if the engine holds them. */
static pada_batch make_batch(pada_evaluator *ev, const pada_engine *e, int first, int n)
{
    if (!pada_engine_holds(e, ev->data, ev->split)) {
        pada_dataset_fill(ev->data, ev->split, first, n, ev->images, ev->labels);
        return (pada_batch){.n = n, .images = ev->images, .labels = ev->labels};
    }
    for (int i = 0; i < n; i++) {
        ev->picks[i] = (pada_pick){.image = first + i};
        ev->labels[i] = ev->data->ops->label(ev->data, ev->split, first + i);
    }
    return (pada_batch){.n = n, .picks = ev->picks, .split = (int)ev->split, .labels = ev->labels};
}

/* Runs all batches; logits: or NULL. */
static pada_status run_batches(pada_evaluator *ev, pada_engine *e, const pada_path *path,
                               float *logits)
{
    for (int first = 0; first < ev->n_images; first += ev->batch_size) {
        const int left = ev->n_images - first;
        const int n = left < ev->batch_size ? left : ev->batch_size;
        const pada_batch batch = make_batch(ev, e, first, n);
        PADA_TRY(pada_engine_forward(e, path, &batch, PADA_EVAL));
        if (!logits) continue;
        pada_engine_logits(e, ev->logits);
        for (int64_t k = 0; k < (int64_t)n * ev->data->n_classes; k++)
            *logits++ = (float)ev->logits[k];
    }
    return PADA_OK;
}

pada_status pada_evaluator_run(pada_evaluator *ev, pada_engine *e, const pada_path *path,
                               float *logits, pada_evaluation *out)
{
    pada_results_view view;

    *out = (pada_evaluation){0};
    PADA_TRY(pada_engine_check_data(e, ev->data));
    PADA_TRY(pada_engine_hold(e, ev->data, ev->split));
    PADA_TRY(pada_engine_tally_begin(e, ev->n_images));
    const pada_status ran = run_batches(ev, e, path, logits);
    const pada_status read = pada_engine_tally_end(e, &view);
    PADA_TRY(ran != PADA_OK ? ran : read);
    *out = (pada_evaluation){
        .n_images = view.n, .top1 = view.top1, .top5 = view.top5, .loss = view.loss};
    return PADA_OK;
}
