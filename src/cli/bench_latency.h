/* bench_latency.h - the latencies of the parts of networks, and how well they predict those of whole networks. */
#ifndef PADA_CLI_BENCH_LATENCY_H
#define PADA_CLI_BENCH_LATENCY_H

#include "base/text.h"
#include "engine/engine.h"

typedef struct pada_bench_latency {
    const pada_space *space;
    const pada_engine_desc *engine; /* backend, threads and batch size */
    int repeats;
    uint64_t seed;          /* of the networks that are checked */
    const char *out_file;   /* of the table; NULL: it is not kept */
    const char *table_file; /* the table that is checked; NULL: a new one */
    int n_checked;          /* networks; 0: the table is not checked */
    bool json, per_path;
} pada_bench_latency;

/* Measures a table, writes it, and appends what was found. PADA_EINVAL where nothing is asked for. */
pada_status pada_bench_latency_run(const pada_bench_latency *b, pada_text *out);

#endif
