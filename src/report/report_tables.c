/* report_tables.c - the tables of a page: what the runs are, how well they rank, how they differ. */
#include <math.h>
#include <string.h>

#include "report/html.h"
#include "report/report_parts.h"
#include "train/observatory.h"

static void begin_table(pada_text *out, const char *caption)
{
    pada_text_add(out, "<div class=\"wide\" tabindex=\"0\"><table>\n<caption>%s</caption>\n",
                  caption);
}

static void end_table(pada_text *out)
{
    pada_text_add(out, "</tbody>\n</table></div>\n");
}

/* The first row: an empty corner and the runs. */
static void add_run_names(const pada__report *r, pada_text *out)
{
    pada_text_add(out, "<thead><tr><td></td>");
    for (int i = 0; i < r->desc->n_runs; i++) {
        pada_text_add(out, "<th scope=\"col\">");
        pada_html_text(out, r->runs[i].name);
        pada_text_add(out, "</th>");
    }
    pada_text_add(out, "</tr></thead>\n<tbody>\n");
}

/* ---- summary ---- */

static void add_string(pada_text *out, const char *text)
{
    if (text)
        pada_html_text(out, text);
    else
        pada_text_add(out, "&#8211;");
}

static void add_last(pada_text *out, const pada__report_run *run, const char *column, int decimals,
                     const char *unit)
{
    const double x = pada_history_last(&run->history, column);

    pada_html_number(out, x, decimals);
    if (isfinite(x)) pada_text_add(out, "%s", unit);
}

static void add_method(const pada__report_run *run, pada_text *out)
{
    add_string(out, run->info.method);
}

static void add_data(const pada__report_run *run, pada_text *out)
{
    add_string(out, run->info.data_name ? run->info.data_name : run->info.data);
}

static void add_space(const pada__report_run *run, pada_text *out)
{
    add_string(out, run->info.space);
    if (!run->info.channels || !run->info.cells) return;
    pada_text_add(out, ", ");
    pada_html_text(out, run->info.channels);
    pada_text_add(out, " channels, ");
    pada_html_text(out, run->info.cells);
    pada_text_add(out, " cells per stage");
}

static void add_epochs(const pada__report_run *run, pada_text *out)
{
    const pada_history *h = &run->history;
    const double last = pada_history_last(h, "supernet"); /* they are numbered from 0 */
    int n = 0;

    for (int row = 0; row < h->n_rows; row++)
        n += pada_history_trains(h, row);
    if (last > 0) { /* the configuration does not say how many epochs they have together */
        pada_text_add(out, "%d, of %.0f supernets", n, last + 1);
        return;
    }
    pada_text_add(out, "%d of ", n);
    add_string(out, run->info.epochs);
}

static void add_batch(const pada__report_run *run, pada_text *out)
{
    add_string(out, run->info.batch_size);
}

static void add_lr(const pada__report_run *run, pada_text *out)
{
    add_string(out, run->info.lr);
    if (!run->info.lr_schedule) return;
    pada_text_add(out, ", ");
    pada_html_text(out, run->info.lr_schedule);
}

static void add_seed(const pada__report_run *run, pada_text *out)
{
    add_string(out, run->info.seed);
}

/* The sum of a column, divided. */
static void add_sum(pada_text *out, const pada__report_run *run, const char *name, double divisor,
                    int decimals, const char *unit)
{
    const int column = pada_history_column(&run->history, name);
    double sum = column < 0 || run->history.n_rows == 0 ? NAN : 0;

    for (int row = 0; row < run->history.n_rows; row++)
        sum += pada_history_value(&run->history, row, column);
    pada_html_number(out, sum / divisor, decimals);
    if (isfinite(sum)) pada_text_add(out, "%s", unit);
}

static void add_passes(const pada__report_run *run, pada_text *out)
{
    add_sum(out, run, "passes", 1, 0, "");
}

static void add_macs(const pada__report_run *run, pada_text *out)
{
    add_sum(out, run, "gmacs", 1000, 2, " &#183; 10<sup>12</sup>");
}

static void add_time(const pada__report_run *run, pada_text *out)
{
    add_sum(out, run, "seconds", 1, 1, " s");
}

static void add_loss(const pada__report_run *run, pada_text *out)
{
    add_last(out, run, "loss", 4, "");
}

static void add_top1(const pada__report_run *run, pada_text *out)
{
    add_last(out, run, "top1", 2, " %");
}

static void add_val_top1(const pada__report_run *run, pada_text *out)
{
    add_last(out, run, "val_top1", 2, " %");
}

