/* export_c.c - one source of C11 that needs nothing but the C library.
 *
 * The source is a table of layers, their weights, and the loops that run the table (export_runtime.c.in). One image is
 * computed at a time, in a static buffer in which values take the place of those that nobody reads any more. */
#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "model/export.h"
#include "model/export_runtime.h"

enum { BLOCK = 16 }; /* output channels that are computed together */

/* A line of the table; the fields are those of the runtime's `layer`. */
typedef struct row {
    const char *op;
    int64_t x, s, y, weight, bias;
    pada_shape in, out;
    int kernel, stride, pad, dilation, groups, first;
} row;

typedef struct writer {
    const pada_export_desc *desc;
    int64_t *places; /* [layers] floats from the start of the work buffer */
    int *last_use;   /* [layers] the last layer that reads it */
    int64_t n_work;
    int n_zeros;    /* channels of the widest value that a convolution reads */
    float *weights; /* in the order of the table, owned */
    int n_weights, cap_weights;
    pada_text table, out;
    pada_status status; /* the first failure of `weights` */
} writer;

/* ---- places ---- */

static void find_last_uses(writer *w)
{
    const pada_net_list *net = w->desc->net;

    for (int i = 0; i < net->n_layers; i++) {
        w->last_use[i] = i;
        for (int k = 0; k < net->layers[i].n_inputs; k++)
            w->last_use[pada_net_input(net, &net->layers[i], k)] = i;
    }
    w->last_use[net->n_layers - 1] = net->n_layers;
}

/* The end of a value that is in use while layer i is computed and overlaps a place; 0: there is none. */
static int64_t end_of_overlap(const writer *w, int i, int64_t first, int64_t n)
{
    const pada_net_list *net = w->desc->net;

    for (int k = 0; k < i; k++) {
        const int64_t end = w->places[k] + pada_shape_count(net->layers[k].shape);
        if (w->last_use[k] >= i && w->places[k] < first + n && first < end) return end;
    }
    return 0;
}

/* An activation takes the place of what it reads, if nobody else needs that. */
static bool is_in_place(const writer *w, int i)
{
    const pada_layer *layer = &w->desc->net->layers[i];

    return layer->kind == PADA_LAYER_ACT &&
           w->last_use[pada_net_input(w->desc->net, layer, 0)] == i;
}

/* Gives every value the first place that is free. */
static void make_places(writer *w)
{
    const pada_net_list *net = w->desc->net;

    for (int i = 0; i < net->n_layers; i++) {
        const int64_t n = pada_shape_count(net->layers[i].shape);
        int64_t place = 0;
        if (is_in_place(w, i))
            place = w->places[pada_net_input(net, &net->layers[i], 0)];
        else
            for (int64_t end; (end = end_of_overlap(w, i, place, n)) > 0;)
                place = end;
        w->places[i] = place;
        if (place + n > w->n_work) w->n_work = place + n;
    }
}

/* ---- weights ---- */

/* Room for n more; NULL after a failure. */
static float *add_weights(writer *w, int64_t n)
{
    void *items = w->weights;

    if (w->status == PADA_OK && n > INT32_MAX - w->n_weights)
        w->status = PADA_FAIL(PADA_EINVAL, "%s: too many weights for C", w->desc->file);
    if (w->status == PADA_OK)
        w->status = pada_grow(&items, &w->cap_weights, w->n_weights + (int)n, sizeof *w->weights);
    if (w->status != PADA_OK) return NULL;
    w->weights = items;
    w->n_weights += (int)n;
    return w->weights + w->n_weights - n;
}

/* Appends a vector; where it is, or -1 if there is none. */
static int64_t add_vector(writer *w, const float *values, int n)
{
    const int64_t at = w->n_weights;
    float *to = values ? add_weights(w, n) : NULL;

    if (to) memcpy(to, values, (size_t)n * sizeof *to);
    return values ? at : -1;
}

/* [out, in, taps] becomes, for each group and block of BLOCK outputs, [taps, in, BLOCK]; missing outputs are zero. */
static int64_t add_blocked(writer *w, const float *values, int n_groups, int n_out, int n_in,
                           int n_taps)
{
    const int n_blocks = (n_out + BLOCK - 1) / BLOCK;
    const int64_t at = w->n_weights, block = (int64_t)n_taps * n_in * BLOCK;
    float *to = add_weights(w, n_groups * n_blocks * block);

    for (int o = 0; to && o < n_groups * n_out; o++) {
        const int of_group = o % n_out;
        float *start = to + (o / n_out * n_blocks + of_group / BLOCK) * block + of_group % BLOCK;
        for (int i = 0; i < n_in; i++)
            for (int t = 0; t < n_taps; t++)
                start[((int64_t)t * n_in + i) * BLOCK] =
                    values[((int64_t)o * n_in + i) * n_taps + t];
    }
    return at;
}

