/* report_probe.c - what was measured at the checkpoints of runs (`pada probe`): charts over the epochs. */
#include <string.h>

#include "report/html.h"
#include "report/report_parts.h"

enum { MAX_LINES = 9 };

/* Columns of a kind of measurement over the epochs, in one chart. */
typedef struct probe_chart {
    const char *kind, *id, *title, *meaning, *axis;
    bool is_log;
    struct {
        const char *column, *label;
        int color, dash;
    } lines[MAX_LINES];
} probe_chart;

static const probe_chart charts[] = {
    {"variance",
     "probe-variance",
     "Variance of a step's gradient",
     "With the paths and images of the run, over that of uniform ones at the same weights: below 1 "
     "the sampling makes steps less noisy. Weighted: divided by N p, which has no bias.",
     "variance over uniform (log scale)",
     true,
     {{"paths_variance", "paths", 0, 0},
      {"paths_weighted_variance", "paths, weighted", 0, 1},
      {"images_variance", "images", 1, 0},
      {"images_weighted_variance", "images, weighted", 1, 1},
      {"both_variance", "both", 2, 0},
      {"both_weighted_variance", "both, weighted", 2, 1}}},
    {"variance",
     "probe-bias",
     "Bias of a step's gradient",
     "Squared distance of the mean gradient from that of uniform paths and images, over its squared "
     "norm. At 1 it is as long as the gradient itself: something else is made small.",
     "squared bias over squared norm",
     false,
     {{"paths_bias", "paths", 0, 0}, {"images_bias", "images", 1, 0}, {"both_bias", "both", 2, 0}}},
    {"bounds",
     "probe-bounds",
     "The stand-in for an image's gradient norm",
     "Correlation of the last layer's norm, which sampling of images looks at, with the norm of the "
     "whole gradient of an image.",
     "correlation",
     false,
     {{"pearson", "Pearson", 0, 0},
      {"spearman", "Spearman", 1, 0},
      {"pooled_pearson", "Pearson, images of all paths together", 0, 1}}},
    {"bounds",
     "probe-images",
     "What sampling of images could gain",
     "Variance of the gradient of one image, drawn by its norm and weighted, over that of uniform "
     "draws.",
     "variance over uniform",
     false,
     {{"bound_variance", "by the last layer's norm", 0, 0},
      {"best_variance", "by the norm itself: the least", 1, 0}}},
    {"trainability",
     "probe-trainability",
     "Trainability of paths",
     "Condition number of the tangent kernel, median of the paths of a sampler (dashed: quartiles), on "
     "the same weights and images; lower is easier to train.",
     "log10 of the condition number",
     false,
     {{"run", "drawn by the run", 0, 0},
      {"run_lower", "", 0, 1},
      {"run_upper", "", 0, 1},
      {"uniform", "uniform", 1, 0},
      {"uniform_lower", "", 1, 1},
      {"uniform_upper", "", 1, 1},
      {"anneal", "towards convolutions, no norms", 2, 0},
      {"anneal_lower", "", 2, 1},
      {"anneal_upper", "", 2, 1}}},
};
enum { N_CHARTS = sizeof charts / sizeof *charts };

pada_status pada__report_read_probes(pada__report_run *run)
{
    for (int i = 0; pada_probe_get(i); i++) {
        PADA_ASSERT(i < PADA__REPORT_PROBES);
        PADA_TRY(pada_probe_log_read(&run->probes[i], run->name, pada_probe_get(i)));
    }
    return PADA_OK;
}

/* What a run has for a chart; NULL: nothing. */
static const pada_probe_log *find_log(const pada__report_run *run, const probe_chart *chart)
{
    for (int i = 0; pada_probe_get(i); i++) {
        const pada_probe_log *log = &run->probes[i];
        if (strcmp(pada_probe_get(i)->name, chart->kind) != 0) continue;
        for (int k = 0; k < MAX_LINES && chart->lines[k].column; k++)
            if (pada_probe_log_has(log, chart->lines[k].column)) return log;
    }
    return NULL;
}

pada_status pada__report_probes(const pada__report *r, pada_text *out)
{
    bool has_any = false;

    for (int i = 0; i < r->desc->n_runs; i++)
        for (int k = 0; k < N_CHARTS; k++) {
            if (!find_log(&r->runs[i], &charts[k])) continue;
            if (!has_any) pada_text_add(out, "<div class=\"figures\">\n");
            has_any = true;
            pada__report_figure(out, charts[k].id, i, charts[k].title,
                                r->desc->n_runs > 1 ? r->runs[i].name : NULL, charts[k].meaning);
        }
    if (has_any) pada_text_add(out, "</div>\n");
    return out->status;
}

static void add_line(const pada_probe_log *log, const probe_chart *chart, int line, pada_text *out)
{
    pada_text_add(out, "{\"name\":\"%s\",\"color\":%d,\"dash\":%d,\"points\":[",
                  chart->lines[line].label, chart->lines[line].color, chart->lines[line].dash);
    for (int row = 0; row < log->n; row++) {
        pada_text_add(out, "%s[%d,", row > 0 ? "," : "", pada_probe_log_epoch(log, row));
        pada_html_json_number(out, pada_probe_log_value(log, row, chart->lines[line].column));
        pada_text_add(out, "]");
    }
    pada_text_add(out, "]}");
}

static void add_chart(const pada__report *r, int run, const probe_chart *chart, bool *is_first,
                      pada_text *out)
{
    const pada_probe_log *log = find_log(&r->runs[run], chart);
    bool is_first_line = true;

    if (!log) return;
    pada__report_begin_chart(out, is_first, chart->id, run, "line");
    pada_text_add(out, "\"x\":\"epoch\",\"y\":\"%s\",\"log\":%s,\"series\":[", chart->axis,
                  chart->is_log ? "true" : "false");
    for (int k = 0; k < MAX_LINES && chart->lines[k].column; k++) {
        if (!pada_probe_log_has(log, chart->lines[k].column)) continue;
        if (!is_first_line) pada_text_add(out, ",");
        is_first_line = false;
        add_line(log, chart, k, out);
    }
    pada_text_add(out, "]}");
}

void pada__report_probe_data(const pada__report *r, bool *is_first, pada_text *out)
{
    for (int i = 0; i < r->desc->n_runs; i++)
        for (int k = 0; k < N_CHARTS; k++)
            add_chart(r, i, &charts[k], is_first, out);
}
