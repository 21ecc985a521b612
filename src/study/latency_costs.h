/* latency_costs.h - the latencies of a table as costs that networks can be counted and drawn by. */
#ifndef PADA_STUDY_LATENCY_COSTS_H
#define PADA_STUDY_LATENCY_COSTS_H

#include "study/slot_costs.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Microseconds of every choice, by a file of latency_table.h. Fails as its open does; a part of the space that the table
 * lacks is PADA_EDATA and named. */
pada_status pada_latency_costs(pada_slot_costs *costs, const pada_space *space, const char *file);

#ifdef __cplusplus
}
#endif
#endif
