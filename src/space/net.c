/* net.c - the net builder, and the walks that declare, build, measure, count and visit a network. */
#include "space/net.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef enum purpose { DECLARE_SHARED, DECLARE_SITES, BUILD, COST, MEASURE, VISIT } purpose;

enum { UNKNOWN = -1 };

struct pada_builder {
    const pada_space *space;
    purpose purpose;
    bool is_final;
    const pada_path *path; /* NULL: every choice is walked */
    pada_status status;

    pada_params *declared;     /* DECLARE_*: where to */
    bool declares_statistics;  /* not parameters */
    const pada_params *params; /* BUILD */
    pada_graph *graph;
    pada_cost *cost;
    pada_net_room room,
        most_room; /* MEASURE: so far; with the largest choice of the site that is walked */
    pada_net_room first_room; /* before that site */

    pada_part_visit visit; /* VISIT */
    void *user;
    pada_part part; /* that was begun */
    pada_part_place place;
    int n_shared_parts;         /* so far */
    pada_part_place next_place; /* of the next part, where it is not shared */
    bool is_inside; /* of a space with one part: what is built now is one of its layers */

    bool is_auxiliary; /* between begin and end of an auxiliary head */
    int site, choice;  /* whom the next parameters belong to */
    /* BUILD: ids of the next shared tensor, and of the next one of (site, choice), or UNKNOWN: its first */
    struct cursor {
        int shared, own;
    } next_param, next_statistic;

    char prefix[sizeof((pada_param *)0)->name]; /* DECLARE_* */
    int prefix_length;
};

/* ---- names ---- */

static bool is_declaring(const pada_builder *b)
{
    return b->purpose == (b->site == PADA_SHARED ? DECLARE_SHARED : DECLARE_SITES);
}

int pada_build_enter(pada_builder *b, const char *format, ...)
{
    const int mark = b->prefix_length;
    const size_t room = sizeof b->prefix - (size_t)mark;
    va_list args;

    if (!b->declared) return mark;
    va_start(args, format);
    const int n = vsnprintf(b->prefix + mark, room, format, args);
    va_end(args);
    if (n < 0 || (size_t)n + 1 >= room) {
        if (b->status == PADA_OK)
            b->status = PADA_FAIL(PADA_EINVAL, "space %s: the names below '%s' are too long",
                                  b->space->ops->name, b->prefix);
        return mark;
    }
    b->prefix[mark + n] = '.';
    b->prefix_length = mark + n + 1;
    return mark;
}

void pada_build_leave(pada_builder *b, int mark)
{
    b->prefix_length = mark;
}

/* ---- choices ---- */

/* Ends the choice before, whose nodes need no room beside those of the next one. */
static void next_room(pada_builder *b, bool is_first)
{
    if (is_first) b->first_room = b->most_room = b->room;
    if (b->room.nodes > b->most_room.nodes) b->most_room.nodes = b->room.nodes;
    if (b->room.terms > b->most_room.terms) b->most_room.terms = b->room.terms;
    b->room = b->first_room;
}

/* The choice that follows, all of them being walked; the end: n. */
static int next_of_all(pada_builder *b, int site, int choice, int n)
{
    const int n_declared = b->declared ? pada_params_count(b->declared) : 0;

    if (b->purpose == DECLARE_SHARED) return n;
    /* sites come in ascending order: one that is not behind the last was declared by another slot */
    if (b->purpose == DECLARE_SITES && choice < 0 && n_declared > 0 &&
        pada_params_get(b->declared, n_declared - 1)->site >= site)
        return n;
    if (b->purpose == MEASURE) next_room(b, choice < 0);
    return choice + 1;
}

bool pada_build_choose(pada_builder *b, int site, int slot, int *choice)
{
    const int n = b->space->ops->n_choices(b->space, slot);

    if (b->path)
        *choice = *choice < 0 ? b->path->choice[slot] : n;
    else
        *choice = next_of_all(b, site, *choice, n);
    const bool is_there = *choice < n;
    if (b->purpose == MEASURE && !b->path && !is_there) b->room = b->most_room;
    b->site = is_there ? site : PADA_SHARED;
    b->choice = is_there ? *choice : 0;
    b->next_param.own = b->next_statistic.own = UNKNOWN;
    b->next_place = (pada_part_place){slot, site, b->choice, 0};
    return is_there;
}

