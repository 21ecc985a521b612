/* retraining.c - the training of one network alone, in its final form, by options. */
#include "run/retraining.h"

#include <math.h>

#include "engine/engine_ema.h"
#include "engine/engine_weights.h"
#include "run/run_env.h"
#include "strategy/strategy_single.h"
#include "study/best_network.h"
#include "train/recipe_book.h"

typedef enum keep_best { KEEP_VAL, KEEP_TEST, KEEP_NONE } keep_best;

static const pada_opt options_table[] = {
    {.name = "arch",
     .type = PADA_OPT_STRING,
     .offset = offsetof(pada_retraining, arch),
     .tried = "path|network|architecture",
     .meta = "ARCH",
     .help = "the network to train, in any dialect of the space (default: the best of --from)"},
    {.name = "from",
     .type = PADA_OPT_STRING,
     .offset = offsetof(pada_retraining, from),
     .meta = "RUN",
     .help = "run folder of a supernet: its space, images and best network, by search or ranking",
     .session = true},
    {.name = "recipe",
     .type = PADA_OPT_STRING,
     .offset = offsetof(pada_retraining, recipe_name),
     .meta = "NAME|FILE.yaml",
     .names = pada_recipe_book_name,
     .help = "where the defaults below come from (default: that of the space)",
     .session = true},
    {.name = "data",
     .type = PADA_OPT_STRING,
     .offset = offsetof(pada_retraining, data_name),
     .default_value = "builtin",
     .meta = "DIR|builtin",
     .help = "data set; with --from, that of the supernet"},
    {.name = "out",
     .type = PADA_OPT_STRING,
     .offset = offsetof(pada_retraining, out),
     .meta = "RUN",
     .help = "run folder; the same command resumes it where it stopped",
     .session = true},
    {.name = "keep-best",
     .type = PADA_OPT_CHOICE,
     .offset = offsetof(pada_retraining, keep),
     .default_value = "val",
     .choices = "val|test|none", /* in the order of keep_best */
     .help = "keep what validated best: where there is val; by test without it (optimistic); not"},
    {.name = "checkpoint-steps",
     .type = PADA_OPT_INT,
     .offset = offsetof(pada_retraining, checkpoint_steps),
     .default_value = "0",
     .min = 0,
     .max = 1e12,
     .meta = "N",
     .help = "a checkpoint also every N steps; 0: not",
     .session = true},
    {.name = "form",
     .type = PADA_OPT_CHOICE,
     .offset = offsetof(pada_retraining, form),
     .default_value = "final",
     .choices = "final"}, /* hidden: config.yaml says so */
    {.name = NULL},
};

/* The recipe decides about defaults, which are bound next: that of --recipe, or of the file of --config. */
pada_status pada_retraining_prepare(pada_retraining *r, int argc, const char *const *argv)
{
    static const pada_opt only_recipe[] = {
        {.name = "recipe", .type = PADA_OPT_STRING, .offset = offsetof(pada_retraining, preset)},
        {.name = NULL},
    };
    const char *config = pada_options_peek(argc, argv, "config");

    PADA_TRY(pada_options_create(&r->preset_options));
    PADA_TRY(pada_options_bind(r->preset_options, only_recipe, r));
    if (config) PADA_TRY(pada_options_load_known(r->preset_options, config));
    const char *flag = pada_options_peek(argc, argv, "recipe");
    if (flag) r->preset = flag;
    return PADA_OK;
}

pada_status pada_retraining_bind(pada_retraining *r, pada_options *options)
{
    PADA_TRY(pada_options_bind(options, options_table, r));
    PADA_TRY(pada_space_args_bind(&r->space_args, options));
    PADA_TRY(pada_options_bind(options, pada_image_options, &r->data_args));
    PADA_TRY(pada_options_bind(options, pada_retrain_options, &r->recipe));
    PADA_TRY(pada_options_bind(options, pada_train_options, &r->train_args));
    PADA_TRY(pada_options_bind(options, pada_together_options, &r->together_args));
    PADA_TRY(pada_options_bind(options, pada_engine_options, &r->engine_args));
    return pada_recipe_book_preset(options, r->preset, r->space_args.ops->name);
}

/* ---- opening ---- */

static pada_status check_usage(const pada_retraining *r)
{
    if (!r->out) return PADA_FAIL(PADA_EINVAL, "no run folder: give --out RUN");
    if (!r->arch && !r->from)
        return PADA_FAIL(PADA_EINVAL, "which network? give --arch ARCH or --from RUN");
    return pada_run_check_folder(r->out, NULL);
}

