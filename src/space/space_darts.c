/* space_darts.c - the search space of DARTS: a normal cell and a reduction cell, each with eight chosen operators.
 *
 *   images - stem - cells 0 .. L/3 - 1 - reduction - cells .. 2L/3 - 1 - reduction - cells .. L - 1 - head - loss
 *            3C     C                    2C          2C                  4C          4C                channels in a cell
 *            S      S                    S/2         S/2                 S/4         S/4               rows = columns
 *
 * A cell reads the two before it. Cells of a kind have the same choices but their own weights: site = cell * 14 + edge.
 * Names are those of the official PyTorch code, of its supernet and of its networks, whose operators are numbered by
 * node, then input. */
#include "space/cost_scores.h"
#include "space/darts_codec.h"
#include "space/darts_ops.h"

/* ---- options ---- */

/* Ranges only keep the values inside an int; check has the real ones. */
#define SIZE_OPTION(option_name, field, text)                                                      \
    {                                                                                              \
        .name = option_name, .type = PADA_OPT_INT, .offset = offsetof(pada_darts_settings, field), \
        .min = 1, .max = 1000000, .meta = "N", .help = text                                        \
    }

static const pada_opt options[] = {
    SIZE_OPTION("channels", channels, "channels of the first cells of the supernet (default: 16)"),
    SIZE_OPTION("cells", cells, "cells of the supernet (default: 8)"),
    SIZE_OPTION("final-channels", final_channels,
                "channels of the first cells of a network by itself (default: 36)"),
    SIZE_OPTION("final-cells", final_cells, "cells of a network by itself (default: 20)"),
    {.name = "auxiliary",
     .type = PADA_OPT_DOUBLE,
     .offset = offsetof(pada_darts_settings, auxiliary),
     .default_value = "0.4",
     .min = 0,
     .max = 1,
     .meta = "X",
     .help =
         "weight of the auxiliary head of a network by itself, on images of 32 pixels or more; 0: none"},
    {.name = "none",
     .type = PADA_OPT_BOOL,
     .offset = offsetof(pada_darts_settings, none),
     .default_value = "true",
     .help = "have an operator that gives zeros"},
    {.name = NULL},
};

static pada_status check(pada_space *space)
{
    pada_darts_settings *s = (pada_darts_settings *)(void *)space->settings.bytes;

    PADA_TRY(pada_space_resolve(&s->channels, 16, "channels", 2, 1024));
    PADA_TRY(pada_space_resolve(&s->cells, 8, "cells", 3, 64));
    PADA_TRY(pada_space_resolve(&s->final_channels, 36, "final channels", 2, 1024));
    PADA_TRY(pada_space_resolve(&s->final_cells, 20, "final cells", 3, 64));
    if (space->config.image_size % 4 != 0) /* halved twice, without a remainder */
        return PADA_FAIL(PADA_EINVAL, "image size %d is not a multiple of 4",
                         space->config.image_size);
    return PADA_OK;
}

/* ---- sites ---- */

static int n_cells(const pada_space *space)
{
    const pada_darts_settings *s = pada_darts_settings_of(space);

    return (int)(space->is_final ? s->final_cells : s->cells);
}

/* The kind of a cell: 1 is a reduction. */
static int kind_of(int cell, int cells)
{
    return cell == cells / 3 || cell == 2 * cells / 3;
}

static int n_sites(const pada_space *space)
{
    return n_cells(space) * PADA_DARTS_EDGES;
}

static int site_slot(const pada_space *space, int site)
{
    const int kind = kind_of(site / PADA_DARTS_EDGES, n_cells(space));

    return kind * PADA_DARTS_KIND_SLOTS + site % PADA_DARTS_EDGES;
}

/* ---- the network ---- */

typedef struct walked_cell {
    int place, kind, channels;
    bool follows_reduction;
} walked_cell;

/* What an edge adds to its node; the k-th of the node's that the path takes. */
static void edge_term(pada_builder *b, const walked_cell *at, int node, int input, int k,
                      pada_feature x, pada_term *term)
{
    const int slot = pada_darts_edge_slot(at->kind, node, input);
    const int edge = pada_darts_edge(node, input);
    const int stride = at->kind == 1 && input < 2 ? 2 : 1;

    *term = (pada_term){.x = PADA_ZERO};
    for (int choice = -1;
         pada_build_choose(b, at->place * PADA_DARTS_EDGES + edge, slot, &choice);) {
        const pada_darts_op op = pada_darts_op_of(choice);
        const int mark = pada_build_is_final(b)
                             ? pada_build_enter(b, "cells.%d._ops.%d", at->place, 2 * node + k)
                             : pada_build_enter(b, "cells.%d._ops.%d._ops.%d", at->place, edge, op);
        pada_build_darts_op(b, x, op, stride, term);
        pada_build_leave(b, mark);
    }
}

