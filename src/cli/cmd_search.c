/* cmd_search.c - `pada search`: the best networks of a supernet, inside limits. */
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "cli/command.h"
#include "cli/job_team.h"
#include "cli/print.h"
#include "cli/progress.h"
#include "cli/run_args.h"
#include "cli/search_print.h"
#include "cli/stop_signal.h"
#include "cli/supernets.h"
#include "engine/engine_statistics.h"
#include "run/cost_args.h"
#include "study/latency_limit.h"
#include "study/mixed_scores.h"
#include "study/search_files.h"

#define DEFAULT_FOLDER "search"

enum { MILESTONE_SECONDS = 60 };

typedef struct search {
    pada_run_args run_args;
    pada_search_settings settings;
    pada_combine_args combine_args;
    pada_cost_args cost_args;
    const char *algorithm, *out, *latency_file;
    int64_t max_macs, min_macs, max_params, min_params;
    double max_latency_ms, min_latency_ms; /* 0: no limit */
    int form;                              /* 0: final, 1: search */
    double max_seconds;
    int64_t in_flight; /* 0: as many as the backend likes */
    int64_t top, reference;
    uint64_t seed;
    bool dry_run, quiet, json;

    const char *run; /* the folder, the first of several, or NULL */
    pada_supernets nets;
    pada_space space, cost_space;            /* of the networks, and of what they cost */
    pada_text folder;                        /* of results */
    const pada_search_algorithm *how;        /* of that name */
    pada_cost_limit limits[PADA_COST_KINDS]; /* as given */
    pada_cost_limits *counted;               /* the same, counted */
    pada_ranking_desc *judges;               /* [supernets], owned */
    pada_mixed_scores *scores;
    pada_search_result result;
    const volatile sig_atomic_t *stop_signal;
    double start; /* clock */
    pada_meter meter;
    int n_networks;       /* that are proposed, at most */
    int n_done, n_most;   /* evaluations by all supernets: so far, and at most */
    int n_new;            /* that were not there already */
    double evaluating_at; /* clock at the first of them */
    double best;          /* top-1 of the best of earlier generations; 0: none */
} search;

#define COST_OPTION(option_name, field, text)                                                   \
    {                                                                                           \
        .name = option_name, .type = PADA_OPT_INT, .offset = offsetof(search, field), .min = 1, \
        .max = 1e18, .meta = "N", .help = text                                                  \
    }

static const pada_opt options_table[] = {
    {.name = "algorithm",
     .type = PADA_OPT_STRING,
     .offset = offsetof(search, algorithm),
     .default_value = "evolution",
     .meta = "NAME",
     .names = pada_search_name,
     .help = "evolution, random, or pareto: the best for every cost"},
    COST_OPTION("max-macs", max_macs, "no network with more multiply-adds: 400M"),
    COST_OPTION("max-params", max_params, "no network with more parameters"),
    COST_OPTION("min-macs", min_macs, "no network with fewer multiply-adds"),
    COST_OPTION("min-params", min_params, "no network with fewer parameters"),
    {.name = "max-latency",
     .type = PADA_OPT_DOUBLE,
     .offset = offsetof(search, max_latency_ms),
     .default_value = "0",
     .min = 0,
     .max = 1e9,
     .meta = "MS",
     .help = "no network that takes more milliseconds by --latency-table; 0: no limit"},
    {.name = "min-latency",
     .type = PADA_OPT_DOUBLE,
     .offset = offsetof(search, min_latency_ms),
     .default_value = "0",
     .min = 0,
     .max = 1e9,
     .meta = "MS",
     .help = "no network that takes fewer milliseconds; 0: no limit"},
    {.name = "latency-table",
     .type = PADA_OPT_STRING,
     .offset = offsetof(search, latency_file),
     .meta = "FILE",
     .help = "how long the parts of networks take (`pada bench latency`): a further cost"},
    {.name = "form",
     .type = PADA_OPT_CHOICE,
     .offset = offsetof(search, form),
     .default_value = "final",
     .choices = "final|search",
     .help = "costs are those of the network by itself, or of the path in the supernet"},
    {.name = "dry-run",
     .type = PADA_OPT_BOOL,
     .offset = offsetof(search, dry_run),
     .help = "only say what the limits leave; needs no RUN"},
    {.name = "out",
     .type = PADA_OPT_STRING,
     .offset = offsetof(search, out),
     .meta = "DIR",
     .help = "where the files go (default: " DEFAULT_FOLDER " in RUN; of several runs, here)"},
    {.name = "reference",
     .type = PADA_OPT_INT,
     .offset = offsetof(search, reference),
     .default_value = "200",
     .min = 2,
     .max = 1000000,
     .meta = "N",
     .help = "random networks, evaluated first, among which ranks and calibrated accuracies are"},
    {.name = "top",
     .type = PADA_OPT_INT,
     .offset = offsetof(search, top),
     .default_value = "10",
     .min = 0,
     .max = INT32_MAX,
     .meta = "N",
     .help = "how many of the best networks are shown"},
    {.name = "seed",
     .type = PADA_OPT_U64,
     .offset = offsetof(search, seed),
     .default_value = "0",
     .meta = "N",
     .help = "seed of the search"},
    {.name = "in-flight",
     .type = PADA_OPT_INT,
     .offset = offsetof(search, in_flight),
     .min = 1,
     .max = PADA_MAX_IN_FLIGHT,
     .meta = "N",
     .help = PADA_IN_FLIGHT_HELP},
    {.name = "max-seconds",
     .type = PADA_OPT_DOUBLE,
     .offset = offsetof(search, max_seconds),
     .min = 0,
     .max = 1e9,
     .meta = "S",
     .help = "stop after S seconds with exit code 75; the same command resumes it"},
    {.name = "quiet",
     .type = PADA_OPT_BOOL,
     .offset = offsetof(search, quiet),
     .help = "no progress, only messages"},
    {.name = "json",
     .type = PADA_OPT_BOOL,
     .offset = offsetof(search, json),
     .help = "one JSON object"},
    {.name = NULL},
};

