/* strategy_pa.c - PA alone: paths in proportion to their gradient norms, every image once. */
#include "strategy/importance.h"

static pada_status bind_settings(void *settings, pada_options *options)
{
    return pada_options_bind(options, pada_path_options, settings);
}

static pada_status init(void *self, const pada_strategy_env *env, const void *settings)
{
    const pada_importance_settings both = {.path = *(const pada_path_settings *)settings,
                                           .data = {.replacement = false}};

    return pada_importance_init(self, env, &both);
}

extern const pada_strategy_ops pada_strategy_pa;
const pada_strategy_ops pada_strategy_pa = {
    .name = "pa",
    .summary = "paths in proportion to their gradient norms, every image once per epoch",
    .settings_bytes = sizeof(pada_path_settings),
    .bind_settings = bind_settings,
    .init = init,
    PADA_IMPORTANCE_OPS,
};
