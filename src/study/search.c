/* search.c - the search for the best networks of a supernet: what all algorithms share. */
#include "study/search.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "study/search_parts.h"

enum {
    MAX_ENTRIES = 10000000,
    MAX_MISSES = 10000 /* random networks in a row that are there already */
};

/* ---- the algorithms ---- */

#define PADA_SEARCH(file) extern const pada_search_algorithm pada_search_##file;
#include "study/searches.def"
#undef PADA_SEARCH

static const pada_search_algorithm *const registry[] = {
#define PADA_SEARCH(file) &pada_search_##file,
#include "study/searches.def"
#undef PADA_SEARCH
};

enum { N_ALGORITHMS = sizeof registry / sizeof registry[0] };

const char *pada_search_name(int i)
{
    return i < N_ALGORITHMS ? registry[i]->name : NULL;
}

pada_status pada_search_find(const pada_search_algorithm **out, const char *name)
{
    const char *names[N_ALGORITHMS];

    *out = NULL;
    for (int i = 0; i < N_ALGORITHMS; i++) {
        names[i] = registry[i]->name;
        if (strcmp(name, names[i]) == 0) *out = registry[i];
    }
    if (*out) return PADA_OK;
    return pada_fail_unknown(PADA_EINVAL, "unknown algorithm", name, names, N_ALGORITHMS);
}

/* ---- settings ---- */

#define COUNT_OPTION(option_name, field, usual, least, text)                                   \
    {                                                                                          \
        .name = option_name, .type = PADA_OPT_INT,                                             \
        .offset = offsetof(pada_search_settings, field), .default_value = usual, .min = least, \
        .max = 1000000, .meta = "N", .help = text                                              \
    }

const pada_opt pada_search_options[] = {
    COUNT_OPTION("rounds", rounds, "60", 1, "random: rounds"),
    COUNT_OPTION("per-round", per_round, "100", 1, "random: networks of a round"),
    COUNT_OPTION("population", population, "50", 1, "evolution, pareto: networks of a generation"),
    COUNT_OPTION("generations", generations, "20", 0,
                 "evolution, pareto: generations after the random one"),
    COUNT_OPTION("parents", parents, "10", 1, "evolution: the best so many have offspring"),
    COUNT_OPTION("mutants", mutants, "25", 0, "evolution, pareto: mutants of a generation"),
    COUNT_OPTION("crossovers", crossovers, "25", 0,
                 "evolution, pareto: crossovers of a generation; what is missing is random"),
    COUNT_OPTION("tries", tries, "250", 0,
                 "evolution, pareto: for the mutants, and for the crossovers, of a generation"),
    {.name = "mutation",
     .type = PADA_OPT_DOUBLE,
     .offset = offsetof(pada_search_settings, mutation),
     .default_value = "0.1",
     .min = 0,
     .max = 1,
     .meta = "P",
     .help = "evolution, pareto: probability that a mutant draws a choice anew"},
    {.name = "budget",
     .type = PADA_OPT_INT,
     .offset = offsetof(pada_search_settings, budget),
     .min = 1,
     .max = MAX_ENTRIES,
     .meta = "N",
     .help = "evaluate no more than N networks"},
    {.name = "cost",
     .type = PADA_OPT_CHOICE,
     .offset = offsetof(pada_search_settings, cost),
     .default_value = "macs",
     .choices = "macs|params|latency", /* in the order of pada_cost_kind */
     .help = "what front.csv, and pareto, weigh against accuracy"},
    {.name = NULL},
};

pada_status pada_search_most(const pada_search_algorithm *algorithm,
                             const pada_search_settings *settings, int *n)
{
    double most = algorithm->most(settings);

    if (settings->budget > 0 && (double)settings->budget < most) most = (double)settings->budget;
    if (!(most >= 1 && most <= MAX_ENTRIES))
        return PADA_FAIL(PADA_EINVAL, "a search of %.0f networks is not in 1 to %d", most,
                         MAX_ENTRIES);
    *n = (int)most;
    return PADA_OK;
}

/* ---- a generation ---- */

void pada__search_stream(const pada__search *s, const char *name, pada_rng *rng)
{
    pada_rng_init(rng, s->desc->seed, name, (uint64_t)s->generation);
}

int pada__search_n_offered(const pada__search *s)
{
    return s->n - s->n_scored;
}

bool pada__search_offer(pada__search *s, const pada_path *path)
{
    const pada_search_desc *desc = s->desc;
    pada_path form;

    desc->space->ops->canonical(desc->space, path, &form);
    if (s->n == s->n_most || pada_path_index_find(s->forms, &form) >= 0) return false;
    if (!pada_cost_limits_allow(desc->limits, path)) return false;
    pada_search_entry *entry = &s->entries[s->n++];
    *entry = (pada_search_entry){.path = pada_cost_limits_allow(desc->limits, &form) ? form : *path,
                                 .generation = s->generation};
    for (int kind = 0; kind < PADA_COST_KINDS; kind++)
        entry->cost[kind] = pada_cost_limits_cost(desc->limits, (pada_cost_kind)kind, &entry->path);
    (void)pada_path_index_add(s->forms, &form);
    return true;
}

void pada__search_fill(pada__search *s, int64_t n)
{
    pada_path path;
    pada_rng rng;

    pada__search_stream(s, "search random", &rng);
    for (int misses = 0;
         misses < MAX_MISSES && pada__search_n_offered(s) < n && s->n < s->n_most;) {
        if (!pada_cost_limits_draw(s->desc->limits, &rng, &path)) return;
        misses = pada__search_offer(s, &path) ? 0 : misses + 1;
    }
}

bool pada_search_score_is_better(const pada_search_score *a, const pada_search_score *b)
{
    return a->value != b->value ? a->value > b->value : a->loss < b->loss;
}

