/* search_pareto.c - accuracy against cost: the selection of NSGA-II (Deb et al. 2002).
 *
 * Of the population and its offspring survive those of the first fronts, and of the last front that fits those with the
 * most room around them. */
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "study/search_parts.h"

typedef struct member {
    int entry;
    double top1;
    double cost;
    int front;   /* 0: nobody is better in both */
    double room; /* crowding distance to the neighbours in the front */
} member;

typedef struct population {
    const pada_search_entry *entries;
    member *members; /* [cap], n of them, the best first */
    int n, cap;
} population;

/* ---- the order ---- */

static int compare_by_cost(const void *x, const void *y)
{
    const member *a = x, *b = y;

    if (a->front != b->front) return a->front < b->front ? -1 : 1;
    if (a->cost != b->cost) return a->cost < b->cost ? -1 : 1;
    if (a->top1 != b->top1) return a->top1 > b->top1 ? -1 : 1;
    return a->entry < b->entry ? -1 : a->entry > b->entry;
}

static int compare_by_room(const void *x, const void *y)
{
    const member *a = x, *b = y;

    if (a->front != b->front) return a->front < b->front ? -1 : 1;
    if (a->room != b->room) return a->room > b->room ? -1 : 1;
    return a->entry < b->entry ? -1 : a->entry > b->entry;
}

/* Members come by ascending cost: one belongs to the first front whose members are all less accurate. `best` has the
 * accuracies of the last members of the fronts, which fall. */
static void find_fronts(population *p, double *best)
{
    int n_fronts = 0;

    for (int i = 0; i < p->n; i++) {
        member *m = &p->members[i];
        const member *before = i > 0 ? m - 1 : m;
        int low = 0, high = n_fronts;

        while (low < high) {
            const int middle = (low + high) / 2;
            if (best[middle] >= m->top1)
                low = middle + 1;
            else
                high = middle;
        }
        if (i > 0 && before->cost == m->cost && before->top1 == m->top1) low = before->front;
        m->front = low;
        best[low] = m->top1;
        if (low == n_fronts) n_fronts++;
    }
}

/* Members n of one front, by ascending cost. */
static void measure_room(member *list, int n)
{
    const double costs = list[n - 1].cost - list[0].cost;
    const double accuracies = list[n - 1].top1 - list[0].top1;

    for (int i = 0; i < n; i++) {
        list[i].room = INFINITY;
        if (i == 0 || i == n - 1) continue;
        list[i].room = 0;
        if (costs > 0) list[i].room += (list[i + 1].cost - list[i - 1].cost) / costs;
        if (accuracies > 0) list[i].room += (list[i + 1].top1 - list[i - 1].top1) / accuracies;
    }
}

static pada_status sort(population *p)
{
    void *best;

    PADA_TRY(pada_calloc(&best, (size_t)p->n, sizeof(double)));
    for (int i = 0; i < p->n; i++)
        p->members[i].front = 0;
    qsort(p->members, (size_t)p->n, sizeof *p->members, compare_by_cost);
    find_fronts(p, best);
    pada_free(best);
    qsort(p->members, (size_t)p->n, sizeof *p->members, compare_by_cost);
    for (int first = 0, n; first < p->n; first += n) {
        for (n = 1; first + n < p->n && p->members[first + n].front == p->members[first].front;)
            n++;
        measure_room(&p->members[first], n);
    }
    qsort(p->members, (size_t)p->n, sizeof *p->members, compare_by_room);
    return PADA_OK;
}

/* ---- generations ---- */

/* The better of two. */
static const pada_path *pick(void *user, pada_rng *rng)
{
    const population *p = user;
    const uint32_t a = pada_rng_below(rng, (uint32_t)p->n);
    const uint32_t b = pada_rng_below(rng, (uint32_t)p->n);

    return &p->entries[p->members[a < b ? a : b].entry].path;
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
        p->members[p->n++] = (member){.entry = i,
                                      .top1 = s->entries[i].score.top1,
                                      .cost = (double)s->entries[i].cost[settings->cost]};
    PADA_TRY(sort(p));
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
