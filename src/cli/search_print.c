/* search_print.c - what limits leave of a space, and what a search found, as text and as JSON. */
#include "cli/search_print.h"

#include <inttypes.h>

#include "cli/print.h"
#include "cli/print_metrics.h"

/* ---- limits ---- */

/* Latencies are shown, and written, in milliseconds. */
static double unit_of(int kind)
{
    return kind == PADA_COST_LATENCY ? 1000 : 1;
}

static const char *name_of(int kind)
{
    return kind == PADA_COST_LATENCY ? "latency_ms" : pada_cost_names[kind];
}

static void add_cost(pada_text *out, int kind, double cost)
{
    pada_text_add(out, " %12.*f", kind == PADA_COST_LATENCY ? 3 : 0, cost / unit_of(kind));
}

static void add_limit(pada_text *out, int kind, int64_t limit)
{
    if (limit > 0)
        add_cost(out, kind, (double)limit);
    else
        pada_text_add(out, " %12s", "-");
}

static double share_of(const pada_cost_summary *s)
{
    return 100.0 * (double)s->n_inside / (double)s->n_networks;
}

void pada_add_feasible(pada_text *out, const pada_cost_limits *limits,
                       const pada_cost_limit given[PADA_COST_KINDS])
{
    pada_text_add(out, "%-10s %12s %12s %12s %12s %12s %22s %9s\n", "cost", "smallest", "largest",
                  "mean", "at least", "at most", "networks inside", "share");
    for (int kind = 0; kind < PADA_COST_KINDS; kind++) {
        const pada_cost_summary *s = pada_cost_limits_summary(limits, (pada_cost_kind)kind);
        if (!s) continue;
        pada_text_add(out, "%-10s", name_of(kind));
        add_cost(out, kind, (double)s->smallest);
        add_cost(out, kind, (double)s->largest);
        add_cost(out, kind, s->mean);
        add_limit(out, kind, given[kind].min);
        add_limit(out, kind, given[kind].max);
        pada_text_add(out, " %s%*" PRIu64 " %8.4g%%\n",
                      s->is_exact ? "" : "<=", s->is_exact ? 22 : 20, s->n_inside, share_of(s));
    }
}

static json_t *json_cost(int kind, int64_t cost)
{
    return kind == PADA_COST_LATENCY ? json_real((double)cost / unit_of(kind)) : json_integer(cost);
}

static json_t *json_limit(int kind, int64_t limit)
{
    return limit > 0 ? json_cost(kind, limit) : json_null();
}

static json_t *json_feasible(pada_text *out, int kind, const pada_cost_summary *s,
                             const pada_cost_limit *given)
{
    json_t *object = json_object();

    pada_json_set(out, object, "name", json_string(name_of(kind)));
    pada_json_set(out, object, "smallest", json_cost(kind, s->smallest));
    pada_json_set(out, object, "largest", json_cost(kind, s->largest));
    pada_json_set_number(out, object, "mean", s->mean / unit_of(kind));
    pada_json_set(out, object, "min", json_limit(kind, given->min));
    pada_json_set(out, object, "max", json_limit(kind, given->max));
    pada_json_set(out, object, "inside", pada_json_count(s->n_inside));
    pada_json_set_number(out, object, "share", share_of(s));
    pada_json_set(out, object, "exact", json_boolean(s->is_exact));
    return object;
}

void pada_json_set_feasible(pada_text *out, json_t *object, const pada_cost_limits *limits,
                            const pada_cost_limit given[PADA_COST_KINDS])
{
    json_t *list = json_array();
    uint64_t n = 0;

    for (int kind = 0; kind < PADA_COST_KINDS; kind++) {
        const pada_cost_summary *s = pada_cost_limits_summary(limits, (pada_cost_kind)kind);
        if (!s) continue;
        n = s->n_networks;
        pada_json_append(out, list, json_feasible(out, kind, s, &given[kind]));
    }
    pada_json_set(out, object, "networks", pada_json_count(n));
    pada_json_set(out, object, "costs", list);
}

