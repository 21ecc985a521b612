/* cmd_bench.c - `pada bench`: how fast this machine trains, evaluates paths and makes images. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cli/bench_data.h"
#include "cli/bench_images.h"
#include "cli/bench_kernels.h"
#include "cli/bench_latency.h"
#include "cli/bench_methods.h"
#include "cli/bench_rank.h"
#include "cli/command.h"
#include "cli/data_open.h"
#include "cli/median.h"
#include "cli/print.h"
#include "cli/step_time.h"
#include "engine/engine.h"
#include "engine/engine_weights.h"
#include "run/engine_args.h"
#include "run/space_args.h"
#include "study/path_list.h"
#include "train/recipe.h"

enum { SEARCH, FINAL };

typedef struct bench {
    pada_space_args space_args;
    pada_data_args data_args;
    pada_engine_args engine_args;
    pada_recipe recipe; /* the changes of images alone */
    const char *paths_file, *data_name, *out_file, *table_file;
    int form; /* of `--form` */
    int64_t burst, batch, repeats, n_paths, n_images, in_flight, n_checked;
    uint64_t seed;
    bool json, per_path, paced;

    pada_space space, final; /* final: of the one network, with --form final */
    pada_mode mode;
    const pada_backend *backend;
    pada_device *device; /* for the peak of the machine */
    pada_engine *engine;
    pada_path_list list;
    double *times_ms; /* [path][repeat] */
    pada_bench_images images;
    bool ranks; /* all images, or one batch */
    pada_bench_rank rank;
} bench;

static const pada_opt options_table[] = {
    {.name = "batch-size",
     .also = "batch",
     .type = PADA_OPT_INT,
     .offset = offsetof(bench, batch),
     .default_value = "0",
     .min = 0,
     .max = 65536,
     .meta = "N",
     .help = "images in a batch; 0: 64 for step and data, 512 for eval and rank, 1 for latency"},
    {.name = "check",
     .type = PADA_OPT_INT,
     .offset = offsetof(bench, n_checked),
     .default_value = "0",
     .min = 0,
     .max = 10000,
     .meta = "N",
     .help = "latency: compare what the table says about N random networks with their times"},
    {.name = "data",
     .type = PADA_OPT_STRING,
     .offset = offsetof(bench, data_name),
     .default_value = "builtin",
     .meta = "DIR|builtin",
     .help = "data: the data set whose training images are made"},
    {.name = "form",
     .type = PADA_OPT_CHOICE,
     .offset = offsetof(bench, form),
     .default_value = "search",
     .choices = "search|final",
     .help = "paths of a supernet, or one network by itself, of the size it is retrained with"},
    {.name = "images",
     .type = PADA_OPT_INT,
     .offset = offsetof(bench, n_images),
     .default_value = "10000",
     .min = 1,
     .max = 1e6,
     .meta = "N",
     .help = "rank: images that a network is evaluated on; data: that are made"},
    {.name = "in-flight",
     .type = PADA_OPT_INT,
     .offset = offsetof(bench, in_flight),
     .min = 1,
     .max = PADA_MAX_IN_FLIGHT,
     .meta = "N",
     .help = "rank: " PADA_IN_FLIGHT_HELP},
    {.name = "latency-table",
     .type = PADA_OPT_STRING,
     .offset = offsetof(bench, table_file),
     .meta = "FILE",
     .help = "latency: the table to --check, in place of a new one"},
    {.name = "list",
     .also = "paths",
     .type = PADA_OPT_STRING,
     .offset = offsetof(bench, paths_file),
     .meta = "FILE",
     .help = "architectures, one per line (default: random ones)"},
    {.name = "networks",
     .also = "n-paths",
     .type = PADA_OPT_INT,
     .offset = offsetof(bench, n_paths),
     .default_value = "10",
     .min = 1,
     .max = 100000,
     .meta = "N",
     .help = "random architectures, without --list; methods: steps of an epoch"},
    {.name = "out",
     .type = PADA_OPT_STRING,
     .offset = offsetof(bench, out_file),
     .meta = "FILE.csv",
     .help = "latency: the table that is written"},
    {.name = "repeats",
     .type = PADA_OPT_INT,
     .offset = offsetof(bench, repeats),
     .default_value = "0",
     .min = 0,
     .max = 1000,
     .meta = "N",
     .help = "timed runs of each architecture; 0: 3, or 25 for latency and methods"},
    {.name = "burst",
     .type = PADA_OPT_INT,
     .offset = offsetof(bench, burst),
     .default_value = "1",
     .min = 1,
     .max = 1000,
     .meta = "N",
     .help = "runs in a row, waited for together, that count as one"},
    {.name = "seed",
     .type = PADA_OPT_U64,
     .offset = offsetof(bench, seed),
     .default_value = "0",
     .meta = "S",
     .help = "seed of weights, images and random architectures"},
    {.name = "json",
     .type = PADA_OPT_BOOL,
     .offset = offsetof(bench, json),
     .help = "one JSON object"},
    {.name = "paced",
     .type = PADA_OPT_BOOL,
     .offset = offsetof(bench, paced),
     .help = "measure and report once for every line on standard input"},
    {.name = "per-path",
     .type = PADA_OPT_BOOL,
     .offset = offsetof(bench, per_path),
     .help = "with --json: the median of each architecture, as path_ms"},
    {.name = NULL},
};

