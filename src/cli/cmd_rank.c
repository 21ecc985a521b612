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
#include "cli/rank_free.h"
#include "cli/rank_sets.h"
#include "cli/rank_supernets.h"
#include "cli/rank_top.h"
#include "cli/run_args.h"
#include "cli/stop_signal.h"
#include "cli/supernets.h"
#include "cli/truth_args.h"
#include "engine/engine_statistics.h"
#include "run/names.h"
#include "study/path_list.h"
#include "study/ranking.h"
#include "study/score_join.h"
#include "study/scoreboard.h"

#define DEFAULT_FILE "ranking.csv"
#define SCORES       "scores"
#define SCORE_COLUMN "score"
#define SUPERNET     "supernet"
#define COMBINED     "combined"

enum { MILESTONE_SECONDS = 60 };

typedef struct rank {
    pada_run_args run_args;
    pada_truth_args truth_args;
    pada_combine_args combine_args;
    const char *free_names, *predictions, *networks, *list_file, *dialect, *out;
    double max_seconds;
    int64_t in_flight; /* 0: as many as the backend likes */
    int64_t top;
    uint64_t seed;
    bool quiet, json;

    const char *run; /* the folder, the first of several, or NULL */
    pada_supernets nets;
    pada_space space;
    pada_text out_file;           /* of the ranking */
    const char *score_file;       /* the ranking or the predictions */
    pada_truth_column_view truth; /* empty without --truth */
    pada_path_list list;
    pada_score_table *scores;   /* of the networks that were asked for */
    pada_ranking_table table;   /* the same, and their canonical forms */
    pada_mixed mixed;           /* what they are made of, where that is several */
    pada_rank_free free_scores; /* those of --scores */
    bool is_free;               /* they are the ranking: there is no run */
    const volatile sig_atomic_t *stop_signal;
    double start; /* clock */
    bool has_progressed;
    pada_meter meter;
} rank;

static const pada_opt options_table[] = {
    {.name = "scores",
     .type = PADA_OPT_STRING,
     .offset = offsetof(rank, free_names),
     .meta = "LIST",
     .names = pada_free_score_name,
     .help = "scores without training, beside those of RUN or in their place: "
             "naswot,synflow,grad_norm,az_nas"},
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
     .help = "which: all, those of the truth table, or N random ones"},
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
     .meta = "FILE",
     .help = "where the ranking goes, FILE.csv or a folder (default: " DEFAULT_FILE
             " in RUN, with all that RUN has scores of; of several runs or with --prior, here)"},
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
         "one JSON object per line: the scores first, then the runs they are made of, the baselines, "
         "and each supernet of several"},
    {.name = NULL},
};

static pada_status bind(void *self, pada_options *options)
{
    rank *r = self;

    PADA_TRY(pada_options_bind(options, options_table, r));
    PADA_TRY(pada_options_bind(options, pada_combine_options, &r->combine_args));
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
    int64_t n;

    if (r->list_file)
        return pada_path_list_read(&r->list, &r->space, r->list_file, r->dialect, NULL);
    if (strcmp(r->networks, "all") == 0) return pada_path_list_all(&r->list, &r->space);
    if (strcmp(r->networks, "truth") == 0) {
        if (!r->truth.table)
            return PADA_FAIL(PADA_EINVAL, "--networks truth: give the table with --truth FILE.csv");
        return pada_path_list_truth(&r->list, r->truth.table);
    }
    if (pada_parse_int(r->networks, "--networks", 1, INT32_MAX, &n) != PADA_OK)
        return PADA_FAIL(PADA_EINVAL, "--networks: '%s' is not all, truth or a number",
                         r->networks);
    return pada_path_list_random(&r->list, &r->space, (int)n, r->seed);
}

/* An engine for every network in flight, but none for more networks than there are. */
static pada_status load_supernet(const rank *r, pada_supernet *net)
{
    pada_engine_desc desc;

    PADA_TRY(pada_engine_desc_from_args(&desc, &net->args.engine));
    return pada_supernet_load(net, r->seed,
                              pada_eval_in_flight(desc.backend, (int)r->in_flight, r->list.n));
}

