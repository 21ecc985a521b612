/* report.c - one HTML page about one or several runs: reads the folders, puts the parts together. */
#include "report/report.h"

#include <math.h>

#include "base/file.h"
#include "base/mem.h"
#include "report/html.h"
#include "report/report_assets.h"
#include "report/report_parts.h"

/* ---- reading ---- */

/* A number of the configuration; 0: it does not say, or nonsense. */
static int size_of(const char *text)
{
    int64_t n;

    return text && pada_parse_int(text, "size", 1, 1000000, &n) == PADA_OK ? (int)n : 0;
}

/* The options of the space in the configuration of a run, or their defaults. */
static pada_status read_settings(const pada__report_run *run, const pada_space_ops *ops,
                                 pada_space_settings *settings)
{
    pada_options *options;
    pada_text path = {0};
    pada_status st;

    if (!ops->options) return PADA_OK;
    PADA_TRY(pada_options_create(&options));
    st = pada_options_bind(options, ops->options, settings);
    pada_text_add(&path, "%s/config.yaml", run->name);
    if (st == PADA_OK) st = path.status;
    if (st == PADA_OK) st = pada_options_load_known(options, path.data);
    pada_text_deinit(&path);
    pada_options_destroy(options);
    return st;
}

/* The sizes of the networks, for their costs. */
static pada_status take_sizes(pada__report_run *run, const pada_space *space)
{
    const int classes = size_of(run->info.classes), image_size = size_of(run->info.image_size);
    pada_space_settings settings = {0};

    run->space = *space;
    run->chance = classes > 0 ? 100.0 / classes : NAN;
    if (classes == 0 || image_size == 0) return PADA_OK;
    pada_status st = read_settings(run, space->ops, &settings);
    if (st == PADA_OK)
        st = pada_space_init_settings(&run->space, space->ops, classes, image_size, &settings);
    run->has_sizes = st == PADA_OK;
    if (st != PADA_EDATA && st != PADA_EINVAL) return st;
    pada_text_add(&run->notes, "%s/config.yaml: %s\n", run->name, pada_message());
    return run->notes.status;
}

static pada_status open_ranking(pada__report_run *run, const char *path)
{
    int n_images;

    PADA_TRY(pada_score_table_open_column(&run->ranking, &run->space, path, "score"));
    PADA_TRY(pada_ranking_n_images(path, &run->space, &n_images));
    return pada_ranking_table_from_scores(&run->table, &run->space, run->ranking, n_images);
}

