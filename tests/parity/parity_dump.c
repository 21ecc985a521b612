/* parity_dump.c - runs paths of a supernet and writes every number that PyTorch is compared with.
 *
 *   parity_dump --data D --weights W --out O --path '3,1,4,2,0,3;3,3,3,3,3,3' --channels 16 ...
 *   parity_dump --weights W --init-seed 1 --channels 16 ...       makes the weights instead
 *   parity_dump --space darts --dialect darts --final ...         one network in its final form
 *
 * D has `images` F32 [n,3,h,w] and `labels` I64 or I32 [n]. O has, as F64 and for path i of the
 * list: `i.logits` [n,classes], `i.losses` [n], `i.norms` [n], `i.loss` [1] and
 * `i.grad.<parameter>` for every parameter. All paths run in one engine, so that what one of them
 * leaves behind would show in the next. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/option.h"
#include "engine/engine.h"
#include "engine/engine_inspect.h"
#include "engine/engine_regularize.h"
#include "engine/engine_results.h"
#include "engine/engine_weights.h"
#include "tensor/safetensors.h"

typedef struct dump_args {
    const char *data, *weights, *out, *paths, *backend, *space, *dialect;
    int64_t classes, image_size, threads, init_seed;
    double label_smoothing;
    bool is_final;
    const pada_space_ops *ops;
    pada_space_settings settings;
} dump_args;

#define FIELD(member) offsetof(dump_args, member)

static const pada_opt options_table[] = {
    {.name = "data", .type = PADA_OPT_STRING, .offset = FIELD(data)},
    {.name = "weights", .type = PADA_OPT_STRING, .offset = FIELD(weights)},
    {.name = "out", .type = PADA_OPT_STRING, .offset = FIELD(out)},
    {.name = "path", .type = PADA_OPT_STRING, .offset = FIELD(paths)},
    {.name = "backend", .type = PADA_OPT_STRING, .offset = FIELD(backend), .default_value = "ref"},
    {.name = "space", .type = PADA_OPT_STRING, .offset = FIELD(space), .default_value = "nb201"},
    {.name = "dialect", .type = PADA_OPT_STRING, .offset = FIELD(dialect), .default_value = "list"},
    {.name = "final", .type = PADA_OPT_BOOL, .offset = FIELD(is_final), .default_value = "false"},
    {.name = "label-smoothing",
     .type = PADA_OPT_DOUBLE,
     .offset = FIELD(label_smoothing),
     .min = 0,
     .max = 1},
    {.name = "classes", .type = PADA_OPT_INT, .offset = FIELD(classes), .min = 1, .max = 65536},
    {.name = "image-size",
     .type = PADA_OPT_INT,
     .offset = FIELD(image_size),
     .min = 1,
     .max = 4096},
    {.name = "threads", .type = PADA_OPT_INT, .offset = FIELD(threads), .min = 0, .max = 1024},
    {.name = "init-seed",
     .type = PADA_OPT_INT,
     .offset = FIELD(init_seed),
     .default_value = "-1",
     .min = -1,
     .max = 1e9},
    {.name = NULL},
};

/* Images and labels of the data file. Zero-initialise. */
typedef struct data_set {
    float *images;
    int32_t *labels;
    int n, image_size;
} data_set;

static void data_set_deinit(data_set *d)
{
    pada_free(d->images);
    pada_free(d->labels);
}

