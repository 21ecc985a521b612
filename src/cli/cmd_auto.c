/* cmd_auto.c - `pada auto`: from images to a network, by the other commands. */
#include <stdio.h>

#include "base/file.h"
#include "cli/auto_args.h"
#include "cli/auto_plan.h"
#include "cli/auto_result.h"
#include "cli/auto_stages.h"
#include "cli/command.h"
#include "cli/stop_signal.h"
#include "train/run_config.h"

#define COUNT_OPTION(option_name, field, largest, text)                                            \
    {                                                                                              \
        .name = option_name, .type = PADA_OPT_INT, .offset = offsetof(pada_auto, field), .min = 1, \
        .max = largest, .meta = "N", .help = text                                                  \
    }

static const pada_opt options_table[] = {
    {.name = "data",
     .type = PADA_OPT_STRING,
     .offset = offsetof(pada_auto, data),
     .meta = "DIR|builtin",
     .help = "data set"},
    {.name = "out",
     .type = PADA_OPT_STRING,
     .offset = offsetof(pada_auto, out),
     .meta = "RUN",
     .help = "folder for everything; the same command resumes it where it stopped",
     .session = true},
    COUNT_OPTION("max-macs", max_macs, 1e18, "no network with more multiply-adds: 20M"),
    COUNT_OPTION("max-params", max_params, 1e18, "no network with more parameters"),
    {.name = "max-latency",
     .type = PADA_OPT_DOUBLE,
     .offset = offsetof(pada_auto, max_latency_ms),
     .default_value = "0",
     .min = 0,
     .max = 1e9,
     .meta = "MS",
     .help = "no network that takes more milliseconds by --latency-table; 0: no limit"},
    {.name = "latency-table",
     .type = PADA_OPT_STRING,
     .offset = offsetof(pada_auto, latency_file),
     .meta = "FILE",
     .help = "how long the parts of networks of these sizes take (`pada bench latency`)"},
    {.name = "minutes",
     .type = PADA_OPT_DOUBLE,
     .offset = offsetof(pada_auto, minutes),
     .default_value = "30",
     .min = 0.01,
     .max = 1e6,
     .meta = "M",
     .help = "about how long all of it may take; decides about the lengths below"},
    COUNT_OPTION("batch-size", batch_size, 65536, "images per batch (default: by their number)"),
    COUNT_OPTION("epochs", epochs, 100000, "of the supernet (default: by time)"),
    COUNT_OPTION("network-epochs", network_epochs, 100000,
                 "of the winner and of the random network, each alone (default: by time)"),
    COUNT_OPTION("evaluations", evaluations, 1000000,
                 "networks that the search tries (default: by time)"),
    {.name = "seed",
     .type = PADA_OPT_U64,
     .offset = offsetof(pada_auto, seed),
     .default_value = "0",
     .meta = "N",
     .help = "seed of all random numbers"},
    {.name = "quiet",
     .type = PADA_OPT_BOOL,
     .offset = offsetof(pada_auto, quiet),
     .help = "no progress, only messages and the summary",
     .session = true},
    {.name = "json",
     .type = PADA_OPT_BOOL,
     .offset = offsetof(pada_auto, json),
     .help = "the summary as one JSON object",
     .session = true},
    {.name = NULL},
};

/* The plan of a run that was begun is known before the options are bound, and with it the space. */
static pada_status prepare(void *self, int argc, const char *const *argv)
{
    const char *out = pada_options_peek(argc, argv, "out");
    pada_auto *a = self;

    if (!out) return PADA_OK;
    pada_text_add(&a->plan_file, "%s/config.yaml", out);
    PADA_TRY(a->plan_file.status);
    a->is_resumed = pada_path_exists(a->plan_file.data);
    if (!a->is_resumed || pada_options_peek(argc, argv, "space")) return PADA_OK;
    const char *const plan[] = {"--config", a->plan_file.data};
    return pada_space_args_prepare(&a->space, 2, plan);
}

static pada_status bind(void *self, pada_options *options)
{
    pada_auto *a = self;

    PADA_TRY(pada_options_bind(options, options_table, a));
    PADA_TRY(pada_space_args_bind(&a->space, options));
    PADA_TRY(pada_options_bind(options, pada_image_options, &a->images));
    PADA_TRY(pada_options_bind(options, pada_engine_options, &a->engine));
    a->options = options;
    return a->is_resumed ? pada_options_preset(options, a->plan_file.data) : PADA_OK;
}

