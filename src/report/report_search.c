/* report_search.c - what a search found: the winner, how the search went, costs against accuracies. */
#include <math.h>

#include "report/html.h"
#include "report/report_parts.h"

enum { N_FURTHER = 9 };

bool pada__report_has_search(const pada__report_run *run)
{
    return run->search.best.n > 0;
}

/* ---- networks ---- */

static bool has_costs(const pada_search_row *row)
{
    return !isnan(row->macs) && !isnan(row->params);
}

static void add_costs(const pada_search_row *row, pada_text *out)
{
    pada__report_cost(out, row->macs, row->params);
    if (!isnan(row->latency)) pada_text_add(out, ", %.3g ms", row->latency);
}

static void add_top1(const pada_search_row *row, pada_text *out)
{
    pada_text_add(out, "top-1 ");
    pada__report_percent(out, row->top1, 2);
}

static pada_status add_winner(const pada__report_run *run, pada_text *out)
{
    const pada_search_row *row = &run->search.best.rows[0];

    pada_text_add(out, "<div class=\"best\">\n");
    PADA_TRY(pada__report_drawing(&run->space, &row->path, out));
    pada_text_add(out, "<div>\n<ul>\n<li>");
    add_top1(row, out);
    pada_text_add(out, " with the weights of the supernet, the best of %d networks",
                  run->search.best.n);
    pada_text_add(out, "</li>\n");
    if (has_costs(row)) {
        pada_text_add(out, "<li>");
        add_costs(row, out);
        pada_text_add(out, "</li>\n");
    }
    pada_text_add(out, "</ul>\n<p>");
    PADA_TRY(pada__report_arch(run, &row->path, out));
    pada_text_add(out, "</p>\n<p>Next: train it alone, in its final form.</p>\n"
                       "<pre>pada retrain --from ");
    pada__report_word(out, run->name, "");
    pada_text_add(out, " --out ");
    pada__report_word(out, run->name, "-final");
    pada_text_add(out, "</pre>\n</div>\n</div>\n");
    return out->status;
}

static pada_status add_further(const pada__report_run *run, pada_text *out)
{
    const pada_search_rows *best = &run->search.best;

    if (best->n < 2) return PADA_OK;
    pada__report_begin_more(out, "Further networks of the search");
    pada_text_add(out, "<ol class=\"cells\">\n");
    for (int i = 1; i < best->n && i <= N_FURTHER; i++) {
        pada_text_add(out, "<li value=\"%d\"><details><summary>", i + 1);
        add_top1(&best->rows[i], out);
        if (has_costs(&best->rows[i])) {
            pada_text_add(out, "; ");
            add_costs(&best->rows[i], out);
        }
        pada_text_add(out, "</summary>\n<p>");
        PADA_TRY(pada__report_arch(run, &best->rows[i].path, out));
        pada_text_add(out, "</p>\n");
        PADA_TRY(pada__report_drawing(&run->space, &best->rows[i].path, out));
        pada_text_add(out, "</details></li>\n");
    }
    pada_text_add(out, "</ol>\n");
    pada__report_end_more(out);
    return out->status;
}

/* ---- the cost of the front ---- */

typedef struct cost {
    size_t offset; /* in pada_search_row */
    const char *axis;
} cost;

static const cost costs[] = {
    {offsetof(pada_search_row, macs), "multiply-adds per image"},
    {offsetof(pada_search_row, params), "parameters"},
    {offsetof(pada_search_row, latency), "latency (ms)"},
};
enum { N_COSTS = sizeof costs / sizeof *costs };

static double cost_of(const pada_search_row *row, const cost *c)
{
    return *(const double *)((const char *)row + c->offset);
}

/* A front has the cheapest first: whether it can be one by this cost. */
static bool is_front_by(const pada_search_rows *front, const cost *c)
{
    for (int i = 0; i < front->n; i++)
        if (isnan(cost_of(&front->rows[i], c)) ||
            (i > 0 && cost_of(&front->rows[i], c) < cost_of(&front->rows[i - 1], c)))
            return false;
    return front->n > 0;
}

/* The file does not say which; NULL: there is no front. */
static const cost *find_cost(const pada_search_rows *front)
{
    for (int k = 0; k < N_COSTS; k++)
        if (is_front_by(front, &costs[k])) return &costs[k];
    return NULL;
}

/* ---- figures ---- */

