/* study_row.c - what one run of a study found. */
#include "study/study_row.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "study/score_join.h"
#include "study/scoreboard.h"
#include "study/search_log.h"
#include "study/test_results.h"
#include "train/run_cost.h"
#include "train/run_history.h"

const pada_study_column_info pada_study_column_table[PADA_STUDY_COLUMNS] = {
    [PADA_STUDY_TAU_B] = {"tau_b", "tau-b", 3, 1},
    [PADA_STUDY_TAU_B_LO] = {"tau_b_lo", NULL, 3, 1},
    [PADA_STUDY_TAU_B_HI] = {"tau_b_hi", NULL, 3, 1},
    [PADA_STUDY_P_TOP5] = {"p_at_top5", "P@Top5%", 3, 1},
    [PADA_STUDY_TAU_TOP10] = {"tau_top10", "tau, top 10%", 3, 1},
    [PADA_STUDY_REGRET] = {"regret", "regret", 2, 1},
    [PADA_STUDY_SPEARMAN] = {"spearman", "Spearman", 3, 1},
    [PADA_STUDY_NETWORKS] = {"networks", NULL, 0, 1},
    [PADA_STUDY_LOSS] = {"loss", "loss", 3, 1},
    [PADA_STUDY_VARIANCE] = {"gv_candidates", "GV, 1e-6", 2, 1e6},
    [PADA_STUDY_EPOCHS] = {"epochs", NULL, 0, 1},
    [PADA_STUDY_PASSES] = {"passes", "passes", -1, 1},
    [PADA_STUDY_GMACS] = {"gmacs", "MACs", -1, 1e9},
    [PADA_STUDY_SECONDS] = {"seconds", "seconds", 1, 1},
    [PADA_STUDY_FOUND_TOP1] = {"found_top1", "found %", 2, 1},
    [PADA_STUDY_FOUND_MACS] = {"found_macs", "its MACs", -1, 1},
    [PADA_STUDY_FOUND_PARAMS] = {"found_params", "params", -1, 1},
    [PADA_STUDY_FOUND_TRUTH] = {"found_truth", "its truth", 2, 1},
    [PADA_STUDY_TEST_TOP1] = {"test_top1", "test %", 2, 1},
    [PADA_STUDY_TEST_N] = {"test_n", NULL, 0, 1},
    [PADA_STUDY_RANDOM_TOP1] = {"random_top1", "random %", 2, 1},
    [PADA_STUDY_RANDOM_N] = {"random_n", NULL, 0, 1},
};

void pada_study_row_init(pada_study_row *row, int run, uint64_t seed)
{
    *row = (pada_study_row){.run = run, .seed = seed};
    for (int i = 0; i < PADA_STUDY_COLUMNS; i++)
        row->values[i] = NAN;
}

void pada_study_row_deinit(pada_study_row *row)
{
    pada_text_deinit(&row->arch);
}

/* ---- the training ---- */

static pada_status add_cost(pada_study_row *row, const char *folder, bool *found)
{
    pada_run_cost cost;

    PADA_TRY(pada_run_cost_read(folder, found, &cost));
    if (!*found) return PADA_OK;
    const struct {
        pada_study_column column;
        double value;
    } costs[] = {{PADA_STUDY_EPOCHS, cost.epochs},
                 {PADA_STUDY_PASSES, cost.passes},
                 {PADA_STUDY_GMACS, cost.gmacs},
                 {PADA_STUDY_SECONDS, cost.seconds}};
    for (size_t i = 0; i < sizeof costs / sizeof *costs; i++) {
        double *sum = &row->values[costs[i].column];
        *sum = isnan(*sum) ? costs[i].value : *sum + costs[i].value;
    }
    return PADA_OK;
}

pada_status pada_study_row_add_cost(pada_study_row *row, const char *folder)
{
    bool found;

    return add_cost(row, folder, &found);
}

