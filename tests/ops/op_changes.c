/* op_changes.c - operators that fast kernels take, and every one of them with each attribute changed. */
#include "ops/op_changes.h"

#include <stdio.h>

/* ---- convolutions ---- */

/* What fast kernels take: Winograd and the node kernels of 64 channels; the pointwise ones; the
 * reduction between stages; the stem. The last one is the first that only general kernels take. */
static const conv_case bases[] = {
    {{64, 64, 3, 1, 1, PADA_ACT_RELU, 1, 1, 0}, false, true, 1, 8, 8, false},
    {{64, 64, 1, 1, 0, PADA_ACT_RELU, 1, 1, 0}, false, true, 1, 8, 8, false},
    {{32, 64, 3, 2, 1, PADA_ACT_RELU, 1, 1, 0}, false, true, 1, 16, 16, false},
    {{3, 16, 3, 1, 1, PADA_ACT_NONE, 1, 1, 0}, false, true, 1, 32, 32, true},
    {{16, 16, 3, 1, 1, PADA_ACT_RELU, 16, 1, 0}, false, true, 2, 9, 8, false},
};
enum { N_BASES = sizeof bases / sizeof *bases };

enum attribute {
    KERNEL,
    STRIDE,
    PAD,
    GROUPS,
    DILATION,
    OFFSET,
    ACT,
    C_IN,
    C_OUT,
    H,
    W,
    BIAS,
    NORM,
    IMAGES
};
enum { ALL_CHANNELS = 0 };

static const struct {
    enum attribute what;
    int value;
} changes[] = {
    {KERNEL, 1},
    {KERNEL, 2},
    {KERNEL, 3},
    {KERNEL, 4},
    {KERNEL, 5},
    {KERNEL, 6},
    {KERNEL, 7},
    {STRIDE, 1},
    {STRIDE, 2},
    {STRIDE, 3},
    {PAD, 0},
    {PAD, 1},
    {PAD, 2},
    {GROUPS, 1},
    {GROUPS, 2},
    {GROUPS, 8},
    {GROUPS, ALL_CHANNELS},
    {DILATION, 2},
    {DILATION, 3},
    {OFFSET, 1},
    {OFFSET, 2},
    {ACT, 0},
    {ACT, 1},
    {ACT, 2},
    {C_IN, 5},
    {C_IN, 24},
    {C_OUT, 5},
    {C_OUT, 24},
    {C_OUT, 36},
    {H, 7},
    {H, 10},
    {W, 5},
    {W, 11},
    {BIAS, 1},
    {NORM, 0},
    {IMAGES, 9},
};
enum { N_CHANGES = sizeof changes / sizeof *changes };

static void change(conv_case *k, enum attribute what, int value)
{
    pada_conv *conv = &k->conv;
    const bool depthwise = conv->groups > 1 && conv->groups == conv->c_in;

    switch (what) {
    case KERNEL: conv->kernel = value; break;
    case STRIDE: conv->stride = value; break;
    case PAD: conv->pad = value; return;
    case GROUPS: conv->groups = value == ALL_CHANNELS ? conv->c_in : value; break;
    case DILATION: conv->dilation = value; break;
    case OFFSET:
        conv->offset = value;
        conv->pad = 0;
        return;
    case ACT: conv->act = (pada_act)value; break;
    case C_IN: conv->c_in = value; break;
    case C_OUT: conv->c_out = value; break;
    case H: k->h = value; break;
    case W: k->w = value; break;
    case BIAS: k->bias = value; break;
    case NORM: k->norm = value; break;
    case IMAGES: k->n_images = value; break;
    }
    conv->pad = conv->kernel / 2 * conv->dilation;
    if (depthwise && what == C_IN) conv->c_out = conv->groups = value;
}

static bool is_conv(const conv_case *k)
{
    pada_shape out;

    return pada_conv_shape(&k->conv, (pada_shape){k->conv.c_in, k->h, k->w}, &out) == PADA_OK;
}