static void add_hash(const pada__report_run *run, pada_text *out)
{
    pada_text_add(out, "<code>");
    add_string(out, run->history.weights_hash[0] ? run->history.weights_hash : NULL);
    pada_text_add(out, "</code>");
}

static void add_machine(const pada__report_run *run, pada_text *out)
{
    add_string(out, run->info.backend);
}

static void add_program(const pada__report_run *run, pada_text *out)
{
    add_string(out, run->info.version);
    if (!run->info.commit || !run->info.commit[0]) return;
    pada_text_add(out, ", commit <code>");
    pada_html_text(out, run->info.commit);
    pada_text_add(out, "</code>");
}

static void add_started(const pada__report_run *run, pada_text *out)
{
    add_string(out, run->info.started);
}

static void add_warnings(const pada__report_run *run, pada_text *out)
{
    if (run->history.n_warnings == 0) pada_text_add(out, "none");
    for (int i = 0; i < run->history.n_warnings; i++) {
        const pada_history_warning *w = &run->history.warnings[i];
        pada_text_add(out, i > 0 ? "; " : "");
        pada_html_text(out, pada_warning_text(w->word));
        pada_text_add(out, " (%d epochs, the first is %.0f)", w->n_epochs, w->first_epoch + 1);
    }
}

static const struct {
    const char *label;
    void (*add)(const pada__report_run *run, pada_text *out);
} facts[] = {
    {"method", add_method},
    {"data", add_data},
    {"space", add_space},
    {"epochs", add_epochs},
    {"batch size", add_batch},
    {"learning rate", add_lr},
    {"seed", add_seed},
    {"training passes", add_passes},
    {"multiply-adds forward", add_macs},
    {"training time", add_time},
    {"loss, last epoch", add_loss},
    {"top-1, last epoch", add_top1},
    {"validation top-1, last epoch", add_val_top1},
    {"hash of the weights", add_hash},
    {"backend", add_machine},
    {"pada", add_program},
    {"started (last time)", add_started},
    {"warnings", add_warnings},
};

/* A word of a command line that a shell takes as it is. */
static void add_shell_word(pada_text *out, const char *before, const char *after)
{
    pada_text quoted = {0};

    pada_text_add(&quoted, "'");
    for (const char *p = before; *p; p++) {
        if (*p == '\'')
            pada_text_add(&quoted, "'\\''");
        else
            pada_text_add_bytes(&quoted, p, 1);
    }
    pada_text_add(&quoted, "%s'", after);
    pada_html_text(out, pada_text_str(&quoted));
    if (quoted.status != PADA_OK) out->status = quoted.status;
    pada_text_deinit(&quoted);
}

static void add_command(const pada__report_run *run, pada_text *out)
{
    if (!run->info.config.data) return;
    pada_text_add(out, "<details>\n<summary>Command and configuration of ");
    pada_html_text(out, run->name);
    pada_text_add(out, "</summary>\n<pre>pada train --config ");
    add_shell_word(out, run->name, "/config.yaml");
    pada_text_add(out, " --out ");
    add_shell_word(out, run->name, "");
    pada_text_add(out, "</pre>\n<pre>");
    pada_html_text(out, run->info.config.data);
    pada_text_add(out, "</pre>\n</details>\n");
}

void pada__report_summary(const pada__report *r, pada_text *out)
{
    begin_table(out, "The runs of this page");
    add_run_names(r, out);
    for (size_t k = 0; k < sizeof facts / sizeof *facts; k++) {
        pada_text_add(out, "<tr><th scope=\"row\">%s</th>", facts[k].label);
        for (int i = 0; i < r->desc->n_runs; i++) {
            pada_text_add(out, "<td>");
            facts[k].add(&r->runs[i], out);
            pada_text_add(out, "</td>");
        }
        pada_text_add(out, "</tr>\n");
    }
    end_table(out);
    for (int i = 0; i < r->desc->n_runs; i++)
        add_command(&r->runs[i], out);
}

/* ---- what is missing ---- */

static void add_lines(const char *lines, pada_text *out)
{
    for (const char *line = lines, *newline; (newline = strchr(line, '\n')); line = newline + 1) {
        pada_text one = {0};
        pada_text_add_bytes(&one, line, (size_t)(newline - line));
        pada_text_add(out, "<li>");
        pada_html_text(out, pada_text_str(&one));
        pada_text_add(out, "</li>\n");
        if (one.status != PADA_OK) out->status = one.status;
        pada_text_deinit(&one);
    }
}

