/* engine_args.c - the options that choose what a network runs on. */
#include "run/engine_args.h"

#include "run/names.h"

const pada_opt pada_engine_options[] = {
    {.name = "backend",
     .type = PADA_OPT_STRING,
     .offset = offsetof(pada_engine_args, backend),
     .default_value = "auto",
     .meta = "NAME",
     .names = pada_name_of_backend,
     .help = "what computes; `pada info` lists the backends"},
    {.name = "threads",
     .type = PADA_OPT_INT,
     .offset = offsetof(pada_engine_args, threads),
     .default_value = "0",
     .min = 0,
     .max = 1024,
     .meta = "N",
     .help = "threads; 0: OMP_NUM_THREADS, or one per CPU",
     .session = true},
    {.name = NULL},
};

pada_status pada_engine_desc_from_args(pada_engine_desc *desc, const pada_engine_args *args)
{
    desc->n_threads = (int)args->threads;
    return pada_backend_find(&desc->backend, args->backend);
}

pada_status pada_computing_desc_from_args(pada_engine_desc *desc, const pada_engine_args *args)
{
    PADA_TRY(pada_engine_desc_from_args(desc, args));
    if (desc->backend->plans_only)
        return PADA_FAIL(PADA_EINVAL, "--backend: %s computes nothing; it is for `pada bench`",
                         desc->backend->name);
    return PADA_OK;
}