/* The output of one of the two cells before, with the channels and the size of this one. */
static pada_feature walk_input(pada_builder *b, const walked_cell *at, int i, pada_feature x)
{
    const bool is_halved = i == 0 && at->follows_reduction;
    const int shift = is_halved ? 1 : 0;
    const pada_shape shape = {at->channels, x.shape.h >> shift, x.shape.w >> shift};
    const int mark = pada_build_enter(b, "cells.%d.preprocess%d", at->place, i);
    pada_term term;

    x = pada_build_part_begin(b, &(pada_part){.op = "preprocess"}, x);
    if (is_halved)
        pada_build_factorised_reduction(b, x, at->channels, &term);
    else
        pada_build_relu_conv_norm(b, x, at->channels, &term);
    pada_build_leave(b, mark);
    return pada_build_part_end(b, pada_build_sum(b, shape, &term, 1));
}

static pada_feature walk_cell(pada_builder *b, const walked_cell *at, pada_feature before,
                              pada_feature x)
{
    pada_feature values[2 + PADA_DARTS_NODES];

    values[0] = walk_input(b, at, 0, before);
    values[1] = walk_input(b, at, 1, x);
    const int size = values[1].shape.h >> at->kind;
    const pada_shape shape = {at->channels, size, size};

    for (int node = 0; node < PADA_DARTS_NODES; node++) {
        pada_term terms[PADA_DARTS_NODES + 1];
        int n = 0;
        for (int input = 0; input < node + 2; input++) {
            if (!pada_build_takes(b, pada_darts_edge_slot(at->kind, node, input))) continue;
            edge_term(b, at, node, input, n, values[input], &terms[n]);
            n++;
        }
        values[2 + node] = pada_build_sum(b, shape, terms, n);
    }
    return pada_build_concat(b, values + 2, PADA_DARTS_NODES);
}

static pada_feature walk_stem(pada_builder *b, int channels)
{
    pada_feature x = pada_build_images(b);
    const pada_conv conv = pada_conv_make(x.shape.c, 3 * channels, 3, 1, 1, PADA_ACT_NONE);
    pada_term norm;

    x = pada_build_part_begin(b, &(pada_part){.op = "stem"}, x);
    x = pada_build_conv(b, x, &conv, PADA_BIAS_NONE, "stem.0");
    pada_build_affine_norm(b, x, "stem.1", &norm);
    return pada_build_part_end(b, pada_build_sum(b, x.shape, &norm, 1));
}

static bool has_auxiliary(const pada_builder *b, const pada_darts_settings *s, pada_feature x)
{
    return pada_build_is_final(b) && s->auxiliary > 0 && x.shape.h >= PADA_DARTS_AUXILIARY_SIZE;
}

static void walk(const pada_space *space, pada_builder *b)
{
    const pada_darts_settings *s = pada_darts_settings_of(space);
    const int cells = (int)(pada_build_is_final(b) ? s->final_cells : s->cells);
    walked_cell at = {.channels = (int)(pada_build_is_final(b) ? s->final_channels : s->channels)};
    pada_feature x = walk_stem(b, at.channels), before = x;

    for (; at.place < cells; at.place++) {
        at.kind = kind_of(at.place, cells);
        if (at.kind == 1) at.channels *= 2;
        const pada_feature y = walk_cell(b, &at, before, x);
        pada_build_tap(b, y);
        if (has_auxiliary(b, s, y) && at.place == 2 * cells / 3)
            pada_build_darts_auxiliary(b, y, space->config.classes, s->auxiliary);
        at.follows_reduction = at.kind == 1;
        before = x;
        x = y;
    }
    x = pada_build_part_begin(b, &(pada_part){.op = "Logits"}, x);
    x = pada_build_gap(b, x, PADA_ACT_NONE);
    x = pada_build_linear(b, x, space->config.classes, "classifier");
    pada_build_loss(b, pada_build_part_end_logits(b, x));
}

/* ---- what is said about a path ---- */

/* Whether something flows out of a cell, given what flows in. */
static bool flows(const pada_darts_cell *cell, bool first, bool second)
{
    bool values[2 + PADA_DARTS_NODES] = {first, second}, any = false;

    for (int node = 0; node < PADA_DARTS_NODES; node++) {
        for (int k = 2 * node; k < 2 * node + 2; k++)
            if (cell->op[k] != PADA_DARTS_NONE && values[cell->input[k]]) values[2 + node] = true;
        any = any || values[2 + node];
    }
    return any;
}

