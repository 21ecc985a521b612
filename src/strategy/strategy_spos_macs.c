/* strategy_spos_macs.c - SPOS with cheap and expensive paths balanced.
 *
 * Three ranges of multiply-adds, each a third of the way from the cheapest path to the most expensive one, are equally
 * likely, and so are the paths inside each. Uniform paths of large spaces nearly all cost the mean; here those at both ends
 * get their share of the training. What spos_depth does by depth, for every space that has costs. */
#include <string.h>

#include "sampler/cost_count.h"
#include "strategy/strategy.h"

enum { N_RANGES = 3, MARGINAL_DRAWS = 1000, MAX_TRIES = 1000 };

typedef struct spos_macs {
    const pada_strategy_env *env;
    pada_cost_count *ranges[N_RANGES];
    pada_path_sampler
        sampler; /* how often each choice is drawn, about; slots depend on each other */
} spos_macs;

/* Where sums are not counted exactly a draw may fall beside the range; the last one is taken then. */
static void draw_in(const pada_cost_count *range, pada_rng *rng, pada_path *path)
{
    for (int i = 0; i < MAX_TRIES; i++)
        if (pada_cost_count_draw(range, rng, path)) return;
}

static pada_status make_ranges(spos_macs *s, const pada_slot_costs *costs,
                               const pada_cost_summary *all)
{
    const pada_space *space = s->env->space;
    const int64_t width = all->largest - all->smallest;

    for (int k = 0; k < N_RANGES; k++) {
        const int64_t min = k > 0 ? all->smallest + k * width / N_RANGES + 1 : 0;
        const int64_t max = all->smallest + (k + 1) * width / N_RANGES;
        PADA_TRY(pada_cost_count_create(&s->ranges[k], space, costs, min, max));
        if (pada_cost_count_summary(s->ranges[k])->n_inside == 0)
            return PADA_FAIL(PADA_EINVAL,
                             "method spos_macs: space %s has no path in range %d of %d",
                             space->ops->name, k + 1, N_RANGES);
    }
    return PADA_OK;
}

/* Counted in draws, for metrics only. */
static void find_marginals(spos_macs *s)
{
    const pada_space *space = s->env->space;
    double draws[PADA_MAX_SLOTS] = {0};
    pada_path path;
    pada_rng rng;

    pada_path_sampler_init(&s->sampler, space);
    memset(s->sampler.p, 0, sizeof s->sampler.p);
    pada_rng_init(&rng, s->env->seed, "marginals", 0);
    for (int i = 0; i < N_RANGES * MARGINAL_DRAWS; i++) {
        draw_in(s->ranges[i % N_RANGES], &rng, &path);
        for (int slot = 0; slot < space->ops->n_slots; slot++) {
            if (!pada_path_takes(space, &path, slot)) continue;
            s->sampler.p[slot][path.choice[slot]]++;
            draws[slot]++;
        }
    }
    for (int slot = 0; slot < space->ops->n_slots; slot++)
        for (int c = 0; c < space->ops->n_choices(space, slot); c++)
            s->sampler.p[slot][c] /= draws[slot];
}

static pada_status init(void *self, const pada_strategy_env *env, const void *settings)
{
    spos_macs *s = self;
    pada_slot_costs costs;
    pada_cost_count *all;

    (void)settings;
    s->env = env;
    PADA_TRY(pada_slot_costs_count(&costs, env->space, PADA_COUNTED_MACS, true));
    PADA_TRY(pada_cost_count_create(&all, env->space, &costs, 0, 0));
    const pada_status st = make_ranges(s, &costs, pada_cost_count_summary(all));
    pada_cost_count_destroy(all);
    if (st == PADA_OK) find_marginals(s);
    return st;
}

static void deinit(void *self)
{
    for (int k = 0; k < N_RANGES; k++)
        pada_cost_count_destroy(((spos_macs *)self)->ranges[k]);
}

static pada_status step(void *self, pada_engine *e, const pada_draws *draws,
                        const pada_epoch *epoch, int64_t number)
{
    const spos_macs *s = self;
    pada_path path;
    pada_rng rng;

    pada_rng_init(&rng, s->env->seed, "path", (uint64_t)number);
    draw_in(s->ranges[pada_rng_below(&rng, N_RANGES)], &rng, &path);
    return pada_strategy_single_path(e, &path, draws, NULL, 1, &epoch->optim);
}

static void distributions(const void *self, const pada_epoch *epoch, pada_distributions *out)
{
    const spos_macs *s = self;

    (void)epoch;
    *out = (pada_distributions){.paths = &s->sampler};
}

extern const pada_strategy_ops pada_strategy_spos_macs;
const pada_strategy_ops pada_strategy_spos_macs = {
    .name = "spos_macs",
    .summary = "one random path per step, three ranges of multiply-adds equally likely",
    .state_bytes = sizeof(spos_macs),
    .init = init,
    .deinit = deinit,
    .step = step,
    .distributions = distributions,
};
