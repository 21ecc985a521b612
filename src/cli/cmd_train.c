/* cmd_train.c - `pada train`: a supernet from a data set, in a run folder. */
#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"
#include "cli/command.h"
#include "cli/data_open.h"
#include "cli/stop_signal.h"
#include "cli/train_view.h"
#include "engine/engine_weights.h"
#include "run/names.h"
#include "run/run_env.h"
#include "run/space_args.h"
#include "run/train_args.h"
#include "train/run_config.h"
#include "train/trainer.h"

typedef struct train {
    const char *method, *data_name, *out;
    pada_space_args space_args;
    pada_data_args data_args;
    pada_engine_args engine_args;
    pada_recipe recipe;
    pada_train_args train_args;
    int64_t checkpoint_steps;
    pada_train_view view;

    const pada_strategy_ops *strategy; /* of `method`, known before the options are bound */
    void *settings;                    /* of the strategy */
    pada_dataset *data;
    pada_space space;
    pada_engine *engine;
    pada_run_lock lock;
} train;

static const pada_opt options_table[] = {
    {.name = "method",
     .type = PADA_OPT_STRING,
     .offset = offsetof(train, method),
     .default_value = "pada",
     .meta = "NAME",
     .names = pada_name_of_method,
     .help = "how to train; `pada info` lists the methods"},
    {.name = "data",
     .type = PADA_OPT_STRING,
     .offset = offsetof(train, data_name),
     .default_value = "builtin",
     .meta = "DIR|builtin",
     .help = "data set"},
    {.name = "out",
     .type = PADA_OPT_STRING,
     .offset = offsetof(train, out),
     .meta = "RUN",
     .help = "run folder; the same command resumes it where it stopped",
     .session = true},
    {.name = "checkpoint-steps",
     .type = PADA_OPT_INT,
     .offset = offsetof(train, checkpoint_steps),
     .default_value = "0",
     .min = 0,
     .max = 1e12,
     .meta = "N",
     .help = "a checkpoint also every N steps; 0: not",
     .session = true},
    {.name = NULL},
};

/* The method of a configuration file, which has options that are not known yet. */
static pada_status find_method_in(train *t, const char *config)
{
    static const pada_opt only_method[] = {
        {.name = "method", .type = PADA_OPT_STRING, .default_value = "pada"},
        {.name = NULL},
    };
    pada_options *options;
    const char *method;
    pada_status st;

    PADA_TRY(pada_options_create(&options));
    st = pada_options_bind(options, only_method, &method);
    if (st == PADA_OK && config) st = pada_options_load_known(options, config);
    if (st == PADA_OK) st = pada_strategy_find(&t->strategy, method);
    pada_options_destroy(options);
    return st;
}

/* The options depend on the method. */
static pada_status prepare(void *self, int argc, const char *const *argv)
{
    train *t = self;
    const char *method = pada_options_peek(argc, argv, "method");

    PADA_TRY(method ? pada_strategy_find(&t->strategy, method)
                    : find_method_in(t, pada_options_peek(argc, argv, "config")));
    return pada_calloc(&t->settings, 1, t->strategy->settings_bytes);
}

static pada_status bind(void *self, pada_options *options)
{
    train *t = self;

    PADA_TRY(pada_options_bind(options, options_table, t));
    PADA_TRY(pada_options_bind(options, pada_train_view_options, &t->view));
    PADA_TRY(pada_space_args_bind(&t->space_args, options));
    PADA_TRY(pada_options_bind(options, pada_image_options, &t->data_args));
    PADA_TRY(pada_options_bind(options, pada_recipe_options, &t->recipe));
    PADA_TRY(pada_options_bind(options, pada_train_options, &t->train_args));
    PADA_TRY(pada_options_bind(options, pada_engine_options, &t->engine_args));
    for (const pada_strategy_default *d = t->strategy->defaults; d && d->name; d++)
        if (pada_options_find(options, d->name) >= 0) /* not every space has --blocks */
            PADA_TRY(pada_options_set_default(options, d->name, d->value));
    if (!t->strategy->bind_settings) return PADA_OK;
    return t->strategy->bind_settings(t->settings, options);
}

/* ---- running ---- */

