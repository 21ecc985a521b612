/* cmd_eval.c - `pada eval`: how well architectures do with the weights of a supernet. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "cli/command.h"
#include "cli/print.h"
#include "cli/run_args.h"
#include "engine/engine_statistics.h"
#include "engine/engine_weights.h"
#include "run/names.h"
#include "study/class_report.h"
#include "study/class_test.h"
#include "tensor/npy.h"

typedef struct eval {
    pada_run_args run_args;
    const char *arch, *dialect, *logits_file;
    uint64_t seed;
    bool json, per_class;

    pada_supernet net;
    pada_path *paths; /* [n_paths], owned */
    int n_paths;
    pada_class_test test; /* empty without --logits and --per-class */
} eval;

static const pada_opt options_table[] = {
    {.name = "seed",
     .type = PADA_OPT_U64,
     .offset = offsetof(eval, seed),
     .default_value = "0",
     .meta = "N",
     .help = "seed of fresh weights, without RUN and --weights"},
    {.name = "arch",
     .type = PADA_OPT_STRING,
     .offset = offsetof(eval, arch),
     .meta = "STRING",
     .help = "an architecture; further ones may be given as words"},
    {.name = "arch-dialect",
     .type = PADA_OPT_STRING,
     .offset = offsetof(eval, dialect),
     .meta = "DIALECT",
     .names = pada_name_of_dialect,
     .help = "how architectures are written (default: auto-detected)"},
    {.name = "logits",
     .type = PADA_OPT_STRING,
     .offset = offsetof(eval, logits_file),
     .meta = "FILE.npy",
     .help = "write the scores of one architecture, float32 [images, classes]"},
    {.name = "per-class",
     .type = PADA_OPT_BOOL,
     .offset = offsetof(eval, per_class),
     .help = "recall and precision of every class, with 95 % intervals"},
    {.name = "json",
     .type = PADA_OPT_BOOL,
     .offset = offsetof(eval, json),
     .help = "a JSON object per line: arch, split, images, top1, top5 (%), loss, seconds, "
             "weights_hash, statistics, report"},
    {.name = NULL},
};

static pada_status bind(void *self, pada_options *options)
{
    eval *v = self;

    PADA_TRY(pada_options_bind(options, options_table, v));
    return pada_run_args_bind(options, &v->run_args);
}

/* A final form is of one network, which need not be named. */
static pada_status keep_network(eval *v)
{
    const pada_space *space = &v->net.space;

    for (int i = 0; i < v->n_paths; i++)
        if (!pada_path_equal(space, &v->paths[i], &space->network))
            return PADA_FAIL(PADA_EINVAL, "the run is of one other network, retrained alone");
    v->paths[0] = space->network;
    v->n_paths = 1;
    return PADA_OK;
}

/* An architecture, or a word at the place of a run that is neither. */
static pada_status read_path(const eval *v, const char *word, bool may_be_run, pada_path *path)
{
    const pada_space *space = &v->net.space;
    char message[PADA_MESSAGE_BYTES];

    const pada_status st = space->ops->parse(space, word, v->dialect, path);
    if (st != PADA_EINVAL || !may_be_run || strpbrk(word, "|(, ")) return st;
    snprintf(message, sizeof message, "%s", pada_message());
    return PADA_FAIL(st, "%s: no run folder, and no architecture: %s", word, message);
}

/* --arch first, then the words from `first` on. */
static pada_status read_paths(eval *v, const pada_options *options, int first)
{
    const pada_space *space = &v->net.space;
    const int n_words = pada_options_n_words(options);
    void *memory;

    if (n_words == first && !v->arch && !space->is_final)
        return PADA_FAIL(PADA_EINVAL, "no architecture given; see `pada help eval`");
    PADA_TRY(pada_calloc(&memory, (size_t)n_words + 1, sizeof *v->paths));
    v->paths = memory;
    if (v->arch) PADA_TRY(space->ops->parse(space, v->arch, v->dialect, &v->paths[v->n_paths++]));
    for (int i = first; i < n_words; i++)
        PADA_TRY(read_path(v, pada_options_word(options, i), i == 0, &v->paths[v->n_paths++]));
    return space->is_final ? keep_network(v) : PADA_OK;
}

static pada_status prepare_test(eval *v)
{
    if (!v->logits_file && !v->per_class) return PADA_OK;
    return pada_class_test_init(&v->test, v->net.data, v->net.split,
                                pada_evaluator_n_images(v->net.workers[0].evaluator));
}

/* Finds out now whether the file of the scores can be written. */
static pada_status prepare_logits(const eval *v)
{
    pada_writer *writer;

    if (!v->logits_file) return PADA_OK;
    if (v->n_paths > 1)
        return PADA_FAIL(PADA_EINVAL, "--logits %s takes one architecture, not %d", v->logits_file,
                         v->n_paths);
    PADA_TRY(pada_writer_begin(&writer, v->logits_file));
    pada_writer_abort(writer);
    return PADA_OK;
}

/* Checks all inputs, the cheap ones first; afterwards only the evaluation itself can go wrong. */
static pada_status prepare(eval *v, const pada_options *options)
{
    const bool has_run =
        pada_options_n_words(options) > 0 && pada_is_run(pada_options_word(options, 0));
    const char *run = has_run ? pada_options_word(options, 0) : NULL;

    if ((run || v->run_args.weights) && pada_options_given(options, "seed"))
        return PADA_FAIL(PADA_EINVAL, "--seed is for fresh weights, not for those of %s",
                         v->run_args.weights ? v->run_args.weights : run);
    PADA_TRY(pada_supernet_open(&v->net, &v->run_args, options, run));
    PADA_TRY(read_paths(v, options, has_run));
    PADA_TRY(prepare_logits(v));
    PADA_TRY(prepare_test(v));
    return pada_supernet_load(&v->net, v->seed, 1);
}

