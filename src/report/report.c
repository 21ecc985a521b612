/* report.c - one HTML page about one or several runs: reads the folders, puts the parts together. */
#include "report/report.h"

#include "base/file.h"
#include "base/mem.h"
#include "report/html.h"
#include "report/report_assets.h"
#include "report/report_parts.h"

/* ---- reading ---- */

static pada_status read_ranking(pada__report_run *run, const pada_space *space)
{
    pada_text path = {0};
    pada_status st;

    pada_text_add(&path, "%s/ranking.csv", run->name);
    if ((st = path.status) == PADA_OK)
        st = pada_truth_open_column(&run->ranking, space, path.data, "score");
    if (st == PADA_ENOENT)
        pada_text_add(&run->notes, "%s: not there; `pada rank` makes it\n", path.data);
    else if (st == PADA_EDATA || st == PADA_EINVAL)
        pada_text_add(&run->notes, "%s\n", pada_message());
    else if (st != PADA_OK)
        goto out;
    st = run->notes.status;
out:
    pada_text_deinit(&path);
    return st;
}

static pada_status read_run(pada__report_run *run, const char *name, const pada_space *space)
{
    run->name = name;
    run->set = -1;
    if (!pada_path_is_dir(name)) return PADA_FAIL(PADA_ENOENT, "%s: no run folder", name);
    PADA_TRY(pada_run_info_read(&run->info, name, &run->notes));
    PADA_TRY(pada_history_read(&run->history, name, &run->notes));
    return read_ranking(run, space);
}

/* ---- rankings ---- */

static pada_status score(pada__report *r, const double **scores)
{
    const pada_report_desc *desc = r->desc;

    for (int i = 0; i < r->n_sets; i++)
        scores[i] = r->join.scores + (size_t)i * (size_t)r->join.n;
    return pada_scoreboard_init(&r->board, &(pada_scoreboard_desc){.truths = r->join.truths,
                                                                   .scores = scores,
                                                                   .n = r->join.n,
                                                                   .n_sets = r->n_sets,
                                                                   .replicates = desc->replicates,
                                                                   .seed = desc->seed,
                                                                   .n_threads = desc->n_threads});
}

static void note_join(pada__report *r)
{
    for (int i = 0; i < r->n_sets; i++) {
        pada__report_run *run = &r->runs[r->set_run[i]];
        const int n_more = pada_truth_count(run->ranking) - r->join.n;
        if (r->join.n < 2)
            pada_text_add(&run->notes, "%s/ranking.csv: %d networks in common with %s%s\n",
                          run->name, r->join.n, r->desc->truth_file,
                          r->n_sets > 1 ? " and the other runs" : "");
        else if (n_more > 0)
            pada_text_add(&run->notes,
                          "%s/ranking.csv: %d of %d networks are left out, not being in %s%s\n",
                          run->name, n_more, n_more + r->join.n, r->desc->truth_file,
                          r->n_sets > 1 ? " and in all runs" : "");
    }
}

static pada_status join(pada__report *r, pada_truth **tables)
{
    PADA_TRY(pada_score_join_init(&r->join, r->desc->truth, r->desc->truths, tables, r->n_sets));
    note_join(r);
    if (r->join.n >= 2) return PADA_OK;
    for (int i = 0; i < r->n_sets; i++)
        r->runs[r->set_run[i]].set = -1;
    r->n_sets = 0;
    return PADA_OK;
}

static pada_status compare_with_truth(pada__report *r)
{
    void *tables, *scores, *mem;
    pada_status st;

    if (!r->desc->truth) return PADA_OK;
    PADA_TRY(pada_calloc(&mem, (size_t)r->desc->n_runs, sizeof *r->set_run));
    r->set_run = mem;
    PADA_TRY(pada_calloc(&tables, (size_t)r->desc->n_runs, sizeof(pada_truth *)));
    for (int i = 0; i < r->desc->n_runs; i++) {
        if (!r->runs[i].ranking) continue;
        ((pada_truth **)tables)[r->n_sets] = r->runs[i].ranking;
        r->set_run[r->n_sets] = i;
        r->runs[i].set = r->n_sets++;
    }
    st = r->n_sets > 0 ? join(r, tables) : PADA_OK;
    pada_free(tables);
    if (st != PADA_OK || r->n_sets == 0) return st;
    PADA_TRY(pada_calloc(&scores, (size_t)r->n_sets, sizeof(const double *)));
    st = score(r, scores);
    pada_free(scores);
    return st;
}

static pada_status read_all(pada__report *r)
{
    void *mem;

    PADA_TRY(pada_calloc(&mem, (size_t)r->desc->n_runs, sizeof *r->runs));
    r->runs = mem;
    for (int i = 0; i < r->desc->n_runs; i++)
        PADA_TRY(read_run(&r->runs[i], r->desc->runs[i], r->desc->space));
    return compare_with_truth(r);
}