bool pada_build_takes(const pada_builder *b, int slot)
{
    return !b->path || pada_path_takes(b->space, b->path, slot);
}

int pada_build_block(const pada_builder *b, int slot)
{
    return b->path ? pada_path_block(b->space, b->path, slot) : 0;
}

int pada_build_probes(const pada_builder *b)
{
    if (b->purpose == BUILD) return b->graph->probes;
    return b->path ? 0 : b->space->config.blocks;
}

bool pada_build_is_final(const pada_builder *b)
{
    return b->is_final;
}

/* ---- parameters ---- */

/* A parameter, without its owner and the names in front of it. */
typedef struct param_desc {
    const char *module, *kind;
    int dims[4], n_dims;
    double centre;  /* of its initial values */
    int64_t fan_in; /* they are spread by 1 / sqrt(fan_in); 0: not at all */
    bool bias_before_norm;
} param_desc;

static void declare_param(pada_builder *b, const param_desc *d)
{
    pada_param p = {.n_dims = d->n_dims,
                    .centre = d->centre,
                    .bound = d->fan_in > 0 ? 1.0 / sqrt((double)d->fan_in) : 0,
                    .site = b->site,
                    .choice = b->choice,
                    .bias_before_norm = d->bias_before_norm};
    int id;

    if (b->status != PADA_OK) return;
    memcpy(p.dims, d->dims, sizeof p.dims);
    const int n = snprintf(p.name, sizeof p.name, "%.*s%s.%s", b->prefix_length, b->prefix,
                           d->module, d->kind);
    if (n < 0 || (size_t)n >= sizeof p.name)
        b->status = PADA_FAIL(PADA_EINVAL, "space %s: the name '%s..' is too long",
                              b->space->ops->name, p.name);
    else
        b->status = pada_params_add(b->declared, &p, &id);
}

/* The offset of the next tensor of the owner in a map, which has that shape. */
static int64_t find_param(const pada_builder *b, const pada_params *map, struct cursor *cursor,
                          const param_desc *d)
{
    int *next = b->site == PADA_SHARED ? &cursor->shared : &cursor->own;

    if (*next == UNKNOWN) *next = pada_params_first(map, b->site, b->choice);
    const pada_param *p = pada_params_get(map, (*next)++);
    /* otherwise the walk took another way than when it declared */
    PADA_ASSERT(p->site == b->site && p->choice == b->choice && p->n_dims == d->n_dims &&
                memcmp(p->dims, d->dims, sizeof p->dims) == 0);
    return p->offset;
}

/* Whether a layer is there at all: most of them are not where a space has one part only. */
static bool exists(const pada_builder *b)
{
    return b->space->part_form == PADA_PART_NONE || b->is_inside;
}

/* Auxiliary heads are no part of the network that is used. */
static bool is_counting(const pada_builder *b)
{
    return b->purpose == COST && !b->is_auxiliary && exists(b);
}

/* The next parameter: its offset in the graph that is built, else -1. */
static int64_t take_param(pada_builder *b, const param_desc *d)
{
    if (!exists(b)) return -1;
    if (b->purpose == BUILD) return find_param(b, b->params, &b->next_param, d);
    if (is_declaring(b) && !b->declares_statistics) declare_param(b, d);
    if (is_counting(b)) {
        int64_t count = 1;
        for (int i = 0; i < d->n_dims; i++)
            count *= d->dims[i];
        b->cost->params += count;
    }
    return -1;
}

/* Whether the walk is about running statistics at all. */
static bool has_statistics(const pada_builder *b)
{
    if (!exists(b)) return false;
    return b->purpose == BUILD ? b->graph->statistics != NULL
                               : b->declares_statistics && is_declaring(b);
}

/* The next running mean and variance: their offsets in the graph that is built. */
static void take_statistics(pada_builder *b, int channels, const char *module, pada_norm *norm)
{
    const param_desc mean = {
        .module = module, .kind = "running_mean", .dims = {channels, 1, 1, 1}, .n_dims = 1};
    param_desc variance = mean;

    variance.kind = "running_var";
    variance.centre = 1;
    if (b->purpose != BUILD) {
        declare_param(b, &mean);
        declare_param(b, &variance);
        return;
    }
    norm->mean = find_param(b, b->graph->statistics, &b->next_statistic, &mean);
    norm->variance = find_param(b, b->graph->statistics, &b->next_statistic, &variance);
}

