/* training.c - the training of a supernet by options, in a run folder. */
#include "run/training.h"

#include "base/mem.h"
#include "run/names.h"
#include "run/run_env.h"

static const pada_opt options_table[] = {
    {.name = "method",
     .type = PADA_OPT_STRING,
     .offset = offsetof(pada_training, method),
     .default_value = "pada",
     .meta = "NAME",
     .names = pada_name_of_method,
     .help = "how to train; `pada info` lists the methods"},
    {.name = "data",
     .type = PADA_OPT_STRING,
     .offset = offsetof(pada_training, data_name),
     .default_value = "builtin",
     .meta = "DIR|builtin",
     .help = "data set"},
    {.name = "out",
     .type = PADA_OPT_STRING,
     .offset = offsetof(pada_training, out),
     .meta = "RUN",
     .help = "run folder; the same command resumes it where it stopped",
     .session = true},
    {.name = "ops",
     .type = PADA_OPT_STRING,
     .offset = offsetof(pada_training, ops),
     .meta = "LIST",
     .help = "train only these operators, \"skip_connect,nor_conv_3x3\" (default: all)"},
    {.name = "checkpoint-epochs",
     .type = PADA_OPT_INT,
     .offset = offsetof(pada_training, checkpoint_epochs),
     .default_value = "0",
     .min = 0,
     .max = INT32_MAX,
     .meta = "N",
     .help = "keep the checkpoint of every N-th epoch; 0: not",
     .before = "0"},
    {.name = "checkpoint-steps",
     .type = PADA_OPT_INT,
     .offset = offsetof(pada_training, checkpoint_steps),
     .default_value = "0",
     .min = 0,
     .max = 1e12,
     .meta = "N",
     .help = "a checkpoint also every N steps; 0: not",
     .session = true},
    {.name = NULL},
};

/* The method of a configuration file, which has options that are not known yet. */
static pada_status find_method_in(pada_training *t, const char *config)
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

pada_status pada_training_prepare(pada_training *t, int argc, const char *const *argv)
{
    const char *method = pada_options_peek(argc, argv, "method");

    PADA_TRY(method ? pada_strategy_find(&t->strategy, method)
                    : find_method_in(t, pada_options_peek(argc, argv, "config")));
    return pada_calloc(&t->settings, 1, t->strategy->settings_bytes);
}

pada_status pada_training_bind(pada_training *t, pada_options *options)
{
    PADA_TRY(pada_options_bind(options, options_table, t));
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

static pada_status open_all(pada_training *t, const pada_training_host *host)
{
    pada_dataset_desc data = {.where = t->data_name,
                              .splits = PADA_SPLIT_BIT(PADA_SPLIT_TRAIN),
                              .image_size = (int)t->space_args.image_size};
    unsigned splits;

    PADA_TRY(pada_dataset_splits(t->data_name, &splits));
    if (t->recipe.validate > 0) data.splits |= PADA_SPLIT_BIT(pada_split_to_choose(splits));
    PADA_TRY(pada_host_open_data(host, &t->data, &t->data_args, &data));
    PADA_TRY(pada_space_for_data(&t->space, &t->space_args, t->data));
    if (t->ops) PADA_TRY(pada_subspace_parse(&t->within, &t->space, t->ops, "--ops"));
    return pada_training_engine(&t->engine, &t->engine_args, &t->space, t->strategy->statistics,
                                t->data, &t->recipe, (int)t->recipe.batch_size);
}

static pada_status train(pada_training *t, const char *config, const char *start,
                         const pada_training_host *host)
{
    return pada_train(&(pada_train_desc){.engine = t->engine,
                                         .data = t->data,
                                         .recipe = &t->recipe,
                                         .strategy = t->strategy,
                                         .settings = t->settings,
                                         .within = t->ops ? &t->within : NULL,
                                         .run = t->out,
                                         .lock = &t->lock,
                                         .config = config,
                                         .start = start,
                                         .checkpoint_seconds = t->train_args.checkpoint_seconds,
                                         .checkpoint_steps = t->checkpoint_steps,
                                         .checkpoint_epochs = t->checkpoint_epochs,
                                         .max_seconds = t->train_args.max_seconds,
                                         .stop = host->stop,
                                         .listener = host->listener});
}

pada_status pada_training_run(pada_training *t, const pada_options *options,
                              const pada_training_host *host)
{
    pada_text config = {0}, start = {0};

    if (!t->out) return PADA_FAIL(PADA_EINVAL, "no run folder: give --out RUN");
    PADA_TRY(pada_run_check_folder(t->out));
    PADA_TRY(open_all(t, host));
    pada_options_dump(options, &config);
    pada_status st = config.status;
    if (st == PADA_OK) st = pada_run_env(t->engine, t->data, &start);
    if (st == PADA_OK) st = train(t, pada_text_str(&config), pada_text_str(&start), host);
    pada_text_deinit(&config);
    pada_text_deinit(&start);
    return st;
}

void pada_training_close(pada_training *t)
{
    pada_run_lock_release(&t->lock);
    pada_engine_destroy(t->engine);
    pada_dataset_close(t->data);
    t->engine = NULL;
    t->data = NULL;
}

void pada_training_deinit(pada_training *t)
{
    pada_free(t->settings);
    t->settings = NULL;
}
