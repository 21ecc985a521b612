/* strategy_gm.c - GM-NAS: supernets split in two where the gradients of choices disagree.
 *
 *   level 0            1 supernet   a few epochs, then a split
 *   level 1 .. n - 1   2, 4, ..     from the weights of their parents; the same
 *   level n            2^n          from fresh weights, to the end
 *
 * Before a split every slot that is still whole is looked at. On a batch and with a random path, each
 * of its choices in turn is put into the path; g_c is the gradient then, of all parameters but those
 * of the slot:
 *
 *   D[c, d] = mean of 1 - <g_c, g_d> / (|g_c| |g_d| + 1e-6)
 *
 * The choices of a slot go to two groups that have as much distance between them as possible, and the
 * slot where that is most is split. Phases are numbered level by level: i has the children 2 i + 1 and
 * 2 i + 2. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "engine/engine_gradients.h"
#include "engine/engine_log.h"
#include "sampler/data_sampler.h"
#include "strategy/best_cut.h"
#include "strategy/strategy.h"

#define NORM_FLOOR 1e-6
#define NOT_SPLIT  (-1)

typedef struct gm_settings {
    int64_t splits, repeats, warmup_epochs, final_epochs;
} gm_settings;

#define INT(option_name, field, value, low, high, text)                                    \
    {                                                                                      \
        .name = option_name, .type = PADA_OPT_INT, .offset = offsetof(gm_settings, field), \
        .default_value = value, .min = low, .max = high, .meta = "N", .help = text         \
    }

static const pada_opt options_table[] = {
    INT("splits", splits, "3", 1, 8, "levels of splits: 1, 2, 3 make 2, 4, 8 final supernets"),
    INT("split-repeats", repeats, "100", 1, 1e6,
        "batches and paths on which the gradients are compared before a split"),
    INT("warmup-epochs", warmup_epochs, "0", 0, 1e6,
        "epochs of a supernet before it is split; 0: 0.1 of --epochs"),
    INT("final-epochs", final_epochs, "0", 0, 1e6,
        "epochs of each final supernet; 0: 0.5 of --epochs"),
    {.name = NULL},
};

typedef struct gm {
    const pada_strategy_env *env;
    gm_settings settings; /* resolved */
    int n_split;          /* phases that are split; their children are twice as many and follow */
    int32_t *slots;       /* [n_split] where each was split, or NOT_SPLIT */
    uint32_t *groups;     /* [n_split] choices of the first child there, as in a sub-space */
    double *distances;    /* [slots of the space, PADA_MAX_CHOICES, PADA_MAX_CHOICES] sums */
    pada_subspace part;   /* of the phase */
    pada_path_sampler sampler;
} gm;

static pada_status bind_settings(void *settings, pada_options *options)
{
    return pada_options_bind(options, options_table, settings);
}

static int64_t share_of(int n_epochs, int tenths)
{
    const int64_t share = (int64_t)n_epochs * tenths / 10;

    return share > 0 ? share : 1;
}

static int64_t n_distances(const gm *s)
{
    return (int64_t)s->env->space->ops->n_slots * PADA_MAX_CHOICES * PADA_MAX_CHOICES;
}

static double *distances_of(const gm *s, int slot)
{
    return s->distances + (int64_t)slot * PADA_MAX_CHOICES * PADA_MAX_CHOICES;
}

static pada_status check_slots(const gm *s)
{
    const pada_space *space = s->env->space;
    int n = 0;

    if (space->ops->takes)
        return PADA_FAIL(PADA_EINVAL,
                         "method gm: paths of space %s do not use all slots, so that the gradients "
                         "of two choices are not of the same weights",
                         space->ops->name);
    for (int slot = 0; slot < space->ops->n_slots; slot++)
        n += space->ops->n_choices(space, slot) > 1;
    if (s->settings.splits > n)
        return PADA_FAIL(PADA_EINVAL, "--splits %d: space %s has only %d slots to split",
                         (int)s->settings.splits, space->ops->name, n);
    return PADA_OK;
}

