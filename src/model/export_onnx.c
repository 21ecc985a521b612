/* export_onnx.c - ONNX, operator set 13: what inference engines read.
 *
 * Input "input" [N, 3, H, W], output "logits" [N, classes]. Initialisers have the names of PyTorch's state_dict, values
 * the number of their layer. Numbers of fields are those of onnx.proto. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/protobuf.h"
#include "model/export.h"

#define OPERATOR_SET 13
#define IR_VERSION   7

enum { ATTRIBUTE_FLOAT = 1, ATTRIBUTE_INT = 2, ATTRIBUTE_INTS = 7 };
enum { TYPE_FLOAT = 1, TYPE_INT64 = 7 };

#define VALUE_BYTES 32

/* The graph while it is made. */
typedef struct writer {
    const pada_export_desc *desc;
    pada_text graph;  /* GraphProto */
    bool has_limits;  /* of ReLU6 */
    bool has_nothing; /* "nothing" is there: zeros [N, 1, 1, 1] */
} writer;

static void add_string(pada_text *out, int field, const char *text)
{
    pada_pb_bytes(out, field, text, strlen(text));
}

/* ---- initialisers ---- */

static void add_tensor(writer *w, const char *name, int type, const int64_t *dims, int n_dims,
                       const void *data, size_t bytes)
{
    pada_text tensor = {0};

    for (int i = 0; i < n_dims; i++)
        pada_pb_int(&tensor, 1, dims[i]);
    pada_pb_int(&tensor, 2, type);
    add_string(&tensor, 8, name);
    pada_pb_bytes(&tensor, 9, data, bytes);
    pada_pb_message(&w->graph, 5, &tensor);
}

static void add_vector(writer *w, const pada_layer *layer, const char *leaf, const float *values)
{
    const int64_t n = layer->shape.c;
    char name[128];

    snprintf(name, sizeof name, "%s.%s", layer->module, leaf);
    add_tensor(w, name, TYPE_FLOAT, &n, 1, values, (size_t)n * sizeof *values);
}

static void add_weight(writer *w, const pada_layer *layer, const int64_t *dims, int n_dims)
{
    const int64_t n = pada_layer_weights(w->desc->net, layer);
    char name[128];

    snprintf(name, sizeof name, "%s.weight", layer->module);
    add_tensor(w, name, TYPE_FLOAT, dims, n_dims, layer->weight, (size_t)n * sizeof(float));
}

static void add_ints_tensor(writer *w, const char *name, const int64_t *values, int n)
{
    const int64_t dim = n;

    add_tensor(w, name, TYPE_INT64, &dim, 1, values, (size_t)n * sizeof *values);
}

/* ---- attributes ---- */

static void add_int(pada_text *node, const char *name, int64_t value)
{
    pada_text attribute = {0};

    add_string(&attribute, 1, name);
    pada_pb_int(&attribute, 3, value);
    pada_pb_int(&attribute, 20, ATTRIBUTE_INT);
    pada_pb_message(node, 5, &attribute);
}

static void add_float(pada_text *node, const char *name, double value)
{
    pada_text attribute = {0};

    add_string(&attribute, 1, name);
    pada_pb_float(&attribute, 2, (float)value);
    pada_pb_int(&attribute, 20, ATTRIBUTE_FLOAT);
    pada_pb_message(node, 5, &attribute);
}

/* n times the same number. */
static void add_ints(pada_text *node, const char *name, int value, int n)
{
    pada_text attribute = {0};

    add_string(&attribute, 1, name);
    for (int i = 0; i < n; i++)
        pada_pb_int(&attribute, 8, value);
    pada_pb_int(&attribute, 20, ATTRIBUTE_INTS);
    pada_pb_message(node, 5, &attribute);
}

/* ---- nodes ---- */

/* The name of the value of a layer. */
static const char *value_name(const writer *w, int layer, char room[VALUE_BYTES])
{
    if (layer == 0) return "input";
    if (layer == w->desc->net->n_layers - 1) return "logits";
    snprintf(room, VALUE_BYTES, "v%d", layer);
    return room;
}

/* Begins a node with the operands of a layer. */
static void begin(const writer *w, pada_text *node, const pada_layer *layer)
{
    char room[VALUE_BYTES];

    for (int i = 0; i < layer->n_inputs; i++)
        add_string(node, 1, value_name(w, pada_net_input(w->desc->net, layer, i), room));
}

