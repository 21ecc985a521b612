/* report_verdict.c - what a page says first: how good the runs are, in plain words. */
#include <math.h>

#include "report/html.h"
#include "report/report_parts.h"
#include "train/observatory.h"

/* How good something is, as the class of an element and as a word. */
typedef enum level { UNKNOWN, WEAK, FAIR, GOOD } level;
static const char *const level_names[] = {"unknown", "weak", "fair", "good"};

/* An accuracy is good if it is most of the way from guessing to all right, weak if it is hardly on it. */
static level level_of_accuracy(double percent, double chance)
{
    const double way = (percent - chance) / (100 - chance);

    if (isnan(way)) return UNKNOWN;
    return way < 0.2 ? WEAK : way < 0.6 ? FAIR : GOOD;
}

static level level_of_tau(double tau, double low)
{
    if (isnan(tau)) return UNKNOWN;
    return tau < 0.3 || low <= 0 ? WEAK : tau < 0.6 ? FAIR : GOOD;
}

static void begin_item(pada_text *out, level l, const char *subject, const char *word)
{
    pada_text_add(out, "<li class=\"%s\"><strong>%s %s:</strong> ", level_names[l], subject, word);
}

/* ---- training ---- */

static void add_chance(const pada__report_run *run, pada_text *out)
{
    if (isnan(run->chance)) return;
    pada_text_add(out, "; guessing gives ");
    pada__report_percent(out, run->chance, 1);
    pada_text_add(out, " (%.0f classes)", 100 / run->chance);
}

static void add_supernet(const pada__report_run *run, pada_text *out)
{
    const char *subject = pada__report_is_single(run) ? "Network" : "Supernet";
    const double top1 = pada_history_last(&run->history, "top1"),
                 validation = pada_history_last(&run->history, "val_top1"),
                 n_validated = pada_history_last(&run->history, "val_networks");
    const level l = level_of_accuracy(fmin(top1, validation), run->chance); /* without NaN */

    if (isnan(top1)) {
        begin_item(out, UNKNOWN, subject, "not trained");
        pada_text_add(out, "no epoch has ended.</li>\n");
        return;
    }
    begin_item(out, l, subject, l == UNKNOWN ? "of unknown strength" : level_names[l]);
    pada__report_percent(out, top1, 1);
    pada_text_add(out, " training accuracy after ");
    pada__report_epochs(run, out);
    pada_text_add(out, " epochs");
    if (!isnan(validation)) {
        pada_text_add(out, ", ");
        pada__report_percent(out, validation, 1);
        pada_text_add(out, " on validation images");
        if (n_validated > 1) pada_text_add(out, " (mean of %.0f random networks)", n_validated);
    }
    add_chance(run, out);
    pada_text_add(
        out, ".%s</li>\n",
        l == WEAK && !pada__report_is_single(run)
            ? " Its scores say little about networks: train longer (<code>--epochs</code>)."
        : l == WEAK ? " Train longer (<code>--epochs</code>)."
                    : "");
}

static void add_warnings(const pada__report_run *run, pada_text *out)
{
    for (int i = 0; i < run->history.n_warnings; i++) {
        const pada_history_warning *w = &run->history.warnings[i];
        begin_item(out, FAIR, "Warning", "while it was trained");
        pada_html_text(out, pada_warning_text(w->word));
        pada_text_add(out, " (in %d epoch%s, first in epoch %.0f).</li>\n", w->n_epochs,
                      w->n_epochs > 1 ? "s" : "", w->first_epoch + 1);
    }
}

/* ---- the ranking ---- */

/* Distinct networks behind the best whose scores are within its interval. */
static int count_close(const pada_ranking_table *table)
{
    int n = 0;

    for (int i = 1; i < table->n_distinct; i++)
        n += table->rows[i].score >= table->rows[0].low;
    return n;
}

/* What the scores alone say. */
static void add_scores(const pada__report_run *run, pada_text *out)
{
    const pada_ranking_table *table = &run->table;
    const pada_ranking_row *first = &table->rows[0];

    if (table->n_images == 0) {
        pada_text_add(out, "%d networks have scores.", table->n_distinct);
        return;
    }
    pada_text_add(out, "the best of %d networks has ", table->n_distinct);
    pada__report_percent(out, first->score, table->decimals);
    pada__report_interval(out, first->low, first->high, table->decimals);
    pada_text_add(out, " of %d images right", table->n_images);
    if (first->low <= run->chance) {
        pada_text_add(out, ", which may be guessing.");
        return;
    }
    const int n_close = count_close(table);
    if (n_close > 0)
        pada_text_add(out,
                      "; %d others are within that interval, so their order is not certain with so "
                      "few images.",
                      n_close);
    else
        pada_text_add(out, ", clearly more than any other.");
}