/* Of equal entries the earlier one is better. */
static bool is_better(const pada_search_entry *a, const pada_search_entry *b)
{
    if (pada_search_score_is_better(&a->score, &b->score)) return true;
    return a < b && !pada_search_score_is_better(&b->score, &a->score);
}

static void tell_progress(const pada__search *s)
{
    const pada_search_desc *desc = s->desc;
    const pada_search_entry *best = &s->entries[0];

    if (!desc->progress) return;
    for (int i = 1; i < s->n_scored; i++)
        if (is_better(&s->entries[i], best)) best = &s->entries[i];
    desc->progress(desc->user, &(pada_search_progress){.n_done = s->n_scored,
                                                       .n_most = s->n_most,
                                                       .generation = s->generation,
                                                       .best = best});
}

pada_status pada__search_score(pada__search *s)
{
    const pada_search_desc *desc = s->desc;
    const int n = pada__search_n_offered(s);

    if (desc->stop && desc->stop(desc->user))
        return PADA_FAIL(PADA_ESTOPPED,
                         "stopped after %d of %d evaluations; the same command resumes it",
                         s->n_scored, s->n_most);
    for (int i = 0; i < n; i++)
        s->paths[i] = s->entries[s->n_scored + i].path;
    PADA_TRY(desc->evaluate(desc->user, s->paths, n, s->scores));
    for (int i = 0; i < n; i++)
        s->entries[s->n_scored + i].score = s->scores[i];
    s->n_scored = s->n;
    tell_progress(s);
    s->generation++;
    return PADA_OK;
}

/* ---- the best ---- */

static int compare_entries(const void *x, const void *y)
{
    const pada_search_entry *a = *(const pada_search_entry *const *)x;
    const pada_search_entry *b = *(const pada_search_entry *const *)y;

    return is_better(a, b) ? -1 : a != b;
}

/* The cheapest first; of equal costs the better one. */
typedef struct costly {
    const pada_search_entry *entry;
    int64_t cost;
} costly;

static int compare_costs(const void *x, const void *y)
{
    const costly *a = x, *b = y;

    if (a->cost != b->cost) return a->cost < b->cost ? -1 : 1;
    return is_better(a->entry, b->entry) ? -1 : a->entry != b->entry;
}

pada_status pada__search_best_first(const pada__search *s, int **order)
{
    void *sorted, *mem;

    PADA_TRY(pada_calloc(&mem, (size_t)s->n_scored, sizeof **order));
    *order = mem;
    const pada_status st = pada_calloc(&sorted, (size_t)s->n_scored, sizeof(pada_search_entry *));
    if (st != PADA_OK) {
        pada_free(mem);
        *order = NULL;
        return st;
    }
    const pada_search_entry **list = sorted;
    for (int i = 0; i < s->n_scored; i++)
        list[i] = &s->entries[i];
    qsort(list, (size_t)s->n_scored, sizeof *list, compare_entries);
    for (int i = 0; i < s->n_scored; i++)
        (*order)[i] = (int)(list[i] - s->entries);
    pada_free(sorted);
    return PADA_OK;
}

pada_status pada_search_front(const pada_search_result *result, pada_cost_kind kind, int **front,
                              int *n)
{
    const pada_search_entry *best = NULL;
    void *sorted, *mem;

    *front = NULL;
    *n = 0;
    PADA_TRY(pada_calloc(&sorted, (size_t)result->n, sizeof(costly)));
    const pada_status st = pada_calloc(&mem, (size_t)result->n, sizeof **front);
    if (st != PADA_OK) {
        pada_free(sorted);
        return st;
    }
    *front = mem;
    costly *list = sorted;
    for (int i = 0; i < result->n; i++)
        list[i] = (costly){.entry = &result->entries[i], .cost = result->entries[i].cost[kind]};
    qsort(list, (size_t)result->n, sizeof *list, compare_costs);
    for (int i = 0; i < result->n; i++) {
        if (best && list[i].entry->score.value <= best->score.value) continue;
        best = list[i].entry;
        (*front)[(*n)++] = (int)(best - result->entries);
    }
    pada_free(sorted);
    return PADA_OK;
}

/* ---- a search ---- */

static pada_status make_room(pada__search *s)
{
    void *mem;

    PADA_TRY(pada_search_most(s->desc->algorithm, &s->desc->settings, &s->n_most));
    PADA_TRY(pada_path_index_create(&s->forms, s->desc->space, s->n_most));
    PADA_TRY(pada_calloc(&mem, (size_t)s->n_most, sizeof *s->entries));
    s->entries = mem;
    PADA_TRY(pada_calloc(&mem, (size_t)s->n_most, sizeof *s->paths));
    s->paths = mem;
    PADA_TRY(pada_calloc(&mem, (size_t)s->n_most, sizeof *s->scores));
    s->scores = mem;
    return PADA_OK;
}

pada_status pada_search_run(const pada_search_desc *desc, pada_search_result *result)
{
    pada__search s = {.desc = desc};

    *result = (pada_search_result){0};
    pada_status st = make_room(&s);
    if (st == PADA_OK) st = desc->algorithm->run(&s);
    if (st == PADA_OK) st = pada__search_best_first(&s, &result->order);
    if (st == PADA_OK) {
        result->entries = s.entries; /* ownership moves */
        result->n = s.n_scored;
        result->n_most = s.n_most;
        s.entries = NULL;
    }
    pada_free(s.entries);
    pada_free(s.paths);
    pada_free(s.scores);
    pada_path_index_destroy(s.forms);
    return st;
}

void pada_search_result_deinit(pada_search_result *result)
{
    pada_free(result->entries);
    pada_free(result->order);
    *result = (pada_search_result){0};
}
