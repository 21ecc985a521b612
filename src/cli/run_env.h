/* run_env.h - RUN/env.json: what a run was made with. */
#ifndef PADA_CLI_RUN_ENV_H
#define PADA_CLI_RUN_ENV_H

#include "engine/engine.h"

/* Replaces the file: version, machine, backend with its threads, data set, time of the (latest)
 * start. Nothing in it influences the run. */
pada_status pada_run_env_write(const char *run, const pada_engine *e, const pada_dataset *data);

#endif
