/* net_list.c - a trained network as a list of plain layers. */
#include "model/net_list.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "engine/engine_statistics.h"
#include "engine/engine_weights.h"
#include "space/net.h"

/* The work of a walk through a graph. */
typedef struct maker {
    pada_net_list *net;
    const pada_graph *graph;
    const pada_engine *e;
    const pada_net_options *options;
    int *layer_of;      /* [nodes] the layer with the value of a node; -1: not made */
    int *uses;          /* [nodes] who reads it */
    int (*act_of)[3];   /* [layers of values] the layer with an activation of it; 0: not made */
    double *room;       /* for the largest tensor */
    pada_status status; /* the first failure; later calls do nothing */
} maker;

static void fail(maker *m, pada_status st)
{
    if (m->status == PADA_OK) m->status = st;
}

/* ---- layers ---- */

/* Adds a layer; its index, or 0 after a failure. The pointer that layer_at gives is good until the next add. */
static int add_layer(maker *m, pada_layer_kind kind, pada_shape shape)
{
    pada_net_list *net = m->net;
    void *layers = net->layers;

    if (m->status != PADA_OK) return 0;
    fail(m, pada_grow(&layers, &net->cap_layers, net->n_layers + 1, sizeof *net->layers));
    if (m->status != PADA_OK) return 0;
    net->layers = layers;
    net->layers[net->n_layers] =
        (pada_layer){.kind = kind, .shape = shape, .first_input = net->n_inputs};
    return net->n_layers++;
}

/* Adds an operand to the last layer. */
static void add_input(maker *m, int input)
{
    pada_net_list *net = m->net;
    void *inputs = net->inputs;

    if (m->status != PADA_OK) return;
    fail(m, pada_grow(&inputs, &net->cap_inputs, net->n_inputs + 1, sizeof *net->inputs));
    if (m->status != PADA_OK) return;
    net->inputs = inputs;
    net->inputs[net->n_inputs++] = input;
    net->layers[net->n_layers - 1].n_inputs++;
}

static int add_unary(maker *m, pada_layer_kind kind, pada_shape shape, int input)
{
    const int layer = add_layer(m, kind, shape);

    add_input(m, input);
    return layer;
}

static void make_floats(maker *m, float **out, int64_t n)
{
    void *memory;

    *out = NULL;
    if (m->status == PADA_OK) fail(m, pada_calloc(&memory, (size_t)n, sizeof **out));
    if (m->status == PADA_OK) *out = memory;
}

/* n equal numbers. */
static void fill(maker *m, float **out, int n, float value)
{
    make_floats(m, out, n);
    for (int i = 0; *out && i < n; i++)
        (*out)[i] = value;
}

/* ---- tensors of the engine ---- */

/* The tensor that begins at an offset of a map. */
static int find_at(const pada_params *map, int64_t offset)
{
    for (int i = 0; i < pada_params_count(map); i++)
        if (pada_params_get(map, i)->offset == offset) return i;
    PADA_ASSERT(!"a tensor of the graph");
    return -1;
}

static void take_weight(maker *m, float **out, int64_t offset)
{
    const pada_params *map = pada_engine_params(m->e);
    const int id = find_at(map, offset);
    const int64_t n = pada_params_get(map, id)->count;

    make_floats(m, out, n);
    if (!*out) return;
    pada_engine_read_weight(m->e, id, m->room);
    for (int64_t i = 0; i < n; i++)
        (*out)[i] = (float)m->room[i];
}

static void take_statistic(maker *m, float **out, int64_t offset)
{
    const pada_params *map = pada_engine_statistics_map(m->e);
    const int id = find_at(map, offset);
    const int64_t n = pada_params_get(map, id)->count;

    make_floats(m, out, n);
    if (!*out) return;
    pada_engine_read_statistic(m->e, id, m->room);
    for (int64_t i = 0; i < n; i++)
        (*out)[i] = (float)m->room[i];
}

/* The module of the tensor at an offset: its name without the last part. */
static void name_module(pada_layer *layer, const pada_params *map, int64_t offset)
{
    const char *name = pada_params_get(map, find_at(map, offset))->name;
    const char *dot = strrchr(name, '.');

    snprintf(layer->module, sizeof layer->module, "%.*s", (int)(dot - name), name);
}

/* ---- nodes ---- */