static pada_status bind(void *self, pada_options *options)
{
    bench *b = self;

    PADA_TRY(pada_options_bind(options, options_table, b));
    PADA_TRY(pada_space_args_bind(&b->space_args, options));
    PADA_TRY(pada_options_bind(options, pada_image_options, &b->data_args));
    b->recipe.augment = true;
    PADA_TRY(pada_options_bind(options, pada_changes_options, &b->recipe));
    return pada_options_bind(options, pada_engine_options, &b->engine_args);
}

/* In any dialect; bare lists, which several could mean, are those of the dialect `list`. */
static pada_status read_paths(bench *b)
{
    PADA_TRY(pada_path_list_read(&b->list, &b->space, b->paths_file, NULL, "list"));
    b->n_paths = b->list.n;
    return PADA_OK;
}

static pada_status random_paths(bench *b)
{
    pada_rng rng;
    void *mem;

    PADA_TRY(pada_calloc(&mem, (size_t)b->n_paths, sizeof *b->list.paths));
    b->list = (pada_path_list){mem, (int)b->n_paths};
    pada_rng_init(&rng, b->seed, "bench paths", 0);
    for (int64_t i = 0; i < b->n_paths; i++)
        pada_path_random(&b->space, &rng, &b->list.paths[i]);
    return PADA_OK;
}

static pada_status run_path(bench *b, const pada_path *path, double *ms)
{
    if (b->ranks) return pada_bench_rank_time(&b->rank, path, (int)b->burst, ms);
    if (b->mode == PADA_TRAIN)
        return pada_step_time(b->engine, path, &b->images.batch, (int)b->burst, ms);
    const double start = 1e3 * pada_clock_seconds();
    for (int64_t i = 0; i < b->burst; i++)
        PADA_TRY(pada_engine_forward(b->engine, path, &b->images.batch, PADA_EVAL));
    PADA_TRY(pada_engine_finish(b->engine));
    *ms = (1e3 * pada_clock_seconds() - start) / (double)b->burst;
    return PADA_OK;
}

/* Multiply-adds that a path really needs: dead edges do not run. */
static int64_t live_macs(const bench *b, const pada_path *path)
{
    pada_path live;
    pada_cost cost;

    if (b->final.is_final) {
        pada_space_cost(&b->space, path, &cost);
        return cost.macs;
    }
    b->space.ops->canonical(&b->space, path, &live);
    pada_space_search_cost(&b->space, &live, &cost);
    return cost.macs;
}

/* Measured beside the times it is compared with: the machine may be busy at other moments. */
static double peak_macs(const bench *b)
{
    return b->backend->peak_macs ? b->backend->peak_macs(b->device) : 0;
}

