/* report_charts.c - the charts of a page: their places, and their numbers as JSON for report.js.
 *
 *   {"archs": [..], "truths": [..], "scores": [[..], ..],       the networks that all sets have
 *    "charts": [{"id", "kind": "line", "x", "y", "log", "series": [{"name", "color", "dash", "points"}]},
 *               {"id", "kind": "stack", like line},
 *               {"id", "kind": "scatter", "set", "color", "x", "y", "top": truth that counts as the top},
 *               {"id", "kind": "networks", "color", "x", "y", "archs": of the dots,
 *                "series": [{"name", "look": "dots", "steps", "line" or "star", "points"}]},     report_search.c
 *               {"id", "kind": "seeds", "y", "groups": [{"name", "values": of runs}]},                   report_seeds.c
 *               {"id", "kind": "interval", "labels", "y", "series": [{"name", "color", "values"}]}]} */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "report/html.h"
#include "report/report_parts.h"
#include "study/best_first.h"

enum { MAX_SERIES = 2, TOP_PERCENT = 10, TOP_LEAST = 10 };

/* Columns of metrics.csv over epochs, one line per run and column. */
typedef struct curves {
    const char *id, *title, *meaning, *axis;
    bool is_log;
    struct {
        const char *column, *label;
    } series[MAX_SERIES];
    const char *absent; /* what the page says if no run has any of it */
} curves;

static const curves training[] = {
    {"accuracy",
     "Accuracy",
     "Share of the images that were classified right; of a supernet, by the networks that were "
     "sampled.",
     "top-1 accuracy (%)",
     false,
     {{"top1", "training"}, {"val_top1", "validation"}},
     "No accuracies: no epoch has ended."},
    {"loss",
     "Loss",
     "What training makes small; guessing gives the logarithm of the number of classes.",
     "cross-entropy (nats)",
     false,
     {{"loss", "training"}, {"val_loss", "validation"}},
     "No losses: no epoch has ended."},
};

static const curves more_training[] = {
    {"lr",
     "Learning rate",
     "How far a step goes.",
     "learning rate",
     false,
     {{"lr", ""}},
     "No learning rates: no epoch has ended."},
    {"variance",
     "Variance of the gradients",
     "How much the steps of an epoch disagree; sampling by importance should lower it.",
     "variance (log scale)",
     true,
     {{"gv_candidates", "candidate operators"}, {"gv_all", "all weights"}},
     "The variance of the gradients was not measured; <code>pada train --variance</code> does."},
};

static const curves sampling[] = {
    {"coverage",
     "Images: coverage and effective sample size",
     "Share of the training images that an epoch has used, and how many equally likely ones their "
     "probabilities are worth; 1 is all.",
     "share of the training images",
     false,
     {{"data_coverage", "drawn at least once"}, {"data_effective", "effective sample size"}},
     "Nothing is known about the images that were drawn."},
    {"entropy",
     "Entropy of the path distribution",
     "1: every operator is equally likely; 0: always the same path.",
     "entropy (1: uniform)",
     false,
     {{"path_entropy", ""}},
     "Nothing is known about the paths that were drawn."},
};

enum {
    N_TRAINING = sizeof training / sizeof *training,
    N_MORE_TRAINING = sizeof more_training / sizeof *more_training,
    N_SAMPLING = sizeof sampling / sizeof *sampling
};

/* ---- the truly best ---- */

/* The networks with at least the K-th best truth, K being a tenth of them, or ten. */
typedef struct top {
    int n; /* 0: they would be most of all networks, which no chart enlarges */
    double truth;
} top;

static pada_status find_top(const pada__report *r, top *out)
{
    const int n = r->join.n;
    int k = n * TOP_PERCENT / 100, *order;

    if (k < TOP_LEAST) k = n < TOP_LEAST ? n : TOP_LEAST;
    PADA_TRY(pada_best_first(&order, r->join.truths, n));
    *out = (top){.truth = r->join.truths[order[k - 1]]};
    pada_free(order);
    for (int i = 0; i < n; i++)
        out->n += r->join.truths[i] >= out->truth;
    if (out->n > n / 2) out->n = 0;
    return PADA_OK;
}

/* Shares of the networks that tau-b is also of; the first is all. */
static const pada_metric tau_metrics[] = {PADA_METRIC_TAU_B, PADA_METRIC_TAU_TOP50,
                                          PADA_METRIC_TAU_TOP20, PADA_METRIC_TAU_TOP10,
                                          PADA_METRIC_TAU_TOP5};
