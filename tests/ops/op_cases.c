/* op_cases.c - the networks that every backend has to compute. */
#include "ops/op_cases.h"

#include <stdio.h>

/* ---- convolutions ---- */

conv_case conv_grid(int i)
{
    static const struct {
        int kernel, pad;
    } windows[] = {{1, 0}, {2, 0}, {2, 1}, {3, 0}, {3, 1}, {5, 0}, {5, 1}, {5, 2}};
    static const int channels[][2] = {{1, 3},  {3, 1},  {5, 16}, {16, 5}, {17, 3},
                                      {3, 17}, {1, 16}, {16, 1}, {5, 5}};
    const int *c = channels[i % 9];
    conv_case k = {.n_images = 2 + i % 2, .h = 5 + i % 3, .w = 6 - i % 2};

    k.conv = pada_conv_make(c[0], c[1], 1, 1, 0, PADA_ACT_NONE);
    k.conv.kernel = windows[i % 8].kernel;
    k.conv.pad = windows[i % 8].pad;
    i /= 8;
    k.conv.stride = 1 + i % 2;
    i /= 2;
    k.conv.act = (pada_act)(i % 3);
    i /= 3;
    k.bias = i % 2;
    k.norm = i / 2 % 2;
    return k;
}

void conv_case_build(graph_case *c, const conv_case *k, uint64_t seed)
{
    case_init(c, (pada_shape){k->conv.c_in, k->h, k->w}, k->n_images, seed);
    pada_value x =
        k->images ? c->images_value : case_probe(c, k->conv.act == PADA_ACT_RELU6 ? 10 : 1);
    x = case_conv(c, x, k->conv, k->bias);
    if (k->norm) {
        if (k->bias) case_mark_zero_grad(c);
        x = case_sum1(c, case_norm(x));
    }
    case_readout(c, x);
}

void conv_case_name(const conv_case *k, char *to, size_t size)
{
    static const char *const acts[] = {"", " relu", " relu6"};

    snprintf(to, size, "conv %dx%d s%d p%d g%d d%d o%d %d->%d%s%s%s, %d images %dx%d",
             k->conv.kernel, k->conv.kernel, k->conv.stride, k->conv.pad, k->conv.groups,
             k->conv.dilation, k->conv.offset, k->conv.c_in, k->conv.c_out, acts[k->conv.act],
             k->bias ? " bias" : "", k->norm ? " norm" : "", k->n_images, k->h, k->w);
}

/* ---- sums ---- */

static pada_conv plain(int c_out, int kernel, int stride)
{
    return pada_conv_make(0, c_out, kernel, stride, kernel / 2, PADA_ACT_NONE);
}

/* A value made by a convolution: 5 channels, the size of the images. */
static pada_value stem(graph_case *c)
{
    return case_conv(c, c->images_value, plain(5, 3, 1), false);
}

/* The same behind a batch norm: what a cell reads. */
static pada_value normed_stem(graph_case *c)
{
    return case_sum1(c, case_norm(stem(c)));
}

static void identity(graph_case *c)
{
    case_readout(c, case_sum1(c, case_same(stem(c))));
}

static void batch_norm(graph_case *c)
{
    case_readout(c, normed_stem(c));
}

static void batch_norm_epsilon(graph_case *c)
{
    c->graph->norm_epsilon = 0.25;
    batch_norm(c);
}

static void batch_norm_of_biased(graph_case *c)
{
    const pada_value z = case_conv(c, c->images_value, plain(5, 3, 1), true);

    case_mark_zero_grad(c);
    case_readout(c, case_sum1(c, case_norm(z)));
}

static void pool_same(graph_case *c)
{
    case_readout(c, case_sum1(c, case_pool(normed_stem(c), 3, 1, 1)));
}

static void pool_halve(graph_case *c)
{
    case_readout(c, case_sum1(c, case_pool(normed_stem(c), 2, 2, 0)));
}

static void pool_3x3_s2(graph_case *c)
{
    case_readout(c, case_sum1(c, case_pool(normed_stem(c), 3, 2, 1)));
}

static void pool_5x5_s3(graph_case *c)
{
    case_readout(c, case_sum1(c, case_pool(normed_stem(c), 5, 3, 0)));
}

/* The pool is the only reader of the convolution. */
static void pool_of_conv(graph_case *c)
{
    case_readout(c, case_sum1(c, case_pool(stem(c), 3, 1, 1)));
}

