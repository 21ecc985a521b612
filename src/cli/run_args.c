/* run_args.c - a supernet and the images to evaluate it on, from options and a run folder. */
#include "cli/run_args.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "cli/data_open.h"
#include "cli/job_team.h"
#include "data/held_out.h"
#include "engine/engine_statistics.h"
#include "engine/engine_weights.h"
#include "run/team_check.h"
#include "run/training_host.h"
#include "train/checkpoint.h"

static const pada_opt options_table[] = {
    {.name = "weights",
     .type = PADA_OPT_STRING,
     .offset = offsetof(pada_run_args, weights),
     .meta = "FILE.safetensors",
     .help = "weights of the supernet (default: the newest checkpoint of RUN)"},
    {.name = "data",
     .type = PADA_OPT_STRING,
     .offset = offsetof(pada_run_args, data),
     .default_value = "builtin",
     .meta = "DIR|builtin",
     .help = "data set; with RUN, that of the training"},
    {.name = "split",
     .type = PADA_OPT_CHOICE,
     .offset = offsetof(pada_run_args, split),
     .default_value = "auto",
     .choices = "auto|train|test|val|held-out", /* auto, then in the order of pada_split */
     .help = "auto: val to choose networks on, test to report on, else the other; held-out: of "
             "--hold-out"},
    {.name = "limit",
     .type = PADA_OPT_INT,
     .offset = offsetof(pada_run_args, limit),
     .min = 1,
     .max = INT32_MAX,
     .meta = "N",
     .help = "only the first N images"},
    {.name = "batch-size",
     .type = PADA_OPT_INT,
     .offset = offsetof(pada_run_args, batch_size),
     .default_value = "512",
     .min = 1,
     .max = 65536,
     .meta = "N",
     .help = "images per batch"},
    {.name = "statistics",
     .type = PADA_OPT_CHOICE,
     .offset = offsetof(pada_run_args, statistics),
     .default_value = "auto",
     .choices = "auto|batch|running|recalibrated", /* auto, then in the order of pada_statistics */
     .help = "of batch norms; auto: the running ones of the weights, or else of each batch"},
    {.name = "statistics-images",
     .type = PADA_OPT_INT,
     .offset = offsetof(pada_run_args, statistics_images),
     .default_value = "2048",
     .min = 1,
     .max = INT32_MAX,
     .meta = "N",
     .help = "training images of --statistics recalibrated, in batches of --batch-size"},
    {.name = NULL},
};

pada_status pada_run_args_bind(pada_options *options, pada_run_args *args)
{
    PADA_TRY(pada_options_bind(options, options_table, args));
    PADA_TRY(pada_space_args_bind(&args->space, options));
    PADA_TRY(pada_options_bind(options, pada_image_options, &args->images));
    return pada_options_bind(options, pada_engine_options, &args->engine);
}

bool pada_is_run(const char *word)
{
    return pada_path_is_dir(word);
}

static pada_status read_config(pada_supernet *net, const pada_options *options, const char *run)
{
    pada_run_args *args = &net->args;

    PADA_TRY(pada_run_config_read(&net->from_run, &net->config, args->space.ops, run));
    pada_run_config_merge(&net->from_run, options, &args->space, &args->images, &args->data);
    return PADA_OK;
}

/* What the images of the training were: says the file of the weights, else the run. */
static pada_status read_card(pada_supernet *net, const char *run)
{
    const char *weights = net->args.weights;

    if (weights) PADA_TRY(pada_data_card_of_weights(&net->card, weights));
    return run && !net->card.json ? pada_data_card_read(&net->card, run) : PADA_OK;
}

static void warn_of_changes(const pada_supernet *net, const char *who)
{
    const pada_split split = net->split;

    if (pada_job_leads() && net->card.n_images[split] > 0 &&
        net->card.hash[split] != net->images.hash[split])
        fprintf(stderr, "pada: %s: the %s images have changed since %s was trained\n",
                net->args.data, pada_split_name(split), who);
}

/* Holds the images against those of the training. */
static pada_status check_images(pada_supernet *net, const char *who, bool are_its_own)
{
    PADA_TRY(pada_data_card_init(&net->images, net->data));
    if (!net->card.json) return PADA_OK;
    PADA_TRY(pada_data_card_check_classes(&net->card, &net->images, who, net->args.data));
    pada_dataset_normalise(net->data, net->card.mean, net->card.deviation);
    if (are_its_own) warn_of_changes(net, who);
    return PADA_OK;
}

