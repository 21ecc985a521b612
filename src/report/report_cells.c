/* report_cells.c - the best networks of every run, drawn. */
#include "base/mem.h"
#include "report/draw.h"
#include "report/html.h"
#include "report/report_parts.h"
#include "study/best_first.h"

enum { N_BEST = 10 };

/* What is known about a network beside its score. */
static void add_truth(const pada__report *r, const pada_path *path, pada_text *out)
{
    if (!r->desc->truth) return;
    const int row = pada_truth_row(r->desc->truth, path), n = pada_truth_count(r->desc->truth);
    if (row < 0) {
        pada_text_add(out, ", not in the truth table");
        return;
    }
    pada_text_add(out, ", true accuracy %.2f&#8239;%% (rank %d of %d)", r->desc->truths[row],
                  pada_rank_of(r->desc->truths, n, r->desc->truths[row]), n);
}

static pada_status add_drawing(const pada_space *space, const pada_path *path, pada_text *out)
{
    pada_sketch sketch;

    if (!space->ops->sketch) return PADA_OK;
    PADA_TRY(pada_sketch_path(&sketch, space, path));
    pada_text_add(out, "<div class=\"drawing\">");
    PADA_TRY(pada_draw_svg(&sketch, out));
    pada_text_add(out, "</div>\n");
    return out->status;
}

static pada_status add_cell(const pada__report *r, const pada_path *path, double score,
                            pada_text *out)
{
    const pada_space *space = r->desc->space;
    pada_text arch = {0};
    pada_status st = space->ops->format(space, path, NULL, &arch);

    pada_text_add(out, "<li><p>score %.6g", score);
    add_truth(r, path, out);
    pada_text_add(out, "<br><code>");
    pada_html_text(out, pada_text_str(&arch));
    pada_text_add(out, "</code></p>\n");
    pada_text_deinit(&arch);
    if (st == PADA_OK) st = add_drawing(space, path, out);
    pada_text_add(out, "</li>\n");
    return st;
}

static pada_status add_best(const pada__report *r, const pada_truth *ranking, pada_text *out)
{
    const int n = pada_truth_count(ranking);
    const double *scores;
    pada_status st = PADA_OK;
    int *order;

    PADA_TRY(pada_truth_column(ranking, "score", &scores));
    PADA_TRY(pada_best_first(&order, scores, n));
    pada_text_add(out, "<ol class=\"cells\">\n");
    for (int i = 0; i < n && i < N_BEST && st == PADA_OK; i++)
        st = add_cell(r, pada_truth_path(ranking, order[i]), scores[order[i]], out);
    pada_text_add(out, "</ol>\n");
    pada_free(order);
    return st;
}

pada_status pada__report_cells(const pada__report *r, pada_text *out)
{
    bool is_empty = true;

    for (int i = 0; i < r->desc->n_runs; i++) {
        if (!r->runs[i].ranking) continue;
        is_empty = false;
        pada_text_add(out, "<h3>The %d best of ", N_BEST);
        pada_html_text(out, r->runs[i].name);
        pada_text_add(out, "</h3>\n");
        PADA_TRY(add_best(r, r->runs[i].ranking, out));
    }
    if (is_empty)
        pada_text_add(out,
                      "<p class=\"none\">No run has a ranking; <code>pada rank RUN</code> makes "
                      "one.</p>\n");
    return out->status;
}
