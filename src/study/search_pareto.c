/* search_pareto.c - accuracy against cost: the selection of NSGA-II (Deb et al. 2002).
 *
 * Of the population and its offspring survive those of the first fronts, and of the last front that fits those with the
 * most room around them. */
#include "base/mem.h"
#include "study/pareto_order.h"
#include "study/search_parts.h"

typedef struct population {
    const pada_search_entry *entries;
    pada_pareto_point *members; /* [cap], n of them, the best first; id: of the entry */
    int n, cap;
} population;

/* The better of two. */
static const pada_path *pick(void *user, pada_rng *rng)
{
    const population *p = user;
    const uint32_t a = pada_rng_below(rng, (uint32_t)p->n);
    const uint32_t b = pada_rng_below(rng, (uint32_t)p->n);

    return &p->entries[p->members[a < b ? a : b].id].path;
}

/* Scores what is offered, and lets the best of it and of the population survive. */
static pada_status advance(pada__search *s, population *p)
{
    const pada_search_settings *settings = &s->desc->settings;
    const int first = s->n_scored;
    void *members = p->members;

    PADA_TRY(pada__search_score(s));
    PADA_TRY(pada_grow(&members, &p->cap, p->n + s->n_scored - first, sizeof *p->members));
    p->members = members;
    for (int i = first; i < s->n_scored; i++)
        p->members[p->n++] = (pada_pareto_point){.gain = s->entries[i].score.value,
                                                 .cost = (double)s->entries[i].cost[settings->cost],
                                                 .id = i};
    PADA_TRY(pada_pareto_order(p->members, p->n));
    if (p->n > settings->population) p->n = (int)settings->population;
    return PADA_OK;
}

static pada_status evolve(pada__search *s, population *p)
{
    const pada_search_settings *settings = &s->desc->settings;

    pada__search_fill(s, settings->population);
    PADA_TRY(advance(s, p));
    for (int64_t i = 0; i < settings->generations; i++) {
        pada__search_breed(s, pick, p);
        if (pada__search_n_offered(s) == 0) break;
        PADA_TRY(advance(s, p));
    }
    return PADA_OK;
}

static pada_status run(pada__search *s)
{
    population p = {.entries = s->entries};
    const int kind = s->desc->settings.cost;

    if (!pada_cost_limits_summary(s->desc->limits, (pada_cost_kind)kind))
        return PADA_FAIL(PADA_EINVAL, "pareto: nobody knows the %s of networks",
                         pada_cost_names[kind]);
    const pada_status st = evolve(s, &p);
    pada_free(p.members);
    return st;
}

const pada_search_algorithm pada_search_pareto = {
    .name = "pareto", .most = pada__search_most_bred, .run = run};
