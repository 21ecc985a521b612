/* search_evolution.c - evolution as SPOS has it: mutants and crossovers of the best networks so far. */
#include "base/mem.h"
#include "study/search_parts.h"

/* The networks that have offspring. */
typedef struct parents {
    const pada_search_entry *entries;
    const int *order; /* the best first */
    int n;
} parents;

static const pada_path *pick(void *user, pada_rng *rng)
{
    const parents *p = user;

    return &p->entries[p->order[pada_rng_below(rng, (uint32_t)p->n)]].path;
}

static pada_status breed(pada__search *s)
{
    const int64_t wanted = s->desc->settings.parents;
    int *order;

    PADA_TRY(pada__search_best_first(s, &order));
    parents p = {.entries = s->entries,
                 .order = order,
                 .n = wanted < s->n_scored ? (int)wanted : s->n_scored};
    pada__search_breed(s, pick, &p);
    pada_free(order);
    return PADA_OK;
}

static pada_status run(pada__search *s)
{
    const pada_search_settings *settings = &s->desc->settings;

    pada__search_fill(s, settings->population);
    PADA_TRY(pada__search_score(s));
    for (int64_t i = 0; i < settings->generations; i++) {
        PADA_TRY(breed(s));
        if (pada__search_n_offered(s) == 0) break;
        PADA_TRY(pada__search_score(s));
    }
    return PADA_OK;
}

const pada_search_algorithm pada_search_evolution = {
    .name = "evolution", .most = pada__search_most_bred, .run = run};
