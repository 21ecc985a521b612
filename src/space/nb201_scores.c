/* nb201_scores.c - what can be said about cells of NAS-Bench-201 without training. */
#include "space/nb201_scores.h"

#include "space/cost_scores.h"
#include "space/nb201_canon.h"

static double live_macs(const pada_space *space, const pada_path *path)
{
    pada_path form;

    pada_nb201_canonical(path, &form);
    return pada_score_macs(space, &form);
}

static double conv_depth(const pada_space *space, const pada_path *path)
{
    int depth[PADA_NB201_NODES] = {0}; /* -1: not reached from node 0 */

    (void)space;
    for (int to = 1; to < PADA_NB201_NODES; to++) {
        depth[to] = -1;
        for (int from = 0; from < to; from++) {
            const int op = path->choice[pada_nb201_edge(to, from)];
            const int convs = op == PADA_NB201_CONV1 || op == PADA_NB201_CONV3;

            if (op == PADA_NB201_NONE || depth[from] < 0) continue;
            if (depth[from] + convs > depth[to]) depth[to] = depth[from] + convs;
        }
    }
    return depth[PADA_NB201_NODES - 1];
}

static double op_sum(const pada_space *space, const pada_path *path)
{
    static const int worth[PADA_NB201_OPS] = {
        [PADA_NB201_SKIP] = 1, [PADA_NB201_CONV1] = 2, [PADA_NB201_CONV3] = 3};
    int sum = 0;

    (void)space;
    for (int edge = 0; edge < PADA_NB201_EDGES; edge++)
        sum += worth[path->choice[edge]];
    return sum;
}

const pada_space_score pada_nb201_scores[] = {
    {"macs", "multiply-adds", pada_score_macs},
    {"params", "parameters", pada_score_params},
    {"live_macs", "multiply-adds of live edges", live_macs},
    {"conv_depth", "longest way in convolutions", conv_depth},
    {"op_sum", "sum over the operators", op_sum},
    {NULL, NULL, NULL},
};
