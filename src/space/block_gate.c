/* block_gate.c - the small network that says which block of weights an edge of a cell runs. */
#include "space/block_gate.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/elementary.h"
#include "base/mem.h"

enum {
    EMB = 48,
    IN = 96,
    WIDE = 128,
    LAYERS = 5,
    HIDDEN = PADA_GATE_HIDDEN,
    MLP_LAYERS = PADA_GATE_HIDDEN_LAYERS + 1,

    OP_EMBEDDING = 0,
    INPUT_EMBEDDING,
    IN_WEIGHT,
    IN_BIAS,
    LAYER_FIRST, /* W, A, a of each layer */
    MLP_FIRST = LAYER_FIRST + 3 * LAYERS,
    N_TENSORS = MLP_FIRST + 2 * MLP_LAYERS,
    NODES = PADA_GATE_MAX_NODES,
    EDGES = PADA_GATE_MAX_EDGES,
    LANES = 8 /* vectors that a layer multiplies side by side */
};

/* [rows, columns], or a vector where columns is 0. */
typedef struct tensor {
    int rows, columns;
    double bound;
    double *weights, *grads;
} tensor;

struct pada_block_gate {
    tensor tensors[N_TENSORS];
    double *memory; /* weights, then gradients: `elements` each, with gaps that stay zero */
    int64_t elements;
    int n_blocks;
    /* of the last forward */
    pada_gate_cell cell;
    const double *mask;
    double y[LAYERS + 1][NODES][WIDE]; /* in front of each layer, and behind the last */
    double s[LAYERS][NODES][WIDE];
    double a[LAYERS][EDGES][WIDE];             /* behind the sigmoid */
    double h[EDGES][MLP_LAYERS + 1][2 * WIDE]; /* in front of each layer of the MLP; logits */
};

static int layer_in(int layer)
{
    return layer == 0 ? IN : WIDE;
}

static int mlp_in(int layer)
{
    return layer == 0 ? 2 * WIDE : HIDDEN;
}

/* ---- tensors ---- */

static void describe(tensor t[N_TENSORS], int n_ops, int n_blocks)
{
    t[OP_EMBEDDING] = (tensor){.rows = n_ops, .columns = EMB, .bound = sqrt(3)}; /* variance 1 */
    t[INPUT_EMBEDDING] = (tensor){.rows = EMB, .bound = sqrt(3)};
    t[IN_WEIGHT] = (tensor){.rows = IN, .columns = EMB, .bound = 1 / sqrt(EMB)};
    t[IN_BIAS] = (tensor){.rows = IN, .bound = 1 / sqrt(EMB)};
    for (int k = 0; k < LAYERS; k++) {
        tensor *layer = &t[LAYER_FIRST + 3 * k];
        layer[0] = (tensor){.rows = WIDE, .columns = layer_in(k), .bound = 1 / sqrt(layer_in(k))};
        layer[1] = (tensor){.rows = WIDE, .columns = EMB, .bound = 1 / sqrt(EMB)};
        layer[2] = (tensor){.rows = WIDE, .bound = 1 / sqrt(EMB)};
    }
    for (int k = 0; k < MLP_LAYERS; k++) {
        tensor *layer = &t[MLP_FIRST + 2 * k];
        const int out = k < MLP_LAYERS - 1 ? HIDDEN : n_blocks;
        layer[0] = (tensor){.rows = out, .columns = mlp_in(k), .bound = 1 / sqrt(mlp_in(k))};
        layer[1] = (tensor){.rows = out, .bound = 1 / sqrt(mlp_in(k))};
    }
}

static void name_of(int i, char *to, size_t size)
{
    static const char *const first[] = {"op_embedding.weight", "input_embedding", "in.weight",
                                        "in.bias"};
    static const char *const parts[] = {"weight", "attention.weight", "attention.bias"};

    if (i < LAYER_FIRST)
        snprintf(to, size, "gate.%s", first[i]);
    else if (i < MLP_FIRST)
        snprintf(to, size, "gate.layers.%d.%s", (i - LAYER_FIRST) / 3,
                 parts[(i - LAYER_FIRST) % 3]);
    else
        snprintf(to, size, "gate.mlp.%d.%s", (i - MLP_FIRST) / 2,
                 (i - MLP_FIRST) % 2 ? "bias" : "weight");
}

static int64_t count_of(const tensor *t)
{
    return (int64_t)t->rows * (t->columns ? t->columns : 1);
}

