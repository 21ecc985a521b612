/* cost_limits.h - what networks may cost: several limits at once, counted first, and networks drawn inside them.
 *
 * A further kind of cost is a line in pada_cost_kind and in the names, and somebody who knows its slot costs. */
#ifndef PADA_STUDY_COST_LIMITS_H
#define PADA_STUDY_COST_LIMITS_H

#include "base/text.h"
#include "sampler/cost_count.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum pada_cost_kind {
    PADA_COST_MACS,
    PADA_COST_PARAMS,
    PADA_COST_LATENCY, /* microseconds */
    PADA_COST_KINDS
} pada_cost_kind;

extern const char *const pada_cost_names[PADA_COST_KINDS]; /* "macs", "params", "latency" */

/* Appends a cost as people write it: a number, a latency with three digits and " ms". */
void pada_cost_add(pada_text *out, pada_cost_kind kind, int64_t cost);

typedef struct pada_cost_limit {
    bool is_known;         /* else nobody knows this cost, and nothing else counts */
    pada_slot_costs costs; /* of every choice */
    int64_t min, max;      /* inclusive; 0: none */
} pada_cost_limit;

typedef struct pada_cost_limits pada_cost_limits;

/* Copies all. At least one kind must be known. Limits that no network keeps are PADA_EINVAL, with the smallest or
 * largest cost that there is; so are limits inside which none of 100,000 draws was, where there are several. */
pada_status pada_cost_limits_create(pada_cost_limits **out, const pada_space *space,
                                    const pada_cost_limit limits[PADA_COST_KINDS]);
void pada_cost_limits_destroy(pada_cost_limits *limits); /* NULL is fine */

/* NULL: not known. Borrowed. */
const pada_cost_summary *pada_cost_limits_summary(const pada_cost_limits *limits,
                                                  pada_cost_kind kind);
int64_t pada_cost_limits_cost(const pada_cost_limits *limits, pada_cost_kind kind,
                              const pada_path *path); /* -1: not known */
bool pada_cost_limits_allow(const pada_cost_limits *limits, const pada_path *path);

/* Draws a network inside all limits, each equally likely; false: 100,000 draws inside the tightest one were not. */
bool pada_cost_limits_draw(const pada_cost_limits *limits, pada_rng *rng, pada_path *path);

#ifdef __cplusplus
}
#endif
#endif
