/* cmd_retrain.c - `pada retrain`: one network alone, in its final form and size. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "cli/command.h"
#include "cli/data_open.h"
#include "cli/run_args.h"
#include "cli/stop_signal.h"
#include "cli/train_view.h"
#include "engine/engine_ema.h"
#include "engine/engine_weights.h"
#include "run/retrain_result.h"
#include "run/run_env.h"
#include "run/train_args.h"
#include "strategy/strategy_single.h"
#include "study/best_network.h"
#include "train/recipe_book.h"

typedef enum keep_best { KEEP_VAL, KEEP_TEST, KEEP_NONE } keep_best;

typedef struct retrain {
    const char *arch, *from, *recipe_name, *data_name, *out;
    pada_space_args space_args;
    pada_data_args data_args;
    pada_engine_args engine_args;
    pada_recipe recipe;
    pada_train_args train_args;
    int64_t checkpoint_steps;
    int keep; /* keep_best */
    int form; /* always final; for readers of config.yaml */
    pada_train_view view;

    const char *preset; /* the recipe, before the options are bound; NULL: that of the space */
    pada_options *preset_options; /* own it, where it is from a file */
    pada_run_config from_run;
    pada_options *from_options; /* own the strings of from_run */
    pada_data_card from_card;
    pada_text arch_text;
    pada_dataset *data;
    pada_split test;
    pada_model_about about; /* has the space of the network */
    pada_evaluator *evaluator;
    pada_engine *engine;
    pada_run_lock lock;
} retrain;

static const pada_opt options_table[] = {
    {.name = "arch",
     .type = PADA_OPT_STRING,
     .offset = offsetof(retrain, arch),
     .tried = "path|network|architecture",
     .meta = "ARCH",
     .help = "the network to train, in any dialect of the space (default: the best of --from)"},
    {.name = "from",
     .type = PADA_OPT_STRING,
     .offset = offsetof(retrain, from),
     .meta = "RUN",
     .help = "run folder of a supernet: its space, images and best network, by search or ranking",
     .session = true},
    {.name = "recipe",
     .type = PADA_OPT_STRING,
     .offset = offsetof(retrain, recipe_name),
     .meta = "NAME|FILE.yaml",
     .names = pada_recipe_book_name,
     .help = "where the defaults below come from (default: that of the space)",
     .session = true},
    {.name = "data",
     .type = PADA_OPT_STRING,
     .offset = offsetof(retrain, data_name),
     .default_value = "builtin",
     .meta = "DIR|builtin",
     .help = "data set; with --from, that of the supernet"},
    {.name = "out",
     .type = PADA_OPT_STRING,
     .offset = offsetof(retrain, out),
     .meta = "RUN",
     .help = "run folder; the same command resumes it where it stopped",
     .session = true},
    {.name = "keep-best",
     .type = PADA_OPT_CHOICE,
     .offset = offsetof(retrain, keep),
     .default_value = "val",
     .choices = "val|test|none", /* in the order of keep_best */
     .help = "keep what validated best: where there is val; by test without it (optimistic); not"},
    {.name = "checkpoint-steps",
     .type = PADA_OPT_INT,
     .offset = offsetof(retrain, checkpoint_steps),
     .default_value = "0",
     .min = 0,
     .max = 1e12,
     .meta = "N",
     .help = "a checkpoint also every N steps; 0: not",
     .session = true},
    {.name = "form",
     .type = PADA_OPT_CHOICE,
     .offset = offsetof(retrain, form),
     .default_value = "final",
     .choices = "final"}, /* hidden: config.yaml says so */
    {.name = NULL},
};

/* The recipe decides about defaults, which are bound next: that of --recipe, or of the file of --config. */
static pada_status prepare(void *self, int argc, const char *const *argv)
{
    static const pada_opt only_recipe[] = {
        {.name = "recipe", .type = PADA_OPT_STRING, .offset = offsetof(retrain, preset)},
        {.name = NULL},
    };
    const char *config = pada_options_peek(argc, argv, "config");
    retrain *r = self;

    PADA_TRY(pada_options_create(&r->preset_options));
    PADA_TRY(pada_options_bind(r->preset_options, only_recipe, r));
    if (config) PADA_TRY(pada_options_load_known(r->preset_options, config));
    const char *flag = pada_options_peek(argc, argv, "recipe");
    if (flag) r->preset = flag;
    return PADA_OK;
}

