/* strategy_spos_depth.c - SPOS with paths of different depth balanced.
 *
 * Depth is what a score of the space says: the number of convolutions on the longest way through a cell, or of the layers
 * that are there. Three groups, up to a third of the largest depth, up to two thirds and more, are equally likely, and
 * so are the paths inside each: in NAS-Bench-201 deep cells, which are rare among uniform ones, get their share of the
 * training, in chains shallow ones. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "space/path_number.h"
#include "strategy/strategy.h"

#define N_GROUPS  3
#define MAX_PATHS (1 << 20) /* of a space that can be listed */

typedef struct spos_depth {
    const pada_strategy_env *env;
    int32_t *paths;            /* [n_paths] numbers of paths, by group */
    int32_t first[N_GROUPS];   /* of each group in `paths` */
    int32_t count[N_GROUPS];   /* of its paths */
    pada_path_sampler sampler; /* how often each choice is drawn; slots depend on each other */
} spos_depth;

static pada_status find_score(const pada_space *space, const pada_space_score **out)
{
    for (*out = space->ops->scores; *out && (*out)->name; (*out)++)
        if (strcmp((*out)->name, "conv_depth") == 0 || strcmp((*out)->name, "blocks") == 0)
            return PADA_OK;
    return PADA_FAIL(PADA_EINVAL, "method spos_depth: space %s has no score conv_depth or blocks",
                     space->ops->name);
}

static double depth_of(const pada_space *space, const pada_space_score *depth, int32_t number)
{
    pada_path path;

    pada_path_of_number(space, number, &path);
    return depth->score(space, &path);
}

static int group_of(double depth, double largest)
{
    return 3 * depth <= largest ? 0 : 3 * depth <= 2 * largest ? 1 : 2;
}

/* Lists the paths of each group, one group after the other. */
static pada_status list_groups(spos_depth *s, const pada_space_score *depth, int32_t n)
{
    const pada_space *space = s->env->space;
    int32_t at[N_GROUPS];
    double largest = 0;

    for (int32_t i = 0; i < n; i++)
        largest = fmax(largest, depth_of(space, depth, i));
    for (int32_t i = 0; i < n; i++)
        s->count[group_of(depth_of(space, depth, i), largest)]++;
    for (int g = 0; g < N_GROUPS; g++) {
        if (s->count[g] == 0)
            return PADA_FAIL(PADA_EINVAL, "method spos_depth: space %s has no path in group %d",
                             space->ops->name, g);
        s->first[g] = at[g] = g > 0 ? s->first[g - 1] + s->count[g - 1] : 0;
    }
    for (int32_t i = 0; i < n; i++)
        s->paths[at[group_of(depth_of(space, depth, i), largest)]++] = i;
    return PADA_OK;
}

static void find_marginals(spos_depth *s)
{
    const pada_space *space = s->env->space;

    pada_path_sampler_init(&s->sampler, space);
    memset(s->sampler.p, 0, sizeof s->sampler.p);
    for (int g = 0; g < N_GROUPS; g++)
        for (int32_t i = 0; i < s->count[g]; i++) {
            pada_path path;
            pada_path_of_number(space, s->paths[s->first[g] + i], &path);
            for (int slot = 0; slot < space->ops->n_slots; slot++)
                s->sampler.p[slot][path.choice[slot]] += 1.0 / N_GROUPS / s->count[g];
        }
}

static pada_status init(void *self, const pada_strategy_env *env, const void *settings)
{
    spos_depth *s = self;
    const pada_space_score *depth;
    const int n = pada_path_count(env->space, MAX_PATHS);
    void *memory;

    (void)settings;
    s->env = env;
    PADA_TRY(find_score(env->space, &depth));
    if (n > MAX_PATHS)
        return PADA_FAIL(PADA_EINVAL, "method spos_depth: space %s has more than %d paths",
                         env->space->ops->name, MAX_PATHS);
    PADA_TRY(pada_calloc(&memory, (size_t)n, sizeof *s->paths));
    s->paths = memory; /* deinit gives it back, whatever comes */
    PADA_TRY(list_groups(s, depth, n));
    find_marginals(s);
    return PADA_OK;
}

static void deinit(void *self)
{
    pada_free(((spos_depth *)self)->paths);
}

static pada_status step(void *self, pada_engine *e, const pada_draws *draws,
                        const pada_epoch *epoch, int64_t number)
{
    const spos_depth *s = self;
    pada_path path;
    pada_rng rng;

    pada_rng_init(&rng, s->env->seed, "path", (uint64_t)number);
    const uint32_t g = pada_rng_below(&rng, N_GROUPS);
    const uint32_t i = pada_rng_below(&rng, (uint32_t)s->count[g]);
    pada_path_of_number(s->env->space, s->paths[s->first[g] + (int32_t)i], &path);
    return pada_strategy_single_path(e, &path, draws, NULL, 1, &epoch->optim);
}

static void distributions(const void *self, const pada_epoch *epoch, pada_distributions *out)
{
    const spos_depth *s = self;

    (void)epoch;
    *out = (pada_distributions){.paths = &s->sampler};
}

extern const pada_strategy_ops pada_strategy_spos_depth;
const pada_strategy_ops pada_strategy_spos_depth = {
    .name = "spos_depth",
    .summary = "one random path per step, three groups of depth equally likely",
    .state_bytes = sizeof(spos_depth),
    .init = init,
    .deinit = deinit,
    .step = step,
    .distributions = distributions,
};
