/* strategy_conv_anneal.c - a control for PA: candidates with weights on a fixed schedule.
 *
 * From uniform in the first epoch towards only the choices that have parameters, equally likely
 * among each other, in the same steps as PA but without any gradient norm. If this ranks as well as
 * PA does, the norms do not matter. */
#include "strategy/strategy.h"

typedef struct conv_anneal {
    const pada_strategy_env *env;
    pada_path_sampler sampler;
    bool weighted[PADA_MAX_SLOTS][PADA_MAX_CHOICES]; /* has parameters at some site of the slot */
} conv_anneal;

static pada_status init(void *self, const pada_strategy_env *env, const void *settings)
{
    conv_anneal *s = self;
    const pada_space *space = env->space;

    (void)settings;
    s->env = env;
    PADA_TRY(pada_strategy_check_sites(space));
    pada_path_sampler_init(&s->sampler, space);
    for (int site = 0; site < space->ops->n_sites(space); site++) {
        const int slot = space->ops->site_slot(space, site);
        for (int c = 0; c < space->ops->n_choices(space, slot); c++)
            if (pada_params_range(env->params, site, c).count > 0) s->weighted[slot][c] = true;
    }
    return PADA_OK;
}

/* A function of the epoch alone, so that a resumed epoch finds it again. */
static void anneal(conv_anneal *s, const pada_epoch *epoch)
{
    const pada_space *space = s->env->space;
    const double tau = (double)epoch->index / s->env->n_epochs;

    for (int slot = 0; slot < space->ops->n_slots; slot++) {
        const int n = space->ops->n_choices(space, slot);
        int n_weighted = 0;
        for (int c = 0; c < n; c++)
            n_weighted += s->weighted[slot][c];
        for (int c = 0; c < n && n_weighted > 0; c++)
            s->sampler.p[slot][c] = (1 - tau) / n + (s->weighted[slot][c] ? tau / n_weighted : 0);
    }
}

static pada_status step(void *self, pada_engine *e, const pada_draws *draws,
                        const pada_epoch *epoch, int64_t number)
{
    conv_anneal *s = self;
    pada_path path;

    anneal(s, epoch);
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
    .state_bytes = sizeof(conv_anneal),
    .init = init,
    .step = step,
    .distributions = distributions,
};