static pada_status bind(void *self, pada_options *options)
{
    search *s = self;

    PADA_TRY(pada_options_bind(options, options_table, s));
    PADA_TRY(pada_options_bind(options, pada_search_options, &s->settings));
    PADA_TRY(pada_options_bind(options, pada_combine_options, &s->combine_args));
    PADA_TRY(pada_options_bind(options, pada_cost_options, &s->cost_args));
    return pada_run_args_bind(options, &s->run_args);
}

/* ---- limits ---- */

static pada_status set_limit(search *s, pada_cost_kind kind, pada_counted what, int64_t min,
                             int64_t max)
{
    pada_cost_limit *limit = &s->limits[kind];

    *limit = (pada_cost_limit){.is_known = true, .min = min, .max = max};
    return pada_slot_costs_count(&limit->costs, &s->cost_space, what, s->form == 1);
}

/* Costs of networks, and what they may be. A further one is a line here. */
static pada_status set_limits(search *s)
{
    if (s->settings.cost == PADA_COST_LATENCY && !s->latency_file)
        return PADA_FAIL(PADA_EINVAL, "--cost latency needs --latency-table FILE");
    PADA_TRY(pada_space_of_costs(&s->cost_space, &s->space, &s->cost_args));
    PADA_TRY(set_limit(s, PADA_COST_MACS, PADA_COUNTED_MACS, s->min_macs, s->max_macs));
    PADA_TRY(set_limit(s, PADA_COST_PARAMS, PADA_COUNTED_PARAMS, s->min_params, s->max_params));
    PADA_TRY(pada_latency_limit(&s->limits[PADA_COST_LATENCY], &s->cost_space, s->latency_file,
                                s->min_latency_ms, s->max_latency_ms));
    return pada_cost_limits_create(&s->counted, &s->space, s->limits);
}

static pada_status report_feasible(const search *s, pada_text *out)
{
    pada_text space = {0};

    pada_space_describe(&s->cost_space, &space);
    if (s->json) {
        json_t *object = json_object();
        pada_json_set(out, object, "space", json_string(pada_text_str(&space)));
        pada_json_set_feasible(out, object, s->counted, s->limits);
        pada_json_line(out, object);
    } else {
        pada_text_add(out, "%s: %" PRIu64 " networks\n\n", pada_text_str(&space),
                      pada_cost_limits_summary(s->counted, PADA_COST_MACS)->n_networks);
        pada_add_feasible(out, s->counted, s->limits);
    }
    if (space.status != PADA_OK) out->status = space.status;
    pada_text_deinit(&space);
    return out->status;
}

/* ---- searching ---- */

/* However short the time is, one network is evaluated: repeating the command gets on. */
static bool is_time_to_stop(void *user)
{
    const search *s = user;
    const bool is_late = s->max_seconds > 0 && pada_clock_seconds() - s->start >= s->max_seconds;

    return *s->stop_signal || (is_late && s->n_new > 0);
}