static void deinit(pada__report *r)
{
    for (int i = 0; r->runs && i < r->desc->n_runs; i++) {
        pada_run_info_deinit(&r->runs[i].info);
        pada_history_deinit(&r->runs[i].history);
        pada_truth_close(r->runs[i].ranking);
        pada_text_deinit(&r->runs[i].notes);
    }
    pada_scoreboard_deinit(&r->board);
    pada_score_join_deinit(&r->join);
    pada_free(r->set_run);
    pada_free(r->runs);
}

/* ---- writing ---- */

/* The policy makes sure that the page asks for nothing outside itself. */
static void add_head(const pada__report *r, pada_text *out)
{
    pada_text_add(out, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                       "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                       "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n"
                       "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                       "<meta name=\"color-scheme\" content=\"light dark\">\n<title>pada report:");
    for (int i = 0; i < r->desc->n_runs; i++) {
        pada_text_add(out, i > 0 ? ", " : " ");
        pada_html_text(out, r->runs[i].name);
    }
    pada_text_add(out, "</title>\n<style>\n");
    pada_text_add_bytes(out, pada_report_css, pada_report_css_bytes);
    pada_text_add(out, "</style>\n</head>\n");
}

static void begin_section(pada_text *out, const char *id, const char *title)
{
    pada_text_add(out, "<section id=\"%s\">\n<h2>%s</h2>\n", id, title);
}

static void end_section(pada_text *out)
{
    pada_text_add(out, "</section>\n");
}

static void add_ranking(const pada__report *r, pada_text *out)
{
    begin_section(out, "ranking", "Predicted against true accuracy");
    if (r->n_sets == 0) {
        pada_text_add(out, "<p class=\"none\">%s</p>\n",
                      r->desc->truth ? "No ranking could be compared with the truth; see above."
                                     : "No truth table was given (<code>--truth FILE</code>).");
    } else {
        pada_text_add(out, "<p>%d networks; truth: column <code>", r->join.n);
        pada_html_text(out, r->desc->truth_column);
        pada_text_add(out, "</code> of <code>");
        pada_html_text(out, r->desc->truth_file);
        pada_text_add(out,
                      "</code>. Intervals are 95&#8239;%% of %d bootstrap samples of the "
                      "networks; they say nothing about the seed of a training.</p>\n",
                      r->desc->replicates);
        pada__report_scatter(r, out);
        pada__report_metrics(r, out);
    }
    end_section(out);
    if (r->n_sets < 2) return;
    begin_section(out, "comparison", "Comparison");
    pada__report_differences(r, out);
    end_section(out);
}

static pada_status add_scripts(const pada__report *r, pada_text *out)
{
    pada_text_add(out, "<script type=\"application/json\" id=\"data\">");
    PADA_TRY(pada__report_data(r, out));
    pada_text_add(out, "</script>\n<script>\n");
    pada_text_add_bytes(out, pada_chart_js, pada_chart_js_bytes);
    pada_text_add(out, "</script>\n<script>\n");
    pada_text_add_bytes(out, pada_report_js, pada_report_js_bytes);
    pada_text_add(out, "</script>\n");
    return out->status;
}

static pada_status write_page(const pada__report *r, pada_text *out)
{
    add_head(r, out);
    pada_text_add(out,
                  "<body>\n<main>\n<h1>pada report</h1>\n<noscript><p class=\"none\">The charts "
                  "need JavaScript; the tables do not.</p></noscript>\n");
    begin_section(out, "summary", "Summary");
    pada__report_summary(r, out);
    end_section(out);
    pada__report_notes(r, out);
    begin_section(out, "training", "Training");
    pada__report_training(r, out);
    end_section(out);
    begin_section(out, "sampling", "What was sampled");
    pada__report_sampling(r, out);
    end_section(out);
    add_ranking(r, out);
    begin_section(out, "cells", "Best cells");
    PADA_TRY(pada__report_cells(r, out));
    end_section(out);
    pada_text_add(out, "<footer>Made by pada ");
    pada_html_text(out, r->desc->version);
    pada_text_add(out, "; charts by Chart.js.</footer>\n</main>\n");
    PADA_TRY(add_scripts(r, out));
    pada_text_add(out, "</body>\n</html>\n");
    return out->status;
}

pada_status pada_report_page(const pada_report_desc *desc, pada_text *out)
{
    pada__report r = {.desc = desc};

    if (pada_chart_js_bytes == 0)
        return PADA_FAIL(PADA_EDEVICE,
                         "this pada was built without Chart.js (libjs-chart.js), which draws "
                         "the charts of a report");
    pada_status st = read_all(&r);
    if (st == PADA_OK) st = write_page(&r, out);
    deinit(&r);
    return st;
}