static void pool_halve_of_conv(graph_case *c)
{
    case_readout(c, case_sum1(c, case_pool(stem(c), 2, 2, 0)));
}

static void norm_plus_pool_plus_same(graph_case *c)
{
    const pada_value y = normed_stem(c), z = case_conv(c, y, plain(5, 3, 1), false);

    case_readout(c,
                 case_sum(c, (pada_term[]){case_norm(z), case_pool(y, 3, 1, 1), case_same(y)}, 3));
}

static void pool_of_pools(graph_case *c)
{
    const pada_value y = normed_stem(c);
    const pada_value a = case_sum2(c, case_pool(y, 3, 2, 1), case_pool(y, 3, 2, 1));

    case_readout(c, case_sum2(c, case_pool(a, 3, 1, 1), case_norm(a)));
}

static void same_twice(graph_case *c)
{
    const pada_value y = normed_stem(c);

    case_readout(c, case_sum2(c, case_same(y), case_same(y)));
}

static void conv_same_twice(graph_case *c)
{
    const pada_value z = stem(c);

    case_readout(c, case_sum2(c, case_same(z), case_same(z)));
}

static void conv_norm_and_same(graph_case *c)
{
    const pada_value z = stem(c);

    case_readout(c, case_sum2(c, case_norm(z), case_same(z)));
}

static void conv_norm_and_pool(graph_case *c)
{
    const pada_value z = stem(c);

    case_readout(c, case_sum2(c, case_pool(z, 3, 1, 1), case_norm(z)));
}

static void norm_twice(graph_case *c)
{
    const pada_value z = stem(c);

    case_readout(c, case_sum2(c, case_norm(z), case_norm(z)));
}

static void pool_twice(graph_case *c)
{
    const pada_value y = normed_stem(c);

    case_readout(c, case_sum2(c, case_pool(y, 3, 1, 1), case_pool(y, 3, 1, 1)));
}

/* One convolution, read by batch norms of two sums, by an identity and by another convolution. */
static void norm_of_shared_conv(graph_case *c)
{
    const pada_value z = stem(c);
    const pada_value a = case_sum1(c, case_norm(z));
    const pada_value b = case_sum2(c, case_norm(z), case_same(z));
    const pada_value d = case_conv(c, z, plain(5, 1, 1), false);

    case_readout(c,
                 case_sum(c, (pada_term[]){case_pool(a, 3, 1, 1), case_same(b), case_norm(d)}, 3));
}

static void norm_of_sum(graph_case *c)
{
    const pada_value y = normed_stem(c);
    const pada_value s = case_sum2(c, case_same(y), case_pool(y, 3, 1, 1));

    case_readout(c, case_sum1(c, case_norm(s)));
}

static void norm_of_sum_read_twice(graph_case *c)
{
    const pada_value y = normed_stem(c);
    const pada_value s = case_sum2(c, case_same(y), case_pool(y, 3, 1, 1));

    case_readout(c, case_sum2(c, case_norm(s), case_same(s)));
}

/* Convolutions of several kinds read the same value one after the other. */
static void many_convs_of_one(graph_case *c)
{
    const pada_value y = normed_stem(c);
    const pada_value a = case_conv(c, y, plain(4, 3, 1), false);
    const pada_value b = case_conv(c, y, plain(4, 1, 1), true);
    case_mark_zero_grad(c);
    const pada_value d = case_conv(c, y, plain(4, 3, 1), true);
    const pada_value e = case_conv(c, y, plain(4, 5, 1), true);

    case_readout(
        c, case_sum(c, (pada_term[]){case_norm(a), case_norm(b), case_same(d), case_same(e)}, 4));
}

static void six_terms(graph_case *c)
{
    const pada_value y = normed_stem(c);
    pada_term terms[6];

    for (int i = 0; i < 4; i++)
        terms[i] = case_norm(case_conv(c, y, plain(5, i % 2 ? 1 : 3, 1), false));
    terms[4] = case_same(y);
    terms[5] = case_pool(y, 3, 1, 1);
    case_readout(c, case_sum(c, terms, 6));
}

/* The residual block between two stages. */
static void reduction(graph_case *c)
{
    const pada_value y = normed_stem(c);
    const pada_value a = case_sum1(c, case_norm(case_conv(c, y, plain(7, 3, 2), false)));
    const pada_value z = case_conv(c, a, plain(7, 3, 1), false);
    const pada_value p = case_sum1(c, case_pool(y, 3, 2, 1));
    const pada_value skip = case_conv(c, p, plain(7, 1, 1), false);

    case_readout(c, case_sum2(c, case_norm(z), case_same(skip)));
}

