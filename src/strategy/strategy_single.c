/* strategy_single.c - one path for the whole run: the stand-alone training of a network. */
#include "strategy/strategy_single.h"
#include "strategy/strategy.h"

static const pada_opt options_table[] = {
    {.name = "arch",
     .type = PADA_OPT_STRING,
     .offset = offsetof(pada_single_settings, arch),
     .tried = "path|network|architecture",
     .meta = "ARCH",
     .help = "the network to train, in any dialect of the space"},
    {.name = NULL},
};

typedef struct single {
    const pada_strategy_env *env;
    pada_path path;
    pada_path_sampler sampler; /* all weight on the path */
} single;

static pada_status bind_settings(void *settings, pada_options *options)
{
    return pada_options_bind(options, options_table, settings);
}

static pada_status init(void *self, const pada_strategy_env *env, const void *settings)
{
    const pada_single_settings *chosen = settings;
    single *s = self;

    if (!chosen->arch)
        return PADA_FAIL(PADA_EINVAL, "method single: no network to train: give --arch ARCH");
    PADA_TRY(env->space->ops->parse(env->space, chosen->arch, NULL, &s->path));
    s->env = env;
    pada_path_sampler_init(&s->sampler, env->space);
    for (int slot = 0; slot < env->space->ops->n_slots; slot++)
        for (int c = 0; c < env->space->ops->n_choices(env->space, slot); c++)
            s->sampler.p[slot][c] = c == s->path.choice[slot];
    return PADA_OK;
}

static pada_status step(void *self, pada_engine *e, const pada_draws *draws,
                        const pada_epoch *epoch, int64_t number)
{
    const single *s = self;

    (void)number;
    return pada_strategy_single_path(e, &s->path, draws, NULL, 1, &epoch->optim);
}

static void distributions(const void *self, const pada_epoch *epoch, pada_distributions *out)
{
    const single *s = self;

    (void)epoch;
    *out = (pada_distributions){.paths = &s->sampler};
}

static const pada_path *network(const void *self)
{
    return &((const single *)self)->path;
}

const pada_strategy_ops pada_strategy_single = {
    .name = "single",
    .summary = "one network for the whole run: stand-alone training",
    .settings_bytes = sizeof(pada_single_settings),
    .bind_settings = bind_settings,
    .statistics = PADA_STATISTICS_RUNNING,
    .state_bytes = sizeof(single),
    .init = init,
    .step = step,
    .distributions = distributions,
    .network = network,
};
