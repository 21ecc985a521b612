/* export_torch.c - a module of PyTorch for this one network, in Python, and its weights in a file beside it.
 *
 * Layers are called by what they are and their number; a comment has the name in the state_dict of the space. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "model/export.h"

#define WEIGHTS_END ".safetensors"

/* The attribute of a layer with tensors; NULL: it has none. */
static const char *attribute(const pada_layer *layer)
{
    switch (layer->kind) {
    case PADA_LAYER_CONV: return "conv";
    case PADA_LAYER_NORM: return "norm";
    case PADA_LAYER_LINEAR: return "linear";
    case PADA_LAYER_CONSTANT: return "constant";
    default: return NULL;
    }
}

/* ---- weights ---- */

typedef struct tensors {
    pada_state *state;
    int layer;
    const char *attribute;
} tensors;

static void add_tensor(const tensors *t, const char *leaf, const float *data, const int *dims,
                       int n_dims)
{
    char name[64];

    if (!data) return;
    snprintf(name, sizeof name, "%s%d%s", t->attribute, t->layer, leaf);
    pada_state_tensor(t->state, name, PADA_STATE_F32, dims, n_dims, (void *)data);
}

static void add_tensors(const tensors *t, const pada_net_list *net, const pada_layer *layer)
{
    const int c = layer->shape.c, k = layer->conv.kernel;
    const int fan = layer->kind == PADA_LAYER_CONV ? layer->conv.c_in / layer->conv.groups
                                                   : (int)(pada_layer_weights(net, layer) / c);
    const int constant[] = {1, c, 1, 1}, weight[] = {c, fan, k, k};
    const int n_dims[] = {[PADA_LAYER_CONV] = 4, [PADA_LAYER_LINEAR] = 2, [PADA_LAYER_NORM] = 1};

    if (layer->kind == PADA_LAYER_CONSTANT) {
        add_tensor(t, "", layer->bias, constant, 4);
        return;
    }
    add_tensor(t, ".weight", layer->weight, weight, n_dims[layer->kind]);
    add_tensor(t, ".bias", layer->bias, &c, 1);
    add_tensor(t, ".running_mean", layer->mean, &c, 1);
    add_tensor(t, ".running_var", layer->variance, &c, 1);
}

static pada_status write_weights(const pada_export_desc *desc, const char *file)
{
    pada_state *state;

    PADA_TRY(pada_state_create(&state));
    pada_state_note(state, "format", "pt");
    for (int i = 0; i < desc->net->n_layers; i++) {
        const pada_layer *layer = &desc->net->layers[i];
        const tensors t = {.state = state, .layer = i, .attribute = attribute(layer)};
        if (t.attribute) add_tensors(&t, desc->net, layer);
    }
    const pada_status st = pada_state_write(state, file);
    pada_state_destroy(state);
    return st;
}

/* ---- the module ---- */

static void declare(const pada_export_desc *desc, int i, pada_text *out)
{
    const pada_layer *layer = &desc->net->layers[i];
    const pada_conv *conv = &layer->conv;
    const int c = layer->shape.c;

    switch (layer->kind) {
    case PADA_LAYER_CONV:
        pada_text_add(out, "        self.conv%d = nn.Conv2d(%d, %d, %d", i, conv->c_in, conv->c_out,
                      conv->kernel);
        if (conv->stride != 1) pada_text_add(out, ", stride=%d", conv->stride);
        if (conv->pad != 0) pada_text_add(out, ", padding=%d", conv->pad);
        if (conv->dilation != 1) pada_text_add(out, ", dilation=%d", conv->dilation);
        if (conv->groups != 1) pada_text_add(out, ", groups=%d", conv->groups);
        pada_text_add(out, "%s)  # %s\n", layer->bias ? "" : ", bias=False", layer->module);
        break;
    case PADA_LAYER_NORM:
        pada_text_add(out, "        self.norm%d = nn.BatchNorm2d(%d, eps=%g)  # %s\n", i, c,
                      layer->epsilon, layer->module);
        break;
    case PADA_LAYER_LINEAR:
        pada_text_add(out, "        self.linear%d = nn.Linear(%d, %d)  # %s\n", i,
                      (int)(pada_layer_weights(desc->net, layer) / c), c, layer->module);
        break;
    case PADA_LAYER_CONSTANT:
        pada_text_add(
            out, "        self.register_buffer(\"constant%d\", torch.zeros(1, %d, 1, 1))\n", i, c);
        break;
    default: break;
    }
}