bool conv_change(int i, conv_case *k)
{
    for (int b = 0; b < N_BASES; b++)
        for (int c = 0; c < N_CHANGES; c++) {
            *k = bases[b];
            change(k, changes[c].what, changes[c].value);
            if (is_conv(k) && i-- == 0) return true;
        }
    return false;
}

bool group_grid(int i, conv_case *k)
{
    static const int channels[][3] = {{5, 5, 5}, {4, 6, 2}, {6, 3, 3},
                                      {3, 6, 3}, {4, 2, 1}, {17, 17, 17}};
    static const int kernels[] = {1, 2, 3, 5};
    enum { N = 6 * 4 * 2 * 2 };

    if (i >= N) return false;
    const int *c = channels[i % 6];
    *k = (conv_case){
        .n_images = 2, .h = 6 + i % 2, .w = 7 - i % 3, .bias = i % 4 == 1, .norm = i % 3 == 0};
    k->conv = pada_conv_make(c[0], c[1], kernels[i / 6 % 4], 1 + i / 24 % 2, 0, (pada_act)(i % 3));
    k->conv.groups = c[2];
    k->conv.dilation = 1 + i / 48 % 2;
    k->conv.pad = (k->conv.kernel - 1) * k->conv.dilation / 2;
    if (k->conv.pad == 0) k->conv.offset = i % 5 % 3;
    return true;
}

/* ---- pools ---- */

/* Beside a convolution of 64 channels on 8x8 pixels, and before one that doubles the channels of 16x16. */
static const pada_pool pools[][9] = {
    {{1, 1, 0},
     {3, 1, 1},
     {5, 1, 2},
     {3, 2, 1},
     {3, 1, 0},
     {3, 3, 1},
     {2, 1, 1},
     {3, 1, 2},
     {5, 1, 1}},
    {{2, 2, 0},
     {3, 2, 1},
     {4, 2, 1},
     {1, 2, 0},
     {2, 1, 0},
     {2, 3, 0},
     {2, 2, 1},
     {5, 2, 2},
     {6, 2, 2}},
};
enum { N_POOLS = 9 };

static pada_value normed(graph_case *c, pada_value x, int channels, int kernel, int stride,
                         pada_act act)
{
    const pada_conv conv = pada_conv_make(0, channels, kernel, stride, kernel / 2, act);

    return case_sum1(c, case_norm(case_conv(c, x, conv, false)));
}

bool pool_change(int i, uint64_t seed, graph_case *c, char *name, size_t size)
{
    const int which = i / N_POOLS, channels = which == 0 ? 64 : 32;

    if (i >= 2 * N_POOLS) return false;
    const pada_pool *pool = &pools[which][i % N_POOLS];
    snprintf(name, size, "pool %dx%d s%d p%d", pool->kernel, pool->kernel, pool->stride, pool->pad);
    case_init(c, (pada_shape){3, 512 / channels, 512 / channels}, 2, seed);
    const pada_value y = normed(c, c->images_value, channels, 3, 1, PADA_ACT_NONE);
    const pada_term pooled = case_pool(y, pool->kernel, pool->stride, pool->pad);
    const pada_value z =
        case_conv(c, y, pada_conv_make(0, 64, 3, which == 0 ? 1 : 2, 1, PADA_ACT_NONE), false);
    const pada_value p = case_sum1(c, pooled);
    const pada_value q =
        which == 0 ? p : case_conv(c, p, pada_conv_make(0, 64, 1, 1, 0, PADA_ACT_NONE), false);
    const pada_term rest = case_norm(q);
    const bool fits = pada_shape_equal(c->graph->nodes[q].shape, c->graph->nodes[z].shape);
    const pada_value sum = fits && which == 0 ? case_sum2(c, case_norm(z), pooled)
                           : fits             ? case_sum2(c, case_norm(z), rest)
                                              : case_sum1(c, rest);
    case_readout(c, sum);
    pada_graph_simplify(c->graph); /* what the sum leaves out */
    return true;
}
