/* strategy_da.c - DA alone: images in proportion to their gradient norms, paths uniformly. */
#include "strategy/importance.h"

static pada_status bind_settings(void *settings, pada_options *options)
{
    return pada_options_bind(options, pada_data_options, settings);
}

static pada_status init(void *self, const pada_strategy_env *env, const void *settings)
{
    const pada_importance_settings both = {.path = {.tau_max = 0},
                                           .data = *(const pada_data_settings *)settings};

    return pada_importance_init(self, env, &both);
}

extern const pada_strategy_ops pada_strategy_da;
const pada_strategy_ops pada_strategy_da = {
    .name = "da",
    .summary = "images in proportion to their gradient norms, paths uniformly",
    .settings_bytes = sizeof(pada_data_settings),
    .bind_settings = bind_settings,
    .init = init,
    PADA_IMPORTANCE_OPS,
};
