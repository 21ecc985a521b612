/* strategy_magic_t.c - MAGIC-T: consecutive paths differ in exactly one slot, so that a path and
 * the next one disagree little about what shared weights are for. */
#include "strategy/path_walk.h"

static pada_status bind_settings(void *settings, pada_options *options)
{
    return pada_options_bind(options, pada_walk_options, settings);
}

static pada_status init(void *self, const pada_strategy_env *env, const void *settings)
{
    return pada_path_walk_init(self, env, settings);
}

static pada_status step(void *self, pada_engine *e, const pada_draws *draws,
                        const pada_epoch *epoch, int64_t number)
{
    pada_path_walk *s = self;

    if (!draws->joins) pada_path_walk_step(s, number);
    return pada_strategy_single_path(e, &s->path, draws, NULL, 1, &epoch->optim);
}

static void visit(void *self, pada_state *state)
{
    pada_path_walk_visit(self, state);
}

static void distributions(const void *self, const pada_epoch *epoch, pada_distributions *out)
{
    const pada_path_walk *s = self;

    (void)epoch;
    *out = (pada_distributions){.paths = &s->sampler};
}

extern const pada_strategy_ops pada_strategy_magic_t;
const pada_strategy_ops pada_strategy_magic_t = {
    .name = "magic_t",
    .summary = "one path per step that differs from the one before in one slot (MAGIC-T)",
    .settings_bytes = sizeof(pada_walk_settings),
    .bind_settings = bind_settings,
    .state_bytes = sizeof(pada_path_walk),
    .init = init,
    .step = step,
    .visit = visit,
    .distributions = distributions,
};
