/* cmd_eval.c - `pada eval`: how well architectures do with the weights of a supernet. */
#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "cli/command.h"
#include "cli/engine_args.h"
#include "cli/print.h"
#include "cli/space_args.h"
#include "study/evaluate.h"
#include "tensor/npy.h"

typedef struct eval {
    pada_space_args space_args;
    pada_engine_args engine_args;
    const char *weights, *arch, *dialect, *data_name, *logits_file;
    uint64_t seed;
    int split;
    int64_t limit, batch_size;
    bool json;

    pada_space space;
    pada_dataset *data;
    pada_path *paths; /* [n_paths], owned */
    int n_paths;
    pada_evaluator *evaluator;
    pada_engine *engine;
    float *logits; /* [images, classes], owned; NULL without --logits */
} eval;

static const pada_opt options_table[] = {
    {.name = "weights",
     .type = PADA_OPT_STRING,
     .offset = offsetof(eval, weights),
     .meta = "FILE.safetensors",
     .help = "weights of the supernet (default: fresh ones)"},
    {.name = "seed",
     .type = PADA_OPT_U64,
     .offset = offsetof(eval, seed),
     .default_value = "0",
     .meta = "N",
     .help = "seed of fresh weights, without --weights"},
    {.name = "arch",
     .type = PADA_OPT_STRING,
     .offset = offsetof(eval, arch),
     .meta = "STRING",
     .help = "an architecture; further ones may be given as words"},
    {.name = "arch-dialect",
     .type = PADA_OPT_STRING,
     .offset = offsetof(eval, dialect),
     .meta = "DIALECT",
     .help = "how architectures are written (default: by their look)"},
    {.name = "data",
     .type = PADA_OPT_STRING,
     .offset = offsetof(eval, data_name),
     .default_value = "builtin",
     .meta = "DIR|builtin",
     .help = "data set"},
    {.name = "split",
     .type = PADA_OPT_CHOICE,
     .offset = offsetof(eval, split),
     .default_value = "test",
     .choices = "train|test", /* in the order of pada_split */
     .help = "which images of it"},
    {.name = "limit",
     .type = PADA_OPT_INT,
     .offset = offsetof(eval, limit),
     .min = 1,
     .max = INT32_MAX,
     .meta = "N",
     .help = "only the first N images"},
    {.name = "batch-size",
     .type = PADA_OPT_INT,
     .offset = offsetof(eval, batch_size),
     .default_value = "512",
     .min = 1,
     .max = 65536,
     .meta = "N",
     .help = "images per batch; batch norm takes its statistics from a batch"},
    {.name = "logits",
     .type = PADA_OPT_STRING,
     .offset = offsetof(eval, logits_file),
     .meta = "FILE.npy",
     .help = "write the scores of one architecture, float32 [images, classes]"},
    {.name = "json",
     .type = PADA_OPT_BOOL,
     .offset = offsetof(eval, json),
     .help = "one JSON object per line: arch, images, top1, top5 (%), loss, seconds, weights_hash"},
    {.name = NULL},
};

static pada_status bind(void *self, pada_options *options)
{
    eval *v = self;

    PADA_TRY(pada_options_bind(options, options_table, v));
    PADA_TRY(pada_options_bind(options, pada_space_options, &v->space_args));
    return pada_options_bind(options, pada_engine_options, &v->engine_args);
}

/* Takes the number of classes from the data set, unless a flag gave another one. */
static pada_status classes_from_data(eval *v)
{
    int64_t *classes = &v->space_args.classes;

    if (*classes != 0 && *classes != v->data->n_classes)
        return PADA_FAIL(PADA_EINVAL,
                         "--classes %" PRId64 " does not fit the data set %s, which has %d",
                         *classes, v->data_name, v->data->n_classes);
    *classes = v->data->n_classes;
    return PADA_OK;
}

static pada_status open_space(eval *v)
{
    pada_space_args *args = &v->space_args;

    args->image_size = v->data->shape.h; /* a size that was given went into the open */
    PADA_TRY(classes_from_data(v));
    return pada_space_from_args(&v->space, args);
}

/* --arch first, then the words. */
static pada_status read_paths(eval *v, const pada_options *options)
{
    const pada_space_ops *ops = v->space.ops;
    const int n_words = pada_options_n_words(options);
    void *memory;

    if (n_words == 0 && !v->arch)
        return PADA_FAIL(PADA_EINVAL, "no architecture given; see `pada help eval`");
    PADA_TRY(pada_calloc(&memory, (size_t)n_words + 1, sizeof *v->paths));
    v->paths = memory;
    if (v->arch) PADA_TRY(ops->parse(&v->space, v->arch, v->dialect, &v->paths[v->n_paths++]));
    for (int i = 0; i < n_words; i++)
        PADA_TRY(ops->parse(&v->space, pada_options_word(options, i), v->dialect,
                            &v->paths[v->n_paths++]));
    return PADA_OK;
}