static void show_progress(void *user, const pada_ranking_progress *p)
{
    search *s = user;
    const double now = pada_clock_seconds();
    char best[32] = "";

    s->n_done = p->n_done;
    if (s->n_new++ == 0) s->evaluating_at = now - p->seconds;
    if (s->best > 0) snprintf(best, sizeof best, "best %.4g %%", s->best);
    pada_meter_show_count(&s->meter, pada_meter_has_passed(&s->meter, MILESTONE_SECONDS),
                          &(pada_meter_count){.what = "evaluations",
                                              .n_done = p->n_done,
                                              .n_total = s->n_most,
                                              .seconds_left = (now - s->evaluating_at) / s->n_new *
                                                              (s->n_most - p->n_done),
                                              .detail = best});
}

static void end_generation(void *user, const pada_search_progress *p)
{
    search *s = user;

    s->best = p->best->score.top1;
}

static pada_status tell_stopped(const search *s, pada_status st)
{
    if (st != PADA_ESTOPPED) return st;
    return PADA_FAIL(
        st, "stopped after %d new evaluations, at most %d are left; the same command resumes it",
        s->n_new, s->n_most - s->n_done);
}

static pada_status evaluate(void *user, const pada_path *paths, int n, pada_search_score *scores)
{
    const search *s = user;

    return tell_stopped(s, pada_mixed_scores_get(s->scores, paths, n, scores));
}

/* The judges of the search, and the networks that scores refer to. */
static pada_status prepare_scores(search *s)
{
    pada_mixed_scores_desc desc = {.space = &s->space,
                                   .limits = s->counted,
                                   .seed = s->seed,
                                   .n_reference = (int)s->reference,
                                   .runs = s->judges,
                                   .n_runs = s->nets.n,
                                   .by = s->nets.by,
                                   .combine = s->nets.combine,
                                   .prior = s->nets.prior,
                                   .user = s,
                                   .stop = is_time_to_stop,
                                   .progress = show_progress};

    s->n_most = (s->n_networks + pada_mixed_scores_n_reference(&desc)) * s->nets.n;
    PADA_TRY(tell_stopped(s, pada_mixed_scores_create(&s->scores, &desc)));
    s->nets.prior.weight = pada_mixed_scores_weight(s->scores);
    return PADA_OK;
}

static pada_status search_networks(search *s)
{
    const pada_search_desc desc = {.space = &s->space,
                                   .limits = s->counted,
                                   .algorithm = s->how,
                                   .settings = s->settings,
                                   .seed = s->seed,
                                   .user = s,
                                   .evaluate = evaluate,
                                   .stop = is_time_to_stop,
                                   .progress = end_generation};

    pada_meter_init(&s->meter, s->quiet, s->json);
    pada_status st = prepare_scores(s);
    if (st == PADA_OK) st = pada_search_run(&desc, &s->result);
    pada_meter_end(&s->meter);
    return st;
}

/* Process 0 searches; the others evaluate what it hands out. */
static pada_status share_search(search *s)
{
    return pada_job_leads() ? search_networks(s) : pada_ranking_help(&s->judges[0]);
}

static pada_status search_in_team(search *s)
{
    pada_ranking_desc *judge = &s->judges[0];

    if (s->nets.n == 1) /* else there is one process: prepare() */
        PADA_TRY(pada_eval_farm_open(&judge->farm, pada_job_team(), judge->n_workers,
                                     pada_stop_signal()));
    if (judge->farm) s->stop_signal = pada_farm_stop(judge->farm);
    pada_status st = share_search(s);
    const pada_status others = judge->farm ? pada_farm_close(judge->farm) : PADA_OK;
    if (st == PADA_OK) st = others;
    pada_stop_signal_end(); /* nobody asks for requests any more */
    return st;
}

/* ---- the result ---- */

static const pada_eval_worker *first_worker(const search *s)
{
    return &s->nets.list[0].net.workers[0];
}

/* What scores are normalised by; of several supernets each has its own. */
static pada_statistics statistics_of(const search *s)
{
    return s->nets.n == 1 ? pada_engine_statistics(first_worker(s)->engine) : PADA_STATISTICS_BATCH;
}

static void set_scores(const search *s, pada_text *out, json_t *object)
{
    pada_text made_of = {0};

    if (s->nets.n == 1)
        pada_json_set(out, object, "statistics",
                      json_string(pada_statistics_name(statistics_of(s))));
    if (s->nets.is_mixed) {
        pada_supernets_describe(&s->nets, &made_of);
        pada_json_set(out, object, "combines", json_string(pada_text_str(&made_of)));
    }
    pada_text_deinit(&made_of);
}

