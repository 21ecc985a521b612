/* cmd_rank.c - `pada rank`: all networks of a supernet, and how well it ranks them. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "cli/command.h"
#include "cli/print.h"
#include "cli/print_metrics.h"
#include "cli/progress.h"
#include "cli/rank_supernets.h"
#include "cli/rank_top.h"
#include "cli/run_args.h"
#include "cli/stop_signal.h"
#include "cli/truth_args.h"
#include "engine/engine_statistics.h"
#include "run/names.h"
#include "study/path_list.h"
#include "study/ranking.h"
#include "study/score_join.h"
#include "study/scoreboard.h"
#include "train/run_config.h"

#define DEFAULT_FILE "ranking.csv"
#define SCORES       "scores"
#define SCORE_COLUMN "score"
#define SUPERNET     "supernet"

enum { MAX_SETS = 32, MILESTONE_SECONDS = 60 };

typedef struct rank {
    pada_run_args run_args;
    pada_truth_args truth_args;
    const char *predictions, *networks, *list_file, *dialect, *out;
    double max_seconds;
    int64_t in_flight; /* 0: as many as the backend likes */
    int64_t top;
    uint64_t seed;
    bool quiet, json;

    const char *run; /* the folder, or NULL */
    pada_supernet net;
    pada_space space;
    pada_run_lock lock;           /* of the run */
    pada_text out_file;           /* of the ranking */
    pada_text scores_dir;         /* of the run */
    const char *score_file;       /* the ranking or the predictions */
    pada_truth_column_view truth; /* empty without --truth */
    pada_path_list list;
    pada_score_table *scores; /* of the networks that were asked for */
    pada_ranking_table table; /* the same, and their canonical forms */
    const volatile sig_atomic_t *stop_signal;
    double start; /* clock */
    bool has_progressed;
    pada_meter meter;
} rank;

static const pada_opt options_table[] = {
    {.name = "predictions",
     .type = PADA_OPT_STRING,
     .offset = offsetof(rank, predictions),
     .meta = "FILE.csv",
     .help = "evaluate nothing: take the columns `arch` and `score` of this file"},
    {.name = "networks",
     .type = PADA_OPT_STRING,
     .offset = offsetof(rank, networks),
     .default_value = "all",
     .meta = "all|truth|N",
     .help =
         "which: all, those of the truth table, or N random ones; of a run with --ops, only its own"},
    {.name = "list",
     .type = PADA_OPT_STRING,
     .offset = offsetof(rank, list_file),
     .meta = "FILE",
     .help = "those of a file, one architecture per line"},
    {.name = "arch-dialect",
     .type = PADA_OPT_STRING,
     .offset = offsetof(rank, dialect),
     .meta = "DIALECT",
     .names = pada_name_of_dialect,
     .help = "how that file writes them (default: auto-detected)"},
    {.name = "out",
     .type = PADA_OPT_STRING,
     .offset = offsetof(rank, out),
     .meta = "FILE.csv",
     .help = "where the ranking goes (default: " DEFAULT_FILE
             " in RUN, with all that RUN has scores of, or here)"},
    {.name = "top",
     .type = PADA_OPT_INT,
     .offset = offsetof(rank, top),
     .default_value = "10",
     .min = 0,
     .max = INT32_MAX,
     .meta = "N",
     .help = "how many of the best networks are shown"},
    {.name = "seed",
     .type = PADA_OPT_U64,
     .offset = offsetof(rank, seed),
     .default_value = "0",
     .meta = "N",
     .help = "seed of the random networks and of the bootstrap"},
    {.name = "in-flight",
     .type = PADA_OPT_INT,
     .offset = offsetof(rank, in_flight),
     .min = 1,
     .max = PADA_MAX_IN_FLIGHT,
     .meta = "N",
     .help = PADA_IN_FLIGHT_HELP},
    {.name = "max-seconds",
     .type = PADA_OPT_DOUBLE,
     .offset = offsetof(rank, max_seconds),
     .min = 0,
     .max = 1e9,
     .meta = "S",
     .help = "stop after S seconds with exit code 75; the same command resumes it"},
    {.name = "quiet",
     .type = PADA_OPT_BOOL,
     .offset = offsetof(rank, quiet),
     .help = "no progress, only messages"},
    {.name = "json",
     .type = PADA_OPT_BOOL,
     .offset = offsetof(rank, json),
     .help =
         "one JSON object per line: the scores first, then the baselines, then each supernet of several"},
    {.name = NULL},
};

