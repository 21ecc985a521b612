/* random_twin.c - a random network that costs as much as a given one: what a search has to beat. */
#include "study/random_twin.h"

#include <math.h>
#include <string.h>

enum { MAX_DRAWS = 1000 };

/* Multiply-adds like those of the network, inside the limit that there is already. */
static void narrow(pada_cost_limit *limit, const pada_space *space, const pada_path *network,
                   double share)
{
    const double macs = (double)pada_slot_costs_of(&limit->costs, space, network);
    const int64_t low = (int64_t)ceil(macs * (1 - share)), high = (int64_t)(macs * (1 + share));

    if (low > limit->min) limit->min = low;
    if (limit->max == 0 || high < limit->max) limit->max = high;
}

pada_status pada_random_twin(const pada_space *space, const pada_cost_limit limits[PADA_COST_KINDS],
                             const pada_path *network, double share, uint64_t seed, bool *found,
                             pada_path *out)
{
    pada_cost_limit near[PADA_COST_KINDS];
    pada_cost_limits *counted;
    pada_path own, drawn;
    pada_rng rng;

    *found = false;
    PADA_ASSERT(limits[PADA_COST_MACS].is_known);
    memcpy(near, limits, sizeof near);
    space->ops->canonical(space, network, &own);
    narrow(&near[PADA_COST_MACS], space, &own, share);
    PADA_TRY(pada_cost_limits_create(&counted, space, near));
    pada_rng_init(&rng, seed, "random twin", 0);
    for (int i = 0; i < MAX_DRAWS && !*found; i++) {
        if (!pada_cost_limits_draw(counted, &rng, &drawn)) break;
        space->ops->canonical(space, &drawn, out);
        *found = !pada_path_equal(space, out, &own) && pada_cost_limits_allow(counted, out);
    }
    pada_cost_limits_destroy(counted);
    return PADA_OK;
}
