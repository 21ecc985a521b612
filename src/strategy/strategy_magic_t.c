/* strategy_magic_t.c - MAGIC-T: consecutive paths differ in exactly one slot.
 *
 * The first path is uniformly random; every step changes one slot, any of them, to another of its
 * choices, any of them. A path and the next one then disagree little about what shared weights are
 * for. The path is all that is remembered. */
#include "sampler/data_sampler.h"
#include "strategy/strategy.h"

#define MAX_TRIES 1000 /* a space may have no living path one change away */

typedef struct magic_settings {
    bool skip_dead;
} magic_settings;

static const pada_opt options_table[] = {
    {.name = "skip-dead-cells",
     .type = PADA_OPT_BOOL,
     .offset = offsetof(magic_settings, skip_dead),
     .default_value = "false",
     .help = "draw again when nothing would flow through the changed path"},
    {.name = NULL},
};

typedef struct magic {
    const pada_strategy_env *env;
    magic_settings settings;
    pada_path_sampler sampler; /* uniform, as the walk is in the long run */
    pada_path path;            /* of the last step */
} magic;

static pada_status bind_settings(void *settings, pada_options *options)
{
    return pada_options_bind(options, options_table, settings);
}

static pada_status init(void *self, const pada_strategy_env *env, const void *settings)
{
    magic *s = self;

    s->env = env;
    s->settings = *(const magic_settings *)settings;
    for (int slot = 0; slot < env->space->ops->n_slots; slot++)
        if (env->space->ops->n_choices(env->space, slot) < 2)
            return PADA_FAIL(PADA_EINVAL, "method magic_t: slot %d of space %s has no other choice",
                             slot, env->space->ops->name);
    pada_path_sampler_init(&s->sampler, env->space);
    return PADA_OK;
}

static pada_status begin_epoch(void *self, const pada_epoch *epoch, int32_t *order)
{
    const magic *s = self;

    pada_data_permute(s->env->seed, epoch->index, order, s->env->n_images);
    return PADA_OK;
}

/* One slot of the path gets another choice. */
static void change_one_slot(const pada_space *space, pada_rng *rng, pada_path *path)
{
    const uint32_t slot = pada_rng_below(rng, (uint32_t)space->ops->n_slots);
    const uint32_t n = (uint32_t)space->ops->n_choices(space, (int)slot);
    const uint32_t other = pada_rng_below(rng, n - 1);

    path->choice[slot] = (uint8_t)(other + (other >= path->choice[slot]));
}

static void walk(magic *s, int64_t number)
{
    const pada_space *space = s->env->space;
    pada_path next = s->path;
    pada_rng rng;

    pada_rng_init(&rng, s->env->seed, "path", (uint64_t)number);
    for (int tries = 0; tries < MAX_TRIES; tries++) {
        next = s->path;
        change_one_slot(space, &rng, &next);
        if (!s->settings.skip_dead || !space->ops->dead || !space->ops->dead(space, &next)) break;
    }
    s->path = next;
}

static pada_status step(void *self, pada_engine *e, const pada_draws *draws,
                        const pada_epoch *epoch, int64_t number)
{
    magic *s = self;

    if (number == 0)
        pada_path_sampler_draw(&s->sampler, s->env->seed, 0, s->settings.skip_dead, &s->path);
    else
        walk(s, number);
    return pada_strategy_single_path(e, &s->path, draws, NULL, 1, &epoch->sgd);
}

static void visit(void *self, pada_state *state)
{
    magic *s = self;

    pada_state_array(state, "magic/path", PADA_STATE_U8, s->path.choice, PADA_MAX_SLOTS);
    if (!pada_path_is_valid(s->env->space, &s->path))
        pada_state_reject(state, PADA_FAIL(PADA_EDATA, "a path that space %s does not have",
                                           s->env->space->ops->name));
}

static void distributions(const void *self, const pada_epoch *epoch, pada_distributions *out)
{
    const magic *s = self;

    (void)epoch;
    *out = (pada_distributions){.paths = &s->sampler};
}

extern const pada_strategy_ops pada_strategy_magic_t;
const pada_strategy_ops pada_strategy_magic_t = {
    .name = "magic_t",
    .summary = "one path per step that differs from the one before in one slot (MAGIC-T)",
    .settings_bytes = sizeof(magic_settings),
    .bind_settings = bind_settings,
    .state_bytes = sizeof(magic),
    .init = init,
    .begin_epoch = begin_epoch,
    .step = step,
    .visit = visit,
    .distributions = distributions,
};