void pada__report_notes(const pada__report *r, pada_text *out)
{
    bool is_empty = true;

    for (int i = 0; i < r->desc->n_runs; i++)
        is_empty = is_empty && r->runs[i].notes.length == 0;
    if (is_empty) return;
    pada_text_add(out, "<section id=\"missing\">\n<h2>What is missing</h2>\n<ul>\n");
    for (int i = 0; i < r->desc->n_runs; i++)
        add_lines(pada_text_str(&r->runs[i].notes), out);
    pada_text_add(out, "</ul>\n</section>\n");
}

/* ---- rankings ---- */

static void add_interval(pada_text *out, const pada_interval *interval, int decimals)
{
    if (isnan(interval->low)) return;
    pada_text_add(out, " <span class=\"interval\">[%.*f, %.*f]</span>", decimals, interval->low,
                  decimals, interval->high);
}

static const char *set_name(const pada__report *r, int set)
{
    return r->runs[r->set_run[set]].name;
}

void pada__report_metrics(const pada__report *r, pada_text *out)
{
    pada_interval interval;

    begin_table(out, "How well the scores rank the networks, with 95&#8239;% intervals");
    pada_text_add(out, "<thead><tr><td></td>");
    for (int i = 0; i < r->n_sets; i++) {
        pada_text_add(out, "<th scope=\"col\">");
        pada_html_text(out, set_name(r, i));
        pada_text_add(out, "</th>");
    }
    pada_text_add(out, "</tr></thead>\n<tbody>\n");
    for (int m = 0; m < PADA_N_METRICS; m++) {
        const pada_metric_info *info = &pada_metric_table[m];
        pada_text_add(out, "<tr><th scope=\"row\">%s</th>", info->label);
        for (int i = 0; i < r->n_sets; i++) {
            pada_text_add(out, "<td>");
            pada_html_number(out, r->board.metrics[i].value[m], info->decimals);
            pada_bootstrap_interval(r->board.bootstrap, i, (pada_metric)m, &interval);
            add_interval(out, &interval, info->decimals);
            pada_text_add(out, "</td>");
        }
        pada_text_add(out, "</tr>\n");
    }
    end_table(out);
}

static void add_verdict(const pada__report *r, int set, pada_text *out)
{
    const pada_verdict v = pada_scoreboard_judge(&r->board, set, 0, PADA_METRIC_TAU_B);

    pada_text_add(out, "<p>");
    if (isnan(v.difference) || v.difference == 0) {
        pada_html_text(out, set_name(r, set));
        pada_text_add(out, " and ");
        pada_html_text(out, set_name(r, 0));
        pada_text_add(out, " do not differ by tau-b.</p>\n");
        return;
    }
    pada_html_text(out, set_name(r, v.better));
    pada_text_add(out, " ranks better than ");
    pada_html_text(out, set_name(r, v.worse));
    pada_text_add(out, " by tau-b%s.</p>\n",
                  isnan(v.sampled.p) ? ""
                  : v.is_clear       ? ", which is distinguishable at 95&#8239;%"
                                     : ", which is not distinguishable at 95&#8239;%");
}

void pada__report_differences(const pada__report *r, pada_text *out)
{
    for (int i = 1; i < r->n_sets; i++) {
        pada_text caption = {0};
        pada_html_text(&caption, set_name(r, i));
        pada_text_add(&caption, " minus ");
        pada_html_text(&caption, set_name(r, 0));
        pada_text_add(&caption, ", paired over the same networks");
        begin_table(out, pada_text_str(&caption));
        if (caption.status != PADA_OK) out->status = caption.status;
        pada_text_deinit(&caption);
        pada_text_add(out,
                      "<thead><tr><th scope=\"col\">metric</th><th scope=\"col\">difference</th>"
                      "<th scope=\"col\">95&#8239;%% interval</th><th scope=\"col\">p</th></tr>"
                      "</thead>\n<tbody>\n");
        for (int m = 0; m < PADA_N_METRICS; m++) {
            const pada_metric_info *info = &pada_metric_table[m];
            const pada_verdict v = pada_scoreboard_judge(&r->board, i, 0, (pada_metric)m);
            pada_text_add(out, "<tr%s><th scope=\"row\">%s</th><td>",
                          v.is_clear ? " class=\"clear\"" : "", info->label);
            pada_html_number(out, v.difference, info->decimals);
            pada_text_add(out, "</td><td>");
            add_interval(out, &v.sampled.interval, info->decimals);
            pada_text_add(out, "</td><td>");
            pada_html_number(out, v.sampled.p, 4);
            pada_text_add(out, "</td></tr>\n");
        }
        end_table(out);
        add_verdict(r, i, out);
    }
}
