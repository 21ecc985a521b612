/* cost_count.c - how many networks of a space cost what, exactly, and random ones among those inside a limit. */
#include "sampler/cost_count.h"

#include <stdlib.h>

#include "base/mem.h"
#include "sampler/slot_units.h"

enum { MAX_CELLS = 1 << 20 };

/* A choice of a unit. */
typedef struct option {
    int64_t cost;
    int choice;
} option;

/* The sums of the last units. */
typedef struct level {
    int64_t first;   /* the smallest sum */
    int64_t n;       /* sums first, first + step, .. */
    uint64_t *below; /* [n + 1] how many choices cost less than the i-th sum */
} level;

struct pada_cost_count {
    pada_slot_units units;
    option **options;  /* [units.n][n_choices], the cheapest first */
    int64_t fixed;     /* part of the costs */
    int64_t low, high; /* limits, without the fixed part */
    int64_t step;      /* of the sums */
    int64_t slack;     /* by which a sum may be less than the cost */
    level *levels;     /* [units.n + 1], the first one empty; NULL: there are no limits */
    pada_cost_summary summary;
};

/* ---- costs of units ---- */

static int compare_options(const void *x, const void *y)
{
    const option *a = x, *b = y;

    if (a->cost != b->cost) return a->cost < b->cost ? -1 : 1;
    return a->choice < b->choice ? -1 : a->choice > b->choice;
}

static int64_t unit_cost(const pada_slot_unit *unit, const pada_space *space,
                         const pada_slot_costs *costs, const pada_path *path)
{
    int64_t sum = 0;

    for (int i = 0; i < unit->n_slots; i++)
        if (pada_path_takes(space, path, unit->slots[i]))
            sum += costs->cost[unit->slots[i]][path->choice[unit->slots[i]]];
    return sum;
}

static pada_status list_options(pada_cost_count *c, const pada_space *space,
                                const pada_slot_costs *costs)
{
    void *mem;

    PADA_TRY(pada_slot_units_init(&c->units, space));
    PADA_TRY(pada_calloc(&mem, (size_t)c->units.n, sizeof *c->options));
    c->options = mem;
    for (int u = 0; u < c->units.n; u++) {
        const pada_slot_unit *unit = &c->units.list[u];
        PADA_TRY(pada_calloc(&mem, (size_t)unit->n_choices, sizeof **c->options));
        c->options[u] = mem;
        for (int i = 0; i < unit->n_choices; i++)
            c->options[u][i] =
                (option){.cost = unit_cost(unit, space, costs, &unit->choices[i]), .choice = i};
        qsort(c->options[u], (size_t)unit->n_choices, sizeof(option), compare_options);
    }
    return PADA_OK;
}

static int n_options(const pada_cost_count *c, int unit)
{
    return c->units.list[unit].n_choices;
}

static int64_t cheapest(const pada_cost_count *c, int unit)
{
    return c->options[unit][0].cost;
}

static int64_t dearest(const pada_cost_count *c, int unit)
{
    return c->options[unit][n_options(c, unit) - 1].cost;
}

static pada_status summarise(pada_cost_count *c, const pada_space *space)
{
    pada_cost_summary *s = &c->summary;

    *s = (pada_cost_summary){.smallest = c->fixed,
                             .largest = c->fixed,
                             .mean = (double)c->fixed,
                             .n_networks = 1,
                             .is_exact = true};
    for (int u = 0; u < c->units.n; u++) {
        const uint64_t n = (uint64_t)n_options(c, u);
        double sum = 0;

        if (s->n_networks > UINT64_MAX / n)
            return PADA_FAIL(PADA_EUNSUPPORTED, "space %s has more networks than can be counted",
                             space->ops->name);
        s->n_networks *= n;
        s->smallest += cheapest(c, u);
        s->largest += dearest(c, u);
        for (uint64_t i = 0; i < n; i++)
            sum += (double)c->options[u][i].cost;
        s->mean += sum / (double)n;
    }
    s->n_inside = s->n_networks;
    return PADA_OK;
}

