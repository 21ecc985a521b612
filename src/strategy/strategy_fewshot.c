/* strategy_fewshot.c - Few-Shot NAS: one supernet for all, then one for every way of some slots.
 *
 *   phase 0        the whole space, uniformly random paths: SPOS
 *   phases 1 ..    the chosen slots fixed to one combination of choices each; weights of phase 0,
 *                  further training on the paths of the sub-space
 *
 * Slots share weights the less the fewer choices there are, so a network is judged with the weights of
 * its own sub-supernet. */
#include "strategy/strategy_fewshot.h"

#include <stdlib.h>

#include "sampler/data_sampler.h"

#define MAX_CHILDREN 3125 /* five slots of NAS-Bench-201 */

static const pada_opt options_table[] = {
    {.name = "split-edges",
     .type = PADA_OPT_STRING,
     .offset = offsetof(pada_fewshot_settings, split_edges),
     .default_value = "0,1",
     .meta = "N,N,..",
     .help = "slots that are split: one sub-supernet for every combination of their choices"},
    {.name = "child-epochs",
     .type = PADA_OPT_INT,
     .offset = offsetof(pada_fewshot_settings, child_epochs),
     .default_value = "0",
     .min = 0,
     .max = 1e6,
     .meta = "N",
     .help = "epochs of each sub-supernet; 0: 0.4 of those of the first one, --epochs"},
    {.name = NULL},
};

typedef struct fewshot {
    const pada_strategy_env *env;
    int slots[PADA_MAX_SLOTS]; /* [n_slots] that are split */
    int n_slots;
    int n_children, child_epochs;
    pada_path_sampler sampler; /* of the phase, uniform */
} fewshot;

static pada_status bind_settings(void *settings, pada_options *options)
{
    return pada_options_bind(options, options_table, settings);
}

static pada_status add_slot(fewshot *s, const char *list, long slot)
{
    const pada_space *space = s->env->space;

    if (slot < 0 || slot >= space->ops->n_slots)
        return PADA_FAIL(PADA_EINVAL, "--split-edges '%s': %ld is not in 0 to %d, the slots of %s",
                         list, slot, space->ops->n_slots - 1, space->ops->name);
    for (int i = 0; i < s->n_slots; i++)
        if (s->slots[i] == slot)
            return PADA_FAIL(PADA_EINVAL, "--split-edges '%s': %ld stands there twice", list, slot);
    const int n = space->ops->n_choices(space, (int)slot);
    if (s->n_children > MAX_CHILDREN / n)
        return PADA_FAIL(PADA_EINVAL, "--split-edges '%s': more than %d sub-supernets", list,
                         MAX_CHILDREN);
    s->slots[s->n_slots++] = (int)slot;
    s->n_children *= n;
    return PADA_OK;
}

/* Numbers with commas between them. */
static pada_status read_slots(fewshot *s, const char *list)
{
    const char *at = list;

    s->n_children = 1;
    for (char *end;; at = end + 1) {
        const long slot = strtol(at, &end, 10);
        if (end == at || *at < '0' || *at > '9' || (*end != ',' && *end != '\0'))
            return PADA_FAIL(PADA_EINVAL, "--split-edges '%s' is no list of numbers like 0,1",
                             list);
        PADA_TRY(add_slot(s, list, slot));
        if (*end == '\0') return PADA_OK;
    }
}

static pada_status init(void *self, const pada_strategy_env *env, const void *settings)
{
    const pada_fewshot_settings *chosen = settings;
    fewshot *s = self;

    s->env = env;
    s->child_epochs = (int)chosen->child_epochs;
    if (s->child_epochs == 0) s->child_epochs = 2 * env->n_epochs / 5;
    if (s->child_epochs == 0) s->child_epochs = 1;
    pada_path_sampler_init(&s->sampler, env->space);
    return read_slots(s, chosen->split_edges);
}

/* ---- phases ---- */

static int n_phases(const void *self)
{
    return 1 + ((const fewshot *)self)->n_children;
}

static void get_phase(const void *self, int phase, pada_phase *out)
{
    const fewshot *s = self;
    const int n_epochs = phase == 0 ? s->env->n_epochs : s->child_epochs;

    *out = (pada_phase){.parent = phase == 0 ? PADA_FRESH : 0,
                        .n_epochs = n_epochs,
                        .lr_epochs = n_epochs,
                        .final = phase > 0};
}

/* The number of a child has the choices of its slots as digits, the last one first. */
static pada_status get_subspace(const void *self, int phase, pada_subspace *out)
{
    const fewshot *s = self;
    const pada_space *space = s->env->space;
    int number = phase - 1;

    pada_subspace_init(out, space);
    if (phase == 0) return PADA_OK;
    for (int i = s->n_slots - 1; i >= 0; i--) {
        const int n = space->ops->n_choices(space, s->slots[i]);
        out->allowed[s->slots[i]] = UINT32_C(1) << number % n;
        number /= n;
    }
    return PADA_OK;
}

/* ---- training ---- */

static pada_status begin_epoch(void *self, const pada_epoch *epoch, int32_t *order)
{
    fewshot *s = self;
    pada_subspace part;

    PADA_TRY(get_subspace(s, epoch->phase, &part));
    pada_path_sampler_restrict(&s->sampler, &part);
    pada_data_permute(s->env->seed, epoch->index, order, s->env->n_images);
    return PADA_OK;
}

static pada_status step(void *self, pada_engine *e, const pada_draws *draws,
                        const pada_epoch *epoch, int64_t number)
{
    const fewshot *s = self;
    pada_path path;

    pada_path_sampler_draw(&s->sampler, s->env->seed, number, false, &path);
    return pada_strategy_single_path(e, &path, draws, NULL, 1, &epoch->optim);
}

static void distributions(const void *self, const pada_epoch *epoch, pada_distributions *out)
{
    const fewshot *s = self;

    (void)epoch;
    *out = (pada_distributions){.paths = &s->sampler};
}

static const pada_phase_ops phases = {
    .count = n_phases,
    .get = get_phase,
    .subspace = get_subspace,
};

const pada_strategy_ops pada_strategy_fewshot = {
    .name = "fewshot",
    .summary =
        "one supernet, then one for every combination of choices of some slots (Few-Shot NAS)",
    .settings_bytes = sizeof(pada_fewshot_settings),
    .bind_settings = bind_settings,
    .state_bytes = sizeof(fewshot),
    .init = init,
    .begin_epoch = begin_epoch,
    .step = step,
    .distributions = distributions,
    .phases = &phases,
};