static pada_status check_usage(const pada_auto *a)
{
    if (pada_options_n_words(a->options) > 0)
        return PADA_FAIL(PADA_EINVAL, "unexpected word '%s'; see `pada help auto`",
                         pada_options_word(a->options, 0));
    if (!a->out) return PADA_FAIL(PADA_EINVAL, "no folder for the results: give --out RUN");
    if (a->plan_file.length == 0)
        return PADA_FAIL(PADA_EINVAL, "--out has to be a flag: give --out %s", a->out);
    if (!a->data) return PADA_FAIL(PADA_EINVAL, "no images: give --data DIR");
    return pada_run_check_folder(a->out, a->data);
}

/* Limits that cannot be kept are said now, not after the supernet. */
static pada_status check_limits(const pada_auto *a)
{
    pada_cost_limit limits[PADA_COST_KINDS];
    pada_cost_limits *counted;
    pada_space space;

    PADA_TRY(pada_auto_space(a, &space));
    PADA_TRY(pada_auto_limits(a, &space, limits));
    PADA_TRY(pada_cost_limits_create(&counted, &space, limits));
    pada_cost_limits_destroy(counted);
    return PADA_OK;
}

/* Makes the plan, and the folder with it. */
static pada_status begin(pada_auto *a, pada_run_lock *lock)
{
    pada_text plan = {0};

    PADA_TRY(pada_auto_verify(a));
    PADA_TRY(pada_auto_plan(a));
    PADA_TRY(check_limits(a));
    PADA_TRY(pada_run_lock_take(lock, a->out));
    pada_options_dump(a->options, &plan);
    pada_status st = plan.status;
    if (st == PADA_OK) st = pada_file_replace(a->plan_file.data, plan.data, plan.length);
    pada_text_deinit(&plan);
    return st;
}

/* Takes the folder again. The path of the images may be another one; whether they are the same is seen by the stages. */
static pada_status resume(const pada_auto *a, pada_run_lock *lock)
{
    static const char *const except[] = {"data", NULL};
    pada_text plan = {0};

    PADA_TRY(pada_run_lock_take(lock, a->out));
    pada_options_dump(a->options, &plan);
    pada_status st = plan.status;
    if (st == PADA_OK) st = pada_run_check_config(a->out, plan.data, except);
    pada_text_deinit(&plan);
    if (st == PADA_OK && !(a->space.classes > 0 && a->space.image_size > 0 && a->batch_size > 0 &&
                           a->epochs > 0 && a->network_epochs > 0 && a->evaluations > 0))
        st = PADA_FAIL(PADA_EDATA, "%s: not the whole plan of a `pada auto`", a->plan_file.data);
    return st;
}

static pada_status run_all(pada_auto *a, pada_run_lock *lock, pada_text *out)
{
    PADA_TRY(check_usage(a));
    a->images.is_quiet = a->quiet;
    PADA_TRY(a->is_resumed ? resume(a, lock) : begin(a, lock));
    PADA_TRY(pada_auto_run_stages(a));
    pada_stop_signal_end(); /* there is nothing left to resume */
    return pada_auto_report(a, out);
}

static pada_status run(void *self, const pada_options *options)
{
    pada_run_lock lock = {0};
    pada_text out = {0};

    (void)options; /* bind has kept them */
    const pada_status st = run_all(self, &lock, &out);
    if (st == PADA_OK) fputs(pada_text_str(&out), stdout);
    pada_text_deinit(&out);
    pada_run_lock_release(&lock);
    return st;
}

static void deinit(void *self)
{
    pada_text_deinit(&((pada_auto *)self)->plan_file);
}

const pada_command pada_command_auto = {
    .name = "auto",
    .summary = "from images to a network: train, search, retrain, test, export",
    .details =
        "Verifies the images, chooses sizes and lengths that fit them and the time, trains a "
        "supernet, searches it, trains the winner alone and tests it, and a random network of the "
        "same cost beside it, so that you know whether searching was worth it. Every stage is a "
        "command of pada, printed before it runs. It may be stopped at any time; the same command, "
        "or --out RUN alone, resumes it.",
    .usage = "pada auto --data DIR --out RUN [--minutes M] [--max-macs N] [options]",
    .examples = "pada auto --data photos --out runs/photos\n"
                "pada auto --data photos --max-macs 5M --minutes 120 --out runs/small\n"
                "pada auto --out runs/photos --json",
    .state_bytes = sizeof(pada_auto),
    PADA_SPACE_ARGS(pada_auto, space),
    .prepare = prepare,
    .bind = bind,
    .stoppable = true,
    .run = run,
    .deinit = deinit,
};
