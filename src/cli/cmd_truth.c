/* cmd_truth.c - `pada truth`: a truth table, by training networks alone. */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "cli/command.h"
#include "cli/data_open.h"
#include "cli/job_team.h"
#include "cli/print.h"
#include "cli/progress.h"
#include "cli/stop_signal.h"
#include "engine/engine_weights.h"
#include "run/names.h"
#include "run/run_env.h"
#include "run/space_args.h"
#include "run/team_check.h"
#include "run/train_args.h"
#include "run/training_host.h"
#include "study/builtin_truth.h"
#include "study/metrics.h"
#include "study/path_list.h"
#include "study/score_table.h"
#include "study/standalone.h"
#include "study/truth_import.h"
#include "train/checkpoint.h"
#include "train/family.h"
#include "train/run_config.h"

enum { MAX_SEEDS = 60 }; /* columns of a truth table, less the mean */

typedef struct truth {
    const char *out, *list_file, *dialect, *networks, *data_name, *import_column, *from;
    pada_space_args space_args;
    pada_data_args data_args;
    pada_engine_args engine_args;
    pada_recipe recipe;
    int64_t n_seeds, eval_batch;
    int statistics; /* pada_statistics */
    pada_train_args train_args;
    bool builtin, json;

    pada_space space;
    pada_dataset *data;
    pada_path_list list;
    pada_text weights; /* file that trainings begin with; empty: fresh ones */
    pada_evaluator *evaluator;
    pada_engine *engine;
    pada_data_card card; /* of the images */
    pada_run_lock lock;
    char column[PADA_TRUTH_NAME];
    pada_meter meter;
    pada_score_table *table; /* the result */
} truth;

static const pada_opt options_table[] = {
    {.name = "out",
     .type = PADA_OPT_STRING,
     .offset = offsetof(truth, out),
     .meta = "DIR",
     .help = "folder of the table, " PADA_STANDALONE_TABLE "; the same command resumes it",
     .session = true},
    {.name = "networks",
     .type = PADA_OPT_STRING,
     .offset = offsetof(truth, networks),
     .meta = "all|N",
     .help = "which: all, or N random ones of the seed; a folder may be given more of them later",
     .session = true},
    {.name = "list",
     .type = PADA_OPT_STRING,
     .offset = offsetof(truth, list_file),
     .meta = "FILE",
     .help = "those of a file, one architecture per line",
     .session = true},
    {.name = "arch-dialect",
     .type = PADA_OPT_STRING,
     .offset = offsetof(truth, dialect),
     .meta = "DIALECT",
     .names = pada_name_of_dialect,
     .help = "how that file writes them (default: auto-detected)",
     .session = true},
    {.name = "weights-of",
     .type = PADA_OPT_STRING,
     .offset = offsetof(truth, from),
     .meta = "RUN|FILE.safetensors",
     .help = "begin with the weights of a supernet of the same sizes, in place of fresh ones"},
    {.name = "seeds",
     .type = PADA_OPT_INT,
     .offset = offsetof(truth, n_seeds),
     .default_value = "1",
     .min = 1,
     .max = MAX_SEEDS,
     .meta = "K",
     .help = "train each with K seeds, from --seed on; the table has the mean, then each",
     .session = true},
    {.name = "data",
     .type = PADA_OPT_STRING,
     .offset = offsetof(truth, data_name),
     .default_value = "builtin",
     .meta = "DIR|builtin",
     .help = "data set; its name is that of the column"},
    {.name = "eval-batch",
     .type = PADA_OPT_INT,
     .offset = offsetof(truth, eval_batch),
     .default_value = "512",
     .min = 1,
     .max = 65536,
     .meta = "N",
     .help = "test images per batch"},
    {.name = "statistics",
     .type = PADA_OPT_CHOICE,
     .offset = offsetof(truth, statistics),
     .default_value = "running",
     .choices = "batch|running", /* in the order of pada_statistics */
     .before = "batch",
     .help =
         "what batch norm is normalised by in the test: the batch, or statistics kept in training"},
    {.name = "builtin",
     .type = PADA_OPT_BOOL,
     .offset = offsetof(truth, builtin),
     .help = "train nothing: print the table that --truth builtin means",
     .session = true},
    {.name = "column",
     .type = PADA_OPT_STRING,
     .offset = offsetof(truth, import_column),
     .meta = "NAME",
     .help = "import: the data set, where the file names none, or the only one to take",
     .session = true},
    {.name = "json",
     .type = PADA_OPT_BOOL,
     .offset = offsetof(truth, json),
     .help = "one JSON object per network: arch, top1 (mean, %), seeds (each)",
     .session = true},
    {.name = NULL},
};

