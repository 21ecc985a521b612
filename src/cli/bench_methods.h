/* bench_methods.h - what PA and DA cost beside SPOS, on the same paths. */
#ifndef PADA_CLI_BENCH_METHODS_H
#define PADA_CLI_BENCH_METHODS_H

#include "base/text.h"
#include "engine/engine.h"

typedef struct pada_bench_methods {
    const pada_space *space;
    const pada_engine_desc *engine; /* backend, threads and batch size */
    int steps;                      /* of an epoch */
    int repeats;                    /* epochs of each method */
    uint64_t seed;
    bool json;
} pada_bench_methods;

/* Trains epochs of spos, pa, da and pada in turns, one engine and one batch for all, and appends what a step of each takes,
 * the ends of epochs included. Importance has the weight 0 there, so that all draw the same paths, but everything is done
 * for it. On one thread of the host time is what the processor works. */
pada_status pada_bench_methods_run(const pada_bench_methods *b, pada_text *out);

#endif
