/* training_host.c - what is around a training: who opens its images, follows it and stops it. */
#include "run/training_host.h"

static pada_status open_plainly(pada_dataset **out, const pada_data_args *args,
                                const pada_dataset_desc *desc)
{
    pada_dataset_desc full = *desc;

    pada_data_describe(&full, args);
    return pada_dataset_open(out, &full);
}

pada_status pada_host_open_data(const pada_training_host *host, pada_dataset **out,
                                pada_data_args *args, const pada_dataset_desc *desc)
{
    args->is_quiet = host->is_quiet;
    PADA_TRY((host->open_data ? host->open_data : open_plainly)(out, args, desc));
    if ((*out)->set_aside[0]) pada_host_say(host, (*out)->set_aside);
    return PADA_OK;
}

void pada_host_say(const pada_training_host *host, const char *text)
{
    if (host->listener.message) host->listener.message(host->listener.context, text);
}
