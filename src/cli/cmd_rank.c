/* cmd_rank.c - `pada rank`: all networks of a supernet, and how well it ranks them. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "cli/command.h"
#include "cli/job_team.h"
#include "cli/rank_state.h"
#include "cli/stop_signal.h"
#include "run/names.h"

#define DEFAULT_FILE "ranking.csv"
#define SCORES       "scores"

static const pada_opt options_table[] = {
    {.name = "scores",
     .type = PADA_OPT_STRING,
     .offset = offsetof(pada_rank_state, free_names),
     .meta = "LIST",
     .names = pada_free_score_name,
     .help = "scores without training, beside those of RUN or in their place: "
             "naswot,synflow,grad_norm,az_nas"},
    {.name = "predictions",
     .type = PADA_OPT_STRING,
     .offset = offsetof(pada_rank_state, predictions),
     .meta = "FILE.csv",
     .help = "evaluate nothing: take the columns `arch` and `score` of this file"},
    {.name = "networks",
     .type = PADA_OPT_STRING,
     .offset = offsetof(pada_rank_state, networks),
     .default_value = "all",
     .meta = "all|distinct|truth|N",
     .help = "all, each canonical form, those of the truth, or N random ones; of a run with --ops, "
             "its own"},
    {.name = "list",
     .type = PADA_OPT_STRING,
     .offset = offsetof(pada_rank_state, list_file),
     .meta = "FILE",
     .help = "those of a file, one architecture per line"},
    {.name = "arch-dialect",
     .type = PADA_OPT_STRING,
     .offset = offsetof(pada_rank_state, dialect),
     .meta = "DIALECT",
     .names = pada_name_of_dialect,
     .help = "how that file writes them (default: auto-detected)"},
    {.name = "out",
     .type = PADA_OPT_STRING,
     .offset = offsetof(pada_rank_state, out),
     .meta = "FILE",
     .help = "where the ranking goes, a file or a folder (default: " DEFAULT_FILE
             " in RUN; of --prior, --by, several, here)"},
    {.name = "top",
     .type = PADA_OPT_INT,
     .offset = offsetof(pada_rank_state, top),
     .default_value = "10",
     .min = 0,
     .max = INT32_MAX,
     .meta = "N",
     .help = "how many of the best networks are shown"},
    {.name = "seed",
     .type = PADA_OPT_U64,
     .offset = offsetof(pada_rank_state, seed),
     .default_value = "0",
     .meta = "N",
     .help = "seed of the random networks and of the bootstrap"},
    {.name = "in-flight",
     .type = PADA_OPT_INT,
     .offset = offsetof(pada_rank_state, in_flight),
     .min = 1,
     .max = PADA_MAX_IN_FLIGHT,
     .meta = "N",
     .help = PADA_IN_FLIGHT_HELP},
    {.name = "max-seconds",
     .type = PADA_OPT_DOUBLE,
     .offset = offsetof(pada_rank_state, max_seconds),
     .min = 0,
     .max = 1e9,
     .meta = "S",
     .help = "stop after S seconds with exit code 75; the same command resumes it"},
    {.name = "quiet",
     .type = PADA_OPT_BOOL,
     .offset = offsetof(pada_rank_state, quiet),
     .help = "no progress, only messages"},
    {.name = "json",
     .type = PADA_OPT_BOOL,
     .offset = offsetof(pada_rank_state, json),
     .help =
         "one JSON object per line: the scores, what they are made of, baselines, each of several "
         "supernets"},
    {.name = NULL},
};

static pada_status bind(void *self, pada_options *options)
{
    pada_rank_state *r = self;

    PADA_TRY(pada_options_bind(options, options_table, r));
    PADA_TRY(pada_options_bind(options, pada_combine_options, &r->combine_args));
    PADA_TRY(pada_options_bind(options, pada_truth_options, &r->truth_args));
    PADA_TRY(pada_options_bind(options, pada_cost_options, &r->cost_args));
    return pada_run_args_bind(options, &r->run_args);
}

static pada_status choose_networks(pada_rank_state *r)
{
    if (r->list_file)
        return pada_path_list_read(&r->list, &r->space, r->list_file, r->dialect, NULL);
    return pada_path_list_choose(&r->list, &r->space, pada_supernets_within(&r->nets), r->networks,
                                 r->truth.table, r->seed);
}

/* ---- the command ---- */