static pada_status report_json(const search *s, pada_text *out)
{
    json_t *object = json_object();

    pada_json_set(out, object, "algorithm", json_string(s->algorithm));
    pada_json_set(out, object, "seed", pada_json_count(s->seed));
    pada_json_set(out, object, "folder", json_string(s->folder.data));
    pada_json_set(out, object, "split", json_string(pada_split_name(s->nets.list[0].net.split)));
    pada_json_set(out, object, "images",
                  json_integer(pada_evaluator_n_images(first_worker(s)->evaluator)));
    if (pada_evaluator_views(first_worker(s)->evaluator) > 1)
        pada_json_set(out, object, "views",
                      json_integer(pada_evaluator_views(first_worker(s)->evaluator)));
    set_scores(s, out, object);
    pada_json_set_feasible(out, object, s->counted, s->limits);
    pada_json_set_found(out, object, &s->space, &s->result, (int)s->top);
    pada_json_line(out, object);
    return out->status;
}

static pada_status report_found(const search *s, pada_text *out)
{
    const pada_search_result *r = &s->result;

    if (s->json) return report_json(s, out);
    pada_text_add(out, "%s: %s, %d network%s", s->folder.data, s->algorithm, r->n,
                  r->n == 1 ? "" : "s");
    if (r->n < r->n_most) pada_text_add(out, " (no further ones were found)");
    pada_text_add(out, ", %d %s images", pada_evaluator_n_images(first_worker(s)->evaluator),
                  pada_split_name(s->nets.list[0].net.split));
    if (pada_evaluator_views(first_worker(s)->evaluator) > 1)
        pada_text_add(out, " in %d views", pada_evaluator_views(first_worker(s)->evaluator));
    if (statistics_of(s) != PADA_STATISTICS_BATCH)
        pada_text_add(out, ", %s statistics", pada_statistics_name(statistics_of(s)));
    if (s->nets.is_mixed) {
        pada_text_add(out, ", by ");
        pada_supernets_describe(&s->nets, out);
    }
    pada_text_add(out, "\n\n");
    return pada_add_found(out, &s->space, r, (int)s->top);
}

/* ---- the command ---- */

static pada_status check_usage(search *s, const pada_options *options)
{
    const int n_words = pada_options_n_words(options);

    if (n_words > 0) s->run = pada_options_word(options, 0);
    if (!s->run && !s->run_args.weights && !s->dry_run)
        return PADA_FAIL(PADA_EINVAL, "nothing to search: give a run folder or --weights");
    PADA_TRY(pada_search_find(&s->how, s->algorithm));
    return pada_search_most(s->how, &s->settings, &s->n_networks);
}

/* The space and, where there are weights, the images. */
static pada_status open_space(search *s, const pada_options *options)
{
    const pada_supernet *first;

    if (!s->run && !s->run_args.weights) return pada_space_from_args(&s->space, &s->run_args.space);
    s->run_args.to_choose = true;
    PADA_TRY(pada_supernets_open(&s->nets, &s->run_args, &s->combine_args, options,
                                 pada_job_leads() && !s->dry_run));
    PADA_TRY(pada_supernets_refuse_final(&s->nets, "search"));
    first = &s->nets.list[0].net;
    if (first->is_narrow)
        return PADA_FAIL(PADA_EINVAL,
                         "%s: trained with --ops %s, and a search knows no such limit; `pada rank` "
                         "ranks its networks",
                         s->nets.list[0].run, first->from_run.ops);
    if (first->split == PADA_SPLIT_VAL && first->data->set_aside[0])
        pada_meter_say(&s->meter, first->data->set_aside);
    s->space = first->space;
    return PADA_OK;
}

/* Where results go, and where scores are kept: in the run, unless it may only be read. That they can be written is
 * found out now, not after the work. */
static pada_status prepare_folder(search *s)
{
    pada_text best = {0}, scores = {0};
    pada_writer *writer;
    pada_status st;

    if (s->out || s->nets.n > 1 || !s->run)
        pada_text_add(&s->folder, "%s", s->out ? s->out : DEFAULT_FOLDER);
    else
        pada_text_add(&s->folder, "%s/" DEFAULT_FOLDER, s->run);
    PADA_TRY(s->folder.status);
    pada_text_add(&scores, "%s/scores", s->folder.data);
    if ((st = scores.status) == PADA_OK) st = pada_supernets_keep_scores(&s->nets, scores.data);
    pada_text_deinit(&scores);
    PADA_TRY(st);
    PADA_TRY(pada_make_dirs(s->folder.data));
    pada_remove_orphans(s->folder.data);
    pada_text_add(&best, "%s/" PADA_SEARCH_BEST, s->folder.data);
    if ((st = best.status) == PADA_OK) st = pada_writer_begin(&writer, best.data);
    if (st == PADA_OK) pada_writer_abort(writer);
    pada_text_deinit(&best);
    return st;
}

