/* training_host.c - what is around a training: who opens its images, follows it and stops it. */
#include "run/training_host.h"

#include <stdio.h>

#include "base/mem.h"
#include "base/threads.h"

static pada_status open_plainly(pada_dataset **out, const pada_data_args *args,
                                const pada_dataset_desc *desc)
{
    pada_dataset_desc full = *desc;

    pada_data_describe(&full, args);
    return pada_dataset_open(out, &full);
}

/* The first process of each machine fills the cache, from which the others read. */
static pada_status open_in_turn(const pada_training_host *host, pada_dataset **out,
                                const pada_data_args *args, const pada_dataset_desc *desc)
{
    const bool is_first = pada_team_local_rank(host->team) == 0;

    if (!is_first) PADA_TRY(pada_team_barrier(host->team));
    PADA_TRY((host->open_data ? host->open_data : open_plainly)(out, args, desc));
    return is_first ? pada_team_barrier(host->team) : PADA_OK;
}

pada_status pada_host_open_data(const pada_training_host *host, pada_dataset **out,
                                pada_data_args *args, const pada_dataset_desc *desc)
{
    args->is_quiet = host->is_quiet;
    PADA_TRY(open_in_turn(host, out, args, desc));
    if ((*out)->set_aside[0]) pada_host_say(host, (*out)->set_aside);
    return PADA_OK;
}

void pada_host_say(const pada_training_host *host, const char *text)
{
    if (host->listener.message) host->listener.message(host->listener.context, text);
}

pada_status pada_host_threads(const pada_training_host *host, pada_engine_args *args)
{
    const int size = pada_team_size(host->team);
    const uint64_t mine = pada_threads_place();
    void *memory;
    int n = 0;

    if (!host->team || args->threads > 0) return PADA_OK;
    PADA_TRY(pada_calloc(&memory, (size_t)size, sizeof mine));
    const uint64_t *places = memory;
    const pada_status st = pada_team_all_gather(host->team, &mine, sizeof mine, memory);
    for (int k = 0; k < size; k++)
        n += places[k] == mine;
    pada_free(memory);
    if (st == PADA_OK) args->threads = pada_threads_shared(n);
    return st;
}

pada_status pada_host_together(const pada_training_host *host, pada_together_args *args)
{
    char text[120];

    if (args->norm == PADA_NORM_EXACT) {
        if (args->shards == 0) return PADA_OK;
        return PADA_FAIL(PADA_EINVAL, "--shards %d: goes with --norm local", (int)args->shards);
    }
    if (args->shards == 0) args->shards = pada_team_size(host->team);
    if (!host->team || host->is_quiet) return PADA_OK;
    snprintf(text, sizeof text,
             "--norm local: weights depend on how many shards a batch has, here %d",
             (int)args->shards);
    pada_host_say(host, text);
    return PADA_OK;
}