static pada_status bind(void *self, pada_options *options)
{
    rank *r = self;

    PADA_TRY(pada_options_bind(options, options_table, r));
    PADA_TRY(pada_options_bind(options, pada_truth_options, &r->truth_args));
    return pada_run_args_bind(options, &r->run_args);
}

/* ---- evaluating ---- */

/* However short the time is, one network is evaluated: repeating the command gets on. */
static bool is_time_to_stop(void *user)
{
    const rank *r = user;
    const bool is_late = r->max_seconds > 0 && pada_clock_seconds() - r->start >= r->max_seconds;

    return *r->stop_signal || (is_late && r->has_progressed);
}

static void show_note(void *user, const char *text)
{
    pada_meter_say(&((rank *)user)->meter, text);
}

static void show_progress(void *user, const pada_ranking_progress *p)
{
    rank *r = user;
    const bool is_last = p->n_done == p->n_total;

    r->has_progressed = true;
    pada_meter_show_count(&r->meter,
                          pada_meter_has_passed(&r->meter, MILESTONE_SECONDS) ||
                              (is_last && r->meter.mode == PADA_METER_LIVE),
                          &(pada_meter_count){.what = "evaluations",
                                              .n_done = p->n_done,
                                              .n_total = p->n_total,
                                              .seconds_left = p->seconds_left});
}

static pada_status choose_networks(rank *r)
{
    const pada_subspace *within = r->net.is_narrow ? &r->net.within : NULL;
    int64_t n;

    if (r->list_file)
        return pada_path_list_read(&r->list, &r->space, r->list_file, r->dialect, NULL);
    if (strcmp(r->networks, "all") == 0) return pada_path_list_all(&r->list, &r->space, within);
    if (strcmp(r->networks, "truth") == 0) {
        if (!r->truth.table)
            return PADA_FAIL(PADA_EINVAL, "--networks truth: give the table with --truth FILE.csv");
        PADA_TRY(pada_path_list_truth(&r->list, r->truth.table));
        return within ? pada_path_list_narrow(&r->list, &r->space, within) : PADA_OK;
    }
    if (pada_parse_int(r->networks, "--networks", 1, INT32_MAX, &n) != PADA_OK)
        return PADA_FAIL(PADA_EINVAL, "--networks: '%s' is not all, truth or a number",
                         r->networks);
    return pada_path_list_random(&r->list, &r->space, within, (int)n, r->seed);
}

static pada_status evaluate(rank *r)
{
    const pada_ranking_desc desc = {.workers = r->net.workers,
                                    .n_workers = r->net.n_workers,
                                    .family = r->net.family,
                                    .paths = r->list.paths,
                                    .n_paths = r->list.n,
                                    .out = r->score_file,
                                    .scores = r->scores_dir.data,
                                    .writes_all = r->run && !r->out,
                                    .user = r,
                                    .stop = is_time_to_stop,
                                    .progress = show_progress,
                                    .note = show_note};

    pada_meter_init(&r->meter, r->quiet, r->json);
    const pada_status st = pada_ranking_run(&desc, &r->table);
    pada_meter_end(&r->meter);
    pada_stop_signal_end(); /* nobody asks for requests any more */
    return st;
}

/* ---- the result ---- */

static void print_strangers(const rank *r, const pada_score_join *join)
{
    const int n_scores = pada_score_table_count(r->scores) - join->n;
    const int n_truths = pada_score_table_count(r->truth.table) - join->n;

    if (n_scores > 0 || n_truths > 0)
        fprintf(stderr, "pada: %d networks in common; %d only in %s, %d only in %s\n", join->n,
                n_scores, r->score_file, n_truths, r->truth_args.file);
}

