/* bench_data.h - how fast the training images of a data set are made. */
#ifndef PADA_CLI_BENCH_DATA_H
#define PADA_CLI_BENCH_DATA_H

#include "base/text.h"
#include "data/changes.h"

typedef struct pada_bench_data {
    const pada_dataset *data; /* the train split open */
    int batch;
    int n_images;         /* at most; the first ones */
    int n_threads;        /* 0: the machine's default */
    pada_changes changes; /* a jitter is ours: there is one for photographs without AutoAugment */
    uint64_t seed;
    bool json;
} pada_bench_data;

/* Times batches as a training gets them ("fed") and, of photographs, what that consists of, on one thread:
 * reading files, decoding whole pictures and cutting, decoding parts, changing colours. Appends a
 * table, or one JSON object per line. */
pada_status pada_bench_data_run(const pada_bench_data *bench, pada_text *out);

#endif