/* [channels, taps] becomes [taps, channels]. */
static int64_t add_depthwise(writer *w, const float *values, int n, int n_taps)
{
    const int64_t at = w->n_weights;
    float *to = add_weights(w, (int64_t)n * n_taps);

    for (int c = 0; to && c < n; c++)
        for (int t = 0; t < n_taps; t++)
            to[(int64_t)t * n + c] = values[(int64_t)c * n_taps + t];
    return at;
}

/* A norm as x * factor + shift. */
static void add_norm(writer *w, const pada_layer *norm, row *r)
{
    const int n = norm->shape.c;

    r->weight = w->n_weights;
    r->bias = r->weight + n;
    float *to = add_weights(w, 2 * (int64_t)n);
    for (int c = 0; to && c < n; c++) {
        const double factor = norm->weight[c] / sqrt(norm->variance[c] + norm->epsilon);
        to[c] = (float)factor;
        to[n + c] = (float)(norm->bias[c] - norm->mean[c] * factor);
    }
}

/* ---- the table ---- */

static void add_row(writer *w, const row *r)
{
    pada_text_add(&w->table, "    {%s, %lld, %lld, %lld, %lld, %lld, %d, %d, %d, %d, %d, %d", r->op,
                  (long long)r->x, (long long)r->s, (long long)r->y, (long long)r->weight,
                  (long long)r->bias, r->in.c, r->in.h, r->in.w, r->out.c, r->out.h, r->out.w);
    pada_text_add(&w->table, ", %d, %d, %d, %d, %d, %d},\n", r->kernel, r->stride, r->pad,
                  r->dilation, r->groups, r->first);
}

static void add_conv(writer *w, const pada_layer *layer, row *r)
{
    const pada_conv *conv = &layer->conv;

    r->kernel = conv->kernel;
    r->stride = conv->stride;
    r->pad = conv->pad;
    r->dilation = conv->dilation;
    r->groups = conv->groups;
    r->first = conv->offset;
    const int n_taps = conv->kernel * conv->kernel;
    if (pada_conv_grouping(conv) == PADA_DEPTHWISE) {
        r->op = "DEPTHWISE";
        r->weight = add_depthwise(w, layer->weight, conv->c_out, n_taps);
    } else {
        r->weight = add_blocked(w, layer->weight, conv->groups, conv->c_out / conv->groups,
                                conv->c_in / conv->groups, n_taps);
        if (conv->c_in > w->n_zeros) w->n_zeros = conv->c_in;
    }
    r->bias = add_vector(w, layer->bias, conv->c_out);
}

/* A linear layer is a convolution of one pixel. */
static void add_linear(writer *w, const pada_layer *layer, row *r)
{
    r->kernel = r->stride = r->dilation = r->groups = 1;
    r->weight = add_blocked(w, layer->weight, 1, r->out.c, r->in.c, 1);
    if (r->in.c > w->n_zeros) w->n_zeros = r->in.c;
    r->bias = add_vector(w, layer->bias, r->out.c);
}

/* One row for each part. */
static void add_concat(writer *w, const pada_layer *layer, row *r)
{
    const pada_net_list *net = w->desc->net;

    for (int k = 0; k < layer->n_inputs; k++) {
        const int part = pada_net_input(net, layer, k);
        r->x = w->places[part];
        r->in = net->layers[part].shape;
        add_row(w, r);
        r->first += r->in.c;
    }
}

static const char *op_of(const pada_layer *layer)
{
    static const char *const names[] = {
        [PADA_LAYER_CONV] = "CONV",         [PADA_LAYER_NORM] = "NORM",
        [PADA_LAYER_AVGPOOL] = "AVGPOOL",   [PADA_LAYER_MAXPOOL] = "MAXPOOL",
        [PADA_LAYER_SUM] = "SUM",           [PADA_LAYER_CONCAT] = "PART",
        [PADA_LAYER_CONSTANT] = "CONSTANT", [PADA_LAYER_GAP] = "GAP",
        [PADA_LAYER_GATE] = "GATE",         [PADA_LAYER_LINEAR] = "CONV"};

    if (layer->kind == PADA_LAYER_ACT) return layer->act == PADA_ACT_RELU ? "RELU" : "RELU6";
    return names[layer->kind];
}