/* What was given: a run folder, weights or predictions, and nothing that contradicts it. */
static pada_status check_usage(pada_rank_state *r, const pada_options *options)
{
    static const char *const judging[] = {"prior", "by", "views"}; /* with the weights of a run */
    const int n_words = pada_options_n_words(options);

    if (n_words > 0) r->run = pada_options_word(options, 0);
    if (r->predictions && (r->run || r->run_args.weights))
        return PADA_FAIL(PADA_EINVAL, "--predictions: no network is evaluated, but %s was given",
                         r->run ? r->run : r->run_args.weights);
    for (int i = 0; i < 3 && r->predictions; i++)
        if (pada_options_given(options, judging[i]))
            return PADA_FAIL(PADA_EINVAL, "--%s: no network is evaluated with --predictions",
                             judging[i]);
    if (r->predictions && r->free_names)
        return PADA_FAIL(PADA_EINVAL, "--scores: no network is measured with --predictions");
    if (!r->predictions && !r->run && !r->run_args.weights && !r->free_names)
        return PADA_FAIL(PADA_EINVAL, "nothing to rank: give a run folder, --weights, --scores or "
                                      "--predictions");
    if (r->free_names) PADA_TRY(pada_rank_free_parse(&r->free_scores, r->free_names));
    r->is_free = r->free_names && !r->run && !r->run_args.weights;
    for (int i = 0; i < 3 && r->is_free; i++)
        if (pada_options_given(options, judging[i]))
            return PADA_FAIL(PADA_EINVAL, "--%s: give a run folder or --weights", judging[i]);
    if (r->list_file && pada_options_given(options, "networks"))
        return PADA_FAIL(PADA_EINVAL, "--list and --networks: give one of them");
    return PADA_OK;
}

static pada_status open_truth(pada_rank_state *r, const char *data_name)
{
    if (!r->truth_args.file) return PADA_OK;
    return pada_truth_from_args(&r->truth, &r->truth_args, &r->space, data_name);
}

/* Where the ranking goes, and where scores are kept: in the run, unless it may only be read. A folder gets a file of
 * the usual name. */
static pada_status name_files(pada_rank_state *r)
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

/* Everything is checked first, the cheap things before. */
static pada_status prepare(pada_rank_state *r, const pada_options *options)
{
    const pada_supernet *net;

    r->stop_signal = pada_stop_signal();
    r->run_args.to_choose = true;
    PADA_TRY(
        pada_supernets_open(&r->nets, &r->run_args, &r->combine_args, options, pada_job_leads()));
    PADA_TRY(pada_supernets_refuse_final(&r->nets, "rank"));
    net = &r->nets.list[0].net;
    if (net->split == PADA_SPLIT_VAL && net->data->set_aside[0])
        pada_meter_say(&r->meter, net->data->set_aside);
    PADA_TRY(pada_space_of_costs(&r->space, &net->space, &r->cost_args));
    PADA_TRY(open_truth(r, net->data->name));
    for (int i = 0; i < r->nets.n; i++)
        PADA_TRY(pada_truth_check_images(&r->truth_args, &r->nets.list[i].net.card,
                                         pada_rank_name_of(r, i)));
    PADA_TRY(choose_networks(r));
    return name_files(r);
}

/* Evaluates the networks into a file, which process 0 writes. */
static pada_status make_scores(pada_rank_state *r, const pada_options *options)
{
    PADA_TRY(pada_team_agree(pada_job_team(), prepare(r, options)));
    return pada_rank_make_scores(r, options);
}

static pada_status read_predictions(pada_rank_state *r)
{
    pada_space own;
    int n_images;

    PADA_TRY(pada_space_from_args(&own, &r->run_args.space));
    PADA_TRY(pada_space_of_costs(&r->space, &own, &r->cost_args));
    PADA_TRY(open_truth(r, NULL));
    r->score_file = r->predictions;
    PADA_TRY(pada_score_table_open_column(&r->scores, &r->space, r->score_file, PADA_RANK_COLUMN));
    PADA_TRY(pada_ranking_n_images(r->score_file, &r->space, &n_images));
    return pada_ranking_table_from_scores(&r->table, &r->space, r->scores, n_images);
}

static pada_status rank_networks(pada_rank_state *r, const pada_options *options, pada_text *out)
{
    PADA_TRY(check_usage(r, options));
    PADA_TRY(r->predictions ? read_predictions(r) : make_scores(r, options));
    return pada_job_leads() ? pada_rank_report(r, out) : PADA_OK;
}

static pada_status run(void *self, const pada_options *options)
{
    pada_rank_state *r = self;
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
        "any methods, rank together, and a prior may have a say (--combine, --prior); accuracy is not "
        "the only score (--by, --views). With a "
        "truth table it says how well the scores rank (Kendall, Spearman, precision at the "
        "top, regret), with 95 % intervals, beside baselines that need no training. It may be "
        "stopped; the same command resumes it. Processes of mpirun share the evaluations.",
    .usage =
        "pada rank RUN.. | --weights FILE.safetensors | --scores LIST | --predictions FILE.csv [options]",
    .words = "RUN",
    .examples =
        "pada rank runs/a --truth truth.csv\n"
        "pada rank runs/a runs/b --prior macs:0.3 --out both --truth truth.csv\n"
        "pada rank --weights w.safetensors --data cifar-10-batches-bin --networks 500\n"
        "pada rank --predictions scores.csv --truth truth.csv --truth-column cifar10 --json",
    .state_bytes = sizeof(pada_rank_state),
    PADA_SPACE_ARGS(pada_rank_state, run_args.space),
    .bind = bind,
    .stoppable = true,
    .in_team = true,
    .run = run,
};
