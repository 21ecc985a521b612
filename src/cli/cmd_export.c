/* cmd_export.c - `pada export`: a trained network in the format of another program. */
#include <stdio.h>

#include "cli/command.h"
#include "cli/run_args.h"
#include "model/export.h"
#include "run/names.h"
#include "run/trained.h"

typedef struct export
{
    pada_run_args run_args;
    const char *arch, *dialect, *to, *out, *name, *weights_file;
    bool fold_norms, normalise;

    pada_trained model;
    pada_supernet net;         /* of a supernet, else empty */
    const pada_engine *engine; /* that has the weights */
}
export;

static const pada_opt options_table[] = {
    {.name = "to",
     .type = PADA_OPT_STRING,
     .offset = offsetof(export, to),
     .default_value = "onnx",
     .meta = "FORMAT",
     .names = pada_name_of_export,
     .help = "format: onnx, safetensors (a model of pada), torch (a module in Python), c"},
    {.name = "out",
     .type = PADA_OPT_STRING,
     .offset = offsetof(export, out),
     .meta = "FILE",
     .help = "the file to write; an existing one is replaced"},
    {.name = "arch",
     .type = PADA_OPT_STRING,
     .offset = offsetof(export, arch),
     .meta = "STRING",
     .help = "of a supernet: the network"},
    {.name = "arch-dialect",
     .type = PADA_OPT_STRING,
     .offset = offsetof(export, dialect),
     .meta = "DIALECT",
     .names = pada_name_of_dialect,
     .help = "how it is written (default: auto-detected)"},
    {.name = "fold-norms",
     .type = PADA_OPT_BOOL,
     .offset = offsetof(export, fold_norms),
     .default_value = "true",
     .help = "multiply batch norms into the convolutions in front of them"},
    {.name = "normalise",
     .type = PADA_OPT_BOOL,
     .offset = offsetof(export, normalise),
     .tried = "normalize",
     .help = "let the network take pixels / 255 and normalise them itself"},
    {.name = "name",
     .type = PADA_OPT_STRING,
     .offset = offsetof(export, name),
     .meta = "NAME",
     .help = "of the network in C and Python (default: the name of the file)"},
    {.name = "weights-file",
     .type = PADA_OPT_STRING,
     .offset = offsetof(export, weights_file),
     .meta = "FILE",
     .help = "weights of c and torch go there (c: else into the source, torch: beside it)"},
    {.name = NULL},
};

static pada_status bind(void *self, pada_options *options)
{
    export *x = self;

    PADA_TRY(pada_options_bind(options, options_table, x));
    return pada_run_args_bind(options, &x->run_args);
}

/* ---- the model ---- */

/* The network of a supernet, with statistics of training images. */
static pada_status enter_network(export *x, const char *run)
{
    pada_supernet *net = &x->net;
    pada_model_about *about = &x->model.about;
    pada_evaluation result;
    int member;

    PADA_TRY(net->space.ops->parse(&net->space, x->arch, x->dialect, &about->path));
    about->space = net->space;
    about->resize = (pada_resize)net->args.images.resize;
    about->crops = (pada_crops)net->args.images.crops;
    about->eval_crop = net->args.images.eval_crop;
    PADA_TRY(pada_data_card_read(&about->card, run));
    if (!about->card.json)
        return PADA_FAIL(PADA_ENOENT, "%s: no " PADA_DATA_CARD_FILE " in it", run);
    PADA_TRY(pada_supernet_load(net, 0, 1));
    if (net->family) {
        PADA_TRY(pada_family_find(net->family, &about->path, &member));
        PADA_TRY(pada_family_enter(net->family, member, net->workers[0].engine));
    }
    PADA_TRY(pada_evaluator_run(net->workers[0].evaluator, net->workers[0].engine, &about->path,
                                NULL, &result));
    about->top1 = 100.0 * result.top1 / result.n_images;
    x->engine = net->workers[0].engine;
    return PADA_OK;
}

static pada_status open_supernet(export *x, const pada_options *options, const char *run)
{
    pada_run_args args = x->run_args;

    if (!x->arch)
        return PADA_FAIL(PADA_EINVAL, "%s: a supernet; say which network: give --arch STRING", run);
    args.statistics = 1 + PADA_STATISTICS_RECALIBRATED;
    PADA_TRY(pada_supernet_open(&x->net, &args, options, run));
    return enter_network(x, run);
}

static pada_status open_network(export *x, const pada_options *options, const char *where)
{
    if (pada_is_supernet(where)) return open_supernet(x, options, where);
    if (x->arch)
        return PADA_FAIL(PADA_EINVAL, "%s: one network, which has no use for --arch", where);
    PADA_TRY(pada_trained_open(&x->model, where, &x->run_args.engine, 1));
    x->engine = x->model.engine;
    return PADA_OK;
}

static pada_status export_model(export *x, const pada_options *options)
{
    const pada_export_order order = {.format = x->to,
                                     .file = x->out,
                                     .name = x->name,
                                     .weights_file = x->weights_file,
                                     .fold_norms = x->fold_norms,
                                     .normalise = x->normalise};

    if (pada_options_n_words(options) != 1)
        return PADA_FAIL(PADA_EINVAL, "give one model or run folder; see `pada help export`");
    if (!x->out) return PADA_FAIL(PADA_EINVAL, "no file to write: give --out FILE");
    PADA_TRY(pada_export_check(&order));
    PADA_TRY(open_network(x, options, pada_options_word(options, 0)));
    snprintf(x->model.about.program, sizeof x->model.about.program, "pada %s", pada_version());
    return pada_export_write(&order, &x->model.about, x->engine);
}

static pada_status run(void *self, const pada_options *options)
{
    export *x = self;
    const pada_status st = export_model(x, options);

    pada_trained_close(&x->model);
    pada_supernet_close(&x->net);
    return st;
}

const pada_command pada_command_export = {
    .name = "export",
    .summary = "write a trained network for other programs: ONNX, PyTorch, C",
    .details =
        "A model is a file that pada wrote, or the run folder of a network that was trained alone. Of "
        "a supernet, --arch says which network; its batch norms get statistics of training images "
        "(--statistics-images).",
    .usage = "pada export MODEL --to FORMAT --out FILE [options]",
    .words = "RUN|FILE.safetensors",
    .examples = "pada export runs/final --to onnx --out net.onnx\n"
                "pada export net.safetensors --to c --out net.c --normalise\n"
                "pada export runs/a --arch 3,3,3,3,3,3 --arch-dialect list --to safetensors "
                "--out net.safetensors",
    .state_bytes = sizeof(export),
    PADA_SPACE_ARGS(export, run_args.space),
    .bind = bind,
    .run = run,
};