static pada_status report(const bench *b, const char *what)
{
    double ms = 0, macs = 0;
    pada_text out = {0};
    struct rusage usage;

    for (int64_t i = 0; i < b->n_paths; i++) {
        ms += pada_median(b->times_ms + i * b->repeats, b->repeats) / (double)b->n_paths;
        macs += (double)live_macs(b, &b->list.paths[i]) / (double)b->n_paths;
    }
    const double images = (double)(b->ranks ? b->n_images : b->batch); /* of one run */
    macs *= images * (b->mode == PADA_TRAIN ? 3 : 1);
    getrusage(RUSAGE_SELF, &usage);
    const double gflops = 2e-6 * macs / ms, peak = 2e-9 * peak_macs(b);
    const double memory_mb = (double)usage.ru_maxrss / 1024;
    const double engine_mb = (double)pada_engine_memory_bytes(b->engine) / (1024 * 1024);
    if (b->json) {
        json_t *object = json_object(), *times = json_array();
        pada_json_set(&out, object, "name", json_string(what));
        pada_json_set(&out, object, "backend", json_string(pada_engine_describe(b->engine)));
        pada_json_set(&out, object, "batch", json_integer(b->batch));
        pada_json_set(&out, object, "paths", json_integer(b->n_paths));
        pada_json_set(&out, object, "ms", json_real(ms));
        pada_json_set(&out, object, "images_per_second", json_real(1e3 * images / ms));
        pada_json_set(&out, object, "gflops", json_real(gflops));
        pada_json_set(&out, object, "peak_gflops", json_real(peak));
        pada_json_set(&out, object, "memory_mb", json_real(memory_mb));
        pada_json_set(&out, object, "engine_mb", json_real(engine_mb));
        for (int64_t i = 0; b->per_path && i < b->n_paths; i++)
            json_array_append_new(times,
                                  json_real(pada_median(b->times_ms + i * b->repeats, b->repeats)));
        if (b->per_path)
            pada_json_set(&out, object, "path_ms", times);
        else
            json_decref(times);
        pada_json_line(&out, object);
    } else {
        pada_text_add(
            &out, "%-6s batch %-4lld %4lld paths  %9.2f ms  %9.0f images/s  %7.1f GFLOP/s", what,
            (long long)b->batch, (long long)b->n_paths, ms, 1e3 * images / ms, gflops);
        if (peak > 0) pada_text_add(&out, " of direct convolutions (FMA peak %.0f)", peak);
        pada_text_add(&out, "  %7.0f MB, the engine %.0f  %s\n", memory_mb, engine_mb,
                      pada_engine_describe(b->engine));
    }
    const pada_status st = out.status;
    if (st == PADA_OK) fputs(pada_text_str(&out), stdout);
    pada_text_deinit(&out);
    return st;
}

static pada_status time_paths(bench *b, const char *what)
{
    for (int64_t r = 0; r < b->repeats; r++)
        for (int64_t i = 0; i < b->n_paths; i++)
            PADA_TRY(run_path(b, &b->list.paths[i], &b->times_ms[i * b->repeats + r]));
    return report(b, what);
}

/* Skips a line of standard input; false at its end. */
static bool read_line(void)
{
    int c;

    while ((c = getchar()) != EOF && c != '\n') {}
    return c != EOF;
}

static pada_status make_images(bench *b)
{
    const int n = (int)(b->ranks ? b->n_images : b->batch);

    return pada_bench_images_init(&b->images, b->engine, n, n < b->batch ? n : (int)b->batch,
                                  b->seed);
}

static pada_status make_ranking(bench *b, const pada_engine_desc *desc)
{
    return pada_bench_rank_init(
        &b->rank, &(pada_bench_rank_desc){.engine = b->engine,
                                          .others = desc,
                                          .seed = b->seed,
                                          .data = &b->images.data,
                                          .n_workers = pada_eval_in_flight(
                                              b->backend, (int)b->in_flight, PADA_MAX_IN_FLIGHT)});
}

static pada_status finalise(bench *b, pada_engine_desc *desc)
{
    if (b->n_paths != 1)
        return PADA_FAIL(PADA_EINVAL, "--form final times one network, not %lld",
                         (long long)b->n_paths);
    pada_space_finalise(&b->final, &b->space, &b->list.paths[0]);
    desc->space = &b->final;
    return PADA_OK;
}

