/* path_groups.c - paths in groups of depth or cost, which are drawn as often as weights say. */
#include "strategy/path_groups.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "space/path_number.h"

enum { MAX_PATHS = 1 << 20 /* of a space that can be listed */ };

/* What spaces that are refused have. */
#define INSTEAD "method spos_macs balances cheap and expensive ones in any space"

const pada_opt pada_group_options[] = {
    {.name = "groups",
     .type = PADA_OPT_CHOICE,
     .offset = offsetof(pada_group_settings, of),
     .default_value = "depth",
     .choices = "depth|macs",
     .help = "groups of paths have equal width in depth, or in multiply-adds of what is live"},
    {.name = "group-weights",
     .type = PADA_OPT_INTS,
     .offset = offsetof(pada_group_settings, weights),
     .default_value = "1,1,1",
     .min = 0,
     .max = 1000,
     .meta = "N,N,..",
     .help = "how often each group is drawn, shallow or cheap ones first; as many groups"},
    {.name = "group-weights-end",
     .type = PADA_OPT_INTS,
     .offset = offsetof(pada_group_settings, end),
     .min = 0,
     .max = 1000,
     .meta = "N,N,..",
     .help = "the same for the last epoch, with a straight line between (default: no change)"},
    {.name = NULL},
};

/* ---- values ---- */

static pada_status find_depth(const pada_space *space, const char *method,
                              const pada_space_score **out)
{
    for (*out = space->ops->scores; *out && (*out)->name; (*out)++)
        if (strcmp((*out)->name, "conv_depth") == 0 || strcmp((*out)->name, "blocks") == 0)
            return PADA_OK;
    return PADA_FAIL(PADA_EINVAL, "method %s: space %s has no score conv_depth or blocks; " INSTEAD,
                     method, space->ops->name);
}

static double live_macs(const pada_space *space, const pada_path *path)
{
    pada_cost cost;
    pada_path form;

    space->ops->canonical(space, path, &form);
    pada_space_cost(space, &form, &cost);
    return (double)cost.macs;
}

/* What groups are of, of every path; one through which nothing flows has no depth. */
static pada_status measure(const pada_path_groups *g, const char *method, int32_t n, double *values)
{
    const pada_space_score *depth = NULL;
    pada_path path;

    if (g->settings.of == PADA_GROUPS_DEPTH) PADA_TRY(find_depth(g->space, method, &depth));
    for (int32_t i = 0; i < n; i++) {
        pada_path_of_number(g->space, i, &path);
        values[i] = depth ? fmax(0, depth->score(g->space, &path)) : live_macs(g->space, &path);
    }
    return PADA_OK;
}

/* ---- groups ---- */

/* Of n of equal width; a value between two belongs to the lower one. */
static int group_of(double value, double smallest, double largest, int n)
{
    int group = 0;

    while (group < n - 1 && n * (value - smallest) > (group + 1) * (largest - smallest))
        group++;
    return group;
}

/* Lists the paths of each group, one group after the other. */
static pada_status list_groups(pada_path_groups *g, const char *method, const double *values,
                               int32_t n)
{
    double smallest = values[0], largest = values[0];
    int32_t at[PADA_MAX_INTS];

    for (int32_t i = 0; i < n; i++) {
        smallest = fmin(smallest, values[i]);
        largest = fmax(largest, values[i]);
    }
    for (int32_t i = 0; i < n; i++)
        g->count[group_of(values[i], smallest, largest, g->n_groups)]++;
    for (int k = 0; k < g->n_groups; k++) {
        if (g->count[k] == 0)
            return PADA_FAIL(PADA_EINVAL, "method %s: space %s has no path in group %d of %d",
                             method, g->space->ops->name, k + 1, g->n_groups);
        g->first[k] = at[k] = k > 0 ? g->first[k - 1] + g->count[k - 1] : 0;
    }
    for (int32_t i = 0; i < n; i++)
        g->paths[at[group_of(values[i], smallest, largest, g->n_groups)]++] = i;
    return PADA_OK;
}

static pada_status make_groups(pada_path_groups *g, const char *method, int32_t n)
{
    void *memory;

    PADA_TRY(pada_calloc(&memory, (size_t)n, sizeof *g->paths));
    g->paths = memory;
    PADA_TRY(pada_calloc(&memory, (size_t)n, sizeof(double)));
    pada_status st = measure(g, method, n, memory);
    if (st == PADA_OK) st = list_groups(g, method, memory, n);
    pada_free(memory);
    return st;
}

