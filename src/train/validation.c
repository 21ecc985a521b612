/* validation.c - test images on random paths after every epoch: a number to watch. */
#include "train/validation.h"

#include "sampler/path_sampler.h"

pada_status pada_validate(const pada_validation *what, pada_engine *e, const pada_subspace *within,
                          int64_t epoch, pada_epoch_metrics *metrics)
{
    pada_path_sampler uniform;
    double loss = 0;
    int64_t top1 = 0;
    pada_draws draws;

    pada_path_sampler_init(&uniform, pada_engine_space(e));
    pada_path_sampler_restrict(&uniform, within);
    PADA_TRY(pada_loader_begin(what->loader, 0, what->order, what->n, 0));
    for (pada_loader_next(what->loader, &draws); draws.batch.n > 0;
         pada_loader_next(what->loader, &draws)) {
        pada_results_view view;
        pada_path path;
        pada_path_sampler_draw(&uniform, ~what->seed, epoch * what->n + draws.first, true, &path);
        PADA_TRY(pada_engine_forward(e, &path, &draws.batch, PADA_EVAL));
        PADA_TRY(pada_engine_results(e, &view));
        loss += view.loss * view.n;
        top1 += view.top1;
    }
    pada_epoch_metrics_add(metrics, loss / what->n, "val_loss");
    pada_epoch_metrics_add(metrics, 100.0 * (double)top1 / what->n, "val_top1");
    return PADA_OK;
}
