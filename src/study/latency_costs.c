/* latency_costs.c - the latencies of a table as costs that networks can be counted and drawn by. */
#include "study/latency_costs.h"

#include "study/latency_table.h"

static pada_status latency_of(void *user, const pada_space *space, const pada_path *path,
                              int64_t *us)
{
    return pada_latency_path_us(user, space, path, us);
}

pada_status pada_latency_costs(pada_slot_costs *costs, const pada_space *space, const char *file)
{
    pada_latency_table *table;

    PADA_TRY(pada_latency_table_open(&table, file));
    const pada_status st = pada_slot_costs_measure(costs, space, latency_of, table);
    pada_latency_table_close(table);
    return st;
}
