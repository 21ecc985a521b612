/* cost_count.h - how many networks of a space cost what, exactly, and random ones among those inside a limit.
 *
 * Units of slots (slot_units.h) are added one after the other:
 *
 *   level u    for every sum of the units u, u + 1, .. : how many of their choices cost less
 *
 * Sums are multiples of a step, the greatest common divisor of all differences, above the smallest one. Where that
 * gives more than a million sums the step is doubled until it does not: then the number of networks inside the limit is
 * an upper bound, and networks are still drawn exactly. */
#ifndef PADA_SAMPLER_COST_COUNT_H
#define PADA_SAMPLER_COST_COUNT_H

#include <stdbool.h>

#include "base/rng.h"
#include "base/status.h"
#include "sampler/slot_costs.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pada_cost_count pada_cost_count;

typedef struct pada_cost_summary {
    int64_t smallest, largest; /* of all networks, as the mean is */
    double mean;
    uint64_t n_networks, n_inside; /* inside: costs of min to max */
    bool is_exact;                 /* else no more than n_inside are inside */
} pada_cost_summary;

/* Limits of 0 are none. A space of more than 2^64 networks is PADA_EUNSUPPORTED. */
pada_status pada_cost_count_create(pada_cost_count **out, const pada_space *space,
                                   const pada_slot_costs *costs, int64_t min, int64_t max);
void pada_cost_count_destroy(pada_cost_count *count); /* NULL is fine */

const pada_cost_summary *pada_cost_count_summary(const pada_cost_count *count); /* borrowed */

/* Draws a network inside the limits, each equally likely; there must be one. False: where counts are not exact, the
 * one that was drawn is outside. */
bool pada_cost_count_draw(const pada_cost_count *count, pada_rng *rng, pada_path *path);

#ifdef __cplusplus
}
#endif
#endif