pada_status pada_block_gate_declare(pada_params *params, int n_ops, int n_blocks)
{
    tensor tensors[N_TENSORS];

    _Static_assert((int)N_TENSORS == (int)PADA_GATE_TENSORS, "the header says how many");
    describe(tensors, n_ops, n_blocks);
    for (int i = 0; i < N_TENSORS; i++) {
        const tensor *t = &tensors[i];
        pada_param p = {.dims = {t->rows, t->columns ? t->columns : 1, 1, 1},
                        .n_dims = t->columns ? 2 : 1,
                        .bound = t->bound,
                        .site = PADA_SHARED};
        int id;
        name_of(i, p.name, sizeof p.name);
        PADA_TRY(pada_params_add(params, &p, &id));
    }
    return PADA_OK;
}

int pada_block_gate_first_param(const pada_params *params)
{
    char name[96];

    name_of(0, name, sizeof name);
    return pada_params_find(params, name);
}

/* With the gap in front of the next one. */
static int64_t room_of(const tensor *t)
{
    return (count_of(t) + PADA_PARAM_ALIGN - 1) / PADA_PARAM_ALIGN * PADA_PARAM_ALIGN;
}

pada_range pada_block_gate_range(const pada_params *params)
{
    const int first = pada_block_gate_first_param(params);
    const pada_param *last = pada_params_get(params, first + N_TENSORS - 1);
    const int64_t begin = pada_params_get(params, first)->offset;

    return (pada_range){begin, last->offset + last->count - begin};
}

pada_status pada_block_gate_create(pada_block_gate **out, int n_ops, int n_blocks)
{
    void *memory;

    *out = NULL;
    PADA_TRY(pada_calloc(&memory, 1, sizeof **out));
    pada_block_gate *gate = memory;
    gate->n_blocks = n_blocks;
    describe(gate->tensors, n_ops, n_blocks);
    for (int i = 0; i < N_TENSORS; i++)
        gate->elements += room_of(&gate->tensors[i]);
    const pada_status st = pada_calloc(&memory, 2 * (size_t)gate->elements, sizeof(double));
    if (st != PADA_OK) {
        pada_block_gate_destroy(gate);
        return st;
    }
    gate->memory = memory;
    double *at = gate->memory;
    for (int i = 0; i < N_TENSORS; i++) {
        gate->tensors[i].weights = at;
        gate->tensors[i].grads = at + gate->elements;
        at += room_of(&gate->tensors[i]);
    }
    *out = gate;
    return PADA_OK;
}

void pada_block_gate_destroy(pada_block_gate *gate)
{
    if (!gate) return;
    pada_free(gate->memory);
    pada_free(gate);
}

double *pada_block_gate_weights(pada_block_gate *gate, int i)
{
    return gate->tensors[i].weights;
}

double *pada_block_gate_grads(pada_block_gate *gate, int i)
{
    return gate->tensors[i].grads;
}

int64_t pada_block_gate_count(const pada_block_gate *gate, int i)
{
    return count_of(&gate->tensors[i]);
}

void pada_block_gate_zero_grads(pada_block_gate *gate)
{
    memset(gate->memory + gate->elements, 0, (size_t)gate->elements * sizeof *gate->memory);
}

/* ---- a linear layer of n vectors; bias may be NULL ---- */

/* The terms of each sum are added in order, but many sums go on at once: those of LANES vectors and two rows. */
static void linear(const tensor *w, const tensor *bias, int n, const double *const *x,
                   double *const *y)
{
    double across[2 * WIDE][LANES];

    for (int first = 0; first < n; first += LANES) {
        const int some = n - first < LANES ? n - first : LANES;
        for (int i = 0; i < w->columns; i++)
            for (int k = 0; k < LANES; k++)
                across[i][k] = k < some ? x[first + k][i] : 0;
        for (int o = 0; o < w->rows; o += 2) {
            const int pair = o + 1 < w->rows;
            const double *row = w->weights + (int64_t)o * w->columns;
            const double *next = row + (int64_t)pair * w->columns;
            double sum[2][LANES];
            for (int k = 0; k < LANES; k++) {
                sum[0][k] = bias ? bias->weights[o] : 0;
                sum[1][k] = bias ? bias->weights[o + pair] : 0;
            }
            for (int i = 0; i < w->columns; i++)
#pragma omp simd
                for (int k = 0; k < LANES; k++) {
                    sum[0][k] += row[i] * across[i][k];
                    sum[1][k] += next[i] * across[i][k];
                }
            for (int k = 0; k < some; k++) {
                y[first + k][o] = sum[0][k];
                y[first + k][o + pair] = sum[pair][k];
            }
        }
    }
}

