/* space_nb201.c - the search space of NAS-Bench-201: one cell of six edges, in three stages.
 *
 *   images - stem - cells x N - reduction - cells x N - reduction - cells x N - head - loss
 *            C                  2C                      4C                       channels
 *            S                  S/2                     S/4                      rows = columns
 *
 * All cells have the same choices but their own weights: slot = edge, site = searched cell * 6 +
 * edge, where searched cells are counted without the reductions between them. With blocks (CLOSE),
 * the edges of a cell share them, and site = searched cell * blocks + block.
 *
 * Parameters, in declaration order, so that ids follow by arithmetic:
 *
 *   [ stem | reduction 0: a.weight a.bias b.weight b.bias downsample | reduction 1: ..
 *   | classifier.weight .bias | gate, if there are blocks to choose from
 *   | site 0: conv1x1.weight .bias conv3x3.weight .bias | site 1: .. ] */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#include "space/nb201_blocks.h"
#include "space/nb201_canon.h"
#include "space/nb201_codec.h"
#include "space/nb201_scores.h"
#include "space/space.h"

enum { N_STAGES = 3, N_REDUCTIONS = N_STAGES - 1, IMAGE_CHANNELS = 3 };

enum {
    REDUCTION_CONV_A = 0,
    REDUCTION_CONV_B = 2,
    REDUCTION_DOWNSAMPLE = 4,
    REDUCTION_PARAMS = 5,
    SITE_PARAMS = 4,

    ID_STEM = 0,
    ID_REDUCTIONS = 1,
    ID_CLASSIFIER = ID_REDUCTIONS + N_REDUCTIONS * REDUCTION_PARAMS,
    ID_GATE = ID_CLASSIFIER + 2
};

/* ---- shapes ---- */

static pada_shape stage_shape(const pada_space *space, int stage)
{
    const int size = space->config.image_size >> stage;

    return (pada_shape){space->config.channels << stage, size, size};
}

static pada_conv same_conv(int c_in, int c_out, int kernel, int stride, pada_act act)
{
    return pada_conv_make(c_in, c_out, kernel, stride, kernel / 2, act);
}

static pada_conv stem_conv(const pada_space *space)
{
    return same_conv(IMAGE_CHANNELS, space->config.channels, 3, 1, PADA_ACT_NONE);
}

static bool is_conv(int choice)
{
    return choice == PADA_NB201_CONV1 || choice == PADA_NB201_CONV3;
}

static pada_conv edge_conv(int channels, int choice)
{
    return same_conv(channels, channels, choice == PADA_NB201_CONV1 ? 1 : 3, 1, PADA_ACT_RELU);
}

/* The residual block between two stages: conv_b(conv_a(x)) + downsample(pool(x)). */
typedef struct reduction {
    pada_conv conv_a, conv_b, downsample;
} reduction;

static reduction reduction_into(const pada_space *space, int stage)
{
    const int c_in = stage_shape(space, stage - 1).c, c_out = stage_shape(space, stage).c;

    return (reduction){
        .conv_a = same_conv(c_in, c_out, 3, 2, PADA_ACT_RELU),
        .conv_b = same_conv(c_out, c_out, 3, 1, PADA_ACT_RELU),
        .downsample = same_conv(c_in, c_out, 1, 1, PADA_ACT_NONE),
    };
}

static int reduction_id(int stage)
{
    return ID_REDUCTIONS + (stage - 1) * REDUCTION_PARAMS;
}

static int first_site_id(const pada_space *space)
{
    return ID_GATE + (space->config.blocks > 1 ? PADA_GATE_TENSORS : 0);
}

static int site_id(const pada_space *space, int site, int choice)
{
    return first_site_id(space) + site * SITE_PARAMS + (choice == PADA_NB201_CONV1 ? 0 : 2);
}

/* Sites of a cell. */
static int cell_sites(const pada_space *space)
{
    return space->config.blocks > 0 ? space->config.blocks : PADA_NB201_EDGES;
}