static pada_rank_top top_of(const rank *r, const pada_score_join *join)
{
    return (pada_rank_top){.table = &r->table,
                           .n = (int)r->top,
                           .costs = !r->predictions,
                           .truth = join ? r->truth.table : NULL,
                           .join = join};
}

/* What the scores of networks that were evaluated here are normalised by. */
static const char *statistics_name(const rank *r)
{
    return pada_statistics_name(pada_engine_statistics(r->net.workers[0].engine));
}

/* The images that the scores are of and what they are normalised by, unless they come from a file. */
static void set_images(const rank *r, pada_text *out, json_t *object)
{
    if (!r->net.data) return;
    pada_json_set(out, object, "split", json_string(pada_split_name(r->net.split)));
    pada_json_set(out, object, "statistics", json_string(statistics_name(r)));
}

static pada_status add_json(const rank *r, const pada_score_join *join,
                            const pada_scoreboard *board, const char *const *names, pada_text *out)
{
    const pada_rank_top top = top_of(r, join);

    for (int i = 0; i < board->n_sets; i++) {
        json_t *object = json_object();
        pada_json_set(out, object, "name", json_string(names[i]));
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
static void add_images(const rank *r, pada_text *out)
{
    const pada_eval_worker *worker = &r->net.workers[0];

    if (r->net.data)
        pada_text_add(out, ", %d %s images", pada_evaluator_n_images(worker->evaluator),
                      pada_split_name(r->net.split));
    if (r->net.data && pada_engine_statistics(worker->engine) != PADA_STATISTICS_BATCH)
        pada_text_add(out, ", %s statistics", statistics_name(r));
    pada_text_add(out, "\n\n");
}

static pada_status add_report(const rank *r, const pada_score_join *join,
                              const pada_scoreboard *board, const char *const *names,
                              pada_text *out)
{
    const pada_family *family = r->net.family;
    const pada_rank_top top = top_of(r, join);

    if (r->json) {
        PADA_TRY(add_json(r, join, board, names, out));
        return family ? pada_add_supernets(out, family, r->truth.table, join, true) : out->status;
    }
    pada_text_add(out, "%s: %d networks, truth %s of %s, %d bootstrap samples", r->score_file,
                  board->n, r->truth.name, r->truth_args.file,
                  pada_bootstrap_replicates(board->bootstrap));
    add_images(r, out);
    pada_add_metrics(out, board, 0);
    pada_text_add(out, "\n");
    pada_add_sets(out, board, names);
    pada_text_add(out, "\n");
    if (family) {
        PADA_TRY(pada_add_supernets(out, family, r->truth.table, join, false));
        pada_text_add(out, "\n");
    }
    return pada_add_top(out, &top);
}

/* The scores of a baseline for the networks in common. */
static pada_status score_baseline(const rank *r, const pada_score_join *join,
                                  const pada_space_score *baseline, double **out)
{
    void *mem;

    PADA_TRY(pada_calloc(&mem, (size_t)join->n, sizeof **out));
    *out = mem;
    for (int i = 0; i < join->n; i++)
        (*out)[i] =
            baseline->score(&r->space, pada_score_table_path(r->truth.table, join->rows[i]));
    return PADA_OK;
}

/* The supernet or file first, then the baselines of the space. */
static pada_status compare_with_truth(const rank *r, const pada_score_join *join, pada_text *out)
{
    const pada_space_score *baseline = r->space.ops->scores;
    double *scores[MAX_SETS] = {join->scores};
    const char *names[MAX_SETS] = {r->predictions ? r->predictions : SUPERNET};
    pada_scoreboard board = {0};
    pada_status st = PADA_OK;
    int n = 1;

    for (; baseline && baseline->name && st == PADA_OK; baseline++) {
        PADA_ASSERT(n < MAX_SETS);
        names[n] = baseline->name;
        st = score_baseline(r, join, baseline, &scores[n++]);
    }
    if (st == PADA_OK)
        st = pada_scoreboard_init(
            &board, &(pada_scoreboard_desc){.truths = join->truths,
                                            .scores = (const double *const *)scores,
                                            .n = join->n,
                                            .n_sets = n,
                                            .replicates = (int)r->truth_args.bootstrap,
                                            .seed = r->seed,
                                            .n_threads = (int)r->run_args.engine.threads});
    if (st == PADA_OK) st = add_report(r, join, &board, names, out);
    pada_scoreboard_deinit(&board);
    while (--n > 0)
        pada_free(scores[n]);
    return st;
}

static pada_status report_with_truth(const rank *r, pada_text *out)
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

static pada_status report_without_truth(const rank *r, pada_text *out)
{
    const int n = pada_score_table_count(r->scores);
    const pada_rank_top top = top_of(r, NULL);

    if (!r->json) {
        pada_text_add(out, "%s: %d networks, %d distinct", r->score_file, n, r->table.n_distinct);
        add_images(r, out);
        return pada_add_top(out, &top);
    }
    json_t *object = json_object();
    pada_json_set(out, object, "name", json_string(r->predictions ? r->predictions : SUPERNET));
    pada_json_set(out, object, "file", json_string(r->score_file));
    set_images(r, out, object);
    pada_json_set(out, object, "n", json_integer(n));
    pada_json_set_top(out, object, &top);
    pada_json_line(out, object);
    return out->status;
}

/* ---- the command ---- */

/* What was given: a run folder, weights or predictions, and nothing that contradicts it. */
static pada_status check_usage(rank *r, const pada_options *options)
{
    const int n_words = pada_options_n_words(options);

    if (n_words > 1)
        return PADA_FAIL(PADA_EINVAL, "unexpected word '%s'; see `pada help rank`",
                         pada_options_word(options, 1));
    if (n_words == 1) r->run = pada_options_word(options, 0);
    if (r->predictions && (r->run || r->run_args.weights))
        return PADA_FAIL(PADA_EINVAL, "--predictions: no network is evaluated, but %s was given",
                         r->run ? r->run : r->run_args.weights);
    if (!r->predictions && !r->run && !r->run_args.weights)
        return PADA_FAIL(PADA_EINVAL,
                         "nothing to rank: give a run folder, --weights or --predictions");
    if (r->list_file && pada_options_given(options, "networks"))
        return PADA_FAIL(PADA_EINVAL, "--list and --networks: give one of them");
    return PADA_OK;
}

static pada_status open_truth(rank *r, const char *data_name)
{
    if (!r->truth_args.file) return PADA_OK;
    return pada_truth_from_args(&r->truth, &r->truth_args, &r->space, data_name);
}

/* An engine for every network in flight, but none for more networks than there are. */
static pada_status load_supernet(rank *r)
{
    pada_engine_desc desc;

    PADA_TRY(pada_engine_desc_from_args(&desc, &r->run_args.engine));
    return pada_supernet_load(&r->net, r->seed,
                              pada_eval_in_flight(desc.backend, (int)r->in_flight, r->list.n));
}

/* Where the ranking goes, and where scores are kept: in the run, unless it may only be read. */
static pada_status name_files(rank *r)
{
    if (r->run && !r->out) pada_text_add(&r->out_file, "%s/" DEFAULT_FILE, r->run);
    if (r->run && (!r->out || access(r->run, W_OK) == 0))
        pada_text_add(&r->scores_dir, "%s/" SCORES, r->run);
    PADA_TRY(r->out_file.status);
    PADA_TRY(r->scores_dir.status);
    r->score_file = r->out ? r->out : r->run ? r->out_file.data : DEFAULT_FILE;
    return PADA_OK;
}

/* The scores of the networks that were asked for, as a table that can be joined with the truth. */
static pada_status list_scores(rank *r)
{
    const pada_ranking_table *t = &r->table;
    pada_text text = {0};
    pada_status st = PADA_OK;

    pada_text_add(&text, "arch," SCORE_COLUMN "\n");
    for (int i = 0; i < t->n && st == PADA_OK; i++) {
        if (t->rows[i].extra) continue;
        st = r->space.ops->format(&r->space, &t->rows[i].path, NULL, &text);
        pada_text_add(&text, ",%.17g\n", t->rows[i].score);
    }
    if (st == PADA_OK) st = text.status;
    if (st == PADA_OK)
        st = pada_score_table_read(&r->scores, &r->space, r->score_file, text.data, text.length,
                                   NULL);
    pada_text_deinit(&text);
    return st;
}

/* Evaluates the networks into a file. Everything is checked first, the cheap things before. */
static pada_status make_scores(rank *r, const pada_options *options)
{
    r->stop_signal = pada_stop_signal();
    if (r->run && pada_path_is_dir(r->run)) PADA_TRY(pada_run_lock_take(&r->lock, r->run));
    r->run_args.to_choose = true;
    PADA_TRY(pada_supernet_open(&r->net, &r->run_args, options, r->run));
    if (r->net.space.is_final)
        return PADA_FAIL(PADA_EINVAL, "%s: one network, nothing to rank; try `pada eval %s`",
                         r->run, r->run);
    if (r->net.split == PADA_SPLIT_VAL && r->net.data->set_aside[0])
        pada_meter_say(&r->meter, r->net.data->set_aside);
    r->space = r->net.space;
    PADA_TRY(open_truth(r, r->net.data->name));
    PADA_TRY(
        pada_truth_check_images(&r->truth_args, &r->net.card, r->run ? r->run : r->net.weights));
    PADA_TRY(choose_networks(r));
    PADA_TRY(name_files(r));
    PADA_TRY(load_supernet(r));
    PADA_TRY(evaluate(r));
    return list_scores(r);
}

static pada_status read_predictions(rank *r)
{
    int n_images;

    PADA_TRY(pada_space_from_args(&r->space, &r->run_args.space));
    PADA_TRY(open_truth(r, NULL));
    r->score_file = r->predictions;
    PADA_TRY(pada_score_table_open_column(&r->scores, &r->space, r->score_file, SCORE_COLUMN));
    PADA_TRY(pada_ranking_n_images(r->score_file, &r->space, &n_images));
    return pada_ranking_table_from_scores(&r->table, &r->space, r->scores, n_images);
}

static pada_status rank_networks(rank *r, const pada_options *options, pada_text *out)
{
    PADA_TRY(check_usage(r, options));
    PADA_TRY(r->predictions ? read_predictions(r) : make_scores(r, options));
    return r->truth.table ? report_with_truth(r, out) : report_without_truth(r, out);
}

static pada_status run(void *self, const pada_options *options)
{
    rank *r = self;
    pada_text out = {0};

    r->start = pada_clock_seconds();
    const pada_status st = rank_networks(r, options, &out);
    if (st == PADA_OK) fputs(pada_text_str(&out), stdout);
    pada_text_deinit(&out);
    pada_ranking_table_deinit(&r->table);
    pada_score_table_close(r->scores);
    pada_score_table_close(r->truth.table);
    pada_path_list_deinit(&r->list);
    pada_text_deinit(&r->scores_dir);
    pada_text_deinit(&r->out_file);
    pada_supernet_close(&r->net);
    pada_run_lock_release(&r->lock);
    return st;
}

const pada_command pada_command_rank = {
    .name = "rank",
    .summary = "rank networks with the weights of a supernet, and compare with the truth",
    .details =
        "Evaluates networks with the weights of a supernet and writes them best first, each "
        "network once, its copies behind all others, with 95 % intervals, multiply-adds and "
        "parameters. Scores are kept in RUN/" SCORES " and never computed twice. With a "
        "truth table it says how well the scores rank (Kendall, Spearman, precision at the "
        "top, regret), with 95 % intervals, beside baselines that need no training. It may be "
        "stopped; the same command resumes it.",
    .usage = "pada rank RUN | --weights FILE.safetensors | --predictions FILE.csv [options]",
    .words = "RUN",
    .examples =
        "pada rank runs/a --truth truth.csv\n"
        "pada rank --weights w.safetensors --data cifar-10-batches-bin --networks 500\n"
        "pada rank --predictions scores.csv --truth truth.csv --truth-column cifar10 --json",
    .state_bytes = sizeof(rank),
    PADA_SPACE_ARGS(rank, run_args.space),
    .bind = bind,
    .stoppable = true,
    .run = run,
};