/* The value of a layer through an activation, made once. */
static int activate(maker *m, int x, pada_act act)
{
    if (act == PADA_ACT_NONE || m->status != PADA_OK) return x;
    if (m->act_of[x][act] > 0) return m->act_of[x][act];
    const int layer = add_unary(m, PADA_LAYER_ACT, m->net->layers[x].shape, x);
    if (m->status != PADA_OK) return 0;
    m->net->layers[layer].act = act;
    m->act_of[x][act] = layer;
    return layer;
}

static int add_conv(maker *m, const pada_node *node)
{
    const int x = activate(m, m->layer_of[node->x], node->conv.act);
    const int layer = add_unary(m, PADA_LAYER_CONV, node->shape, x);

    if (m->status != PADA_OK) return 0;
    pada_layer *conv = &m->net->layers[layer];
    conv->conv = node->conv;
    conv->conv.act = PADA_ACT_NONE;
    name_module(conv, pada_engine_params(m->e), node->weight);
    take_weight(m, &conv->weight, node->weight);
    if (node->bias >= 0) take_weight(m, &conv->bias, node->bias);
    return layer;
}

/* Zeros of some channels, or one number for each. */
static int add_constant(maker *m, pada_shape shape, int64_t values)
{
    const int layer = add_layer(m, PADA_LAYER_CONSTANT, shape);

    if (m->status != PADA_OK) return 0;
    if (values >= 0)
        take_weight(m, &m->net->layers[layer].bias, values);
    else
        fill(m, &m->net->layers[layer].bias, shape.c, 0);
    return layer;
}

/* Multiplies the norm into its convolution. */
static void fold(maker *m, pada_layer *conv, const pada_layer *norm)
{
    const int64_t per_output = pada_conv_weights(&conv->conv) / conv->conv.c_out;

    if (!conv->bias) fill(m, &conv->bias, conv->conv.c_out, 0);
    if (m->status != PADA_OK) return;
    for (int c = 0; c < conv->conv.c_out; c++) {
        const double factor = norm->weight[c] / sqrt(norm->variance[c] + norm->epsilon);
        for (int64_t k = c * per_output; k < (c + 1) * per_output; k++)
            conv->weight[k] = (float)(conv->weight[k] * factor);
        conv->bias[c] = (float)(norm->bias[c] + ((double)conv->bias[c] - norm->mean[c]) * factor);
    }
}

static void free_tensors(pada_layer *layer)
{
    pada_free(layer->weight);
    pada_free(layer->bias);
    pada_free(layer->mean);
    pada_free(layer->variance);
}

/* The numbers of a norm of n channels. */
static void take_norm(maker *m, pada_layer *to, const pada_norm *norm, int n)
{
    to->epsilon = m->graph->norm_epsilon;
    name_module(to, pada_engine_statistics_map(m->e), norm->mean);
    take_statistic(m, &to->mean, norm->mean);
    take_statistic(m, &to->variance, norm->variance);
    if (norm->scale >= 0)
        take_weight(m, &to->weight, norm->scale);
    else
        fill(m, &to->weight, n, 1);
    if (norm->shift >= 0)
        take_weight(m, &to->bias, norm->shift);
    else
        fill(m, &to->bias, n, 0);
}

static int add_norm(maker *m, const pada_term *term)
{
    const int x = m->layer_of[term->x];
    const pada_shape shape = m->graph->nodes[term->x].shape;
    const bool is_folded = m->options->fold_norms && m->uses[term->x] == 1 &&
                           m->graph->nodes[term->x].op == PADA_OP_CONV;
    pada_layer made = {.kind = PADA_LAYER_NORM};
    int layer = x;

    if (!is_folded) layer = add_unary(m, PADA_LAYER_NORM, shape, x);
    if (m->status != PADA_OK) return 0;
    take_norm(m, is_folded ? &made : &m->net->layers[layer], &term->norm, shape.c);
    if (is_folded && m->status == PADA_OK) fold(m, &m->net->layers[x], &made);
    free_tensors(&made);
    return layer;
}

static int add_term(maker *m, const pada_term *term, pada_shape shape)
{
    if (term->kind == PADA_TERM_BATCHNORM) return add_norm(m, term);
    if (term->kind == PADA_TERM_IDENTITY) return m->layer_of[term->x];
    const int layer = add_unary(m, PADA_LAYER_AVGPOOL, shape, m->layer_of[term->x]);
    if (m->status == PADA_OK) m->net->layers[layer].pool = term->pool;
    return layer;
}