static pada_status copy_data(data_set *d, const char *path, const pada_safetensors *st)
{
    const pada_st_tensor *images = pada_safetensors_find(st, "images");
    const pada_st_tensor *labels = pada_safetensors_find(st, "labels");
    void *mem;

    if (!images || !labels) return PADA_FAIL(PADA_EDATA, "%s: images or labels are missing", path);
    if (strcmp(images->dtype, "F32") != 0 || images->n_dims != 4 || images->dims[1] != 3 ||
        images->dims[2] != images->dims[3])
        return PADA_FAIL(PADA_EDATA, "%s: images are not square F32 [n,3,h,w]", path);
    const int wide = strcmp(labels->dtype, "I64") == 0;
    if ((!wide && strcmp(labels->dtype, "I32") != 0) || labels->n_dims != 1 ||
        labels->dims[0] != images->dims[0])
        return PADA_FAIL(PADA_EDATA, "%s: labels are not I64 or I32 [n]", path);

    d->n = (int)images->dims[0];
    d->image_size = (int)images->dims[2];
    PADA_TRY(pada_calloc(&mem, images->bytes, 1));
    d->images = mem;
    memcpy(d->images, images->data, images->bytes);
    PADA_TRY(pada_calloc(&mem, (size_t)d->n, sizeof *d->labels));
    d->labels = mem;
    for (int i = 0; i < d->n; i++) {
        int64_t label = 0;
        int32_t narrow = 0;
        if (wide) {
            memcpy(&label, (const char *)labels->data + 8 * (size_t)i, sizeof label);
        } else {
            memcpy(&narrow, (const char *)labels->data + 4 * (size_t)i, sizeof narrow);
            label = narrow;
        }
        if (label < INT32_MIN || label > INT32_MAX)
            return PADA_FAIL(PADA_EDATA, "%s: label %lld is no class", path, (long long)label);
        d->labels[i] = (int32_t)label;
    }
    return PADA_OK;
}

static pada_status read_data(data_set *d, const char *path)
{
    pada_safetensors *st;

    PADA_TRY(pada_safetensors_open(&st, path));
    const pada_status status = copy_data(d, path, st);
    pada_safetensors_close(st);
    return status;
}

/* What goes to the output file: a list of tensors whose names and numbers it owns. Zero-initialise.
 */
typedef struct dump {
    pada_st_tensor *tensors;
    int n, cap;
} dump;

static void dump_deinit(dump *d)
{
    for (int i = 0; i < d->n; i++) {
        pada_free((void *)d->tensors[i].name);
        pada_free((void *)d->tensors[i].data);
    }
    pada_free(d->tensors);
}

/* Adds a tensor of zeros called "<path>.<kind><name>"; the caller fills *values in. */
static pada_status dump_add(dump *d, int path, const char *kind, const char *name, const int *dims,
                            int n_dims, double **values)
{
    char full[160];
    void *grown = d->tensors, *mem;
    char *copy;
    size_t count = 1;

    PADA_TRY(pada_grow(&grown, &d->cap, d->n + 1, sizeof *d->tensors));
    d->tensors = grown;
    pada_st_tensor *t = &d->tensors[d->n];
    *t = (pada_st_tensor){.dtype = "F64", .n_dims = n_dims};
    for (int i = 0; i < n_dims; i++) {
        t->dims[i] = dims[i];
        count *= (size_t)dims[i];
    }
    snprintf(full, sizeof full, "%d.%s%s", path, kind, name);
    PADA_TRY(pada_strdup(&copy, full));
    t->name = copy;
    d->n++;
    PADA_TRY(pada_calloc(&mem, count, sizeof(double)));
    t->data = *values = mem;
    t->bytes = count * sizeof(double);
    return PADA_OK;
}

/* Runs path number i forward and backward and adds its results. */
static pada_status dump_path(dump *d, pada_engine *e, const data_set *data, const pada_path *path,
                             int i)
{
    const pada_params *params = pada_engine_params(e);
    const int n = data->n, one = 1, logits[2] = {n, pada_engine_space(e)->config.classes};
    pada_results_view view;
    double *values;

    pada_engine_zero_grad(e);
    PADA_TRY(pada_engine_forward(
        e, path, &(pada_batch){.n = n, .images = data->images, .labels = data->labels},
        PADA_TRAIN));
    PADA_TRY(pada_engine_results(e, &view));
    PADA_TRY(dump_add(d, i, "loss", "", &one, 1, &values));
    *values = view.loss;
    PADA_TRY(dump_add(d, i, "logits", "", logits, 2, &values));
    pada_engine_logits(e, values);
    PADA_TRY(dump_add(d, i, "losses", "", &n, 1, &values));
    pada_engine_losses(e, values);
    PADA_TRY(dump_add(d, i, "norms", "", &n, 1, &values));
    pada_engine_norms(e, values);
    pada_engine_backward(e);
    for (int k = 0; k < pada_params_count(params); k++) {
        const pada_param *p = pada_params_get(params, k);
        PADA_TRY(dump_add(d, i, "grad.", p->name, p->dims, p->n_dims, &values));
        pada_engine_read_grad(e, k, values);
    }
    return PADA_OK;
}

