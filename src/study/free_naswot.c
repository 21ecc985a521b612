/* free_naswot.c - how differently a network sees images before it is trained (NASWOT: Mellor et al., ICML 2021).
 *
 * Every activation of a ReLU is on or off. K(i, j) counts, over all ReLUs, those that are the same for images i and j of a
 * batch of 128; the score is log |det K|. Each operator has a ReLU of its own, as in the published networks: a value that
 * two of them read counts twice. */
#include <string.h>

#include "base/mem.h"
#include "base/symmetric.h"
#include "study/free_score.h"

enum { BITS = 64 };

/* What a node reads through an activation; PADA_ZERO: nothing. */
static pada_value activated(const pada_graph *g, const pada_node *node)
{
    if (node->op == PADA_OP_CONV) return node->conv.act != PADA_ACT_NONE ? node->x : PADA_ZERO;
    if (node->act == PADA_ACT_NONE) return PADA_ZERO;
    if (node->op == PADA_OP_GATE) return g->terms[node->first_term].x;
    return node->op == PADA_OP_GAP || node->op == PADA_OP_POOL ? node->x : PADA_ZERO;
}

/* Keeps every value that is activated; *readers, owned by the caller, says by how many, tap by tap. */
static pada_status keep_activated(pada_graph *g, int **readers)
{
    const int n_nodes = g->n_nodes;
    void *mem, *counts;
    int n_taps = 0;

    PADA_TRY(pada_calloc(&mem, (size_t)n_nodes, sizeof **readers));
    *readers = mem;
    PADA_TRY(pada_calloc(&counts, (size_t)n_nodes, sizeof(int)));
    int *of_value = counts;
    for (int v = 0; v < n_nodes; v++) {
        const pada_value x = activated(g, &g->nodes[v]);
        if (x != PADA_ZERO) of_value[x]++;
    }
    g->taps = true;
    for (int x = 0; x < n_nodes; x++) {
        if (of_value[x] == 0) continue;
        pada_graph_tap(g, x, g->nodes[x].shape);
        (*readers)[n_taps++] = of_value[x];
    }
    pada_free(counts);
    return pada_graph_status(g);
}

static int popcount(uint64_t x)
{
    x -= x >> 1 & 0x5555555555555555u;
    x = (x & 0x3333333333333333u) + (x >> 2 & 0x3333333333333333u);
    x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fu;
    return (int)(x * 0x0101010101010101u >> 56);
}

/* Adds what n images have in common in one value to kernel [n, n]. */
static void add_codes(const uint64_t *codes, int64_t n_words, int64_t n_bits, int n, double times,
                      double *kernel)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) {
            const uint64_t *a = codes + i * n_words, *b = codes + j * n_words;
            int64_t apart = 0;
            for (int64_t k = 0; k < n_words; k++)
                apart += popcount(a[k] ^ b[k]);
            const double same = times * (double)(n_bits - apart);
            kernel[i * n + j] += same;
            if (j < i) kernel[j * n + i] += same;
        }
}

static void make_codes(const double *value, int64_t count, int64_t n_words, int n, uint64_t *codes)
{
    memset(codes, 0, (size_t)(n * n_words) * sizeof *codes);
    for (int i = 0; i < n; i++)
        for (int64_t k = 0; k < count; k++)
            if (value[i * count + k] > 0) codes[i * n_words + k / BITS] |= UINT64_C(1) << k % BITS;
}

static pada_status fill_kernel(const pada_trial *t, const int *readers, int n, double *kernel)
{
    int64_t most = 1;
    void *values, *codes;

    for (int i = 0; i < pada_trial_n_taps(t); i++) {
        const int64_t count = pada_shape_count(pada_trial_tap_shape(t, i));
        if (count > most) most = count;
    }
    PADA_TRY(pada_calloc(&values, (size_t)(n * most), sizeof(double)));
    const pada_status st =
        pada_calloc(&codes, (size_t)(n * ((most + BITS - 1) / BITS)), sizeof(uint64_t));
    for (int i = 0; i < pada_trial_n_taps(t) && st == PADA_OK; i++) {
        const int64_t count = pada_shape_count(pada_trial_tap_shape(t, i));
        const int64_t n_words = (count + BITS - 1) / BITS;
        pada_trial_read_tap(t, i, values);
        make_codes(values, count, n_words, n, codes);
        add_codes(codes, n_words, count, n, readers[i], kernel);
    }
    if (st == PADA_OK) pada_free(codes);
    pada_free(values);
    return st;
}

static pada_status run(pada_trial *t, const pada_batch *batch, int **readers, double *kernel)
{
    PADA_TRY(pada_trial_build(t, t->graph, false));
    PADA_TRY(keep_activated(t->graph, readers));
    PADA_TRY(pada_trial_plan(t, t->graph, batch->n, false));
    pada_trial_forward(t, batch, 0);
    return fill_kernel(t, *readers, batch->n, kernel);
}

static pada_status measure(pada_trial *t, const pada_batch *batch, uint64_t seed, double *values)
{
    int *readers = NULL;
    void *kernel;

    PADA_TRY(pada_trial_init_weights(t, seed, 1, false));
    PADA_TRY(pada_calloc(&kernel, (size_t)batch->n * (size_t)batch->n, sizeof(double)));
    pada_status st = run(t, batch, &readers, kernel);
    if (st == PADA_OK) st = pada_symmetric_log_det(kernel, batch->n, &values[0]);
    if (st == PADA_OK && values[0] < PADA_FREE_WORST) values[0] = PADA_FREE_WORST;
    pada_free(readers);
    pada_free(kernel);
    return st;
}

extern const pada_free_score pada_free_naswot;
const pada_free_score pada_free_naswot = {
    .name = "naswot",
    .label = "overlap of activations (NASWOT: Mellor et al., 2021)",
    .n_values = 1,
    .n_images = 128,
    .version = 1,
    .measure = measure};
