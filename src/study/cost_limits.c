/* cost_limits.c - what networks may cost: several limits at once, counted first, and networks drawn inside them. */
#include "study/cost_limits.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"

enum { MAX_DRAWS = 100000 };

const char *const pada_cost_names[PADA_COST_KINDS] = {"macs", "params", "latency"};

struct pada_cost_limits {
    pada_space space;
    pada_cost_limit list[PADA_COST_KINDS];
    pada_cost_count *counts[PADA_COST_KINDS]; /* NULL: not known */
    pada_cost_kind tightest;                  /* the one that networks are drawn inside */
};

void pada_cost_add(pada_text *out, pada_cost_kind kind, int64_t cost)
{
    if (kind == PADA_COST_LATENCY)
        pada_text_add(out, "%.3f ms", (double)cost / 1000);
    else
        pada_text_add(out, "%" PRId64, cost);
}

static double share_inside(const pada_cost_limits *l, int kind)
{
    const pada_cost_summary *s = pada_cost_count_summary(l->counts[kind]);

    return (double)s->n_inside / (double)s->n_networks;
}

/* What the limit asks for that no network has. */
static void add_wish(pada_text *out, pada_cost_kind kind, const pada_cost_limit *limit,
                     const pada_cost_summary *s)
{
    if (limit->max > 0 && limit->max < s->smallest) {
        pada_text_add(out, "at most ");
        pada_cost_add(out, kind, limit->max);
    } else if (limit->min > s->largest) {
        pada_text_add(out, "at least ");
        pada_cost_add(out, kind, limit->min);
    } else {
        pada_text_add(out, "from ");
        pada_cost_add(out, kind, limit->min);
        pada_text_add(out, " to ");
        pada_cost_add(out, kind, limit->max);
    }
}

/* Says why no network keeps a limit. */
static pada_status refuse(const pada_cost_limits *l, pada_cost_kind kind)
{
    const pada_cost_limit *limit = &l->list[kind];
    const pada_cost_summary *s = pada_cost_count_summary(l->counts[kind]);
    pada_text why = {0};

    pada_text_add(&why, "%s: no network has ", pada_cost_names[kind]);
    add_wish(&why, kind, limit, s);
    if (limit->min <= s->largest) {
        pada_text_add(&why, "; the smallest has ");
        pada_cost_add(&why, kind, s->smallest);
    }
    if (limit->max == 0 || limit->max >= s->smallest) {
        pada_text_add(&why, limit->min > s->largest ? "; the largest has " : ", the largest ");
        pada_cost_add(&why, kind, s->largest);
    }
    const pada_status st = why.status;
    if (st == PADA_OK) (void)PADA_FAIL(PADA_EINVAL, "%s", why.data);
    pada_text_deinit(&why);
    return st == PADA_OK ? PADA_EINVAL : st;
}

static pada_status count_kind(pada_cost_limits *l, int kind)
{
    const pada_cost_limit *limit = &l->list[kind];

    PADA_TRY(
        pada_cost_count_create(&l->counts[kind], &l->space, &limit->costs, limit->min, limit->max));
    if (pada_cost_count_summary(l->counts[kind])->n_inside == 0)
        return refuse(l, (pada_cost_kind)kind);
    if (!l->counts[l->tightest] || share_inside(l, kind) < share_inside(l, l->tightest))
        l->tightest = (pada_cost_kind)kind;
    return PADA_OK;
}

/* Whether a network can be drawn at all. */
static pada_status try_draw(const pada_cost_limits *l)
{
    pada_path path;
    pada_rng rng;

    pada_rng_init(&rng, 0, "feasible", 0);
    if (pada_cost_limits_draw(l, &rng, &path)) return PADA_OK;
    return PADA_FAIL(PADA_EINVAL,
                     "no network inside all limits was found in %d draws inside that of %s",
                     MAX_DRAWS, pada_cost_names[l->tightest]);
}

pada_status pada_cost_limits_create(pada_cost_limits **out, const pada_space *space,
                                    const pada_cost_limit limits[PADA_COST_KINDS])
{
    pada_status st = PADA_OK;
    void *mem;

    *out = NULL;
    PADA_TRY(pada_calloc(&mem, 1, sizeof **out));
    pada_cost_limits *l = mem;
    l->space = *space;
    memcpy(l->list, limits, sizeof l->list);
    while (l->tightest < PADA_COST_KINDS && !limits[l->tightest].is_known)
        l->tightest++;
    PADA_ASSERT(l->tightest < PADA_COST_KINDS);
    for (int kind = 0; kind < PADA_COST_KINDS && st == PADA_OK; kind++)
        if (limits[kind].is_known) st = count_kind(l, kind);
    if (st == PADA_OK) st = try_draw(l);
    if (st != PADA_OK) {
        pada_cost_limits_destroy(l);
        return st;
    }
    *out = l;
    return PADA_OK;
}

void pada_cost_limits_destroy(pada_cost_limits *l)
{
    if (!l) return;
    for (int kind = 0; kind < PADA_COST_KINDS; kind++)
        pada_cost_count_destroy(l->counts[kind]);
    pada_free(l);
}

const pada_cost_summary *pada_cost_limits_summary(const pada_cost_limits *l, pada_cost_kind kind)
{
    return l->counts[kind] ? pada_cost_count_summary(l->counts[kind]) : NULL;
}

int64_t pada_cost_limits_cost(const pada_cost_limits *l, pada_cost_kind kind, const pada_path *path)
{
    return l->counts[kind] ? pada_slot_costs_of(&l->list[kind].costs, &l->space, path) : -1;
}

bool pada_cost_limits_allow(const pada_cost_limits *l, const pada_path *path)
{
    for (int kind = 0; kind < PADA_COST_KINDS; kind++) {
        const pada_cost_limit *limit = &l->list[kind];
        if (!l->counts[kind] || (limit->min == 0 && limit->max == 0)) continue;
        const int64_t cost = pada_cost_limits_cost(l, (pada_cost_kind)kind, path);
        if (cost < limit->min || (limit->max > 0 && cost > limit->max)) return false;
    }
    return true;
}

bool pada_cost_limits_draw(const pada_cost_limits *l, pada_rng *rng, pada_path *path)
{
    for (int i = 0; i < MAX_DRAWS; i++)
        if (pada_cost_count_draw(l->counts[l->tightest], rng, path) &&
            pada_cost_limits_allow(l, path))
            return true;
    return false;
}