static pada_status read_training(pada_study_row *row, const char *folder)
{
    pada_history history = {0};
    bool found;

    PADA_TRY(add_cost(row, folder, &found));
    if (!found) return PADA_OK;
    const pada_status st = pada_history_read(&history, folder, NULL);
    if (st == PADA_OK) {
        row->values[PADA_STUDY_LOSS] = pada_history_last(&history, "loss");
        row->values[PADA_STUDY_VARIANCE] = pada_history_last(&history, "gv_candidates");
        snprintf(row->weights_hash, sizeof row->weights_hash, "%s", history.weights_hash);
    }
    pada_history_deinit(&history);
    return st;
}

/* ---- the ranking ---- */

static void take_metrics(pada_study_row *row, const pada_scoreboard *board)
{
    const double *value = board->metrics[0].value;
    pada_interval interval;

    pada_bootstrap_interval(board->bootstrap, 0, PADA_METRIC_TAU_B, &interval);
    row->values[PADA_STUDY_TAU_B] = value[PADA_METRIC_TAU_B];
    row->values[PADA_STUDY_TAU_B_LO] = interval.low;
    row->values[PADA_STUDY_TAU_B_HI] = interval.high;
    row->values[PADA_STUDY_P_TOP5] = value[PADA_METRIC_P_TOP5];
    row->values[PADA_STUDY_TAU_TOP10] = value[PADA_METRIC_TAU_TOP10];
    row->values[PADA_STUDY_REGRET] = value[PADA_METRIC_REGRET];
    row->values[PADA_STUDY_SPEARMAN] = value[PADA_METRIC_SPEARMAN];
    row->values[PADA_STUDY_NETWORKS] = board->n;
}

static pada_status score_join(pada_study_row *row, const pada_study_sources *from,
                              const pada_score_join *join)
{
    const double *const scores[] = {join->scores};
    pada_scoreboard board = {0};

    if (join->n < 2) return PADA_OK;
    PADA_TRY(pada_scoreboard_init(&board, &(pada_scoreboard_desc){.truths = join->truths,
                                                                  .scores = scores,
                                                                  .n = join->n,
                                                                  .n_sets = 1,
                                                                  .replicates = from->replicates,
                                                                  .n_threads = from->n_threads}));
    take_metrics(row, &board);
    pada_scoreboard_deinit(&board);
    return PADA_OK;
}

/* The scores of the networks that were asked for: the file has more of them, such as the canonical forms of copies. */
static pada_status keep_asked(pada_score_table **scores, const pada_study_sources *from,
                              const char *path)
{
    pada_score_table *all = *scores;
    pada_text text = {0};
    pada_status st = PADA_OK;

    pada_text_add(&text, "arch,score\n");
    for (int i = 0; i < from->asked->n && st == PADA_OK; i++) {
        const int row = pada_score_table_row(all, &from->asked->paths[i]);
        if (row < 0) continue;
        st = from->space->ops->format(from->space, &from->asked->paths[i], NULL, &text);
        pada_text_add(&text, ",%.17g\n", pada_score_table_values(all, 0)[row]);
    }
    if (st == PADA_OK) st = text.status;
    if (st == PADA_OK)
        st = pada_score_table_read(scores, from->space, path, text.data, text.length, NULL);
    if (st == PADA_OK) pada_score_table_close(all);
    pada_text_deinit(&text);
    return st;
}

static pada_status read_ranking(pada_study_row *row, const pada_study_sources *from,
                                const char *path)
{
    pada_score_join join = {0};
    pada_score_table *scores;

    PADA_TRY(pada_score_table_open_column(&scores, from->space, path, "score"));
    pada_status st = from->asked ? keep_asked(&scores, from, path) : PADA_OK;
    if (st == PADA_OK) st = pada_score_join_init(&join, from->truth, from->truths, &scores, 1);
    if (st == PADA_OK) st = score_join(row, from, &join);
    pada_score_join_deinit(&join);
    pada_score_table_close(scores);
    return st;
}