static double percent(int part, int whole)
{
    return 100.0 * part / whole;
}

/* One result. */
typedef struct description {
    const char *arch;
    const pada_evaluation *result;
    double top1, top5, seconds;
    const pada_class_report *report; /* NULL without --per-class */
} description;

static void write_json(const eval *v, const description *d, pada_text *out)
{
    const pada_engine *engine = v->net.workers[0].engine;
    json_t *object = json_object();
    char hash[17];

    snprintf(hash, sizeof hash, "%016" PRIx64, pada_engine_weights_hash(engine));
    pada_json_set(out, object, "arch", json_string(d->arch));
    pada_json_set(out, object, "split", json_string(pada_split_name(v->net.split)));
    pada_json_set(out, object, "images", json_integer(d->result->n_images));
    pada_json_set(out, object, "top1", json_real(d->top1));
    pada_json_set(out, object, "top5", json_real(d->top5));
    pada_json_set(out, object, "loss", json_real(d->result->loss));
    pada_json_set(out, object, "seconds", json_real(d->seconds));
    pada_json_set(out, object, "weights_hash", json_string(hash));
    pada_json_set(out, object, "statistics",
                  json_string(pada_statistics_name(pada_engine_statistics(engine))));
    if (d->report)
        pada_json_set(out, object, "report", pada_class_report_json(d->report, v->test.names));
    pada_json_line(out, object);
}

static void write_text(const eval *v, const description *d, pada_text *out)
{
    pada_text_add(out, "%s\n  images %d %s  top-1 %.2f %%", d->arch, d->result->n_images,
                  pada_split_name(v->net.split), d->top1);
    if (pada_has_top5(v->test.n_classes)) pada_text_add(out, "  top-5 %.2f %%", d->top5);
    pada_text_add(out, "  loss %.4f  seconds %.2f\n", d->result->loss, d->seconds);
    if (d->report) pada_class_report_print(d->report, v->test.names, out);
}

/* Appends what is printed for one path. */
static pada_status describe(const eval *v, const pada_path *path, const pada_evaluation *result,
                            double seconds, pada_text *out)
{
    const pada_space *space = &v->net.space;
    pada_class_report *report = NULL;
    pada_text name = {0};
    pada_status st = space->ops->format(space, path, NULL, &name);

    if (st == PADA_OK && v->per_class) st = pada_class_test_count(&v->test, &report);
    if (st == PADA_OK) {
        const description d = {.arch = name.data,
                               .result = result,
                               .top1 = percent(result->top1, result->n_images),
                               .top5 = percent(result->top5, result->n_images),
                               .seconds = seconds,
                               .report = report};
        if (v->json)
            write_json(v, &d, out);
        else
            write_text(v, &d, out);
    }
    pada_class_report_destroy(report);
    pada_text_deinit(&name);
    return st == PADA_OK ? out->status : st;
}

/* In a run with several supernets, that of the path. */
static pada_status enter_supernet(eval *v, const pada_path *path)
{
    int supernet;

    if (!v->net.family) return PADA_OK;
    PADA_TRY(pada_family_find(v->net.family, path, &supernet));
    return pada_family_enter(v->net.family, supernet, v->net.workers[0].engine);
}

static pada_status evaluate(eval *v, pada_text *out)
{
    const int64_t dims[] = {v->test.n_images, v->test.n_classes};

    for (int i = 0; i < v->n_paths; i++) {
        const double start = pada_clock_seconds();
        pada_evaluation result;
        PADA_TRY(enter_supernet(v, &v->paths[i]));
        PADA_TRY(pada_evaluator_run(v->net.workers[0].evaluator, v->net.workers[0].engine,
                                    &v->paths[i], v->test.logits, &result));
        PADA_TRY(describe(v, &v->paths[i], &result, pada_clock_seconds() - start, out));
    }
    return v->logits_file ? pada_npy_write_f32(v->logits_file, v->test.logits, dims, 2) : PADA_OK;
}

static pada_status run(void *self, const pada_options *options)
{
    eval *v = self;
    pada_text out = {0};
    pada_status st = prepare(v, options);

    if (st == PADA_OK) st = evaluate(v, &out);
    /* Printed only when all of them are done, so that a script never sees half a result. */
    if (st == PADA_OK) fputs(pada_text_str(&out), stdout);
    pada_text_deinit(&out);
    pada_class_test_deinit(&v->test);
    pada_free(v->paths);
    pada_supernet_close(&v->net);
    return st;
}

const pada_command pada_command_eval = {
    .name = "eval",
    .summary = "evaluate architectures with the weights of a supernet",
    .details =
        "Space, data and weights come from a run folder (its newest checkpoint) or from "
        "options; without either the weights are fresh. A network that was trained alone has "
        "running statistics for its batch norms. Those of a supernet take them from each batch, so "
        "that a result belongs to its batch size, or (--statistics recalibrated) from training "
        "images.",
    .usage = "pada eval [RUN] STRING... [--weights FILE.safetensors] [options]",
    .words = "RUN",
    .examples =
        "pada eval runs/a --arch-dialect list 3,3,3,3,3,3 --per-class\n"
        "pada eval --arch-dialect list 3,3,3,3,3,3 --weights w.safetensors --data cifar-10-batches-bin\n"
        "pada eval --arch-dialect list 1,3,0,2,1,4 --seed 7 --limit 256 --logits l.npy",
    .state_bytes = sizeof(eval),
    PADA_SPACE_ARGS(eval, run_args.space),
    .bind = bind,
    .run = run,
};
