/* strategy_magic_at.c - MAGIC-AT: the walk of MAGIC-T, pulled towards the anchor of MAGIC-A. */
#include "strategy/anchor.h"
#include "strategy/path_walk.h"

typedef struct magic_at_settings {
    pada_walk_settings walk;
    pada_anchor_settings anchor;
} magic_at_settings;

typedef struct magic_at {
    pada_path_walk walk;
    pada_anchor anchor;
} magic_at;

static pada_status bind_settings(void *settings, pada_options *options)
{
    magic_at_settings *s = settings;

    PADA_TRY(pada_options_bind(options, pada_anchor_options, &s->anchor));
    return pada_options_bind(options, pada_walk_options, &s->walk);
}

static pada_status init(void *self, const pada_strategy_env *env, const void *settings)
{
    const magic_at_settings *chosen = settings;
    magic_at *s = self;

    PADA_TRY(pada_path_walk_init(&s->walk, env, &chosen->walk));
    return pada_anchor_init(&s->anchor, env, &chosen->anchor);
}

static void deinit(void *self)
{
    pada_anchor_deinit(&((magic_at *)self)->anchor);
}

static pada_status step(void *self, pada_engine *e, const pada_draws *draws,
                        const pada_epoch *epoch, int64_t number)
{
    magic_at *s = self;

    if (!draws->joins) pada_path_walk_step(&s->walk, number);
    return pada_anchor_step(&s->anchor, e, &s->walk.path, draws, epoch, number);
}

static void visit(void *self, pada_state *state)
{
    magic_at *s = self;

    pada_path_walk_visit(&s->walk, state);
    pada_anchor_visit(&s->anchor, state);
}

static void distributions(const void *self, const pada_epoch *epoch, pada_distributions *out)
{
    const magic_at *s = self;

    (void)epoch;
    *out = (pada_distributions){.paths = &s->walk.sampler};
}

extern const pada_strategy_ops pada_strategy_magic_at;
const pada_strategy_ops pada_strategy_magic_at = {
    .name = "magic_at",
    .summary = "the paths of magic_t, pulled towards the features of an anchor (MAGIC-AT)",
    .settings_bytes = sizeof(magic_at_settings),
    .bind_settings = bind_settings,
    .defaults = pada_anchor_defaults,
    .state_bytes = sizeof(magic_at),
    .init = init,
    .deinit = deinit,
    .step = step,
    .visit = visit,
    .distributions = distributions,
};