static pada_status bind(void *self, pada_options *options)
{
    truth *t = self;

    PADA_TRY(pada_options_bind(options, options_table, t));
    PADA_TRY(pada_space_args_bind(&t->space_args, options));
    PADA_TRY(pada_options_bind(options, pada_image_options, &t->data_args));
    PADA_TRY(pada_options_bind(options, pada_standalone_options, &t->recipe));
    PADA_TRY(pada_options_bind(options, pada_train_options, &t->train_args));
    return pada_options_bind(options, pada_engine_options, &t->engine_args);
}

/* ---- preparing ---- */

static pada_status check_usage(const truth *t, const pada_options *options)
{
    if (pada_options_n_words(options) > 0)
        return PADA_FAIL(PADA_EINVAL, "unexpected word '%s'; see `pada help truth`",
                         pada_options_word(options, 0));
    if (t->import_column) return PADA_FAIL(PADA_EINVAL, "--column is for `pada truth import FILE`");
    if (t->builtin) return PADA_OK;
    if (!t->out) return PADA_FAIL(PADA_EINVAL, "no folder for the table: give --out DIR");
    if (t->list_file && t->networks)
        return PADA_FAIL(PADA_EINVAL, "--list and --networks: give one of them");
    if (!t->list_file && !t->networks)
        return PADA_FAIL(PADA_EINVAL, "which networks? give --networks all|N or --list FILE");
    return PADA_OK;
}

static pada_status choose_networks(truth *t)
{
    int64_t n;

    if (t->list_file)
        return pada_path_list_read(&t->list, &t->space, t->list_file, t->dialect, NULL);
    if (strcmp(t->networks, "all") == 0) return pada_path_list_all(&t->list, &t->space, NULL);
    if (pada_parse_int(t->networks, "--networks", 1, INT32_MAX, &n) != PADA_OK)
        return PADA_FAIL(PADA_EINVAL, "--networks: '%s' is not all or a number", t->networks);
    return pada_path_list_random(&t->list, &t->space, NULL, (int)n, t->recipe.seed);
}

/* The file of --weights-of: of a run its newest checkpoint. */
static pada_status find_weights(truth *t)
{
    pada_family *family = NULL;

    if (!t->from) return PADA_OK;
    if (!pada_path_is_dir(t->from)) {
        pada_text_add(&t->weights, "%s", t->from);
        return t->weights.status;
    }
    PADA_TRY(pada_family_open(&family, t->from, &t->space));
    const bool has_several = family != NULL;
    pada_family_close(family);
    if (has_several)
        return PADA_FAIL(PADA_EINVAL,
                         "--weights-of: %s has several supernets, each with weights of its own",
                         t->from);
    return pada_checkpoint_newest(t->from, &t->weights, NULL);
}

static pada_status make_engine(truth *t)
{
    const int train_batch = (int)t->recipe.batch_size,
              test_batch = pada_evaluator_batch_size(t->evaluator);

    return pada_training_engine(&t->engine, &t->engine_args, &t->space,
                                (pada_statistics)t->statistics, t->data, &t->recipe,
                                train_batch > test_batch ? train_batch : test_batch);
}