/* ---- slots, choices, sites ---- */

static int n_choices(const pada_space *space, int slot)
{
    (void)space, (void)slot;
    return PADA_NB201_OPS;
}

static const char *choice_label(const pada_space *space, int slot, int choice)
{
    (void)space, (void)slot;
    PADA_ASSERT(choice >= 0 && choice < PADA_NB201_OPS);
    return pada_nb201_labels[choice];
}

static int n_sites(const pada_space *space)
{
    return N_STAGES * space->config.cells * cell_sites(space);
}

static int site_slot(const pada_space *space, int site)
{
    return space->config.blocks > 0 ? -1 : site % PADA_NB201_EDGES;
}

/* Found by planning all cells: most weights and tensors to keep for training; most tensors alive at
 * once in evaluation; most tensors inside one stage. tests/graph/test_plan.c plans them all again.
 */
static const pada_path extremes[] = {
    {{3, 3, 3, 3, 3, 3}},
    {{1, 2, 2, 2, 2, 1}},
    {{1, 2, 2, 2, 2, 2}},
    {{4, 0, 4, 1, 1, 4}},
};

/* ---- parameters ---- */

typedef struct owner {
    int site, choice;
} owner;

static const owner shared = {PADA_SHARED, 0};

/* Adds `module`.weight and, for a convolution between activation and batch norm, `module`.bias. */
static pada_status add_conv(pada_params *params, const char *module, const pada_conv *conv,
                            bool bias, owner who)
{
    const double bound = 1.0 / sqrt((double)conv->c_in * conv->kernel * conv->kernel);
    pada_param p = {.dims = {conv->c_out, conv->c_in, conv->kernel, conv->kernel},
                    .n_dims = 4,
                    .bound = bound,
                    .site = who.site,
                    .choice = who.choice};
    int id;

    snprintf(p.name, sizeof p.name, "%s.weight", module);
    PADA_TRY(pada_params_add(params, &p, &id));
    if (!bias) return PADA_OK;

    pada_param b = {.dims = {conv->c_out, 1, 1, 1},
                    .n_dims = 1,
                    .bound = bound,
                    .site = who.site,
                    .choice = who.choice,
                    .bias_before_norm = 1};
    snprintf(b.name, sizeof b.name, "%s.bias", module);
    return pada_params_add(params, &b, &id);
}

static pada_status declare_reduction(const pada_space *space, pada_params *params, int stage)
{
    const reduction r = reduction_into(space, stage);
    const int cell = stage * space->config.cells + stage - 1; /* in PyTorch's list of cells */
    char module[64];

    snprintf(module, sizeof module, "cells.%d.conv_a.op.1", cell);
    PADA_TRY(add_conv(params, module, &r.conv_a, true, shared));
    snprintf(module, sizeof module, "cells.%d.conv_b.op.1", cell);
    PADA_TRY(add_conv(params, module, &r.conv_b, true, shared));
    snprintf(module, sizeof module, "cells.%d.downsample.1", cell);
    return add_conv(params, module, &r.downsample, false, shared);
}

static pada_status declare_classifier(const pada_space *space, pada_params *params)
{
    const int features = stage_shape(space, N_STAGES - 1).c, classes = space->config.classes;
    const double bound = 1.0 / sqrt(features);
    const pada_param weight = {.name = "classifier.weight",
                               .dims = {classes, features, 1, 1},
                               .n_dims = 2,
                               .bound = bound,
                               .site = PADA_SHARED};
    const pada_param bias = {.name = "classifier.bias",
                             .dims = {classes, 1, 1, 1},
                             .n_dims = 1,
                             .bound = bound,
                             .site = PADA_SHARED};
    int id;

    PADA_TRY(pada_params_add(params, &weight, &id));
    return pada_params_add(params, &bias, &id);
}

