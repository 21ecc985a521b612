/* report_best.c - the best networks of every run, drawn, with their costs and the next command. */
#include <math.h>
#include <string.h>

#include "report/html.h"
#include "report/report_parts.h"
#include "study/best_first.h"

enum { N_FURTHER = 9 };

static void add_cost(const pada__report_run *run, const pada_ranking_row *row, pada_text *out)
{
    if (!run->has_sizes) return;
    pada__report_cost(out, (double)row->cost.macs, (double)row->cost.params);
}

/* Nothing without a truth table. */
static void add_truth(const pada__report *r, const pada_path *path, pada_text *out)
{
    if (!r->desc->truth) return;
    const int row = pada_score_table_row(r->desc->truth, path),
              n = pada_score_table_count(r->desc->truth);
    if (row < 0) {
        pada_text_add(out, "not in the truth table");
        return;
    }
    pada_text_add(out, "true accuracy ");
    pada__report_percent(out, r->desc->truths[row], 2);
    pada_text_add(out, " (rank %d of %d)", pada_rank_of(r->desc->truths, n, r->desc->truths[row]),
                  n);
}

static void add_score(const pada__report_run *run, const pada_ranking_row *row, pada_text *out)
{
    if (run->table.n_images == 0) {
        pada_text_add(out, "score %.6g", row->score);
        return;
    }
    pada_text_add(out, "score ");
    pada__report_percent(out, row->score, run->table.decimals);
    pada__report_interval(out, row->low, row->high, run->table.decimals);
}

/* ---- what to do next ---- */

/* Trains the network alone, with the sizes and the data of the run. */
static pada_status add_training(const pada__report_run *run, const pada_path *path, pada_text *out)
{
    pada_text arch = {0};
    const pada_status st = run->space.ops->format(&run->space, path, NULL, &arch);

    pada_text_add(out, "<p>Next: train it alone, from new weights. The accuracy that it reaches "
                       "there is the one that counts.</p>\n<pre>pada retrain --from ");
    pada__report_word(out, run->name, "");
    pada_text_add(out, " \\\n  --arch ");
    pada__report_word(out, pada_text_str(&arch), "");
    pada_text_add(out, " \\\n  --out ");
    pada__report_word(out, run->name, "-best");
    pada_text_add(out, "</pre>\n");
    if (arch.status != PADA_OK) out->status = arch.status;
    pada_text_deinit(&arch);
    return st;
}

static void add_ranking_command(const pada__report_run *run, pada_text *out)
{
    pada_text_add(
        out,
        "<p>No ranking yet. Next: rank the networks inside the supernet.</p>\n<pre>pada rank ");
    pada__report_word(out, run->name, "");
    pada_text_add(out, "</pre>\n");
}

/* ---- the best ---- */

static void add_fact(pada_text *out, const char *text)
{
    if (*text) pada_text_add(out, "<li>%s</li>\n", text);
}

static void add_facts(const pada__report *r, const pada__report_run *run,
                      const pada_ranking_row *row, pada_text *out)
{
    pada_text fact = {0};

    pada_text_add(out, "<ul>\n<li>");
    add_score(run, row, out);
    if (run->table.n_images > 0)
        pada_text_add(out, ": %d of %d images right with the weights of the supernet", row->correct,
                      run->table.n_images);
    pada_text_add(out, "</li>\n");
    add_truth(r, &row->path, &fact);
    add_fact(out, pada_text_str(&fact));
    fact.length = 0;
    if (fact.data) *fact.data = '\0';
    add_cost(run, row, &fact);
    add_fact(out, pada_text_str(&fact));
    if (fact.status != PADA_OK) out->status = fact.status;
    pada_text_deinit(&fact);
    if (row->ties > 1)
        pada_text_add(
            out, "<li>%d networks share this score; so many images cannot tell them apart</li>\n",
            row->ties);
    if (row->n_copies > 0)
        pada_text_add(out,
                      "<li>also in the ranking under %d other name%s, as its copies compute the "
                      "same</li>\n",
                      row->n_copies, row->n_copies > 1 ? "s" : "");
    pada_text_add(out, "</ul>\n");
}

