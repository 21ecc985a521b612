/* space_nb201.c - the search space of NAS-Bench-201: one cell of six edges, in three stages.
 *
 *   images - stem - cells x N - reduction - cells x N - reduction - cells x N - head - loss
 *            C                  2C                      4C                       channels
 *            S                  S/2                     S/4                      rows = columns
 *
 * All cells have the same choices but their own weights: slot = edge, site = searched cell * 6 +
 * edge, where searched cells are counted without the reductions between them. With blocks (CLOSE),
 * the edges of a cell share them, and site = searched cell * blocks + block. Names are those of the
 * official PyTorch code: of its supernet, and of its stand-alone network. */
#include "space/nb201_blocks.h"
#include "space/nb201_canon.h"
#include "space/nb201_codec.h"
#include "space/nb201_scores.h"
#include "space/net.h"

enum { N_STAGES = 3 };

/* ---- options ---- */

/* Ranges only keep the values inside an int; check has the real ones. */
#define SIZE_OPTION(option_name, field, text)                                                      \
    {                                                                                              \
        .name = option_name, .type = PADA_OPT_INT, .offset = offsetof(pada_nb201_settings, field), \
        .min = 1, .max = 1000000, .meta = "N", .help = text                                        \
    }

static const pada_opt options[] = {
    SIZE_OPTION("channels", channels, "channels of the first stage (default: 16)"),
    SIZE_OPTION("cells", cells, "searched cells per stage (default: 5)"),
    {.name = "blocks",
     .type = PADA_OPT_INT,
     .offset = offsetof(pada_nb201_settings, blocks),
     .default_value = "0",
     .min = 0,
     .max = PADA_MAX_BLOCKS,
     .meta = "N",
     .help = "sets of weights that the slots of a cell share (method close); 0: each has its own"},
    {.name = NULL},
};

static pada_status check(pada_space *space)
{
    pada_nb201_settings *s = (pada_nb201_settings *)(void *)space->settings.bytes;

    PADA_TRY(pada_space_resolve(&s->channels, 16, "channels", 1, 1024));
    PADA_TRY(pada_space_resolve(&s->cells, 5, "cells", 1, 64));
    PADA_TRY(pada_space_resolve(&s->blocks, 0, "blocks", 0, PADA_MAX_BLOCKS));
    if (space->config.image_size % 4 != 0) /* halved twice, without a remainder */
        return PADA_FAIL(PADA_EINVAL, "image size %d is not a multiple of 4",
                         space->config.image_size);
    space->config.blocks = (int)s->blocks;
    return PADA_OK;
}

