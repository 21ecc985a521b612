/* strategy_magic_a.c - MAGIC-A: uniformly random paths, pulled towards an anchor. */
#include "strategy/anchor.h"

typedef struct magic_a {
    pada_path_sampler sampler; /* uniform */
    pada_anchor anchor;
} magic_a;

static pada_status bind_settings(void *settings, pada_options *options)
{
    return pada_options_bind(options, pada_anchor_options, settings);
}

static pada_status init(void *self, const pada_strategy_env *env, const void *settings)
{
    magic_a *s = self;

    pada_path_sampler_init(&s->sampler, env->space);
    return pada_anchor_init(&s->anchor, env, settings);
}

static void deinit(void *self)
{
    pada_anchor_deinit(&((magic_a *)self)->anchor);
}

static pada_status step(void *self, pada_engine *e, const pada_draws *draws,
                        const pada_epoch *epoch, int64_t number)
{
    magic_a *s = self;
    pada_path path;

    pada_path_sampler_draw(&s->sampler, s->anchor.env->seed, number, false, &path);
    return pada_anchor_step(&s->anchor, e, &path, draws, epoch, number);
}

static void visit(void *self, pada_state *state)
{
    pada_anchor_visit(&((magic_a *)self)->anchor, state);
}

static void distributions(const void *self, const pada_epoch *epoch, pada_distributions *out)
{
    const magic_a *s = self;

    (void)epoch;
    *out = (pada_distributions){.paths = &s->sampler};
}

extern const pada_strategy_ops pada_strategy_magic_a;
const pada_strategy_ops pada_strategy_magic_a = {
    .name = "magic_a",
    .summary = "uniformly random paths, pulled towards the features of an anchor (MAGIC-A)",
    .settings_bytes = sizeof(pada_anchor_settings),
    .bind_settings = bind_settings,
    .defaults = pada_anchor_defaults,
    .state_bytes = sizeof(magic_a),
    .init = init,
    .deinit = deinit,
    .step = step,
    .visit = visit,
    .distributions = distributions,
};
