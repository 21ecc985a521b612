/* darts_cell.c - the cells of DARTS, and how they are slots of a path. */
#include "space/darts_cell.h"

const char *const pada_darts_labels[PADA_DARTS_OPS] = {
    "none",         "max_pool_3x3", "avg_pool_3x3", "skip_connect",
    "sep_conv_3x3", "sep_conv_5x5", "dil_conv_3x3", "dil_conv_5x5"};

/* Pairs of inputs a < b by b, then a, so that a pair has the same number for every node that can have it. */
enum { N_PAIRS = 10 };

static const struct {
    uint8_t a, b;
    const char *label;
} pairs[N_PAIRS] = {{0, 1, "inputs_0_1"}, {0, 2, "inputs_0_2"}, {1, 2, "inputs_1_2"},
                    {0, 3, "inputs_0_3"}, {1, 3, "inputs_1_3"}, {2, 3, "inputs_2_3"},
                    {0, 4, "inputs_0_4"}, {1, 4, "inputs_1_4"}, {2, 4, "inputs_2_4"},
                    {3, 4, "inputs_3_4"}};

static int pair_number(int a, int b)
{
    return b * (b - 1) / 2 + a;
}

/* The pair that a node reads. */
static int pair_of(const pada_path *path, int kind, int node)
{
    return node > 0 ? path->choice[pada_darts_pair_slot(kind, node)] : 0;
}

static bool is_edge(int slot)
{
    return slot % PADA_DARTS_KIND_SLOTS < PADA_DARTS_EDGES;
}

/* ---- slots ---- */

int pada_darts_n_choices(const pada_space *space, int slot)
{
    const int node = slot % PADA_DARTS_KIND_SLOTS - PADA_DARTS_EDGES + 1;

    if (is_edge(slot)) return pada_darts_n_ops(space);
    return (node + 2) * (node + 1) / 2;
}

const char *pada_darts_choice_label(const pada_space *space, int slot, int choice)
{
    PADA_ASSERT(choice >= 0 && choice < pada_darts_n_choices(space, slot));
    return is_edge(slot) ? pada_darts_labels[pada_darts_op_of(choice)] : pairs[choice].label;
}

bool pada_darts_takes(const pada_space *space, const pada_path *path, int slot)
{
    const int kind = slot / PADA_DARTS_KIND_SLOTS, edge = slot % PADA_DARTS_KIND_SLOTS;
    int node = 0;

    (void)space;
    if (!is_edge(slot)) return true;
    while (edge >= pada_darts_edge(node + 1, 0))
        node++;
    const int input = edge - pada_darts_edge(node, 0), pair = pair_of(path, kind, node);
    return input == pairs[pair].a || input == pairs[pair].b;
}

int pada_darts_slot_group(const pada_space *space, int slot)
{
    (void)space;
    return slot / PADA_DARTS_KIND_SLOTS;
}

double pada_darts_n_networks(const pada_space *space)
{
    const double n_ops = pada_darts_n_ops(space);
    double n = 1;

    for (int node = 0; node < PADA_DARTS_NODES; node++)
        n *= (node + 2) * (node + 1) / 2 * n_ops * n_ops;
    return n * n;
}

/* ---- cells ---- */

void pada_darts_get(const pada_path *path, int kind, pada_darts_cell *cell)
{
    for (int node = 0; node < PADA_DARTS_NODES; node++) {
        const int pair = pair_of(path, kind, node);
        for (int k = 0; k < 2; k++) {
            const int input = k == 0 ? pairs[pair].a : pairs[pair].b;
            const int choice = path->choice[pada_darts_edge_slot(kind, node, input)];
            cell->input[2 * node + k] = (uint8_t)input;
            cell->op[2 * node + k] = (uint8_t)pada_darts_op_of(choice);
        }
    }
}

void pada_darts_set(pada_path *path, int kind, const pada_darts_cell *cell)
{
    for (int i = 0; i < PADA_DARTS_KIND_SLOTS; i++)
        path->choice[kind * PADA_DARTS_KIND_SLOTS + i] = 0;
    for (int node = 0; node < PADA_DARTS_NODES; node++) {
        const int x = cell->input[2 * node], y = cell->input[2 * node + 1];
        PADA_ASSERT(x != y && x < node + 2 && y < node + 2);
        if (node > 0)
            path->choice[pada_darts_pair_slot(kind, node)] =
                (uint8_t)(x < y ? pair_number(x, y) : pair_number(y, x));
        for (int k = 0; k < 2; k++) {
            path->choice[pada_darts_edge_slot(kind, node, cell->input[2 * node + k])] =
                pada_darts_choice_of((pada_darts_op)cell->op[2 * node + k]);
        }
    }
}

/* What `none` reads does not matter: it becomes the first value that the node does not read otherwise. */
static void forget_inputs(pada_darts_cell *cell)
{
    for (int node = 0; node < PADA_DARTS_NODES; node++) {
        uint8_t *input = &cell->input[2 * node];
        const uint8_t *op = &cell->op[2 * node];
        const bool first = op[0] == PADA_DARTS_NONE, second = op[1] == PADA_DARTS_NONE;

        if (first && second) {
            input[0] = 0;
            input[1] = 1;
        } else if (first) {
            input[0] = input[1] == 0 ? 1 : 0;
        } else if (second) {
            input[1] = input[0] == 0 ? 1 : 0;
        }
    }
}

void pada_darts_canonical(const pada_space *space, const pada_path *path, pada_path *out)
{
    pada_path form = {{0}};
    pada_darts_cell cell;

    (void)space;
    for (int kind = 0; kind < PADA_DARTS_KINDS; kind++) {
        pada_darts_get(path, kind, &cell);
        forget_inputs(&cell);
        pada_darts_set(&form, kind, &cell);
    }
    *out = form;
}