static pada_status open_all(truth *t)
{
    pada_dataset_desc data = {.where = t->data_name, .image_size = (int)t->space_args.image_size};
    unsigned splits;

    const pada_training_host host = {.open_data = pada_data_open,
                                     .is_quiet = t->train_args.quiet || t->json,
                                     .team = pada_job_team()};
    PADA_TRY(pada_dataset_splits(t->data_name, &splits));
    const pada_split test = pada_split_to_report(splits);
    data.splits = PADA_SPLIT_BIT(PADA_SPLIT_TRAIN) | PADA_SPLIT_BIT(test);
    PADA_TRY(pada_host_open_data(&host, &t->data, &t->data_args, &data));
    PADA_TRY(pada_host_threads(&host, &t->engine_args));
    if (t->data->set_aside[0]) pada_meter_say(&t->meter, t->data->set_aside);
    PADA_TRY(pada_space_for_data(&t->space, &t->space_args, t->data));
    PADA_TRY(choose_networks(t));
    PADA_TRY(find_weights(t));
    PADA_TRY(pada_evaluator_create(
        &t->evaluator,
        &(pada_evaluator_desc){.data = t->data, .split = test, .batch_size = (int)t->eval_batch}));
    pada_truth_column_of(t->data->name, t->column);
    return make_engine(t);
}

/* Takes the folder, stores or compares the configuration, and notes what the table is made with. */
static pada_status open_folder(truth *t, const pada_options *options)
{
    pada_text config = {0}, start = {0};
    pada_status st;

    pada_options_dump(options, &config);
    if (t->from) /* no option, but compared: the run may have been trained on since then */
        pada_text_add(&config, "weights-hash: %016" PRIx64 "\n",
                      pada_engine_weights_hash(t->engine));
    if ((st = config.status) != PADA_OK) goto out;
    if ((st = pada_run_env(t->engine, t->data, &start)) != PADA_OK) goto out;
    if ((st = pada_run_lock_take(&t->lock, t->out)) != PADA_OK) goto out;
    st = pada_run_store(t->out, &(pada_run_papers){.config = pada_text_str(&config),
                                                   .start = pada_text_str(&start),
                                                   .card = &t->card});
out:
    pada_text_deinit(&config);
    pada_text_deinit(&start);
    return st;
}

/* ---- training ---- */

static void show_progress(void *user, const pada_standalone_progress *p)
{
    truth *t = user;
    char detail[64];

    snprintf(detail, sizeof detail, "seed %" PRIu64 ", top-1 %.2f %%", p->seed, p->top1);
    pada_meter_show_count(&t->meter, true,
                          &(pada_meter_count){.what = "trainings",
                                              .n_done = p->n_done,
                                              .n_total = p->n_total,
                                              .seconds_left = p->seconds_left,
                                              .detail = detail});
}

static void show_note(void *user, const char *text)
{
    truth *t = user;

    pada_meter_say(&t->meter, text);
}

static void show_resumed(void *user, const char *text)
{
    truth *t = user;

    if (!t->train_args.quiet) pada_meter_say(&t->meter, text);
}

static pada_standalone_desc describe_trainings(truth *t)
{
    return (pada_standalone_desc){.team = pada_job_team(),
                                  .engine = t->engine,
                                  .data = t->data,
                                  .evaluator = t->evaluator,
                                  .recipe = &t->recipe,
                                  .n_seeds = (int)t->n_seeds,
                                  .paths = t->list.paths,
                                  .n_paths = t->list.n,
                                  .weights = t->weights.data,
                                  .column = t->column,
                                  .folder = t->out,
                                  .checkpoint_seconds = t->train_args.checkpoint_seconds,
                                  .max_seconds = t->train_args.max_seconds,
                                  .stop = pada_stop_signal(),
                                  .user = t,
                                  .progress = show_progress,
                                  .note = show_note,
                                  .resumed = show_resumed};
}

/* ---- the result ---- */