/* What a layer computes of values x0, x1, ..; the images are x0. */
static void add_expression(const pada_export_desc *desc, int i, pada_text *out)
{
    const pada_net_list *net = desc->net;
    const pada_layer *layer = &net->layers[i];
    const int x = layer->n_inputs > 0 ? pada_net_input(net, layer, 0) : 0;
    const int s = layer->n_inputs > 1 ? pada_net_input(net, layer, 1) : 0;
    const pada_pool *pool = &layer->pool;

    switch (layer->kind) {
    case PADA_LAYER_CONV:
        pada_text_add(out, "self.conv%d(x%d", i, x);
        if (layer->conv.offset > 0)
            pada_text_add(out, "[:, :, %d:, %d:]", layer->conv.offset, layer->conv.offset);
        pada_text_add(out, ")");
        break;
    case PADA_LAYER_NORM: pada_text_add(out, "self.norm%d(x%d)", i, x); break;
    case PADA_LAYER_ACT:
        pada_text_add(out, "F.%s(x%d)", layer->act == PADA_ACT_RELU ? "relu" : "relu6", x);
        break;
    case PADA_LAYER_AVGPOOL:
        pada_text_add(out, "F.avg_pool2d(x%d, %d, %d, %d, count_include_pad=False)", x,
                      pool->kernel, pool->stride, pool->pad);
        break;
    case PADA_LAYER_MAXPOOL:
        pada_text_add(out, "F.max_pool2d(x%d, %d, %d, %d)", x, pool->kernel, pool->stride,
                      pool->pad);
        break;
    case PADA_LAYER_SUM: pada_text_add(out, "x%d + x%d", x, s); break;
    case PADA_LAYER_CONCAT:
        pada_text_add(out, "torch.cat([");
        for (int k = 0; k < layer->n_inputs; k++)
            pada_text_add(out, "%sx%d", k > 0 ? ", " : "", pada_net_input(net, layer, k));
        pada_text_add(out, "], 1)");
        break;
    case PADA_LAYER_CONSTANT:
        pada_text_add(out, "self.constant%d.expand(x0.shape[0], -1, %d, %d)", i, layer->shape.h,
                      layer->shape.w);
        break;
    case PADA_LAYER_GAP: pada_text_add(out, "x%d.mean((2, 3), keepdim=True)", x); break;
    case PADA_LAYER_GATE: pada_text_add(out, "x%d * torch.sigmoid(x%d)", x, s); break;
    case PADA_LAYER_LINEAR: pada_text_add(out, "self.linear%d(torch.flatten(x%d, 1))", i, x); break;
    case PADA_LAYER_INPUT: break;
    }
}

static void add_class(const pada_export_desc *desc, pada_text *out)
{
    const int last = desc->net->n_layers - 1;

    pada_text_add(out,
                  "class %s(nn.Module):\n"
                  "    def __init__(self):\n"
                  "        super().__init__()\n",
                  desc->name);
    for (int i = 0; i <= last; i++)
        declare(desc, i, out);
    pada_text_add(out, "\n    def forward(self, x0):\n");
    for (int i = 1; i <= last; i++) {
        pada_text_add(out, i < last ? "        x%d = " : "        return ", i);
        add_expression(desc, i, out);
        pada_text_add(out, "\n");
    }
}

/* Reads a safetensors file with what PyTorch has. */
static const char loader[] =
    "def load(path=os.path.join(os.path.dirname(os.path.abspath(__file__)), WEIGHTS)):\n"
    "    \"\"\"The network with its weights, ready to use.\"\"\"\n"
    "    with open(path, \"rb\") as file:\n"
    "        header = json.loads(file.read(int.from_bytes(file.read(8), \"little\")))\n"
    "        data = bytearray(file.read())\n"
    "    header.pop(\"__metadata__\", None)\n"
    "    state = {}\n"
    "    for name, about in header.items():\n"
    "        first, end = about[\"data_offsets\"]\n"
    "        tensor = torch.frombuffer(data, dtype=torch.float32, count=(end - first) // 4, offset=first)\n"
    "        state[name] = tensor.reshape(about[\"shape\"])\n"
    "    network = %s()\n"
    "    network.load_state_dict(state)\n"
    "    return network.eval()\n";

/* The last part of a path, as a literal of Python. */
static void add_file_name(pada_text *out, const char *path)
{
    const char *slash = strrchr(path, '/');

    pada_text_add(out, "\"");
    for (const char *p = slash ? slash + 1 : path; *p; p++)
        pada_text_add(out, *p == '"' || *p == '\\' ? "\\%c" : "%c", *p);
    pada_text_add(out, "\"");
}

