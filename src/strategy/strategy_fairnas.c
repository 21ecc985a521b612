/* strategy_fairnas.c - FairNAS: every choice of every slot once per step, gradients summed.
 *
 * The paths of a fair group see the same batch; their gradients add up to one step, and clipping acts
 * on the sum. The released code draws one group per epoch, because it appends to a list that it
 * never empties. */
#include "sampler/fair_paths.h"
#include "strategy/strategy.h"

typedef struct fairnas_settings {
    bool as_released;
} fairnas_settings;

static const pada_opt options_table[] = {
    {.name = "fairnas-as-released",
     .type = PADA_OPT_BOOL,
     .offset = offsetof(fairnas_settings, as_released),
     .default_value = "false",
     .help = "the same paths in all steps of an epoch, as the released code"},
    {.name = NULL},
};

typedef struct fairnas {
    const pada_strategy_env *env;
    fairnas_settings settings;
    pada_path_sampler sampler; /* uniform, as each path of a group is */
    int n_paths;
} fairnas;

static pada_status bind_settings(void *settings, pada_options *options)
{
    return pada_options_bind(options, options_table, settings);
}

static pada_status init(void *self, const pada_strategy_env *env, const void *settings)
{
    fairnas *s = self;

    s->env = env;
    s->settings = *(const fairnas_settings *)settings;
    pada_path_sampler_init(&s->sampler, env->space);
    return pada_fair_paths_count(env->space, &s->n_paths);
}

static int passes(const void *self)
{
    return ((const fairnas *)self)->n_paths;
}

static pada_status step(void *self, pada_engine *e, const pada_draws *draws,
                        const pada_epoch *epoch, int64_t number)
{
    const fairnas *s = self;
    const int64_t group = s->settings.as_released ? epoch->first_step : number;
    pada_path paths[PADA_MAX_CHOICES];

    pada_fair_paths_draw(s->env->space, s->env->seed, group, paths);
    pada_strategy_begin_step(e, draws);
    for (int k = 0; k < s->n_paths; k++)
        PADA_TRY(pada_strategy_add_path(e, &paths[k], draws, NULL, 1));
    return pada_strategy_end_step(e, draws, &epoch->optim);
}

static void distributions(const void *self, const pada_epoch *epoch, pada_distributions *out)
{
    const fairnas *s = self;

    (void)epoch;
    *out = (pada_distributions){.paths = &s->sampler};
}

extern const pada_strategy_ops pada_strategy_fairnas;
const pada_strategy_ops pada_strategy_fairnas = {
    .name = "fairnas",
    .summary = "every choice of every slot once per step, gradients summed (FairNAS)",
    .settings_bytes = sizeof(fairnas_settings),
    .bind_settings = bind_settings,
    .state_bytes = sizeof(fairnas),
    .init = init,
    .passes = passes,
    .step = step,
    .distributions = distributions,
};