/* The convolutions of a site; `place` is its name in the cell. */
static pada_status declare_site(const pada_space *space, pada_params *params, int site,
                                const char *place)
{
    const int cell = site / cell_sites(space), stage = cell / space->config.cells;
    char module[64];

    for (int choice = PADA_NB201_CONV1; choice <= PADA_NB201_CONV3; choice++) {
        const pada_conv conv = edge_conv(stage_shape(space, stage).c, choice);

        snprintf(module, sizeof module, "cells.%d.%s.%d.op.1", cell + stage, place, choice);
        PADA_TRY(add_conv(params, module, &conv, true, (owner){site, choice}));
    }
    return PADA_OK;
}

static pada_status declare_cell(const pada_space *space, pada_params *params, int cell)
{
    char place[24];
    int site = cell * cell_sites(space);

    for (int block = 0; block < space->config.blocks; block++) {
        snprintf(place, sizeof place, "blocks.%d", block);
        PADA_TRY(declare_site(space, params, site++, place));
    }
    for (int to = 1; to < PADA_NB201_NODES && space->config.blocks == 0; to++)
        for (int from = 0; from < to; from++) {
            snprintf(place, sizeof place, "edges.%d<-%d", to, from);
            PADA_TRY(declare_site(space, params, site + pada_nb201_edge(to, from), place));
        }
    return PADA_OK;
}

static pada_status declare(const pada_space *space, pada_params *params)
{
    const pada_conv stem = stem_conv(space);

    PADA_TRY(add_conv(params, "stem.0", &stem, false, shared));
    for (int stage = 1; stage < N_STAGES; stage++)
        PADA_TRY(declare_reduction(space, params, stage));
    PADA_TRY(declare_classifier(space, params));
    if (space->config.blocks > 1)
        PADA_TRY(pada_block_gate_declare(params, PADA_NB201_OPS, space->config.blocks));
    for (int cell = 0; cell < N_STAGES * space->config.cells; cell++)
        PADA_TRY(declare_cell(space, params, cell));
    PADA_ASSERT(pada_params_count(params) == first_site_id(space) + n_sites(space) * SITE_PARAMS);
    return PADA_OK;
}

/* ---- the network of one path ---- */

typedef struct builder {
    const pada_space *space;
    pada_graph *graph;
    const pada_params *params;
    const pada_path *path;
} builder;

static int64_t offset_of(const builder *b, int id)
{
    return pada_params_get(b->params, id)->offset;
}

/* Every convolution here is read by a batch norm or has no bias, so none is passed. */
static pada_value add_conv_node(const builder *b, pada_value x, const pada_conv *conv, int id)
{
    return pada_graph_conv(b->graph, x, conv, offset_of(b, id), -1);
}

static pada_value add_norm(const builder *b, pada_value z)
{
    const pada_term norm = pada_norm_term(z);

    return pada_graph_combine(b->graph, &norm, 1);
}

/* The convolution of an edge, with the weights of the edge itself or of a block. */
static pada_term edge_term(const builder *b, int channels, int first_site, int edge, int block,
                           pada_value x)
{
    const int choice = b->path->choice[edge], blocks = b->space->config.blocks;
    const int site = first_site + (blocks > 0 ? block : edge);
    const pada_conv conv = edge_conv(channels, choice);

    pada_term term = pada_norm_term(add_conv_node(b, x, &conv, site_id(b->space, site, choice)));
    term.mark = edge * blocks + block;
    return term;
}

