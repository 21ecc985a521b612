/* rank_report.c - what `pada rank` prints: metrics beside baselines, and the best networks. */
#include <stdio.h>

#include "base/mem.h"
#include "cli/print.h"
#include "cli/print_metrics.h"
#include "cli/rank_state.h"
#include "cli/rank_supernets.h"
#include "cli/rank_top.h"
#include "engine/engine_statistics.h"

#define SUPERNET "supernet"
#define COMBINED "combined"

static void print_strangers(const pada_rank_state *r, const pada_score_join *join)
{
    const int n_scores = pada_score_table_count(r->scores) - join->n;
    const int n_truths = pada_score_table_count(r->truth.table) - join->n;

    if (n_scores > 0 || n_truths > 0)
        fprintf(stderr, "pada: %d networks in common; %d only in %s, %d only in %s\n", join->n,
                n_scores, r->score_file, n_truths, r->truth_args.file);
}

static pada_rank_top top_of(const pada_rank_state *r, const pada_score_join *join)
{
    return (pada_rank_top){.table = &r->table,
                           .n = (int)r->top,
                           .costs = !r->predictions,
                           .truth = join ? r->truth.table : NULL,
                           .join = join};
}

/* The only supernet; NULL: a file, or several. */
static const pada_supernet *only_supernet(const pada_rank_state *r)
{
    return r->predictions || r->nets.is_mixed || r->is_free ? NULL : &r->nets.list[0].net;
}

static const pada_family *family_of(const pada_rank_state *r)
{
    return only_supernet(r) ? only_supernet(r)->family : NULL;
}

static const char *title_of(const pada_rank_state *r)
{
    if (r->is_free) return r->free_scores.list[0].score->name;
    return r->predictions ? r->predictions : r->nets.is_mixed ? COMBINED : SUPERNET;
}

/* What the scores of networks that were evaluated here are normalised by. */
static pada_statistics statistics_of(const pada_supernet *net)
{
    return pada_engine_statistics(net->workers[0].engine);
}

/* Of each image; 1 where nothing was evaluated. */
static int views_of(const pada_rank_state *r)
{
    return r->predictions || r->is_free
               ? 1
               : pada_evaluator_views(r->nets.list[0].net.workers[0].evaluator);
}

/* The images that the scores are of and what they are normalised by, unless they come from a file. */
static void set_images(const pada_rank_state *r, pada_text *out, json_t *object)
{
    const pada_supernet *only = only_supernet(r);
    pada_text made_of = {0};

    if (r->predictions || r->is_free) return;
    pada_json_set(out, object, "split", json_string(pada_split_name(r->nets.list[0].net.split)));
    if (views_of(r) > 1) pada_json_set(out, object, "views", json_integer(views_of(r)));
    if (only)
        pada_json_set(out, object, "statistics",
                      json_string(pada_statistics_name(statistics_of(only))));
    else {
        pada_supernets_describe(&r->nets, &made_of);
        pada_json_set(out, object, "combines", json_string(pada_text_str(&made_of)));
    }
    pada_text_deinit(&made_of);
}

static pada_status add_json(const pada_rank_state *r, const pada_score_join *join,
                            const pada_scoreboard *board, const pada_rank_sets *sets,
                            pada_text *out)
{
    const pada_rank_top top = top_of(r, join);

    for (int i = 0; i < board->n_sets; i++) {
        json_t *object = json_object();
        pada_json_set(out, object, "name", json_string(sets->list[i].name));
        pada_json_set(out, object, "truth_column", json_string(r->truth.name));
        pada_json_set(out, object, "bootstrap",
                      json_integer(pada_bootstrap_replicates(board->bootstrap)));
        if (i == 0) set_images(r, out, object);
        pada_json_set_metrics(out, object, board, i);
        if (i == 0) pada_json_set_top(out, object, &top);
        pada_json_line(out, object);
    }
    return out->status;
}

/* Ends a line with the images that the scores are of, unless these come from a file. */
static void add_images(const pada_rank_state *r, pada_text *out)
{
    const pada_supernet *only = only_supernet(r);

    if (!r->predictions && !r->is_free)
        pada_text_add(out, ", %d %s images",
                      pada_evaluator_n_images(r->nets.list[0].net.workers[0].evaluator),
                      pada_split_name(r->nets.list[0].net.split));
    if (views_of(r) > 1) pada_text_add(out, " in %d views", views_of(r));
    if (only && statistics_of(only) != PADA_STATISTICS_BATCH)
        pada_text_add(out, ", %s statistics", pada_statistics_name(statistics_of(only)));
    if (r->nets.is_mixed) {
        pada_text_add(out, ", by ");
        pada_supernets_describe(&r->nets, out);
    }
    pada_text_add(out, "\n\n");
}

