/* strategy_sumnas.c - SUMNAS: Reptile over the paths of a fair group.
 *
 *   theta0 = weights
 *   for each path k:  a few SGD steps on the same batch from theta0;  G_k = theta0 - weights
 *   weights = theta0 - lr (mean G_k + decay theta0)
 *
 * The outer step is the recipe's, with defaults of its own: learning rate 1, no momentum, no
 * clipping. The released code draws one group per epoch, and its inner momentum goes on from path to
 * path and from step to step, so that a path is also moved by what others left behind. */
#include "engine/engine_snapshot.h"
#include "optim/schedule.h"
#include "sampler/fair_paths.h"
#include "strategy/strategy.h"

typedef struct sumnas_settings {
    int64_t inner_steps;
    double inner_lr, inner_momentum, inner_weight_decay, inner_clip;
    bool anneal_inner, as_released;
} sumnas_settings;

#define REAL(option_name, field, value, high, text)                                               \
    {                                                                                             \
        .name = option_name, .type = PADA_OPT_DOUBLE, .offset = offsetof(sumnas_settings, field), \
        .default_value = value, .min = 0, .max = high, .meta = "X", .help = text                  \
    }
#define FLAG(option_name, field, text)                                                          \
    {                                                                                           \
        .name = option_name, .type = PADA_OPT_BOOL, .offset = offsetof(sumnas_settings, field), \
        .default_value = "false", .help = text                                                  \
    }

static const pada_opt options_table[] = {
    {.name = "sumnas-inner-steps",
     .type = PADA_OPT_INT,
     .offset = offsetof(sumnas_settings, inner_steps),
     .default_value = "2",
     .min = 1,
     .max = 100,
     .meta = "N",
     .help = "SGD steps on each path of a group"},
    REAL("sumnas-inner-lr", inner_lr, "0.05", 1e3, "their learning rate"),
    REAL("sumnas-inner-momentum", inner_momentum, "0.9", 1, "their momentum"),
    REAL("sumnas-inner-weight-decay", inner_weight_decay, "0", 1e3, "their weight decay"),
    REAL("sumnas-inner-clip", inner_clip, "5", 1e9, "largest norm of their gradients; 0: any"),
    FLAG("sumnas-anneal-inner", anneal_inner, "their learning rate falls as a cosine, too"),
    FLAG("sumnas-as-released", as_released,
         "paths of an epoch and inner momentum without end, as the released code"),
    {.name = NULL},
};

static const pada_strategy_default defaults[] = {
    {"lr", "1"}, {"momentum", "0"}, {"weight-decay", "4e-05"}, {"clip", "0"}, {NULL, NULL},
};

typedef struct sumnas {
    const pada_strategy_env *env;
    sumnas_settings settings;
    pada_path_sampler sampler; /* uniform, as each path of a group is */
    int n_paths;
} sumnas;

static pada_status bind_settings(void *settings, pada_options *options)
{
    return pada_options_bind(options, options_table, settings);
}

static pada_status init(void *self, const pada_strategy_env *env, const void *settings)
{
    sumnas *s = self;

    s->env = env;
    s->settings = *(const sumnas_settings *)settings;
    if (s->settings.as_released && s->settings.anneal_inner)
        return PADA_FAIL(PADA_EINVAL, "sumnas-as-released: the released code does not anneal; "
                                      "leave out sumnas-anneal-inner");
    PADA_TRY(pada_strategy_check_batches(
        env, "the inner steps of sumnas are made on one batch; use a larger --batch-size"));
    pada_path_sampler_init(&s->sampler, env->space);
    return pada_fair_paths_count(env->space, &s->n_paths);
}

static int passes(const void *self)
{
    const sumnas *s = self;

    return s->n_paths * (int)s->settings.inner_steps;
}

static pada_optim inner_optim(const sumnas *s, const pada_epoch *epoch)
{
    const sumnas_settings *settings = &s->settings;
    const pada_schedule schedule = {.kind = settings->anneal_inner ? PADA_SCHEDULE_COSINE
                                                                   : PADA_SCHEDULE_CONSTANT,
                                    .first = settings->inner_lr};

    return (pada_optim){.lr = pada_schedule_lr(&schedule, epoch->index, s->env->n_epochs),
                        .momentum = settings->inner_momentum,
                        .weight_decay = settings->inner_weight_decay,
                        .clip = settings->inner_clip,
                        .mode = epoch->optim.mode};
}

/* From the snapshot along one path, and back; the way is added to the differences. */
static pada_status visit_path(const sumnas *s, pada_engine *e, const pada_path *path,
                              const pada_draws *draws, const pada_optim *optim)
{
    pada_step_stats stats;

    if (!s->settings.as_released) pada_engine_reset_states(e);
    for (int i = 0; i < s->settings.inner_steps; i++) {
        pada_engine_zero_grad(e);
        PADA_TRY(pada_strategy_add_path(e, path, draws, NULL, 1));
        PADA_TRY(pada_engine_inner_step(e, optim, &stats));
    }
    PADA_TRY(pada_engine_add_difference(e, 1.0 / s->n_paths));
    if (s->settings.as_released)
        pada_engine_restore_weights(e);
    else
        pada_engine_restore(e);
    return PADA_OK;
}

static pada_status step(void *self, pada_engine *e, const pada_draws *draws,
                        const pada_epoch *epoch, int64_t number)
{
    const sumnas *s = self;
    const bool released = s->settings.as_released;
    const pada_optim inner = inner_optim(s, epoch);
    pada_path paths[PADA_MAX_CHOICES];
    pada_step_stats stats;

    pada_fair_paths_draw(s->env->space, s->env->seed, released ? epoch->first_step : number, paths);
    PADA_TRY(pada_engine_snapshot(e));
    /* Inner momentum that goes on needs a place where the outer step does not overwrite it. */
    if (released) PADA_TRY(pada_engine_swap_states(e));
    for (int k = 0; k < s->n_paths; k++)
        PADA_TRY(visit_path(s, e, &paths[k], draws, &inner));
    if (released) PADA_TRY(pada_engine_swap_states(e));
    pada_engine_take_differences(e);
    return pada_engine_step(e, &epoch->optim, &stats);
}

static void distributions(const void *self, const pada_epoch *epoch, pada_distributions *out)
{
    const sumnas *s = self;

    (void)epoch;
    *out = (pada_distributions){.paths = &s->sampler};
}

extern const pada_strategy_ops pada_strategy_sumnas;
const pada_strategy_ops pada_strategy_sumnas = {
    .name = "sumnas",
    .summary = "Reptile over the paths of a fair group (SUMNAS)",
    .settings_bytes = sizeof(sumnas_settings),
    .bind_settings = bind_settings,
    .defaults = defaults,
    .state_bytes = sizeof(sumnas),
    .init = init,
    .passes = passes,
    .step = step,
    .distributions = distributions,
};