/* The ranking of one supernet, which is the file where there is only that. */
static pada_status evaluate(rank *r, pada_judge *judge, pada_ranking_table *table)
{
    PADA_TRY(load_supernet(r, &judge->net));
    const pada_ranking_desc desc = {.workers = judge->net.workers,
                                    .n_workers = judge->net.n_workers,
                                    .family = judge->net.family,
                                    .paths = r->list.paths,
                                    .n_paths = r->list.n,
                                    .out = r->nets.is_mixed ? NULL : r->score_file,
                                    .scores = judge->scores_dir.data,
                                    .writes_all = r->run && !r->out,
                                    .user = r,
                                    .stop = is_time_to_stop,
                                    .progress = show_progress,
                                    .note = show_note};

    return pada_ranking_run(&desc, table);
}

/* What a supernet is called: its folder, or its file. */
static const char *name_of(const rank *r, int i)
{
    const pada_judge *judge = &r->nets.list[i];

    return judge->run ? judge->run : judge->net.weights;
}

static void name_runs(const rank *r, const char **names)
{
    for (int i = 0; i < r->nets.n; i++)
        names[i] = name_of(r, i);
}

static pada_status write_mixed(const rank *r)
{
    pada_text text = {0};
    void *mem;

    PADA_TRY(pada_calloc(&mem, (size_t)r->nets.n, sizeof(const char *)));
    name_runs(r, mem);
    pada_status st = pada_mixed_write(&r->mixed, &r->table, mem, &text);
    if (st == PADA_OK) st = pada_file_replace(r->score_file, text.data, text.length);
    pada_text_deinit(&text);
    pada_free(mem);
    return st;
}

static pada_status mix(rank *r, const pada_ranking_table *tables)
{
    PADA_TRY(pada_mixed_init(&r->mixed, &(pada_mixed_desc){.space = &r->space,
                                                           .paths = r->list.paths,
                                                           .n = r->list.n,
                                                           .runs = tables,
                                                           .n_runs = r->nets.n,
                                                           .combine = r->nets.combine,
                                                           .prior = r->nets.prior}));
    PADA_TRY(pada_mixed_table(&r->mixed, &r->space, &r->table));
    return write_mixed(r);
}

static pada_status evaluate_several(rank *r)
{
    pada_status st = PADA_OK;
    void *mem;

    PADA_TRY(pada_calloc(&mem, (size_t)r->nets.n, sizeof(pada_ranking_table)));
    pada_ranking_table *tables = mem;
    for (int i = 0; i < r->nets.n && st == PADA_OK; i++) {
        st = evaluate(r, &r->nets.list[i], &tables[i]);
        pada_supernet_unload(&r->nets.list[i].net);
    }
    if (st == PADA_OK) st = mix(r, tables);
    for (int i = 0; i < r->nets.n; i++)
        pada_ranking_table_deinit(&tables[i]);
    pada_free(mem);
    return st;
}

/* Scores without training: the ranking itself, or what it is shown beside. */
static pada_status measure_free(rank *r)
{
    pada_text text = {0};

    pada_meter_init(&r->meter, r->quiet, r->json);
    pada_status st = pada_rank_free_measure(
        &r->free_scores, &(pada_rank_free_desc){.net = &r->nets.list[0].net,
                                                .list = &r->list,
                                                .seed = r->seed,
                                                .folder = r->nets.list[0].scores_dir.data,
                                                .meter = &r->meter,
                                                .milestone_seconds = MILESTONE_SECONDS,
                                                .has_progressed = &r->has_progressed,
                                                .user = r,
                                                .stop = is_time_to_stop});
    pada_meter_end(&r->meter);
    pada_stop_signal_end(); /* nobody asks for requests any more */
    if (st != PADA_OK || !r->is_free) return st;
    PADA_TRY(pada_rank_free_table(&r->free_scores, &r->space, &r->table));
    st = pada_rank_free_write(&r->free_scores, &r->table, &text);
    if (st == PADA_OK) st = pada_file_replace(r->score_file, text.data, text.length);
    pada_text_deinit(&text);
    return st;
}