static int add_combine(maker *m, const pada_node *node)
{
    const pada_term *terms = &m->graph->terms[node->first_term];
    int sum = add_term(m, &terms[0], node->shape);

    for (int i = 1; i < node->n_terms; i++) {
        const int term = add_term(m, &terms[i], node->shape);
        sum = add_unary(m, PADA_LAYER_SUM, node->shape, sum);
        add_input(m, term);
    }
    return sum;
}

static int add_concat(maker *m, const pada_node *node)
{
    const pada_term *terms = &m->graph->terms[node->first_term];
    int parts[2 * PADA_MAX_CONCAT + 1], n = 0, channel = 0;

    for (int i = 0; i <= node->n_terms; i++) {
        const bool is_end = i == node->n_terms;
        const int next = is_end ? node->shape.c : terms[i].channel;
        pada_shape hole = node->shape;
        hole.c = next - channel;
        if (hole.c > 0) parts[n++] = add_constant(m, hole, -1);
        if (is_end) break;
        parts[n++] = m->layer_of[terms[i].x];
        channel = next + m->graph->nodes[terms[i].x].shape.c;
    }
    const int layer = add_layer(m, PADA_LAYER_CONCAT, node->shape);
    for (int i = 0; i < n; i++)
        add_input(m, parts[i]);
    return layer;
}

static int add_pool(maker *m, const pada_node *node)
{
    const int x = activate(m, m->layer_of[node->x], node->act);
    const int layer =
        add_unary(m, node->pool_kind == PADA_POOL_MAX ? PADA_LAYER_MAXPOOL : PADA_LAYER_AVGPOOL,
                  node->shape, x);

    if (m->status == PADA_OK) m->net->layers[layer].pool = node->pool;
    return layer;
}

static int add_gate(maker *m, const pada_node *node)
{
    const pada_term *terms = &m->graph->terms[node->first_term];
    const int x = activate(m, m->layer_of[terms[0].x], node->act);
    const int layer = add_unary(m, PADA_LAYER_GATE, node->shape, x);

    add_input(m, m->layer_of[terms[1].x]);
    return layer;
}

static int add_linear(maker *m, const pada_node *node)
{
    const pada_params *params = pada_engine_params(m->e);
    const int n_in = pada_params_get(params, find_at(params, node->weight))->dims[1];
    const int x =
        node->x == PADA_ZERO ? add_constant(m, (pada_shape){n_in, 1, 1}, -1) : m->layer_of[node->x];
    const int layer = add_unary(m, PADA_LAYER_LINEAR, node->shape, x);

    if (m->status != PADA_OK) return 0;
    pada_layer *linear = &m->net->layers[layer];
    name_module(linear, params, node->weight);
    take_weight(m, &linear->weight, node->weight);
    take_weight(m, &linear->bias, node->bias);
    return layer;
}

/* The images, normalised if that is asked for. */
static int add_images(maker *m, const pada_model_about *about)
{
    const int size = about->space.config.image_size;
    const pada_shape shape = {PADA_IMAGE_CHANNELS, size, size};
    const pada_data_card *card = &about->card;
    const int input = add_layer(m, PADA_LAYER_INPUT, shape);

    if (!m->options->normalise) return input;
    const int layer = add_unary(m, PADA_LAYER_NORM, shape, input);
    if (m->status != PADA_OK) return 0;
    pada_layer *norm = &m->net->layers[layer];
    snprintf(norm->module, sizeof norm->module, "normalise");
    fill(m, &norm->weight, shape.c, 1);
    fill(m, &norm->bias, shape.c, 0);
    fill(m, &norm->mean, shape.c, 0);
    fill(m, &norm->variance, shape.c, 0);
    for (int c = 0; c < shape.c && m->status == PADA_OK; c++) {
        norm->mean[c] = (float)card->mean[c];
        norm->variance[c] = (float)(card->deviation[c] * card->deviation[c]);
    }
    return layer;
}

static int add_node(maker *m, const pada_node *node)
{
    switch (node->op) {
    case PADA_OP_CONV: return add_conv(m, node);
    case PADA_OP_COMBINE: return add_combine(m, node);
    case PADA_OP_GAP:
        return add_unary(m, PADA_LAYER_GAP, node->shape,
                         activate(m, m->layer_of[node->x], node->act));
    case PADA_OP_LINEAR: return add_linear(m, node);
    case PADA_OP_POOL: return add_pool(m, node);
    case PADA_OP_CONCAT: return add_concat(m, node);
    case PADA_OP_CONSTANT: return add_constant(m, node->shape, node->bias);
    case PADA_OP_GATE: return add_gate(m, node);
    default:
        fail(m, PADA_FAIL(PADA_EINVAL, "operator %s cannot be exported", pada_op_name(node->op)));
        return 0;
    }
}