/* Column 0 of the table has the means. */
static void add_json_row(const truth *t, const char *arch, int row, pada_text *out)
{
    json_t *object = json_object(), *seeds = json_array();
    const int first = t->n_seeds > 1 ? 1 : 0;

    for (int k = first; k < pada_score_table_n_columns(t->table); k++)
        if (json_array_append_new(seeds, json_real(pada_score_table_values(t->table, k)[row])) != 0)
            out->status = PADA_FAIL(PADA_ENOMEM, "out of memory (JSON)");
    pada_json_set(out, object, "arch", json_string(arch));
    pada_json_set(out, object, "top1", json_real(pada_score_table_values(t->table, 0)[row]));
    pada_json_set(out, object, "seeds", seeds);
    pada_json_line(out, object);
}

static pada_status add_json(const truth *t, pada_text *out)
{
    const pada_space_ops *ops = t->space.ops;
    pada_status st = PADA_OK;

    for (int row = 0; st == PADA_OK && row < pada_score_table_count(t->table); row++) {
        pada_text arch = {0};
        st = ops->format(&t->space, pada_score_table_path(t->table, row), NULL, &arch);
        if (st == PADA_OK) add_json_row(t, pada_text_str(&arch), row, out);
        if (st == PADA_OK) st = out->status;
        pada_text_deinit(&arch);
    }
    return st;
}

/* How alike the trainings of two seeds rank the networks: an upper bound for any supernet. */
static pada_status add_seed_noise(const truth *t, pada_text *out)
{
    const int n = pada_score_table_count(t->table);
    pada_metrics_work *work = NULL;
    pada_pairs *pairs = NULL;
    pada_metrics metrics;
    pada_status st;

    if ((st = pada_pairs_create(&pairs, pada_score_table_values(t->table, 1),
                                pada_score_table_values(t->table, 2), n)) != PADA_OK)
        goto out;
    if ((st = pada_metrics_work_create(&work, n)) != PADA_OK) goto out;
    pada_metrics_compute(pairs, NULL, work, &metrics);
    pada_text_add(out, "  tau-b of the first two seeds %.3f\n", metrics.value[PADA_METRIC_TAU_B]);
    st = out->status;
out:
    pada_metrics_work_destroy(work);
    pada_pairs_destroy(pairs);
    return st;
}

static pada_status add_summary(const truth *t, pada_text *out)
{
    const int n = pada_score_table_count(t->table);
    const double *values = pada_score_table_values(t->table, 0);
    double sum = 0, squares = 0, low = DBL_MAX, high = -DBL_MAX;

    for (int i = 0; i < n; i++) {
        sum += values[i];
        low = fmin(low, values[i]);
        high = fmax(high, values[i]);
    }
    for (int i = 0; i < n; i++)
        squares += (values[i] - sum / n) * (values[i] - sum / n);
    pada_text_add(out, "%s/" PADA_STANDALONE_TABLE ": %d networks, %d trainings each\n", t->out, n,
                  (int)t->n_seeds);
    pada_text_add(out, "  %s %.2f to %.2f %%, mean %.2f, deviation %.2f\n", t->column, low, high,
                  sum / n, sqrt(squares / n));
    return t->n_seeds > 1 && n > 1 ? add_seed_noise(t, out) : out->status;
}

static pada_status print_result(truth *t)
{
    pada_text path = {0}, out = {0};
    pada_status st;

    pada_text_add(&path, "%s/" PADA_STANDALONE_TABLE, t->out);
    st = path.status;
    if (st == PADA_OK) st = pada_score_table_open(&t->table, &t->space, path.data);
    if (st == PADA_OK) st = t->json ? add_json(t, &out) : add_summary(t, &out);
    if (st == PADA_OK) fputs(pada_text_str(&out), stdout);
    pada_text_deinit(&path);
    pada_text_deinit(&out);
    return st;
}

/* ---- the command ---- */

/* Everything that a process can find out by itself. Only process 0 touches the folder. */
static pada_status prepare(truth *t, const pada_options *options, const pada_standalone_desc *desc)
{
    PADA_TRY(pada_standalone_check(desc));
    PADA_TRY(pada_data_card_init(&t->card, t->data));
    return pada_job_leads() ? open_folder(t, options) : PADA_OK;
}