/* ---- layers ---- */

/* Counts a node, and says whether it is one of a graph. */
static bool adds_node(pada_builder *b, int n_terms)
{
    if (!exists(b)) return false;
    b->room.nodes++;
    b->room.terms += n_terms;
    return b->purpose == BUILD;
}

static void note(pada_builder *b, pada_status st)
{
    if (b->status == PADA_OK) b->status = st;
}

pada_feature pada_build_images(pada_builder *b)
{
    const int size = b->space->config.image_size;
    pada_feature images = {PADA_ZERO, {3, size, size}};

    if (adds_node(b, 0)) images.value = pada_graph_input(b->graph, images.shape);
    return images;
}

pada_feature pada_build_conv(pada_builder *b, pada_feature x, const pada_conv *conv, pada_bias bias,
                             const char *module)
{
    const int64_t per_output = pada_conv_weights(conv) / conv->c_out;
    const int k = conv->kernel;
    pada_feature y = {PADA_ZERO, x.shape};
    int64_t bias_at = -1;

    const int64_t weight =
        take_param(b, &(param_desc){.module = module,
                                    .kind = "weight",
                                    .dims = {conv->c_out, conv->c_in / conv->groups, k, k},
                                    .n_dims = 4,
                                    .fan_in = per_output});
    if (bias == PADA_BIAS_ADDED || (bias == PADA_BIAS_BEFORE_NORM && !b->is_final))
        bias_at = take_param(b, &(param_desc){.module = module,
                                              .kind = "bias",
                                              .dims = {conv->c_out, 1, 1, 1},
                                              .n_dims = 1,
                                              .fan_in = per_output,
                                              .bias_before_norm = bias == PADA_BIAS_BEFORE_NORM});
    const bool adds = adds_node(b, 0);
    if (adds)
        y.value = pada_graph_conv(b->graph, x.value, conv, weight,
                                  bias == PADA_BIAS_ADDED ? bias_at : -1);
    if (y.value != PADA_ZERO)
        y.shape = b->graph->nodes[y.value].shape;
    else
        note(b, pada_conv_shape(conv, x.shape, &y.shape));
    if (adds && y.value == PADA_ZERO && bias == PADA_BIAS_ADDED)
        y.value = pada_graph_constant(b->graph, y.shape, bias_at);
    if (is_counting(b)) b->cost->macs += pada_conv_macs(conv, y.shape);
    return y;
}

void pada_build_norm(pada_builder *b, pada_feature z, const char *module, pada_term *term)
{
    if (b->is_final) {
        pada_build_affine_norm(b, z, module, term);
        return;
    }
    *term = pada_norm_term(z.value);
    if (has_statistics(b)) take_statistics(b, z.shape.c, module, &term->norm);
}

void pada_build_affine_norm(pada_builder *b, pada_feature z, const char *module, pada_term *term)
{
    *term = pada_norm_term(z.value);
    if (has_statistics(b)) take_statistics(b, z.shape.c, module, &term->norm);
    param_desc d = {.module = module, .kind = "weight", .dims = {z.shape.c, 1, 1, 1}, .n_dims = 1};
    d.centre = 1;
    term->norm.scale = take_param(b, &d);
    d.kind = "bias";
    d.centre = 0;
    term->norm.shift = take_param(b, &d);
    /* Of zeros it makes its shift: their mean is zero, in the batch as in running statistics. */
    if (adds_node(b, 0) && z.value == PADA_ZERO)
        *term = (pada_term){.kind = PADA_TERM_IDENTITY,
                            .x = pada_graph_constant(b->graph, z.shape, term->norm.shift)};
}

pada_feature pada_build_sum(pada_builder *b, pada_shape shape, const pada_term *terms, int n_terms)
{
    pada_feature y = {PADA_ZERO, shape};

    if (!adds_node(b, n_terms)) return y;
    y.value = pada_graph_combine(b->graph, terms, n_terms);
    PADA_ASSERT(y.value == PADA_ZERO || pada_shape_equal(b->graph->nodes[y.value].shape, shape));
    return y;
}