static void add_test_command(const pada__report_run *run, pada_text *out)
{
    pada_text_add(out, "<p>Next: its accuracy on the images that it was not trained "
                       "on.</p>\n<pre>pada eval ");
    pada__report_word(out, run->name, "");
    pada_text_add(out, " ");
    pada__report_word(out, run->info.arch, "");
    pada_text_add(out, "</pre>\n");
}

/* A network that was trained alone. */
static pada_status add_single(const pada__report_run *run, pada_text *out)
{
    pada_ranking_row row = {0};
    const pada_status st = run->space.ops->parse(&run->space, run->info.arch, NULL, &row.path);

    if (st == PADA_ENOMEM) return st;
    pada_text_add(out, "<div class=\"best\">\n");
    if (st == PADA_OK) PADA_TRY(pada__report_drawing(&run->space, &row.path, out));
    pada_text_add(out, "<div>\n<p>");
    if (st == PADA_OK) pada_space_cost(&run->space, &row.path, &row.cost);
    if (st == PADA_OK) add_cost(run, &row, out);
    pada_text_add(out, "</p>\n<p><code>");
    pada_html_text(out, run->info.arch);
    pada_text_add(out, "</code></p>\n");
    if (run->test.n_models == 0) add_test_command(run, out);
    pada_text_add(out, "</div>\n</div>\n");
    return out->status;
}

static pada_status add_best(const pada__report *r, const pada__report_run *run, pada_text *out)
{
    const pada_ranking_row *row = pada__report_first(run);

    pada__report_run_name(r, run, out);
    if (!row && pada__report_is_single(run)) return add_single(run, out);
    if (!row) {
        add_ranking_command(run, out);
        return out->status;
    }
    pada_text_add(out, "<div class=\"best\">\n");
    PADA_TRY(pada__report_drawing(&run->space, &row->path, out));
    pada_text_add(out, "<div>\n");
    add_facts(r, run, row, out);
    pada_text_add(out, "<p>");
    PADA_TRY(pada__report_arch(run, &row->path, out));
    pada_text_add(out, "</p>\n");
    PADA_TRY(add_training(run, &row->path, out));
    pada_text_add(out, "</div>\n</div>\n");
    return out->status;
}

bool pada__report_has_best(const pada__report_run *run)
{
    return pada__report_first(run) || !pada__report_has_search(run);
}

pada_status pada__report_best(const pada__report *r, pada_text *out)
{
    for (int i = 0; i < r->desc->n_runs; i++)
        if (pada__report_has_best(&r->runs[i])) PADA_TRY(add_best(r, &r->runs[i], out));
    return out->status;
}

/* ---- those that follow ---- */

static pada_status add_cell(const pada__report *r, const pada__report_run *run,
                            const pada_ranking_row *row, pada_text *out)
{
    pada_text_add(out, "<li value=\"%d\"><details><summary>", row->rank);
    add_score(run, row, out);
    if (r->desc->truth) pada_text_add(out, ", ");
    add_truth(r, &row->path, out);
    if (run->has_sizes) pada_text_add(out, "; ");
    add_cost(run, row, out);
    pada_text_add(out, "</summary>\n<p>");
    PADA_TRY(pada__report_arch(run, &row->path, out));
    pada_text_add(out, "</p>\n");
    PADA_TRY(pada__report_drawing(&run->space, &row->path, out));
    pada_text_add(out, "</details></li>\n");
    return out->status;
}

static pada_status add_further(const pada__report *r, const pada__report_run *run, pada_text *out)
{
    pada__report_run_name(r, run, out);
    pada_text_add(out, "<ol class=\"cells\">\n");
    for (int k = 1; k < run->table.n_distinct && k <= N_FURTHER; k++)
        PADA_TRY(add_cell(r, run, &run->table.rows[k], out));
    pada_text_add(out, "</ol>\n");
    return out->status;
}

pada_status pada__report_further(const pada__report *r, pada_text *out)
{
    int n = 0;

    for (int i = 0; i < r->desc->n_runs; i++)
        n += r->runs[i].table.n_distinct > 1;
    if (n == 0) return PADA_OK;
    pada__report_begin_more(out, "Further good networks");
    for (int i = 0; i < r->desc->n_runs; i++)
        if (r->runs[i].table.n_distinct > 1) PADA_TRY(add_further(r, &r->runs[i], out));
    pada__report_end_more(out);
    return out->status;
}