static void add_figures(const pada__report *r, int run, pada_text *out)
{
    const pada_search_log *search = &r->runs[run].search;
    const char *name = r->desc->n_runs > 1 ? r->runs[run].name : NULL;

    pada_text_add(out, "<div class=\"figures\">\n");
    if (search->history.n > 0)
        pada__report_figure(
            out, "history", run, "The search", name,
            "A point per network in the order of evaluation, and the best so far. A "
            "line that has long been flat has found what there is to find.");
    if (find_cost(&search->front))
        pada__report_figure(out, "front", run, "Accuracy against cost", name,
                            "The line: networks that no other one beats at the same or a lower "
                            "cost. The star is the winner.");
    pada_text_add(out, "</div>\n");
}

pada_status pada__report_search(const pada__report *r, pada_text *out)
{
    for (int i = 0; i < r->desc->n_runs; i++) {
        const pada__report_run *run = &r->runs[i];
        if (!pada__report_has_search(run)) continue;
        pada__report_run_name(r, run, out);
        PADA_TRY(add_winner(run, out));
        add_figures(r, i, out);
        PADA_TRY(add_further(run, out));
    }
    return out->status;
}

/* ---- numbers ---- */

static void add_point(pada_text *out, int i, double x, double y)
{
    pada_text_add(out, i > 0 ? ",[" : "[");
    pada_html_json_number(out, x);
    pada_text_add(out, ",");
    pada_html_json_number(out, y);
    pada_text_add(out, "]");
}

static void begin_series(pada_text *out, const char *name, const char *look)
{
    pada_text_add(out, "{\"name\":\"%s\",\"look\":\"%s\",\"points\":[", name, look);
}

/* Begins a chart of networks and lists them. */
static pada_status begin_networks(const pada__report_run *run, const pada_search_rows *rows,
                                  int color, const char *x, pada_text *out)
{
    pada_text_add(out, "\"color\":%d,\"x\":\"%s\",\"y\":\"top-1 accuracy (%%)\",\"archs\":[", color,
                  x);
    for (int i = 0; i < rows->n; i++) {
        pada_text arch = {0};
        const pada_status st =
            run->space.ops->format(&run->space, &rows->rows[i].path, NULL, &arch);
        pada_text_add(out, i > 0 ? "," : "");
        pada_html_json_string(out, pada_text_str(&arch));
        pada_text_deinit(&arch);
        PADA_TRY(st);
    }
    pada_text_add(out, "],\"series\":[");
    return out->status;
}

static pada_status add_history(const pada__report *r, int run, bool *is_first, pada_text *out)
{
    const pada_search_rows *history = &r->runs[run].search.history;

    if (history->n == 0) return PADA_OK;
    pada__report_begin_chart(out, is_first, "history", run, "networks");
    PADA_TRY(begin_networks(&r->runs[run], history, run, "evaluation", out));
    begin_series(out, "networks", "dots");
    for (int i = 0; i < history->n; i++)
        add_point(out, i, i + 1, history->rows[i].top1);
    pada_text_add(out, "]},");
    begin_series(out, "best so far", "steps");
    for (int i = 0; i < history->n; i++)
        add_point(out, i, i + 1, history->rows[i].best_so_far);
    pada_text_add(out, "]}]}");
    return out->status;
}

static pada_status add_front(const pada__report *r, int run, bool *is_first, pada_text *out)
{
    const pada_search_rows *front = &r->runs[run].search.front, *best = &r->runs[run].search.best;
    const cost *c = find_cost(front);

    if (!c) return PADA_OK;
    pada__report_begin_chart(out, is_first, "front", run, "networks");
    PADA_TRY(begin_networks(&r->runs[run], best, run, c->axis, out));
    begin_series(out, "networks", "dots");
    for (int i = 0; i < best->n; i++)
        add_point(out, i, cost_of(&best->rows[i], c), best->rows[i].top1);
    pada_text_add(out, "]},");
    begin_series(out, "front", "line");
    for (int i = 0; i < front->n; i++)
        add_point(out, i, cost_of(&front->rows[i], c), front->rows[i].top1);
    pada_text_add(out, "]},");
    begin_series(out, "winner", "star");
    add_point(out, 0, cost_of(&best->rows[0], c), best->rows[0].top1);
    pada_text_add(out, "]}]}");
    return out->status;
}

pada_status pada__report_search_data(const pada__report *r, bool *is_first, pada_text *out)
{
    for (int i = 0; i < r->desc->n_runs; i++) {
        PADA_TRY(add_history(r, i, is_first, out));
        PADA_TRY(add_front(r, i, is_first, out));
    }
    return out->status;
}