static void add_layer(writer *w, int i)
{
    const pada_net_list *net = w->desc->net;
    const pada_layer *layer = &net->layers[i];
    const int x = layer->n_inputs > 0 ? pada_net_input(net, layer, 0) : i;
    row r = {.op = op_of(layer),
             .x = w->places[x],
             .y = w->places[i],
             .weight = -1,
             .bias = -1,
             .in = net->layers[x].shape,
             .out = layer->shape,
             .kernel = layer->pool.kernel,
             .stride = layer->pool.stride,
             .pad = layer->pool.pad};

    if (layer->n_inputs > 1) r.s = w->places[pada_net_input(net, layer, 1)];
    switch (layer->kind) {
    case PADA_LAYER_CONV: add_conv(w, layer, &r); break;
    case PADA_LAYER_LINEAR: add_linear(w, layer, &r); break;
    case PADA_LAYER_NORM: add_norm(w, layer, &r); break;
    case PADA_LAYER_CONSTANT: r.bias = add_vector(w, layer->bias, layer->shape.c); break;
    case PADA_LAYER_CONCAT: add_concat(w, layer, &r); return;
    default: break;
    }
    add_row(w, &r);
}

/* ---- the source ---- */

/* A string of C; what is not plain becomes an octal escape, also the end of a comment and trigraphs. */
static void add_literal(pada_text *out, const char *text)
{
    pada_text_add(out, "\"");
    for (const unsigned char *p = (const unsigned char *)text; *p; p++)
        pada_text_add(out, *p < 32 || *p > 126 || strchr("\"\\?*", *p) ? "\\%03o" : "%c", *p);
    pada_text_add(out, "\"");
}

static void add_head(writer *w)
{
    const pada_export_desc *desc = w->desc;
    const pada_data_card *card = &desc->about->card;
    const pada_shape in = desc->net->layers[0].shape;
    const char *name = desc->name;

    pada_text_add(&w->out, "/* ");
    pada_export_title(desc, &w->out);
    pada_text_add(&w->out, ".\n * Made by %s. Compile with -O3 and link with -lm.\n *\n",
                  desc->about->program);
    pada_text_add(&w->out,
                  " *   int %s_predict(const float *input, int n, float *logits);\n *\n"
                  " * of n images: input [n, 3, %d, %d] is %s,\n"
                  " * logits [n, %d] are written; 0: done, -1: not. One thread at a time.\n",
                  name, in.h, in.w,
                  desc->normalises ? "pixels / 255" : "(pixels / 255 - mean) / deviation",
                  card->n_classes);
    pada_text_add(&w->out, " * mean ");
    pada_export_numbers(card->mean, PADA_IMAGE_CHANNELS, &w->out);
    pada_text_add(&w->out, ", deviation ");
    pada_export_numbers(card->deviation, PADA_IMAGE_CHANNELS, &w->out);
    if (desc->weights_file)
        pada_text_add(
            &w->out,
            "\n *\n *   int %s_load(const char *file);\n *\n"
            " * reads the weights before that: 0: done, -1: not. Floats of this machine's "
            "byte order,\n * which is little endian.",
            name);
    pada_text_add(&w->out, " */\n#include <math.h>\n%s\n",
                  desc->weights_file ? "#include <stdio.h>\n" : "");
}

static void add_classes(writer *w)
{
    const pada_data_card *card = &w->desc->about->card;
    const char *name = w->desc->name;

    pada_text_add(&w->out, "int %s_predict(const float *input, int n, float *logits);\n", name);
    if (w->desc->weights_file) pada_text_add(&w->out, "int %s_load(const char *file);\n", name);
    if (!pada_data_card_class(card, 0)) return;
    pada_text_add(&w->out, "extern const char *const %s_classes[%d];\n\n", name, card->n_classes);
    pada_text_add(&w->out, "const char *const %s_classes[%d] = {\n", name, card->n_classes);
    for (int i = 0; i < card->n_classes; i++) {
        pada_text_add(&w->out, "    ");
        add_literal(&w->out, pada_data_card_class(card, i));
        pada_text_add(&w->out, ",\n");
    }
    pada_text_add(&w->out, "};\n");
}

static void add_numbers(writer *w)
{
    const int n = w->n_weights;

    pada_text_add(&w->out, "\nenum { BLOCK = %d };\nstatic float work[%lld];\n", BLOCK,
                  (long long)w->n_work);
    pada_text_add(&w->out, "static const float zeros[%d] = {0};\n", w->n_zeros);
    if (w->desc->weights_file) {
        pada_text_add(&w->out, "static float weights[%d];\nstatic int is_loaded;\n", n);
        return;
    }
    pada_text_add(&w->out, "static const float weights[%d] = {", n);
    for (int i = 0; i < n; i++)
        pada_text_add(&w->out, "%s%af,", i % 8 == 0 ? "\n    " : " ", (double)w->weights[i]);
    pada_text_add(&w->out, "\n};\n");
}