static bool dead(const pada_space *space, const pada_path *path)
{
    pada_darts_cell cells[PADA_DARTS_KINDS];
    bool before = true, x = true;

    for (int kind = 0; kind < PADA_DARTS_KINDS; kind++)
        pada_darts_get(path, kind, &cells[kind]);
    for (int i = 0; i < n_cells(space); i++) {
        const bool y = flows(&cells[kind_of(i, n_cells(space))], before, x);
        before = x;
        x = y;
    }
    return !x;
}

/* Both cells, values numbered as in genotypes; outputs are all channels of nodes 2 to 5. */
static void sketch(const pada_space *space, const pada_path *path, pada_sketch *out)
{
    enum { VALUES = 2 + PADA_DARTS_NODES };
    static const char *const nodes[PADA_DARTS_KINDS][VALUES] = {
        {"normal 0", "normal 1", "normal 2", "normal 3", "normal 4", "normal 5"},
        {"reduce 0", "reduce 1", "reduce 2", "reduce 3", "reduce 4", "reduce 5"}};

    static const char *const kinds[PADA_DARTS_KINDS] = {"normal", "reduce"};

    (void)space;
    *out = (pada_sketch){.n_nodes = PADA_DARTS_KINDS * VALUES};
    for (int kind = 0; kind < PADA_DARTS_KINDS; kind++) {
        pada_darts_cell cell;
        pada_darts_get(path, kind, &cell);
        for (int i = 0; i < VALUES; i++) {
            out->nodes[kind * VALUES + i] = nodes[kind][i];
            out->cells[kind * VALUES + i] = kinds[kind];
            out->is_input[kind * VALUES + i] = i < 2;
        }
        for (int k = 0; k < 2 * PADA_DARTS_NODES; k++) {
            if (cell.op[k] == PADA_DARTS_NONE) continue;
            out->arrows[out->n_arrows++] =
                (pada_sketch_arrow){.from = kind * VALUES + cell.input[k],
                                    .to = kind * VALUES + 2 + k / 2,
                                    .label = pada_darts_labels[cell.op[k]]};
        }
    }
}

/* ---- baselines ---- */

/* How many operators of the normal cell are one of these. */
static int count_normal(const pada_path *path, pada_darts_op a, pada_darts_op b)
{
    pada_darts_cell cell;
    int n = 0;

    pada_darts_get(path, 0, &cell);
    for (int k = 0; k < 2 * PADA_DARTS_NODES; k++)
        n += cell.op[k] == a || cell.op[k] == b;
    return n;
}

static double normal_seps(const pada_space *space, const pada_path *path)
{
    (void)space;
    return count_normal(path, PADA_DARTS_SEP3, PADA_DARTS_SEP5);
}

static double normal_skips(const pada_space *space, const pada_path *path)
{
    (void)space;
    return count_normal(path, PADA_DARTS_SKIP, PADA_DARTS_SKIP);
}

static double few_pools(const pada_space *space, const pada_path *path)
{
    (void)space;
    return -count_normal(path, PADA_DARTS_MAX_POOL, PADA_DARTS_AVG_POOL);
}

static const pada_space_score scores[] = {
    {"macs", "multiply-adds", pada_score_macs},
    {"params", "parameters", pada_score_params},
    {"normal_seps", "separable convolutions of the normal cell", normal_seps},
    {"normal_skips", "skip connections of the normal cell", normal_skips},
    {"few_pools", "fewer pools in the normal cell", few_pools},
    {NULL, NULL, NULL},
};

extern const pada_space_ops pada_space_darts;
const pada_space_ops pada_space_darts = {
    .name = "darts",
    .summary = "DARTS: a normal and a reduction cell, 8 of 14 edges each, 8 operators",
    .n_slots = PADA_DARTS_SLOTS,
    .defaults = {.classes = 10, .image_size = 32},
    .options = options,
    .settings_bytes = sizeof(pada_darts_settings),
    .check = check,
    .n_choices = pada_darts_n_choices,
    .choice_label = pada_darts_choice_label,
    .takes = pada_darts_takes,
    .slot_group = pada_darts_slot_group,
    .n_networks = pada_darts_n_networks,
    .n_sites = n_sites,
    .site_slot = site_slot,
    .walk = walk,
    .canonical = pada_darts_canonical,
    .dead = dead,
    .sketch = sketch,
    .scores = scores,
    .dialects = pada_darts_dialects,
    .parse = pada_darts_parse,
    .format = pada_darts_format,
};
