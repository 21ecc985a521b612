/* evaluate.c - how well a path does on the images of a data set. */
#include "study/evaluate.h"

#include <inttypes.h>
#include <math.h>

#include "base/hash.h"
#include "base/mem.h"
#include "data/batch_maker.h"
#include "engine/engine_results.h"
#include "engine/engine_statistics.h"
#include "study/judgement.h"

enum { MAX_VIEWS = 2 };

struct pada_evaluator {
    const pada_dataset *data; /* borrowed */
    pada_split split;
    int n_images, batch_size, n_statistics, n_views;
    bool has_margins;
    double margin; /* of the last run */
    bool has_hash[PADA_N_SPLITS];
    uint64_t hash[PADA_N_SPLITS]; /* of a split and how its images are normalised */
    /* for engines like the last one, which held the images or did not; the second: for its statistics */
    pada_batch_maker maker, statistics_maker;
    double *logits; /* [batch_size, classes], and behind them room for another view */
};

pada_status pada_evaluator_create(pada_evaluator **out, const pada_evaluator_desc *desc)
{
    const int available = desc->data->n_images[desc->split];
    const int n_images = desc->limit > 0 ? desc->limit : available;
    void *memory;
    pada_status st;

    *out = NULL;
    PADA_ASSERT(available > 0);
    PADA_ASSERT(desc->views >= 0 && desc->views <= MAX_VIEWS);
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
    ev->n_views = desc->views > 0 ? desc->views : 1;
    ev->has_margins = desc->margins;
    if (desc->statistics_images > 0) {
        const int n_train = desc->data->n_images[PADA_SPLIT_TRAIN];
        PADA_ASSERT(n_train > 0);
        ev->n_statistics = desc->statistics_images < n_train ? desc->statistics_images : n_train;
    }
    st = pada_calloc(&memory, (size_t)ev->n_views * (size_t)ev->batch_size,
                     (size_t)ev->data->n_classes * sizeof *ev->logits);
    if (st != PADA_OK) {
        pada_evaluator_destroy(ev);
        return st;
    }
    ev->logits = memory;
    *out = ev;
    return PADA_OK;
}

