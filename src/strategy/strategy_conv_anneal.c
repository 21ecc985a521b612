/* strategy_conv_anneal.c - a control for PA: candidates with weights on a fixed schedule.
 *
 * From uniform in the first epoch towards only the choices that have parameters, equally likely
 * among each other, in the same steps as PA but without any gradient norm. If this ranks as well as
 * PA does, the norms do not matter. The schedule may also run backwards, or stand still. */
#include "strategy/anneal.h"
#include "strategy/conv_anneal.h"
#include "strategy/strategy.h"

#include "sampler/data_sampler.h"

typedef struct conv_anneal_settings {
    int schedule; /* pada_anneal */
} conv_anneal_settings;

static const pada_opt options_table[] = {
    {.name = "path-schedule",
     .type = PADA_OPT_CHOICE,
     .offset = offsetof(conv_anneal_settings, schedule),
     .default_value = "inc",
     .choices = PADA_ANNEAL_CHOICES,
     .help = "weight of the choices that have parameters against uniform over the epochs"},
    {.name = NULL},
};

typedef struct conv_anneal {
    const pada_strategy_env *env;
    conv_anneal_settings settings;
    pada_path_sampler sampler;
} conv_anneal;

static pada_status bind_settings(void *settings, pada_options *options)
{
    return pada_options_bind(options, options_table, settings);
}

static pada_status init(void *self, const pada_strategy_env *env, const void *settings)
{
    conv_anneal *s = self;

    s->env = env;
    s->settings = *(const conv_anneal_settings *)settings;
    PADA_TRY(pada_strategy_check_sites(env->space));
    pada_strategy_init_sampler(&s->sampler, env);
    return PADA_OK;
}

/* Bit c of slot i: choice c has parameters. */
static void list_weighted(const pada_space *space, const pada_params *params,
                          uint32_t weighted[PADA_MAX_SLOTS])
{
    for (int site = 0; site < space->ops->n_sites(space); site++) {
        const int slot = space->ops->site_slot(space, site);
        for (int c = 0; c < space->ops->n_choices(space, slot); c++)
            if (pada_params_range(params, site, c).count > 0) weighted[slot] |= UINT32_C(1) << c;
    }
}

void pada_conv_anneal(pada_path_sampler *sampler, const pada_params *params, double tau)
{
    const pada_space *space = sampler->space;
    uint32_t weighted[PADA_MAX_SLOTS] = {0};

    list_weighted(space, params, weighted);
    for (int slot = 0; slot < space->ops->n_slots; slot++) {
        const uint32_t allowed = sampler->within.allowed[slot];
        const pada_subspace those = {.allowed = {allowed & weighted[slot]}};
        const int n = pada_subspace_choices(&sampler->within, slot);
        const int n_weighted = pada_subspace_choices(&those, 0);
        for (int c = 0; c < space->ops->n_choices(space, slot) && n_weighted > 0; c++)
            if (allowed >> c & 1)
                sampler->p[slot][c] =
                    (1 - tau) / n + (weighted[slot] >> c & 1 ? tau / n_weighted : 0);
    }
}

/* A function of the epoch alone, so that a resumed epoch finds it again. */
static pada_status begin_epoch(void *self, const pada_epoch *epoch, int32_t *order)
{
    conv_anneal *s = self;

    pada_conv_anneal(
        &s->sampler, s->env->params,
        pada_anneal_tau((pada_anneal)s->settings.schedule, 1, epoch->index, s->env->n_epochs));
    pada_data_permute(s->env->seed, epoch->index, order, s->env->n_images);
    return PADA_OK;
}

static pada_status step(void *self, pada_engine *e, const pada_draws *draws,
                        const pada_epoch *epoch, int64_t number)
{
    const conv_anneal *s = self;
    pada_path path;

    pada_path_sampler_draw(&s->sampler, s->env->seed, number, false, &path);
    return pada_strategy_single_path(e, &path, draws, NULL, 1, &epoch->optim);
}

static void distributions(const void *self, const pada_epoch *epoch, pada_distributions *out)
{
    const conv_anneal *s = self;

    (void)epoch;
    *out = (pada_distributions){.paths = &s->sampler};
}

extern const pada_strategy_ops pada_strategy_conv_anneal;
const pada_strategy_ops pada_strategy_conv_anneal = {
    .name = "conv_anneal",
    .summary = "control for pa: towards convolutions on a fixed schedule, without norms",
    .settings_bytes = sizeof(conv_anneal_settings),
    .bind_settings = bind_settings,
    .narrows = true,
    .state_bytes = sizeof(conv_anneal),
    .init = init,
    .begin_epoch = begin_epoch,
    .step = step,
    .distributions = distributions,
};