enum { N_TAU = sizeof tau_metrics / sizeof *tau_metrics };

/* How many of them have enough networks for a correlation. */
static int count_tau(const pada__report *r)
{
    int n = 1;

    while (n < N_TAU && r->join.n * pada_metric_table[tau_metrics[n]].percent / 100 >= TOP_LEAST)
        n++;
    return n;
}

/* ---- places ---- */

void pada__report_figure(pada_text *out, const char *id, int number, const char *title,
                         const char *run, const char *meaning)
{
    pada_text_add(out, "<figure><figcaption>%s", title);
    if (run) pada_text_add(out, ": ");
    if (run) pada_html_text(out, run);
    if (meaning) pada_text_add(out, "<span class=\"meaning\">%s</span>", meaning);
    pada_text_add(out, "</figcaption><div class=\"chart\"><canvas id=\"%s", id);
    if (number >= 0) pada_text_add(out, "-%d", number);
    pada_text_add(out, "\" role=\"img\" aria-label=\"Chart: %s", title);
    if (run) pada_text_add(out, ": ");
    if (run) pada_html_text(out, run);
    pada_text_add(out, "\"></canvas></div></figure>\n");
}

static bool has_curves(const pada__report *r, const curves *c)
{
    for (int i = 0; i < r->desc->n_runs; i++)
        for (int k = 0; k < MAX_SERIES; k++)
            if (c->series[k].column && pada_history_has(&r->runs[i].history, c->series[k].column))
                return true;
    return false;
}

static void add_curve_figures(const pada__report *r, const curves *list, int n, pada_text *out)
{
    pada_text_add(out, "<div class=\"figures\">\n");
    for (int i = 0; i < n; i++) {
        if (has_curves(r, &list[i]))
            pada__report_figure(out, list[i].id, -1, list[i].title, NULL, list[i].meaning);
        else
            pada_text_add(out, "<p class=\"none\">%s</p>\n", list[i].absent);
    }
    pada_text_add(out, "</div>\n");
}

static bool is_probability(const char *column)
{
    return strncmp(column, "p_", 2) == 0;
}

static bool has_paths(const pada__report_run *run)
{
    if (pada__report_is_single(run)) return false;
    for (int i = 0; i < run->history.n_columns; i++)
        if (is_probability(run->history.names[i]) &&
            pada_history_has(&run->history, run->history.names[i]))
            return true;
    return false;
}

void pada__report_training(const pada__report *r, pada_text *out)
{
    add_curve_figures(r, training, N_TRAINING, out);
    pada__report_begin_more(out, "Learning rate, variance of the gradients");
    add_curve_figures(r, more_training, N_MORE_TRAINING, out);
    pada__report_end_more(out);
}

void pada__report_sampling(const pada__report *r, pada_text *out)
{
    pada_text_add(out, "<div class=\"figures\">\n");
    for (int i = 0; i < r->desc->n_runs; i++)
        if (has_paths(&r->runs[i]))
            pada__report_figure(out, "paths", i, "Probability of the operators",
                                r->desc->n_runs > 1 ? r->runs[i].name : NULL,
                                "How often each is drawn, on average over the slots that have it.");
    pada_text_add(out, "</div>\n");
    pada__report_begin_more(out, "Use of the images, entropy of the paths");
    add_curve_figures(r, sampling, N_SAMPLING, out);
    pada__report_end_more(out);
}

pada_status pada__report_scatter(const pada__report *r, pada_text *out)
{
    top best;
    char title[80];

    PADA_TRY(find_top(r, &best));
    snprintf(title, sizeof title, "The %d truly best of %d networks, enlarged", best.n, r->join.n);
    pada_text_add(out, "<div class=\"figures\">\n");
    for (int i = 0; i < r->n_sets; i++) {
        const char *name = r->n_sets > 1 ? pada__report_set_name(r, i) : NULL;
        pada__report_figure(
            out, "scatter", i, "All networks", name,
            "A point per network: what the supernet thinks of it, and what it is worth.");
    }
    pada_text_add(out, "</div>\n");
    if (best.n == 0 && count_tau(r) < 2) return out->status;
    pada__report_begin_more(out, "The truly best networks, enlarged");
    pada_text_add(out, "<div class=\"figures\">\n");
    for (int i = 0; i < r->n_sets && best.n > 0; i++)
        pada__report_figure(out, "top", i, title,
                            r->n_sets > 1 ? pada__report_set_name(r, i) : NULL,
                            "Where it matters: can it tell good networks from each other?");
    if (count_tau(r) > 1)
        pada__report_figure(
            out, "tau", -1, "Tau-b among the truly best", NULL,
            "Agreement of the orders, for all networks and for ever fewer of the best.");
    pada_text_add(out, "</div>\n");
    pada__report_end_more(out);
    return out->status;
}