/* ---- shares ---- */

static int sum_of(const pada_int_list *list)
{
    int sum = 0;

    for (int i = 0; i < list->n; i++)
        sum += list->values[i];
    return sum;
}

static pada_status check_weights(const pada_group_settings *s)
{
    if (sum_of(&s->weights) == 0)
        return PADA_FAIL(PADA_EINVAL, "--group-weights: no group is ever drawn");
    if (s->end.n == 0) return PADA_OK;
    if (s->end.n != s->weights.n)
        return PADA_FAIL(PADA_EINVAL, "--group-weights-end: %d groups, but %d of --group-weights",
                         s->end.n, s->weights.n);
    if (sum_of(&s->end) == 0)
        return PADA_FAIL(PADA_EINVAL, "--group-weights-end: no group is ever drawn");
    return PADA_OK;
}

static void find_marginals(pada_path_groups *g)
{
    pada_path_sampler_init(&g->sampler, g->space);
    memset(g->sampler.p, 0, sizeof g->sampler.p);
    for (int k = 0; k < g->n_groups; k++)
        for (int32_t i = 0; i < g->count[k]; i++) {
            pada_path path;
            pada_path_of_number(g->space, g->paths[g->first[k] + i], &path);
            for (int slot = 0; slot < g->space->ops->n_slots; slot++)
                g->sampler.p[slot][path.choice[slot]] += g->shares[k] / g->count[k];
        }
}

static double share_of(const pada_int_list *weights, int group)
{
    return (double)weights->values[group] / sum_of(weights);
}

static void set_shares(pada_path_groups *g, double done)
{
    const pada_group_settings *s = &g->settings;

    for (int k = 0; k < g->n_groups; k++) {
        const double begin = share_of(&s->weights, k);
        g->shares[k] = s->end.n > 0 ? begin + done * (share_of(&s->end, k) - begin) : begin;
    }
    find_marginals(g);
}

void pada_path_groups_begin_epoch(pada_path_groups *g, int epoch, int n_epochs)
{
    if (g->settings.end.n > 0) set_shares(g, n_epochs > 1 ? (double)epoch / (n_epochs - 1) : 0);
}

pada_status pada_path_groups_init(pada_path_groups *g, const pada_space *space,
                                  const pada_group_settings *settings, const char *method)
{
    const pada_space_score *depth;
    const int n = pada_path_count(space, MAX_PATHS);

    PADA_TRY(check_weights(settings));
    g->space = space;
    g->settings = *settings;
    g->n_groups = settings->weights.n;
    if (settings->of == PADA_GROUPS_DEPTH) PADA_TRY(find_depth(space, method, &depth));
    if (n > MAX_PATHS)
        return PADA_FAIL(PADA_EINVAL, "method %s: space %s has more than %d paths; " INSTEAD,
                         method, space->ops->name, MAX_PATHS);
    PADA_TRY(make_groups(g, method, n));
    set_shares(g, 0);
    return PADA_OK;
}

void pada_path_groups_deinit(pada_path_groups *g)
{
    pada_free(g->paths);
}

/* ---- drawing ---- */

/* Groups of equal weights are drawn as whole numbers, which keeps the paths of runs that have no others. */
static int draw_group(const pada_path_groups *g, pada_rng *rng)
{
    double left;
    int last = 0;
    bool are_equal = true;

    for (int k = 1; k < g->n_groups; k++)
        are_equal = are_equal && g->shares[k] == g->shares[0];
    if (are_equal) return (int)pada_rng_below(rng, (uint32_t)g->n_groups);
    left = pada_rng_uniform(rng);
    for (int k = 0; k < g->n_groups; k++) {
        if (g->shares[k] > 0) last = k;
        if (left < g->shares[k]) return k;
        left -= g->shares[k];
    }
    return last; /* rounding */
}

void pada_path_groups_draw(const pada_path_groups *g, uint64_t seed, int64_t step, pada_path *path)
{
    pada_rng rng;

    pada_rng_init(&rng, seed, "path", (uint64_t)step);
    const int k = draw_group(g, &rng);
    const uint32_t i = pada_rng_below(&rng, (uint32_t)g->count[k]);
    pada_path_of_number(g->space, g->paths[g->first[k] + (int32_t)i], path);
}
