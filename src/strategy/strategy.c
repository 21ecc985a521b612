/* strategy.c - the registry of strategies, and the steps that they share. */
#include "strategy/strategy.h"

#include <string.h>

#include "sampler/data_sampler.h"

#define PADA_STRATEGY(file) extern const pada_strategy_ops pada_strategy_##file;
#include "strategy/strategies.def"
#undef PADA_STRATEGY

static const pada_strategy_ops *const registry[] = {
#define PADA_STRATEGY(file) &pada_strategy_##file,
#include "strategy/strategies.def"
#undef PADA_STRATEGY
};

enum { N_STRATEGIES = sizeof registry / sizeof registry[0] };

int pada_strategy_count(void)
{
    return N_STRATEGIES;
}

const pada_strategy_ops *pada_strategy_get(int i)
{
    PADA_ASSERT(i >= 0 && i < N_STRATEGIES);
    return registry[i];
}

pada_status pada_strategy_find(const pada_strategy_ops **out, const char *name)
{
    const char *names[N_STRATEGIES];

    *out = NULL;
    for (int i = 0; i < N_STRATEGIES; i++) {
        names[i] = registry[i]->name;
        if (strcmp(name, names[i]) == 0) {
            *out = registry[i];
            return PADA_OK;
        }
    }
    return pada_fail_unknown(PADA_EINVAL, "unknown method", name, names, N_STRATEGIES);
}

pada_status pada_strategy_begin_epoch(const pada_strategy_ops *ops, void *self,
                                      const pada_strategy_env *env, const pada_epoch *epoch,
                                      int32_t *order)
{
    if (ops->begin_epoch) return ops->begin_epoch(self, epoch, order);
    pada_data_permute(env->seed, epoch->index, order, env->n_images);
    return PADA_OK;
}

int pada_strategy_batches(const pada_strategy_env *env)
{
    return env->accumulate > 0 ? env->accumulate : 1;
}

int pada_strategy_steps(const pada_strategy_env *env)
{
    const int images = env->batch_size * pada_strategy_batches(env);

    return (env->n_images + images - 1) / images;
}

pada_status pada_strategy_check_batches(const pada_strategy_env *env, const char *why)
{
    if (pada_strategy_batches(env) == 1) return PADA_OK;
    return PADA_FAIL(PADA_EINVAL, "--accumulate %d: %s", env->accumulate, why);
}

void pada_strategy_begin_step(pada_engine *e, const pada_draws *draws)
{
    if (!draws->joins) pada_engine_zero_grad(e);
}

pada_status pada_strategy_end_step(pada_engine *e, const pada_draws *draws, const pada_optim *optim)
{
    pada_step_stats stats;

    return draws->more ? PADA_OK : pada_engine_step(e, optim, &stats);
}

pada_status pada_strategy_add_path(pada_engine *e, const pada_path *path, const pada_draws *draws,
                                   const float *weights, double grad_scale)
{
    pada_batch batch = draws->batch;

    PADA_ASSERT(grad_scale != 0); /* to a batch it would mean 1 */
    batch.weights = weights;
    batch.grad_scale = batch.grad_scale != 0 ? batch.grad_scale * grad_scale : grad_scale;
    PADA_TRY(pada_engine_forward(e, path, &batch, PADA_TRAIN));
    pada_engine_backward(e);
    return PADA_OK;
}

pada_status pada_strategy_single_path(pada_engine *e, const pada_path *path,
                                      const pada_draws *draws, const float *weights,
                                      double grad_scale, const pada_optim *optim)
{
    pada_strategy_begin_step(e, draws);
    PADA_TRY(pada_strategy_add_path(e, path, draws, weights, grad_scale));
    return pada_strategy_end_step(e, draws, optim);
}

void pada_strategy_init_sampler(pada_path_sampler *sampler, const pada_strategy_env *env)
{
    pada_path_sampler_init(sampler, env->space);
    if (env->within) pada_path_sampler_restrict(sampler, env->within);
}

void pada_strategy_visit_path(const pada_space *space, const char *name, pada_path *path,
                              pada_state *state)
{
    pada_state_array(state, name, PADA_STATE_U8, path->choice, PADA_MAX_SLOTS);
    if (!pada_path_is_valid(space, path))
        pada_state_reject(
            state, PADA_FAIL(PADA_EDATA, "a path that space %s does not have", space->ops->name));
}

pada_status pada_strategy_check_sites(const pada_space *space)
{
    if (space->config.blocks > 0)
        return PADA_FAIL(PADA_EINVAL,
                         "this method needs weights that belong to slots; leave --blocks out");
    for (int site = 0; site < space->ops->n_sites(space); site++)
        if (space->ops->site_slot(space, site) < 0)
            return PADA_FAIL(PADA_EINVAL,
                             "this method needs weights that belong to slots; in space %s several "
                             "decide site %d",
                             space->ops->name, site);
    return PADA_OK;
}
