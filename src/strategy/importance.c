/* importance.c - PA and DA as one strategy. */
#include "strategy/importance.h"

pada_status pada_importance_init(pada_importance *im, const pada_strategy_env *env,
                                 const pada_importance_settings *settings)
{
    im->env = *env;
    PADA_TRY(pada_path_importance_init(&im->path, &im->env, &settings->path));
    return pada_data_importance_init(&im->data, &im->env, &settings->data);
}

void pada_importance_deinit(void *self)
{
    pada_data_importance_deinit(&((pada_importance *)self)->data);
}

pada_status pada_importance_begin_epoch(void *self, const pada_epoch *epoch, int32_t *order)
{
    return pada_data_importance_begin_epoch(&((pada_importance *)self)->data, epoch, order);
}

pada_status pada_importance_step(void *self, pada_engine *e, const pada_draws *draws,
                                 const pada_epoch *epoch, int64_t step)
{
    pada_importance *im = self;
    pada_path path;
    double grad_scale;

    pada_path_importance_draw(&im->path, step, &path, &grad_scale);
    const float *weights = pada_data_importance_weights(&im->data, draws, epoch);
    PADA_TRY(pada_strategy_single_path(e, &path, draws, weights, grad_scale, &epoch->optim));
    return draws->more ? PADA_OK : pada_path_importance_after_step(&im->path, e, epoch);
}

pada_status pada_importance_end_epoch(void *self, const pada_log *log, const pada_epoch *epoch,
                                      const int32_t *order)
{
    pada_importance *im = self;

    pada_path_importance_end_epoch(&im->path, log, epoch);
    pada_data_importance_end_epoch(&im->data, log, epoch, order);
    return PADA_OK;
}

void pada_importance_visit(void *self, pada_state *state)
{
    pada_importance *im = self;

    pada_path_importance_visit(&im->path, state);
    pada_data_importance_visit(&im->data, state);
}

bool pada_importance_by_tensor(const void *self)
{
    return pada_path_importance_by_tensor(&((const pada_importance *)self)->path);
}

void pada_importance_distributions(const void *self, const pada_epoch *epoch,
                                   pada_distributions *out)
{
    const pada_importance *im = self;

    *out = (pada_distributions){.paths = &im->path.sampler,
                                .images = pada_data_importance_p(&im->data, epoch)};
}