/* ---- networks ---- */

static int n_shown(const pada_search_result *result, int top)
{
    return top < result->n ? top : result->n;
}

pada_status pada_add_found(pada_text *out, const pada_space *space,
                           const pada_search_result *result, int top)
{
    const bool has_latency = result->n > 0 && result->entries[0].cost[PADA_COST_LATENCY] >= 0;

    pada_text_add(out, "%6s%s %8s %7s %7s%s  architecture\n", "place",
                  result->has_values ? "    score" : "", result->has_values ? "top-1 %" : "score %",
                  "MACs", "params", has_latency ? "      ms" : "");
    for (int i = 0; i < n_shown(result, top); i++) {
        const pada_search_entry *e = &result->entries[result->order[i]];
        pada_text_add(out, "%6d", i + 1);
        if (result->has_values) pada_text_add(out, " %8.5g", e->score.value);
        pada_text_add(out, " %8.6g", e->score.top1);
        pada_add_count(out, e->cost[PADA_COST_MACS], 8);
        pada_add_count(out, e->cost[PADA_COST_PARAMS], 8);
        if (has_latency) pada_text_add(out, " %7.3f", (double)e->cost[PADA_COST_LATENCY] / 1000);
        pada_text_add(out, "  ");
        PADA_TRY(space->ops->format(space, &e->path, NULL, out));
        pada_text_add(out, "\n");
    }
    return out->status;
}

static json_t *json_arch(pada_text *out, const pada_space *space, const pada_path *path)
{
    pada_text arch = {0};
    const pada_status st = space->ops->format(space, path, NULL, &arch);

    if (st != PADA_OK && out->status == PADA_OK) out->status = st;
    json_t *value = json_string(pada_text_str(&arch));
    pada_text_deinit(&arch);
    return value;
}

static json_t *json_entry(pada_text *out, const pada_space *space, const pada_search_entry *e,
                          bool has_values)
{
    json_t *object = json_object();

    pada_json_set(out, object, "arch", json_arch(out, space, &e->path));
    if (has_values) pada_json_set_number(out, object, "score", e->score.value);
    pada_json_set_number(out, object, "top1", e->score.top1);
    pada_json_set_number(out, object, "loss", e->score.loss);
    for (int kind = 0; kind < PADA_COST_KINDS; kind++)
        if (e->cost[kind] >= 0)
            pada_json_set(out, object, name_of(kind), json_cost(kind, e->cost[kind]));
    return object;
}

/* The best network of every generation: those of one stand together. */
static json_t *json_generations(pada_text *out, const pada_space *space,
                                const pada_search_result *result)
{
    json_t *list = json_array();

    for (int first = 0, n; first < result->n; first += n) {
        const pada_search_entry *best = &result->entries[first];
        const int generation = best->generation;
        for (n = 1; first + n < result->n; n++) {
            const pada_search_entry *e = &result->entries[first + n];
            if (e->generation != generation) break;
            if (pada_search_score_is_better(&e->score, &best->score)) best = e;
        }
        json_t *object = json_object();
        pada_json_set(out, object, "generation", json_integer(generation));
        pada_json_set(out, object, "evaluated", json_integer(n));
        pada_json_set(out, object, "best", json_entry(out, space, best, result->has_values));
        pada_json_append(out, list, object);
    }
    return list;
}

void pada_json_set_found(pada_text *out, json_t *object, const pada_space *space,
                         const pada_search_result *result, int top)
{
    json_t *list = json_array();

    for (int i = 0; i < n_shown(result, top); i++)
        pada_json_append(
            out, list,
            json_entry(out, space, &result->entries[result->order[i]], result->has_values));
    pada_json_set(out, object, "evaluated", json_integer(result->n));
    pada_json_set(out, object, "generations", json_generations(out, space, result));
    pada_json_set(out, object, "top", list);
}
