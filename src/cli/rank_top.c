/* rank_top.c - the best networks of a ranking, as a table and as JSON. */
#include "cli/rank_top.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/print.h"
#include "cli/print_metrics.h"
#include "study/best_first.h"

static int n_shown(const pada_rank_top *top)
{
    return top->n < top->table->n_distinct ? top->n : top->table->n_distinct;
}

/* ---- what the truth says ---- */

/* The place of a network in the join; -1: not in it. */
static int find_in_join(const pada_rank_top *top, const pada_path *path)
{
    const int row = pada_score_table_row(top->truth, path);

    for (int i = 0; row >= 0 && i < top->join->n; i++)
        if (top->join->rows[i] == row) return i;
    return -1;
}

/* That of a distinct network, or of the first of its copies that has one. */
static int find_truth(const pada_rank_top *top, int distinct)
{
    const pada_ranking_table *t = top->table;
    int found = find_in_join(top, &t->rows[distinct].path);

    for (int i = t->n_distinct; i < t->n && found < 0; i++)
        if (t->rows[i].same_as == distinct) found = find_in_join(top, &t->rows[i].path);
    return found;
}

static double truth_of(const pada_rank_top *top, int distinct, int *rank)
{
    const int i = find_truth(top, distinct);

    *rank = i < 0 ? 0 : pada_rank_of(top->join->truths, top->join->n, top->join->truths[i]);
    return i < 0 ? NAN : top->join->truths[i];
}

/* ---- the table ---- */

static void add_score(pada_text *out, const pada_ranking_table *t, const pada_ranking_row *row)
{
    char place[24];

    snprintf(place, sizeof place, "%d%s", row->rank, row->ties > 1 ? "=" : "");
    if (t->n_images == 0)
        pada_text_add(out, "%6s %12.6g", place, row->score);
    else {
        pada_text_add(out, "%6s %7.*f  ", place, t->decimals, row->score);
        pada_add_interval(out, &(pada_interval){.low = row->low, .high = row->high}, t->decimals,
                          10 + 2 * t->decimals);
    }
}

static void add_heading(pada_text *out, const pada_rank_top *top)
{
    const pada_ranking_table *t = top->table;

    if (t->n_images == 0)
        pada_text_add(out, "%6s %12s", "place", "score");
    else
        pada_text_add(out, "%6s %7s  %-*s", "place", "score %", 10 + 2 * t->decimals, "95 %");
    if (top->truth) pada_text_add(out, " %8s %6s", "truth", "rank");
    if (top->costs) pada_text_add(out, " %7s %7s", "MACs", "params");
    pada_text_add(out, "  architecture\n");
}

static pada_status add_line(pada_text *out, const pada_rank_top *top, int i)
{
    const pada_ranking_table *t = top->table;
    const pada_ranking_row *row = &t->rows[i];
    int rank;

    add_score(out, t, row);
    if (top->truth) {
        pada_add_number(out, truth_of(top, i, &rank), 2, 9);
        pada_add_number(out, rank > 0 ? rank : NAN, 0, 7);
    }
    if (top->costs) {
        pada_add_count(out, row->cost.macs, 8);
        pada_add_count(out, row->cost.params, 8);
    }
    pada_text_add(out, "  ");
    PADA_TRY(t->space.ops->format(&t->space, &row->path, NULL, out));
    if (row->n_copies > 0)
        pada_text_add(out, "  (+ %d cop%s)", row->n_copies, row->n_copies == 1 ? "y" : "ies");
    pada_text_add(out, "\n");
    return out->status;
}

pada_status pada_add_top(pada_text *out, const pada_rank_top *top)
{
    add_heading(out, top);
    for (int i = 0; i < n_shown(top); i++)
        PADA_TRY(add_line(out, top, i));
    return out->status;
}

/* ---- JSON ---- */

static json_t *json_arch(const pada_ranking_table *t, const pada_path *path, pada_text *out)
{
    pada_text arch = {0};
    const pada_status st = t->space.ops->format(&t->space, path, NULL, &arch);

    if (st != PADA_OK && out->status == PADA_OK) out->status = st;
    json_t *value = json_string(pada_text_str(&arch));
    pada_text_deinit(&arch);
    return value;
}

static json_t *json_copies(const pada_ranking_table *t, int distinct, pada_text *out)
{
    json_t *list = json_array();

    for (int i = t->n_distinct; i < t->n; i++)
        if (t->rows[i].same_as == distinct)
            pada_json_append(out, list, json_arch(t, &t->rows[i].path, out));
    return list;
}

static json_t *json_network(const pada_rank_top *top, int i, pada_text *out)
{
    const pada_ranking_table *t = top->table;
    const pada_ranking_row *row = &t->rows[i];
    json_t *object = json_object();
    int rank;

    pada_json_set(out, object, "rank", json_integer(row->rank));
    pada_json_set(out, object, "ties", json_integer(row->ties));
    pada_json_set(out, object, "arch", json_arch(t, &row->path, out));
    pada_json_set_number(out, object, "score", row->score);
    pada_json_set_number(out, object, "score_lo", row->low);
    pada_json_set_number(out, object, "score_hi", row->high);
    if (t->n_images > 0) {
        pada_json_set(out, object, "correct", json_integer(row->correct));
        pada_json_set_number(out, object, "loss", row->loss);
    }
    if (top->costs) {
        pada_json_set(out, object, "macs", json_integer(row->cost.macs));
        pada_json_set(out, object, "params", json_integer(row->cost.params));
    }
    pada_json_set(out, object, "copies", json_copies(t, i, out));
    if (top->truth) {
        pada_json_set_number(out, object, "truth", truth_of(top, i, &rank));
        pada_json_set(out, object, "truth_rank", rank > 0 ? json_integer(rank) : json_null());
    }
    return object;
}

void pada_json_set_top(pada_text *out, json_t *object, const pada_rank_top *top)
{
    const pada_ranking_table *t = top->table;
    json_t *list = json_array();

    for (int i = 0; i < n_shown(top); i++)
        pada_json_append(out, list, json_network(top, i, out));
    pada_json_set(out, object, "distinct", json_integer(t->n_distinct));
    pada_json_set(out, object, "images", t->n_images > 0 ? json_integer(t->n_images) : json_null());
    pada_json_set(out, object, "top", list);
}
