/* nb201_canon.c - equal cells of NAS-Bench-201: without dead edges, and up to isomorphism. */
#include "space/nb201_canon.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

const char *const pada_nb201_labels[PADA_NB201_OPS] = {
    [PADA_NB201_NONE] = "none",          [PADA_NB201_SKIP] = "skip_connect",
    [PADA_NB201_CONV1] = "nor_conv_1x1", [PADA_NB201_CONV3] = "nor_conv_3x3",
    [PADA_NB201_POOL] = "avg_pool_3x3",
};

void pada_nb201_canonical(const pada_path *path, pada_path *out)
{
    bool live[PADA_NB201_NODES] = {[0] = true};                    /* reached from node 0 */
    bool used[PADA_NB201_NODES] = {[PADA_NB201_NODES - 1] = true}; /* reaches the last node */
    pada_path form = {{0}};

    for (int to = 1; to < PADA_NB201_NODES; to++)
        for (int from = 0; from < to; from++)
            if (path->choice[pada_nb201_edge(to, from)] != PADA_NB201_NONE && live[from])
                live[to] = true;
    for (int to = PADA_NB201_NODES - 1; to > 0; to--)
        for (int from = 0; from < to; from++)
            if (path->choice[pada_nb201_edge(to, from)] != PADA_NB201_NONE && used[to])
                used[from] = true;

    for (int to = 1; to < PADA_NB201_NODES; to++) {
        for (int from = 0; from < to; from++) {
            const int edge = pada_nb201_edge(to, from);
            if (live[from] && used[to]) form.choice[edge] = path->choice[edge];
        }
    }
    *out = form;
}

/* The key is a formula of node 3 in terms of node 0. The published count of 6,466 classes follows
 * from exactly these rules; the two that surprise are marked.
 *
 *   node 0                          0
 *   op on node f                    (f)@op
 *   skip on node f                  f       no brackets: a sum merges into its reader's (!)
 *   none, or any op on the node #   #       "zero"
 *   node                            its terms, sorted as strings, joined by '+'; zeros stay, so
 *                                   "#+#" is not "#" and not recognised as zero further on (!)
 */
#define ZERO "#"

typedef char formula[PADA_NB201_KEY_BYTES];

static void append(char *text, const char *more)
{
    const size_t length = strlen(text), n = strlen(more);

    PADA_ASSERT(length + n < PADA_NB201_KEY_BYTES);
    memcpy(text + length, more, n + 1);
}

static void write_term(formula term, int op, const char *node)
{
    term[0] = '\0';
    if (op == PADA_NB201_NONE || strcmp(node, ZERO) == 0) {
        append(term, ZERO);
    } else if (op == PADA_NB201_SKIP) {
        append(term, node);
    } else {
        append(term, "(");
        append(term, node);
        append(term, ")@");
        append(term, pada_nb201_labels[op]);
    }
}

static int compare_formulas(const void *a, const void *b)
{
    return strcmp(a, b);
}

void pada_nb201_iso_key(const pada_path *path, char key[PADA_NB201_KEY_BYTES])
{
    formula node[PADA_NB201_NODES] = {"0"};

    for (int to = 1; to < PADA_NB201_NODES; to++) {
        formula terms[PADA_NB201_NODES - 1];

        for (int from = 0; from < to; from++)
            write_term(terms[from], path->choice[pada_nb201_edge(to, from)], node[from]);
        qsort(terms, (size_t)to, sizeof terms[0], compare_formulas);
        for (int i = 0; i < to; i++) {
            if (i > 0) append(node[to], "+");
            append(node[to], terms[i]);
        }
    }
    memcpy(key, node[PADA_NB201_NODES - 1], PADA_NB201_KEY_BYTES);
}
