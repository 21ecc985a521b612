/* training_host.h - what is around a training: who opens its images, follows it and stops it. */
#ifndef PADA_RUN_TRAINING_HOST_H
#define PADA_RUN_TRAINING_HOST_H

#include "run/data_args.h"
#include "run/train_args.h"
#include "train/trainer.h"

/* Everything is borrowed; zeros are nobody. */
typedef struct pada_training_host {
    /* Opens images as described, read as the options say; NULL: without a cache. */
    pada_status (*open_data)(pada_dataset **out, const pada_data_args *args,
                             const pada_dataset_desc *desc);
    bool is_quiet; /* only messages that matter */
    const volatile sig_atomic_t *stop;
    pada_team *team; /* that trains together; NULL: this process alone */
    pada_train_listener listener;
} pada_training_host;

/* Opens images the host's way, and tells it of those that were set aside. */
pada_status pada_host_open_data(const pada_training_host *host, pada_dataset **out,
                                pada_data_args *args, const pada_dataset_desc *desc);
/* Of processes that share CPUs, each takes its part, unless it was told how many threads to take. */
pada_status pada_host_threads(const pada_training_host *host, pada_engine_args *args);
/* With local norms a run has as many shards as it was begun with: --shards, or the processes. PADA_EINVAL: --shards without. */
pada_status pada_host_together(const pada_training_host *host, pada_together_args *args);
/* A line for people. */
void pada_host_say(const pada_training_host *host, const char *text);

#endif