static pada_status open_all(train *t)
{
    pada_dataset_desc data = {.where = t->data_name,
                              .splits = PADA_SPLIT_BIT(PADA_SPLIT_TRAIN),
                              .image_size = (int)t->space_args.image_size};
    unsigned splits;

    t->data_args.is_quiet = t->train_args.quiet || t->view.json;
    PADA_TRY(pada_dataset_splits(t->data_name, &splits));
    if (t->recipe.validate > 0) data.splits |= PADA_SPLIT_BIT(pada_split_to_choose(splits));
    PADA_TRY(pada_data_open(&t->data, &t->data_args, &data));
    if (t->data->set_aside[0]) pada_meter_say(&t->view.meter, t->data->set_aside);
    PADA_TRY(pada_space_for_data(&t->space, &t->space_args, t->data));
    return pada_training_engine(&t->engine, &t->engine_args, &t->space, t->strategy->statistics,
                                t->data, &t->recipe, (int)t->recipe.batch_size);
}

static pada_status run_training(train *t, const char *config, const char *start)
{
    return pada_train(&(pada_train_desc){.engine = t->engine,
                                         .data = t->data,
                                         .recipe = &t->recipe,
                                         .strategy = t->strategy,
                                         .settings = t->settings,
                                         .run = t->out,
                                         .lock = &t->lock,
                                         .config = config,
                                         .start = start,
                                         .checkpoint_seconds = t->train_args.checkpoint_seconds,
                                         .checkpoint_steps = t->checkpoint_steps,
                                         .max_seconds = t->train_args.max_seconds,
                                         .stop = pada_stop_signal(),
                                         .listener = pada_train_view_listener(&t->view)});
}

static pada_status run(void *self, const pada_options *options)
{
    train *t = self;
    pada_text config = {0}, start = {0};
    pada_status st;

    pada_train_view_init(&t->view, t->train_args.quiet, t->out, &t->space);
    if (pada_options_n_words(options) > 0) {
        st = PADA_FAIL(PADA_EINVAL, "unexpected word '%s'; see `pada help train`",
                       pada_options_word(options, 0));
        goto out;
    }
    if (!t->out) {
        st = PADA_FAIL(PADA_EINVAL, "no run folder: give --out RUN");
        goto out;
    }
    if ((st = pada_run_check_folder(t->out)) != PADA_OK) goto out;
    if ((st = open_all(t)) != PADA_OK) goto out;
    pada_options_dump(options, &config);
    if ((st = config.status) != PADA_OK) goto out;
    if ((st = pada_run_env(t->engine, t->data, &start)) != PADA_OK) goto out;
    st = run_training(t, pada_text_str(&config), pada_text_str(&start));
    pada_meter_end(&t->view.meter);
    if (st != PADA_OK) goto out;
    if (!t->view.json)
        printf("%s: %s, %" PRId64 " epochs, weights %016" PRIx64 "\n", t->out, t->strategy->name,
               t->recipe.epochs, pada_engine_weights_hash(t->engine));
out:
    pada_text_deinit(&config);
    pada_text_deinit(&start);
    pada_train_view_deinit(&t->view);
    pada_run_lock_release(&t->lock);
    pada_engine_destroy(t->engine);
    pada_dataset_close(t->data);
    return st;
}

static void deinit(void *self)
{
    pada_free(((train *)self)->settings);
}

const pada_command pada_command_train = {
    .name = "train",
    .summary = "train a supernet, in a run folder that can be continued",
    .details =
        "Makes a run folder, or resumes one: the same command after a signal, a time "
        "limit or a power failure ends with the same bits. A folder that was begun with other "
        "options is refused. Which further options there are depends on --method. Progress "
        "goes to standard error; metrics.csv has a row per epoch.",
    .usage = "pada train --out RUN [--method NAME] [--data DIR] [options]",
    .varies_with = "method",
    .examples =
        "pada train --data cifar-10-batches-bin --out runs/pada\n"
        "pada train --method spos --data my/images --image-size 32 --epochs 50 --out runs/b\n"
        "pada train --method pada --help",
    .state_bytes = sizeof(train),
    PADA_SPACE_ARGS(train, space_args),
    .prepare = prepare,
    .bind = bind,
    .stoppable = true,
    .run = run,
    .deinit = deinit,
};
