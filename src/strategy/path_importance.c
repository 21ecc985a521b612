/* path_importance.c - PA: candidates are sampled in proportion to their gradient norms. */
#include "strategy/path_importance.h"

#include <string.h>

#include "strategy/anneal.h"

enum { SHARED, PER_SLOT, GLOBAL };
enum { CLIPPED, UNCLIPPED, UNWEIGHTED };
enum { TOGETHER, EACH };
enum { HALF_MEAN, MEAN, SUM };
enum { EVERY_EPOCH, NEVER };
enum { PER_EPOCH, PER_STEP };

#define CHOICE(option_name, field, words, first, text)                                           \
    {                                                                                            \
        .name = option_name, .type = PADA_OPT_CHOICE,                                            \
        .offset = offsetof(pada_path_settings, field), .default_value = first, .choices = words, \
        .help = text                                                                             \
    }

const pada_opt pada_path_options[] = {
    CHOICE(
        "path-scope", scope, "shared|per_slot|global", "shared",
        "one distribution of choices for the slots of a kind of cell, for each slot, or for all"),
    CHOICE("path-norm", norm, "clipped|unclipped|unweighted", "clipped",
           "take gradient norms after clipping, before it, or before it and --path-reweight"),
    {.name = "path-tensors",
     .type = PADA_OPT_CHOICE,
     .offset = offsetof(pada_path_settings, tensors),
     .default_value = "sum",
     .choices = "concat|sum",
     .help = "norm of a choice with several weight tensors: one of all, or the sum of theirs",
     .before = "sum"}, /* runs of 0.1 are of NAS-Bench-201, whose choices have one tensor */
    CHOICE("path-accumulate", accumulate, "half_ema|mean|sum", "half_ema",
           "how the norms of an epoch's steps are put together"),
    CHOICE("path-reset", reset, "epoch|never", "epoch", "when accumulated norms start anew"),
    CHOICE("path-update", update, "epoch|step", "epoch", "when the distribution changes"),
    CHOICE("path-schedule", schedule, PADA_ANNEAL_CHOICES, "inc",
           "weight of the norms against uniform over the epochs"),
    {.name = "path-tau-max",
     .type = PADA_OPT_DOUBLE,
     .offset = offsetof(pada_path_settings, tau_max),
     .default_value = "1",
     .min = 0,
     .max = 1,
     .meta = "T",
     .help = "largest weight of the norms against uniform"},
    {.name = "path-reweight",
     .type = PADA_OPT_BOOL,
     .offset = offsetof(pada_path_settings, reweight),
     .default_value = "false",
     .help = "divide gradients by the probability of the path (unbiased)"},
    {.name = "skip-dead-cells",
     .type = PADA_OPT_BOOL,
     .offset = offsetof(pada_path_settings, skip_dead),
     .default_value = "false",
     .help = "draw again when nothing flows through a path"},
    {.name = NULL},
};

static int n_slots(const pada_path_importance *pi)
{
    return pi->env->space->ops->n_slots;
}

static int n_choices(const pada_path_importance *pi, int slot)
{
    return pi->env->space->ops->n_choices(pi->env->space, slot);
}

pada_status pada_path_importance_init(pada_path_importance *pi, const pada_strategy_env *env,
                                      const pada_path_settings *settings)
{
    pi->settings = *settings;
    pi->env = env;
    PADA_TRY(pada_strategy_check_sites(env->space));
    pada_strategy_init_sampler(&pi->sampler, env);
    pada_choice_labels_init(&pi->labels, env->space, settings->scope == SHARED);
    return PADA_OK;
}

/* Where the norms of a choice are. Slots that differ in their choices share those of equal labels. */
static int place_of(const pada_path_importance *pi, int slot, int choice)
{
    return pi->settings.scope == PER_SLOT ? slot * PADA_MAX_CHOICES + choice
                                          : pi->labels.of[slot][choice];
}

bool pada_path_importance_by_tensor(const pada_path_importance *pi)
{
    return pi->settings.tensors == EACH;
}

void pada_path_importance_draw(const pada_path_importance *pi, int64_t step, pada_path *path,
                               double *grad_scale)
{
    pada_path_sampler_draw(&pi->sampler, pi->env->seed, step, pi->settings.skip_dead, path);
    *grad_scale = pi->settings.reweight ? pada_path_sampler_ratio(&pi->sampler, path) : 1;
}

static void accumulate(pada_path_importance *pi, int place, double norm)
{
    double *sum = &pi->norms[place];

    pi->counts[place]++;
    *sum += norm;
    if (pi->settings.accumulate == HALF_MEAN) *sum /= 2; /* also the first: it starts at 0 */
}