static void add_operand(pada_text *node, const pada_layer *layer, const char *leaf)
{
    char name[128];

    snprintf(name, sizeof name, "%s.%s", layer->module, leaf);
    add_string(node, 1, name);
}

/* Ends a node, which makes the value of this name. */
static void end(writer *w, pada_text *node, const char *op, const char *value)
{
    add_string(node, 2, value);
    add_string(node, 3, value);
    add_string(node, 4, op);
    pada_pb_message(&w->graph, 1, node);
}

/* The operand of a convolution that leaves out the first rows and columns. */
static void add_slice(writer *w, const pada_layer *layer, const char *value)
{
    const int64_t starts[] = {layer->conv.offset, layer->conv.offset};
    static const int64_t ends[] = {INT32_MAX, INT32_MAX}, axes[] = {2, 3};
    const char *const leaves[] = {"starts", "ends", "axes"};
    const int64_t *const numbers[] = {starts, ends, axes};
    pada_text node = {0};
    char name[128];

    begin(w, &node, layer);
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "%s.%s", layer->module, leaves[i]);
        add_ints_tensor(w, name, numbers[i], 2);
        add_string(&node, 1, name);
    }
    end(w, &node, "Slice", value);
}

static void add_conv(writer *w, const pada_layer *layer, const char *value)
{
    const pada_conv *conv = &layer->conv;
    const int k = conv->kernel;
    const int64_t dims[] = {conv->c_out, conv->c_in / conv->groups, k, k};
    pada_text node = {0};
    char sliced[VALUE_BYTES + 8];

    snprintf(sliced, sizeof sliced, "%s.x", value);
    if (conv->offset > 0) {
        add_slice(w, layer, sliced);
        add_string(&node, 1, sliced);
    } else {
        begin(w, &node, layer);
    }
    add_weight(w, layer, dims, 4);
    add_operand(&node, layer, "weight");
    if (layer->bias) {
        add_vector(w, layer, "bias", layer->bias);
        add_operand(&node, layer, "bias");
    }
    add_ints(&node, "kernel_shape", k, 2);
    add_ints(&node, "strides", conv->stride, 2);
    add_ints(&node, "pads", conv->pad, 4);
    add_ints(&node, "dilations", conv->dilation, 2);
    add_int(&node, "group", conv->groups);
    end(w, &node, "Conv", value);
}

static void add_norm(writer *w, const pada_layer *layer, const char *value)
{
    const char *const leaves[] = {"weight", "bias", "running_mean", "running_var"};
    const float *const vectors[] = {layer->weight, layer->bias, layer->mean, layer->variance};
    pada_text node = {0};

    begin(w, &node, layer);
    for (int i = 0; i < 4; i++) {
        add_vector(w, layer, leaves[i], vectors[i]);
        add_operand(&node, layer, leaves[i]);
    }
    add_float(&node, "epsilon", layer->epsilon);
    end(w, &node, "BatchNormalization", value);
}

static void add_act(writer *w, const pada_layer *layer, const char *value)
{
    static const float limits[] = {0, 6};
    pada_text node = {0};

    begin(w, &node, layer);
    if (layer->act == PADA_ACT_RELU) {
        end(w, &node, "Relu", value);
        return;
    }
    if (!w->has_limits) {
        add_tensor(w, "zero", TYPE_FLOAT, NULL, 0, &limits[0], sizeof(float));
        add_tensor(w, "six", TYPE_FLOAT, NULL, 0, &limits[1], sizeof(float));
    }
    w->has_limits = true;
    add_string(&node, 1, "zero");
    add_string(&node, 1, "six");
    end(w, &node, "Clip", value);
}

static void add_pool(writer *w, const pada_layer *layer, const char *value)
{
    const bool is_max = layer->kind == PADA_LAYER_MAXPOOL;
    pada_text node = {0};

    begin(w, &node, layer);
    add_ints(&node, "kernel_shape", layer->pool.kernel, 2);
    add_ints(&node, "strides", layer->pool.stride, 2);
    add_ints(&node, "pads", layer->pool.pad, 4);
    if (!is_max) add_int(&node, "count_include_pad", 0);
    end(w, &node, is_max ? "MaxPool" : "AveragePool", value);
}