static bool is_recalibrated(const pada_supernet *net)
{
    return net->args.statistics == 1 + PADA_STATISTICS_RECALIBRATED;
}

static pada_status make_evaluator(pada_supernet *net, pada_evaluator **out)
{
    const pada_run_args *args = &net->args;

    return pada_evaluator_create(
        out, &(pada_evaluator_desc){.data = net->data,
                                    .split = net->split,
                                    .limit = (int)args->limit,
                                    .batch_size = (int)args->batch_size,
                                    .statistics_images =
                                        is_recalibrated(net) ? (int)args->statistics_images : 0,
                                    .views = args->views,
                                    .margins = args->margins});
}

static bool is_held_out(const pada_supernet *net)
{
    return net->args.split == 1 + PADA_N_SPLITS;
}

/* Held-out images are found among those of train, which are opened first. */
static pada_status find_split(pada_supernet *net, const char *run)
{
    const pada_run_args *args = &net->args;
    unsigned splits;

    if (is_held_out(net)) {
        if (!run) return PADA_FAIL(PADA_EINVAL, "--split held-out: only a run folder says which");
        if (net->from_run.hold_out == 0)
            return PADA_FAIL(PADA_EINVAL, "--split held-out: %s was trained without --hold-out",
                             run);
        net->split = PADA_SPLIT_TRAIN;
        return PADA_OK;
    }
    PADA_TRY(pada_dataset_splits(args->data, &splits));
    net->split = args->split > 0   ? (pada_split)(args->split - 1)
                 : args->to_choose ? pada_split_to_choose(splits)
                                   : pada_split_to_report(splits);
    return PADA_OK;
}

/* Train images that every network is evaluated on, and that photographs are therefore decoded for once. */
static int count_train_kept(const pada_supernet *net)
{
    const pada_run_args *args = &net->args;
    const int n_own = args->limit > 0 && !is_held_out(net) ? (int)args->limit : INT_MAX;
    const int n_statistics = is_recalibrated(net) ? (int)args->statistics_images : 0;

    return net->split == PADA_SPLIT_TRAIN && n_own > n_statistics ? n_own : n_statistics;
}

/* The space of a network that was retrained: it alone, in its final form. */
static pada_status take_final_form(pada_supernet *net, const char *run)
{
    const pada_space whole = net->space;
    pada_path network;

    if (!net->from_run.arch)
        return PADA_FAIL(PADA_EDATA, "%s/config.yaml: no arch, which a final form is of", run);
    PADA_TRY(whole.ops->parse(&whole, net->from_run.arch, NULL, &network));
    pada_space_finalise(&net->space, &whole, &network);
    return PADA_OK;
}

static pada_status open_images(pada_supernet *net, const pada_options *options, const char *run)
{
    const bool are_its_own = !pada_options_given(options, "data");
    pada_run_args *args = &net->args;

    PADA_TRY(read_card(net, run));
    if (are_its_own)
        PADA_TRY(pada_run_find_data(&net->card, run ? run : args->weights, &args->data));
    if (net->card.json && !pada_options_given(options, "image-size"))
        args->space.image_size = net->card.image_size;
    PADA_TRY(find_split(net, run));
    unsigned splits = PADA_SPLIT_BIT(net->split);
    if (is_recalibrated(net)) splits |= PADA_SPLIT_BIT(PADA_SPLIT_TRAIN);
    const pada_dataset_desc desc = {.where = args->data,
                                    .splits = splits,
                                    .n_train_kept = count_train_kept(net),
                                    .image_size = (int)args->space.image_size};
    const pada_training_host host = {.open_data = pada_data_open, .team = pada_job_team()};
    PADA_TRY(pada_host_open_data(&host, &net->data, &args->images, &desc));
    PADA_TRY(pada_host_threads(&host, &args->engine));
    PADA_TRY(check_images(net, args->weights ? args->weights : run, are_its_own));
    if (is_held_out(net)) {
        PADA_TRY(pada_dataset_hold_out(&net->data, net->from_run.hold_out));
        net->split = PADA_SPLIT_VAL;
    }
    PADA_TRY(pada_space_for_data(&net->space, &args->space, net->data));
    if (run && net->from_run.form == 1) PADA_TRY(take_final_form(net, run));
    net->is_narrow = run && net->from_run.ops;
    if (net->is_narrow)
        PADA_TRY(pada_subspace_parse(&net->within, &net->space, net->from_run.ops, "config.yaml"));
    return make_evaluator(net, &net->workers[0].evaluator);
}