pada_feature pada_build_pool(pada_builder *b, pada_feature x, const pada_pool *pool,
                             pada_pool_kind kind, pada_act act)
{
    pada_feature y = {PADA_ZERO, x.shape};

    note(b, pada_pool_shape(pool, x.shape, &y.shape));
    if (adds_node(b, 0)) y.value = pada_graph_pool(b->graph, x.value, pool, kind, act);
    return y;
}

pada_feature pada_build_concat(pada_builder *b, const pada_feature *parts, int n_parts)
{
    pada_value values[PADA_MAX_CONCAT];
    int channels[PADA_MAX_CONCAT];
    pada_feature y = {PADA_ZERO, parts[0].shape};

    PADA_ASSERT(n_parts >= 1 && n_parts <= PADA_MAX_CONCAT);
    y.shape.c = 0;
    for (int i = 0; i < n_parts; i++) {
        values[i] = parts[i].value;
        channels[i] = parts[i].shape.c;
        y.shape.c += parts[i].shape.c;
        if (parts[i].shape.h != y.shape.h || parts[i].shape.w != y.shape.w)
            note(b, PADA_FAIL(PADA_EINVAL, "concat of %dx%d and %dx%d pixels", y.shape.h, y.shape.w,
                              parts[i].shape.h, parts[i].shape.w));
    }
    if (adds_node(b, n_parts)) y.value = pada_graph_concat(b->graph, values, channels, n_parts);
    return y;
}

pada_feature pada_build_gate(pada_builder *b, pada_feature x, pada_act act, pada_feature s)
{
    pada_feature y = {PADA_ZERO, x.shape};

    if (!pada_shape_equal(s.shape, (pada_shape){x.shape.c, 1, 1}))
        note(b, PADA_FAIL(PADA_EINVAL, "gate of %d channels by %dx%dx%d", x.shape.c, s.shape.c,
                          s.shape.h, s.shape.w));
    else if (adds_node(b, 2))
        y.value = pada_graph_gate(b->graph, x.value, act, s.value);
    return y;
}

pada_feature pada_build_gap(pada_builder *b, pada_feature x, pada_act act)
{
    pada_feature y = {PADA_ZERO, {x.shape.c, 1, 1}};

    if (adds_node(b, 0)) y.value = pada_graph_gap(b->graph, x.value, act);
    return y;
}

pada_feature pada_build_drop(pada_builder *b, pada_feature x, pada_drop_kind kind, double share)
{
    b->room.drops |= PADA_ONE(kind);
    if (adds_node(b, 0)) x.value = pada_graph_drop(b->graph, x.value, kind, share);
    return x;
}

pada_feature pada_build_linear(pada_builder *b, pada_feature x, int n_out, const char *module)
{
    const int n_in = x.shape.c;
    pada_feature y = {PADA_ZERO, {n_out, 1, 1}};

    const int64_t weight = take_param(b, &(param_desc){.module = module,
                                                       .kind = "weight",
                                                       .dims = {n_out, n_in, 1, 1},
                                                       .n_dims = 2,
                                                       .fan_in = n_in});
    const int64_t bias = take_param(b, &(param_desc){.module = module,
                                                     .kind = "bias",
                                                     .dims = {n_out, 1, 1, 1},
                                                     .n_dims = 1,
                                                     .fan_in = n_in});
    pada_build_count_macs(b, (int64_t)n_in * n_out);
    if (adds_node(b, 0)) y.value = pada_graph_linear(b->graph, x.value, n_out, weight, bias);
    return y;
}

void pada_build_loss(pada_builder *b, pada_feature logits)
{
    if (adds_node(b, 0)) pada_graph_loss(b->graph, logits.value);
}

void pada_build_auxiliary_begin(pada_builder *b)
{
    PADA_ASSERT(!b->is_auxiliary);
    b->is_auxiliary = true;
}

void pada_build_auxiliary_end(pada_builder *b, pada_feature logits, double weight)
{
    PADA_ASSERT(b->is_auxiliary);
    b->is_auxiliary = false;
    if (adds_node(b, 0)) pada_graph_auxiliary_loss(b->graph, logits.value, weight);
}

/* ---- parts ---- */

static const pada_shape nothing = {1, 1, 1};