/* A chain of sums in one stage: gradients that are added up inside a stage. */
static void ladder(graph_case *c)
{
    const pada_value a = normed_stem(c);
    const pada_value b = case_sum2(c, case_same(a), case_pool(a, 3, 1, 1));
    const pada_value d =
        case_sum(c, (pada_term[]){case_same(a), case_pool(b, 3, 1, 1), case_same(b)}, 3);

    case_readout(c,
                 case_sum(c, (pada_term[]){case_same(a), case_same(b), case_pool(d, 3, 1, 1)}, 3));
}

static void cell(graph_case *c)
{
    const pada_conv conv3 = pada_conv_make(0, 5, 3, 1, 1, PADA_ACT_RELU),
                    conv1 = pada_conv_make(0, 5, 1, 1, 0, PADA_ACT_RELU);
    const pada_value x = normed_stem(c);
    const pada_value a = case_sum1(c, case_norm(case_conv(c, x, conv3, false)));
    const pada_value b = case_sum2(c, case_same(x), case_norm(case_conv(c, a, conv1, false)));
    const pada_value y =
        case_sum(c,
                 (pada_term[]){case_pool(x, 3, 1, 1), case_norm(case_conv(c, a, conv3, false)),
                               case_same(b)},
                 3);

    case_head(c, case_sum1(c, case_norm(y)), PADA_ACT_RELU);
}

static void gap_none(graph_case *c)
{
    case_head(c, case_probe(c, 1), PADA_ACT_NONE);
}

static void gap_relu(graph_case *c)
{
    case_head(c, case_probe(c, 1), PADA_ACT_RELU);
}

static void gap_relu6(graph_case *c)
{
    case_head(c, case_probe(c, 10), PADA_ACT_RELU6);
}

static void linear_without_bias(graph_case *c)
{
    pada_graph_loss(c->graph,
                    case_linear(c, pada_graph_gap(c->graph, normed_stem(c), PADA_ACT_NONE), false));
}

static void linear_of_nothing(graph_case *c)
{
    pada_graph_loss(c->graph, case_linear(c, PADA_ZERO, true));
}

static void image_weights(graph_case *c)
{
    case_random_weights(c);
    c->grad_scale = 0.75;
    case_readout(c, normed_stem(c));
}

static void smoothed_labels(graph_case *c)
{
    c->graph->label_smoothing = 0.1;
    image_weights(c);
}

/* On its own, not behind the mean and the layer that lead to it. */
static void smoothed_labels_of_nothing(graph_case *c)
{
    c->graph->label_smoothing = 0.3;
    linear_of_nothing(c);
}

/* The only reader of the tapped value, and one of several. */
static void tap_alone(graph_case *c)
{
    const pada_value y = normed_stem(c);

    case_tap(c, case_sum1(c, case_pool(y, 3, 1, 1)));
    case_readout(c, y);
}

static void tap_of_conv(graph_case *c)
{
    const pada_value z = stem(c);

    case_tap(c, z);
    case_readout(c, case_sum1(c, case_norm(z)));
}

static void tap_of_sum(graph_case *c)
{
    const pada_value y = normed_stem(c), z = case_conv(c, y, plain(5, 3, 1), false);
    const pada_value s = case_sum2(c, case_norm(z), case_same(y));

    case_random_weights(c);
    c->grad_scale = 0.75;
    case_tap(c, s);
    case_readout(c, case_sum2(c, case_norm(s), case_same(s)));
}

/* Taps of the same value, of zeros, and of values in several stages. */
static void many_taps(graph_case *c)
{
    const pada_value y = normed_stem(c), p = case_sum1(c, case_pool(y, 2, 2, 0));

    case_tap(c, y);
    case_tap(c, PADA_ZERO);
    case_tap(c, y);
    case_tap(c, p);
    case_readout(c, p);
}

/* Convolutions that nobody reads but a probe, beside one that the sum reads, too. */
static void probe(graph_case *c)
{
    const pada_value x = normed_stem(c);
    pada_term terms[4];

    for (int i = 0; i < 4; i++)
        terms[i] = case_norm(case_conv(c, x, plain(5, i < 3 ? 3 : 1, 1), false));
    const pada_value y = case_sum2(c, terms[1], case_pool(x, 3, 1, 1));
    case_probe_sum(c, y, terms, 4);
    case_readout(c, y);
}