static pada_value build_cell(const builder *b, int channels, int first_site, pada_value x)
{
    pada_value node[PADA_NB201_NODES] = {x};

    for (int to = 1; to < PADA_NB201_NODES; to++) {
        pada_term terms[PADA_NB201_NODES - 1];
        pada_term probed[(PADA_NB201_NODES - 1) * PADA_MAX_BLOCKS];
        int n = 0, n_probed = 0;

        for (int from = 0; from < to; from++) {
            const int edge = pada_nb201_edge(to, from), choice = b->path->choice[edge];

            if (is_conv(choice)) {
                const int own = pada_path_block(b->space, b->path, edge);
                terms[n] = edge_term(b, channels, first_site, edge, own, node[from]);
                for (int k = 0; k < b->graph->probes; k++)
                    probed[n_probed++] =
                        k == own ? terms[n]
                                 : edge_term(b, channels, first_site, edge, k, node[from]);
                n++;
            } else if (choice == PADA_NB201_SKIP) {
                terms[n++] = (pada_term){.kind = PADA_TERM_IDENTITY, .x = node[from]};
            } else if (choice == PADA_NB201_POOL) {
                terms[n++] =
                    (pada_term){.kind = PADA_TERM_AVGPOOL, .x = node[from], .pool = {3, 1, 1}};
            }
        }
        node[to] = pada_graph_combine(b->graph, terms, n);
        pada_graph_probe(b->graph, node[to], probed, n_probed);
    }
    return node[PADA_NB201_NODES - 1];
}

static pada_value build_reduction(const builder *b, const reduction *r, int first_id, pada_value x)
{
    const pada_term halve = {.kind = PADA_TERM_AVGPOOL, .x = x, .pool = {2, 2, 0}};
    const pada_value a = add_norm(b, add_conv_node(b, x, &r->conv_a, first_id + REDUCTION_CONV_A));
    const pada_value z = add_conv_node(b, a, &r->conv_b, first_id + REDUCTION_CONV_B);
    const pada_value pooled = pada_graph_combine(b->graph, &halve, 1);
    const pada_value skip =
        add_conv_node(b, pooled, &r->downsample, first_id + REDUCTION_DOWNSAMPLE);
    const pada_term terms[] = {pada_norm_term(z), {.kind = PADA_TERM_IDENTITY, .x = skip}};

    return pada_graph_combine(b->graph, terms, 2);
}

static void build(const pada_space *space, const pada_params *params, const pada_path *path,
                  pada_graph *graph)
{
    const builder b = {space, graph, params, path};
    const pada_conv stem = stem_conv(space);
    const int size = space->config.image_size, cells = space->config.cells;

    PADA_ASSERT(pada_params_count(params) == first_site_id(space) + n_sites(space) * SITE_PARAMS);
    pada_value x = pada_graph_input(graph, (pada_shape){IMAGE_CHANNELS, size, size});
    x = add_norm(&b, add_conv_node(&b, x, &stem, ID_STEM));
    for (int stage = 0; stage < N_STAGES; stage++) {
        if (stage > 0) {
            const reduction r = reduction_into(space, stage);
            x = build_reduction(&b, &r, reduction_id(stage), x);
        }
        for (int cell = stage * cells; cell < (stage + 1) * cells; cell++) {
            x = build_cell(&b, stage_shape(space, stage).c, cell * cell_sites(space), x);
            pada_graph_tap(graph, x, stage_shape(space, stage));
        }
    }
    x = pada_graph_gap(graph, add_norm(&b, x), PADA_ACT_RELU);
    x = pada_graph_linear(graph, x, space->config.classes, offset_of(&b, ID_CLASSIFIER),
                          offset_of(&b, ID_CLASSIFIER + 1));
    pada_graph_loss(graph, x);
}

/* ---- cost ---- */

static void add_conv_cost(pada_cost *cost, const pada_conv *conv, pada_shape out, int count)
{
    cost->macs += count * pada_conv_macs(conv, out);
    cost->params += count * pada_conv_weights(conv);
}

/* Stand-alone networks have a scale and a shift per channel of every batch norm. */
static void add_norm_cost(pada_cost *cost, int channels, int count)
{
    cost->params += (int64_t)count * 2 * channels;
}