/* An engine for every network in flight, but none for more networks than there are in a generation. */
static pada_status load_supernets(search *s)
{
    pada_engine_desc desc;
    void *mem;

    PADA_TRY(pada_calloc(&mem, (size_t)s->nets.n, sizeof *s->judges));
    s->judges = mem;
    for (int i = 0; i < s->nets.n; i++) {
        pada_judge *judge = &s->nets.list[i];
        PADA_TRY(pada_engine_desc_from_args(&desc, &judge->net.args.engine));
        PADA_TRY(pada_supernet_load(
            &judge->net, s->seed,
            pada_eval_in_flight(desc.backend, (int)s->in_flight, s->n_networks)));
        s->judges[i] = (pada_ranking_desc){.workers = judge->net.workers,
                                           .n_workers = judge->net.n_workers,
                                           .family = judge->net.family,
                                           .scores = judge->scores_dir.data};
    }
    return PADA_OK;
}

static pada_status prepare(search *s, const pada_options *options)
{
    s->stop_signal = pada_stop_signal();
    PADA_TRY(open_space(s, options));
    PADA_TRY(set_limits(s));
    if (s->dry_run) return PADA_OK;
    if (pada_job_team() && s->nets.n > 1)
        return PADA_FAIL(PADA_EINVAL, "a search by several runs is made by one process");
    if (pada_job_leads()) PADA_TRY(prepare_folder(s));
    return load_supernets(s);
}

static pada_status search_supernet(search *s, const pada_options *options, pada_text *out)
{
    pada_team *team = pada_job_team();

    PADA_TRY(check_usage(s, options));
    PADA_TRY(pada_team_agree(team, prepare(s, options)));
    if (s->dry_run) return report_feasible(s, out);
    PADA_TRY(pada_supernet_check_team(&s->nets.list[0].net, options, team));
    PADA_TRY(search_in_team(s));
    if (!pada_job_leads()) return PADA_OK;
    s->result.has_values = s->nets.is_mixed;
    PADA_TRY(
        pada_search_write(&s->result, &s->space, (pada_cost_kind)s->settings.cost, s->folder.data));
    return report_found(s, out);
}

static pada_status run(void *self, const pada_options *options)
{
    search *s = self;
    pada_text out = {0};

    s->start = pada_clock_seconds();
    const pada_status st = search_supernet(s, options, &out);
    if (st == PADA_OK) fputs(pada_text_str(&out), stdout);
    pada_text_deinit(&out);
    pada_search_result_deinit(&s->result);
    pada_mixed_scores_destroy(s->scores);
    pada_free(s->judges);
    pada_cost_limits_destroy(s->counted);
    pada_text_deinit(&s->folder);
    pada_supernets_close(&s->nets);
    return st;
}

const pada_command pada_command_search = {
    .name = "search",
    .summary = "find the best networks of a supernet, inside limits",
    .details =
        "Proposes networks, evaluates them with the weights of a supernet and keeps the best: by "
        "evolution, at random, or (pareto) for every cost. Several runs, of any methods, judge "
        "together, and a prior may have a say (--combine, --prior). Limits are counted exactly first, and "
        "impossible ones are refused with the smallest value that there is. Scores are those of "
        "`pada rank`, kept in RUN/scores and never computed twice. It may be stopped at any "
        "time; the same command resumes it, and the same seed finds the same networks. Processes of "
        "mpirun share the evaluations.",
    .usage = "pada search RUN.. | --weights FILE.safetensors | --dry-run [options]",
    .words = "RUN",
    .examples = "pada search runs/a --max-macs 100M\n"
                "pada search runs/a runs/b --prior macs:0.3 --out both\n"
                "pada search runs/a --algorithm random --rounds 60 --per-round 100\n"
                "pada search runs/a --algorithm pareto --cost params --out runs/a/search/front\n"
                "pada search runs/mobile112 --cost-size 224 --max-macs 400M\n"
                "pada search --space proxyless --image-size 224 --max-macs 400M --dry-run",
    .state_bytes = sizeof(search),
    PADA_SPACE_ARGS(search, run_args.space),
    .bind = bind,
    .stoppable = true,
    .in_team = true,
    .run = run,
};