/* What the norms of a step, of the gradient before clipping, are multiplied by. The step was drawn from the sampler of now. */
static double factor_of(const pada_path_importance *pi, const pada_path *path, double clip_factor)
{
    switch (pi->settings.norm) {
    case CLIPPED: return clip_factor;
    case UNWEIGHTED:
        return pi->settings.reweight ? 1 / pada_path_sampler_ratio(&pi->sampler, path) : 1;
    default: return 1;
    }
}

/* The norms of one step. */
static void add_step(pada_path_importance *pi, const pada_log *log, int step)
{
    const pada_space *space = pi->env->space;
    const int batches = pada_strategy_batches(pi->env); /* a pass on each, of one path */
    const pada_path *path = &log->paths[(size_t)step * (size_t)batches];
    const double *site_norms = log->site_norms + (size_t)step * (size_t)log->n_sites;
    const double factor = factor_of(pi, path, log->clip_factors[step]);
    double sums[PADA_MAX_SLOTS] = {0}, norms[PADA_MAX_LABELS] = {0};
    int n_chosen[PADA_MAX_LABELS] = {0};

    PADA_ASSERT((log->n_passes + batches - 1) / batches == log->n_steps);
    for (int site = 0; site < log->n_sites; site++)
        sums[space->ops->site_slot(space, site)] += factor * site_norms[site];
    for (int slot = 0; slot < n_slots(pi); slot++) {
        if (!pada_path_takes(space, path, slot)) continue;
        const int place = place_of(pi, slot, path->choice[slot]);
        norms[place] += sums[slot];
        n_chosen[place]++;
    }
    for (int place = 0; place < PADA_MAX_LABELS; place++)
        if (norms[place] != 0) accumulate(pi, place, norms[place] / n_chosen[place]);
}

/* The distribution of a slot. */
static void mix(pada_path_importance *pi, int slot, double tau)
{
    const uint32_t allowed = pi->sampler.within.allowed[slot];
    const int n = pada_subspace_choices(&pi->sampler.within, slot);
    double values[PADA_MAX_CHOICES], sum = 0;

    for (int c = 0; c < n_choices(pi, slot); c++) {
        if (!(allowed >> c & 1)) continue;
        const int place = place_of(pi, slot, c);
        const int64_t count = pi->counts[place];
        values[c] = pi->norms[place];
        if (pi->settings.accumulate == MEAN && count > 0) values[c] /= (double)count;
        sum += values[c];
    }
    for (int c = 0; c < n_choices(pi, slot); c++)
        if (allowed >> c & 1)
            pi->sampler.p[slot][c] = sum > 0 ? tau * (values[c] / sum) + (1 - tau) / n : 1.0 / n;
}

static void update(pada_path_importance *pi, const pada_epoch *epoch)
{
    const double tau = pada_anneal_tau((pada_anneal)pi->settings.schedule, pi->settings.tau_max,
                                       epoch->index, pi->env->n_epochs);

    for (int slot = 0; slot < n_slots(pi); slot++)
        mix(pi, slot, tau);
}

pada_status pada_path_importance_after_step(pada_path_importance *pi, pada_engine *e,
                                            const pada_epoch *epoch)
{
    pada_log log;

    if (pi->settings.update != PER_STEP) return PADA_OK;
    PADA_TRY(pada_engine_log_read(e, &log));
    add_step(pi, &log, log.n_steps - 1);
    update(pi, epoch);
    return PADA_OK;
}

void pada_path_importance_end_epoch(pada_path_importance *pi, const pada_log *log,
                                    const pada_epoch *epoch)
{
    if (pi->settings.update == PER_EPOCH) {
        for (int step = 0; step < log->n_steps; step++)
            add_step(pi, log, step);
        update(pi, epoch);
    }
    if (pi->settings.reset == EVERY_EPOCH) {
        memset(pi->norms, 0, sizeof pi->norms);
        memset(pi->counts, 0, sizeof pi->counts);
    }
}

void pada_path_importance_visit(pada_path_importance *pi, pada_state *state)
{
    const int64_t n = PADA_MAX_SLOTS * PADA_MAX_CHOICES;

    pada_state_array(state, "path/probabilities", PADA_STATE_F64, pi->sampler.p, n);
    /* Otherwise they are zero but for the moment between the two lines of end_epoch. */
    if (pi->settings.update == PER_STEP || pi->settings.reset == NEVER) {
        pada_state_array(state, "path/norms", PADA_STATE_F64, pi->norms, n);
        pada_state_array(state, "path/counts", PADA_STATE_I64, pi->counts, n);
    }
}
