/* strategy_spos_depth.c - SPOS with paths of different depth, or of different cost, balanced. */
#include "sampler/data_sampler.h"
#include "strategy/path_groups.h"
#include "strategy/strategy.h"

typedef struct spos_depth {
    const pada_strategy_env *env;
    pada_path_groups groups;
} spos_depth;

static pada_status bind_settings(void *settings, pada_options *options)
{
    return pada_options_bind(options, pada_group_options, settings);
}

static pada_status init(void *self, const pada_strategy_env *env, const void *settings)
{
    spos_depth *s = self;

    s->env = env;
    return pada_path_groups_init(&s->groups, env->space, settings, "spos_depth");
}

static void deinit(void *self)
{
    pada_path_groups_deinit(&((spos_depth *)self)->groups);
}

/* Weights are a function of the epoch alone, so that a resumed epoch finds them again. */
static pada_status begin_epoch(void *self, const pada_epoch *epoch, int32_t *order)
{
    spos_depth *s = self;

    pada_path_groups_begin_epoch(&s->groups, epoch->index, s->env->n_epochs);
    pada_data_permute(s->env->seed, epoch->index, order, s->env->n_images);
    return PADA_OK;
}

static pada_status step(void *self, pada_engine *e, const pada_draws *draws,
                        const pada_epoch *epoch, int64_t number)
{
    const spos_depth *s = self;
    pada_path path;

    pada_path_groups_draw(&s->groups, s->env->seed, number, &path);
    return pada_strategy_single_path(e, &path, draws, NULL, 1, &epoch->optim);
}

static void distributions(const void *self, const pada_epoch *epoch, pada_distributions *out)
{
    const spos_depth *s = self;

    (void)epoch;
    *out = (pada_distributions){.paths = &s->groups.sampler};
}

extern const pada_strategy_ops pada_strategy_spos_depth;
const pada_strategy_ops pada_strategy_spos_depth = {
    .name = "spos_depth",
    .summary = "one random path per step, groups of depth or cost equally likely",
    .settings_bytes = sizeof(pada_group_settings),
    .bind_settings = bind_settings,
    .state_bytes = sizeof(spos_depth),
    .init = init,
    .deinit = deinit,
    .begin_epoch = begin_epoch,
    .step = step,
    .distributions = distributions,
};