static pada_status init(void *self, const pada_strategy_env *env, const void *settings)
{
    gm *s = self;
    void *memory;

    s->env = env;
    s->settings = *(const gm_settings *)settings;
    PADA_TRY(pada_strategy_check_sites(env->space));
    if (s->settings.warmup_epochs == 0) s->settings.warmup_epochs = share_of(env->n_epochs, 1);
    if (s->settings.final_epochs == 0) s->settings.final_epochs = share_of(env->n_epochs, 5);
    s->n_split = (1 << s->settings.splits) - 1;
    PADA_TRY(check_slots(s));
    PADA_TRY(pada_calloc(&memory, (size_t)s->n_split, sizeof *s->slots));
    s->slots = memory;
    PADA_TRY(pada_calloc(&memory, (size_t)s->n_split, sizeof *s->groups));
    s->groups = memory;
    PADA_TRY(pada_calloc(&memory, (size_t)n_distances(s), sizeof *s->distances));
    s->distances = memory;
    for (int i = 0; i < s->n_split; i++)
        s->slots[i] = NOT_SPLIT;
    pada_path_sampler_init(&s->sampler, env->space);
    return PADA_OK;
}

static void deinit(void *self)
{
    gm *s = self;

    pada_free(s->slots);
    pada_free(s->groups);
    pada_free(s->distances);
}

/* ---- phases ---- */

static int parent_of(int phase)
{
    return (phase - 1) / 2;
}

static int level_of(int phase)
{
    int level = 0;

    for (; phase > 0; phase = parent_of(phase))
        level++;
    return level;
}

static int n_phases(const void *self)
{
    return 2 * ((const gm *)self)->n_split + 1;
}

/* Supernets that will be split follow the schedule of a run of --epochs from level to level; final
 * ones have a schedule of their own. */
static void get_phase(const void *self, int phase, pada_phase *out)
{
    const gm *s = self;
    const gm_settings *settings = &s->settings;
    const int64_t warmup = settings->warmup_epochs;

    if (phase >= s->n_split)
        *out = (pada_phase){.parent = PADA_FRESH,
                            .n_epochs = (int)settings->final_epochs,
                            .lr_epochs = (int)settings->final_epochs,
                            .final = true};
    else
        *out = (pada_phase){.parent = phase == 0 ? PADA_FRESH : parent_of(phase),
                            .n_epochs = (int)warmup,
                            .n_probes = (int)settings->repeats,
                            .lr_first = (int)(level_of(phase) * warmup),
                            .lr_epochs = warmup * settings->splits > s->env->n_epochs
                                             ? (int)(warmup * settings->splits)
                                             : s->env->n_epochs};
}

static pada_status get_subspace(const void *self, int phase, pada_subspace *out)
{
    const gm *s = self;

    pada_subspace_init(out, s->env->space);
    for (; phase > 0; phase = parent_of(phase)) {
        const int parent = parent_of(phase), slot = s->slots[parent];
        const bool first = phase == 2 * parent + 1;
        if (slot == NOT_SPLIT)
            return PADA_FAIL(PADA_EDATA, "a checkpoint in supernet %d, whose parent is not split",
                             phase);
        out->allowed[slot] &= first ? s->groups[parent] : ~s->groups[parent];
    }
    return PADA_OK;
}

static bool is_whole(const gm *s, int slot)
{
    const int n = s->env->space->ops->n_choices(s->env->space, slot);

    return n > 1 && pada_subspace_choices(&s->part, slot) == n;
}

/* ---- splits ---- */

static int probe_passes(const void *self)
{
    const pada_space *space = ((const gm *)self)->env->space;
    int n = 0;

    for (int slot = 0; slot < space->ops->n_slots; slot++)
        n += space->ops->n_choices(space, slot);
    return n;
}

/* Adds the distances between the gradients of all choices of a slot in a path. */
static pada_status compare_choices(gm *s, pada_engine *e, const pada_path *path,
                                   const pada_draws *draws, int slot)
{
    const int n = s->env->space->ops->n_choices(s->env->space, slot);
    double products[PADA_MAX_CHOICES * PADA_MAX_CHOICES], *sums = distances_of(s, slot);
    pada_path forced = *path;

    for (int c = 0; c < n; c++) {
        forced.choice[slot] = (uint8_t)c;
        pada_engine_zero_grad(e);
        PADA_TRY(pada_strategy_add_path(e, &forced, draws, NULL, 1));
        PADA_TRY(pada_engine_keep_grad(e, c));
    }
    pada_engine_zero_grad(e);
    PADA_TRY(pada_engine_grad_products(e, path, slot, n, products));
    for (int c = 0; c < n; c++)
        for (int d = 0; d < n; d++) {
            const double norms = sqrt(products[c * n + c]) * sqrt(products[d * n + d]);
            sums[c * n + d] += 1 - products[c * n + d] / (norms + NORM_FLOOR);
        }
    return PADA_OK;
}