static pada_status measure_paths(bench *b, pada_engine_desc *desc, const char *what)
{
    double warm_up_ms;
    pada_path path;
    void *mem;

    PADA_TRY(b->paths_file ? read_paths(b) : random_paths(b));
    if (b->form == FINAL) PADA_TRY(finalise(b, desc));
    PADA_TRY(pada_calloc(&mem, (size_t)(b->n_paths * b->repeats), sizeof(double)));
    b->times_ms = mem;
    PADA_TRY(pada_engine_create(&b->engine, desc));
    PADA_TRY(pada_engine_init_weights(b->engine, b->seed));
    PADA_TRY(make_images(b));
    if (b->ranks) PADA_TRY(make_ranking(b, desc));
    for (int i = 0; pada_space_extreme(desc->space, i, &path); i++)
        PADA_TRY(run_path(b, &path, &warm_up_ms));
    if (!b->paced) return time_paths(b, what);
    while (read_line()) {
        PADA_TRY(time_paths(b, what));
        fflush(stdout);
    }
    return PADA_OK;
}

static pada_status measure_kernels(const bench *b)
{
    const pada_bench_kernels kernels = {.backend = b->backend,
                                        .device = b->device,
                                        .batch = (int)b->batch,
                                        .repeats = (int)b->repeats,
                                        .peak_macs = peak_macs(b),
                                        .json = b->json};
    pada_text out = {0};
    const pada_status st = pada_bench_kernels_run(&kernels, &out);

    if (st == PADA_OK) fputs(pada_text_str(&out), stdout);
    pada_text_deinit(&out);
    return st;
}

/* Needs no network and no device. */
static pada_status measure_data(bench *b)
{
    const pada_dataset_desc desc = {.where = b->data_name,
                                    .splits = PADA_SPLIT_BIT(PADA_SPLIT_TRAIN),
                                    .image_size = (int)b->space_args.image_size};
    pada_bench_data what = {.batch = b->batch > 0 ? (int)b->batch : 64,
                            .n_images = (int)b->n_images,
                            .n_threads = (int)b->engine_args.threads,
                            .seed = b->seed,
                            .json = b->json};
    pada_text out = {0};
    pada_dataset *data;

    b->data_args.is_quiet = b->json;
    PADA_TRY(pada_recipe_changes(&b->recipe, &what.changes));
    PADA_TRY(pada_data_open(&data, &b->data_args, &desc));
    what.data = data;
    const pada_status st = pada_bench_data_run(&what, &out);
    if (st == PADA_OK) fputs(pada_text_str(&out), stdout);
    pada_text_deinit(&out);
    pada_dataset_close(data);
    return st;
}

/* Makes engines of its own, one for every part of the networks. */
static pada_status measure_latency(bench *b)
{
    pada_engine_desc desc = {.batch_size = b->batch > 0 ? (int)b->batch : 1};
    pada_text out = {0};

    PADA_TRY(pada_space_from_args(&b->space, &b->space_args));
    PADA_TRY(pada_engine_desc_from_args(&desc, &b->engine_args));
    const pada_bench_latency what = {.space = &b->space,
                                     .engine = &desc,
                                     .repeats = b->repeats > 0 ? (int)b->repeats : 25,
                                     .seed = b->seed,
                                     .out_file = b->out_file,
                                     .table_file = b->table_file,
                                     .n_checked = (int)b->n_checked,
                                     .json = b->json,
                                     .per_path = b->per_path};
    const pada_status st = pada_bench_latency_run(&what, &out);
    if (st == PADA_OK) fputs(pada_text_str(&out), stdout);
    pada_text_deinit(&out);
    return st;
}

