/* bench_rank.h - timing evaluations as a ranking makes them: several networks in flight. */
#ifndef PADA_CLI_BENCH_RANK_H
#define PADA_CLI_BENCH_RANK_H

#include "run/engine_args.h"
#include "study/eval_queue.h"

typedef struct pada_bench_rank {
    pada_eval_worker workers[PADA_MAX_IN_FLIGHT]; /* the first engine is borrowed */
    int n_workers;
    pada_farm *farm;
    pada_eval_queue *queue;
} pada_bench_rank;

/* Borrowed until deinit, but for `others`. */
typedef struct pada_bench_rank_desc {
    pada_engine *engine;            /* of the first worker, with its weights */
    const pada_engine_desc *others; /* how those of the others are made */
    uint64_t seed;                  /* of their weights */
    const pada_dataset *data;       /* all training images are evaluated */
    int n_workers;                  /* 1 to PADA_MAX_IN_FLIGHT */
} pada_bench_rank_desc;

/* Start from zeros; deinit also after a failure. */
pada_status pada_bench_rank_init(pada_bench_rank *r, const pada_bench_rank_desc *desc);
void pada_bench_rank_deinit(pada_bench_rank *r);

/* Evaluates the path `burst` times for every worker; *ms is the time of one evaluation. */
pada_status pada_bench_rank_time(pada_bench_rank *r, const pada_path *path, int burst, double *ms);

#endif