static pada_status evaluate_all(rank *r)
{
    pada_meter_init(&r->meter, r->quiet, r->json);
    const pada_status st =
        r->nets.is_mixed ? evaluate_several(r) : evaluate(r, &r->nets.list[0], &r->table);
    pada_meter_end(&r->meter);
    if (!r->free_names) pada_stop_signal_end(); /* nobody asks for requests any more */
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

/* The only supernet; NULL: a file, or several. */
static const pada_supernet *only_supernet(const rank *r)
{
    return r->predictions || r->nets.is_mixed || r->is_free ? NULL : &r->nets.list[0].net;
}

static const pada_family *family_of(const rank *r)
{
    return only_supernet(r) ? only_supernet(r)->family : NULL;
}

static const char *title_of(const rank *r)
{
    if (r->is_free) return r->free_scores.list[0].score->name;
    return r->predictions ? r->predictions : r->nets.is_mixed ? COMBINED : SUPERNET;
}

/* What the scores of networks that were evaluated here are normalised by. */
static pada_statistics statistics_of(const pada_supernet *net)
{
    return pada_engine_statistics(net->workers[0].engine);
}

/* The images that the scores are of and what they are normalised by, unless they come from a file. */
static void set_images(const rank *r, pada_text *out, json_t *object)
{
    const pada_supernet *only = only_supernet(r);
    pada_text made_of = {0};

    if (r->predictions || r->is_free) return;
    pada_json_set(out, object, "split", json_string(pada_split_name(r->nets.list[0].net.split)));
    if (only)
        pada_json_set(out, object, "statistics",
                      json_string(pada_statistics_name(statistics_of(only))));
    else {
        pada_supernets_describe(&r->nets, &made_of);
        pada_json_set(out, object, "combines", json_string(pada_text_str(&made_of)));
    }
    pada_text_deinit(&made_of);
}

static pada_status add_json(const rank *r, const pada_score_join *join,
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
static void add_images(const rank *r, pada_text *out)
{
    const pada_supernet *only = only_supernet(r);

    if (!r->predictions && !r->is_free)
        pada_text_add(out, ", %d %s images",
                      pada_evaluator_n_images(r->nets.list[0].net.workers[0].evaluator),
                      pada_split_name(r->nets.list[0].net.split));
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

static pada_status add_report(const rank *r, const pada_score_join *join,
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
static pada_status list_sets(const rank *r, const pada_score_join *join, pada_rank_sets *sets)
{
    const pada_score_table *truth = r->truth.table;
    pada_status st;
    void *mem;

    PADA_TRY(pada_rank_sets_add_scores(sets, title_of(r), join));
    if (r->nets.is_mixed) {
        PADA_TRY(pada_calloc(&mem, (size_t)r->nets.n, sizeof(const char *)));
        name_runs(r, mem);
        st = pada_rank_sets_add_runs(sets, &r->mixed, mem, truth, join);
        pada_free(mem);
        PADA_TRY(st);
    }
    PADA_TRY(pada_rank_free_add_sets(&r->free_scores, r->is_free ? 1 : 0, sets, truth, join));
    return pada_rank_sets_add_baselines(sets, &r->space, r->nets.prior.score, truth, join);
}

static pada_status compare_with_truth(const rank *r, const pada_score_join *join, pada_text *out)
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

/* ---- the command ---- */

/* What was given: a run folder, weights or predictions, and nothing that contradicts it. */
static pada_status check_usage(rank *r, const pada_options *options)
{
    const int n_words = pada_options_n_words(options);

    if (n_words > 0) r->run = pada_options_word(options, 0);
    if (r->predictions && (r->run || r->run_args.weights))
        return PADA_FAIL(PADA_EINVAL, "--predictions: no network is evaluated, but %s was given",
                         r->run ? r->run : r->run_args.weights);
    if (r->predictions && r->combine_args.prior)
        return PADA_FAIL(PADA_EINVAL, "--prior: no network is evaluated with --predictions");
    if (r->predictions && r->free_names)
        return PADA_FAIL(PADA_EINVAL, "--scores: no network is measured with --predictions");
    if (!r->predictions && !r->run && !r->run_args.weights && !r->free_names)
        return PADA_FAIL(PADA_EINVAL, "nothing to rank: give a run folder, --weights, --scores or "
                                      "--predictions");
    if (r->free_names) PADA_TRY(pada_rank_free_parse(&r->free_scores, r->free_names));
    r->is_free = r->free_names && !r->run && !r->run_args.weights;
    if (r->is_free && r->combine_args.prior)
        return PADA_FAIL(PADA_EINVAL, "--prior: give a run folder or --weights");
    if (r->list_file && pada_options_given(options, "networks"))
        return PADA_FAIL(PADA_EINVAL, "--list and --networks: give one of them");
    return PADA_OK;
}

static pada_status open_truth(rank *r, const char *data_name)
{
    if (!r->truth_args.file) return PADA_OK;
    return pada_truth_from_args(&r->truth, &r->truth_args, &r->space, data_name);
}

/* Where the ranking goes, and where scores are kept: in the run, unless it may only be read. A folder gets a file of
 * the usual name. */
static pada_status name_files(rank *r)
{
    const bool is_mixed = r->nets.is_mixed;
    const size_t length = r->out ? strlen(r->out) : 0;
    const bool has_slash = length > 0 && r->out[length - 1] == '/';
    const bool is_folder = has_slash || (r->out && pada_path_is_dir(r->out));
    pada_text otherwise = {0};
    pada_status st;

    if (is_folder) PADA_TRY(pada_make_dirs(r->out));
    if (is_folder)
        pada_text_add(&r->out_file, "%s%s" DEFAULT_FILE, r->out, has_slash ? "" : "/");
    else if (r->out)
        pada_text_add(&r->out_file, "%s", r->out);
    else if (r->run && !is_mixed)
        pada_text_add(&r->out_file, "%s/" DEFAULT_FILE, r->run);
    else
        pada_text_add(&r->out_file, DEFAULT_FILE);
    PADA_TRY(r->out_file.status);
    r->score_file = r->out_file.data;
    pada_text_add(&otherwise, "%s." SCORES, r->score_file);
    st = otherwise.status;
    if (st == PADA_OK)
        st = pada_supernets_keep_scores(&r->nets, is_mixed || r->is_free ? otherwise.data : NULL);
    pada_text_deinit(&otherwise);
    return st;
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
    const pada_supernet *net;

    r->stop_signal = pada_stop_signal();
    r->run_args.to_choose = true;
    PADA_TRY(pada_supernets_open(&r->nets, &r->run_args, &r->combine_args, options, true));
    net = &r->nets.list[0].net;
    if (net->split == PADA_SPLIT_VAL && net->data->set_aside[0])
        pada_meter_say(&r->meter, net->data->set_aside);
    r->space = net->space;
    PADA_TRY(open_truth(r, net->data->name));
    for (int i = 0; i < r->nets.n; i++)
        PADA_TRY(pada_truth_check_images(&r->truth_args, &r->nets.list[i].net.card, name_of(r, i)));
    PADA_TRY(choose_networks(r));
    PADA_TRY(name_files(r));
    if (!r->is_free) PADA_TRY(evaluate_all(r));
    if (r->free_names) PADA_TRY(measure_free(r));
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
    pada_rank_free_deinit(&r->free_scores);
    pada_mixed_deinit(&r->mixed);
    pada_text_deinit(&r->out_file);
    pada_supernets_close(&r->nets);
    return st;
}

const pada_command pada_command_rank = {
    .name = "rank",
    .summary = "rank networks with the weights of a supernet, and compare with the truth",
    .details =
        "Evaluates networks with the weights of a supernet and writes them best first, each "
        "network once, its copies behind all others, with 95 % intervals, multiply-adds and "
        "parameters. Scores are kept in RUN/" SCORES " and never computed twice. Several runs, of "
        "any methods, rank together, and a prior may have a say (--combine, --prior). With a "
        "truth table it says how well the scores rank (Kendall, Spearman, precision at the "
        "top, regret), with 95 % intervals, beside baselines that need no training. It may be "
        "stopped; the same command resumes it.",
    .usage =
        "pada rank RUN.. | --weights FILE.safetensors | --scores LIST | --predictions FILE.csv [options]",
    .words = "RUN",
    .examples =
        "pada rank runs/a --truth truth.csv\n"
        "pada rank runs/a runs/b --prior macs:0.3 --out both --truth truth.csv\n"
        "pada rank --weights w.safetensors --data cifar-10-batches-bin --networks 500\n"
        "pada rank --predictions scores.csv --truth truth.csv --truth-column cifar10 --json",
    .state_bytes = sizeof(rank),
    PADA_SPACE_ARGS(rank, run_args.space),
    .bind = bind,
    .stoppable = true,
    .run = run,
};
