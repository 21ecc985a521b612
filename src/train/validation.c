/* validation.c - images that no step trains on, after every epoch: a number to watch. */
#include "train/validation.h"

#include <math.h>

#include "base/mem.h"
#include "engine/engine_results.h"
#include "sampler/path_sampler.h"

/* Counts the images of the most frequent class. */
static pada_status count_guessed(pada_validation *what, const pada_dataset *data, pada_split split)
{
    void *memory;

    PADA_TRY(pada_calloc(&memory, (size_t)data->n_classes, sizeof(int)));
    int *counts = memory;
    for (int i = 0; i < what->n; i++) {
        const int n = ++counts[data->ops->label(data, split, i)];
        if (n > what->n_guessed) what->n_guessed = n;
    }
    pada_free(counts);
    return PADA_OK;
}

pada_status pada_validation_init(pada_validation *what, pada_engine *e, const pada_dataset *data,
                                 int64_t n, int batch_size, uint64_t seed)
{
    const pada_split split = data->n_images[PADA_SPLIT_VAL] > 0 ? PADA_SPLIT_VAL : PADA_SPLIT_TEST;
    const int available = data->n_images[split];
    void *memory;

    *what = (pada_validation){.n = n < available ? (int)n : available, .seed = seed};
    PADA_TRY(count_guessed(what, data, split));
    PADA_TRY(pada_calloc(&memory, (size_t)what->n, sizeof *what->order));
    what->order = memory;
    for (int i = 0; i < what->n; i++)
        what->order[i] = i;
    PADA_TRY(pada_engine_hold(e, data, split));
    return pada_loader_create(
        &what->loader,
        &(pada_loader_desc){.data = data,
                            .split = split,
                            .batch_size = batch_size < available ? batch_size : available,
                            .share = pada_engine_eval_share,
                            .reader = e,
                            .held = pada_engine_holds(e, data, split)});
}

void pada_validation_deinit(pada_validation *what)
{
    pada_loader_destroy(what->loader);
    pada_free(what->order);
    *what = (pada_validation){0};
}

/* Whether a guess could have got as many right. */
static bool is_chance(const pada_validation *what, int64_t n_right)
{
    const double share = (double)what->n_guessed / what->n;

    return (double)n_right <= what->n_guessed + 2 * sqrt(what->n * share * (1 - share));
}

static void add_columns(pada_epoch_metrics *metrics, double loss, double top1, double n_networks)
{
    pada_epoch_metrics_add(metrics, loss, "val_loss");
    pada_epoch_metrics_add(metrics, top1, "val_top1");
    pada_epoch_metrics_add(metrics, n_networks, "val_networks");
}

void pada_validation_skip(pada_epoch_metrics *metrics)
{
    add_columns(metrics, NAN, NAN, NAN);
}

pada_status pada_validate(const pada_validation *what, pada_engine *e, const pada_subspace *within,
                          int64_t epoch, bool last, pada_epoch_metrics *metrics)
{
    pada_path_sampler uniform;
    double loss = 0;
    int64_t top1 = 0;
    int n_batches = 0;
    pada_draws draws;

    pada_path_sampler_init(&uniform, pada_engine_space(e));
    pada_path_sampler_restrict(&uniform, within);
    PADA_TRY(pada_loader_begin(what->loader, 0, what->order, what->n, 0));
    for (;; n_batches++) {
        pada_results_view view;
        pada_path path;
        PADA_TRY(pada_loader_next(what->loader, &draws));
        if (draws.batch.n == 0) break;
        if (what->network)
            path = *what->network;
        else
            pada_path_sampler_draw(&uniform, ~what->seed, epoch * what->n + draws.first, true,
                                   &path);
        PADA_TRY(pada_engine_forward(e, &path, &draws.batch, PADA_EVAL));
        PADA_TRY(pada_engine_results(e, &view));
        loss += view.loss * view.n;
        top1 += view.top1;
    }
    add_columns(metrics, loss / what->n, 100.0 * (double)top1 / what->n,
                what->network ? 1 : n_batches);
    if (last && is_chance(what, top1)) pada_epoch_metrics_warn(metrics, "chance");
    return PADA_OK;
}