static pada_status make_table(truth *t, const pada_options *options)
{
    pada_team *team = pada_job_team();

    PADA_TRY(check_usage(t, options));
    if (t->builtin) {
        fwrite(pada_builtin_truth, 1, pada_builtin_truth_bytes, stdout);
        return PADA_OK;
    }
    if (pada_job_leads()) PADA_TRY(pada_run_check_folder(t->out, t->data_name));
    PADA_TRY(open_all(t));
    const pada_standalone_desc desc = describe_trainings(t);
    PADA_TRY(pada_team_agree(team, prepare(t, options, &desc)));
    PADA_TRY(pada_team_check(team, options, t->engine, &t->card,
                             t->from ? pada_engine_weights_hash(t->engine) : 0));
    pada_meter_init(&t->meter, t->train_args.quiet, t->json);
    const pada_status st = pada_standalone_run(&desc);
    pada_meter_end(&t->meter);
    return st == PADA_OK && pada_job_leads() ? print_result(t) : st;
}

static bool is_import(const pada_options *options)
{
    return pada_options_n_words(options) > 0 &&
           strcmp(pada_options_word(options, 0), "import") == 0;
}

/* `pada truth import FILE`: a table that somebody else made. */
static pada_status import_table(truth *t, const pada_options *options)
{
    pada_import_desc desc = {.dialect = t->dialect, .column = t->import_column};
    pada_import_result result;
    pada_text table = {0};
    pada_status st;

    if (pada_options_n_words(options) != 2)
        return PADA_FAIL(PADA_EINVAL, "which file? pada truth import FILE --out truth.csv");
    if (!t->out) return PADA_FAIL(PADA_EINVAL, "no file for the table: give --out truth.csv");
    PADA_TRY(pada_space_from_args(&t->space, &t->space_args));
    desc.space = &t->space;
    desc.file = pada_options_word(options, 1);
    st = pada_truth_import(&desc, &table, &result);
    if (st == PADA_OK) st = pada_file_replace(t->out, table.data, table.length);
    if (st == PADA_OK)
        printf("%s: %d networks, %d data sets\n", t->out, result.n_networks, result.n_columns);
    pada_text_deinit(&table);
    return st;
}

static pada_status run(void *self, const pada_options *options)
{
    truth *t = self;
    const bool imports = is_import(options);
    const pada_status st = !imports           ? make_table(t, options)
                           : pada_job_leads() ? import_table(t, options)
                                              : PADA_OK;

    pada_score_table_close(t->table);
    pada_data_card_deinit(&t->card);
    pada_run_lock_release(&t->lock);
    pada_engine_destroy(t->engine);
    pada_evaluator_destroy(t->evaluator);
    pada_path_list_deinit(&t->list);
    pada_text_deinit(&t->weights);
    pada_dataset_close(t->data);
    return st;
}

const pada_command pada_command_truth = {
    .name = "truth",
    .summary = "make a truth table: train networks alone, as paths of the supernet",
    .details =
        "Trains networks one after the other, from fresh weights, and writes a table of their "
        "accuracies that pada rank, compare and report hold rankings against. It may be "
        "stopped at any moment, and the same command resumes it; more networks and seeds may "
        "be asked for later. Processes of mpirun share the networks. `pada truth import` makes a table of accuracies that others "
        "published as JSON or text.",
    .usage = "pada truth --out DIR --networks all|N | --list FILE | import FILE [options]",
    .words = "import FILE",
    .examples =
        "pada truth --data cifar-10-batches-bin --networks 200 --epochs 12 --out truth/cifar\n"
        "pada truth --list cells.txt --channels 8 --cells 1 --seeds 3 --out truth/mine\n"
        "pada truth import nasbench201.json --column cifar10 --out truth.csv\n"
        "pada truth --builtin",
    .state_bytes = sizeof(truth),
    PADA_SPACE_ARGS(truth, space_args),
    .bind = bind,
    .stoppable = true,
    .in_team = true,
    .run = run,
};