/* Zeros [N, 1, 1, 1], which have the number of images from them: one pixel of one channel, times zero. */
static void add_nothing(writer *w)
{
    static const int64_t starts[] = {0, 0, 0}, ends[] = {1, 1, 1}, axes[] = {1, 2, 3};
    static const float zero = 0;
    pada_text slice = {0}, product = {0};

    if (w->has_nothing) return;
    w->has_nothing = true;
    add_ints_tensor(w, "first.starts", starts, 3);
    add_ints_tensor(w, "first.ends", ends, 3);
    add_ints_tensor(w, "first.axes", axes, 3);
    add_string(&slice, 1, "input");
    add_string(&slice, 1, "first.starts");
    add_string(&slice, 1, "first.ends");
    add_string(&slice, 1, "first.axes");
    end(w, &slice, "Slice", "first");
    add_tensor(w, "nought", TYPE_FLOAT, NULL, 0, &zero, sizeof zero);
    add_string(&product, 1, "first");
    add_string(&product, 1, "nought");
    end(w, &product, "Mul", "nothing");
}

static void add_constant(writer *w, const pada_layer *layer, const char *value)
{
    const int64_t dims[] = {1, layer->shape.c, 1, 1};
    const int64_t whole[] = {1, layer->shape.c, layer->shape.h, layer->shape.w};
    pada_text expand = {0}, sum = {0};
    char name[VALUE_BYTES + 16];

    add_nothing(w);
    snprintf(name, sizeof name, "%s.values", value);
    add_tensor(w, name, TYPE_FLOAT, dims, 4, layer->bias,
               (size_t)layer->shape.c * sizeof *layer->bias);
    add_string(&expand, 1, name);
    snprintf(name, sizeof name, "%s.shape", value);
    add_ints_tensor(w, name, whole, 4);
    add_string(&expand, 1, name);
    snprintf(name, sizeof name, "%s.whole", value);
    end(w, &expand, "Expand", name);
    add_string(&sum, 1, name);
    add_string(&sum, 1, "nothing");
    end(w, &sum, "Add", value);
}

static void add_gate(writer *w, const pada_layer *layer, const char *value)
{
    pada_text sigmoid = {0}, product = {0};
    char room[VALUE_BYTES], name[VALUE_BYTES + 16];

    snprintf(name, sizeof name, "%s.gate", value);
    add_string(&sigmoid, 1, value_name(w, pada_net_input(w->desc->net, layer, 1), room));
    end(w, &sigmoid, "Sigmoid", name);
    add_string(&product, 1, value_name(w, pada_net_input(w->desc->net, layer, 0), room));
    add_string(&product, 1, name);
    end(w, &product, "Mul", value);
}

static void add_linear(writer *w, const pada_layer *layer, const char *value)
{
    const int64_t n = pada_layer_weights(w->desc->net, layer);
    const int64_t dims[] = {layer->shape.c, n / layer->shape.c};
    pada_text flatten = {0}, node = {0};
    char name[VALUE_BYTES + 16];

    snprintf(name, sizeof name, "%s.x", value);
    begin(w, &flatten, layer);
    add_int(&flatten, "axis", 1);
    end(w, &flatten, "Flatten", name);
    add_weight(w, layer, dims, 2);
    add_vector(w, layer, "bias", layer->bias);
    add_string(&node, 1, name);
    add_operand(&node, layer, "weight");
    add_operand(&node, layer, "bias");
    add_int(&node, "transB", 1);
    end(w, &node, "Gemm", value);
}

/* A layer that is one node without anything of its own. */
static void add_plain(writer *w, const pada_layer *layer, const char *op, const char *value)
{
    pada_text node = {0};

    begin(w, &node, layer);
    if (layer->kind == PADA_LAYER_CONCAT) add_int(&node, "axis", 1);
    end(w, &node, op, value);
}

static void add_layer(writer *w, int i)
{
    const pada_layer *layer = &w->desc->net->layers[i];
    char room[VALUE_BYTES];
    const char *value = value_name(w, i, room);

    switch (layer->kind) {
    case PADA_LAYER_INPUT: break;
    case PADA_LAYER_CONV: add_conv(w, layer, value); break;
    case PADA_LAYER_NORM: add_norm(w, layer, value); break;
    case PADA_LAYER_ACT: add_act(w, layer, value); break;
    case PADA_LAYER_AVGPOOL:
    case PADA_LAYER_MAXPOOL: add_pool(w, layer, value); break;
    case PADA_LAYER_SUM: add_plain(w, layer, "Add", value); break;
    case PADA_LAYER_CONCAT: add_plain(w, layer, "Concat", value); break;
    case PADA_LAYER_CONSTANT: add_constant(w, layer, value); break;
    case PADA_LAYER_GAP: add_plain(w, layer, "GlobalAveragePool", value); break;
    case PADA_LAYER_GATE: add_gate(w, layer, value); break;
    case PADA_LAYER_LINEAR: add_linear(w, layer, value); break;
    }
}