static int n_cells(const pada_space *space)
{
    return (int)pada_nb201_settings_of(space)->cells;
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

/* Sites of a cell. */
static int cell_sites(const pada_space *space)
{
    return space->config.blocks > 0 ? space->config.blocks : PADA_NB201_EDGES;
}

static int n_sites(const pada_space *space)
{
    return N_STAGES * n_cells(space) * cell_sites(space);
}

static int site_slot(const pada_space *space, int site)
{
    return space->config.blocks > 0 ? -1 : site % PADA_NB201_EDGES;
}

/* Found by planning all cells: most weights and tensors to keep for training; most tensors alive at
 * once in evaluation; most tensors inside one stage. tests/graph/test_plan.c plans them all again.
 */
static bool extreme(const pada_space *space, int i, pada_path *out)
{
    static const pada_path paths[] = {
        {{3, 3, 3, 3, 3, 3}},
        {{1, 2, 2, 2, 2, 1}},
        {{1, 2, 2, 2, 2, 2}},
        {{4, 0, 4, 1, 1, 4}},
    };

    (void)space;
    if (i >= (int)(sizeof paths / sizeof *paths)) return false;
    *out = paths[i];
    return true;
}

/* ---- the network ---- */

static pada_shape stage_shape(const pada_space *space, int stage)
{
    const int size = space->config.image_size >> stage;

    return (pada_shape){(int)pada_nb201_settings_of(space)->channels << stage, size, size};
}

static pada_conv same_conv(int c_in, int c_out, int kernel, int stride, pada_act act)
{
    return pada_conv_make(c_in, c_out, kernel, stride, kernel / 2, act);
}

/* norm(conv(relu(x))) */
static void conv_term(pada_builder *b, pada_feature x, int c_out, int kernel, int stride,
                      pada_term *term)
{
    const pada_conv conv = same_conv(x.shape.c, c_out, kernel, stride, PADA_ACT_RELU);
    const pada_feature z = pada_build_conv(b, x, &conv, PADA_BIAS_BEFORE_NORM, "op.1");

    pada_build_norm(b, z, "op.2", term);
}

/* All but `none` are parts of the network. */
static void op_term(pada_builder *b, int op, pada_feature x, pada_term *term)
{
    const pada_part part = {.op = pada_nb201_labels[op]};

    if (op != PADA_NB201_NONE) x = pada_build_part_begin(b, &part, x);
    *term =
        (pada_term){.kind = PADA_TERM_IDENTITY, .x = op == PADA_NB201_NONE ? PADA_ZERO : x.value};
    if (op == PADA_NB201_CONV1 || op == PADA_NB201_CONV3) {
        conv_term(b, x, x.shape.c, op == PADA_NB201_CONV1 ? 1 : 3, 1, term);
    } else if (op == PADA_NB201_POOL) {
        term->kind = PADA_TERM_AVGPOOL;
        term->pool = (pada_pool){3, 1, 1};
    }
    if (op != PADA_NB201_NONE) pada_build_part_end_term(b, x.shape, term);
}

/* A cell that is walked: its place in PyTorch's list of cells, and its first site. */
typedef struct cell {
    int place, first_site, blocks;
} cell;

/* What an edge adds to a node, with its own weights or those of a block. */
static void edge_term(pada_builder *b, const cell *at, int to, int from, int block, pada_feature x,
                      pada_term *term)
{
    const int edge = pada_nb201_edge(to, from);
    const int site = at->first_site + (at->blocks > 0 ? block : edge);

    *term = (pada_term){.x = PADA_ZERO};
    for (int op = -1; pada_build_choose(b, site, edge, &op);) {
        int mark;
        if (pada_build_is_final(b))
            mark = pada_build_enter(b, "cells.%d.layers.%d", at->place, edge);
        else if (at->blocks > 0)
            mark = pada_build_enter(b, "cells.%d.blocks.%d.%d", at->place, block, op);
        else
            mark = pada_build_enter(b, "cells.%d.edges.%d<-%d.%d", at->place, to, from, op);
        op_term(b, op, x, term);
        pada_build_leave(b, mark);
    }
    term->mark = edge * at->blocks + block;
}

static pada_feature walk_cell(pada_builder *b, const cell *at, pada_feature x)
{
    pada_feature node[PADA_NB201_NODES] = {x};

    for (int to = 1; to < PADA_NB201_NODES; to++) {
        pada_term terms[PADA_NB201_NODES - 1];
        pada_term probed[(PADA_NB201_NODES - 1) * PADA_MAX_BLOCKS];
        int n_probed = 0;

        for (int from = 0; from < to; from++) {
            const int own = pada_build_block(b, pada_nb201_edge(to, from));
            edge_term(b, at, to, from, own, node[from], &terms[from]);
            for (int k = 0; k < pada_build_probes(b); k++) {
                pada_term *term = &probed[n_probed++];
                if (k == own)
                    *term = terms[from];
                else
                    edge_term(b, at, to, from, k, node[from], term);
                if (term->kind != PADA_TERM_BATCHNORM) /* there are no weights to choose */
                    *term = pada_norm_term(PADA_ZERO);
            }
        }
        node[to] = pada_build_sum(b, x.shape, terms, to);
        pada_build_probe(b, node[to], probed, n_probed);
    }
    return node[PADA_NB201_NODES - 1];
}

/* The residual block between two stages: conv_b(conv_a(x)) + downsample(pool(x)). */
static pada_feature walk_reduction(pada_builder *b, int place, pada_shape shape, pada_feature x)
{
    x = pada_build_part_begin(b, &(pada_part){.op = "reduction"}, x);
    const pada_conv downsample = same_conv(x.shape.c, shape.c, 1, 1, PADA_ACT_NONE);
    const pada_term halve = {.kind = PADA_TERM_AVGPOOL, .x = x.value, .pool = {2, 2, 0}};
    const pada_shape half = {x.shape.c, shape.h, shape.w};
    pada_term terms[2];

    const int mark = pada_build_enter(b, "cells.%d", place);
    const int mark_a = pada_build_enter(b, "conv_a");
    conv_term(b, x, shape.c, 3, 2, terms);
    const pada_feature a = pada_build_sum(b, shape, terms, 1);
    pada_build_leave(b, mark_a);
    const int mark_b = pada_build_enter(b, "conv_b");
    conv_term(b, a, shape.c, 3, 1, &terms[0]);
    pada_build_leave(b, mark_b);
    const pada_feature pooled = pada_build_sum(b, half, &halve, 1);
    const pada_feature skip =
        pada_build_conv(b, pooled, &downsample, PADA_BIAS_NONE, "downsample.1");
    terms[1] = (pada_term){.kind = PADA_TERM_IDENTITY, .x = skip.value};
    pada_build_leave(b, mark);
    return pada_build_part_end(b, pada_build_sum(b, shape, terms, 2));
}

static pada_feature walk_stem(pada_builder *b, int channels)
{
    pada_feature x = pada_build_images(b);
    const pada_conv stem = same_conv(x.shape.c, channels, 3, 1, PADA_ACT_NONE);
    pada_term norm;

    x = pada_build_part_begin(b, &(pada_part){.op = "stem"}, x);
    x = pada_build_conv(b, x, &stem, PADA_BIAS_NONE, "stem.0");
    pada_build_norm(b, x, "stem.1", &norm);
    return pada_build_part_end(b, pada_build_sum(b, x.shape, &norm, 1));
}

static void walk_head(pada_builder *b, int classes, pada_feature x)
{
    pada_term norm;

    x = pada_build_part_begin(b, &(pada_part){.op = "head"}, x);
    pada_build_norm(b, x, "lastact.0", &norm);
    x = pada_build_gap(b, pada_build_sum(b, x.shape, &norm, 1), PADA_ACT_RELU);
    x = pada_build_linear(b, x, classes, "classifier");
    pada_build_count_macs(b, classes); /* the benchmark's tables count the bias */
    pada_build_loss(b, pada_build_part_end_logits(b, x));
}

static void walk(const pada_space *space, pada_builder *b)
{
    pada_feature x = walk_stem(b, stage_shape(space, 0).c);
    pada_build_boundary(b, x);
    cell at = {.blocks = space->config.blocks};

    for (int stage = 0; stage < N_STAGES; stage++) {
        if (stage > 0) {
            x = walk_reduction(b, at.place++, stage_shape(space, stage), x);
            pada_build_boundary(b, x);
        }
        for (int i = 0; i < n_cells(space); i++) {
            x = walk_cell(b, &at, x);
            pada_build_tap(b, x);
            at.place++;
            at.first_site += cell_sites(space);
        }
    }
    walk_head(b, space->config.classes, x);
}

/* ---- what is said about a path ---- */

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
    .defaults = {.classes = 10, .image_size = 32},
    .options = options,
    .settings_bytes = sizeof(pada_nb201_settings),
    .check = check,
    .n_choices = n_choices,
    .choice_label = choice_label,
    .n_sites = n_sites,
    .site_slot = site_slot,
    .uses = pada_nb201_block_uses,
    .gate_cell = pada_nb201_gate_cell,
    .walk = walk,
    .extreme = extreme,
    .canonical = canonical,
    .dead = dead,
    .iso_key = iso_key,
    .sketch = sketch,
    .scores = pada_nb201_scores,
    .dialects = pada_nb201_dialects,
    .parse = pada_nb201_parse,
    .format = pada_nb201_format,
};