/* The supernets of a run, or the one of its newest checkpoint. */
static pada_status find_weights(pada_supernet *net, const char *run)
{
    pada_text notes = {0};

    PADA_TRY(pada_family_open(&net->family, run, &net->space));
    if (net->family) return PADA_OK;
    const pada_status st = pada_checkpoint_newest(run, &net->checkpoint, &notes);
    for (const char *line = pada_text_str(&notes), *end;
         st == PADA_OK && pada_job_leads() && (end = strchr(line, '\n')); line = end + 1)
        fprintf(stderr, "pada: %.*s\n", (int)(end - line), line);
    pada_text_deinit(&notes);
    return st;
}

pada_status pada_supernet_open(pada_supernet *net, const pada_run_args *args,
                               const pada_options *options, const char *run)
{
    pada_engine_desc engine;

    net->args = *args;
    PADA_TRY(pada_computing_desc_from_args(&engine, &args->engine));
    if (run) PADA_TRY(read_config(net, options, run));
    PADA_TRY(open_images(net, options, run));
    if (run && !args->weights) PADA_TRY(find_weights(net, run));
    net->weights = args->weights ? args->weights : net->checkpoint.data;
    return PADA_OK;
}

/* Statistics come with weights; those of several supernets, and fresh ones, have none. */
static pada_statistics choose_statistics(const pada_supernet *net)
{
    if (net->args.statistics > 0) return (pada_statistics)(net->args.statistics - 1);
    return net->weights && net->space.config.blocks == 0 ? PADA_STATISTICS_RUNNING
                                                         : PADA_STATISTICS_BATCH;
}

static pada_status check_statistics(const pada_supernet *net, const pada_engine *e)
{
    if (net->args.statistics != 1 + PADA_STATISTICS_RUNNING) return PADA_OK;
    if (net->weights && pada_engine_statistics(e) == PADA_STATISTICS_RUNNING) return PADA_OK;
    return PADA_FAIL(PADA_EINVAL, "%s: no running statistics; they are kept by --method single",
                     net->weights ? net->weights : "--statistics running");
}

static pada_status load_worker(pada_supernet *net, pada_eval_worker *worker, uint64_t seed)
{
    pada_engine_desc desc = {.space = &net->space, .mode = PADA_EVAL};

    if (!worker->evaluator) PADA_TRY(make_evaluator(net, &worker->evaluator));
    desc.batch_size = pada_evaluator_batch_size(worker->evaluator);
    PADA_TRY(pada_engine_desc_from_args(&desc, &net->args.engine));
    desc.statistics = choose_statistics(net);
    PADA_TRY(pada_engine_create(&worker->engine, &desc));
    PADA_TRY(net->weights ? pada_engine_load_weights(worker->engine, net->weights)
                          : pada_engine_init_weights(worker->engine, seed));
    return check_statistics(net, worker->engine);
}

pada_status pada_supernet_load(pada_supernet *net, uint64_t seed, int n_workers)
{
    PADA_ASSERT(n_workers >= 1 && n_workers <= PADA_MAX_IN_FLIGHT);
    for (int i = 0; i < n_workers; i++)
        PADA_TRY(load_worker(net, &net->workers[i], seed));
    net->n_workers = n_workers;
    return PADA_OK;
}

pada_status pada_supernet_check_team(const pada_supernet *net, const pada_options *options,
                                     pada_team *team)
{
    const pada_engine *e = net->workers[0].engine;

    if (!team) return PADA_OK;
    return pada_team_check(team, options, e, &net->images,
                           net->family ? pada_family_hash(net->family)
                                       : pada_engine_weights_hash(e));
}

void pada_supernet_unload(pada_supernet *net)
{
    for (int i = 0; i < PADA_MAX_IN_FLIGHT; i++) {
        pada_engine_destroy(net->workers[i].engine);
        net->workers[i].engine = NULL;
    }
    net->n_workers = 0;
}

void pada_supernet_close(pada_supernet *net)
{
    pada_supernet_unload(net);
    for (int i = 0; i < PADA_MAX_IN_FLIGHT; i++)
        pada_evaluator_destroy(net->workers[i].evaluator);
    pada_family_close(net->family);
    pada_dataset_close(net->data);
    pada_data_card_deinit(&net->card);
    pada_data_card_deinit(&net->images);
    pada_text_deinit(&net->checkpoint);
    pada_options_destroy(net->config);
    *net = (pada_supernet){0};
}