static pada_status read_ranking(pada__report_run *run)
{
    pada_text path = {0};
    pada_status st;

    pada_text_add(&path, "%s/ranking.csv", run->name);
    if ((st = path.status) == PADA_OK) st = open_ranking(run, path.data);
    if (st == PADA_ENOENT && (pada__report_is_single(run) || pada__report_has_search(run)))
        st = PADA_OK; /* it has something else to show */
    else if (st == PADA_ENOENT)
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

static pada_status read_search(pada__report_run *run)
{
    pada_text folder = {0};
    pada_status st;

    pada_text_add(&folder, "%s/search", run->name);
    if ((st = folder.status) == PADA_OK)
        st = pada_search_log_read(&run->search, &run->space, folder.data);
    pada_text_deinit(&folder);
    return st;
}

static pada_status read_run(pada__report_run *run, const char *name, const pada_space *space)
{
    run->name = name;
    run->set = -1;
    if (!pada_path_is_dir(name)) return PADA_FAIL(PADA_ENOENT, "%s: no run folder", name);
    PADA_TRY(pada_run_info_read(&run->info, name, &run->notes));
    PADA_TRY(pada_history_read(&run->history, name, &run->notes));
    PADA_TRY(take_sizes(run, space));
    PADA_TRY(read_search(run));
    PADA_TRY(pada_test_results_read(&run->test, name));
    PADA_TRY(pada__report_read_probes(run));
    return read_ranking(run);
}

/* ---- rankings ---- */

/* The baselines' scores of the networks that all have, [n_baselines, n]. */
static void score_baselines(const pada__report *r, double *scores)
{
    const pada__report_run *run = &r->runs[r->set_run[0]];

    for (int i = 0; i < r->n_baselines; i++)
        for (int k = 0; k < r->join.n; k++)
            *scores++ = run->space.ops->scores[i].score(
                &run->space, pada_score_table_path(r->desc->truth, r->join.rows[k]));
}

static pada_status score_sets(pada__report *r, const double **sets, double *baselines)
{
    const pada_report_desc *desc = r->desc;

    score_baselines(r, baselines);
    for (int i = 0; i < r->n_sets; i++)
        sets[i] = r->join.scores + (size_t)i * (size_t)r->join.n;
    for (int i = 0; i < r->n_baselines; i++)
        sets[r->n_sets + i] = baselines + (size_t)i * (size_t)r->join.n;
    return pada_scoreboard_init(&r->board,
                                &(pada_scoreboard_desc){.truths = r->join.truths,
                                                        .scores = sets,
                                                        .n = r->join.n,
                                                        .n_sets = r->n_sets + r->n_baselines,
                                                        .replicates = desc->replicates,
                                                        .seed = desc->seed,
                                                        .n_threads = desc->n_threads});
}

static pada_status score(pada__report *r)
{
    const pada_space_score *baseline = r->desc->space->ops->scores;
    void *sets, *baselines;

    for (; baseline && baseline->name; baseline++)
        r->n_baselines++;
    PADA_TRY(pada_calloc(&sets, (size_t)(r->n_sets + r->n_baselines), sizeof(const double *)));
    pada_status st =
        pada_calloc(&baselines, (size_t)r->n_baselines * (size_t)r->join.n, sizeof(double));
    if (st == PADA_OK) st = score_sets(r, sets, baselines);
    pada_free(sets);
    pada_free(baselines);
    return st;
}

static pada_status note_join(pada__report *r)
{
    for (int i = 0; i < r->n_sets; i++) {
        pada__report_run *run = &r->runs[r->set_run[i]];
        int n_more;
        PADA_TRY(
            pada_score_join_left_out(&r->join, &run->space, r->desc->truth, run->ranking, &n_more));
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
    return PADA_OK;
}

static pada_status join(pada__report *r, pada_score_table **tables)
{
    PADA_TRY(pada_score_join_init(&r->join, r->desc->truth, r->desc->truths, tables, r->n_sets));
    PADA_TRY(note_join(r));
    if (r->join.n >= 2) return PADA_OK;
    for (int i = 0; i < r->n_sets; i++)
        r->runs[r->set_run[i]].set = -1;
    r->n_sets = 0;
    return PADA_OK;
}

static pada_status compare_with_truth(pada__report *r)
{
    void *tables, *mem;
    pada_status st;

    if (!r->desc->truth) return PADA_OK;
    PADA_TRY(pada_calloc(&mem, (size_t)r->desc->n_runs, sizeof *r->set_run));
    r->set_run = mem;
    PADA_TRY(pada_calloc(&tables, (size_t)r->desc->n_runs, sizeof(pada_score_table *)));
    for (int i = 0; i < r->desc->n_runs; i++) {
        if (!r->runs[i].ranking) continue;
        ((pada_score_table **)tables)[r->n_sets] = r->runs[i].ranking;
        r->set_run[r->n_sets] = i;
        r->runs[i].set = r->n_sets++;
    }
    st = r->n_sets > 0 ? join(r, tables) : PADA_OK;
    pada_free(tables);
    return st == PADA_OK && r->n_sets > 0 ? score(r) : st;
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
        pada_score_table_close(r->runs[i].ranking);
        pada_ranking_table_deinit(&r->runs[i].table);
        pada_search_log_deinit(&r->runs[i].search);
        pada_test_results_deinit(&r->runs[i].test);
        for (int k = 0; k < PADA__REPORT_PROBES; k++)
            pada_probe_log_deinit(&r->runs[i].probes[k]);
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

/* How to check a ranking on one's own images. */
static void add_way_to_truth(const pada__report_run *run, pada_text *out)
{
    pada_text_add(out, "<p class=\"none\">No truth table was given (<code>--truth FILE</code>). "
                       "Some networks trained alone make one:</p>\n"
                       "<pre>pada truth --networks 20 \\\n");
    pada__report_options(run, out);
    pada_text_add(out, "  --out ");
    pada__report_word(out, run->name, "-truth");
    for (int i = 0; i < 2; i++) {
        pada_text_add(out, "\npada %s ", i == 0 ? "rank" : "report");
        pada__report_word(out, run->name, "");
        pada_text_add(out, "%s --truth ", i == 0 ? " --networks truth" : "");
        pada__report_word(out, run->name, "-truth/truth.csv");
    }
    pada_text_add(out, "</pre>\n");
}

static pada_status add_ranking(const pada__report *r, pada_text *out)
{
    begin_section(out, "ranking", "Predicted against true accuracy");
    if (!r->desc->truth) {
        add_way_to_truth(&r->runs[0], out);
    } else if (r->n_sets == 0) {
        pada_text_add(out, "<p class=\"none\">No ranking could be compared with the truth; see "
                           "below.</p>\n");
    } else {
        pada_text_add(out, "<p>%d networks; truth: column <code>", r->join.n);
        pada_html_text(out, r->desc->truth_column);
        pada_text_add(out, "</code> of <code>");
        pada_html_text(out, r->desc->truth_file);
        pada_text_add(out,
                      "</code>. Intervals are 95&#8239;%% of %d bootstrap samples of the "
                      "networks; they say nothing about the seed of a training.</p>\n",
                      r->desc->replicates);
        PADA_TRY(pada__report_scatter(r, out));
        pada__report_metrics(r, out);
        pada__report_differences(r, out);
        pada__report_baselines(r, out);
    }
    end_section(out);
    return out->status;
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

/* What the page is about, in a line. */
static void add_title(const pada__report *r, pada_text *out)
{
    const pada_run_info *info = &r->runs[0].info;

    pada_text_add(out, "<h1>");
    if (r->desc->n_runs == 1)
        pada_html_text(out, r->runs[0].name);
    else
        pada_text_add(out, "%d runs", r->desc->n_runs);
    pada_text_add(out, "</h1>\n");
    if (r->desc->n_runs > 1 || !info->method || !info->data) return;
    pada_text_add(out, "<p class=\"none\">method ");
    pada_html_text(out, info->method);
    pada_text_add(out, ", images ");
    pada_html_text(out, info->data);
    pada_text_add(out, "</p>\n");
}

static void add_preface(const pada__report *r, pada_text *out)
{
    if (!r->desc->preface || !r->desc->preface[0]) return;
    pada_text_add(out, "<pre class=\"preface\">");
    pada_html_text(out, r->desc->preface);
    pada_text_add(out, "</pre>\n");
}

static pada_status add_runs(const pada__report *r, pada_text *out)
{
    if (r->desc->n_runs > 1) {
        begin_section(out, "comparison", "Comparison");
        pada__report_comparison(r, out);
        PADA_TRY(pada__report_seeds(r, out));
        end_section(out);
    }
    begin_section(out, "verdict", "Verdict");
    pada__report_verdicts(r, out);
    end_section(out);
    return out->status;
}

/* A section, if the part has anything to say. */
static pada_status add_part(const pada__report *r, const char *id, const char *title,
                            pada_status (*add)(const pada__report *, pada_text *), pada_text *out)
{
    pada_text part = {0};
    pada_status st = add(r, &part);

    if (st == PADA_OK) st = part.status;
    if (st == PADA_OK && part.length > 0) {
        begin_section(out, id, title);
        pada_text_add_bytes(out, part.data, part.length);
        end_section(out);
    }
    pada_text_deinit(&part);
    return st == PADA_OK ? out->status : st;
}

static pada_status add_best(const pada__report *r, pada_text *out)
{
    PADA_TRY(pada__report_best(r, out));
    return pada__report_further(r, out);
}

static pada_status add_networks(const pada__report *r, pada_text *out)
{
    const bool are_alone = pada__report_all_single(r);

    PADA_TRY(add_part(r, "search", "Search", pada__report_search, out));
    PADA_TRY(add_part(r, "best",
                      r->desc->n_runs > 1 ? are_alone ? "Networks" : "Best networks"
                      : are_alone         ? "The network"
                                          : "Best network",
                      add_best, out));
    PADA_TRY(add_part(r, "test", "Test", pada__report_test, out));
    return add_part(r, "use", "How to use it", pada__report_models, out);
}

static void add_sampling(const pada__report *r, pada_text *out)
{
    begin_section(out, "sampling", "What was sampled");
    pada__report_sampling(r, out);
    end_section(out);
}

static pada_status write_page(const pada__report *r, pada_text *out)
{
    add_head(r, out);
    pada_text_add(out, "<body>\n<main>\n");
    add_title(r, out);
    pada_text_add(out, "<noscript><p class=\"none\">The charts need JavaScript; the rest does "
                       "not.</p></noscript>\n");
    add_preface(r, out);
    PADA_TRY(add_runs(r, out));
    PADA_TRY(add_networks(r, out));
    if (!pada__report_all_single(r)) PADA_TRY(add_ranking(r, out));
    begin_section(out, "training", "Training");
    pada__report_training(r, out);
    end_section(out);
    if (!pada__report_all_single(r)) add_sampling(r, out);
    PADA_TRY(add_part(r, "probes", "Gradients at the checkpoints", pada__report_probes, out));
    pada__report_notes(r, out);
    begin_section(out, "provenance", "Provenance");
    pada__report_provenance(r, out);
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