/* The baseline with the highest tau-b, as a set; -1: there is none. */
static int best_baseline(const pada__report *r)
{
    int best = -1;

    for (int set = r->n_sets; set < r->n_sets + r->n_baselines; set++) {
        const double tau = r->board.metrics[set].value[PADA_METRIC_TAU_B];
        if (!isnan(tau) && (best < 0 || tau > r->board.metrics[best].value[PADA_METRIC_TAU_B]))
            best = set;
    }
    return best;
}

/* A ranking is not better than what it adds to the best baseline. */
static level level_beside(const pada__report *r, int set, level alone)
{
    const int baseline = best_baseline(r);

    if (baseline < 0 || alone == UNKNOWN) return alone;
    const pada_verdict v = pada_scoreboard_judge(&r->board, set, baseline, PADA_METRIC_TAU_B);
    if (isnan(v.sampled.p) || (v.is_clear && v.better == set)) return alone;
    return v.is_clear ? WEAK : alone < FAIR ? alone : FAIR;
}

static void add_baseline(const pada__report *r, int set, pada_text *out)
{
    const int baseline = best_baseline(r);

    if (baseline < 0) return;
    const pada_verdict v = pada_scoreboard_judge(&r->board, set, baseline, PADA_METRIC_TAU_B);
    pada_text_add(out, " Sorting by %s, which needs no training, gives ",
                  r->desc->space->ops->scores[baseline - r->n_sets].label);
    pada_html_number(out, r->board.metrics[baseline].value[PADA_METRIC_TAU_B], 3);
    pada_text_add(out, ": %s.",
                  isnan(v.sampled.p) ? "nobody knows without intervals whether that differs"
                  : !v.is_clear      ? "no clear difference"
                  : v.better == set  ? "clearly less"
                                     : "clearly more");
}

static void add_pick(const pada__report *r, int set, pada_text *out)
{
    const double regret = r->board.metrics[set].value[PADA_METRIC_REGRET];

    pada_text_add(out, " Its first choice is ");
    pada_html_number(out, regret, 2);
    pada_text_add(out, " points below the best network of the table.");
}

static void add_checked(const pada__report *r, const pada__report_run *run, pada_text *out)
{
    const double tau = r->board.metrics[run->set].value[PADA_METRIC_TAU_B];
    pada_interval interval;

    pada_bootstrap_interval(r->board.bootstrap, run->set, PADA_METRIC_TAU_B, &interval);
    const level l = level_beside(r, run->set, level_of_tau(tau, interval.low));
    begin_item(out, l, "Ranking", l == UNKNOWN ? "not defined" : level_names[l]);
    pada_text_add(out, "tau-b ");
    pada_html_number(out, tau, 3);
    pada__report_interval(out, interval.low, interval.high, 3);
    pada_text_add(out, " over the %d networks whose true accuracy is known", r->join.n);
    if (interval.high < 0)
        pada_text_add(out, ": it prefers the worse ones");
    else if (interval.low <= 0)
        pada_text_add(out, ", which may be chance");
    else if (!isnan(tau)) /* ties left out */
        pada_text_add(out,
                      ": of two networks it puts the better one first in %.0f&#8239;%% of cases",
                      50 * (1 + tau));
    pada_text_add(out, ".");
    add_baseline(r, run->set, out);
    add_pick(r, run->set, out);
    pada_text_add(out, "</li>\n");
}

static void add_ranking(const pada__report *r, const pada__report_run *run, pada_text *out)
{
    if (pada__report_is_single(run)) return;
    if (!run->table.rows && pada__report_has_search(run)) return;
    if (!run->table.rows) {
        begin_item(out, UNKNOWN, "Ranking", "missing");
        pada_text_add(out, "<code>pada rank ");
        pada__report_word(out, run->name, "");
        pada_text_add(out, "</code> makes it.</li>\n");
        return;
    }
    if (run->set >= 0) add_checked(r, run, out);
    begin_item(out, UNKNOWN, run->set >= 0 ? "Scores" : "Ranking",
               run->set >= 0 ? "by the supernet" : "not checked");
    if (run->set < 0)
        pada_text_add(out, "%s. By the scores alone, ",
                      r->desc->truth ? "the truth table has too few of its networks"
                                     : "without true accuracies (<code>--truth FILE</code>) nobody "
                                       "knows whether it holds");
    add_scores(run, out);
    pada_text_add(out, "</li>\n");
}

/* ---- searches and tests ---- */

static void add_search(const pada__report_run *run, pada_text *out)
{
    if (!pada__report_has_search(run)) return;
    begin_item(out, UNKNOWN, "Search", "done");
    pada_text_add(out, "the best of %d networks has ", run->search.best.n);
    pada__report_percent(out, run->search.best.rows[0].top1, 2);
    pada_text_add(out, " with the weights of the supernet; what it is worth shows when it is "
                       "trained alone.</li>\n");
}