/* Counts the part, and says where it stands. */
static pada_part_place count_part(pada_builder *b)
{
    if (b->site == PADA_SHARED) return (pada_part_place){-1, PADA_SHARED, 0, b->n_shared_parts++};
    const pada_part_place place = b->next_place;
    b->next_place.number++;
    return place;
}

static bool is_same_place(const pada_part_place *a, const pada_part_place *b)
{
    return a->site == b->site && a->choice == b->choice && a->number == b->number;
}

/* A tensor of that shape, made of the images with little work: what a part reads when it is alone. */
static pada_feature stand_in(pada_builder *b, pada_shape shape)
{
    const pada_feature images = pada_build_images(b);
    const int stride = (images.shape.h - 1) / shape.h + 1;
    const pada_conv conv = pada_conv_make(images.shape.c, shape.c, 1, stride, 0, PADA_ACT_NONE);
    pada_term norm;

    if (pada_shape_equal(shape, images.shape)) return images;
    const pada_feature z = pada_build_conv(b, images, &conv, PADA_BIAS_NONE, "stand_in.conv");
    if (!pada_shape_equal(z.shape, shape))
        note(b, PADA_FAIL(PADA_EINVAL, "no part of %dx%d pixels alone in images of %dx%d", shape.h,
                          shape.w, images.shape.h, images.shape.w));
    pada_build_norm(b, z, "stand_in.norm", &norm);
    return pada_build_sum(b, z.shape, &norm, 1);
}

/* What makes a network of a tensor. */
static void finish_part(pada_builder *b, pada_feature y)
{
    y = pada_build_gap(b, y, PADA_ACT_NONE);
    pada_build_loss(b, pada_build_linear(b, y, b->space->config.classes, "stand_in.classifier"));
}

/* A network of a tensor of that shape and nothing else. In place of images and logits, which the other side of a part has
 * no work with, there is as little as can be. */
static void build_surroundings(pada_builder *b, pada_shape shape)
{
    const int size = b->space->config.image_size;
    const bool is_images = pada_shape_equal(shape, (pada_shape){3, size, size});

    b->is_inside = true;
    finish_part(b, stand_in(b, is_images ? nothing : shape));
    b->is_inside = false;
}

pada_feature pada_build_part_begin(pada_builder *b, const pada_part *part, pada_feature x)
{
    const pada_part_form form = b->space->part_form;

    b->place = count_part(b);
    b->part = *part;
    b->part.in = x.shape;
    if (form == PADA_PART_NONE || !is_same_place(&b->place, &b->space->part)) return x;
    if (form == PADA_PART_X_ALONE) build_surroundings(b, x.shape);
    if (form != PADA_PART_ALONE) return x;
    b->is_inside = true;
    return stand_in(b, x.shape);
}

/* Reports a part, and ends a space that has nothing else; `y` is what it made, `rest` what stands for its surroundings. */
static void end_part(pada_builder *b, pada_feature y, pada_shape rest, bool is_logits)
{
    b->part.out = y.shape;
    if (is_logits) b->part.out.h = b->part.out.w = 0;
    if (b->purpose == VISIT && b->status == PADA_OK)
        b->status = b->visit(b->user, &b->part, &b->place);
    if (!is_same_place(&b->place, &b->space->part)) return;
    if (b->space->part_form == PADA_PART_Y_ALONE) build_surroundings(b, rest);
    if (b->space->part_form != PADA_PART_ALONE) return;
    if (is_logits)
        pada_build_loss(b, y);
    else
        finish_part(b, y);
    b->is_inside = false;
}

/* What follows a part is not there where the part is alone. */
static pada_value value_behind(const pada_builder *b, pada_value value)
{
    return b->space->part_form == PADA_PART_NONE ? value : PADA_ZERO;
}

pada_feature pada_build_part_end(pada_builder *b, pada_feature y)
{
    end_part(b, y, y.shape, false);
    return (pada_feature){value_behind(b, y.value), y.shape};
}

void pada_build_part_end_term(pada_builder *b, pada_shape shape, pada_term *term)
{
    pada_feature y = {PADA_ZERO, shape};

    if (b->is_inside) y = pada_build_sum(b, shape, term, 1);
    end_part(b, y, shape, false);
    term->x = value_behind(b, term->x);
}

pada_feature pada_build_part_end_logits(pada_builder *b, pada_feature logits)
{
    end_part(b, logits, nothing, true);
    return (pada_feature){value_behind(b, logits.value), logits.shape};
}