static pada_status probe(void *self, pada_engine *e, const pada_draws *draws,
                         const pada_epoch *epoch, int64_t number)
{
    gm *s = self;
    pada_path path;

    (void)epoch;
    pada_path_sampler_draw(&s->sampler, s->env->seed, number, true, &path);
    for (int slot = 0; slot < s->env->space->ops->n_slots; slot++)
        if (is_whole(s, slot)) PADA_TRY(compare_choices(s, e, &path, draws, slot));
    return PADA_OK;
}

/* Splits a phase by the distances, and forgets them. Sums serve as well as means. */
static void split(gm *s, int phase)
{
    const pada_space *space = s->env->space;
    double most = -INFINITY;

    for (int slot = 0; slot < space->ops->n_slots; slot++) {
        uint32_t group;
        if (!is_whole(s, slot)) continue;
        const double cut =
            pada_best_cut(distances_of(s, slot), space->ops->n_choices(space, slot), &group);
        if (cut <= most) continue;
        most = cut;
        s->slots[phase] = slot;
        s->groups[phase] = group;
    }
    memset(s->distances, 0, (size_t)n_distances(s) * sizeof *s->distances);
}

/* ---- training ---- */

static pada_status begin_epoch(void *self, const pada_epoch *epoch, int32_t *order)
{
    gm *s = self;

    PADA_TRY(get_subspace(s, epoch->phase, &s->part));
    pada_path_sampler_restrict(&s->sampler, &s->part);
    pada_data_permute(s->env->seed, epoch->index, order, s->env->n_images);
    return PADA_OK;
}

static pada_status step(void *self, pada_engine *e, const pada_draws *draws,
                        const pada_epoch *epoch, int64_t number)
{
    const gm *s = self;
    pada_path path;

    pada_path_sampler_draw(&s->sampler, s->env->seed, number, true, &path);
    return pada_strategy_single_path(e, &path, draws, NULL, 1, &epoch->optim);
}

static pada_status end_epoch(void *self, const pada_log *log, const pada_epoch *epoch,
                             const int32_t *order)
{
    (void)log, (void)order;
    if (epoch->probes && epoch->last) split(self, epoch->phase);
    return PADA_OK;
}

/* Whether splits from a file are splits of this space. */
static bool are_splits_valid(const gm *s)
{
    const pada_space *space = s->env->space;

    for (int i = 0; i < s->n_split; i++) {
        const int slot = s->slots[i];
        if (slot == NOT_SPLIT) continue;
        if (slot < 0 || slot >= space->ops->n_slots) return false;
        const uint32_t all = (UINT32_C(1) << space->ops->n_choices(space, slot)) - 1;
        if (s->groups[i] == 0 || s->groups[i] & ~all || s->groups[i] == all) return false;
        for (int above = i; above > 0; above = parent_of(above)) /* no slot twice */
            if (s->slots[parent_of(above)] == slot) return false;
    }
    return true;
}

static void visit(void *self, pada_state *state)
{
    gm *s = self;

    pada_state_array(state, "gm/slots", PADA_STATE_I32, s->slots, s->n_split);
    pada_state_array(state, "gm/groups", PADA_STATE_I32, s->groups, s->n_split);
    pada_state_array(state, "gm/distances", PADA_STATE_F64, s->distances, n_distances(s));
    if (pada_state_loading(state) && !are_splits_valid(s))
        pada_state_reject(state,
                          PADA_FAIL(PADA_EDATA, "a checkpoint with splits of another space"));
}

static void distributions(const void *self, const pada_epoch *epoch, pada_distributions *out)
{
    const gm *s = self;

    (void)epoch;
    *out = (pada_distributions){.paths = &s->sampler};
}

static const pada_phase_ops phases = {
    .count = n_phases,
    .get = get_phase,
    .subspace = get_subspace,
    .probe_passes = probe_passes,
    .probe = probe,
};

extern const pada_strategy_ops pada_strategy_gm;
const pada_strategy_ops pada_strategy_gm = {
    .name = "gm",
    .summary = "supernets split in two where gradients of choices disagree (GM-NAS)",
    .settings_bytes = sizeof(gm_settings),
    .bind_settings = bind_settings,
    .state_bytes = sizeof(gm),
    .init = init,
    .deinit = deinit,
    .begin_epoch = begin_epoch,
    .step = step,
    .end_epoch = end_epoch,
    .visit = visit,
    .distributions = distributions,
    .phases = &phases,
};