/* A chain of values that end in a probe: none of them has a gradient. */
static void probe_of_chain(graph_case *c)
{
    const pada_value x = normed_stem(c);
    const pada_value w = case_sum1(c, case_pool(x, 3, 1, 1));
    const pada_value a = case_sum1(c, case_norm(case_conv(c, w, plain(5, 1, 1), false)));
    const pada_term term = case_norm(case_conv(c, a, plain(5, 3, 1), false));
    const pada_value y = case_sum2(c, case_same(x), case_pool(x, 3, 1, 1));

    case_probe_sum(c, y, &term, 1);
    case_readout(c, y);
}

/* Two convolutions of one stage that have the same weights. */
static void shared_weights(graph_case *c)
{
    const pada_conv conv = pada_conv_make(5, 5, 3, 1, 1, PADA_ACT_NONE);
    const pada_value x = normed_stem(c), p = case_sum1(c, case_pool(x, 3, 1, 1));
    const pada_value a = case_conv(c, x, conv, false);
    const pada_value b = pada_graph_conv(c->graph, p, &conv, c->graph->nodes[a].weight, -1);

    case_readout(c, case_sum(c, (pada_term[]){case_norm(a), case_norm(b), case_same(p)}, 3));
}

static void affine_norm(graph_case *c)
{
    case_readout(c, case_sum1(c, case_affine(c, stem(c), true, true)));
}

static void affine_norm_of_sum(graph_case *c)
{
    const pada_value y = normed_stem(c);
    const pada_value s = case_sum2(c, case_same(y), case_pool(y, 3, 1, 1));

    case_readout(c, case_sum2(c, case_affine(c, s, true, true), case_same(s)));
}

/* One value behind three batch norms, one of which is plain; scale and shift alone. */
static void affine_norms_of_one(graph_case *c)
{
    const pada_value y = case_sum1(c, case_affine(c, stem(c), false, true));
    const pada_value z = case_conv(c, y, plain(5, 3, 1), false);

    case_readout(c, case_sum(c,
                             (pada_term[]){case_affine(c, z, true, false), case_norm(z),
                                           case_affine(c, z, true, true), case_same(y)},
                             4));
}

/* Convolutions between them that read through an activation, as in networks trained alone. */
static void affine_cell(graph_case *c)
{
    const pada_conv conv3 = pada_conv_make(0, 17, 3, 1, 1, PADA_ACT_RELU),
                    conv1 = pada_conv_make(0, 17, 1, 1, 0, PADA_ACT_RELU);
    const pada_value x = case_sum1(
        c, case_affine(c, case_conv(c, c->images_value, plain(17, 3, 1), false), true, true));
    const pada_value a =
        case_sum2(c, case_affine(c, case_conv(c, x, conv3, false), true, true), case_same(x));
    const pada_value b = case_sum2(c, case_affine(c, case_conv(c, a, conv1, false), true, true),
                                   case_pool(x, 3, 1, 1));

    case_head(c, case_sum1(c, case_affine(c, b, true, true)), PADA_ACT_RELU);
}

/* Batch norms of zeros: in a sum, read by an activation and a convolution with padding, alone. */
static void constants(graph_case *c)
{
    const pada_value x = normed_stem(c);
    const pada_shape shape = c->graph->nodes[x].shape;
    const pada_value k = case_constant(c, shape);
    const pada_value y = case_sum2(c, case_same(x), case_same(case_constant(c, shape)));
    const pada_value z = case_conv(c, k, plain(5, 3, 1), false);

    case_readout(c,
                 case_sum(c, (pada_term[]){case_norm(z), case_same(k), case_pool(y, 3, 1, 1)}, 3));
}

static void constant_of_a_cell(graph_case *c)
{
    const pada_value k = case_sum1(c, case_same(case_constant(c, (pada_shape){17, 5, 6})));
    const pada_conv conv = pada_conv_make(0, 17, 3, 1, 1, PADA_ACT_RELU);

    case_readout(c, case_sum2(c, case_affine(c, case_conv(c, k, conv, false), true, true),
                              case_same(case_constant(c, (pada_shape){17, 5, 6}))));
}