void pada_build_tap(pada_builder *b, pada_feature x)
{
    if (adds_node(b, 0)) pada_graph_tap(b->graph, x.value, x.shape);
}

void pada_build_boundary(pada_builder *b, pada_feature x)
{
    if (adds_node(b, 0) && b->graph->boundaries) pada_graph_tap(b->graph, x.value, x.shape);
}

void pada_build_probe(pada_builder *b, pada_feature y, const pada_term *terms, int n_terms)
{
    if (adds_node(b, n_terms)) pada_graph_probe(b->graph, y.value, terms, n_terms);
}

void pada_build_count_macs(pada_builder *b, int64_t macs)
{
    if (is_counting(b)) b->cost->macs += macs;
}

/* ---- walks ---- */

static pada_status walk(pada_builder *b, purpose what_for)
{
    b->purpose = what_for;
    b->site = PADA_SHARED;
    b->choice = 0;
    b->n_shared_parts = 0;
    b->space->ops->walk(b->space, b);
    return b->status;
}

/* The path that a walk is about when nobody gives one. One part of a space is looked for among all choices. */
static const pada_path *only_path(const pada_space *space)
{
    return space->is_final && space->part_form == PADA_PART_NONE ? &space->network : NULL;
}

pada_status pada_space_declare(const pada_space *space, pada_params *params)
{
    pada_builder b = {
        .space = space, .is_final = space->is_final, .path = only_path(space), .declared = params};

    PADA_TRY(walk(&b, DECLARE_SHARED));
    if (space->config.blocks > 1)
        PADA_TRY(
            pada_block_gate_declare(params, space->ops->n_choices(space, 0), space->config.blocks));
    return walk(&b, DECLARE_SITES);
}

pada_status pada_space_declare_statistics(const pada_space *space, pada_params *statistics)
{
    pada_builder b = {.space = space,
                      .is_final = space->is_final,
                      .path = only_path(space),
                      .declared = statistics,
                      .declares_statistics = true};

    PADA_TRY(walk(&b, DECLARE_SHARED));
    return walk(&b, DECLARE_SITES);
}

void pada_space_build(const pada_space *space, const pada_params *params, const pada_path *path,
                      pada_graph *graph)
{
    pada_builder b = {.space = space,
                      .is_final = space->is_final,
                      .path = space->part_form == PADA_PART_NONE ? path : NULL,
                      .params = params,
                      .graph = graph};

    PADA_ASSERT(!space->is_final || pada_path_equal(space, path, &space->network));
    graph->norm_epsilon =
        space->ops->norm_epsilon > 0 ? space->ops->norm_epsilon : PADA_NORM_EPSILON;
    const pada_status st = walk(&b, BUILD);
    if (graph->status == PADA_OK) graph->status = st;
}

static void count_cost(const pada_space *space, const pada_path *path, bool is_final,
                       pada_cost *cost)
{
    pada_builder b = {.space = space,
                      .is_final = is_final,
                      .path = space->part_form == PADA_PART_NONE ? path : NULL,
                      .cost = cost};

    *cost = (pada_cost){0, 0};
    const pada_status st = walk(&b, COST);
    PADA_ASSERT(st == PADA_OK); /* pada_space_init has walked the network */
}

void pada_space_cost(const pada_space *space, const pada_path *path, pada_cost *cost)
{
    count_cost(space, path, true, cost);
}

void pada_space_search_cost(const pada_space *space, const pada_path *path, pada_cost *cost)
{
    count_cost(space, path, false, cost);
}

pada_status pada_space_measure(const pada_space *space, pada_net_room *room)
{
    pada_builder b = {.space = space, .is_final = space->is_final, .path = only_path(space)};

    PADA_TRY(walk(&b, MEASURE));
    *room = b.room;
    return PADA_OK;
}

pada_status pada_space_visit_parts(const pada_space *space, const pada_path *path,
                                   pada_part_visit visit, void *user)
{
    pada_space final;
    pada_builder b = {
        .space = &final, .is_final = true, .path = path, .visit = visit, .user = user};

    PADA_ASSERT(space->part_form == PADA_PART_NONE);
    pada_space_finalise(&final, space, &(const pada_path){{0}});
    return walk(&b, VISIT);
}