static void add_test(const pada__report_run *run, pada_text *out)
{
    const pada_tested_model *model = pada_test_results_model(&run->test);

    if (!model) return;
    const level l = level_of_accuracy(model->top1.percent, run->chance);
    begin_item(out, l, "Test", l == UNKNOWN ? "done" : level_names[l]);
    pada__report_percent(out, model->top1.percent, 2);
    pada__report_interval(out, model->top1.low, model->top1.high, 2);
    pada_text_add(out, " of %d ", run->test.images);
    pada_html_text(out, run->test.split);
    pada_text_add(out, " images right, ");
    pada__report_percent(out, model->top5.percent, 2);
    pada__report_interval(out, model->top5.low, model->top5.high, 2);
    pada_text_add(out, " among the best five");
    add_chance(run, out);
    pada_text_add(out, ".</li>\n");
}

void pada__report_verdicts(const pada__report *r, pada_text *out)
{
    for (int i = 0; i < r->desc->n_runs; i++) {
        pada__report_run_name(r, &r->runs[i], out);
        pada_text_add(out, "<ul class=\"verdict\">\n");
        add_test(&r->runs[i], out);
        add_supernet(&r->runs[i], out);
        add_search(&r->runs[i], out);
        add_ranking(r, &r->runs[i], out);
        add_warnings(&r->runs[i], out);
        pada_text_add(out, "</ul>\n");
    }
    pada_text_add(out, "<p class=\"meaning\">In brackets: 95&#8239;%% intervals.</p>\n");
}

/* ---- several runs ---- */

static void add_row(const pada__report *r, const pada__report_run *run, pada_text *out)
{
    const pada_ranking_row *first = pada__report_first(run);
    pada_interval interval;

    pada_text_add(out, "<tr><th scope=\"row\">");
    pada_html_text(out, run->name);
    if (run->info.method) {
        pada_text_add(out, "<span class=\"meaning\">");
        pada_html_text(out, run->info.method);
        pada_text_add(out, "</span>");
    }
    pada_text_add(out, "</th><td>");
    pada__report_percent(out, pada_history_last(&run->history, "top1"), 1);
    pada_text_add(out, "</td><td>");
    if (first) {
        pada__report_percent(out, first->score, run->table.decimals);
        pada__report_interval(out, first->low, first->high, run->table.decimals);
    } else {
        pada_text_add(out, "&#8211;");
    }
    pada_text_add(out, "</td><td>");
    if (run->set >= 0) {
        pada_bootstrap_interval(r->board.bootstrap, run->set, PADA_METRIC_TAU_B, &interval);
        pada_html_number(out, r->board.metrics[run->set].value[PADA_METRIC_TAU_B], 3);
        pada__report_interval(out, interval.low, interval.high, 3);
    } else {
        pada_text_add(out, "&#8211;");
    }
    pada_text_add(out, "</td></tr>\n");
}

/* Which of two sets ranks better, by tau-b. */
static void add_difference(const pada__report *r, int set, pada_text *out)
{
    const pada_verdict v = pada_scoreboard_judge(&r->board, set, 0, PADA_METRIC_TAU_B);

    pada_text_add(out, "<p>");
    if (isnan(v.difference) || v.difference == 0) {
        pada_html_text(out, pada__report_set_name(r, set));
        pada_text_add(out, " and ");
        pada_html_text(out, pada__report_set_name(r, 0));
        pada_text_add(out, " do not differ by tau-b.</p>\n");
        return;
    }
    pada_html_text(out, pada__report_set_name(r, v.better));
    pada_text_add(out, " ranks better than ");
    pada_html_text(out, pada__report_set_name(r, v.worse));
    pada_text_add(out, " by tau-b%s.</p>\n",
                  isnan(v.sampled.p) ? ""
                  : v.is_clear       ? ", which is distinguishable at 95&#8239;%"
                                     : ", which is not distinguishable at 95&#8239;%");
}

void pada__report_comparison(const pada__report *r, pada_text *out)
{
    pada_text_add(
        out, "<div class=\"wide\" tabindex=\"0\"><table>\n<thead><tr><th scope=\"col\">run</th>"
             "<th scope=\"col\">training accuracy</th><th scope=\"col\">score of its best "
             "network</th><th scope=\"col\">tau-b against the truth</th></tr></thead>\n<tbody>\n");
    for (int i = 0; i < r->desc->n_runs; i++)
        add_row(r, &r->runs[i], out);
    pada_text_add(out, "</tbody>\n</table></div>\n");
    for (int i = 1; i < r->n_sets; i++)
        add_difference(r, i, out);
    if (r->n_sets < 2)
        pada_text_add(out, "<p>Which of them ranks better %s.</p>\n",
                      r->desc->truth
                          ? "is not known: fewer than two have a ranking of networks of the "
                            "truth table"
                          : "cannot be said without true accuracies "
                            "(<code>--truth FILE</code>)");
}
