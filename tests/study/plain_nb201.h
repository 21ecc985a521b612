/* plain_nb201.h - NAS-Bench-201 networks of one cell per stage as plain loops, for tests: a second way to every number. */
#ifndef PADA_TESTS_PLAIN_NB201_H
#define PADA_TESTS_PLAIN_NB201_H

#include "base/scratch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "space/nb201_cells.h"

enum { PLAIN_STAGES = 3, PLAIN_BLOCKS = 6, PLAIN_RELUS = 40 };

/* n tensors [c, h, h]. */
typedef struct plain {
    int n, c, h;
    double *data;
} plain;

typedef struct plain_net {
    pada_space space; /* final form */
    pada_params *params;
    double *weights;
    bool has_norms;
    plain blocks[PLAIN_BLOCKS]; /* stem, cell, reduction, cell, reduction, cell: what they make */
    plain relus[PLAIN_RELUS];   /* what activations read, in any order */
    int n_blocks, n_relus;
} plain_net;

static plain plain_make(int n, int c, int h)
{
    plain x = {n, c, h, calloc((size_t)(n * c * h * h), sizeof(double))};

    assert_non_null(x.data);
    return x;
}

static double *plain_at(const plain *x, int n, int c, int i, int j)
{
    return &x->data[((n * x->c + c) * x->h + i) * x->h + j];
}

static plain plain_copy(const plain *x)
{
    plain y = plain_make(x->n, x->c, x->h);

    memcpy(y.data, x->data, (size_t)(x->n * x->c * x->h * x->h) * sizeof(double));
    return y;
}

static const double *plain_weight(const plain_net *net, const char *name)
{
    const int id = pada_params_find(net->params, name);

    if (id < 0) fail_msg("no parameter %s", name);
    return net->weights + pada_params_get(net->params, id)->offset;
}

static plain plain_conv(const plain *x, const double *w, int c_out, int kernel, int stride)
{
    const int pad = kernel / 2;
    plain y = plain_make(x->n, c_out, x->h / stride);

    for (int n = 0; n < y.n; n++)
        for (int o = 0; o < c_out; o++)
            for (int i = 0; i < y.h; i++)
                for (int j = 0; j < y.h; j++)
                    for (int c = 0; c < x->c; c++)
                        for (int a = 0; a < kernel; a++)
                            for (int b = 0; b < kernel; b++) {
                                const int r = i * stride + a - pad, s = j * stride + b - pad;
                                if (r < 0 || s < 0 || r >= x->h || s >= x->h) continue;
                                *plain_at(&y, n, o, i, j) +=
                                    w[((o * x->c + c) * kernel + a) * kernel + b] *
                                    *plain_at(x, n, c, r, s);
                            }
    return y;
}

static void plain_normalise(const plain_net *net, plain *x)
{
    const double count = (double)(x->n * x->h * x->h);

    for (int c = 0; net->has_norms && c < x->c; c++) {
        double mean = 0, variance = 0;
        for (int n = 0; n < x->n; n++)
            for (int i = 0; i < x->h * x->h; i++)
                mean += *plain_at(x, n, c, 0, i) / count;
        for (int n = 0; n < x->n; n++)
            for (int i = 0; i < x->h * x->h; i++)
                variance += pow(*plain_at(x, n, c, 0, i) - mean, 2) / count;
        for (int n = 0; n < x->n; n++)
            for (int i = 0; i < x->h * x->h; i++)
                *plain_at(x, n, c, 0, i) =
                    (*plain_at(x, n, c, 0, i) - mean) / sqrt(variance + 1e-5);
    }
}

static plain plain_relu(plain_net *net, const plain *x)
{
    plain y = plain_copy(x);

    if (net->n_relus < PLAIN_RELUS) net->relus[net->n_relus++] = plain_copy(x);
    for (int i = 0; i < x->n * x->c * x->h * x->h; i++)
        y.data[i] = fmax(y.data[i], 0);
    return y;
}

/* ReLU, convolution, norm. */
static plain plain_layer(plain_net *net, const plain *x, const char *name, int c_out, int kernel,
                         int stride)
{
    plain a = plain_relu(net, x);
    plain y = plain_conv(&a, plain_weight(net, name), c_out, kernel, stride);

    free(a.data);
    plain_normalise(net, &y);
    return y;
}

static void plain_add(plain *to, const plain *x)
{
    for (int i = 0; i < x->n * x->c * x->h * x->h; i++)
        to->data[i] += x->data[i];
}

/* 3x3, stride 1, of the pixels inside; or 2x2, stride 2. */
static plain plain_average(const plain *x, int kernel, int stride)
{
    const int pad = kernel == 3;
    plain y = plain_make(x->n, x->c, x->h / stride);

    for (int k = 0; k < x->n * x->c; k++)
        for (int i = 0; i < y.h; i++)
            for (int j = 0; j < y.h; j++) {
                double sum = 0;
                int count = 0;
                for (int a = 0; a < kernel; a++)
                    for (int b = 0; b < kernel; b++) {
                        const int r = i * stride + a - pad, s = j * stride + b - pad;
                        if (r < 0 || s < 0 || r >= x->h || s >= x->h) continue;
                        sum += *plain_at(x, 0, k, r, s);
                        count++;
                    }
                *plain_at(&y, 0, k, i, j) = sum / count;
            }
    return y;
}