/* The next path of a list "a;b;..", which moves on. */
static pada_status next_path(const dump_args *args, const pada_space *space, const char **list,
                             pada_path *path)
{
    const int length = (int)strcspn(*list, ";");
    char text[512];

    if (length >= (int)sizeof text) return PADA_FAIL(PADA_EINVAL, "a path is too long");
    snprintf(text, sizeof text, "%.*s", length, *list);
    *list += length;
    *list += **list == ';';
    return space->ops->parse(space, text, args->dialect, path);
}

static pada_status dump_paths(dump *d, pada_engine *e, const data_set *data, const dump_args *args)
{
    const char *list = args->paths;
    pada_path path;

    for (int i = 0; *list; i++) {
        PADA_TRY(next_path(args, pada_engine_space(e), &list, &path));
        PADA_TRY(dump_path(d, e, data, &path, i));
    }
    return PADA_OK;
}

static pada_status make_engine(pada_engine **out, const dump_args *args, int batch, int image_size)
{
    const pada_backend *backend;
    pada_space space;

    *out = NULL;
    PADA_TRY(pada_space_init_settings(&space, args->ops, (int)args->classes, image_size,
                                      &args->settings));
    if (args->is_final) {
        const char *list = args->paths ? args->paths : "";
        const pada_space whole = space;
        pada_path network;
        PADA_TRY(next_path(args, &whole, &list, &network));
        pada_space_finalise(&space, &whole, &network);
    }
    PADA_TRY(pada_backend_find(&backend, args->backend));
    return pada_engine_create(out, &(pada_engine_desc){.space = &space,
                                                       .backend = backend,
                                                       .n_threads = (int)args->threads,
                                                       .batch_size = batch,
                                                       .mode = PADA_TRAIN});
}

static pada_status make_weights(const dump_args *args)
{
    pada_engine *e;

    PADA_TRY(make_engine(&e, args, 1, (int)args->image_size));
    pada_status st = pada_engine_init_weights(e, (uint64_t)args->init_seed);
    if (st == PADA_OK) st = pada_engine_save_weights(e, args->weights);
    pada_engine_destroy(e);
    return st;
}

static pada_status run(const dump_args *args)
{
    data_set data = {0};
    dump results = {0};
    pada_engine *e = NULL;
    pada_status st;

    if (!args->weights) return PADA_FAIL(PADA_EINVAL, "--weights is missing");
    if (args->init_seed >= 0) return make_weights(args);
    if (!args->data || !args->out || !args->paths)
        return PADA_FAIL(PADA_EINVAL, "--data, --out or --path is missing");
    if ((st = read_data(&data, args->data)) != PADA_OK) goto out;
    if ((st = make_engine(&e, args, data.n, data.image_size)) != PADA_OK) goto out;
    if ((st = pada_engine_load_weights(e, args->weights)) != PADA_OK) goto out;
    pada_engine_smooth_labels(e, args->label_smoothing);
    if ((st = dump_paths(&results, e, &data, args)) != PADA_OK) goto out;
    const char *const metadata[][2] = {{"backend", pada_engine_describe(e)}};
    st = pada_safetensors_write(args->out, results.tensors, results.n, metadata, 1);
out:
    pada_engine_destroy(e);
    dump_deinit(&results);
    data_set_deinit(&data);
    return st;
}

int main(int argc, char **argv)
{
    dump_args args = {0};
    pada_options *options = NULL;
    pada_status st;

    if ((st = pada_options_create(&options)) != PADA_OK) goto out;
    if ((st = pada_options_bind(options, options_table, &args)) != PADA_OK) goto out;
    const char *space = pada_options_peek(argc - 1, (const char *const *)argv + 1, "space");
    if ((st = pada_space_find(&args.ops, space ? space : args.space)) != PADA_OK) goto out;
    if ((st = pada_options_bind(options, args.ops->options, &args.settings)) != PADA_OK) goto out;
    st = pada_options_parse(options, argc - 1, (const char *const *)argv + 1);
    if (st != PADA_OK) goto out;
    st = run(&args);
out:
    pada_options_destroy(options);
    if (st != PADA_OK) fprintf(stderr, "parity_dump: %s\n", pada_message());
    return pada_status_exit_code(st);
}
