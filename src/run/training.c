/* training.c - the training of a supernet by options, in a run folder. */
#include "run/training.h"

#include "base/file.h"
#include "base/mem.h"
#include "run/from_run.h"
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
    PADA_TRY(pada_options_bind(options, pada_together_options, &t->together_args));
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
    PADA_TRY(pada_host_threads(host, &t->engine_args));
    PADA_TRY(pada_host_together(host, &t->together_args));
    return pada_training_engine(&t->engine, &t->engine_args, &t->space, t->strategy->statistics,
                                t->data, &t->recipe, (int)t->recipe.batch_size);
}

pada_train_desc pada_training_describe(const pada_training *t)
{
    return (pada_train_desc){.engine = t->engine,
                             .data = t->data,
                             .recipe = &t->recipe,
                             .strategy = t->strategy,
                             .settings = t->settings,
                             .within = t->ops ? &t->within : NULL};
}

static pada_status train(pada_training *t, const char *config, const char *start,
                         const pada_training_host *host)
{
    pada_train_desc desc = pada_training_describe(t);

    desc.run = t->out;
    desc.lock = &t->lock;
    desc.config = config;
    desc.start = start;
    desc.team = host->team;
    desc.tells_traffic = !host->is_quiet;
    desc.shards = (int)t->together_args.shards;
    desc.build = pada_run_build();
    desc.checkpoint_seconds = t->train_args.checkpoint_seconds;
    desc.checkpoint_steps = t->checkpoint_steps;
    desc.checkpoint_epochs = t->checkpoint_epochs;
    desc.max_seconds = t->train_args.max_seconds;
    desc.stop = host->stop;
    desc.listener = host->listener;
    return pada_train(&desc);
}

pada_status pada_training_run(pada_training *t, const pada_options *options,
                              const pada_training_host *host)
{
    pada_text config = {0}, start = {0};

    if (!t->out) return PADA_FAIL(PADA_EINVAL, "no run folder: give --out RUN");
    PADA_TRY(pada_run_check_folder(t->out, t->data_name));
    PADA_TRY(open_all(t, host));
    pada_options_dump(options, &config);
    pada_status st = config.status;
    if (st == PADA_OK) st = pada_run_env(t->engine, t->data, &start);
    if (st == PADA_OK) st = train(t, pada_text_str(&config), pada_text_str(&start), host);
    pada_text_deinit(&config);
    pada_text_deinit(&start);
    return st;
}

/* Where the images of a run are: by its card, if it has one. */
static pada_status find_images(pada_training *t, const char *run, const char *data)
{
    pada_data_card card = {0};

    if (data) {
        t->data_name = data;
        return PADA_OK;
    }
    pada_status st = pada_data_card_read(&card, run);
    if (st == PADA_OK && card.json) st = pada_run_find_data(&card, run, &t->data_name);
    if (st == PADA_OK && card.json && card.where == t->data_name) {
        st = pada_strdup(&t->found_data, card.where);
        t->data_name = t->found_data;
    }
    pada_data_card_deinit(&card);
    return st;
}

/* Whether these are the images that the run was trained on. */
static pada_status check_images(const pada_training *t, const char *run)
{
    pada_data_card own = {0}, now = {0};
    pada_status st = pada_data_card_read(&own, run);

    if (st == PADA_OK && own.json) st = pada_data_card_init(&now, t->data);
    if (st == PADA_OK && own.json) st = pada_data_card_check_same(&own, &now, run, t->data_name);
    pada_data_card_deinit(&own);
    pada_data_card_deinit(&now);
    return st;
}

static pada_status reopen(pada_training *t, pada_options *config, const char *path, const char *run,
                          const char *data)
{
    const char *const words[] = {"--config", path};

    PADA_TRY(pada_space_args_prepare(&t->space_args, 2, words));
    PADA_TRY(pada_training_prepare(t, 2, words));
    PADA_TRY(pada_training_bind(t, config));
    PADA_TRY(pada_options_load(config, path));
    return find_images(t, run, data);
}

pada_status pada_training_reopen(pada_training *t, pada_options **config, const char *run,
                                 const pada_engine_args *args, const char *data,
                                 const pada_training_host *host)
{
    pada_text path = {0};
    pada_status st;

    PADA_TRY(pada_options_create(config));
    pada_text_add(&path, "%s/config.yaml", run);
    st = path.status;
    if (st == PADA_OK && !pada_path_exists(path.data))
        st = PADA_FAIL(PADA_ENOENT, "%s: no config.yaml in this folder, so that it is no run", run);
    if (st == PADA_OK) st = reopen(t, *config, path.data, run, data);
    pada_text_deinit(&path);
    PADA_TRY(st);
    t->engine_args = *args;
    t->recipe.validate = 0;
    PADA_TRY(open_all(t, host));
    return check_images(t, run);
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
    pada_free(t->found_data);
    t->settings = NULL;
    t->found_data = NULL;
}