/* ---- networks ---- */

/* The text of a network, and its truth where that is known. */
static pada_status take_network(pada_study_row *row, const pada_study_sources *from,
                                const pada_path *path)
{
    const int known = from->truth ? pada_score_table_row(from->truth, path) : -1;

    if (known >= 0) row->values[PADA_STUDY_FOUND_TRUTH] = from->truths[known];
    return from->space->ops->format(from->space, path, NULL, &row->arch);
}

static pada_status read_search(pada_study_row *row, const pada_study_sources *from,
                               const char *folder)
{
    pada_search_log log;
    pada_status st = pada_search_log_read(&log, from->space, folder);

    if (st == PADA_OK && log.best.n > 0) {
        const pada_search_row *best = &log.best.rows[0];
        row->values[PADA_STUDY_FOUND_TOP1] = best->top1;
        row->values[PADA_STUDY_FOUND_MACS] = best->macs;
        row->values[PADA_STUDY_FOUND_PARAMS] = best->params;
        st = take_network(row, from, &best->path);
    }
    pada_search_log_deinit(&log);
    return st;
}

static pada_status read_test(const char *folder, double *top1, pada_text *arch)
{
    pada_test_results results;
    pada_status st = pada_test_results_read(&results, folder);
    const pada_tested_model *model = pada_test_results_model(&results);

    *top1 = st == PADA_OK && model ? model->top1.percent : NAN;
    if (st == PADA_OK && model && arch) {
        const char *text = json_string_value(json_object_get(results.json, "arch"));
        pada_text_add(arch, "%s", text ? text : "");
        st = arch->status;
    }
    pada_test_results_deinit(&results);
    return st;
}

/* A network that was given, and how it did. */
static pada_status read_alone(pada_study_row *row, const pada_study_sources *from)
{
    pada_text arch = {0};
    pada_path path;
    double top1;
    pada_status st = read_test(from->folder, &top1, &arch);

    if (st == PADA_OK && arch.length > 0) {
        row->values[PADA_STUDY_TEST_TOP1] = top1;
        row->values[PADA_STUDY_TEST_N] = 1;
        st = from->space->ops->parse(from->space, arch.data, NULL, &path);
        if (st == PADA_OK) st = take_network(row, from, &path);
    }
    pada_text_deinit(&arch);
    return st;
}

pada_status pada_study_row_add_test(pada_study_row *row, const char *folder, bool is_random)
{
    double *mean = &row->values[is_random ? PADA_STUDY_RANDOM_TOP1 : PADA_STUDY_TEST_TOP1];
    double *n = &row->values[is_random ? PADA_STUDY_RANDOM_N : PADA_STUDY_TEST_N];
    double top1;

    PADA_TRY(read_test(folder, &top1, NULL));
    if (isnan(top1)) return PADA_OK;
    *n = isnan(*n) ? 1 : *n + 1;
    *mean = *n == 1 ? top1 : *mean + (top1 - *mean) / *n;
    return PADA_OK;
}

/* ---- the whole ---- */

pada_status pada_study_row_read(pada_study_row *row, const pada_study_sources *from)
{
    pada_text ranking = {0}, search = {0};

    PADA_TRY(read_training(row, from->folder));
    if (from->is_alone) return read_alone(row, from);
    pada_text_add(&ranking, "%s/ranking.csv", from->folder);
    pada_text_add(&search, "%s/search", from->folder);
    pada_status st = ranking.status != PADA_OK ? ranking.status : search.status;
    if (st == PADA_OK && from->truth && pada_path_exists(ranking.data))
        st = read_ranking(row, from, ranking.data);
    if (st == PADA_OK && pada_path_is_dir(search.data)) st = read_search(row, from, search.data);
    pada_text_deinit(&ranking);
    pada_text_deinit(&search);
    return st;
}
