/* slot_costs.h - a cost of networks that is a sum: a fixed part and a number for the choice of every slot that the
 * path uses (pada_path_takes).
 *
 * Multiply-adds, parameters and latencies by table of all spaces are such sums. Costs are whole numbers: counts, or
 * microseconds. */
#ifndef PADA_SAMPLER_SLOT_COSTS_H
#define PADA_SAMPLER_SLOT_COSTS_H

#include "base/status.h"
#include "space/space.h"
#include "space/subspace.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pada_slot_costs {
    int64_t fixed;
    int64_t cost[PADA_MAX_SLOTS][PADA_MAX_CHOICES]; /* may be negative: differences to choice 0 */
} pada_slot_costs;

/* The cost of one network. */
typedef pada_status (*pada_path_cost)(void *user, const pada_space *space, const pada_path *path,
                                      int64_t *cost);

/* Finds the numbers of any cost by asking for that of networks that differ in one slot. That it is such a sum is the
 * caller's promise. A slot that no single choice of another one makes a path use is PADA_EUNSUPPORTED. */
pada_status pada_slot_costs_measure(pada_slot_costs *costs, const pada_space *space,
                                    pada_path_cost cost, void *user);

/* The same for what the space counts, of the final form or of the path in the supernet. */
typedef enum pada_counted { PADA_COUNTED_MACS, PADA_COUNTED_PARAMS } pada_counted;
pada_status pada_slot_costs_count(pada_slot_costs *costs, const pada_space *space,
                                  pada_counted what, bool in_supernet);

/* The sum. */
int64_t pada_slot_costs_of(const pada_slot_costs *costs, const pada_space *space,
                           const pada_path *path);

#ifdef __cplusplus
}
#endif
#endif
