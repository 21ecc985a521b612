/* bench_turns.h - networks that are timed in turns, so that a busy moment of the machine hurts all of them alike. */
#ifndef PADA_CLI_BENCH_TURNS_H
#define PADA_CLI_BENCH_TURNS_H

#include "engine/engine.h"

typedef struct pada_turns {
    pada_engine **engines;
    int n;
    int repeats;
    int *n_warm;   /* [network] runs in a turn before the one that is timed */
    double *ms;    /* [network][repeat] */
    float *images; /* one batch, of random numbers */
    int32_t *labels;
    pada_batch batch;
    bool counts_work; /* see pada_turns_set */
} pada_turns;

/* Room for n networks that read images of the same size, in batches of that many; deinit also after a failure. */
typedef struct pada_turns_desc {
    int n, repeats;
    int batch_size, image_size;
    uint64_t seed;
} pada_turns_desc;

pada_status pada_turns_init(pada_turns *t, const pada_turns_desc *desc);
void pada_turns_deinit(pada_turns *t);

/* Makes the i-th network: the final form that desc->space is, with fresh weights and the statistics of the batch, which
 * it is then evaluated by, as a network in use. All of them have the same backend and number of threads. Where that is one
 * thread of the host, times are those that the processor works for it: on a machine without other programs that is the
 * time that passes, and on a shared one it does not count when they run. In every turn n_warm runs come before the one
 * that is timed: they bring back into the caches what the other networks have pushed out. */
pada_status pada_turns_set(pada_turns *t, int i, const pada_engine_desc *desc, int n_warm);
/* Runs all networks once, then all of them `repeats` times in turns, and keeps the times. */
pada_status pada_turns_run(pada_turns *t);

/* The times of a network, [repeats]. */
static inline const double *pada_turns_ms(const pada_turns *t, int i)
{
    return t->ms + (int64_t)i * t->repeats;
}

#endif