/* Takes what no flag gave from the run of the supernet. */
static pada_status take_from_run(pada_retraining *r, const pada_options *options)
{
    if (!r->from) return PADA_OK;
    PADA_TRY(pada_run_config_read(&r->from_run, &r->from_options, r->space_args.ops, r->from));
    pada_run_config_merge(&r->from_run, options, &r->space_args, &r->data_args, &r->data_name);
    PADA_TRY(pada_data_card_read(&r->from_card, r->from));
    if (pada_options_given(options, "data")) return PADA_OK;
    return pada_run_find_data(&r->from_card, r->from, &r->data_name);
}

static pada_status open_data(pada_retraining *r, const pada_training_host *host)
{
    pada_dataset_desc desc = {.where = r->data_name, .image_size = (int)r->space_args.image_size};
    unsigned splits;

    PADA_TRY(pada_run_check_folder(r->out, r->data_name));
    PADA_TRY(pada_dataset_splits(r->data_name, &splits));
    r->test = pada_split_to_report(splits);
    desc.splits = PADA_SPLIT_BIT(PADA_SPLIT_TRAIN) | PADA_SPLIT_BIT(r->test);
    if (r->recipe.validate > 0) desc.splits |= PADA_SPLIT_BIT(pada_split_to_choose(splits));
    return pada_host_open_data(host, &r->data, &r->data_args, &desc);
}

/* Finds the network and makes the space of its final form. */
static pada_status choose_network(pada_retraining *r, const pada_training_host *host)
{
    pada_text note = {0};
    const char *file = NULL;
    pada_space whole;

    PADA_TRY(pada_space_for_data(&whole, &r->space_args, r->data));
    if (r->arch)
        PADA_TRY(whole.ops->parse(&whole, r->arch, NULL, &r->about.path));
    else
        PADA_TRY(pada_best_network(r->from, &whole, &r->about.path, &file));
    PADA_TRY(whole.ops->format(&whole, &r->about.path, NULL, &r->arch_text));
    r->arch = pada_text_str(&r->arch_text);
    pada_space_finalise(&r->about.space, &whole, &r->about.path);
    if (!file || host->is_quiet) return PADA_OK;
    pada_text_add(&note, "%s: the best of %s/%s", r->arch, r->from, file);
    if (note.status == PADA_OK) pada_host_say(host, note.data);
    pada_text_deinit(&note);
    return PADA_OK;
}

/* The test has the batches of the training, for which there is room: with running statistics their size does not matter. */
static pada_status open_all(pada_retraining *r, const pada_options *options,
                            const pada_training_host *host)
{
    const int batch_size = (int)r->recipe.batch_size;

    PADA_TRY(take_from_run(r, options));
    PADA_TRY(open_data(r, host));
    PADA_TRY(choose_network(r, host));
    PADA_TRY(pada_host_threads(host, &r->engine_args));
    PADA_TRY(pada_host_together(host, &r->together_args));
    PADA_TRY(pada_evaluator_create(
        &r->evaluator,
        &(pada_evaluator_desc){.data = r->data, .split = r->test, .batch_size = batch_size}));
    PADA_TRY(pada_training_engine(&r->engine, &r->engine_args, &r->about.space,
                                  PADA_STATISTICS_RUNNING, r->data, &r->recipe, batch_size));
    PADA_TRY(pada_data_card_init(&r->about.card, r->data));
    r->about.resize = (pada_resize)r->data_args.resize;
    r->about.crops = (pada_crops)r->data_args.crops;
    r->about.eval_crop = r->data_args.eval_crop;
    return PADA_OK;
}

/* ---- training ---- */

static bool has_val(const pada_retraining *r)
{
    return r->data->n_images[PADA_SPLIT_VAL] > 0;
}

static bool keeps_best(const pada_retraining *r)
{
    return r->recipe.validate > 0 && r->keep != KEEP_NONE && (r->keep == KEEP_TEST || has_val(r));
}