/* ---- levels ---- */

static int64_t divisor(int64_t a, int64_t b)
{
    while (b != 0) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* All sums are multiples of the step above the smallest one, or are counted as such ones that are not larger. */
static void choose_step(pada_cost_count *c)
{
    int64_t exact = 0;

    for (int u = 0; u < c->units.n; u++)
        for (int i = 0; i < n_options(c, u); i++)
            exact = divisor(exact, c->options[u][i].cost - cheapest(c, u));
    c->step = exact = exact > 0 ? exact : 1;
    while ((c->summary.largest - c->summary.smallest) / c->step >= MAX_CELLS)
        c->step *= 2;
    c->slack = c->units.n * (c->step - exact);
    c->summary.is_exact = c->step == exact;
}

/* What an option costs more than the cheapest one, in steps. */
static int64_t steps_of(const pada_cost_count *c, int unit, int i)
{
    return (c->options[unit][i].cost - cheapest(c, unit)) / c->step;
}

/* Adds a unit to the level behind it. */
static pada_status make_level(pada_cost_count *c, int unit)
{
    const level *from = &c->levels[unit + 1];
    level *to = &c->levels[unit];
    void *mem;

    to->first = from->first + cheapest(c, unit);
    to->n = from->n + steps_of(c, unit, n_options(c, unit) - 1);
    PADA_TRY(pada_calloc(&mem, (size_t)to->n + 1, sizeof *to->below));
    to->below = mem;
    for (int i = 0, equal; i < n_options(c, unit); i += equal) {
        const int64_t shift = steps_of(c, unit, i);
        for (equal = 1; i + equal < n_options(c, unit); equal++)
            if (steps_of(c, unit, i + equal) != shift) break;
        for (int64_t k = 0; k < from->n; k++)
            to->below[shift + k + 1] += (uint64_t)equal * (from->below[k + 1] - from->below[k]);
    }
    for (int64_t k = 0; k < to->n; k++)
        to->below[k + 1] += to->below[k];
    return PADA_OK;
}

/* How many choices of a level, behind choices that cost `spent`, are inside the limits. */
static uint64_t count_inside(const pada_cost_count *c, const level *l, int64_t spent)
{
    const int64_t low = c->low - c->slack - spent - l->first, high = c->high - spent - l->first;
    int64_t from = low <= 0 ? 0 : (low - 1) / c->step + 1; /* the first sum that is not less */
    int64_t to = high < 0 ? 0 : high / c->step + 1;        /* the first that is more */

    if (from > l->n) from = l->n;
    if (to > l->n) to = l->n;
    return to > from ? l->below[to] - l->below[from] : 0;
}

/* What the sum counts an option as. */
static int64_t counted_cost(const pada_cost_count *c, int unit, int i)
{
    return cheapest(c, unit) + steps_of(c, unit, i) * c->step;
}

static pada_status count_levels(pada_cost_count *c)
{
    const int n = c->units.n;
    void *mem;

    choose_step(c);
    PADA_TRY(pada_calloc(&mem, (size_t)n + 1, sizeof *c->levels));
    c->levels = mem;
    PADA_TRY(pada_calloc(&mem, 2, sizeof *c->levels[n].below));
    c->levels[n] = (level){.n = 1, .below = mem};
    c->levels[n].below[1] = 1;
    for (int u = n - 1; u > 0; u--)
        PADA_TRY(make_level(c, u));
    c->summary.n_inside = 0;
    for (int i = 0; i < n_options(c, 0); i++)
        c->summary.n_inside += count_inside(c, &c->levels[1], counted_cost(c, 0, i));
    return PADA_OK;
}

/* A limit that means the same, and with which sums do not overflow. */
static int64_t clamp(const pada_cost_count *c, int64_t limit)
{
    const pada_cost_summary *s = &c->summary;

    if (limit < s->smallest) return s->smallest - 1;
    return limit > s->largest ? s->largest + 1 : limit;
}

static pada_status create(pada_cost_count *c, const pada_space *space, const pada_slot_costs *costs,
                          int64_t min, int64_t max)
{
    c->fixed = costs->fixed;
    PADA_TRY(list_options(c, space, costs));
    PADA_TRY(summarise(c, space));
    c->low = clamp(c, min) - c->fixed;
    c->high = (max > 0 ? clamp(c, max) : c->summary.largest) - c->fixed;
    return min > 0 || max > 0 ? count_levels(c) : PADA_OK;
}

pada_status pada_cost_count_create(pada_cost_count **out, const pada_space *space,
                                   const pada_slot_costs *costs, int64_t min, int64_t max)
{
    void *mem;

    *out = NULL;
    PADA_TRY(pada_calloc(&mem, 1, sizeof **out));
    pada_cost_count *c = mem;
    const pada_status st = create(c, space, costs, min, max);
    if (st != PADA_OK) {
        pada_cost_count_destroy(c);
        return st;
    }
    *out = c;
    return PADA_OK;
}

void pada_cost_count_destroy(pada_cost_count *c)
{
    if (!c) return;
    for (int u = 0; u < c->units.n; u++) {
        if (c->options) pada_free(c->options[u]);
        if (c->levels) pada_free(c->levels[u].below);
    }
    if (c->levels) pada_free(c->levels[c->units.n].below);
    pada_free(c->levels);
    pada_free(c->options);
    pada_slot_units_deinit(&c->units);
    pada_free(c);
}

const pada_cost_summary *pada_cost_count_summary(const pada_cost_count *c)
{
    return &c->summary;
}

/* ---- drawing ---- */

/* 0 .. bound - 1, each equally likely. */
static uint64_t draw_below(pada_rng *rng, uint64_t bound)
{
    const uint64_t excess = (UINT64_MAX % bound + 1) % bound; /* 2^64 mod bound */
    uint64_t x;

    do {
        x = (uint64_t)pada_rng_u32(rng) << 32;
        x |= pada_rng_u32(rng);
    } while (x > UINT64_MAX - excess);
    return x % bound;
}

/* The option of a unit that the number-th network inside the limits has; the number becomes that among those that
 * have it. */
static int find_option(const pada_cost_count *c, int unit, int64_t spent, uint64_t *number)
{
    int i = 0;

    for (;; i++) {
        PADA_ASSERT(i < n_options(c, unit));
        const uint64_t n = count_inside(c, &c->levels[unit + 1], spent + counted_cost(c, unit, i));
        if (*number < n) return i;
        *number -= n;
    }
}

static bool draw_inside(const pada_cost_count *c, pada_rng *rng, pada_path *path)
{
    uint64_t number = draw_below(rng, c->summary.n_inside);
    int64_t spent = 0, cost = 0;

    for (int u = 0; u < c->units.n; u++) {
        const int i = find_option(c, u, spent, &number);
        spent += counted_cost(c, u, i);
        cost += c->options[u][i].cost;
        pada_slot_unit_copy(&c->units.list[u], &c->units.list[u].choices[c->options[u][i].choice],
                            path);
    }
    return cost >= c->low && cost <= c->high;
}

bool pada_cost_count_draw(const pada_cost_count *c, pada_rng *rng, pada_path *path)
{
    PADA_ASSERT(c->summary.n_inside > 0);
    *path = (pada_path){{0}};
    if (c->levels) return draw_inside(c, rng, path);
    for (int u = 0; u < c->units.n; u++) {
        const pada_slot_unit *unit = &c->units.list[u];
        const uint32_t i = pada_rng_below(rng, (uint32_t)unit->n_choices);
        pada_slot_unit_copy(unit, &unit->choices[i], path);
    }
    return true;
}
