/* strategy_spos.c - SPOS: one uniformly random path per step, every image once per epoch. */
#include "strategy/strategy.h"

typedef struct spos {
    const pada_strategy_env *env;
    pada_path_sampler sampler; /* uniform */
} spos;

static pada_status init(void *self, const pada_strategy_env *env, const void *settings)
{
    spos *s = self;

    (void)settings;
    s->env = env;
    pada_strategy_init_sampler(&s->sampler, env);
    return PADA_OK;
}

static pada_status step(void *self, pada_engine *e, const pada_draws *draws,
                        const pada_epoch *epoch, int64_t number)
{
    const spos *s = self;
    pada_path path;

    pada_path_sampler_draw(&s->sampler, s->env->seed, number, false, &path);
    return pada_strategy_single_path(e, &path, draws, NULL, 1, &epoch->optim);
}

static void distributions(const void *self, const pada_epoch *epoch, pada_distributions *out)
{
    const spos *s = self;

    (void)epoch;
    *out = (pada_distributions){.paths = &s->sampler};
}

extern const pada_strategy_ops pada_strategy_spos;
const pada_strategy_ops pada_strategy_spos = {
    .name = "spos",
    .summary = "one uniformly random path per step (single path one-shot)",
    .narrows = true,
    .state_bytes = sizeof(spos),
    .init = init,
    .step = step,
    .distributions = distributions,
};