/* Adds to the gradients of weights, bias and, unless it is NULL, dx[k]. */
static void linear_grad(const tensor *w, const tensor *bias, int n, const double *const *x,
                        const double *const *dy, double *const *dx)
{
    for (int o = 0; o < w->rows; o++) {
        double *gw = w->grads + (int64_t)o * w->columns;
        const double *row = w->weights + (int64_t)o * w->columns;
        for (int k = 0; k < n; k++) {
            const double d = dy[k][o];
            if (d == 0) continue;
            if (bias) bias->grads[o] += d;
            for (int i = 0; i < w->columns; i++)
                gw[i] += d * x[k][i];
            for (int i = 0; dx[k] && i < w->columns; i++)
                dx[k][i] += d * row[i];
        }
    }
}

/* ---- forward ---- */

static void forward_layer(pada_block_gate *g, int k)
{
    const pada_gate_cell *cell = &g->cell;
    const tensor *t = &g->tensors[LAYER_FIRST + 3 * k];
    double(*out)[WIDE] = g->y[k + 1];
    const double *from[NODES], *ops[EDGES];
    double *to[NODES], *a[EDGES];

    for (int v = 0; v < cell->n_nodes; v++) {
        from[v] = g->y[k][v];
        to[v] = g->s[k][v];
    }
    linear(&t[0], NULL, cell->n_nodes, from, to);
    for (int e = 0; e < cell->n_edges; e++) {
        ops[e] = g->tensors[OP_EMBEDDING].weights + (int64_t)cell->op[e] * EMB;
        a[e] = g->a[k][e];
    }
    linear(&t[1], &t[2], cell->n_edges, ops, a);
    for (int v = 0; v < cell->n_nodes; v++)
        for (int i = 0; i < WIDE; i++)
            out[v][i] = v == 0 ? g->s[k][v][i] : 0;
    for (int e = 0; e < cell->n_edges; e++)
        for (int i = 0; i < WIDE; i++) {
            a[e][i] = 1 / (1 + pada_exp(-a[e][i]));
            out[cell->to[e]][i] += a[e][i] * g->s[k][cell->from[e]][i];
        }
    if (k == LAYERS - 1) return;
    for (int v = 0; v < cell->n_nodes; v++)
        for (int i = 0; i < WIDE; i++)
            if (out[v][i] < 0) out[v][i] = 0;
}

static double mask_at(const pada_block_gate *g, int e, int layer, int i)
{
    return g->mask ? g->mask[((int64_t)e * PADA_GATE_HIDDEN_LAYERS + layer) * HIDDEN + i] : 1;
}

static void forward_mlp(pada_block_gate *g, int k)
{
    const tensor *t = &g->tensors[MLP_FIRST + 2 * k];
    const double *in[EDGES];
    double *out[EDGES];

    for (int e = 0; e < g->cell.n_edges; e++) {
        in[e] = g->h[e][k];
        out[e] = g->h[e][k + 1];
    }
    linear(&t[0], &t[1], g->cell.n_edges, in, out);
    for (int e = 0; e < g->cell.n_edges && k < MLP_LAYERS - 1; e++)
        for (int i = 0; i < HIDDEN; i++)
            out[e][i] = out[e][i] > 0 ? out[e][i] * mask_at(g, e, k, i) : 0;
}

void pada_block_gate_forward(pada_block_gate *g, const pada_gate_cell *cell, const double *mask,
                             double *logits)
{
    static const double zeros[EMB];
    const double *in[NODES];
    double *out[NODES];

    g->cell = *cell;
    g->mask = mask;
    for (int v = 0; v < cell->n_nodes; v++) {
        in[v] = v == 0 ? g->tensors[INPUT_EMBEDDING].weights : zeros;
        out[v] = g->y[0][v];
    }
    linear(&g->tensors[IN_WEIGHT], &g->tensors[IN_BIAS], cell->n_nodes, in, out);
    for (int k = 0; k < LAYERS; k++)
        forward_layer(g, k);
    for (int e = 0; e < cell->n_edges; e++) {
        memcpy(g->h[e][0], g->y[LAYERS][cell->from[e]], WIDE * sizeof(double));
        memcpy(g->h[e][0] + WIDE, g->y[LAYERS][cell->to[e]], WIDE * sizeof(double));
    }
    for (int k = 0; k < MLP_LAYERS; k++)
        forward_mlp(g, k);
    for (int e = 0; e < cell->n_edges; e++)
        memcpy(logits + (int64_t)e * g->n_blocks, g->h[e][MLP_LAYERS],
               (size_t)g->n_blocks * sizeof *logits);
}