static void add_module(const pada_export_desc *desc, const char *weights, pada_text *out)
{
    const pada_data_card *card = &desc->about->card;

    pada_text_add(out, "# ");
    pada_export_title(desc, out);
    pada_text_add(out, "; made by %s\n", desc->about->program);
    pada_text_add(out, "# input [N, 3, %d, %d]: %s; output: logits [N, %d]\n",
                  desc->net->layers[0].shape.h, desc->net->layers[0].shape.w,
                  desc->normalises ? "pixels / 255" : "(pixels / 255 - MEAN) / STD",
                  card->n_classes);
    pada_text_add(out, "import json\nimport os\n\nimport torch\nimport torch.nn.functional as F\n"
                       "from torch import nn\n\nWEIGHTS = ");
    add_file_name(out, weights);
    pada_text_add(out, "  # beside this file\nCLASSES = ");
    (void)pada_export_classes(desc, out); /* the text has its status */
    pada_text_add(out, "\nMEAN = ");
    pada_export_numbers(card->mean, PADA_IMAGE_CHANNELS, out);
    pada_text_add(out, "\nSTD = ");
    pada_export_numbers(card->deviation, PADA_IMAGE_CHANNELS, out);
    pada_text_add(out, "\n\n\n");
    add_class(desc, out);
    pada_text_add(out, "\n\n");
    pada_text_add(out, loader, desc->name);
}

/* Both files or neither: the module is written before weights are replaced, and replaced after them. */
static pada_status write_files(const pada_export_desc *desc, const char *weights)
{
    pada_text text = {0};
    pada_writer *module = NULL;

    add_module(desc, weights, &text);
    pada_status st = text.status;
    if (st == PADA_OK) st = pada_writer_begin(&module, desc->file);
    if (st == PADA_OK) st = pada_writer_write(module, text.data, text.length);
    if (st == PADA_OK) st = write_weights(desc, weights);
    pada_text_deinit(&text);
    if (st == PADA_OK) return pada_writer_commit(module);
    pada_writer_abort(module);
    return st;
}

/* Words of Python, and names that the module has a use for. */
static const char *const reserved[] = {
    "False", "None",     "True",  "and",       "as",      "assert",  "async",  "await",    "break",
    "class", "continue", "def",   "del",       "elif",    "else",    "except", "finally",  "for",
    "from",  "global",   "if",    "import",    "in",      "is",      "lambda", "nonlocal", "not",
    "or",    "pass",     "raise", "return",    "try",     "while",   "with",   "yield",    "json",
    "os",    "torch",    "F",     "nn",        "WEIGHTS", "CLASSES", "MEAN",   "STD",      "load",
    "super", "open",     "int",   "bytearray", NULL};

/* Weights have a name that nobody chose: they do not replace the module, nor a model of pada, of which they lack all
 * but the tensors. */
static pada_status check_weights_file(const pada_export_desc *desc, const char *weights)
{
    pada_model_about about = {0};

    if (desc->weights_file) return PADA_OK;
    if (strcmp(weights, desc->file) == 0)
        return PADA_FAIL(PADA_EINVAL,
                         "%s: would be the module and its weights; call the module %.*s.py",
                         weights, (int)(strlen(weights) - strlen(WEIGHTS_END)), weights);
    const bool is_model = pada_path_exists(weights) && pada_model_read(&about, weights) == PADA_OK;
    pada_model_about_deinit(&about);
    if (!is_model) return PADA_OK;
    return PADA_FAIL(PADA_EINVAL,
                     "%s: a model, which the weights of the module would replace; say where they "
                     "go (--weights-file FILE)",
                     weights);
}

static pada_status write_torch(const pada_export_desc *desc)
{
    const char *dot = strrchr(desc->file, '.'), *slash = strrchr(desc->file, '/');
    const int stem =
        (int)(dot && (!slash || dot > slash) ? (size_t)(dot - desc->file) : strlen(desc->file));
    pada_text weights = {0};

    pada_text_add(&weights, desc->weights_file ? "%.*s" : "%.*s" WEIGHTS_END,
                  desc->weights_file ? (int)strlen(desc->weights_file) : stem,
                  desc->weights_file ? desc->weights_file : desc->file);
    pada_status st = weights.status;
    if (st == PADA_OK) st = check_weights_file(desc, weights.data);
    if (st == PADA_OK) st = write_files(desc, weights.data);
    pada_text_deinit(&weights);
    return st;
}

const pada_export pada_export_torch = {
    .name = "torch",
    .summary = "a module of PyTorch, FILE.py, and its weights beside it, FILE.safetensors",
    .has_weights_file = true,
    .reserved = reserved,
    .write = write_torch,
};
