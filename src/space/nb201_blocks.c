/* nb201_blocks.c - cells whose weights belong to blocks: what edges share, and how the gate sees them. */
#include "space/nb201_blocks.h"

#include "space/nb201_canon.h"
#include "space/nb201_codec.h"

void pada_nb201_gate_cell(const pada_space *space, const pada_path *path, pada_gate_cell *cell)
{
    pada_path live;

    (void)space;
    pada_nb201_canonical(path, &live);
    *cell = (pada_gate_cell){.n_nodes = PADA_NB201_NODES};
    for (int to = 1; to < PADA_NB201_NODES; to++)
        for (int from = 0; from < to; from++) {
            const int edge = pada_nb201_edge(to, from), k = cell->n_edges;
            if (live.choice[edge] == PADA_NB201_NONE) continue;
            cell->from[k] = from;
            cell->to[k] = to;
            cell->op[k] = live.choice[edge];
            cell->slot[k] = edge;
            cell->n_edges++;
        }
}

bool pada_nb201_block_uses(const pada_space *space, const pada_path *path, int site, int choice)
{
    for (int edge = 0; edge < PADA_NB201_EDGES; edge++)
        if (path->choice[edge] == choice &&
            pada_path_block(space, path, edge) == site % space->config.blocks)
            return true;
    return false;
}