static pada_status measure_methods(bench *b)
{
    pada_engine_desc desc = {
        .space = &b->space, .mode = PADA_TRAIN, .batch_size = b->batch > 0 ? (int)b->batch : 64};
    pada_text out = {0};

    PADA_TRY(pada_space_from_args(&b->space, &b->space_args));
    PADA_TRY(pada_computing_desc_from_args(&desc, &b->engine_args));
    if (b->n_paths * desc.batch_size > INT32_MAX)
        return PADA_FAIL(PADA_EINVAL, "--networks %" PRId64 ": an epoch of too many images",
                         b->n_paths);
    const pada_status st = pada_bench_methods_run(
        &(pada_bench_methods){.space = &b->space,
                              .engine = &desc,
                              .steps = (int)b->n_paths,
                              .repeats = b->repeats > 0 ? (int)b->repeats : 25,
                              .seed = b->seed,
                              .json = b->json},
        &out);
    if (st == PADA_OK) fputs(pada_text_str(&out), stdout);
    pada_text_deinit(&out);
    return st;
}

static pada_status measure(bench *b, const char *what)
{
    b->ranks = strcmp(what, "rank") == 0;
    const bool eval = b->ranks || strcmp(what, "eval") == 0;
    pada_engine_desc desc = {.space = &b->space, .mode = eval ? PADA_EVAL : PADA_TRAIN};

    b->mode = desc.mode;
    if (b->repeats == 0) b->repeats = 3;
    PADA_TRY(pada_space_from_args(&b->space, &b->space_args));
    PADA_TRY(pada_engine_desc_from_args(&desc, &b->engine_args));
    if (b->batch == 0) b->batch = eval ? 512 : 64;
    desc.batch_size = (int)b->batch;
    b->backend = desc.backend;
    PADA_TRY(b->backend->open(&b->device, desc.n_threads));
    return strcmp(what, "kernels") == 0 ? measure_kernels(b) : measure_paths(b, &desc, what);
}

static pada_status run(void *self, const pada_options *options)
{
    static const char *const kinds[] = {"step", "eval",    "rank",   "kernels",
                                        "data", "latency", "methods"};
    enum { N_KINDS = sizeof kinds / sizeof *kinds };
    bench *b = self;
    bool known = false;

    if (pada_options_n_words(options) != 1)
        return PADA_FAIL(
            PADA_EINVAL,
            "bench takes one word: step, eval, rank, kernels, data, latency or methods");
    const char *what = pada_options_word(options, 0);
    for (int i = 0; i < N_KINDS; i++)
        known = known || strcmp(what, kinds[i]) == 0;
    if (!known) return pada_fail_unknown(PADA_EINVAL, "bench: unknown word", what, kinds, N_KINDS);
    const pada_status st = strcmp(what, "data") == 0      ? measure_data(b)
                           : strcmp(what, "latency") == 0 ? measure_latency(b)
                           : strcmp(what, "methods") == 0 ? measure_methods(b)
                                                          : measure(b, what);
    pada_bench_rank_deinit(&b->rank);
    pada_engine_destroy(b->engine);
    if (b->device) b->backend->close(b->device);
    pada_path_list_deinit(&b->list);
    pada_free(b->times_ms);
    pada_bench_images_deinit(&b->images);
    return st;
}

extern const pada_command pada_command_bench;
const pada_command pada_command_bench = {
    .name = "bench",
    .summary =
        "speed of this machine: training steps, evaluations, rankings, single kernels, images, parts",
    .details =
        "Times are medians over the repeats, averaged over the architectures: of a training step or an "
        "evaluation of one batch, or (rank) of all images of a ranking, with several networks in flight. Memory "
        "is that of the whole process on the host, and of the engine on what computes. `data` makes training images as a training does, each once. "
        "`latency` times every part of the networks of a space in their final form and writes a table for --latency-table. "
        "`methods` trains epochs of --networks steps by spos, pa, da and pada in turns, on the same paths.",
    .usage = "pada bench step|eval|rank|kernels|data|latency|methods [options]",
    .words = "step|eval|rank|kernels|data|latency|methods",
    .examples =
        "pada bench step --batch-size 64\npada bench eval --list bench/paths30.txt --json\npada bench kernels --threads 1\npada bench data --data photos --image-size 224\n"
        "pada bench latency --space macro --threads 1 --out macro.csv --check 30",
    .state_bytes = sizeof(bench),
    PADA_SPACE_ARGS(bench, space_args),
    .bind = bind,
    .run = run,
};