/* Makes room for the scores, and finds out now whether the file can be written. */
static pada_status prepare_logits(eval *v)
{
    pada_writer *writer;
    void *memory;

    if (!v->logits_file) return PADA_OK;
    if (v->n_paths > 1)
        return PADA_FAIL(PADA_EINVAL, "--logits %s takes one architecture, not %d", v->logits_file,
                         v->n_paths);
    PADA_TRY(pada_writer_begin(&writer, v->logits_file));
    pada_writer_abort(writer);
    PADA_TRY(pada_calloc(&memory, (size_t)pada_evaluator_n_images(v->evaluator),
                         (size_t)v->data->n_classes * sizeof *v->logits));
    v->logits = memory;
    return PADA_OK;
}

/* Checks all inputs, the cheap ones first; afterwards only the evaluation itself can go wrong. */
static pada_status prepare(eval *v, const pada_options *options)
{
    pada_engine_desc engine = {.space = &v->space, .mode = PADA_EVAL};
    pada_evaluator_desc images = {
        .split = (pada_split)v->split, .limit = (int)v->limit, .batch_size = (int)v->batch_size};

    if (v->weights && pada_options_given(options, "seed"))
        return PADA_FAIL(PADA_EINVAL, "--seed is for fresh weights, not for those of %s",
                         v->weights);
    PADA_TRY(pada_engine_desc_from_args(&engine, &v->engine_args));
    if (engine.backend->plans_only)
        return PADA_FAIL(PADA_EINVAL, "--backend: %s computes nothing; it is for `pada bench`",
                         engine.backend->name);
    PADA_TRY(pada_dataset_open(&v->data,
                               &(pada_dataset_desc){.where = v->data_name,
                                                    .splits = PADA_SPLIT_BIT(v->split),
                                                    .image_size = (int)v->space_args.image_size}));
    PADA_TRY(open_space(v));
    PADA_TRY(read_paths(v, options));
    images.data = v->data;
    PADA_TRY(pada_evaluator_create(&v->evaluator, &images));
    PADA_TRY(prepare_logits(v));
    engine.batch_size = pada_evaluator_batch_size(v->evaluator);
    PADA_TRY(pada_engine_create(&v->engine, &engine));
    return v->weights ? pada_engine_load_weights(v->engine, v->weights)
                      : pada_engine_init_weights(v->engine, v->seed);
}

static double percent(int part, int whole)
{
    return 100.0 * part / whole;
}

/* Appends what is printed for one path. */
static pada_status describe(const eval *v, const pada_path *path, const pada_evaluation *result,
                            double seconds, pada_text *out)
{
    const pada_space_ops *ops = v->space.ops;
    const double top1 = percent(result->top1, result->n_images);
    const double top5 = percent(result->top5, result->n_images);
    pada_text name = {0};
    pada_status st = ops->format(&v->space, path, ops->dialects[0], &name);

    if (st == PADA_OK && v->json) {
        char hash[17];
        json_t *object = json_object();
        snprintf(hash, sizeof hash, "%016" PRIx64, pada_engine_weights_hash(v->engine));
        pada_json_set(out, object, "arch", json_string(name.data));
        pada_json_set(out, object, "images", json_integer(result->n_images));
        pada_json_set(out, object, "top1", json_real(top1));
        pada_json_set(out, object, "top5", json_real(top5));
        pada_json_set(out, object, "loss", json_real(result->loss));
        pada_json_set(out, object, "seconds", json_real(seconds));
        pada_json_set(out, object, "weights_hash", json_string(hash));
        pada_json_line(out, object);
    } else if (st == PADA_OK) {
        pada_text_add(out,
                      "%s\n  images %d  top-1 %.2f %%  top-5 %.2f %%  loss %.4f  seconds %.2f\n",
                      name.data, result->n_images, top1, top5, result->loss, seconds);
    }
    pada_text_deinit(&name);
    return st == PADA_OK ? out->status : st;
}

static pada_status evaluate(eval *v, pada_text *out)
{
    const int64_t dims[] = {pada_evaluator_n_images(v->evaluator), v->data->n_classes};

    for (int i = 0; i < v->n_paths; i++) {
        const double start = pada_clock_seconds();
        pada_evaluation result;
        PADA_TRY(pada_evaluator_run(v->evaluator, v->engine, &v->paths[i], v->logits, &result));
        PADA_TRY(describe(v, &v->paths[i], &result, pada_clock_seconds() - start, out));
    }
    return v->logits ? pada_npy_write_f32(v->logits_file, v->logits, dims, 2) : PADA_OK;
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
    pada_free(v->logits);
    pada_engine_destroy(v->engine);
    pada_evaluator_destroy(v->evaluator);
    pada_free(v->paths);
    pada_dataset_close(v->data);
    return st;
}

const pada_command pada_command_eval = {
    .name = "eval",
    .summary = "evaluate architectures with the weights of a supernet",
    .usage = "pada eval STRING... [--weights FILE.safetensors] [options]",
    .examples =
        "pada eval --arch-dialect list 3,3,3,3,3,3 --weights w.safetensors --data cifar-10-batches-bin\n"
        "pada eval --arch-dialect list 1,3,0,2,1,4 --seed 7 --limit 256 --logits l.npy",
    .state_bytes = sizeof(eval),
    .bind = bind,
    .run = run,
};