/* ---- backward ---- */

/* Takes the gradients of the logits to the nodes. */
static void backward_mlp(pada_block_gate *g, const double *grad_logits, double dy[NODES][WIDE])
{
    double d[EDGES][2 * WIDE], next[EDGES][2 * WIDE];
    const double *in[EDGES], *from[EDGES];
    double *to[EDGES];

    for (int e = 0; e < g->cell.n_edges; e++) {
        memcpy(d[e], grad_logits + (int64_t)e * g->n_blocks, (size_t)g->n_blocks * sizeof *d[e]);
        from[e] = d[e];
        to[e] = next[e];
    }
    for (int k = MLP_LAYERS - 1; k >= 0; k--) {
        const tensor *t = &g->tensors[MLP_FIRST + 2 * k];
        memset(next, 0, (size_t)g->cell.n_edges * sizeof *next);
        for (int e = 0; e < g->cell.n_edges; e++)
            in[e] = g->h[e][k];
        linear_grad(&t[0], &t[1], g->cell.n_edges, in, from, to);
        /* h is zero where relu or dropout was. */
        for (int e = 0; e < g->cell.n_edges && k > 0; e++)
            for (int i = 0; i < HIDDEN; i++)
                next[e][i] *= g->h[e][k][i] != 0 ? mask_at(g, e, k - 1, i) : 0;
        memcpy(d, next, (size_t)g->cell.n_edges * sizeof *d);
    }
    for (int e = 0; e < g->cell.n_edges; e++)
        for (int i = 0; i < WIDE; i++) {
            dy[g->cell.from[e]][i] += d[e][i];
            dy[g->cell.to[e]][i] += d[e][WIDE + i];
        }
}

/* From the gradient behind layer k to that in front of it. */
static void backward_layer(pada_block_gate *g, int k, double dy[NODES][WIDE])
{
    const pada_gate_cell *cell = &g->cell;
    const tensor *t = &g->tensors[LAYER_FIRST + 3 * k], *emb = &g->tensors[OP_EMBEDDING];
    double ds[NODES][WIDE] = {{0}};
    const double *in[NODES], *from[NODES];
    double *to[NODES];

    for (int v = 0; v < cell->n_nodes; v++)
        for (int i = 0; k < LAYERS - 1 && i < WIDE; i++)
            if (g->y[k + 1][v][i] <= 0) dy[v][i] = 0;
    memcpy(ds[0], dy[0], sizeof ds[0]);
    for (int e = 0; e < cell->n_edges; e++) {
        const int64_t op = (int64_t)cell->op[e] * EMB;
        const double *a = g->a[k][e];
        double da[WIDE];
        for (int i = 0; i < WIDE; i++) {
            ds[cell->from[e]][i] += a[i] * dy[cell->to[e]][i];
            da[i] = dy[cell->to[e]][i] * g->s[k][cell->from[e]][i] * a[i] * (1 - a[i]);
        }
        linear_grad(&t[1], &t[2], 1, &(const double *){emb->weights + op}, &(const double *){da},
                    &(double *){emb->grads + op});
    }
    memset(dy, 0, NODES * sizeof *dy);
    for (int v = 0; v < cell->n_nodes; v++) {
        in[v] = g->y[k][v];
        from[v] = ds[v];
        to[v] = dy[v];
    }
    linear_grad(&t[0], NULL, cell->n_nodes, in, from, to);
}

void pada_block_gate_backward(pada_block_gate *g, const double *grad_logits)
{
    static const double zeros[EMB];
    double dy[NODES][WIDE] = {{0}};
    const double *in[NODES], *from[NODES];
    double *to[NODES];

    backward_mlp(g, grad_logits, dy);
    for (int k = LAYERS - 1; k >= 0; k--)
        backward_layer(g, k, dy);
    for (int v = 0; v < g->cell.n_nodes; v++) {
        in[v] = v == 0 ? g->tensors[INPUT_EMBEDDING].weights : zeros;
        from[v] = dy[v];
        to[v] = v == 0 ? g->tensors[INPUT_EMBEDDING].grads : NULL;
    }
    linear_grad(&g->tensors[IN_WEIGHT], &g->tensors[IN_BIAS], g->cell.n_nodes, in, from, to);
}
