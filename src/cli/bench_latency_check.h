/* bench_latency_check.h - what a latency table says about whole networks, and how long they take. */
#ifndef PADA_CLI_BENCH_LATENCY_CHECK_H
#define PADA_CLI_BENCH_LATENCY_CHECK_H

#include "cli/bench_latency.h"
#include "cli/bench_turns.h"
#include "study/latency_table.h"

/* A random network without dead parts, as it would be used. */
void pada_bench_draw(const pada_space *space, pada_rng *rng, pada_path *path);
/* Makes the i-th of those that take turns a whole network. */
pada_status pada_bench_set_network(pada_turns *turns, int i, const pada_bench_latency *b,
                                   const pada_path *path);

/* Times b->n_checked random networks and appends how far off the table is. */
pada_status pada_bench_latency_check(const pada_bench_latency *b, const pada_latency_table *table,
                                     pada_text *out);

#endif
