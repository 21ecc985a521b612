/* join_cases.c - networks with pools of their own and with concatenations. */
#include "ops/join_cases.h"

#include <stdio.h>

/* Images whose pixels are 0.004 or more apart, so that no rounding and no finite difference changes which is largest;
 * and not within 0.05 of 0 and 0.6, as those of case_init. */
static void spread_pixels(graph_case *c)
{
    const int count = (int)pada_shape_count(c->image);

    for (int n = 0; n < c->n_images; n++)
        for (int i = 0; i < count; i++) {
            const int k = (i * 37 + n * 11) % count; /* 37 divides no count used here */
            double x = 0.1 + 0.9 * k / count;
            if (x > 0.55) x += 0.1;
            c->images[n * count + i] = (float)(k % 3 == 0 ? -x : x);
        }
}

/* ---- pools ---- */

static const pada_pool windows[] = {{1, 1, 0}, {2, 2, 0}, {3, 1, 1}, {3, 2, 1},
                                    {5, 3, 0}, {5, 1, 2}, {2, 1, 1}, {4, 3, 2}};
enum { N_WINDOWS = sizeof windows / sizeof *windows, N_POOLS = N_WINDOWS * 2 * 3 };

static void build_pool(graph_case *c, int i, char *name, size_t size)
{
    static const char *const kinds[] = {"average", "largest"};
    const pada_pool *w = &windows[i % N_WINDOWS];
    const pada_pool_kind kind = (pada_pool_kind)(i / N_WINDOWS % 2);
    const pada_act act = (pada_act)(i / N_WINDOWS / 2);

    snprintf(name, size, "%s of %dx%d s%d p%d, activation %d", kinds[kind], w->kernel, w->kernel,
             w->stride, w->pad, (int)act);
    case_init(c, (pada_shape){i % 2 ? 5 : 1, 7, 6}, 2, (uint64_t)i);
    spread_pixels(c);
    const pada_value x = case_probe(c, act == PADA_ACT_RELU6 ? 10 : 1);
    const pada_value y = pada_graph_pool(c->graph, x, w, kind, act);
    switch (i % 3) {
    case 0: case_readout(c, y); break;
    case 1: case_readout(c, case_sum2(c, case_norm(y), case_same(y))); break;
    default: /* another reader of x, so that the gradient of the pool is added */
        case_tap(c, x);
        case_readout(c, case_sum1(c, case_norm(y)));
        break;
    }
}

/* ---- concatenations ---- */

static pada_value conv(graph_case *c, pada_value x, int channels, int kernel, int stride)
{
    return case_conv(c, x, pada_conv_make(0, channels, kernel, stride, kernel / 2, PADA_ACT_NONE),
                     false);
}

static pada_value join(graph_case *c, pada_value a, pada_value b, pada_value d)
{
    static const int zeros[] = {4, 3, 2};

    return pada_graph_concat(c->graph, (const pada_value[]){a, b, d}, zeros, 3);
}

/* Parts that fill no vectors: a convolution that nobody else reads, a sum, and a value that others read. */
static void three_parts(graph_case *c)
{
    const pada_value x = conv(c, c->images_value, 5, 3, 1), y = case_sum1(c, case_norm(x));
    const pada_value s = case_sum2(c, case_same(y), case_pool(y, 3, 1, 1));

    case_readout(c, join(c, conv(c, y, 3, 1, 1), s, y));
}

static void whole_vectors(graph_case *c)
{
    const pada_value x = conv(c, c->images_value, 16, 3, 1);

    case_readout(c, join(c, conv(c, x, 32, 1, 1), x, conv(c, x, 17, 1, 1)));
}

/* All values of these two are kept for the backward part, where tests look at them. */
static void with_zeros(graph_case *c)
{
    const pada_value x = conv(c, c->images_value, 5, 3, 1), y = case_sum1(c, case_norm(x));

    case_tap(c, y);
    case_readout(c, case_sum1(c, case_norm(join(c, PADA_ZERO, y, PADA_ZERO))));
}

