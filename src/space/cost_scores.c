/* cost_scores.c - baselines of rankings that every space has: what a network costs. */
#include "space/cost_scores.h"

double pada_score_macs(const pada_space *space, const pada_path *path)
{
    pada_cost cost;

    pada_space_cost(space, path, &cost);
    return (double)cost.macs;
}

double pada_score_params(const pada_space *space, const pada_path *path)
{
    pada_cost cost;

    pada_space_cost(space, path, &cost);
    return (double)cost.params;
}
