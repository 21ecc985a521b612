/* search_files.c - what a search found, as files that others read. */
#include "study/search_files.h"

#include <inttypes.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"

static void add_cost(pada_text *out, int64_t cost)
{
    if (cost >= 0)
        pada_text_add(out, ",%" PRId64, cost);
    else
        pada_text_add(out, ",");
}

static pada_status add_arch(pada_text *out, const pada_space *space, const pada_path *path)
{
    return space->ops->format(space, path, space->ops->dialects[0], out);
}

static pada_status add_entry(pada_text *out, const pada_space *space, const pada_search_entry *e,
                             int rank, bool has_values)
{
    pada_text_add(out, "%d,", rank);
    PADA_TRY(add_arch(out, space, &e->path));
    pada_text_add(out, ",");
    pada_text_add_double(out, e->score.top1);
    pada_text_add(out, ",");
    pada_text_add_double(out, e->score.loss);
    add_cost(out, e->cost[PADA_COST_MACS]);
    add_cost(out, e->cost[PADA_COST_PARAMS]);
    pada_text_add(out, ",");
    if (e->cost[PADA_COST_LATENCY] >= 0)
        pada_text_add_double(out, (double)e->cost[PADA_COST_LATENCY] / 1000);
    if (has_values) {
        pada_text_add(out, ",");
        pada_text_add_double(out, e->score.value);
    }
    pada_text_add(out, "\n");
    return out->status;
}

/* Entries of a list, by their places in all of them. */
static pada_status add_table(pada_text *out, const pada_search_result *result,
                             const pada_space *space, const int *list, int n)
{
    pada_text_add(out, "rank,arch,top1,loss,macs,params,latency%s\n",
                  result->has_values ? ",score" : "");
    for (int i = 0; i < n; i++)
        PADA_TRY(add_entry(out, space, &result->entries[list[i]], i + 1, result->has_values));
    return out->status;
}

static pada_status add_best(pada_text *out, const pada_search_result *result,
                            const pada_space *space, pada_cost_kind kind)
{
    (void)kind;
    return add_table(out, result, space, result->order, result->n);
}

static pada_status add_front(pada_text *out, const pada_search_result *result,
                             const pada_space *space, pada_cost_kind kind)
{
    int *front, n;

    PADA_TRY(pada_search_front(result, kind, &front, &n));
    const pada_status st = add_table(out, result, space, front, n);
    pada_free(front);
    return st;
}

static pada_status add_history(pada_text *out, const pada_search_result *result,
                               const pada_space *space, pada_cost_kind kind)
{
    const pada_search_entry *best = &result->entries[0];

    (void)kind;
    pada_text_add(out, "evaluation,generation,arch,top1,best_so_far\n");
    for (int i = 0; i < result->n; i++) {
        const pada_search_entry *e = &result->entries[i];
        if (e->score.value > best->score.value) best = e;
        pada_text_add(out, "%d,%d,", i + 1, e->generation);
        PADA_TRY(add_arch(out, space, &e->path));
        pada_text_add(out, ",");
        pada_text_add_double(out, e->score.top1);
        pada_text_add(out, ",");
        pada_text_add_double(out, best->score.top1);
        pada_text_add(out, "\n");
    }
    return out->status;
}

static const struct {
    const char *name;
    pada_status (*add)(pada_text *out, const pada_search_result *result, const pada_space *space,
                       pada_cost_kind kind);
} files[] = {
    {PADA_SEARCH_HISTORY, add_history},
    {PADA_SEARCH_FRONT, add_front},
    {PADA_SEARCH_BEST, add_best},
};

pada_status pada_search_write(const pada_search_result *result, const pada_space *space,
                              pada_cost_kind kind, const char *folder)
{
    pada_status st = pada_make_dirs(folder);

    for (size_t i = 0; i < sizeof files / sizeof files[0] && st == PADA_OK; i++) {
        pada_text path = {0}, text = {0};
        pada_text_add(&path, "%s/%s", folder, files[i].name);
        if ((st = path.status) == PADA_OK) st = files[i].add(&text, result, space, kind);
        if (st == PADA_OK) st = pada_file_replace(path.data, text.data, text.length);
        pada_text_deinit(&text);
        pada_text_deinit(&path);
    }
    return st;
}
