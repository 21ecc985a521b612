/* report_seeds.c - runs that differ in their seed alone, beside those of other settings: a point per run. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "report/html.h"
#include "report/report_parts.h"

/* A number of a run: a metric of its ranking, or the last one of a column of metrics.csv. */
typedef struct measure {
    const char *id;
    pada_metric metric;
    const char *column; /* NULL: the metric */
    const char *label, *meaning;
} measure;

static const measure measures[] = {
    {.id = "seeds-tau", .metric = PADA_METRIC_TAU_B},
    {.id = "seeds-top", .metric = PADA_METRIC_P_TOP5},
    {.id = "seeds-best", .metric = PADA_METRIC_TAU_TOP10},
    {.id = "seeds-variance",
     .column = "gv_all",
     .label = "Variance of the gradients",
     .meaning = "How much the steps of the last epoch disagree."},
};
enum { N_MEASURES = sizeof measures / sizeof *measures };

static const char *label_of(const measure *m)
{
    return m->column ? m->label : pada_metric_table[m->metric].label;
}

/* ---- groups ---- */

/* The next line of a configuration that is not the seed; its length, 0 at the end. */
static size_t next_line(const char **at)
{
    while (strncmp(*at, "seed:", 5) == 0) {
        *at += strcspn(*at, "\n");
        *at += **at == '\n';
    }
    const size_t n = strcspn(*at, "\n");
    return n + ((*at)[n] == '\n');
}

static bool differ_in_seed(const pada__report_run *a, const pada__report_run *b)
{
    const char *x = pada_text_str(&a->info.config), *y = pada_text_str(&b->info.config);

    if (!*x) return false; /* nothing is known about it */
    for (;;) {
        const size_t n = next_line(&x);
        if (next_line(&y) != n || memcmp(x, y, n) != 0) return false;
        if (n == 0) return true;
        x += n;
        y += n;
    }
}

/* Fills group[n_runs] with the first run of the group of each; how many groups there are. */
static int find_groups(const pada__report *r, int *group)
{
    int n = 0;

    for (int i = 0; i < r->desc->n_runs; i++) {
        group[i] = i;
        for (int k = 0; k < i && group[i] == i; k++)
            if (group[k] == k && differ_in_seed(&r->runs[k], &r->runs[i])) group[i] = k;
        n += group[i] == i;
    }
    return n;
}

/* What the names of a group begin with, without the folder that they are in: "spos" of runs/spos-s0 and runs/spos-s1. */
static void add_name(const pada__report *r, const int *group, int first, pada_text *out)
{
    const char *name = r->runs[first].name, *slash = strrchr(name, '/');
    size_t n = strlen(name), begin = slash && slash[1] ? (size_t)(slash + 1 - name) : 0;
    bool is_alone = true;
    pada_text text = {0};

    for (int i = first + 1; i < r->desc->n_runs; i++) {
        size_t same = 0;
        if (group[i] != first) continue;
        is_alone = false;
        while (same < n && r->runs[i].name[same] == name[same])
            same++;
        n = same;
    }
    if (!is_alone && n > begin + 2 && name[n - 1] == 's' && strchr("-_.", name[n - 2])) n--;
    while (!is_alone && n > begin + 1 && strchr("-_.", name[n - 1]))
        n--;
    if (n <= begin) n = strlen(name);
    pada_text_add(&text, "%.*s", (int)(n - begin), name + begin);
    pada_html_json_string(out, pada_text_str(&text));
    if (text.status != PADA_OK) out->status = text.status;
    pada_text_deinit(&text);
}

/* ---- charts ---- */

/* NaN: not known. */
static double value_of(const pada__report *r, int run, const measure *m)
{
    if (m->column) return pada_history_last(&r->runs[run].history, m->column);
    return r->runs[run].set < 0 ? NAN : r->board.metrics[r->runs[run].set].value[m->metric];
}

static bool has_measure(const pada__report *r, const measure *m)
{
    int n = 0;

    if (!m->column && !pada__report_has_metric(r, m->metric)) return false;
    for (int i = 0; i < r->desc->n_runs; i++)
        n += isfinite(value_of(r, i, m));
    return n > 2;
}

static void add_chart(const pada__report *r, const int *group, const measure *m, bool *is_first,
                      pada_text *out)
{
    const char *comma = "";

    pada__report_begin_chart(out, is_first, m->id, -1, "seeds");
    pada_text_add(out, "\"y\":\"%s\",\"groups\":[", label_of(m));
    for (int i = 0; i < r->desc->n_runs; i++) {
        if (group[i] != i) continue;
        pada_text_add(out, "%s{\"name\":", comma);
        add_name(r, group, i, out);
        pada_text_add(out, ",\"values\":[");
        comma = "";
        for (int k = i; k < r->desc->n_runs; k++) {
            if (group[k] != i) continue;
            pada_text_add(out, "%s", comma);
            pada_html_json_number(out, value_of(r, k, m));
            comma = ",";
        }
        pada_text_add(out, "]}");
    }
    pada_text_add(out, "]}");
}

/* Calls `add` with the groups if there are at least two of them, and three runs. */
static pada_status with_groups(const pada__report *r, bool *is_first, pada_text *out,
                               void (*add)(const pada__report *r, const int *group, bool *is_first,
                                           pada_text *out))
{
    void *group;

    PADA_TRY(pada_calloc(&group, (size_t)r->desc->n_runs, sizeof(int)));
    if (find_groups(r, group) > 1 && r->desc->n_runs > 2) add(r, group, is_first, out);
    pada_free(group);
    return out->status;
}

static void add_figures(const pada__report *r, const int *group, bool *is_first, pada_text *out)
{
    (void)group;
    for (int i = 0; i < N_MEASURES; i++) {
        const measure *m = &measures[i];
        if (!has_measure(r, m)) continue;
        if (*is_first)
            pada_text_add(out,
                          "<p>A point per run; bars are mean and deviation of runs that differ "
                          "in their seed alone.</p>\n<div class=\"figures\">\n");
        *is_first = false;
        pada__report_figure(out, m->id, -1, label_of(m), NULL,
                            m->column ? m->meaning : pada_metric_table[m->metric].meaning);
    }
    if (!*is_first) pada_text_add(out, "</div>\n");
}

static void add_numbers(const pada__report *r, const int *group, bool *is_first, pada_text *out)
{
    for (int i = 0; i < N_MEASURES; i++)
        if (has_measure(r, &measures[i])) add_chart(r, group, &measures[i], is_first, out);
}

pada_status pada__report_seeds(const pada__report *r, pada_text *out)
{
    bool is_first = true;

    return with_groups(r, &is_first, out, add_figures);
}

pada_status pada__report_seed_data(const pada__report *r, bool *is_first, pada_text *out)
{
    return with_groups(r, is_first, out, add_numbers);
}