static void plain_edge(plain_net *net, int place, int edge, const plain *x, plain *to)
{
    const int op = net->space.network.choice[edge];
    char name[64];
    plain y = {0};

    snprintf(name, sizeof name, "cells.%d.layers.%d.op.1.weight", place, edge);
    if (op == PADA_NB201_SKIP) plain_add(to, x);
    if (op == PADA_NB201_CONV1) y = plain_layer(net, x, name, x->c, 1, 1);
    if (op == PADA_NB201_CONV3) y = plain_layer(net, x, name, x->c, 3, 1);
    if (op == PADA_NB201_POOL) y = plain_average(x, 3, 1);
    if (y.data) plain_add(to, &y);
    free(y.data);
}

static plain plain_cell(plain_net *net, int place, const plain *x)
{
    plain node[PADA_NB201_NODES] = {plain_copy(x)};

    for (int to = 1; to < PADA_NB201_NODES; to++) {
        node[to] = plain_make(x->n, x->c, x->h);
        for (int from = 0; from < to; from++)
            plain_edge(net, place, pada_nb201_edge(to, from), &node[from], &node[to]);
    }
    for (int i = 0; i < PADA_NB201_NODES - 1; i++)
        free(node[i].data);
    return node[PADA_NB201_NODES - 1];
}

static plain plain_reduction(plain_net *net, int place, const plain *x)
{
    char name[64];

    snprintf(name, sizeof name, "cells.%d.conv_a.op.1.weight", place);
    plain a = plain_layer(net, x, name, 2 * x->c, 3, 2);
    snprintf(name, sizeof name, "cells.%d.conv_b.op.1.weight", place);
    plain y = plain_layer(net, &a, name, 2 * x->c, 3, 1);
    plain halved = plain_average(x, 2, 2);
    snprintf(name, sizeof name, "cells.%d.downsample.1.weight", place);
    plain skip = plain_conv(&halved, plain_weight(net, name), 2 * x->c, 1, 1);
    plain_add(&y, &skip);
    free(a.data);
    free(halved.data);
    free(skip.data);
    return y;
}

/* Number `place` of the blocks behind the stem. */
static plain plain_block(plain_net *net, int place, const plain *x)
{
    return place % 2 == 0 ? plain_cell(net, place, x) : plain_reduction(net, place, x);
}

static void plain_forget(plain_net *net)
{
    while (net->n_blocks > 0)
        free(net->blocks[--net->n_blocks].data);
    while (net->n_relus > 0)
        free(net->relus[--net->n_relus].data);
}

/* The sum of all logits; what blocks make and activations read stays in the net. */
static double plain_forward(plain_net *net, const plain *images)
{
    const double *w, *bias;
    double sum = 0;

    plain_forget(net);
    plain x = plain_conv(
        images, plain_weight(net, "stem.0.weight"),
        pada_params_get(net->params, pada_params_find(net->params, "stem.0.weight"))->dims[0], 3,
        1);
    plain_normalise(net, &x);
    net->blocks[net->n_blocks++] = x;
    for (int place = 0; place < PLAIN_BLOCKS - 1; place++) {
        x = plain_block(net, place, &net->blocks[place]);
        net->blocks[net->n_blocks++] = x;
    }
    plain last = plain_copy(&x);
    plain_normalise(net, &last);
    plain a = plain_relu(net, &last);
    w = plain_weight(net, "classifier.weight");
    bias = plain_weight(net, "classifier.bias");
    for (int n = 0; n < x.n; n++)
        for (int k = 0; k < net->space.config.classes; k++) {
            sum += bias[k];
            for (int c = 0; c < x.c; c++)
                for (int i = 0; i < x.h * x.h; i++)
                    sum += w[k * x.c + c] * *plain_at(&a, n, c, 0, i) / (x.h * x.h);
        }
    free(last.data);
    free(a.data);
    return sum;
}

/* Fresh weights of a seed, as trials have them. */
static void plain_open(plain_net *net, const pada_space *final, uint64_t seed, double scale,
                       bool absolute)
{
    *net = (plain_net){.space = *final, .has_norms = true};
    assert_ok(pada_params_create(&net->params));
    assert_ok(pada_space_declare(final, net->params));
    net->weights = calloc((size_t)pada_params_elements(net->params), sizeof(double));
    for (int i = 0; i < pada_params_count(net->params); i++) {
        const pada_param *p = pada_params_get(net->params, i);
        double *w = net->weights + p->offset;
        pada_params_draw(net->params, i, seed, w);
        for (int64_t k = 0; k < p->count; k++)
            w[k] = (absolute ? fabs(w[k]) : w[k]) * (p->n_dims > 1 ? scale : 1);
    }
}

static void plain_close(plain_net *net)
{
    plain_forget(net);
    pada_params_destroy(net->params);
    free(net->weights);
}

#endif
