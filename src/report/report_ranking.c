/* report_ranking.c - how well scores rank networks, beside baselines and beside each other. */
#include <math.h>

#include "report/html.h"
#include "report/report_parts.h"

/* A metric of fewer networks than LEAST says nothing; more than DECIMALS say nothing, either. */
enum { LEAST = 5, DECIMALS = 3 };

/* The others are behind a click. */
static const pada_metric main_metrics[] = {PADA_METRIC_TAU_B, PADA_METRIC_SPEARMAN,
                                           PADA_METRIC_P_TOP5, PADA_METRIC_REGRET};
enum { N_MAIN = sizeof main_metrics / sizeof *main_metrics };

static bool is_main(pada_metric m)
{
    for (int i = 0; i < N_MAIN; i++)
        if (main_metrics[i] == m) return true;
    return false;
}

static int decimals_of(pada_metric m)
{
    return pada_metric_table[m].decimals < DECIMALS ? pada_metric_table[m].decimals : DECIMALS;
}

bool pada__report_has_metric(const pada__report *r, pada_metric m)
{
    const pada_metric_info *info = &pada_metric_table[m];

    return info->percent == 0 || r->join.n * info->percent / 100 >= LEAST;
}

/* A row's head: the name of the metric, how many networks it looks at, and what it means. */
static void add_metric(const pada__report *r, const pada_metric_info *info, bool with_meaning,
                       pada_text *out)
{
    pada_text_add(out, "<th scope=\"row\">%s", info->label);
    if (with_meaning) {
        pada_text_add(out, "<span class=\"meaning\">%s", info->meaning);
        if (info->percent > 0)
            pada_text_add(out, " (%d of %d networks)", r->join.n * info->percent / 100, r->join.n);
        pada_text_add(out, "</span>");
    }
    pada_text_add(out, "</th>");
}

static void add_value(const pada__report *r, int set, pada_metric m, pada_text *out)
{
    const int decimals = decimals_of(m);
    pada_interval interval;

    pada_bootstrap_interval(r->board.bootstrap, set, m, &interval);
    pada_text_add(out, "<td>");
    pada_html_number(out, r->board.metrics[set].value[m], decimals);
    pada__report_interval(out, interval.low, interval.high, decimals);
    pada_text_add(out, "</td>");
}

static void add_metrics(const pada__report *r, bool of_main, pada_text *out)
{
    pada__report_begin_table(out, of_main ? "How well the scores rank the networks" : NULL);
    pada_text_add(out, "<thead><tr><td></td>");
    for (int i = 0; i < r->n_sets; i++) {
        pada_text_add(out, "<th scope=\"col\">");
        pada_html_text(out, pada__report_set_name(r, i));
        pada_text_add(out, "</th>");
    }
    pada_text_add(out, "</tr></thead>\n<tbody>\n");
    for (int m = 0; m < PADA_N_METRICS; m++) {
        if (is_main((pada_metric)m) != of_main || !pada__report_has_metric(r, (pada_metric)m))
            continue;
        pada_text_add(out, "<tr>");
        add_metric(r, &pada_metric_table[m], true, out);
        for (int i = 0; i < r->n_sets; i++)
            add_value(r, i, (pada_metric)m, out);
        pada_text_add(out, "</tr>\n");
    }
    pada__report_end_table(out);
}

void pada__report_metrics(const pada__report *r, pada_text *out)
{
    bool is_cut = false;

    for (int m = 0; m < PADA_N_METRICS; m++)
        is_cut = is_cut || !pada__report_has_metric(r, (pada_metric)m);
    add_metrics(r, true, out);
    pada__report_begin_more(out, "Further metrics");
    add_metrics(r, false, out);
    if (is_cut)
        pada_text_add(out,
                      "<p class=\"none\">Metrics about a share of the networks are left out where "
                      "that share of %d is fewer than %d.</p>\n",
                      r->join.n, LEAST);
    pada__report_end_more(out);
}

void pada__report_baselines(const pada__report *r, pada_text *out)
{
    const pada_space_score *baselines = r->desc->space->ops->scores;

    if (r->n_baselines == 0) return;
    pada__report_begin_table(
        out, "The same networks sorted by what needs no training; a supernet should do better");
    pada_text_add(out, "<thead><tr><th scope=\"col\">sorted by</th><th scope=\"col\">tau-b</th>"
                       "<th scope=\"col\">Spearman</th></tr></thead>\n<tbody>\n");
    for (int i = 0; i < r->n_baselines; i++) {
        pada_text_add(out, "<tr><th scope=\"row\">%s</th>", baselines[i].label);
        add_value(r, r->n_sets + i, PADA_METRIC_TAU_B, out);
        add_value(r, r->n_sets + i, PADA_METRIC_SPEARMAN, out);
        pada_text_add(out, "</tr>\n");
    }
    pada__report_end_table(out);
}

static void add_differences(const pada__report *r, int set, pada_text *out)
{
    pada_text caption = {0};

    pada_html_text(&caption, pada__report_set_name(r, set));
    pada_text_add(&caption, " minus ");
    pada_html_text(&caption, pada__report_set_name(r, 0));
    pada_text_add(&caption,
                  ", paired over the same networks; * marks what is clear at 95&#8239;%%");
    pada__report_begin_table(out, pada_text_str(&caption));
    if (caption.status != PADA_OK) out->status = caption.status;
    pada_text_deinit(&caption);
    pada_text_add(out, "<thead><tr><th scope=\"col\">metric</th><th scope=\"col\">difference</th>"
                       "<th scope=\"col\">p<span class=\"meaning\">probability of such a "
                       "difference if there were none</span></th></tr></thead>\n<tbody>\n");
    for (int m = 0; m < PADA_N_METRICS; m++) {
        const pada_metric_info *info = &pada_metric_table[m];
        const pada_verdict v = pada_scoreboard_judge(&r->board, set, 0, (pada_metric)m);
        if (!pada__report_has_metric(r, (pada_metric)m)) continue;
        pada_text_add(out, "<tr%s>", v.is_clear ? " class=\"clear\"" : "");
        add_metric(r, info, false, out);
        pada_text_add(out, "<td>");
        pada_html_number(out, v.difference, decimals_of((pada_metric)m));
        pada__report_interval(out, v.sampled.interval.low, v.sampled.interval.high,
                              decimals_of((pada_metric)m));
        pada_text_add(out, "</td><td>");
        pada_html_number(out, v.sampled.p, DECIMALS);
        pada_text_add(out, "</td></tr>\n");
    }
    pada__report_end_table(out);
}

void pada__report_differences(const pada__report *r, pada_text *out)
{
    if (r->n_sets < 2) return;
    pada__report_begin_more(out, "Differences between the runs");
    for (int i = 1; i < r->n_sets; i++)
        add_differences(r, i, out);
    pada__report_end_more(out);
}