static void add_loader(writer *w)
{
    pada_text_add(
        &w->out,
        "int %s_load(const char *file)\n{\n"
        "    const size_t n = sizeof weights / sizeof weights[0];\n"
        "    FILE *in = fopen(file, \"rb\");\n\n"
        "    if (!in) return -1;\n"
        "    is_loaded = fread(weights, sizeof weights[0], n, in) == n && fgetc(in) == EOF;\n"
        "    fclose(in);\n"
        "    return is_loaded ? 0 : -1;\n}\n\n",
        w->desc->name);
}

static void add_predict(writer *w)
{
    const pada_net_list *net = w->desc->net;
    const pada_shape in = net->layers[0].shape;
    const int last = net->n_layers - 1;

    if (w->desc->weights_file) add_loader(w);
    pada_text_add(&w->out,
                  "int %s_predict(const float *input, int n, float *logits)\n{\n"
                  "    const int n_layers = (int)(sizeof layers / sizeof layers[0]);\n\n"
                  "    if (n < 0%s) return -1;\n",
                  w->desc->name, w->desc->weights_file ? " || !is_loaded" : "");
    pada_text_add(&w->out,
                  "    for (; n > 0; n--, input += %lld, logits += %d) {\n"
                  "        for (int c = 0; c < %d; c++)\n"
                  "            for (long i = 0; i < %d; i++)\n"
                  "                work[%lld + i * %d + c] = input[c * %dL + i];\n",
                  (long long)pada_shape_count(in), net->layers[last].shape.c, in.c, in.h * in.w,
                  (long long)w->places[0], in.c, in.h * in.w);
    pada_text_add(&w->out,
                  "        for (int i = 0; i < n_layers; i++)\n"
                  "            run(&layers[i]);\n"
                  "        for (int i = 0; i < %d; i++)\n"
                  "            logits[i] = work[%lld + i];\n"
                  "    }\n    return 0;\n}\n",
                  net->layers[last].shape.c, (long long)w->places[last]);
}

/* Both files or neither: the source is written before weights are replaced, and replaced after them. */
static pada_status replace_files(const writer *w)
{
    const pada_export_desc *desc = w->desc;
    pada_writer *source;

    PADA_TRY(pada_writer_begin(&source, desc->file));
    pada_status st = pada_writer_write(source, w->out.data, w->out.length);
    if (st == PADA_OK && desc->weights_file)
        st = pada_file_replace(desc->weights_file, w->weights,
                               (size_t)w->n_weights * sizeof *w->weights);
    if (st == PADA_OK) return pada_writer_commit(source);
    pada_writer_abort(source);
    return st;
}

static pada_status write_files(writer *w)
{
    const pada_export_desc *desc = w->desc;

    find_last_uses(w);
    make_places(w);
    for (int i = 1; i < desc->net->n_layers; i++)
        add_layer(w, i);
    PADA_TRY(w->status);
    PADA_TRY(w->table.status);
    add_head(w);
    add_classes(w);
    add_numbers(w);
    pada_text_add_bytes(&w->out, pada_export_runtime, pada_export_runtime_bytes);
    pada_text_add(&w->out, "static const layer layers[] = {\n%s};\n\n", pada_text_str(&w->table));
    add_predict(w);
    PADA_TRY(w->out.status);
    return replace_files(w);
}

static pada_status write_c(const pada_export_desc *desc)
{
    const size_t n = (size_t)desc->net->n_layers;
    writer w = {.desc = desc};
    void *places = NULL, *uses = NULL;

    pada_status st = pada_calloc(&places, n, sizeof *w.places);
    if (st == PADA_OK) st = pada_calloc(&uses, n, sizeof *w.last_use);
    w.places = places;
    w.last_use = uses;
    if (st == PADA_OK) st = write_files(&w);
    pada_free(places);
    pada_free(uses);
    pada_free(w.weights);
    pada_text_deinit(&w.table);
    pada_text_deinit(&w.out);
    return st;
}

const pada_export pada_export_c = {
    .name = "c",
    .summary =
        "C11 without dependencies: int NAME_predict(const float *input, int n, float *logits)",
    .has_weights_file = true,
    .write = write_c,
};
