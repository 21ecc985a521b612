/* latency_limit.h - the latencies of a table as a cost that networks can be counted, drawn and limited by. */
#ifndef PADA_STUDY_LATENCY_LIMIT_H
#define PADA_STUDY_LATENCY_LIMIT_H

#include "study/cost_limits.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Microseconds of every choice, by a file of latency_table.h, and at least min_ms and at most max_ms milliseconds (0: no
 * limit) for a network. file NULL: the cost is not known, and a limit of it PADA_EINVAL. Fails as the open of the table does; a part of the space
 * that it lacks is PADA_EDATA and named. */
pada_status pada_latency_limit(pada_cost_limit *limit, const pada_space *space, const char *file,
                               double min_ms, double max_ms);

#ifdef __cplusplus
}
#endif
#endif