static pada_status add_sets(pada_text *out, const pada_scoreboard *board,
                            const pada_rank_sets *sets)
{
    void *mem;

    PADA_TRY(pada_calloc(&mem, (size_t)sets->n, sizeof(const char *)));
    const char **names = mem;
    for (int i = 0; i < sets->n; i++)
        names[i] = sets->list[i].name;
    pada_add_sets(out, board, names);
    pada_free(mem);
    return out->status;
}

static pada_status add_report(const pada_rank_state *r, const pada_score_join *join,
                              const pada_scoreboard *board, const pada_rank_sets *sets,
                              pada_text *out)
{
    const pada_family *family = family_of(r);
    const pada_rank_top top = top_of(r, join);

    if (r->json) {
        PADA_TRY(add_json(r, join, board, sets, out));
        return family ? pada_add_supernets(out, family, r->truth.table, join, true) : out->status;
    }
    pada_text_add(out, "%s: %d networks, truth %s of %s, %d bootstrap samples", r->score_file,
                  board->n, r->truth.name, r->truth_args.file,
                  pada_bootstrap_replicates(board->bootstrap));
    add_images(r, out);
    pada_rank_free_add_times(&r->free_scores, out);
    pada_add_metrics(out, board, 0);
    pada_text_add(out, "\n");
    PADA_TRY(add_sets(out, board, sets));
    pada_text_add(out, "\n");
    if (family) {
        PADA_TRY(pada_add_supernets(out, family, r->truth.table, join, false));
        pada_text_add(out, "\n");
    }
    return pada_add_top(out, &top);
}

/* The ranking or file first, then what it is made of, and the baselines of the space. */
static pada_status list_sets(const pada_rank_state *r, const pada_score_join *join,
                             pada_rank_sets *sets)
{
    const pada_score_table *truth = r->truth.table;
    pada_status st;
    void *mem;

    PADA_TRY(pada_rank_sets_add_scores(sets, title_of(r), join));
    if (r->nets.is_mixed) {
        PADA_TRY(pada_calloc(&mem, (size_t)r->nets.n, sizeof(const char *)));
        pada_rank_name_runs(r, mem);
        st = pada_rank_sets_add_runs(sets, &r->mixed, mem, truth, join);
        pada_free(mem);
        PADA_TRY(st);
    }
    PADA_TRY(pada_rank_free_add_sets(&r->free_scores, r->is_free ? 1 : 0, sets, truth, join));
    return pada_rank_sets_add_baselines(sets, &r->space, r->nets.prior.score, truth, join);
}

static pada_status compare_with_truth(const pada_rank_state *r, const pada_score_join *join,
                                      pada_text *out)
{
    const pada_scoreboard_desc desc = {.truths = join->truths,
                                       .n = join->n,
                                       .replicates = (int)r->truth_args.bootstrap,
                                       .seed = r->seed,
                                       .n_threads = (int)r->run_args.engine.threads};
    pada_scoreboard board = {0};
    pada_rank_sets sets = {0};
    pada_status st = list_sets(r, join, &sets);

    if (st == PADA_OK) st = pada_rank_sets_judge(&sets, &desc, &board);
    if (st == PADA_OK) st = add_report(r, join, &board, &sets, out);
    pada_scoreboard_deinit(&board);
    pada_rank_sets_deinit(&sets);
    return st;
}

static pada_status report_with_truth(const pada_rank_state *r, pada_text *out)
{
    pada_score_table *const tables[] = {r->scores};
    pada_score_join join;
    pada_status st = pada_score_join_init(&join, r->truth.table, r->truth.values, tables, 1);

    if (st == PADA_OK && join.n < 2)
        st = PADA_FAIL(PADA_EDATA, "%s and %s have %d networks in common; a ranking needs 2",
                       r->score_file, r->truth_args.file, join.n);
    if (st == PADA_OK) {
        print_strangers(r, &join);
        st = compare_with_truth(r, &join, out);
    }
    pada_score_join_deinit(&join);
    return st;
}

static pada_status report_without_truth(const pada_rank_state *r, pada_text *out)
{
    const int n = pada_score_table_count(r->scores);
    const pada_rank_top top = top_of(r, NULL);

    if (!r->json) {
        pada_text_add(out, "%s: %d networks, %d distinct", r->score_file, n, r->table.n_distinct);
        add_images(r, out);
        pada_rank_free_add_times(&r->free_scores, out);
        return pada_add_top(out, &top);
    }
    json_t *object = json_object();
    pada_json_set(out, object, "name", json_string(title_of(r)));
    pada_json_set(out, object, "file", json_string(r->score_file));
    set_images(r, out, object);
    pada_json_set(out, object, "n", json_integer(n));
    pada_json_set_top(out, object, &top);
    pada_json_line(out, object);
    return out->status;
}

pada_status pada_rank_report(const pada_rank_state *r, pada_text *out)
{
    return r->truth.table ? report_with_truth(r, out) : report_without_truth(r, out);
}
