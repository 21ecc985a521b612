/* strategy_uniform_replacement.c - a control for DA: images with replacement, all equally likely.
 *
 * What DA does to coverage without what it does to importance. */
#include "strategy/importance.h"

static pada_status init(void *self, const pada_strategy_env *env, const void *settings)
{
    const pada_importance_settings both = {.path = {.tau_max = 0},
                                           .data = {.tau_max = 0, .replacement = true}};

    (void)settings;
    return pada_importance_init(self, env, &both);
}

extern const pada_strategy_ops pada_strategy_uniform_replacement;
const pada_strategy_ops pada_strategy_uniform_replacement = {
    .name = "uniform_replacement",
    .summary = "control for da: images uniformly with replacement",
    .init = init,
    PADA_IMPORTANCE_OPS,
};
