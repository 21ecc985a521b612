/* report_provenance.c - what a page says last: what the runs are, and what is missing in their folders. */
#include <math.h>
#include <string.h>

#include "report/html.h"
#include "report/report_parts.h"

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

/* ---- facts ---- */

static void add_last(pada_text *out, const pada__report_run *run, const char *column, int decimals,
                     const char *unit)
{
    const double x = pada_history_last(&run->history, column);

    pada_html_number(out, x, decimals);
    if (isfinite(x)) pada_text_add(out, "%s", unit);
}

static void add_method(const pada__report_run *run, pada_text *out)
{
    pada__report_string(out, run->info.form ? "one network, retrained" : run->info.method);
}

static void add_data(const pada__report_run *run, pada_text *out)
{
    pada__report_string(out, run->info.data_name ? run->info.data_name : run->info.data);
}

static void add_space(const pada__report_run *run, pada_text *out)
{
    if (run->has_sizes)
        pada_space_describe(&run->space, out);
    else
        pada__report_string(out, run->info.space);
}

static void add_batch(const pada__report_run *run, pada_text *out)
{
    pada__report_string(out, run->info.batch_size);
}

static void add_lr(const pada__report_run *run, pada_text *out)
{
    pada__report_string(out, run->info.lr);
    if (!run->info.lr_schedule) return;
    pada_text_add(out, ", ");
    pada_html_text(out, run->info.lr_schedule);
}

static void add_seed(const pada__report_run *run, pada_text *out)
{
    pada__report_string(out, run->info.seed);
}

/* NaN: nobody knows. */
static double sum_of(const pada__report_run *run, const char *name)
{
    const int column = pada_history_column(&run->history, name);
    double sum = column < 0 || run->history.n_rows == 0 ? NAN : 0;

    for (int row = 0; row < run->history.n_rows; row++)
        sum += pada_history_value(&run->history, row, column);
    return sum;
}

static void add_passes(const pada__report_run *run, pada_text *out)
{
    pada_html_number(out, sum_of(run, "passes"), 0);
}

static void add_macs(const pada__report_run *run, pada_text *out)
{
    const double gmacs = sum_of(run, "gmacs");

    if (isfinite(gmacs))
        pada__report_count(out, 1e9 * gmacs);
    else
        pada__report_string(out, NULL);
}

static void add_time(const pada__report_run *run, pada_text *out)
{
    const double seconds = sum_of(run, "seconds");

    pada_html_number(out, seconds, 1);
    if (isfinite(seconds)) pada_text_add(out, " s");
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
    pada__report_string(out, run->history.weights_hash[0] ? run->history.weights_hash : NULL);
    pada_text_add(out, "</code>");
}

static void add_machine(const pada__report_run *run, pada_text *out)
{
    pada__report_string(out, run->info.backend);
}

static void add_program(const pada__report_run *run, pada_text *out)
{
    pada__report_string(out, run->info.version);
    if (!run->info.commit || !run->info.commit[0]) return;
    pada_text_add(out, ", commit <code>");
    pada_html_text(out, run->info.commit);
    pada_text_add(out, "</code>");
}

static void add_started(const pada__report_run *run, pada_text *out)
{
    pada__report_string(out, run->info.started);
}

static const struct {
    const char *label;
    void (*add)(const pada__report_run *run, pada_text *out);
} facts[] = {
    {"method", add_method},
    {"data", add_data},
    {"space", add_space},
    {"epochs", pada__report_epochs},
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
};

static void add_command(const pada__report_run *run, pada_text *out)
{
    if (!run->info.config.data) return;
    pada_text_add(out, "<details>\n<summary>Command and configuration of ");
    pada_html_text(out, run->name);
    pada_text_add(out, "</summary>\n<pre>pada %s --config ", run->info.form ? "retrain" : "train");
    pada__report_word(out, run->name, "/config.yaml");
    pada_text_add(out, " --out ");
    pada__report_word(out, run->name, "");
    pada_text_add(out, "</pre>\n<pre>");
    pada_html_text(out, run->info.config.data);
    pada_text_add(out, "</pre>\n</details>\n");
}

void pada__report_provenance(const pada__report *r, pada_text *out)
{
    pada__report_begin_table(out, "What was run, and with what");
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
    pada__report_end_table(out);
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
