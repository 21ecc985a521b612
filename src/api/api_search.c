/* api_search.c - the search of include/pada.h. */
#include "study/search.h"

#include "api/api_parts.h"

/* One call. */
typedef struct searching {
    const pada_search_algorithm *algorithm;
    pada_cost_limits *limits; /* owned */
    pada_search_settings settings;
    pada__scoring scoring;
} searching;

static int count_flags(const char *const *flags)
{
    int n = 0;

    while (flags && flags[n])
        n++;
    return n;
}

static pada_status read_flags(pada_search_settings *settings, const char *const *flags)
{
    pada_options *options;

    PADA_TRY(pada_options_create(&options));
    pada_status st = pada_options_bind(options, pada_search_options, settings);
    if (st == PADA_OK) st = pada_options_parse(options, count_flags(flags), flags);
    if (st == PADA_OK && pada_options_n_words(options) > 0)
        st = PADA_FAIL(PADA_EINVAL, "'%s' is no flag", pada_options_word(options, 0));
    pada_options_destroy(options);
    return st;
}

static pada_status set_limits(searching *s, const pada_space *space, const pada_search_config *c)
{
    pada_cost_limit limits[PADA_COST_KINDS] = {
        [PADA_COST_MACS] = {.is_known = true, .min = c->min_macs, .max = c->max_macs},
        [PADA_COST_PARAMS] = {.is_known = true, .min = c->min_params, .max = c->max_params}};

    if (c->min_macs < 0 || c->max_macs < 0 || c->min_params < 0 || c->max_params < 0)
        return PADA_FAIL(PADA_EINVAL, "a limit of a cost is negative");
    PADA_TRY(pada_slot_costs_count(&limits[PADA_COST_MACS].costs, space, PADA_COUNTED_MACS, false));
    PADA_TRY(
        pada_slot_costs_count(&limits[PADA_COST_PARAMS].costs, space, PADA_COUNTED_PARAMS, false));
    return pada_cost_limits_create(&s->limits, space, limits);
}

static pada_status evaluate(void *user, const pada_path *paths, int n, pada_search_score *scores)
{
    searching *s = user;
    pada_evaluation found;

    for (int i = 0; i < n; i++) {
        PADA_TRY(pada__score(&s->scoring, &paths[i], &found));
        const double top1 = 100.0 * found.top1 / found.n_images;
        scores[i] = (pada_search_score){.value = top1, .loss = found.loss, .top1 = top1};
    }
    return PADA_OK;
}

static pada_status prepare(searching *s, const pada_space *space, const pada_search_config *config)
{
    int n_most;

    PADA_TRY(pada_search_find(&s->algorithm, config->algorithm ? config->algorithm : "evolution"));
    PADA_TRY(read_flags(&s->settings, config->flags));
    PADA_TRY(pada_search_most(s->algorithm, &s->settings, &n_most));
    s->scoring.n_total = n_most;
    return set_limits(s, space, config);
}

static pada_status search(searching *s, const pada_space *space, uint64_t seed,
                          pada_search_result *result)
{
    return pada_search_run(&(pada_search_desc){.space = space,
                                               .limits = s->limits,
                                               .algorithm = s->algorithm,
                                               .settings = s->settings,
                                               .seed = seed,
                                               .user = s,
                                               .evaluate = evaluate},
                           result);
}

static int copy_best(const pada_search_result *result, pada_network *out, int room)
{
    const int n = result->n < room ? result->n : room;

    for (int i = 0; i < n; i++) {
        const pada_search_entry *entry = &result->entries[result->order[i]];
        out[i] = (pada_network){.path = entry->path,
                                .top1 = entry->score.top1,
                                .loss = entry->score.loss,
                                .macs = entry->cost[PADA_COST_MACS],
                                .params = entry->cost[PADA_COST_PARAMS]};
    }
    return n;
}

pada_status pada_net_search(pada_net *net, const pada_images *images,
                            const pada_search_config *config, const pada_observer *observer,
                            pada_network *out, int room, int *n)
{
    static const pada_search_config defaults;
    pada_search_result result = {0};
    searching s = {0};

    if (!net || !images || !out || !n) return pada__fail_null(__func__);
    if (room < 1) return PADA_FAIL(PADA_EINVAL, "room for %d networks", room);
    if (!config) config = &defaults;
    const pada_space *space = pada_engine_space(net->engine);
    pada_status st = prepare(&s, space, config);
    if (st == PADA_OK) st = pada__scoring_begin(&s.scoring, net, images, config->limit, observer);
    if (st == PADA_OK) st = search(&s, space, config->seed, &result);
    st = pada__scoring_end(&s.scoring, net, st);
    if (st == PADA_OK) *n = copy_best(&result, out, room);
    pada_search_result_deinit(&result);
    pada_cost_limits_destroy(s.limits);
    return st;
}