static pada_status bind(void *self, pada_options *options)
{
    retrain *r = self;

    PADA_TRY(pada_options_bind(options, options_table, r));
    PADA_TRY(pada_options_bind(options, pada_train_view_options, &r->view));
    PADA_TRY(pada_space_args_bind(&r->space_args, options));
    PADA_TRY(pada_options_bind(options, pada_image_options, &r->data_args));
    PADA_TRY(pada_options_bind(options, pada_retrain_options, &r->recipe));
    PADA_TRY(pada_options_bind(options, pada_train_options, &r->train_args));
    PADA_TRY(pada_options_bind(options, pada_engine_options, &r->engine_args));
    return pada_recipe_book_preset(options, r->preset, r->space_args.ops->name);
}

/* ---- opening ---- */

static pada_status check_usage(const retrain *r, const pada_options *options)
{
    if (pada_options_n_words(options) > 0)
        return PADA_FAIL(PADA_EINVAL, "unexpected word '%s'; see `pada help retrain`",
                         pada_options_word(options, 0));
    if (!r->out) return PADA_FAIL(PADA_EINVAL, "no run folder: give --out RUN");
    if (!r->arch && !r->from)
        return PADA_FAIL(PADA_EINVAL, "which network? give --arch ARCH or --from RUN");
    return pada_run_check_folder(r->out);
}

/* Takes what no flag gave from the run of the supernet. */
static pada_status take_from_run(retrain *r, const pada_options *options)
{
    if (!r->from) return PADA_OK;
    PADA_TRY(pada_run_config_read(&r->from_run, &r->from_options, r->space_args.ops, r->from));
    pada_run_config_merge(&r->from_run, options, &r->space_args, &r->data_args, &r->data_name);
    PADA_TRY(pada_data_card_read(&r->from_card, r->from));
    if (pada_options_given(options, "data")) return PADA_OK;
    return pada_run_find_data(&r->from_card, r->from, &r->data_name);
}

static pada_status open_data(retrain *r)
{
    pada_dataset_desc desc = {.where = r->data_name, .image_size = (int)r->space_args.image_size};
    unsigned splits;

    r->data_args.is_quiet = r->train_args.quiet || r->view.json;
    PADA_TRY(pada_dataset_splits(r->data_name, &splits));
    r->test = pada_split_to_report(splits);
    desc.splits = PADA_SPLIT_BIT(PADA_SPLIT_TRAIN) | PADA_SPLIT_BIT(r->test);
    if (r->recipe.validate > 0) desc.splits |= PADA_SPLIT_BIT(pada_split_to_choose(splits));
    PADA_TRY(pada_data_open(&r->data, &r->data_args, &desc));
    if (r->data->set_aside[0]) pada_meter_say(&r->view.meter, r->data->set_aside);
    return PADA_OK;
}

/* Finds the network and makes the space of its final form. */
static pada_status choose_network(retrain *r)
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
    if (!file || r->train_args.quiet || r->view.json) return PADA_OK;
    pada_text_add(&note, "%s: the best of %s/%s", r->arch, r->from, file);
    if (note.status == PADA_OK) pada_meter_say(&r->view.meter, note.data);
    pada_text_deinit(&note);
    return PADA_OK;
}

/* The test has the batches of the training, for which there is room: with running statistics their size does not matter. */
static pada_status open_all(retrain *r, const pada_options *options)
{
    const int batch_size = (int)r->recipe.batch_size;

    PADA_TRY(take_from_run(r, options));
    PADA_TRY(open_data(r));
    PADA_TRY(choose_network(r));
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

static bool has_val(const retrain *r)
{
    return r->data->n_images[PADA_SPLIT_VAL] > 0;
}

static bool keeps_best(const retrain *r)
{
    return r->recipe.validate > 0 && r->keep != KEEP_NONE && (r->keep == KEEP_TEST || has_val(r));
}

static pada_status train(retrain *r, const pada_options *options)
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
                                           .best = keeps_best(r) ? &r->about : NULL,
                                           .checkpoint_seconds = r->train_args.checkpoint_seconds,
                                           .checkpoint_steps = r->checkpoint_steps,
                                           .max_seconds = r->train_args.max_seconds,
                                           .stop = pada_stop_signal(),
                                           .listener = pada_train_view_listener(&r->view)});
    pada_meter_end(&r->view.meter);
    pada_text_deinit(&config);
    pada_text_deinit(&start);
    return st;
}