/* ---- the model ---- */

/* An input (11) or output (12) of the graph: N, then the other dims. */
static void add_value_info(writer *w, int field, const char *name, const int *dims, int n_dims)
{
    pada_text info = {0}, type = {0}, tensor = {0}, shape = {0}, batch = {0};

    add_string(&batch, 2, "N");
    pada_pb_message(&shape, 1, &batch);
    for (int i = 0; i < n_dims; i++) {
        pada_text dim = {0};
        pada_pb_int(&dim, 1, dims[i]);
        pada_pb_message(&shape, 1, &dim);
    }
    pada_pb_int(&tensor, 1, TYPE_FLOAT);
    pada_pb_message(&tensor, 2, &shape);
    pada_pb_message(&type, 1, &tensor);
    add_string(&info, 1, name);
    pada_pb_message(&info, 2, &type);
    pada_pb_message(&w->graph, field, &info);
}

/* Adds a pair of metadata; the text is given back. */
static void add_property(pada_text *model, const char *key, pada_text *value)
{
    pada_text pair = {0};

    add_string(&pair, 1, key);
    add_string(&pair, 2, pada_text_str(value));
    if (value->status != PADA_OK && model->status == PADA_OK) model->status = value->status;
    pada_text_deinit(value);
    pada_pb_message(model, 14, &pair);
}

static void add_properties(const pada_export_desc *desc, pada_text *model)
{
    const pada_model_about *about = desc->about;
    const pada_space *space = &about->space;
    pada_text arch = {0}, flags = {0}, data = {0}, classes = {0}, mean = {0}, deviation = {0};
    pada_text size = {0}, top1 = {0}, input = {0};

    const pada_status st = space->ops->format(space, &about->path, space->ops->dialects[0], &arch);
    if (st != PADA_OK) arch.status = st;
    add_property(model, "arch", &arch);
    pada_space_flags(space, &flags);
    add_property(model, "space", &flags);
    pada_text_add(&data, "%s", about->card.name);
    add_property(model, "dataset", &data);
    (void)pada_export_classes(desc, &classes); /* the text has its status */
    add_property(model, "classes", &classes);
    pada_export_numbers(about->card.mean, PADA_IMAGE_CHANNELS, &mean);
    add_property(model, "mean", &mean);
    pada_export_numbers(about->card.deviation, PADA_IMAGE_CHANNELS, &deviation);
    add_property(model, "std", &deviation);
    pada_text_add(&size, "%d", space->config.image_size);
    add_property(model, "image_size", &size);
    pada_text_add(&input, "%s", desc->normalises ? "pixels / 255" : "(pixels / 255 - mean) / std");
    add_property(model, "input", &input);
    if (about->top1 > 0) {
        pada_text_add_double(&top1, about->top1);
        add_property(model, "top1", &top1);
    }
}

static void make_graph(writer *w)
{
    const pada_net_list *net = w->desc->net;
    const pada_shape in = net->layers[0].shape;
    const int image[] = {in.c, in.h, in.w};

    for (int i = 0; i < net->n_layers; i++)
        add_layer(w, i);
    add_string(&w->graph, 2, w->desc->name);
    add_value_info(w, 11, "input", image, 3);
    add_value_info(w, 12, "logits", &net->layers[net->n_layers - 1].shape.c, 1);
}

static pada_status write_onnx(const pada_export_desc *desc)
{
    writer w = {.desc = desc};
    pada_text model = {0}, operators = {0};

    make_graph(&w);
    pada_pb_int(&model, 1, IR_VERSION);
    add_string(&model, 2, "pada");
    add_string(&model, 3, desc->about->program);
    pada_pb_message(&model, 7, &w.graph);
    add_string(&operators, 1, "");
    pada_pb_int(&operators, 2, OPERATOR_SET);
    pada_pb_message(&model, 8, &operators);
    add_properties(desc, &model);
    pada_status st = model.status;
    if (st == PADA_OK) st = pada_file_replace(desc->file, model.data, model.length);
    pada_text_deinit(&model);
    return st;
}

const pada_export pada_export_onnx = {
    .name = "onnx",
    .summary = "ONNX, operator set 13: input [N,3,H,W], output logits [N,classes]",
    .write = write_onnx,
};