static void same_twice(graph_case *c)
{
    const pada_value x = conv(c, c->images_value, 5, 3, 1), y = case_sum1(c, case_norm(x));

    case_tap(c, y);
    case_readout(c, case_sum1(c, case_norm(join(c, y, x, y))));
}

/* As a factorised reduction: two halves, and a batch norm of both. */
static void halves(graph_case *c)
{
    const pada_value x = case_sum1(c, case_norm(conv(c, c->images_value, 6, 3, 1)));
    const pada_value y =
        pada_graph_concat(c->graph, (const pada_value[]){conv(c, x, 3, 1, 2), conv(c, x, 3, 1, 2)},
                          (const int[]){0, 0}, 2);

    case_readout(c, case_sum1(c, case_norm(y)));
}

/* A concatenation inside another one, read by a sum and a convolution. */
static void nested(graph_case *c)
{
    const pada_value x = conv(c, c->images_value, 4, 3, 1), y = case_sum1(c, case_norm(x));
    const pada_value a = join(c, x, y, PADA_ZERO), b = join(c, a, y, a);
    const pada_value z = conv(c, b, 24, 1, 1);

    case_tap(c, b);
    case_readout(c,
                 case_sum(c, (pada_term[]){case_norm(z), case_same(b), case_pool(b, 3, 1, 1)}, 3));
}

/* All of them as in a cell: depthwise, dilated and pointwise convolutions, both pools, a concatenation. */
static void cell(graph_case *c)
{
    const pada_value x = case_sum1(c, case_norm(conv(c, c->images_value, 6, 3, 1)));
    pada_conv deep = pada_conv_make(6, 6, 3, 1, 2, PADA_ACT_NONE);

    deep.groups = 6;
    deep.dilation = 2;
    const pada_value d = conv(c, case_conv(c, x, deep, false), 6, 1, 1);
    const pada_value m =
        pada_graph_pool(c->graph, case_probe(c, 1), &windows[2], PADA_POOL_MAX, PADA_ACT_NONE);
    const pada_value a = case_sum2(c, case_norm(d), case_same(x));
    const pada_value p = pada_graph_pool(c->graph, a, &windows[2], PADA_POOL_AVG, PADA_ACT_NONE);

    case_readout(c,
                 case_sum1(c, case_norm(join(c, a, m, case_sum2(c, case_same(p), case_same(a))))));
}

/* Neighbours have the same largest value then, and only one of them gets the gradient. */
static void largest_of_largest(graph_case *c)
{
    const pada_value x = case_probe(c, 1);
    const pada_value y = pada_graph_pool(c->graph, x, &windows[2], PADA_POOL_MAX, PADA_ACT_NONE);

    case_readout(c, pada_graph_pool(c->graph, y, &windows[2], PADA_POOL_MAX, PADA_ACT_NONE));
}

static const struct {
    const char *name;
    void (*build)(graph_case *c);
} joins[] = {
    {"three parts", three_parts},
    {"whole vectors", whole_vectors},
    {"zeros", with_zeros},
    {"one part twice", same_twice},
    {"two halves", halves},
    {"nested", nested},
    {"cell", cell},
    {"largest of largest", largest_of_largest},
};
enum { N_JOINS = sizeof joins / sizeof *joins };

bool join_case(int i, graph_case *c, char *name, size_t size)
{
    if (i >= N_POOLS + N_JOINS) return false;
    if (i < N_POOLS) {
        build_pool(c, i, name, size);
        return true;
    }
    snprintf(name, size, "concat: %s", joins[i - N_POOLS].name);
    case_init(c, (pada_shape){3, 6, 5}, 2, (uint64_t)i);
    spread_pixels(c);
    joins[i - N_POOLS].build(c);
    return true;
}