/* Dead edges count, as in the tables of NAS-Bench-201: the stand-alone network contains them. */
static void cost_of(const pada_space *space, const pada_path *path, pada_cost *cost)
{
    const pada_conv stem = stem_conv(space);
    const int features = stage_shape(space, N_STAGES - 1).c;
    const int64_t linear = pada_linear_macs(features, space->config.classes);

    *cost =
        (pada_cost){.macs = linear, .params = linear}; /* one multiply-add per weight and bias */
    add_norm_cost(cost, features, 1);
    add_conv_cost(cost, &stem, stage_shape(space, 0), 1);
    add_norm_cost(cost, stem.c_out, 1);
    for (int stage = 0; stage < N_STAGES; stage++) {
        const pada_shape shape = stage_shape(space, stage);

        if (stage > 0) {
            const reduction r = reduction_into(space, stage);
            add_conv_cost(cost, &r.conv_a, shape, 1);
            add_conv_cost(cost, &r.conv_b, shape, 1);
            add_conv_cost(cost, &r.downsample, shape, 1);
            add_norm_cost(cost, shape.c, 2);
        }
        for (int edge = 0; edge < PADA_NB201_EDGES; edge++) {
            if (!is_conv(path->choice[edge])) continue;
            const pada_conv conv = edge_conv(shape.c, path->choice[edge]);
            add_conv_cost(cost, &conv, shape, space->config.cells);
            add_norm_cost(cost, shape.c, space->config.cells);
        }
    }
}

static bool dead(const pada_space *space, const pada_path *path)
{
    pada_path live;

    (void)space;
    pada_nb201_canonical(path, &live);
    for (int edge = 0; edge < PADA_NB201_EDGES; edge++)
        if (live.choice[edge] != PADA_NB201_NONE) return false;
    return true;
}

static void canonical(const pada_space *space, const pada_path *path, pada_path *out)
{
    (void)space;
    pada_nb201_canonical(path, out);
}

static void iso_key(const pada_space *space, const pada_path *path, pada_text *out)
{
    char key[PADA_NB201_KEY_BYTES];

    (void)space;
    pada_nb201_iso_key(path, key);
    pada_text_add(out, "%s", key);
}

static void sketch(const pada_space *space, const pada_path *path, pada_sketch *out)
{
    pada_path live;

    canonical(space, path, &live);
    *out = (pada_sketch){.n_nodes = PADA_NB201_NODES,
                         .nodes = {"input", "node 1", "node 2", "output"}};
    for (int to = 1; to < PADA_NB201_NODES; to++) {
        for (int from = 0; from < to; from++) {
            const int edge = pada_nb201_edge(to, from);
            if (path->choice[edge] == PADA_NB201_NONE) continue;
            out->arrows[out->n_arrows++] =
                (pada_sketch_arrow){.from = from,
                                    .to = to,
                                    .label = pada_nb201_labels[path->choice[edge]],
                                    .is_dead = live.choice[edge] == PADA_NB201_NONE};
        }
    }
}

const pada_space_ops pada_space_nb201 = {
    .name = "nb201",
    .summary = "NAS-Bench-201: a cell of 6 edges with 5 operators, 15,625 networks",
    .n_slots = PADA_NB201_EDGES,
    .defaults = {.channels = 16, .cells = 5, .classes = 10, .image_size = 32},
    .n_choices = n_choices,
    .choice_label = choice_label,
    .n_sites = n_sites,
    .site_slot = site_slot,
    .block_uses = pada_nb201_block_uses,
    .gate_cell = pada_nb201_gate_cell,
    .declare = declare,
    .build = build,
    .extremes = extremes,
    .n_extremes = (int)(sizeof extremes / sizeof *extremes),
    .cost = cost_of,
    .canonical = canonical,
    .dead = dead,
    .iso_key = iso_key,
    .sketch = sketch,
    .scores = pada_nb201_scores,
    .dialects = pada_nb201_dialects,
    .parse = pada_nb201_parse,
    .format = pada_nb201_format,
};
