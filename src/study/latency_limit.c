/* latency_limit.c - the latencies of a table as a cost that networks can be counted, drawn and limited by. */
#include "study/latency_limit.h"

#include <math.h>

#include "study/latency_table.h"

static pada_status latency_of(void *user, const pada_space *space, const pada_path *path,
                              int64_t *us)
{
    return pada_latency_path_us(user, space, path, us);
}

pada_status pada_latency_limit(pada_cost_limit *limit, const pada_space *space, const char *file,
                               double min_ms, double max_ms)
{
    pada_latency_table *table;

    *limit = (pada_cost_limit){.is_known = file != NULL};
    if (!file && (min_ms > 0 || max_ms > 0))
        return PADA_FAIL(PADA_EINVAL, "--%s-latency needs --latency-table FILE",
                         max_ms > 0 ? "max" : "min");
    if (!file) return PADA_OK;
    limit->min = (int64_t)ceil(1000 * min_ms);
    limit->max = (int64_t)floor(1000 * max_ms);
    if (max_ms > 0 && limit->max == 0) limit->max = 1; /* and not "none" */
    PADA_TRY(pada_latency_table_open(&table, file));
    const pada_status st = pada_slot_costs_measure(&limit->costs, space, latency_of, table);
    pada_latency_table_close(table);
    return st;
}