void pada_evaluator_destroy(pada_evaluator *ev)
{
    if (!ev) return;
    pada_batch_maker_deinit(&ev->maker);
    pada_batch_maker_deinit(&ev->statistics_maker);
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

int pada_evaluator_views(const pada_evaluator *ev)
{
    return ev->n_views;
}

bool pada_evaluator_has_margins(const pada_evaluator *ev)
{
    return ev->has_margins;
}

static uint64_t hash_of(pada_evaluator *ev, pada_split split)
{
    if (!ev->has_hash[split])
        ev->hash[split] = pada_hash(ev->data->levels, sizeof ev->data->levels,
                                    pada_dataset_hash(ev->data, split));
    ev->has_hash[split] = true;
    return ev->hash[split];
}

void pada_evaluator_describe(pada_evaluator *ev, pada_text *out)
{
    pada_text_add(out, "%s %s, %d images in batches of %d, hash %016" PRIx64, ev->data->name,
                  pada_split_name(ev->split), ev->n_images, ev->batch_size, hash_of(ev, ev->split));
    if (ev->n_views > 1) pada_text_add(out, ", %d views", ev->n_views);
    if (ev->has_margins) pada_text_add(out, ", with margins");
}

void pada_evaluator_describe_statistics(pada_evaluator *ev, const pada_engine *e, pada_text *out)
{
    switch (pada_engine_statistics(e)) {
    case PADA_STATISTICS_BATCH: break;
    case PADA_STATISTICS_RUNNING:
        pada_text_add(out, ", running statistics, hash %016" PRIx64,
                      pada_engine_statistics_hash(e));
        break;
    case PADA_STATISTICS_RECALIBRATED:
        pada_text_add(out, ", statistics of %d train images, hash %016" PRIx64, ev->n_statistics,
                      hash_of(ev, PADA_SPLIT_TRAIN));
        break;
    }
}

/* Room for a batch, of the kind that the engine takes. */
static pada_status make_room(const pada_evaluator *ev, const pada_engine *e, pada_split split,
                             pada_batch_maker *maker)
{
    const bool held = pada_engine_holds(e, ev->data, split);

    if (maker->labels && maker->held == held) return PADA_OK;
    pada_batch_maker_deinit(maker);
    const pada_status st = pada_batch_maker_init(maker, ev->data, split, held, ev->batch_size);
    if (st != PADA_OK) pada_batch_maker_deinit(maker);
    return st;
}

/* Images first .. first + n - 1, not augmented: as they are, or view 1, their mirror images. */
static pada_status make_batch(pada_batch_maker *maker, int first, int n, int view, pada_batch *out)
{
    for (int i = 0; i < n; i++)
        PADA_TRY(view == 0 ? pada_batch_maker_put(maker, i, first + i, NULL)
                           : pada_batch_maker_put_mirrored(maker, i, first + i));
    *out = pada_batch_maker_batch(maker, n);
    return PADA_OK;
}

/* Gives the engine the statistics of the path: means of those of the batches, weighted by their images. */
static pada_status collect_statistics(pada_evaluator *ev, pada_engine *e, const pada_path *path)
{
    PADA_ASSERT(ev->n_statistics > 0);
    PADA_TRY(pada_engine_hold(e, ev->data, PADA_SPLIT_TRAIN));
    PADA_TRY(make_room(ev, e, PADA_SPLIT_TRAIN, &ev->statistics_maker));
    for (int first = 0; first < ev->n_statistics; first += ev->batch_size) {
        const int left = ev->n_statistics - first;
        const int n = left < ev->batch_size ? left : ev->batch_size;
        pada_batch batch;
        PADA_TRY(make_batch(&ev->statistics_maker, first, n, 0, &batch));
        PADA_TRY(pada_engine_collect_statistics(e, path, &batch, (double)n / (first + n)));
    }
    return PADA_OK;
}

/* Runs all batches; logits: or NULL. */
static pada_status run_batches(pada_evaluator *ev, pada_engine *e, const pada_path *path,
                               float *logits)
{
    for (int first = 0; first < ev->n_images; first += ev->batch_size) {
        const int left = ev->n_images - first;
        const int n = left < ev->batch_size ? left : ev->batch_size;
        pada_batch batch;
        PADA_TRY(make_batch(&ev->maker, first, n, 0, &batch));
        PADA_TRY(pada_engine_forward(e, path, &batch, PADA_EVAL));
        if (!logits) continue;
        pada_engine_logits(e, ev->logits);
        for (int64_t k = 0; k < (int64_t)n * ev->data->n_classes; k++)
            *logits++ = (float)ev->logits[k];
    }
    return PADA_OK;
}

/* The backend counts. */
static pada_status run_counted(pada_evaluator *ev, pada_engine *e, const pada_path *path,
                               float *logits, pada_evaluation *out)
{
    pada_results_view view;

    PADA_TRY(pada_engine_tally_begin(e, ev->n_images));
    const pada_status ran = run_batches(ev, e, path, logits);
    const pada_status read = pada_engine_tally_end(e, &view);
    PADA_TRY(ran != PADA_OK ? ran : read);
    *out = (pada_evaluation){
        .n_images = view.n, .top1 = view.top1, .top5 = view.top5, .loss = view.loss};
    return PADA_OK;
}

/* Mean logits of images first .. first + n - 1 over their views, [n, classes], and the labels. */
static pada_status average_views(pada_evaluator *ev, pada_engine *e, const pada_path *path,
                                 int first, int n, const int32_t **labels)
{
    const int64_t count = (int64_t)n * ev->data->n_classes;
    double *next = ev->logits + (int64_t)ev->batch_size * ev->data->n_classes;
    pada_batch batch;

    for (int view = 0; view < ev->n_views; view++) {
        PADA_TRY(make_batch(&ev->maker, first, n, view, &batch));
        PADA_TRY(pada_engine_forward(e, path, &batch, PADA_EVAL));
        pada_engine_logits(e, view == 0 ? ev->logits : next);
        for (int64_t k = 0; k < count && view > 0; k++)
            ev->logits[k] += next[k];
    }
    for (int64_t k = 0; k < count; k++)
        ev->logits[k] /= ev->n_views;
    *labels = batch.labels;
    return PADA_OK;
}

/* The logits of all views are averaged and judged here. */
static pada_status run_judged(pada_evaluator *ev, pada_engine *e, const pada_path *path,
                              float *logits, pada_evaluation *out)
{
    const int n_classes = ev->data->n_classes;
    double loss = 0, margin = 0;
    const int32_t *labels;

    for (int first = 0; first < ev->n_images; first += ev->batch_size) {
        const int left = ev->n_images - first, n = left < ev->batch_size ? left : ev->batch_size;
        PADA_TRY(average_views(ev, e, path, first, n, &labels));
        for (int i = 0; i < n; i++) {
            const double *of_image = ev->logits + (int64_t)i * n_classes;
            const pada_judged v = pada_judge_logits(of_image, n_classes, labels[i]);
            loss += v.loss;
            margin += v.margin;
            out->top1 += v.n_above < 1;
            out->top5 += v.n_above < 5;
            for (int c = 0; c < n_classes && logits; c++)
                *logits++ = (float)of_image[c];
        }
    }
    out->n_images = ev->n_images;
    out->loss = loss / ev->n_images;
    ev->margin = margin / ev->n_images;
    PADA_TRY(pada_engine_finish(e));
    return isfinite(out->loss) ? PADA_OK : PADA_FAIL(PADA_ENUMERIC, "loss is %g", out->loss);
}

pada_status pada_evaluator_run(pada_evaluator *ev, pada_engine *e, const pada_path *path,
                               float *logits, pada_evaluation *out)
{
    *out = (pada_evaluation){0};
    PADA_TRY(pada_engine_check_data(e, ev->data));
    PADA_TRY(pada_engine_hold(e, ev->data, ev->split));
    PADA_TRY(make_room(ev, e, ev->split, &ev->maker));
    if (pada_engine_statistics(e) == PADA_STATISTICS_RECALIBRATED)
        PADA_TRY(collect_statistics(ev, e, path));
    return ev->n_views > 1 || ev->has_margins ? run_judged(ev, e, path, logits, out)
                                              : run_counted(ev, e, path, logits, out);
}

double pada_evaluator_margin(const pada_evaluator *ev)
{
    PADA_ASSERT(ev->has_margins);
    return ev->margin;
}
