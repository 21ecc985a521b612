/* run_env.h - RUN/env.json: what a run was made with. */
#ifndef PADA_CLI_RUN_ENV_H
#define PADA_CLI_RUN_ENV_H

#include "base/text.h"
#include "engine/engine.h"

/* Appends the contents: version, machine, backend with its threads, data set, time of this start.
 * Nothing in it influences the run. */
pada_status pada_run_env(const pada_engine *e, const pada_dataset *data, pada_text *out);

#endif
