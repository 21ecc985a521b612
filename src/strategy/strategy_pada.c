/* strategy_pada.c - PA&DA: paths and images in proportion to their gradient norms. */
#include "strategy/importance.h"

static pada_status bind_settings(void *settings, pada_options *options)
{
    pada_importance_settings *s = settings;

    PADA_TRY(pada_options_bind(options, pada_path_options, &s->path));
    return pada_options_bind(options, pada_data_options, &s->data);
}

static pada_status init(void *self, const pada_strategy_env *env, const void *settings)
{
    return pada_importance_init(self, env, settings);
}

extern const pada_strategy_ops pada_strategy_pada;
const pada_strategy_ops pada_strategy_pada = {
    .name = "pada",
    .summary = "paths and images in proportion to their gradient norms (PA&DA)",
    .settings_bytes = sizeof(pada_importance_settings),
    .bind_settings = bind_settings,
    .init = init,
    PADA_IMPORTANCE_OPS,
};