/* ---- numbers ---- */

/* Begins an item of a list. */
static void add_comma(pada_text *out, bool *is_first)
{
    if (!*is_first) pada_text_add(out, ",");
    *is_first = false;
}

void pada__report_begin_chart(pada_text *out, bool *is_first, const char *id, int number,
                              const char *kind)
{
    add_comma(out, is_first);
    pada_text_add(out, "\n{\"id\":\"%s", id);
    if (number >= 0) pada_text_add(out, "-%d", number);
    pada_text_add(out, "\",\"kind\":\"%s\",", kind);
}

static void add_points(const pada_history *h, int column, pada_text *out)
{
    bool is_first = true;

    pada_text_add(out, "\"points\":[");
    for (int row = 0; row < h->n_rows; row++) {
        if (!pada_history_trains(h, row)) continue;
        add_comma(out, &is_first);
        pada_text_add(out, "[");
        pada_html_json_number(out, pada_history_value(h, row, pada_history_column(h, "epoch")) + 1);
        pada_text_add(out, ",");
        pada_html_json_number(out, pada_history_value(h, row, column));
        pada_text_add(out, "]");
    }
    pada_text_add(out, "]");
}

static void add_curve(const pada__report *r, int run, const char *column, const char *label,
                      int dash, pada_text *out)
{
    const bool has_names = r->desc->n_runs > 1 || label[0] == '\0';
    const pada_history *h = &r->runs[run].history;
    pada_text name = {0};

    if (has_names) pada_text_add(&name, "%s", r->runs[run].name);
    pada_text_add(&name, "%s%s", has_names && label[0] ? ": " : "", label);
    pada_text_add(out, "{\"name\":");
    pada_html_json_string(out, pada_text_str(&name));
    pada_text_add(out, ",\"color\":%d,\"dash\":%d,", run, dash);
    add_points(h, pada_history_column(h, column), out);
    pada_text_add(out, "}");
    if (name.status != PADA_OK) out->status = name.status;
    pada_text_deinit(&name);
}

static void add_curves(const pada__report *r, const curves *c, bool *is_first, pada_text *out)
{
    bool is_first_curve = true;

    if (!has_curves(r, c)) return;
    pada__report_begin_chart(out, is_first, c->id, -1, "line");
    pada_text_add(out, "\"x\":\"epoch\",\"y\":\"%s\",\"log\":%s,\"series\":[", c->axis,
                  c->is_log ? "true" : "false");
    for (int i = 0; i < r->desc->n_runs; i++) {
        for (int k = 0; k < MAX_SERIES && c->series[k].column; k++) {
            if (!pada_history_has(&r->runs[i].history, c->series[k].column)) continue;
            add_comma(out, &is_first_curve);
            /* Lines of one run differ by their dashes; lines of many runs that may coincide, too. */
            add_curve(r, i, c->series[k].column, c->series[k].label, c->series[1].column ? k : i,
                      out);
        }
    }
    pada_text_add(out, "]}");
}

static void add_paths(const pada__report *r, int run, bool *is_first, pada_text *out)
{
    const pada_history *h = &r->runs[run].history;
    bool is_first_curve = true;
    int color = 0;

    if (!has_paths(&r->runs[run])) return;
    pada__report_begin_chart(out, is_first, "paths", run, "stack");
    pada_text_add(out, "\"x\":\"epoch\",\"y\":\"probability, mean over the slots\",\"series\":[");
    for (int i = 0; i < h->n_columns; i++) {
        if (!is_probability(h->names[i])) continue;
        add_comma(out, &is_first_curve);
        pada_text_add(out, "{\"name\":");
        pada_html_json_string(out, h->names[i] + 2);
        pada_text_add(out, ",\"color\":%d,", color++);
        add_points(h, i, out);
        pada_text_add(out, "}");
    }
    pada_text_add(out, "]}");
}