/* Squeeze and excitation of x, which others read, too. */
static pada_value excited(graph_case *c, pada_value x, pada_act act, int squeezed)
{
    const pada_conv expand = pada_conv_make(0, c->graph->nodes[x].shape.c, 1, 1, 0, PADA_ACT_RELU);
    const pada_value f = pada_graph_gap(c->graph, x, act);
    const pada_value s = case_conv(c, f, plain(squeezed, 1, 1), true);

    return pada_graph_gate(c->graph, x, act, case_conv(c, s, expand, true));
}

static void gate(graph_case *c)
{
    case_readout(c, excited(c, case_probe(c, 1), PADA_ACT_RELU, 2));
}

static void gate_of_block(graph_case *c)
{
    const pada_value x =
        case_sum1(c, case_norm(case_conv(c, c->images_value, plain(17, 3, 1), false)));
    const pada_value y = excited(c, x, PADA_ACT_NONE, 3);
    const pada_value z = case_conv(c, y, plain(17, 1, 1), false);

    case_readout(c, case_sum(c, (pada_term[]){case_norm(z), case_same(y), case_same(x)}, 3));
}

/* One s for two values, so that its gradient is a sum. */
static void gate_twice(graph_case *c)
{
    const pada_value x = case_probe(c, 10), f = pada_graph_gap(c->graph, x, PADA_ACT_RELU6);
    const pada_value s = case_conv(c, f, plain(c->image.c, 1, 1), true);
    const pada_value y = pada_graph_gate(c->graph, x, PADA_ACT_RELU6, s);

    case_readout(c, pada_graph_gate(c->graph, y, PADA_ACT_NONE, s));
}

const sum_case sum_cases[] = {
    {"identity", identity, false},
    {"batch norm", batch_norm, false},
    {"batch norm of a biased conv", batch_norm_of_biased, false},
    {"batch norm with a large epsilon", batch_norm_epsilon, false},
    {"pool 3x3 s1 p1", pool_same, false},
    {"pool 2x2 s2 p0", pool_halve, false},
    {"pool 3x3 s2 p1", pool_3x3_s2, false},
    {"pool 5x5 s3 p0", pool_5x5_s3, false},
    {"pool 3x3 s1 p1 of a conv", pool_of_conv, false},
    {"pool 2x2 s2 p0 of a conv", pool_halve_of_conv, false},
    {"norm + pool + identity", norm_plus_pool_plus_same, false},
    {"pool of pools", pool_of_pools, false},
    {"y + y", same_twice, false},
    {"z + z of a conv", conv_same_twice, false},
    {"norm(z) + z", conv_norm_and_same, false},
    {"pool(z) + norm(z)", conv_norm_and_pool, false},
    {"norm(z) + norm(z)", norm_twice, false},
    {"pool(y) + pool(y)", pool_twice, false},
    {"norm of a shared conv", norm_of_shared_conv, false},
    {"norm of a sum", norm_of_sum, false},
    {"norm of a sum read twice", norm_of_sum_read_twice, false},
    {"many convs of one value", many_convs_of_one, false},
    {"six terms", six_terms, false},
    {"reduction", reduction, false},
    {"ladder", ladder, false},
    {"cell", cell, true},
    {"gap", gap_none, false},
    {"gap relu", gap_relu, false},
    {"gap relu6", gap_relu6, false},
    {"linear without bias", linear_without_bias, false},
    {"linear of nothing", linear_of_nothing, false},
    {"weights of the images", image_weights, false},
    {"smoothed labels", smoothed_labels, false},
    {"smoothed labels of nothing", smoothed_labels_of_nothing, false},
    {"tap of a value that nobody else reads", tap_alone, false},
    {"tap of a conv", tap_of_conv, false},
    {"tap of a sum", tap_of_sum, false},
    {"many taps", many_taps, false},
    {"probe", probe, false},
    {"probe of a chain", probe_of_chain, false},
    {"shared weights", shared_weights, false},
    {"affine norm", affine_norm, false},
    {"affine norm of a sum", affine_norm_of_sum, false},
    {"affine norms of one value", affine_norms_of_one, false},
    {"affine cell", affine_cell, true},
    {"constants", constants, false},
    {"constant of a cell", constant_of_a_cell, true},
    {"gate", gate, true},
    {"gate of a block", gate_of_block, true},
    {"gate twice", gate_twice, false},
};
const int n_sum_cases = sizeof sum_cases / sizeof *sum_cases;