static pada_status train(pada_retraining *r, const pada_options *options,
                         const pada_training_host *host)
{
    const pada_single_settings settings = {.arch = r->arch};
    pada_text config = {0}, start = {0};
    pada_status st;

    pada_options_dump(options, &config);
    st = config.status;
    if (st == PADA_OK) st = pada_run_env(r->engine, r->data, &start);
    if (st == PADA_OK)
        st = pada_train(&(pada_train_desc){.engine = r->engine,
                                           .data = r->data,
                                           .recipe = &r->recipe,
                                           .strategy = &pada_strategy_single,
                                           .settings = &settings,
                                           .run = r->out,
                                           .lock = &r->lock,
                                           .config = config.data,
                                           .start = pada_text_str(&start),
                                           .team = host->team,
                                           .tells_traffic = !host->is_quiet,
                                           .shards = (int)r->together_args.shards,
                                           .build = pada_run_build(),
                                           .best = keeps_best(r) ? &r->about : NULL,
                                           .checkpoint_seconds = r->train_args.checkpoint_seconds,
                                           .checkpoint_steps = r->checkpoint_steps,
                                           .max_seconds = r->train_args.max_seconds,
                                           .stop = host->stop,
                                           .listener = host->listener});
    pada_text_deinit(&config);
    pada_text_deinit(&start);
    return st;
}

/* ---- the result ---- */

static pada_status test(pada_retraining *r, pada_retrain_result *out)
{
    out->weights_hash = pada_engine_weights_hash(r->engine);
    PADA_TRY(pada_evaluator_run(r->evaluator, r->engine, &r->about.path, r->class_test.logits,
                                &out->found));
    return pada_class_test_count(&r->class_test, &out->report);
}

/* Keeps and tests the last weights, or their average where there is one. */
static pada_status finish_last(pada_retraining *r, pada_retrain_result *out)
{
    pada_text file = {0};
    pada_status st;

    *out = (pada_retrain_result){.name = "last", .val_top1 = NAN};
    pada_text_add(&file, "%s/" PADA_LAST_FILE, r->out);
    pada_engine_ema_swap(r->engine);
    st = file.status;
    if (st == PADA_OK) st = test(r, out);
    r->about.top1 = st == PADA_OK ? 100.0 * out->found.top1 / out->found.n_images : 0;
    if (st == PADA_OK) st = pada_model_write(file.data, &r->about, r->engine);
    pada_engine_ema_swap(r->engine);
    pada_text_deinit(&file);
    return st;
}

/* Tests the weights that validated best; the engine has them from then on. */
static pada_status finish_best(pada_retraining *r, pada_retrain_result *out)
{
    pada_model_about best = {0};
    pada_text file = {0};
    pada_status st;

    pada_text_add(&file, "%s/" PADA_BEST_FILE, r->out);
    st = file.status;
    if (st == PADA_OK) st = pada_model_read(&best, file.data);
    if (st == PADA_OK) st = pada_engine_load_weights(r->engine, file.data);
    *out = (pada_retrain_result){.name = "best", .val_top1 = best.top1};
    if (st == PADA_OK) st = test(r, out);
    pada_model_about_deinit(&best);
    pada_text_deinit(&file);
    return st;
}

static pada_status finish(pada_retraining *r, pada_retrain_results *results)
{
    PADA_TRY(pada_class_test_init(&r->class_test, r->data, r->test,
                                  pada_evaluator_n_images(r->evaluator)));
    *results = (pada_retrain_results){.arch = r->arch,
                                      .data = r->data->name,
                                      .class_names = r->class_test.names,
                                      .split = r->test,
                                      .chosen_on = has_val(r) ? PADA_SPLIT_VAL : PADA_SPLIT_TEST};
    r->weights_hash = pada_engine_weights_hash(r->engine);
    PADA_TRY(finish_last(r, &results->of[results->n++]));
    if (keeps_best(r)) PADA_TRY(finish_best(r, &results->of[results->n++]));
    return pada_retrain_results_write(results, r->out);
}

pada_status pada_retraining_run(pada_retraining *r, const pada_options *options,
                                const pada_training_host *host, pada_retrain_results *results)
{
    PADA_TRY(check_usage(r));
    PADA_TRY(open_all(r, options, host));
    PADA_TRY(train(r, options, host));
    if (pada_team_rank(host->team) > 0) return PADA_OK; /* the first process tests */
    return finish(r, results);
}

void pada_retraining_close(pada_retraining *r)
{
    pada_run_lock_release(&r->lock);
    pada_engine_destroy(r->engine);
    pada_class_test_deinit(&r->class_test);
    pada_evaluator_destroy(r->evaluator);
    pada_model_about_deinit(&r->about);
    pada_dataset_close(r->data);
    pada_data_card_deinit(&r->from_card);
    pada_options_destroy(r->from_options);
    pada_text_deinit(&r->arch_text);
}

void pada_retraining_deinit(pada_retraining *r)
{
    pada_options_destroy(r->preset_options);
}
