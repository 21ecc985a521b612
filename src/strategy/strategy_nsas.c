/* strategy_nsas.c - NSAS: every step also trains an archive of diverse paths.
 *
 *   loss = (1 - beta) CE(current) + beta mean CE(archived)
 *
 * all on the same batch, with one clipped step, so that the current path does not undo what the
 * archived ones have learned. In the released code the losses of the archive are plain numbers
 * without a gradient: what is left is (1 - beta) times the gradient of the current path. Then the
 * archive changes nothing, and its forward passes are not made here. */
#include "strategy/novelty_archive.h"
#include "strategy/strategy.h"

typedef struct nsas_settings {
    pada_novelty_settings archive;
    double beta;
    bool as_released;
} nsas_settings;

#define INT(option_name, field, value, high, text)                                           \
    {                                                                                        \
        .name = option_name, .type = PADA_OPT_INT, .offset = offsetof(nsas_settings, field), \
        .default_value = value, .min = 1, .max = high, .meta = "N", .help = text             \
    }

static const pada_opt options_table[] = {
    INT("nsas-archive", archive.members, "8", PADA_MAX_MEMBERS, "paths in the archive"),
    INT("nsas-neighbours", archive.neighbours, "10", PADA_MAX_MEMBERS,
        "nearest members that the novelty of a path is its mean distance to"),
    INT("nsas-recent", archive.recent, "50", 100000,
        "paths trained last that may replace a member"),
    INT("nsas-candidates", archive.candidates, "10", 100000,
        "random paths of which the most novel becomes a new member"),
    {.name = "nsas-beta",
     .type = PADA_OPT_DOUBLE,
     .offset = offsetof(nsas_settings, beta),
     .default_value = "0.5",
     .min = 0,
     .max = 1,
     .meta = "X",
     .help = "weight of the archive in the loss"},
    {.name = "nsas-as-released",
     .type = PADA_OPT_BOOL,
     .offset = offsetof(nsas_settings, as_released),
     .default_value = "false",
     .help = "no gradient from the archive, as the released code"},
    {.name = NULL},
};

typedef struct nsas {
    const pada_strategy_env *env;
    nsas_settings settings;
    pada_path_sampler sampler; /* uniform: of the current paths */
    pada_novelty_archive archive;
} nsas;

static pada_status bind_settings(void *settings, pada_options *options)
{
    return pada_options_bind(options, options_table, settings);
}

static pada_status init(void *self, const pada_strategy_env *env, const void *settings)
{
    nsas *s = self;

    s->env = env;
    s->settings = *(const nsas_settings *)settings;
    if (s->settings.as_released && s->settings.beta == 1)
        return PADA_FAIL(PADA_EINVAL, "nsas-as-released: with nsas-beta 1 nothing has a gradient");
    pada_path_sampler_init(&s->sampler, env->space);
    return pada_novelty_archive_init(&s->archive, env->space, env->seed, &s->settings.archive);
}

static void deinit(void *self)
{
    pada_novelty_archive_deinit(&((nsas *)self)->archive);
}

static int passes(const void *self)
{
    const nsas *s = self;

    return s->settings.as_released ? 1 : 1 + (int)s->settings.archive.members;
}

/* A path without weight is left out. */
static pada_status add_path(pada_engine *e, const pada_path *path, const pada_draws *draws,
                            double weight)
{
    return weight > 0 ? pada_strategy_add_path(e, path, draws, NULL, weight) : PADA_OK;
}

static pada_status step(void *self, pada_engine *e, const pada_draws *draws,
                        const pada_epoch *epoch, int64_t number)
{
    nsas *s = self;
    const pada_novelty_archive *archive = &s->archive;
    const double beta = s->settings.beta;
    pada_path current;

    pada_path_sampler_draw(&s->sampler, s->env->seed, number, false, &current);
    if (s->settings.as_released)
        return pada_strategy_single_path(e, &current, draws, NULL, 1 - beta, &epoch->optim);
    if (!draws->joins) pada_novelty_archive_update(&s->archive, &current, number);
    pada_strategy_begin_step(e, draws);
    PADA_TRY(add_path(e, &current, draws, 1 - beta));
    for (int i = 0; i < archive->n_members; i++)
        PADA_TRY(add_path(e, &archive->members[i], draws, beta / archive->n_members));
    return pada_strategy_end_step(e, draws, &epoch->optim);
}

static void visit(void *self, pada_state *state)
{
    nsas *s = self;

    if (!s->settings.as_released) pada_novelty_archive_visit(&s->archive, state);
}

static void distributions(const void *self, const pada_epoch *epoch, pada_distributions *out)
{
    const nsas *s = self;

    (void)epoch;
    *out = (pada_distributions){.paths = &s->sampler};
}

extern const pada_strategy_ops pada_strategy_nsas;
const pada_strategy_ops pada_strategy_nsas = {
    .name = "nsas",
    .summary = "a uniformly random path and an archive of diverse ones in every step (NSAS)",
    .settings_bytes = sizeof(nsas_settings),
    .bind_settings = bind_settings,
    .state_bytes = sizeof(nsas),
    .init = init,
    .deinit = deinit,
    .passes = passes,
    .step = step,
    .visit = visit,
    .distributions = distributions,
};