static pada_status add_scatters(const pada__report *r, bool *is_first, pada_text *out)
{
    top best;

    PADA_TRY(find_top(r, &best));
    for (int i = 0; i < r->n_sets; i++) {
        for (int is_top = 0; is_top < (best.n > 0 ? 2 : 1); is_top++) {
            pada__report_begin_chart(out, is_first, is_top ? "top" : "scatter", i, "scatter");
            pada_text_add(
                out,
                "\"set\":%d,\"color\":%d,\"x\":\"score with the weights of the supernet\","
                "\"y\":\"true accuracy (%%)\",\"top\":",
                i, r->set_run[i]);
            pada_html_json_number(out, is_top ? best.truth : NAN);
            pada_text_add(out, "}");
        }
    }
    return PADA_OK;
}

static void add_tau(const pada__report *r, bool *is_first, pada_text *out)
{
    const int n = count_tau(r);
    pada_interval interval;

    if (n < 2) return;
    pada__report_begin_chart(out, is_first, "tau", -1, "interval");
    pada_text_add(out, "\"labels\":[\"all %d\"", r->join.n);
    for (int k = 1; k < n; k++)
        pada_text_add(out, ",\"best %d\"",
                      r->join.n * pada_metric_table[tau_metrics[k]].percent / 100);
    pada_text_add(out, "],\"y\":\"tau-b\",\"series\":[");
    for (int i = 0; i < r->n_sets; i++) {
        pada_text_add(out, "%s{\"name\":", i > 0 ? "," : "");
        pada_html_json_string(out, r->runs[r->set_run[i]].name);
        pada_text_add(out, ",\"color\":%d,\"values\":[", r->set_run[i]);
        for (int k = 0; k < n; k++) {
            pada_bootstrap_interval(r->board.bootstrap, i, tau_metrics[k], &interval);
            pada_text_add(out, k > 0 ? ",[" : "[");
            pada_html_json_number(out, r->board.metrics[i].value[tau_metrics[k]]);
            pada_text_add(out, ",");
            pada_html_json_number(out, interval.low);
            pada_text_add(out, ",");
            pada_html_json_number(out, interval.high);
            pada_text_add(out, "]");
        }
        pada_text_add(out, "]}");
    }
    pada_text_add(out, "]}");
}

static void add_numbers(pada_text *out, const double *values, int n)
{
    for (int i = 0; i < n; i++) {
        pada_text_add(out, i > 0 ? "," : "[");
        pada_html_json_number(out, values[i]);
    }
    pada_text_add(out, n > 0 ? "]" : "[]");
}

/* The networks that all sets have, once for all charts. */
static pada_status add_networks(const pada__report *r, pada_text *out)
{
    const pada_space *space = r->desc->space;
    const int n = r->n_sets > 0 ? r->join.n : 0;
    pada_status st = PADA_OK;

    pada_text_add(out, "\"archs\":[");
    for (int i = 0; i < n && st == PADA_OK; i++) {
        pada_text arch = {0};
        st = space->ops->format(space, pada_score_table_path(r->desc->truth, r->join.rows[i]), NULL,
                                &arch);
        pada_text_add(out, i > 0 ? "," : "");
        pada_html_json_string(out, pada_text_str(&arch));
        pada_text_deinit(&arch);
    }
    pada_text_add(out, "],\n\"truths\":");
    add_numbers(out, r->join.truths, n);
    pada_text_add(out, ",\n\"scores\":[");
    for (int i = 0; i < r->n_sets; i++) {
        pada_text_add(out, i > 0 ? "," : "");
        add_numbers(out, r->join.scores + (size_t)i * (size_t)n, n);
    }
    pada_text_add(out, "],\n");
    return st;
}

pada_status pada__report_data(const pada__report *r, pada_text *out)
{
    bool is_first = true;

    pada_text_add(out, "{");
    PADA_TRY(add_networks(r, out));
    pada_text_add(out, "\"charts\":[");
    for (int i = 0; i < N_TRAINING; i++)
        add_curves(r, &training[i], &is_first, out);
    for (int i = 0; i < N_MORE_TRAINING; i++)
        add_curves(r, &more_training[i], &is_first, out);
    for (int i = 0; i < r->desc->n_runs; i++)
        add_paths(r, i, &is_first, out);
    for (int i = 0; i < N_SAMPLING && !pada__report_all_single(r); i++)
        add_curves(r, &sampling[i], &is_first, out);
    PADA_TRY(pada__report_seed_data(r, &is_first, out));
    PADA_TRY(pada__report_search_data(r, &is_first, out));
    pada__report_probe_data(r, &is_first, out);
    if (r->n_sets > 0) {
        PADA_TRY(add_scatters(r, &is_first, out));
        add_tau(r, &is_first, out);
    }
    pada_text_add(out, "]}");
    return out->status;
}