/* ---- the result ---- */

static pada_status test(retrain *r, pada_retrain_result *out)
{
    out->weights_hash = pada_engine_weights_hash(r->engine);
    return pada_evaluator_run(r->evaluator, r->engine, &r->about.path, NULL, &out->found);
}

/* Keeps and tests the last weights, or their average where there is one. */
static pada_status finish_last(retrain *r, pada_retrain_result *out)
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
static pada_status finish_best(retrain *r, pada_retrain_result *out)
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

static pada_status finish(retrain *r)
{
    pada_retrain_results results = {.arch = r->arch,
                                    .data = r->data->name,
                                    .split = r->test,
                                    .chosen_on = has_val(r) ? PADA_SPLIT_VAL : PADA_SPLIT_TEST};
    const uint64_t hash = pada_engine_weights_hash(r->engine);
    pada_text text = {0};

    PADA_TRY(finish_last(r, &results.of[results.n++]));
    if (keeps_best(r)) PADA_TRY(finish_best(r, &results.of[results.n++]));
    PADA_TRY(pada_retrain_results_write(&results, r->out));
    if (!r->view.json)
        pada_text_add(&text, "%s: %s, %" PRId64 " epochs, weights %016" PRIx64 "\n", r->out,
                      r->arch, r->recipe.epochs, hash);
    pada_retrain_results_print(&results, r->view.json, &text);
    const pada_status st = text.status;
    if (st == PADA_OK) fputs(text.data, stdout);
    pada_text_deinit(&text);
    return st;
}

static void close_all(retrain *r)
{
    pada_train_view_deinit(&r->view);
    pada_run_lock_release(&r->lock);
    pada_engine_destroy(r->engine);
    pada_evaluator_destroy(r->evaluator);
    pada_model_about_deinit(&r->about);
    pada_dataset_close(r->data);
    pada_data_card_deinit(&r->from_card);
    pada_options_destroy(r->from_options);
    pada_text_deinit(&r->arch_text);
}

static pada_status run(void *self, const pada_options *options)
{
    retrain *r = self;
    pada_status st;

    pada_train_view_init(&r->view, r->train_args.quiet, r->out, &r->about.space);
    st = check_usage(r, options);
    if (st == PADA_OK) st = open_all(r, options);
    if (st == PADA_OK) st = train(r, options);
    if (st == PADA_OK) st = finish(r);
    close_all(r);
    return st;
}

static void deinit(void *self)
{
    pada_options_destroy(((retrain *)self)->preset_options);
}

const pada_command pada_command_retrain = {
    .name = "retrain",
    .summary = "train one network alone, in its final form and size",
    .details =
        "Trains a network by itself, by a recipe: the numbers that the literature of its space "
        "uses, each of which is an option. The network is --arch, or the best one of a supernet "
        "(--from). Makes a run folder, or resumes one as `pada train` does. At the end " PADA_LAST_FILE
        " and " PADA_BEST_FILE
        " are models, files that say all about themselves, and " PADA_TEST_FILE
        " has the accuracy on the test images. The best weights are those that did best on val; "
        "chosen on test (--keep-best test), their accuracy there is optimistic.",
    .usage = "pada retrain --arch ARCH|--from RUN --out RUN [--recipe NAME] [--data DIR] [options]",
    .examples =
        "pada retrain --from runs/a --out runs/a-final\n"
        "pada retrain --space darts --arch 'Genotype(..)' --data cifar-10-batches-bin --out runs/d\n"
        "pada retrain --arch '|3~0|+|3~0|3~1|+|3~0|3~1|3~2|' --epochs 12 --out runs/c",
    .state_bytes = sizeof(retrain),
    PADA_SPACE_ARGS(retrain, space_args),
    .prepare = prepare,
    .bind = bind,
    .stoppable = true,
    .run = run,
    .deinit = deinit,
};
