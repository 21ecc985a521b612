/* engine_args.h - the options that choose what a network runs on. */
#ifndef PADA_RUN_ENGINE_ARGS_H
#define PADA_RUN_ENGINE_ARGS_H

#include "base/option.h"
#include "engine/engine.h"

typedef struct pada_engine_args {
    const char *backend;
    int64_t threads; /* 0: the machine's default */
} pada_engine_args;

/* --in-flight of the commands that have it; 0, what it is when it is not given: as the backend likes. */
#define PADA_MAX_IN_FLIGHT  16
#define PADA_IN_FLIGHT_HELP "networks evaluated side by side (default: 3 on a GPU, else 1)"

extern const pada_opt pada_engine_options[]; /* --backend --threads */

/* Fills in the backend and the threads of `desc`, and nothing else. A backend that this build does
 * not have is PADA_EDEVICE; one that this machine cannot run is found out by pada_engine_create. */
pada_status pada_engine_desc_from_args(pada_engine_desc *desc, const pada_engine_args *args);
/* The same for commands whose results mean something: a backend that only plans is PADA_EINVAL. */
pada_status pada_computing_desc_from_args(pada_engine_desc *desc, const pada_engine_args *args);

#endif