/* ---- the walk ---- */

static void count_uses(maker *m)
{
    for (int v = 0; v < m->graph->n_nodes; v++) {
        const pada_node *node = &m->graph->nodes[v];
        for (int i = 0; i < node->n_terms; i++)
            m->uses[m->graph->terms[node->first_term + i].x]++;
        if (node->x != PADA_ZERO) m->uses[node->x]++;
    }
}

static pada_status walk(maker *m, const pada_model_about *about)
{
    count_uses(m);
    const int images = add_images(m, about); /* also of a network that does not look at them */
    for (int v = 0; v < m->graph->n_nodes && m->status == PADA_OK; v++) {
        const pada_node *node = &m->graph->nodes[v];
        if (node->op == PADA_OP_LOSS) continue;
        m->layer_of[v] = node->op == PADA_OP_INPUT ? images : add_node(m, node);
    }
    return m->status;
}

static pada_status make_room(maker *m, void **memory)
{
    const int64_t n = pada_params_largest(pada_engine_params(m->e)),
                  n_statistics = pada_params_largest(pada_engine_statistics_map(m->e));
    const size_t n_nodes = (size_t)m->graph->n_nodes;
    const size_t n_layers = 4 * (n_nodes + (size_t)m->graph->n_terms) + 8;

    PADA_TRY(pada_calloc(&memory[0], n_nodes, 2 * sizeof(int)));
    PADA_TRY(pada_calloc(&memory[1], n_layers, sizeof *m->act_of));
    PADA_TRY(
        pada_calloc(&memory[2], (size_t)(n > n_statistics ? n : n_statistics), sizeof(double)));
    m->layer_of = memory[0];
    m->uses = m->layer_of + n_nodes;
    m->act_of = memory[1];
    m->room = memory[2];
    return PADA_OK;
}

static pada_status list_graph(pada_net_list *net, const pada_graph *graph,
                              const pada_model_about *about, const pada_engine *e,
                              const pada_net_options *options)
{
    maker m = {.net = net, .graph = graph, .e = e, .options = options};
    void *memory[3] = {NULL, NULL, NULL};

    pada_status st = make_room(&m, memory);
    if (st == PADA_OK) st = walk(&m, about);
    for (int i = 0; i < 3; i++)
        pada_free(memory[i]);
    return st;
}

pada_status pada_net_list_init(pada_net_list *net, const pada_model_about *about,
                               const pada_engine *e, const pada_net_options *options)
{
    pada_net_room room;
    pada_graph *graph;

    *net = (pada_net_list){0};
    PADA_TRY(pada_space_measure(&about->space, &room));
    PADA_TRY(pada_graph_create(&graph, room.nodes, room.terms));
    graph->statistics = pada_engine_statistics_map(e);
    graph->fixed_norms = true;
    pada_space_build(&about->space, pada_engine_params(e), &about->path, graph);
    pada_status st = pada_graph_status(graph);
    if (st == PADA_OK) {
        pada_graph_simplify(graph);
        st = list_graph(net, graph, about, e, options);
    }
    pada_graph_destroy(graph);
    if (st != PADA_OK) pada_net_list_deinit(net);
    return st;
}

void pada_net_list_deinit(pada_net_list *net)
{
    for (int i = 0; i < net->n_layers; i++)
        free_tensors(&net->layers[i]);
    pada_free(net->layers);
    pada_free(net->inputs);
    *net = (pada_net_list){0};
}

int pada_net_input(const pada_net_list *net, const pada_layer *layer, int i)
{
    PADA_ASSERT(i >= 0 && i < layer->n_inputs);
    return net->inputs[layer->first_input + i];
}

int64_t pada_layer_weights(const pada_net_list *net, const pada_layer *layer)
{
    switch (layer->kind) {
    case PADA_LAYER_CONV: return pada_conv_weights(&layer->conv);
    case PADA_LAYER_NORM: return layer->shape.c;
    case PADA_LAYER_LINEAR:
        return (int64_t)layer->shape.c * net->layers[pada_net_input(net, layer, 0)].shape.c;
    default: return 0;
    }
}
